"""The cases of a suite: no two repeat their numbers, and recipes describe each."""

import numpy as np
import pytest
from machine import sampled

from aclnn_viz import case
from aclnn_viz.cases.suites import recipes, suite, transposed


@pytest.mark.parametrize("op", sampled(__name__), ids=lambda op: op.name)
@pytest.mark.sampled(5)
def test_no_two_cases_of_a_suite_repeat_their_numbers(op):
    drawn = [
        tuple(
            value.tobytes()
            for value in made.inputs.values()
            if isinstance(value, np.ndarray)
            and value.size > 8
            and value.dtype.kind == "f"
            and np.unique(value).size > 1  # several have rows of zeros
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


def test_recipes_say_how_a_case_is_made():
    assert any("strided" in str(recipe) for recipe in recipes("hardswish"))
