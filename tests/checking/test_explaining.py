"""Explanations of a wrong kernel: the edit or an equal one, a number, a condition; never more."""

import ast
import json
import re
import time
from dataclasses import replace

import numpy as np
import pytest
from checking.wrong import edited, kernel, opaque
from checking.wrong_kernels import RMS, SWISH, fault, single, suite_where
from machine import SOAK

from aclnn_viz import operator, operators
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking import check, meter, result
from aclnn_viz.checking.candidates import _cut
from aclnn_viz.checking.case_run import CaseRun, Variant, cheapest_first
from aclnn_viz.checking.conditions import Condition
from aclnn_viz.checking.evidence import KernelUnderTest, examine
from aclnn_viz.checking.explanation import (
    Explanation,
    _holds_on,
    _reached,
    explain,
    law_of,
    of_fault,
)
from aclnn_viz.checking.judge import Miss, judge, prepared_at, prepared_suite, suite_recipes
from aclnn_viz.checking.meter import Budget
from aclnn_viz.checking.scope import DEPTHS, Ready, Scope
from aclnn_viz.checking.sums import _length_of
from aclnn_viz.checking.wrong_outputs import depends
from aclnn_viz.operators import registry
from aclnn_viz.operators.faults import faults
from aclnn_viz.operators.faults.edits import edits

pytestmark = pytest.mark.usefixtures("unshrunken")


def rms(change):
    """Return the right kernel, whose outputs in float64 go through `change`."""

    def kernel(**inputs):
        right = RMS.backward(**inputs)
        wide = {name: value.astype(np.float64) for name, value in right.items()}
        changed = change(wide, inputs["x"])
        return {name: value.astype(right[name].dtype) for name, value in changed.items()}

    return kernel


def test_a_wrong_number_is_fitted():
    shifted = opaque(edited("hardswish", ("np.float32(0.5)", "np.float32(1 / 3)")))
    text = check("hardswish", shifted, depth="quick").explanation
    assert text.after == "inside = x / 3.0 + 1/3" and text.before == "inside = x / 3.0 + 0.5"
    assert "hardswish/page.py, line" in text.line and "your kernel behaves as if" in str(text)


def test_in_one_line_an_explanation_says_where_it_applies():
    found = Explanation("outputs", "out is 0 everywhere", "", "", "", "", condition="ceilMode=True")
    assert found.brief == "out is 0 everywhere, only where ceilMode=True"


def test_what_is_0_as_a_whole_is_no_tail():
    """For a single element, an output was said to be 0 behind the last whole 2."""
    wrong = [
        CaseRun(one, {"out": np.zeros_like(one.case.inputs["self"])}, ())
        for one in (
            Ready(
                Scope.of("hardswish"), Recipe("hardswish", {"shape": shape, "self": 1.0}), None, 0
            ).prepare()
            for shape in ((1,), (3,))
        )
    ]
    assert not any(one.same(run) for run in wrong for one in _cut(["out"], [run]))


def test_a_law_that_a_smaller_failing_case_breaks_is_not_said(monkeypatch):
    """`law_of` gets no wrong case with few elements until the counterexample is shrunk."""
    shapes = {one.case.inputs["x"].shape for one in prepared_suite("rms_norm", 0)}
    kernel = rms(
        lambda out, x: (
            out | {"dxOut": out["dxOut"] * 1.5 + np.cos(x.astype(np.float64) * 9)}
            if x.size >= 60 or x.size >= 20 and x.shape not in shapes
            else out
        )
    )
    tested = KernelUnderTest(kernel, Scope.of("rms_norm"))
    seen = examine(tested, [*prepared_suite("rms_norm", 0)]).seen
    # beside a nan all is right
    seen = [run for run in seen if np.isfinite(run.truth["dxOut"]).all()]
    unseen = min(n for n in range(20, 60) if (1, n) not in shapes)
    small = tested.run_on(Ready(tested.scope, Recipe("rms_norm", {"shape": (1, unseen)}), None, 0))
    assert small.misses and tested.wrong == [small]
    assert law_of(seen, [], [])[0].text.startswith("dy.size >=") and law_of(
        seen, [], [], tested.wrong
    ) == (None, False)
    for depth in ("quick", *["normal"] * SOAK):
        monkeypatch.setitem(DEPTHS, depth, replace(DEPTHS[depth], shrinking=1500))
        found = check("rms_norm", kernel, depth=depth)
        assert found.counterexample.case.inputs["dy"].size < 60 and "dy.size" not in str(found)


