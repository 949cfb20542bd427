"""Refused proofs explain themselves in plain words, with the page's line and smallest numbers, in command and notebook."""

import inspect
import json
from dataclasses import replace

import numpy as np
import pytest
from tables import table
from together import in_one

import aclnn_viz as av
from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.cli import main
from aclnn_viz.operators.faults.fault import changed
from aclnn_viz.proving import counterexample
from aclnn_viz.proving.subjects import of_functions

SHAPES = {"x": ("r", "n")}


def square(xp, x):
    return {"y": x * x}


def doubled(xp, dy, x):
    return {"dx": 2 * dy * x}


# replacements of `2 * dy * x`, and the words on them; None if forward changes
REFUSALS = dict(
    table("""
xp.sort(dy)                                    | xp.sort is not known
dy * len(x)                                    | a length as a Python number
dy * x[:, 0]                                   | axes of the lengths n and r meet
dy * xp.sum(x, axis=2)                         | axis 2 of an array of 2 axes
xp.astype(dy, xp.float16)                      | xp.float16 is not known
dy * x[::2]                                    | a slice with a step
dy & x                                         | 'and' takes boolean arrays, and one of these is none
xp.where(x, dy, x)                             | the condition of where is no boolean array
xp.pow(x, dy)                                  | an array is used where one number is needed
xp.reshape(dy * x, (-1, 3))                    | reshape of n*r entries into n*r/3 x 3
xp.take(dy, x, axis=0)                         | the indices of take are not whole numbers
dy * x[:, 3:4]                                 | place 3 is looked up, and an axis of length n may not have it
xp.sum(dy * x, axis=0)                         | dx has the shape (n), x the shape (r, n)
3 * dy * x                                     | no rule makes the derivative less this output 0: -dy[i0, i1]*x[i0, i1]
2 * dy * x if x.dtype == xp.float64 else x     | the format of an array is asked for
2 * dy * x if x.dtype.itemsize > 4 else x      | the format of an array is asked for
2 * dy * x if 'real' in str(x.dtype) else x    | the format of an array is asked for
2 * dy * x if {x.dtype: 1} else x              | the format of an array is asked for
2 * dy * x if x.itemsize > 4 else x            | itemsize of an array is not known
2 * dy * x if x.flags else x                   | flags of an array is not known
x if hasattr(x, 'strides') else 2 * dy * x     | hasattr of an array, of which a proof
x if isinstance(x, tuple) else 2 * dy * x      | isinstance of an array, of which a proof
2 * dy * x if 'Sym' in type(x).__name__ else x | type of an array, of which a proof
2 * dy * x * __import__('numpy').asarray(x)    | NumPy is given an array of a proof
dy * undefined                                 | name 'undefined' is not defined
""")
)


@in_one
@pytest.mark.parametrize("text", REFUSALS)
def test_a_refusal_says_what_is_not_known_and_in_which_line(text):
    names = {}
    exec(
        compile(
            f"def back(xp, dy, x):\n    two = 2\n    return {{'dx': {text}}}", "mine.py", "exec"
        ),
        names,
    )
    result = av.prove((square, names["back"]), shapes=SHAPES)
    assert (
        not result.holds
        and REFUSALS[text] in result.reason
        and "line 3 of mine.py" in result.reason
    ), result.reason


def test_a_page_that_catches_exceptions_is_refused():
    def back(xp, dy, x):
        try:
            return {"dx": 2 * dy * x * (x.nbytes < 0)}
        except Exception:
            return {"dx": 2 * dy * x}

    result = av.prove((square, back), shapes=SHAPES)
    assert not result.holds and "back catches exceptions" in result.reason


def test_a_line_of_a_page_is_one_of_its_file():
    op = av.operator("rms_norm")
    lines = inspect.getsource(op.page).splitlines()
    result = av.prove(
        "rms_norm", page=changed(op.page, (("xp.sum(dy * xhat, axis=0)", "xp.sum(xhat, axis=0)"),))
    )
    line = 1 + next(k for k, text in enumerate(lines) if '"dgammaOut": xp' in text)
    assert result.reason.startswith(f"dgammaOut (line {line} of ")


