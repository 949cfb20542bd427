"""Outputs of another shape, format or name are reported so, and hide no mistake in the numbers."""

import numpy as np
import pytest
from checking.wrong_kernels import RMS, SWISH, fault

import aclnn_viz as av
from aclnn_viz.checking import check
from aclnn_viz.checking.conditions import Traits, common

pytestmark = pytest.mark.usefixtures("unshrunken")

GRID = av.operator("grid_sampler_2d")


def each(change, kernel=RMS.backward):
    return lambda **inputs: {name: change(value) for name, value in kernel(**inputs).items()}


@pytest.mark.parametrize(
    ("op", "kernel", "words"),
    [
        (
            "hardswish",
            lambda **inputs: SWISH.backward(**inputs)["out"].astype(float).tolist(),
            "out has dtype float64 instead of float32",
        ),
        (
            "rms_norm",
            each(lambda value: value.astype(np.float32)),
            "dxOut has dtype float32 instead of float16",
        ),
        ("rms_norm", each(np.ravel), "dxOut has shape (24,) instead of (4, 6)"),
        (
            "rms_norm",
            lambda **inputs: RMS.backward(**inputs) | {"mean": np.zeros(1)},
            "mean is returned, but was not asked for",
        ),
    ],
)
def test_right_numbers_that_do_not_fit_are_reported_as_such(op, kernel, words):
    found = check(op, kernel, depth="quick")
    assert not found.passed and found.explanation.kind == "form" and str(found).count(words) <= 3
    assert found.diagnosis.text.startswith(words) and found.diagnosis.text.endswith(
        ": all numbers are right"
    )


def test_a_mistake_is_named_although_the_format_is_wrong_too():
    found = check(
        "rms_norm",
        each(lambda value: value.astype(np.float64), fault("rms_norm", "missing 1/n")),
        depth="quick",
    )
    assert found.diagnosis.name == "missing 1/n" and found.explanation.kind == "named fault"
    assert (
        "dxOut has dtype float64 instead of float32 in" in found.diagnosis.text and not found.passed
    )


def test_wrong_numbers_that_do_not_fit_are_explained():
    found = check(
        "hardswish",
        lambda **inputs: np.ravel(SWISH.backward(**inputs)["out"] * inputs["self"].dtype.type(1.5)),
        depth="quick",
    )
    assert (
        "of the numbers: none of the known faults" in found.diagnosis.text
        and "all numbers" not in found.diagnosis.text
    )
    assert "1.5 * (" in found.explanation.after


def test_a_missing_output_is_no_right_number():
    found = check(
        "rms_norm", lambda **inputs: {"dxOut": RMS.backward(**inputs)["dxOut"]}, depth="quick"
    )
    assert (
        "dgammaOut is missing in" in found.diagnosis.text
        and "all numbers are right" not in found.diagnosis.text
    )


def test_of_a_kernel_that_cannot_be_called_so_the_keywords_are_named():
    found = check("hardswish", lambda x: x, depth="quick")
    assert "cannot be called with the keywords gradOutput, self: TypeError" in str(found)

    def inside(**inputs):
        return SWISH.backward(x=inputs["self"])

    assert "raises TypeError" in str(check("hardswish", inside, depth="quick"))


def test_an_error_of_one_line_is_said_once_whatever_its_shapes():
    said = str(
        check(
            "rms_norm",
            lambda dy, x, rstd, gamma: (x[..., :1, None] * dy.T[None] + np.ones(x.size + 1), None),
            depth="quick",
        )
    )
    assert said.count("the kernel raises ValueError") == 1


def test_what_is_not_supported_is_reported_by_several_attributes_and_how_to_leave_it_out():
    def kernel(**inputs):
        if inputs["interpolationMode"] or inputs["paddingMode"]:
            raise av.NotSupported
        return GRID.backward(**inputs)

    text = str(check(GRID, kernel, depth="quick"))
    assert (
        "paddingMode other than 0" in text
        and " or " in text
        and "interpolationMode other than 0" in text
    )
    assert (
        "leave such cases out with dtypes=, where= or limits=, or let them pass with allow_unsupported=True"
        in text
    )
    assert "leave them out" not in str(check(GRID, kernel, depth="quick", allow_unsupported=True))


def test_cases_that_nothing_sets_apart_are_reported_by_what_they_share():
    some = [Traits.of(av.case("hardswish", shape=(n,))) for n in (3, 8, 21, 64)]
    assert "other than" not in common(some[::2], some[1::2])


def test_a_quick_check_asks_for_single_outputs():
    found = check(
        GRID,
        lambda **inputs: GRID.backward(**inputs | {"outputMask": inputs["outputMask"][::-1]}),
        depth="quick",
    )
    assert found.diagnosis.name == "outputMask reversed"
