"""No element is beyond its bound, against whole numbers: subnormal, overflowing, mixed, tall, long and cancelling.

Every operator and plan here with some formats and kinds of inputs; with ACLNN_VIZ_SOAK=1 twenty million decided elements, two million of them below the normal numbers.
"""

from itertools import cycle, product

import numpy as np
import pytest
from arrays.bound_cases import CASES, HUGE_RANGE, PLAIN, SUBNORMAL
from arrays.bounds import PLANS, planned
from arrays.exact_truth import TRUTHS
from arrays.fixed_point import beyond
from machine import SOAK

from aclnn_viz import operator
from aclnn_viz.dtypes import FORMATS, float_format, round_to

DTYPES = [f.name for f in FORMATS]
KINDS = list(product(DTYPES, (PLAIN, HUGE_RANGE, SUBNORMAL)))
MODES = list(product(range(3), range(3), (False, True)))
ELEMENTS = 500_000 if SOAK else 1  # of each operator and plan, 40 of them; every kind once at least
ROWS = (2**12, 2**16, 2**20) if SOAK else (2**7,)
# Plans and formats of sums; float64 takes thousands of bits to judge.
SUMS = [*product(PLANS, DTYPES)] if SOAK else [*product(("host", "sequential"), DTYPES[:3]), ("host", "float64")]


class Count:
    """Decided elements, those of them below the normal numbers, and how many are undecided."""

    def __init__(self):
        self.decided = self.tiny = self.open = 0

    def judge(self, name, plan, inputs, truths=None):
        """Assert that no claimed element of any output is beyond its bound."""
        out, envelopes = planned(name, PLANS[plan](name), inputs)
        for output, right in (truths or TRUTHS[name](**inputs)).items():
            env, actual = envelopes[output], out[output].astype(np.float64)
            assert np.array_equal(env.value.astype(np.float64), actual, equal_nan=True)
            claims = ~env.undecided & np.isfinite(actual) & np.isfinite(env.bound)
            missed = beyond((np.where(claims, actual, 0.0),), np.where(claims, env.bound, np.inf), right) & claims
            assert not missed.any(), (output, np.argwhere(missed)[:3])
            normal = right.bits + float_format(out[output]).min_exponent
            below = np.abs(right.n.reshape(claims.shape)) < (1 << max(normal, 0))
            self.decided += int(claims.sum())
            self.tiny += int((claims & below.astype(bool)).sum())
            self.open += int(env.undecided.sum())

    def record(self, record_property, group):
        for key, value in (("group", group), ("decided elements", self.decided), ("below the normal numbers", self.tiny),
                           ("undecided share", f"{self.open / max(self.open + self.decided, 1):.3g}")):
            record_property(key, value)


@pytest.mark.parametrize("name,plan", [*product(CASES, PLANS)])
def test_no_element_is_beyond_its_bound(name, plan, record_property):
    rng, modes, count = np.random.default_rng(len(name + plan)), cycle(MODES[::5] + MODES), Count()
    first = len(name) + list(PLANS).index(plan)
    while count.decided < ELEMENTS:
        for dtype, kind in KINDS if SOAK else (*KINDS[first % 3:9:3], KINDS[9 + first % 3]):
            size = 3000 if dtype != "float64" else 600
            options = {"modes": next(modes), "side": 17} if name == "grid_sampler_2d" else {}
            count.judge(name, plan, CASES[name](rng, dtype, size if SOAK else size // 8, kind, **options))
    count.record(record_property, name)
    assert count.decided and (count.tiny or not SOAK)


def terms(rng, shape, kind, dtype):
    """Terms of one sign; of both; or of both in pairs that cancel but for a last digit, of every size."""
    if kind == "one sign":
        return round_to(rng.uniform(0.5, 1.0, shape), dtype)
    values = rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 7, shape)
    if kind == "cancelling":
        half = shape[0] // 2
        values[half:2 * half] = -values[:half] * (1 + rng.choice([0.0, 2.0**-9], values[:half].shape))
        values = values[rng.permutation(shape[0])]
    return round_to(values, dtype)


@pytest.mark.parametrize("kind", ["one sign", "both signs", "cancelling"])
@pytest.mark.parametrize("plan,dtype", SUMS)
def test_tall_and_long_sums_are_within_their_bounds(plan, dtype, kind, record_property):
    rng, count = np.random.default_rng(len(plan + kind)), Count()
    for rows in ROWS if plan == "host" else ROWS[:1]:
        for shape in ((rows, 2), (2, rows)):
            tall, columns = terms(rng, shape, kind, dtype), shape[1]
            inputs = dict(dy=tall, x=round_to(rng.uniform(0.5, 1, shape), dtype), gamma=np.ones(columns, tall.dtype),
                          rstd=np.ones((shape[0], 1), np.float64 if dtype == "float64" else np.float32))
            count.judge("rms_norm", plan, inputs)
        if rows <= 2**12:
            x = round_to(rng.standard_normal((rows, 2, 2)), dtype)
            count.judge("group_norm_swish", plan, dict(
                dy=terms(rng, (rows, 2, 2), kind, dtype), mean=np.zeros((rows, 1), x.dtype), x=x, numGroups=1,
                rstd=np.ones((rows, 1), x.dtype), gamma=np.ones(2, x.dtype), beta=np.zeros(2, x.dtype)))
            weight = np.abs(terms(rng, (rows,), "one sign", dtype)).astype(np.float64 if dtype == "float64" else "float32")
            count.judge("cross_entropy_loss", plan, dict(
                gradLoss=round_to(np.ones(()), dtype), logProb=round_to(-np.abs(rng.standard_normal((2, rows))), dtype),
                target=rng.integers(0, rows, 2), weightOptional=weight, labelSmoothing=0.1))
            grid = np.zeros((1, rows, 1, 2), x.dtype)  # all on one pixel
            count.judge("grid_sampler_2d", plan, dict(
                gradOutput=terms(rng, (rows,), kind, dtype).reshape(1, 1, rows, 1), grid=grid,
                input=round_to(rng.standard_normal((1, 1, 3, 3)), dtype)))
    count.record(record_property, f"{kind} sums")


def test_the_judge_refuses_values_that_are_off_by_a_thousandth():
    inputs = CASES["rms_norm"](np.random.default_rng(0), "float32", 1000, PLAIN)
    wrong = {output: right + right / 1000 for output, right in
             TRUTHS["rms_norm"](**inputs).items()}
    with pytest.raises(AssertionError, match="dxOut"):
        Count().judge("rms_norm", "host", inputs, wrong)
