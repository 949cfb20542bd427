"""The mistake that a wrong kernel resembles: conditions, faults side by side, unknown faults."""

from dataclasses import replace

import numpy as np
import pytest
from checking.wrong_kernels import RMS, SWISH, fault, single, suite_where, swish

from aclnn_viz import case, operator
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking import check
from aclnn_viz.checking.case_run import CaseRun
from aclnn_viz.checking.explanation import diagnose
from aclnn_viz.checking.judge import judge, prepared
from aclnn_viz.checking.wrong_outputs import _places, likeness
from aclnn_viz.operators.faults import faults
from aclnn_viz.operators.faults.fault import changed

pytestmark = pytest.mark.usefixtures("unexplained", "unshrunken")


@pytest.mark.parametrize("title", ["infinity times a zero mask", "interval open at the upper kink"])
def test_what_chance_would_show_is_no_condition(title):
    one = check("hardswish", fault("hardswish", title))
    assert one.failed and one.conditions == []  # although all three strided cases are right


@pytest.mark.soak
def test_what_chance_would_seldom_show_is_a_condition():
    one = check(
        "grid_sampler_2d",
        fault("grid_sampler_2d", "nearest ties up"),
        where={"paddingMode": 0},
        dtypes="float32",
    )
    assert len(one.conditions) == 1 and one.conditions[0].startswith(
        "interpolationMode=1: wrong in"
    )


# A name is given only if everything agrees with it.


def two_faults(name, first, second):
    op = operator(name)
    chosen = [next(one for one in faults(name) if one.name == title) for title in (first, second)]
    return replace(op, page=changed(op.page, chosen[0].changes + chosen[1].changes)).backward


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("rms_norm", "missing 1/n", "dgamma averaged"),
        ("rms_norm", "sigma for rstd", "dgamma from x, not x-hat"),
        ("group_norm_swish", "missing 1/n", "swish scale ignored"),
        pytest.param(
            "grid_sampler_2d", "reflection sign lost", "channels averaged", marks=pytest.mark.soak
        ),
        ("cross_entropy_loss", "one-hot off by one", "smoothing not divided by C"),
    ],
)
@pytest.mark.sampled(1)
def test_two_faults_at_once_are_not_called_by_one_name(name, first, second):
    result = check(name, two_faults(name, first, second), beyond=True)
    assert not result.passed and result.diagnosis.name is None and not result.diagnosis.confident
    assert "none of the known faults" in result.diagnosis.text


def test_a_fault_does_not_explain_an_error():
    wrong = fault("rms_norm", "missing 1/n")

    def kernel(**inputs):
        if inputs["x"].shape == (3, 17):
            raise IndexError("tile of 17")
        return wrong(**inputs)

    result = check("rms_norm", kernel)
    assert result.diagnosis.name is None and "'missing 1/n'" in result.diagnosis.text
    assert "returned nothing on 1 others" in result.diagnosis.text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda out: out * out.dtype.type(2), "is 2 times the truth"),
        (lambda out: out * 0, "is 0 everywhere"),
        (lambda out: np.flip(out), "right values in another order"),
        (lambda out: out * np.nan, "is not finite"),
    ],
)
@pytest.mark.sampled(1)
def test_an_unknown_fault_is_described(change, words):
    result = check("hardswish", swish(lambda out: change(out).astype(out.dtype)))
    assert result.diagnosis.name is None and words in result.diagnosis.text


def test_few_wrong_values_among_many_right_ones_are_in_no_other_order():
    truth = np.linspace(1.0, 2.0, 1000)
    assert likeness("out", np.where(truth == truth[500], 1.6, truth), {"out": truth}, {}) == []
    swapped = truth.copy()
    swapped[[3, 700]] = truth[[700, 3]]
    assert likeness("out", swapped, {"out": truth}, {}) == [
        "holds the right values in another order"
    ]


def test_a_fault_is_named_although_the_kernel_computes_in_float32():
    result = check("rms_norm", single(fault("rms_norm", "missing 1/n")), beyond=True)
    assert result.diagnosis.name == "missing 1/n" and "dgammaOut is wrong in 1 case\n" in str(
        result
    )