WRONG = {  # a wrong gradient of x * x, and the smallest numbers that show it: sizes, x, dy
    "right where x is 0": ("dy * x", (1, 1), 1, 1),
    "right for one column": ("2 * dy * xp.sum(x, axis=1, keepdims=True)", (1, 2), None, None),
    "right for one row": ("2 * dy * xp.sum(x, axis=0, keepdims=True)", (2, 1), None, None),
    "wrong at 0 alone": ("xp.where(x == 0.0, dy, 2 * dy * x)", (1, 1), 0, 1),
    "wrong for equal numbers": (
        "2 * dy * x + (xp.sum(xp.abs(x - x[:, :1]), axis=1, keepdims=True) == 0.0) * (x * 0 + x.shape[1] - 1)",
        (1, 2),
        None,
        None,
    ),
    "wrong for negative ones": ("2 * dy * xp.abs(x)", (1, 1), -1, 1),
    "wrong beyond 3": ("xp.where(x > 3.0, dy, 2 * dy * x)", (1, 1), None, 1),
    "no number": ("2 * dy * x + 0 / xp.abs(x)", (1, 1), 0, 0),
    "an error": ("dy * x[:, 5:6]", (1, 1), 0, 0),
    "a shape": ("xp.sum(2 * dy * x, axis=0)", (1, 1), 0, 0),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_counterexample_is_the_smallest_and_true(name):
    text, (rows, columns), x, dy = WRONG[name]
    back = eval(f"lambda xp, dy, x: {{'dx': {text}}}", {})
    found = counterexample.search(of_functions(square, back, SHAPES, {}))
    assert found and found.sizes == {"n": columns, "r": rows}, found
    assert x is None or found.inputs["x"] == [[x]] and found.inputs["dy"] == [[dy]], found
    if found.derivative is not None:
        assert found.derivative == pytest.approx(
            2 * float((found.inputs["dy"] * found.inputs["x"])[found.index]), abs=1e-6
        )
        with np.errstate(all="ignore"):
            got = back(NumPyArrays(), **{n: found.inputs[n] for n in ("dy", "x")})["dx"][
                found.index
            ]
        assert found.got == got or found.got != found.got


def test_what_is_right_has_no_counterexample():
    for forward, back in (
        (square, doubled),
        (
            lambda xp, x: {"y": xp.maximum(x, 0.0)},
            lambda xp, dy, x: {"dx": xp.where(x > 0.0, dy, 0 * dy)},
        ),
    ):
        assert counterexample.search(of_functions(forward, back, SHAPES, {})) is None


def test_a_kink_is_no_counterexample():
    """A kink of the slope, and a kink with a small jump."""
    for forward, back in (
        (lambda xp, x: {"y": x * xp.abs(x)}, lambda xp, dy, x: {"dx": 2.0 * xp.abs(x) * dy}),
        (
            lambda xp, x: {"y": 1e-4 * xp.abs(x)},
            lambda xp, dy, x: {"dx": xp.where(x >= 0.0, 1e-4 * dy, -1e-4 * dy)},
        ),
    ):
        assert counterexample.search(of_functions(forward, back, SHAPES, {})) is None


def test_the_command_ends_with_0_1_or_2(capsys, monkeypatch):
    assert main(["prove", "hardswish", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert (
        content["holds"]
        and content["counterexample"] is None
        and content["theorems"][0]["output"] == "out"
    )
    op = av.operator("hardswish")
    wrong = replace(op, page=changed(op.page, (("x / 3.0", "x / 2.0"),)))
    right = av.proving.prove
    monkeypatch.setattr("aclnn_viz.proving.prove", lambda what: right(wrong))
    assert main(["prove", "hardswish", "--json"]) == 1
    content = json.loads(capsys.readouterr().out)
    assert (
        not content["holds"]
        and content["reason"]
        and content["counterexample"]["sizes"] == {"P": 1}
    )
    assert main(["prove", "hardswish"]) == 1 and "counterexample: out" in capsys.readouterr().out
    monkeypatch.undo()
    assert main(["prove", "no_such"]) == 2
    unknown = capsys.readouterr()
    assert unknown.err and not unknown.out


def test_a_notebook_shows_formulas_and_the_line_that_fails():
    right, wrong = (
        av.prove((square, back), shapes=SHAPES)._repr_markdown_()
        for back in (doubled, lambda xp, dy, x: {"dx": dy * x})
    )
    assert "proved for all sizes" in right and "$$" in right and "counterexample" not in right
    assert (
        "not proved" in wrong
        and "(line " in wrong
        and "counterexample: dx[0, 0] is 1, the derivative 2" in wrong
    )
