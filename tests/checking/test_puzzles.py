"""Puzzles: right answers pass in any form, wrong ones show the place and, if usual, the name of the mistake."""

import numpy as np
import pytest
from together import in_one

from aclnn_viz.cases import case
from aclnn_viz.checking import check
from aclnn_viz.operators import operator
from aclnn_viz.puzzles import puzzle, puzzles, tile_puzzles
from aclnn_viz.puzzles.pictures import picture
from aclnn_viz.puzzles.solutions import Mistake, Solution, solution_of
from aclnn_viz.puzzles.verdict import apart, body_lines, judged, right_answer

EVERY = (*puzzles(), *tile_puzzles())
ALL = pytest.mark.parametrize("name", [one.name for one in EVERY])
PARTS = pytest.mark.parametrize("name", [one.name for one in EVERY if one.cases])
MISTAKES = [(one.name, mistake) for one in EVERY for mistake in solution_of(one).mistakes]
WHOLE = "hardswish_kernel", "rms_kernel"


# NumPy warns of the suites' rows of length 0; the check judges the result.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Mean of empty slice", "ignore:invalid value encountered"
)


@in_one
@ALL
def test_a_solution_passes_in_the_lines_that_are_promised(name):
    one = puzzle(name)
    solution = solution_of(one)
    result = one.check(solution.function)
    assert result.passed, result
    assert body_lines(solution.function) == one.lines


@ALL
def test_the_answer_to_an_empty_stub_says_how_to_begin(name, folder):
    result = puzzle(name).check(lambda *args, **inputs: None)
    assert not result.passed and not result.begun
    assert "nothing is " in str(result) and "hint(1)" in str(result)
    assert list(folder.iterdir()) == []  # it is no attempt


@pytest.mark.usefixtures("unshrunken")
@pytest.mark.parametrize(
    ("name", "mistake"), MISTAKES, ids=lambda value: getattr(value, "name", value)
)
@pytest.mark.sampled(12)
def test_a_usual_mistake_fails_and_is_named(name, mistake):
    one = puzzle(name)
    result = one.check(solution_of(one).wrong(mistake))
    assert not result.passed and result.mistake == mistake.name
    assert (
        repr(mistake.name) in result.text
        and mistake.why in result.text
        and "hint(1)" in result.text
    )
    assert (
        any(words in result.text for words in (" instead of ", ", right is "))
        or one in tile_puzzles()
    )


@in_one
@ALL
def test_there_are_three_mistakes_and_three_hints(name):
    one, mistakes = puzzle(name), solution_of(puzzle(name)).mistakes
    assert len({mistake.name for mistake in mistakes}) == len(mistakes) >= 3
    assert len(set(one.hints)) >= 3 and one.hint(1) == one.hints[0] and one.hint(3) == one.hints[2]
    assert (
        one.title
        and one.task.endswith(".")
        and one._repr_html_().count("<code>") == (str(one).count("`") / 2)
    )
    if one.cases:
        assert one.outputs and picture(one).text.startswith((one.title, one.outputs[0]))


@in_one
@PARTS
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda part: 1.001 * part, "none of the usual mistakes"),
        (lambda part: part.astype(np.float32), "float32: digits are lost"),
        (lambda part: part * np.nan, "nan"),
    ],
)
def test_a_wrong_answer_that_is_not_usual_gets_no_name(name, change, words):
    one = puzzle(name)
    result = one.check(lambda **inputs: tuple(map(change, right_answer(one, inputs).values())))
    assert not result.passed and result.mistake is None
    assert words in result.text and "the mistake is" not in result.text


@in_one
@ALL
def test_the_text_holds_the_loop_and_not_its_sentence(name):
    one = puzzle(name)
    assert (
        f"def {name}(" in one.specification
        and '"""' not in one.specification
        and "for " in one.specification
    )
    assert one.title in str(one) and one.task in str(one) and str(one.lines) in str(one)
    assert "&quot;" in one._repr_html_() or name in one._repr_html_()
    # JupyterLab would break lines of code within a word
    assert "white-space: pre;" in one._repr_html_()
    assert f"def {name}(" in one.solution() and one.solution() != one.specification


@pytest.mark.parametrize("name", WHOLE)
def test_the_specification_of_a_whole_kernel_is_a_right_kernel(name):
    assert check(puzzle(name).operator, puzzle(name).spec, time_limit=5.0).failed == 0


# The same mistakes and right answers in a learner's words, independent of the solution.


def peer_sign_lost(u, size, alignCorners):
    return u * 0.0 + 1.0


def peer_buffered(index, values, pixels):
    image = np.zeros((values.shape[0], pixels + 1))
    image[:, index] += values
    return image[:, :-1]


