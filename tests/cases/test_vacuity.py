"""The vacuity meter: inputs on which a wrong kernel passes are said to be blind for it."""

import numpy as np
import pytest
from machine import sampled
from together import in_one

from aclnn_viz import case, operator
from aclnn_viz.cases.suites import recipes, suite, transposed
from aclnn_viz.cases.vacuity import vacuity
from aclnn_viz.operators.faults import faults
from aclnn_viz.operators.faults.fault import faulty_kernel

BLIND = [  # operator, case, what the meter says, a fault that then passes
    ("hardswish", {"self": 0.75}, "x = 3", "upper kink open"),
    ("hardswish", {"gradOutput": 1.0}, "gradOutput", "gradOutput forgotten"),
    ("rms_norm", {"shape": (4, 1)}, "factor 1/n", "missing 1/n"),
    ("rms_norm", {"gamma": 1.0}, "gamma", "gamma forgotten in dx"),
    ("rms_norm", {"shape": (1, 16)}, "rows", "dgamma of the last row"),
    ("rms_norm", {"dy": 1.0}, "dy in the projection", "dy forgotten in the projection"),
    ("rms_norm", {"shape": (4, 32)}, "n not divided by 16", "tail of the row forgotten"),
    ("grid_sampler_2d", {"paddingMode": 0}, "mirrored points", "reflection sign lost"),
    ("grid_sampler_2d", {"shape": (1, 2, 4, 5)}, "samples", "first sample for all"),
    ("grid_sampler_2d", {"shape": (1, 1, 4, 5)}, "channels", "channels averaged"),
    (
        "grid_sampler_2d",
        {"shape": (2, 2, 4, 4)},
        "height that is not the width",
        "row stride is the height",
    ),
    (
        "grid_sampler_2d",
        {"paddingMode": 1, "grid": 0.3},
        "points outside",
        "clipped points keep their gradient",
    ),
    ("cross_entropy_loss", {"target": 1}, "ignored rows", "ignored rows not zeroed"),
    ("cross_entropy_loss", {"weightOptional": None}, "weights", "weights forgotten"),
    ("cross_entropy_loss", {}, "label smoothing", "smoothing ignored"),
    ("cross_entropy_loss", {}, "rows that do not sum to 1", "softmax renormalised"),
    ("group_norm_swish", {"shape": (3, 4), "numGroups": 4}, "factor 1/n", "missing 1/n"),
    ("group_norm_swish", {}, "swishScale", "swish scale ignored"),
    ("group_norm_swish", {"shape": (1, 4, 6)}, "samples", "sums over the batch"),
    ("group_norm_swish", {"beta": 0.0}, "beta", "beta forgotten"),
]


@in_one
@pytest.mark.parametrize(("name", "options", "term", "fault"), BLIND)
def test_what_the_meter_calls_blind_lets_the_fault_through(name, options, term, fault):
    one = case(name, seed=3, **options)
    assert term in vacuity([one]).blind
    wrong = faulty_kernel(name, next(known for known in faults(name) if known.name == fault))
    right = operator(name).backward(**one.inputs)
    for output, value in wrong(**one.inputs).items():
        # Rounding of another order is all that may differ.
        np.testing.assert_allclose(
            value, right[output], rtol=1e-5, atol=1e-5 * np.abs(right[output]).max()
        )


@pytest.mark.parametrize("op", sampled(__name__), ids=lambda op: op.name)
def test_the_suite_is_blind_for_nothing(op):
    assert vacuity(made for _, made in suite(op)).blind == ()


@pytest.mark.parametrize("op", sampled(__name__), ids=lambda op: op.name)
def test_no_two_cases_of_a_suite_repeat_their_numbers(op):
    drawn = [
        tuple(
            value.tobytes()
            for value in made.inputs.values()
            if isinstance(value, np.ndarray)
            and value.size > 8
            and value.dtype.kind == "f"
            and np.unique(value).size > 1  # rows of zeros are put into several
        )
        for _, made in suite(op)
    ]
    drawn = [one for one in drawn if one]
    assert len(set(drawn)) == len(drawn)


def test_the_suite_depends_on_its_seed():
    (_, first), (_, second) = next(suite("rms_norm", 0)), next(suite("rms_norm", 1))
    assert not np.array_equal(first.inputs["x"], second.inputs["x"])


def test_a_transposed_case_holds_the_same_numbers():
    one = case("rms_norm", shape=(3, 4))
    other = transposed(one)
    assert not other.inputs["x"].flags.c_contiguous and np.array_equal(
        other.inputs["x"], one.inputs["x"]
    )
    assert "strides" in vacuity([one]).blind and "strides" not in vacuity([other]).blind


def test_recipes_say_how_a_case_is_made():
    assert any("strided" in str(recipe) for recipe in recipes("hardswish"))
