"""No element is beyond its bound, against whole numbers: subnormal, overflowing, mixed, tall, long and cancelling.

Every operator and plan here with some formats and kinds of inputs; with ACLNN_VIZ_SOAK=1 more than twenty million
decided elements, two million of them below the normal numbers.
"""

from itertools import product

import numpy as np
import pytest
from arrays.bound_cases import CASES, HUGE_RANGE, PLAIN, SMALL, SUBNORMAL, variants
from arrays.bounds import PLANS, planned
from arrays.exact_truth import TRUTHS
from arrays.fixed_point import beyond
from machine import SOAK

from aclnn_viz.dtypes import FORMATS, float_format, round_to

DTYPES = [f.name for f in FORMATS]
KINDS = PLAIN, HUGE_RANGE, SUBNORMAL
# per operator and format, of which there are 28; float64 takes thousands of bits to judge
ELEMENTS = {
    dtype: (2_000_000 if dtype != "float64" else 500_000) if SOAK else 1 for dtype in DTYPES
}
ROWS = (1, 2, 2**8, 2**12, 2**16, 2**20) if SOAK else (1, 2**7)


class Count:
    """Numbers of decided elements, those below the normal numbers, and undecided elements."""

    def __init__(self):
        self.decided = self.tiny = self.open = 0

    def judge(self, name, plan, inputs, truths):
        """Assert that no claimed element of any output is beyond its bound."""
        out, envelopes = planned(name, PLANS[plan](name), inputs)
        for output, right in truths.items():
            env, actual = envelopes[output], out[output].astype(np.float64)
            assert np.array_equal(env.value.astype(np.float64), actual, equal_nan=True)
            claims = ~env.undecided & np.isfinite(actual) & np.isfinite(env.bound)
            missed = (
                beyond((np.where(claims, actual, 0.0),), np.where(claims, env.bound, np.inf), right)
                & claims
            )
            assert not missed.any(), (output, np.argwhere(missed)[:3])
            normal = right.bits + float_format(out[output]).min_exponent
            size = np.abs(right.n.reshape(claims.shape))
            below = (size > 0) & (size < (1 << max(normal, 0)))
            self.decided += int(claims.sum())
            self.tiny += int((claims & below.astype(bool)).sum())
            self.open += int(env.undecided.sum())

    def record(self, record_property, group):
        for key, value in (
            ("group", group),
            ("decided elements", self.decided),
            ("below the normal numbers", self.tiny),
            ("undecided share", f"{self.open / max(self.open + self.decided, 1):.3g}"),
        ):
            record_property(key, value)


@pytest.mark.parametrize("name,dtype", [*product(CASES, DTYPES)])
@pytest.mark.sampled(3)
def test_no_element_is_beyond_its_bound(name, dtype, record_property):
    """One truth judges all plans; in the sample every plan meets one kind per format, not always the same."""
    rng, more, count = np.random.default_rng(len(name + dtype)), variants(name), Count()
    size = 3000 if dtype != "float64" else 600
    while count.decided < ELEMENTS[dtype]:
        for first, kind in enumerate(KINDS, len(name) + len(dtype)):
            inputs = CASES[name](
                rng, dtype, size if SOAK else size // 8, kind, **next(more), **SMALL.get(name, {})
            )
            truths = TRUTHS[name](**inputs)
            for plan in PLANS if SOAK else list(PLANS)[first % 3 :: 3]:
                count.judge(name, plan, inputs, truths)
    count.record(record_property, name)
    assert count.decided and (count.tiny or not SOAK)


def terms(rng, shape, kind, dtype):
    """Return terms of one sign, of both, or in pairs that cancel except for a last digit, of every size."""
    if kind == "one sign":
        return round_to(rng.uniform(0.5, 1.0, shape), dtype)
    if len(shape) == 2 and shape[0] < shape[1]:
        return np.ascontiguousarray(terms(rng, shape[::-1], kind, dtype).T)
    values = rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 7, shape)
    if kind == "cancelling":
        half = shape[0] // 2
        values[half : 2 * half] = -values[:half] * (
            1 + rng.choice([0.0, 2.0**-9], values[:half].shape)
        )
        values = values[rng.permutation(shape[0])]
    return round_to(values, dtype)


