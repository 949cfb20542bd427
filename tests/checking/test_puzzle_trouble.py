"""Answers to puzzles that raise, hang, or return anything else: reported, never passed, never lost."""

import time

import numpy as np
import pytest
from together import in_one

from aclnn_viz.puzzles import puzzle
from aclnn_viz.puzzles.solutions import solution_of


class Unreadable:
    """A possible behaviour of an array on a device."""

    def __dlpack__(self, **_):
        raise BufferError("on another\ndevice")

    __dlpack_device__ = __dlpack__


def unspeakable():
    class Mute(Exception):
        def __str__(self):
            raise ValueError

    raise Mute


@in_one
@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (lambda x: x[:-1], "has shape (12,) instead of (13,)"),
        (lambda x: 1 / 0, "raises ZeroDivisionError"),
        (lambda y: y, "cannot be called with the keywords x: TypeError"),
        (lambda x: "slope", "returns str"),
        (lambda x: x * 0, "is 0 everywhere"),
        (lambda x: (x, x), "returns 2 outputs instead of 1: slope"),
        (lambda x: {"other": x}, "slope is missing"),
        (lambda x: -(x / 3 + 0.5), "is -1 times the truth"),
        (lambda x: 2 * (x / 3 + 0.5), "is 2 times the truth"),
        (lambda x: (x / 3 + 0.5)[::-1], "slope[0] is 1.46667, right is -0.466667, at x = -2.9"),
        (lambda x: x.__iadd__(1), "modifies its input x"),
        (lambda x: x > 0, "slope[6] is 0, right is 0.5"),
        (lambda x: x + 1j, "returns an array of dtype complex128 where"),
        (lambda x: np.zeros(x.shape, "f4, f4"), "returns an array of dtype [("),
        (lambda x: [[1.0], []], "returns list, which NumPy cannot take"),
        (lambda x: {"slope": None}, "returns None for slope"),
        (lambda x: (x / 3 + 0.5).tolist()[:-1], "shape (12,)"),
        (lambda x: Unreadable(), "returns Unreadable, which NumPy cannot take: TypeError: a"),
        (lambda x: x.raised(), "raises AttributeError"),
        (lambda x: unspeakable(), "raises"),
        (lambda x: x.astype("float16"), "float16: digits are lost"),
    ],
)
def test_other_trouble_is_reported(answer, text):
    result = puzzle("hardswish_middle").check(answer)
    assert not result.passed and text in str(result), result


def test_an_answer_that_is_no_function_is_refused():
    with pytest.raises(TypeError, match="an answer is a function: got 3; pass what can be called"):
        puzzle("hardswish_middle").check(3)


@pytest.mark.parametrize("name", ["hardswish_slope", "hardswish_kernel"])
def test_an_answer_that_hangs_is_called_once(name, monkeypatch):
    monkeypatch.setattr("aclnn_viz.puzzles.verdict.SECONDS", 0.2)
    called = []
    result = puzzle(name).check(lambda **inputs: (called.append(0), time.sleep(5)))
    assert not result.passed and result.begun and len(called) == 1
    assert "does not return within 0.2 s" in result.text


def test_cases_after_one_that_hangs_are_not_tried(monkeypatch):
    monkeypatch.setattr("aclnn_viz.puzzles.verdict.SECONDS", 0.3)
    called = []

    def at_the_kinks(x):
        called.append(x)
        time.sleep(5 * (x.size == 2))
        return np.where(x < -3, 0.0, np.where(x <= 3, x / 3 + 0.5, 1.0))

    result = puzzle("hardswish_slope").check(at_the_kinks)
    assert (
        "wrong in 1 of 2 cases" in result.text
        and "x = [-3.,  3.]" in result.text
        and len(called) == 3
    )


def test_a_kernel_that_is_right_but_too_slow_for_the_suite_is_not_solved(monkeypatch):
    monkeypatch.setattr("aclnn_viz.puzzles.verdict.SECONDS_OF_KERNEL", 0.5)
    solution = solution_of(puzzle("hardswish_kernel")).function
    result = puzzle("hardswish_kernel").check(
        lambda **inputs: (time.sleep(0.3), solution(**inputs))[1]
    )
    assert not result.passed and result.text.startswith("right on 1 cases, but too slow")