@pytest.mark.soak
def test_lengths_at_which_a_kernel_is_wrong_are_found_by_running_it():
    text = check(
        "rms_norm",
        rms(
            lambda out, x: (
                out
                | {
                    "dxOut": out["dxOut"]
                    * np.linspace(2, 9, x.size).reshape(x.shape) ** (x.shape[-1] > 256)
                }
            )
        ),
    ).diagnosis
    assert "wrong only where dy.shape[-1] >= 257 (right up to 256)" in str(text)


def test_what_the_cases_of_some_lengths_have_in_common_is_named_beside_them():
    squared = edited(
        "cross_entropy_loss",
        (
            "divisor = np.sum([w[target[row]] for row in counted], dtype=np.float32)",
            "divisor = np.float32(rows**2 / max(len(counted), 1))",
        ),
    )
    tested = KernelUnderTest(squared, Scope.of("cross_entropy_loss"))
    wrong = tested.run_on(
        Ready(
            tested.scope,
            Recipe("cross_entropy_loss", {"shape": (5, 4), "weightOptional": None}),
            None,
            0,
        )
    )
    *_, text = depends(operator("cross_entropy_loss"), [wrong], tested, 0, Budget(1e6))
    assert text.startswith(
        "wrong only where logProb.shape[0] > 3, and ignored rows occur only at these lengths, too ("
    )


@pytest.mark.soak
def test_a_fault_under_a_condition_is_reported_with_it():
    text = check(
        "rms_norm",
        rms(
            lambda out, x: (
                out | {"dgammaOut": out["dgammaOut"] * (2.0 if x.shape[-1] > 100 else 1.0)}
            )
        ),
    ).explanation
    assert "'dgammaOut': 2 * " in text.after and "shape[-1] >" in text.condition


def test_a_named_fault_is_its_own_explanation():
    result = check("rms_norm", fault("rms_norm", "missing 1/n"), depth="quick")
    assert result.explanation.kind == "named fault" and result.explanation.line.startswith(
        "rms_norm/page.py, line"
    )
    assert json.loads(result.to_json())["explanation"]["after"] == result.explanation.after


def test_a_right_kernel_has_no_explanation():
    assert check("rms_norm", RMS.backward, depth="quick").explanation is None
    assert (
        explain(
            RMS,
            examine(KernelUnderTest(RMS.backward, Scope.of(RMS)), [*prepared_suite(RMS, 0)]).seen,
            Budget(100),
        )
        is None
    )


def curved(gradOutput, self, weight):
    """Return PReLU with only weight's gradient wrong."""
    out = operator("prelu").backward(gradOutput=gradOutput, self=self, weight=weight)
    return out | {
        "gradWeight": np.sin(9 * out["gradWeight"].astype(np.float64)).astype(weight.dtype)
    }


def test_a_change_of_one_output_explains_no_other():
    assert check("prelu", lambda **inputs: curved(**inputs), depth="quick").explanation is None
    one = next(suite_where(RMS, lambda made: made.dtype == "float32"))
    outputs = RMS.backward(**one.case.inputs)
    outputs["dgammaOut"] = outputs["dgammaOut"] + 1
    run, page = CaseRun(one, outputs, judge(one, outputs)), lambda: RMS.page
    assert not any(
        run.matches(Variant(page, only=frozenset([name] * (name in RMS.outputs))))
        for name in ("", *RMS.outputs)
    )


def test_an_output_that_is_hardly_wrong_is_not_left_out():
    """One output differs from the right page by its rounding, beside one that an edit explains."""
    one = next(suite_where(RMS, lambda made: made.inputs["x"].shape == (4, 6)))
    outputs = RMS.backward(**one.case.inputs)
    outputs["dxOut"] = -outputs["dxOut"]
    negated = Variant(
        lambda: RMS.page, outputs=lambda values, _: values | {"dxOut": -values["dxOut"]}
    )
    assert CaseRun(one, outputs, judge(one, outputs)).matches(negated)
    outputs["dgammaOut"] += 12 * np.spacing(np.max(np.abs(outputs["dgammaOut"])))
    run = CaseRun(one, outputs, judge(one, outputs))
    assert {miss.output for miss in run.misses} == {"dxOut", "dgammaOut"}
    assert not run.matches(negated)