def sums(rng, rows, kind, dtype):
    """Yield (operator, inputs) with sums of `rows` terms, along rows of this length, or onto one pixel."""
    wide, others = "float64" if dtype == "float64" else "float32", 2 if rows < 2**16 else 1
    for shape in ((rows, others), (others, rows)):
        dy, columns, statistic = (
            terms(rng, shape, kind, dtype),
            shape[1],
            np.ones((shape[0], 1), wide),
        )
        x = round_to(rng.uniform(0.5, 1, shape) if kind != "cancelling" else np.ones(shape), dtype)
        yield "rms_norm", dict(dy=dy, x=x, gamma=np.ones(columns, dy.dtype), rstd=statistic)
        yield (
            "layer_norm",
            dict(
                gradOut=dy,
                input=x,
                normalizedShape=(columns,),
                mean=statistic * 0,
                rstd=statistic,
                weightOptional=np.ones(columns, dy.dtype),
                biasOptional=None,
            ),
        )
    # samples, and elements of a channel
    for shape in ((rows, others, others), (others, others, rows)):
        x, one = round_to(rng.standard_normal(shape), dtype), np.ones((shape[0], 1), dy.dtype)
        dy = terms(rng, (shape[0] * others, shape[2]), kind, dtype).reshape(shape)
        yield (
            "group_norm_swish",
            dict(
                dy=dy,
                mean=one * 0,
                x=x,
                numGroups=1,
                rstd=one,
                gamma=np.ones(others, x.dtype),
                beta=np.zeros(others, x.dtype),
            ),
        )
    weight = np.abs(terms(rng, (max(rows, others),), "one sign", dtype)).astype(wide)
    for shape in ((others, rows), (rows, others)):  # classes, and rows with summed weights
        yield (
            "cross_entropy_loss",
            dict(
                gradLoss=round_to(np.ones(()), dtype),
                logProb=round_to(-np.abs(rng.standard_normal(shape)), dtype),
                target=rng.integers(0, shape[1], shape[0]),
                weightOptional=weight[: shape[1]],
                labelSmoothing=0.1,
            ),
        )
    for axes in (2, 3):
        yield (
            f"grid_sampler_{axes}d",
            dict(
                gradOutput=terms(rng, (rows,), kind, dtype).reshape(1, 1, rows, *[1] * (axes - 1)),
                grid=np.zeros((1, rows, *[1] * (axes - 1), axes), x.dtype),  # all on one pixel
                input=round_to(rng.standard_normal((1, 1, *[3] * axes)), dtype),
            ),
        )


@pytest.mark.parametrize("kind", ["one sign", "both signs", "cancelling"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.sampled(1)
def test_tall_and_long_sums_are_within_their_bounds(dtype, kind, record_property):
    rng, count = np.random.default_rng(len(dtype + kind)), Count()
    for rows in ROWS:
        for name, inputs in sums(rng, rows, kind, dtype):
            truths = TRUTHS[name](**inputs)
            for plan in PLANS if SOAK else [rng.choice(["host", "sequential"])]:
                count.judge(name, plan, inputs, truths)
    count.record(record_property, f"{kind} sums")


@pytest.mark.parametrize("name", CASES)
def test_the_judge_refuses_values_that_are_off_by_a_thousandth(name):
    inputs = CASES[name](np.random.default_rng(0), "float32", 1000, PLAIN, **SMALL.get(name, {}))
    for output, right in TRUTHS[name](**inputs).items():
        with pytest.raises(AssertionError, match=output):
            Count().judge(name, "host", inputs, {output: right + right / 1000})