@pytest.mark.parametrize(
    ("name", "answer", "mistake"),
    [
        ("grid_reflect_slope", peer_sign_lost, "reflection sign lost"),
        ("grid_scatter", peer_buffered, "scatter overwrites"),
        (
            "hardswish_slope",
            lambda x: (x > -3) * np.minimum(x / 3 + 0.5, 1.5) * (x < 3) + 1.0 * (x >= 3),
            None,
        ),
        (
            "gn_means",
            lambda dxhat, xhat, numGroups: {
                "along": np.einsum("ncp,ncp->nc", dxhat, xhat) / xhat.shape[2],
                "shift": dxhat.mean(axis=2),
            },
            "statistics of one channel",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_mistake_is_named_however_it_is_written(name, answer, mistake):
    result = puzzle(name).check(answer)
    assert not result.passed and result.mistake == mistake


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        (
            "hardswish_slope",
            lambda x: np.select([x < -3, x <= 3], [np.zeros_like(x), (2 * x + 3) / 6], 1),
        ),
        ("hardswish_middle", lambda x: [v / 3 + 0.5 for v in x]),
        ("hardswish_middle", lambda x: [x / 3 + 0.5]),
        ("hardswish_middle", lambda x: (x / 3 + 0.5).astype(">f8")),
        (
            "ce_softmax",
            lambda logProb, target: [
                [np.exp(p) - (c == t) for c, p in enumerate(row)] for row, t in zip(logProb, target)
            ],
        ),
        ("hardswish_middle", lambda x: (x / 3 + 0.5).astype(np.longdouble)),
        (
            "gn_parameters",
            lambda dz, xhat: {"dbeta": dz.sum((0, 2)), "dgamma": np.einsum("ncp,ncp->c", dz, xhat)},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_right_answer_passes_however_it_is_written(name, answer):
    result = puzzle(name).check(answer)
    assert result.passed, result


def test_a_mirror_that_is_reached_exactly_from_outside_is_among_the_cases():
    def by_floor(u, size, alignCorners):
        low, span = (0.0, size - 1.0) if alignCorners else (-0.5, float(size))
        return 1.0 - 2.0 * (np.floor((u - low) / span) % 2)

    result = puzzle("grid_reflect_slope").check(by_floor)
    assert not result.passed and result.mistake is None and "is -1, right is 1" in result.text


def test_two_mistakes_that_agree_are_both_reported(monkeypatch):
    twin = (
        Mistake("first", "", (("x / 3", "x / 6"),)),
        Mistake("second", "", (("x / 3", "x / 6"),)),
    )
    both = Solution(solution_of(puzzle("hardswish_middle")).function, twin)
    monkeypatch.setattr("aclnn_viz.puzzles.verdict.solution_of", lambda _: both)
    result = judged(puzzle("hardswish_middle"), lambda x: x / 6 + 0.5)
    assert result.mistake is None and "one of 'first', 'second'" in result.text


def test_a_change_of_text_that_is_not_there_is_refused():
    with pytest.raises(
        ValueError, match="stands once in hardswish_middle: got 'x / 7', 0 times; quote"
    ):
        solution_of(puzzle("hardswish_middle")).wrong(Mistake("", "", (("x / 7", ""),)))


def test_what_differs_is_more_than_rounding_and_nan_equals_nothing_else():
    nan = np.nan
    found = apart(
        np.array([1.0, 1.0 + 1e-12, 1.001, nan, nan, np.inf]),
        np.array([1.0, 1.0, 1.0, nan, 1.0, np.inf]),
    )
    assert found.tolist() == [False, False, True, False, True, False]


def test_unknown_names_and_hints_are_refused():
    with pytest.raises(
        ValueError, match="^no such puzzle: got 'xyz'; name one of those that progress.. lists$"
    ):
        puzzle("xyz")
    with pytest.raises(
        ValueError, match="^no such puzzle: got 'hardswish_midle'; name hardswish_middle"
    ):
        puzzle("hardswish_midle")
    for number in (0, 4, "one", None, 1.0):
        with pytest.raises(ValueError, match="rms_dx has 3 hints: got .*; ask for 1 to 3"):
            puzzle("rms_dx").hint(number)


def test_results_show_in_a_notebook():
    one = puzzle("rms_dx")
    good, bad = one.check(solution_of(one).function), one.check(lambda **inputs: 1 / 0)
    assert (
        "✔" in good._repr_html_()
        and "✘" in bad._repr_html_()
        and "ZeroDivision" in bad._repr_html_()
    )


def test_lines_are_counted_without_comments_and_docstrings():
    def several(x, y):
        """Two
        lines."""
        # why

        z = [
            x,
        ]
        return z + y

    def annotated(x: np.ndarray = np.zeros(()), *, y=(1, 2)) -> np.ndarray:
        return x

    def short(x):
        return x

    assert body_lines(several) == 4 and body_lines(annotated) == body_lines(short) == 1
    assert (
        body_lines(lambda x: x) is None and body_lines(3) is None and body_lines(np.sum) is not None
    )


def test_the_loops_of_group_norm_make_up_its_page():
    """The loops judge parts for which the page has no function."""
    op, loops = operator("group_norm_swish"), {one.name: one.spec for one in puzzles()}
    inputs = case(op, dtype="float64", shape=(3, 4, 5), numGroups=2, swishScale=1.7).inputs
    dy, x, mean, rstd, gamma, beta = (
        inputs[name] for name in ("dy", "x", "mean", "rstd", "gamma", "beta")
    )
    xhat = loops["gn_xhat"](x, mean, rstd, 2)
    z = xhat * gamma[:, None] + beta[:, None]
    dz = dy * loops["swish_slope"](z.ravel(), 1.7).reshape(z.shape)
    dxhat = dz * gamma[:, None]
    along, shift, scale = (
        part.reshape(6, 1) for part in (*loops["gn_means"](dxhat, xhat, 2), rstd)
    )
    groups = dxhat.reshape(6, -1), xhat.reshape(6, -1)
    expected = op.backward(**inputs)
    for name, found in zip(("dgammaOut", "dbetaOut"), loops["gn_parameters"](dz, xhat)):
        assert not apart(found, expected[name]).any()
    for dx in (loops["gn_dx"](*groups, scale), (groups[0] - groups[1] * along - shift) * scale):
        assert not apart(dx.reshape(x.shape), expected["dxOut"]).any()