def test_one_wrong_case_without_elements_ends_no_search():
    kernel = rms(lambda out, x: out | {"dgammaOut": out["dgammaOut"] * (1.5 if x.size else np.nan)})
    assert "'dgammaOut': 1.5 * " in check("rms_norm", kernel, beyond=True).explanation.after


def test_a_condition_is_no_less_true_for_a_case_within_it_that_happens_to_be_right():
    cases = [
        CaseRun(one, {}, [Miss("out", "")] * wrong)
        for one, wrong in zip(prepared_suite("hardswish", 0), (True, False, False))
    ]
    law = Condition("float32", lambda made: made is not cases[2].case)
    assert _holds_on(law, cases)
    assert not _holds_on(Condition("", lambda made: made is not cases[0].case), cases)


def test_a_law_that_holds_of_the_lengths_of_the_suite_alone_is_not_said():
    """Only the last of several blocks of a row enters the sum: in most of the suite that is one place."""
    found = check("softmax", opaque(kernel("softmax", "01")), where={"dim": -1}).explanation
    assert not found or "%" not in found.condition


def test_a_sum_has_no_length_that_it_is_divided_by():
    less = _length_of(lambda n, axes, others: n - 1)
    assert less(np.mean, np.ones(5)) == 1.25
    with pytest.raises(ValueError):
        less(np.sum, np.ones(5))


@pytest.mark.parametrize(
    ("name", "edit", "words"),
    [
        (
            "sigmoid",
            (" * y * (1 - y)", " * (y - y * y)"),
            "written so that terms cancel in float32",
        ),
        (
            "silu",
            ("s * (1 + x * (1 - s))", "(s * (1 + x * (1 - s)) * (x < 3.228) + (x >= 3.228))"),
            "gradInput is wrong only where 3.",
        ),
    ],
)
@pytest.mark.sampled(1)
def test_errors_that_16_bits_do_not_make_are_not_said_to_be_theirs(name, edit, words, monkeypatch):
    monkeypatch.setitem(DEPTHS, "normal", replace(DEPTHS["normal"], shrinking=3000))
    text = check(name, opaque(edited(name, edit))).diagnosis.text
    assert words in text and "16 bits" not in text


def test_noise_is_not_explained():
    rng = np.random.default_rng(0)
    result = check(
        "hardswish",
        lambda **inputs: (
            SWISH.backward(**inputs)["out"].astype(np.float64)
            + rng.normal(size=inputs["self"].shape)
        ).astype(inputs["self"].dtype),
        depth="quick",
    )
    assert not result.passed and result.explanation is None


def test_two_faults_are_not_explained_by_one():
    def kernel(**inputs):
        first, second = (
            fault("rms_norm", title)(**inputs) for title in ("missing 1/n", "dgamma averaged")
        )
        return {"dxOut": first["dxOut"], "dgammaOut": second["dgammaOut"]}

    result = check("rms_norm", lambda **inputs: kernel(**inputs), depth="quick")
    assert result.diagnosis.name is None
    assert result.explanation is None or all(
        word in str(result.explanation) for word in ("dxOut", "dgammaOut")
    )


STORED = {
    "float32 alone": {"beyond": True},
    "16 bits": {"beyond": True, "dtypes": ("float16", "bfloat16")},
}


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize(
    "name",
    [op.name for op in operators() if registry.file("faults", op.name)]
    if SOAK
    else ["hardswish", "rms_norm", "cross_entropy_loss"],
)
@pytest.mark.sampled(1)
def test_named_faults_are_named_in_the_precision_of_kernels(name, stored, record_property):
    """Computed in float32 for any input, also float64; and stored in 16 bits if these can show the fault."""
    results = {
        one.name: check(name, single(fault(name, one.name)), **STORED[stored])
        for one in faults(name)[:: 1 if SOAK else 12]
    }
    caught = {title: result.diagnosis.name for title, result in results.items() if result.failed}
    right = sum(title == text for title, text in caught.items())
    record_property(f"caught, {stored}", len(caught))
    record_property(f"named, {stored}", right)
    assert [(title, text) for title, text in caught.items() if text not in (None, title)] == []
    assert right >= 0.95 * len(caught) - (len(caught) < 20), [
        title for title, text in caught.items() if not text
    ]