def test_a_kernel_that_computes_in_float32_is_named_as_one():
    result = check("rms_norm", single(RMS.backward), beyond=True)
    text = result.diagnosis.text
    assert result.left_out == {} and all(
        f"{name} is right to the digits of float32 on 1 of 1 wrong cases" in text
        for name in RMS.outputs
    )
    half = check(
        "rms_norm",
        lambda **inputs: RMS.backward(**inputs | {"rstd": inputs["rstd"] * np.float32(1 + 1e-5)}),
    )
    assert "digits of float32" not in half.diagnosis.text


@pytest.mark.parametrize("title", ["alignCorners swapped", "inputGrad added up in float16"])
def test_what_rounding_to_float32_moves_does_not_hide_the_fault(title):
    """In float32 some points of this case lie on the other side of a floor than in float64, and some terms of a tie."""
    grid = operator("grid_sampler_2d")
    one = next(
        suite_where(
            grid,
            lambda made: (
                made.dtype == "float64"
                and made.inputs["interpolationMode"] == 0
                and made.inputs["paddingMode"] == 0
                and made.inputs["input"].shape == (2, 2, 6, 5)
            ),
        )
    )
    outputs = single(fault("grid_sampler_2d", title))(**one.case.inputs)
    assert title in diagnose(grid, [CaseRun(one, outputs, judge(one, outputs))]).candidates


def test_sums_in_16_bits_are_suspected_whatever_their_order():
    """Sequential sums differ from those of the named fault, which adds up in a tree."""

    def kernel(dy, x, rstd, gamma):
        outputs = RMS.backward(dy=dy, x=x, rstd=rstd, gamma=gamma)
        if x.dtype == np.float16:
            terms = np.float16(np.float32(dy) * np.float32(gamma) * np.float32(x) * rstd)
            mean = np.cumsum(terms, axis=-1, dtype=np.float16)[:, -1:] / np.float32(x.shape[-1])
            outputs["dxOut"] = np.float16(
                (np.float32(dy) * np.float32(gamma) - np.float32(x) * rstd * mean) * rstd
            )
        return outputs

    # rows of one element cancel, and leave no digit
    text = check("rms_norm", kernel, shapes=[(5, 24), (12, 130), (5, 40)]).diagnosis
    assert text.name is None and "dxOut is right to three digits on" in text.text
    assert "a step or a sum in 16 bits may be the reason" in text.text


def test_a_single_value_is_no_interval():
    def kernel(gradOutput, self):
        return np.where(
            self == 0.5,
            np.sin(7 * gradOutput),
            SWISH.backward(gradOutput=gradOutput, self=self)["out"],
        )

    made = [
        case("hardswish", self=np.float32([0.5, 1, 0.5, -2, 0.5, 0.5, 2, -4] * k), seed=k)
        for k in (1, 2)
    ]
    assert (
        "out is wrong only where self = 0.5, of"
        in check("hardswish", kernel, cases=made).diagnosis.text
    )


def test_a_place_is_said_if_chance_would_seldom_put_there_all_that_is_wrong_and_no_case_contradicts():
    behind = np.arange(64) >= 32
    assert [*_places([behind], [])][0] == "behind the first 32 of axis -1"
    assert not any("32" in words for words in _places([np.arange(64) == 40], []))
    assert not any("32" in words for words in _places([behind], [np.array([True])]))


def test_faults_that_no_case_tells_apart_are_both_named():
    options = {"shape": (1,), "self": 3.0}
    one = prepared(Recipe("hardswish", options), case("hardswish", **options))
    outputs = fault("hardswish", "interval open at the upper kink")(**one.case.inputs)
    found = diagnose(SWISH, [CaseRun(one, outputs, judge(one, outputs))])
    assert found.name is None and not found.confident
    assert {"interval open at both kinks", "interval open at the upper kink"} <= set(
        found.candidates
    )
