"""Words of a result: conventions apart from bugs, laws that hold, one page of HTML, an assertion, a case in files."""

import json

import numpy as np
import pytest
from checking.wrong import edited
from checking.wrong_kernels import RMS, SWISH, scaled

from aclnn_viz import case, operator
from aclnn_viz.cases.suites import recipes
from aclnn_viz.checking import check, given
from aclnn_viz.checking.conditions import Condition, Traits, separating, stands
from aclnn_viz.checking.scope import Scope
from aclnn_viz.cli import main

LOSS = operator("cross_entropy_loss")


#: Divides by the number of counted rows, not by their weights, and by 1 if there is none.
COUNTED = edited(
    "cross_entropy_loss",
    (
        "divisor = np.sum([w[target[row]] for row in counted], dtype=np.float32)",
        "divisor = np.float32(len(counted))",
    ),
    ("np.full_like(logProb, np.nan)", "np.zeros_like(logProb)"),
)


def test_a_convention_is_named_and_is_not_the_counterexample_of_a_bug():
    result = check(LOSS, COUNTED, dtypes="float32", where={"reduction": "mean"}, depth="quick")
    assert (
        np.isfinite(result.counterexample.truth["xGradOut"]).all()
        and result.diagnosis.name == "mean over the counted rows"
    )
    (note,) = result.notes
    assert "of the wrong cases differ only by a convention" in note and note in str(result)
    assert json.loads(result.to_json())["notes"] == [note]


def test_where_only_a_convention_differs_that_is_said():
    def zero(**inputs):
        return {name: np.nan_to_num(value) for name, value in LOSS.backward(**inputs).items()}

    result = check(LOSS, zero, dtypes="float32", depth="quick")
    assert not result.passed and [
        note.startswith("only a convention differs") for note in result.notes
    ] == [True]


def test_the_slope_at_a_kink_is_a_convention_and_a_wrong_slope_is_none():
    kink, slope = ("x <= 3", "x < 3"), ("grad * slope", "1.01 * grad * slope")
    assert "kink" in check("hardswish", edited("hardswish", kink), depth="quick").notes[0]
    wrong = check("hardswish", edited("hardswish", kink, slope), depth="quick")
    assert wrong.counterexample and not wrong.notes


def test_a_formula_that_cancels_differs_by_no_convention():
    """For a number near 0 both sides differ from it by more than its size."""

    def halves(gradOutput, output):
        y, dy = output.astype(np.float64), gradOutput.astype(np.float64)
        return (dy * (0.25 - (y - 0.5) ** 2)).astype(output.dtype)

    small = np.full(3, 6.3e-16, np.float32)
    result = check("sigmoid", halves, cases=[case("sigmoid", output=small, gradOutput=small**0)])
    assert not result.passed and not result.notes


def test_a_law_is_said_only_if_it_stands_on_cases_drawn_to_break_it():
    traits = [
        Traits.of(case("rms_norm", shape=shape)) for shape in ((4, 6), (2, 30), (4, 41), (2, 70))
    ]
    law = separating(traits[2:], traits[:2])
    some = [case("rms_norm", shape=(2, n)) for n in (5, 35, 90)]
    assert law.holds(some[0]) is False and law.holds(some[1]) is None and law.holds(some[2]) is True
    runs = [(some[0], False), (some[1], True), (some[2], True)] * 3
    assert stands(law, runs) and not stands(law, runs[:3])  # a few runs may agree by chance
    assert not stands(law, [*runs, (some[0], True)]) and not stands(law, runs[2::3])
    assert not stands(Condition("always", lambda made: True), [(one, True) for one in some * 9])
    more = [*runs, *runs]
    assert stands(law, [*more, (some[2], False)]) and not stands(law, [*more, (some[0], True)])


def test_a_shape_among_the_attributes_is_no_law():
    made = case("upsample_bilinear_2d")
    assert "inputSize" in made.inputs and "alignCorners" in Traits.of(made).choices
    assert not {"inputSize", "outputSize"} & Traits.of(made).choices.keys()


