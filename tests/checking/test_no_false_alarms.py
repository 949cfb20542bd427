"""Right kernels pass, whatever their order of summation, storage and expression; slightly wrong ones do not."""

from dataclasses import replace

import numpy as np
import pytest
from checking.rewritings import rewritings
from checking.wrong_kernels import scaled, suite_where
from machine import SOAK, taught

from aclnn_viz import case, operator
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.evidence import KernelUnderTest, examine
from aclnn_viz.checking.judge import judge, prepared, prepared_at, prepared_suite, suite_recipes
from aclnn_viz.checking.scope import Scope

SEEDS = range(1000 if SOAK else 1)


def complaints(op, label, kernel, seed, cases):
    evidence = examine(KernelUnderTest(kernel, Scope.of(op)), cases)
    return [
        (label, seed, str(one.prepared.recipe), one.misses[0].problem)
        for one in evidence.seen
        if one.misses
    ] + [(label, seed, where, what) for what, where in evidence.misbehaviour.items()]


@pytest.mark.parametrize("op", taught(), ids=lambda op: op.name)
@pytest.mark.sampled(1)
def test_right_kernels_pass(op, record_property):
    """The kit's kernel, one by hand, plans and device orders, on the same cases, because drawing these is slow."""
    found = []
    record_property("seeds", len(SEEDS))
    for seed in SEEDS:
        cases = list(prepared_suite(op, seed))
        for label, kernel in rewritings(op.name):
            found += complaints(op, label, kernel, seed, cases)
    assert found == []


def test_terms_that_cancel_exactly_on_the_device_need_not_cancel_elsewhere():
    """Seed 230, the bicubic case in bfloat16: a point far behind the border, whose sixteen taps read one pixel."""
    op, label = operator("grid_sampler_2d"), "one after another"
    bicubic = [
        prepared_at(op.name, number, 230)
        for number, one in enumerate(suite_recipes(op.name))
        if one.options.get("interpolationMode") == 2 and one.options.get("dtype") == "bfloat16"
    ]
    assert complaints(op, label, dict(rewritings(op.name))[label], 230, bicubic) == []


def test_a_coordinate_that_one_rounding_takes_to_a_pixel_is_open():
    """(x + 1) / 2 * 3 of a number next to -1/3 is 1 with one rounding, and less with those of the textbook."""
    one = case(
        "grid_sampler_2d",
        shape=(1, 1, 1, 4),
        grid_shape=(1, 1),
        alignCorners=True,
        interpolationMode=0,
        grid=np.float32([[[[-1 / 3, 0.5]]]]),
    )
    assert prepared(Recipe("grid_sampler_2d"), one).expected["gridGrad"].undecided[..., 0].all()


def test_a_zero_of_two_terms_may_have_another_sign_than_one_of_a_difference():
    """y (g - sum) is -0 below the sum, y g - y sum is 0: with a negative scale the signs change places."""
    y, g = np.float32([[[[0, 1]]]]), np.float32([[[[1, 2]]]])
    one = case("scaled_masked_softmax", shape=(1, 1, 1, 2), scale=-8.0, y=y, gradOutput=g)
    unmasked = replace(one, inputs=one.inputs | {"mask": np.zeros((1, 1, 1, 2), bool)})
    ready = prepared(Recipe("scaled_masked_softmax"), unmasked, signs=True)
    sums = np.sum(g * y, axis=-1, keepdims=True)
    for right in (y * (g - sums) * -8, (y * g - y * sums) * -8):
        assert judge(ready, {"out": right}) == []


# these have the slowest cases
@pytest.mark.parametrize(
    "op", [op for op in taught() if SOAK or op.name != "grid_sampler_3d"], ids=lambda op: op.name
)
@pytest.mark.parametrize("relative", [2.0**-14, -(2.0**-14)])
@pytest.mark.sampled(1)
def test_a_relative_error_of_six_in_a_hundred_thousand_is_seen(op, relative):
    kernel = scaled(op, 1 + relative)
    wrong = [
        judge(one, kernel(**one.case.inputs))
        for one in suite_where(op, lambda made: made.dtype == "float32")
    ]
    assert sum(map(bool, wrong)) > len(wrong) / 2


def test_one_step_of_a_16_bit_output_is_seen():
    op = operator("hardswish")
    one = next(one for one in prepared_suite(op, 0) if one.case.dtype == "float16")
    right = op.backward(**one.case.inputs)["out"]
    for step in (-np.inf, np.inf):
        wrong = np.nextafter(right, np.float16(step))
        (miss,) = judge(one, {"out": wrong})
        assert miss.wrong.mean() > 0.9  # but for ties and the neighbourhood of x = -1.5


@pytest.mark.parametrize("op", ["hardswish", "rms_norm"])
def test_the_part_of_what_is_allowed_tells_right_from_wrong(op):
    """At most 1 for outputs that the judge accepts, more for others."""
    for one in prepared_suite(op, 0):
        for name, actual in operator(op).backward(**one.case.inputs).items():
            expected = one.expected[name]
            assert not expected.misses(actual).any() and expected.used(actual) <= 1
            far = (np.abs(np.asarray(expected.truth)) * 1.02 + 1.1 * expected.allowed).astype(
                expected.dtype
            )
            wrong = (
                expected.misses(far) & np.isfinite(far) & np.isfinite(np.asarray(expected.truth))
            )
            assert (expected.used(far) > 1) == wrong.any()


def test_zeros_of_another_sign_are_no_kept_result():
    zeros = case("rms_norm", x=np.zeros(8, np.float32))

    def kernel(**inputs):
        return {name: value + 0 for name, value in zeros.operator.backward(**inputs).items()}

    first = prepared(Recipe("rms_norm"), zeros, signs=True)
    assert complaints("rms_norm", "sums from 0", kernel, 0, [first]) == []


def test_ignored_rows_may_be_0_where_the_weights_sum_to_0():
    drawn = case(
        "cross_entropy_loss",
        shape=(3, 2),
        target=[1, 0, 1],
        weightOptional=np.zeros(2, np.float32),
        ignoreIndex=1,
    )
    ready = prepared(Recipe("cross_entropy_loss"), drawn)
    (name,) = ready.expected
    rows = np.zeros((3, 2), np.float32)
    assert judge(ready, {name: rows})
    rows[1] = np.nan
    assert judge(ready, {name: rows}) == []


def test_a_far_coordinate_may_reach_every_pixel_of_its_sample():
    op, number = operator("grid_sampler_2d"), np.finfo(np.float32).max
    grid = np.zeros((2, 4, 5, 2), np.float32)
    grid[1, 0, 1, 0] = -number
    drawn = case(
        op, shape=(2, 1, 5, 9), grid_shape=(4, 5), grid=grid, interpolationMode=2, paddingMode=2
    )
    undecided = prepared(Recipe(op.name), drawn).expected["inputGrad"].undecided
    assert undecided[1, 0, 2].all() and not undecided[0].any()