@pytest.mark.soak
def test_an_edit_that_stands_in_the_place_of_a_named_fault_is_reported_by_its_line():
    norm = operator("layer_norm")
    wrong = next(
        one
        for one in faults(norm)
        if one.edit and one.edit.after.endswith("xp.mean(gradOut, axis=0)")
    )
    text = check(norm, replace(norm, page=wrong.edit.page).backward, depth="quick").explanation
    assert (text.before, text.after) == (wrong.edit.before, wrong.edit.after)
    assert f"as if {text.line}, read" in str(text) and "named fault" not in str(text)


@pytest.mark.soak
def test_what_a_page_repeats_along_an_axis_is_compared_as_it_is_stored():
    norm = operator("layer_norm")
    repeated = next(
        one for one in edits(norm.page) if one.after == "'gradBiasOut': xp.sum(rstd, axis=0)"
    )
    assert (
        check(norm, replace(norm, page=repeated.page).backward, depth="quick").explanation.after
        == repeated.after
    )


def test_edits_of_lines_that_a_case_does_not_execute_change_nothing_there():
    loss = operator("cross_entropy_loss")
    summed = suite_where(
        loss, lambda made: made.inputs["reduction"] == "sum" and made.inputs["labelSmoothing"] == 0
    )
    one = CaseRun(next(summed), {}, ())
    idle = [
        edit
        for edit in edits(loss.page)
        if edit.unit.name
        and not any((edit.unit.module.__file__, line) in one.executed for line in edit.lines)
    ]
    right = one.computed(Variant(lambda: loss.page))
    assert len(idle) > 20 and len(idle) < len(edits(loss.page)) / 2
    for edit in idle:
        assert all(
            np.array_equal(value, right[name])
            for name, value in one.computed(Variant(lambda: edit.page)).items()
        )


# How a named fault is recognised.


def test_a_fault_that_is_no_line_of_the_page_is_reported_by_its_name():
    text = of_fault(
        RMS, next(one for one in faults("rms_norm") if one.name == "strides ignored"), 3
    )
    assert (
        str(text).startswith("your kernel behaves as the named fault 'strides ignored': ")
        and text.line == ""
    )


def test_a_named_fault_under_a_condition_is_reported_as_one():
    wrong = fault("rms_norm", "missing 1/n")
    result = check(
        "rms_norm",
        lambda **inputs: (wrong if inputs["x"].ndim == 2 else RMS.backward)(**inputs),
        depth="quick",
    )
    assert result.diagnosis.name is None and "ndim" in result.explanation.condition
    assert "explanation: your kernel behaves as the named fault 'missing 1/n'" in str(result)
    assert "rms_norm/page.py, line" in result.explanation.line


def test_edits_within_a_function_of_a_function_are_tried():
    """The bicubic weights are polynomials in an inner function, without names of a top-level function."""
    op = operator("grid_sampler_2d")
    numbers = [
        number
        for number, recipe in enumerate(suite_recipes(op.name))
        if recipe.options.get("interpolationMode") == 2 and recipe.options.get("shape")
    ]
    cubic = [CaseRun(prepared_at(op.name, number, 0), {}, ()) for number in numbers[:2]]
    within = [
        edit
        for edit in edits(op.page)
        if edit.unit.name == "bicubic_weights" and isinstance(edit.statement, ast.Return)
    ]
    assert len(within) > 100 and set(within) <= set(_reached(within, cubic))


def test_the_cheapest_failing_case_comes_first_and_none_is_lost():
    """A case with one tap per point, not sixteen, unless only these are wrong."""
    # a case of each
    op, modes = operator("grid_sampler_2d"), {0: "bilinear", 1: "nearest", 2: "bicubic"}
    each = suite_where(op, lambda made: modes.pop(made.inputs["interpolationMode"], None))
    seen = sorted(
        (CaseRun(one, op.backward(**one.case.inputs), ()) for one in each),
        key=lambda one: one.size,
    )
    first, *_ = found = cheapest_first(seen)
    assert set(found) == set(seen) and len(found) == len(seen) and cheapest_first([]) == []
    assert (
        first.steps
        == min(one.steps for one in seen if one.size >= 8)
        < max(one.steps for one in seen) / 4
    )
    broken = [CaseRun(one.prepared, {}, ()) for one in seen]
    assert cheapest_first(broken) == broken