def test_a_length_that_is_just_a_number_is_no_law():
    some, others = (
        [Traits.of(case("rms_norm", shape=shape)) for shape in shapes]
        for shapes in ([(4, 6), (4, 6)], [(3, 6), (5, 6), (7, 9), (2, 10)])
    )
    found = separating(some, others)
    assert found.text.endswith("% 4 = 0")


def test_mixed_cases_take_options_that_stand_apart_in_the_suite():
    def chosen(recipe):
        return recipe.options.get("kernelSize"), recipe.options.get("countIncludePad")

    mixed = {chosen(ready.recipe) for _, ready in zip(range(60), Scope.of("avg_pool").mixed(1))}
    assert mixed - {*map(chosen, recipes("avg_pool"))}


def test_a_result_raises_what_it_says():
    assert check(SWISH, SWISH.backward).raise_if_failed().passed
    with pytest.raises(AssertionError, match="hardswish: WRONG"):
        check(SWISH, scaled(SWISH, 2), depth="quick").raise_if_failed()


def files(folder, factor):
    made = case("rms_norm", dtype="float16", shape=(4, 16))
    out = RMS.backward(**made.inputs)["dxOut"]
    for name, value in {**made.inputs, "mine": out * np.float16(factor), "golden": out}.items():
        value.tofile(folder / f"{name}.bin")
    place = {
        "dy": "dy.bin:float16:4,16",
        "x": "x.bin:float16:4,16",
        "rstd": "rstd.bin:float32:4,1",
        "gamma": "gamma.bin:float16:16",
        "dxOut": "mine.bin:float16:4,16",
        "golden.dxOut": "golden.bin:float16:4,16",
    }
    return {name: f"{folder}/{value}" for name, value in place.items()}


@pytest.mark.parametrize("factor", [1, 1.5])
@pytest.mark.usefixtures("unexplained")
def test_a_failing_test_in_files_is_one_command(factor, tmp_path, capsys):
    arguments = [
        part
        for name, value in files(tmp_path, factor).items()
        for part in ("--given", f"{name}={value}")
    ]
    page = tmp_path / "result.html"
    assert main(["check", "rms_norm", *arguments, "--html", str(page)]) == (factor != 1)
    # its own page may be replaced
    assert main(["check", "rms_norm", *arguments, "--html", str(page)]) == (factor != 1)
    text, html = capsys.readouterr().out, page.read_text("utf-8")
    assert "golden.dxOut is right within rounding" in text and ("WRONG in 1 of 1 case" in text) == (
        factor != 1
    )
    assert (
        html.startswith("<!doctype html>")
        and "rms_norm" in html
        and ("counterexample.write(" in html) == (factor != 1)
    )
    page.write_text("notes of mine")
    assert (
        main(["check", "rms_norm", *arguments, "--html", str(page)]) == 2
        and page.read_text() == "notes of mine"
    )


def test_a_golden_that_is_wrong_is_blamed(tmp_path):
    named = files(tmp_path, 1.5)
    named["dxOut"], named["golden.dxOut"] = named["golden.dxOut"], named["dxOut"]
    result = given("rms_norm", named)
    assert result.passed and "golden.dxOut is wrong itself" in result.notes[0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dzOut": "x.npy"}, "use the vendor's names"),
        ({"gamma": None}, "name their files, too"),
        ({"dxOut": None, "golden.dxOut": None}, "output"),
        ({"x": "{folder}/x.bin:float16:4,a"}, "a file is given as FILE.npy or FILE:DTYPE:SHAPE"),
    ],
)
def test_files_that_make_no_case_are_refused(change, words, tmp_path):
    named = files(tmp_path, 1) | {
        name: value and value.format(folder=tmp_path) for name, value in change.items()
    }
    with pytest.raises(ValueError, match=words):
        given("rms_norm", {name: value for name, value in named.items() if value})


def test_the_call_repeats_the_counterexample():
    def kernel(**inputs):
        return 2 * SWISH.backward(**inputs)["out"]

    found = check(SWISH, kernel, depth="quick").counterexample
    assert np.array_equal(eval(found.call, {"np": np, "kernel": kernel}), found.actual["out"])