@pytest.mark.parametrize(
    ("name", "edits", "words"),
    [
        (
            "softmax",
            [("g * y", "g / y"), ("y * (g - total)", "g / y - y * total")],
            "gradOutput / output - output * xp.sum(gradOutput / output",
        ),
        ("softmax", [("y * (g - total)", "g * y - y")], "output * (gradOutput - 1.0)"),
        (
            "hardswish",
            [("grad * slope(part)", "np.where(part < -3, 1, grad * slope(part))")],
            "ones_like(self), xp.where(self <= 3.0",
        ),
        (
            "swi_glu",
            [("g * a * s\n", "(g * a * s).astype(np.float16).astype(np.float32)\n")],
            ".astype('float16')",
        ),
    ],
)
@pytest.mark.sampled(1)
def test_kernels_that_are_arranged_otherwise_than_the_page_are_explained_by_numbers_alone(
    name, edits, words
):
    explanation = check(name, opaque(edited(name, *edits)), depth="quick").explanation
    assert (
        words in explanation.after
        and explanation.yours is None
        and "up to roundings" not in explanation.evidence
    )


def test_a_kernel_that_computes_in_the_format_that_it_is_given_is_explained_by_the_wider_ones():
    given = edited(
        "silu",
        ("x = wide(self)", "x = self"),
        ("wide(gradOutput) * s * (1 + x * (1 - s))", "gradOutput * (s * (1 - x * (1 - s)))"),
    )
    explanation = check("silu", opaque(given), depth="quick").explanation
    assert (
        "(1.0 - self * sigmoid(xp, -self))" in explanation.after
        and "in 16 bits up to intermediate roundings" in explanation.evidence
    )


def test_a_loop_that_misses_its_first_place_is_explained():
    kernel = opaque(edited("hardswish", ("count = x.size", "count, dy[:1] = x.size, 0")))
    assert "in the first place of" in str(check("hardswish", kernel, depth="quick").explanation)


@pytest.mark.soak
def test_what_grows_from_a_rounding_does_not_hide_an_edit():
    """Near the zero of its slope this kernel is some digits off its formula, and in float64 the page cancels."""
    kernel = opaque(edited("gelu", ("wide(gradOutput) * (", "wide(gradOutput) / (")))
    explanation = check("gelu", kernel, depth="quick").explanation
    assert "gradOutput / gaussian_slope" in explanation.after


def verdict(kernel, monkeypatch, rate, depth="normal"):
    """Return the words on a kernel on a machine with `rate` times as fast clocks, without the seconds."""
    with monkeypatch.context() as patch:
        for clock in (time.process_time, time.monotonic):
            patch.setattr(
                time,
                clock.__name__,
                lambda clock=clock, start=clock(): start + rate * (clock() - start),
            )
        return re.sub(r"seed 0, .*", "", str(check("rms_norm", kernel, depth=depth)))


@pytest.mark.parametrize("depth", ["quick", *["normal"] * SOAK])
def test_a_slower_machine_says_the_same(depth, monkeypatch):
    """Nothing explains noise along one axis: the whole search runs, and then the lengths."""

    def kernel(**inputs):
        found, x = RMS.backward(**inputs), inputs["x"]
        return found | {
            "dxOut": found["dxOut"] * np.linspace(2, 9, x.size).reshape(x.shape).astype(x.dtype)
        }

    first = verdict(kernel, monkeypatch, 1.0, depth)
    assert "on a faster machine" not in first
    assert verdict(kernel, monkeypatch, 6.0, depth) == first


def test_of_a_page_of_many_lines_fewer_candidates_are_tried(monkeypatch):
    def runs(lines):
        monkeypatch.setattr(result, "LINES", lines)
        before = meter.METER.runs
        assert not check(
            "rms_norm", rms(lambda out, x: out | {"dxOut": np.sin(9 * out["dxOut"])}), depth="quick"
        ).explanation
        return meter.METER.runs - before

    assert runs(1) < runs(1e9) / 2


def test_only_a_kernel_that_is_slow_itself_ends_a_search_and_that_is_said(monkeypatch):
    monkeypatch.setattr(meter, "SLOWEST", 1e9)
    kernel = lambda **inputs: {
        name: value[..., ::-1] ** 2 for name, value in RMS.backward(**inputs).items()
    }  # noqa: E731
    result = check("rms_norm", kernel, depth="quick")
    assert (
        result.stopped
        and "because the kernel is slow: on a faster machine the search may find more"
        in str(result)
    )
    meter.METER.slow = True  # as an interrupted check leaves it
    assert not check("rms_norm", fault("rms_norm", "missing 1/n")).stopped
