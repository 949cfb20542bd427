"""The range of each depth: kernels that only a deep check fails, untried inputs named by a pass, and time."""

import json
import os
import random
import sys
import time
from contextlib import nullcontext
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from checking.rewritings import rewritings
from checking.subtle_kernels import SUBTLE, SWISH, beyond
from checking.wrong_kernels import scaled
from machine import SOAK, sampled

import aclnn_viz as av
from aclnn_viz.cases.suites import deep
from aclnn_viz.checking import check, kernel_call, meter, scope, wrong_outputs
from aclnn_viz.checking.conditions import Traits
from aclnn_viz.checking.evidence import Coverage, Evidence, KernelUnderTest, examine_deeper
from aclnn_viz.checking.judge import judge, prepared_suite
from aclnn_viz.checking.kernel_call import Guarded, run
from aclnn_viz.checking.scope import Scope, deeper
from aclnn_viz.cli import main

OPERATORS = pytest.mark.parametrize("op", sampled(__name__), ids=lambda op: op.name)


@pytest.fixture
def only(monkeypatch, unexplained, unshrunken):
    """Restrict a deep check's additions to some steps, and the time of explanations: only(wanted)."""

    def restrict(wanted, searching=0):
        monkeypatch.setitem(
            scope.DEPTHS, "deep", replace(scope.DEPTHS["deep"], searching=searching)
        )
        monkeypatch.setattr(
            scope, "deep", lambda *args, **options: filter(wanted, deep(*args, **options))
        )

    return restrict


ELEMENTS = {
    "wrong beyond 65,536 elements": (2**13, 2**17),
    "wrong beyond 2^20 elements": (2**20, 2**20 + 1),
    # only some cases
    "wrong beyond 4,000 rows": (2**10, 2**14),
    "last row dropped when rows % 16 = 1": (0, 2**8),
}
DEAR = ("a nan grid point reads pixel 0", "wrong beyond 2^20 elements")  # a dozen seconds each


@pytest.mark.parametrize(
    "title", [pytest.param(t, marks=[pytest.mark.soak] * (t in DEAR)) for t in SUBTLE]
)
@pytest.mark.sampled(1)
def test_a_deep_check_sees_what_a_normal_one_says_that_it_did_not_try(title, only):
    op, kernel, series, words = SUBTLE[title]
    least, most = ELEMENTS.get(title, (0, 2**17))
    if not SOAK:
        only(lambda step: step.series == series and least <= step.elements <= most)
    where = {
        name: p.values[0]
        for name, p in op.attributes.items()
        if p.values and not SOAK and "nan grid" in title
    }
    with np.errstate(all="ignore"):
        normal = check(op, kernel(), where=where)
        found = check(op, kernel(), where=where, depth="deep", dtypes=None if SOAK else "float32")
    assert not found.passed and (found.failed or found.misbehaviour)
    assert not normal.passed if words is None else normal.passed and words in str(normal), normal


def different(steps):
    """Return steps with another kind of number in a tensor, another format or another value of an attribute."""
    kept, seen = [], set()
    for step in random.Random(0).sample(steps, len(steps)):
        shown = {(name, repr(value)) for name, value in step.options.items()}
        if not shown <= seen:
            kept.append(step)
            seen |= shown
    return kept


@lru_cache
def special(name):
    """Return cases with special numbers, some or all."""
    op = av.operator(name)
    steps = [
        step
        for step in deep(op, op.modes, ("float32", "float16", "bfloat16"))
        if step.series == "numbers"
    ]
    some = steps if SOAK else different(steps)
    made = (
        scope.prepared_step(Scope.of(op, beyond=True), step, number)
        for number, step in enumerate(some)
    )
    return list(filter(None, made))


@OPERATORS
@pytest.mark.sampled(2)
def test_right_kernels_are_not_alarmed_by_special_numbers(op, record_property):
    """A cast of nan to an integer, as NumPy's grid sampler has it, is undefined: no right kernel does that."""
    record_property("cases", len(special(op.name)))
    for label, kernel in rewritings(op.name):
        for one in special(op.name):
            outcome = run(kernel, one.case, None)
            undefined = (
                label == "by hand" and not np.isfinite(one.case.inputs.get("grid", 0.0)).all()
            )
            assert undefined or not outcome.misbehaviour and judge(one, outcome.outputs) == [], (
                label,
                one.recipe,
            )


@pytest.mark.parametrize(
    "change",
    [
        lambda value: np.where(np.isnan(value), 0, value),
        lambda value: np.where(np.isinf(value), 0, value),
        lambda value: np.full_like(value, np.nan),
    ],
    ids=["nan", "inf", "all nan"],
)
@OPERATORS
@pytest.mark.sampled(2)
def test_special_numbers_are_judged(op, change):
    assert any(
        judge(one, {name: change(value) for name, value in op.backward(**one.case.inputs).items()})
        for one in special(op.name)
    )


@OPERATORS
@pytest.mark.sampled(1)
def test_a_deep_check_of_a_right_kernel_ends_in_time(op, only, record_property):
    if not SOAK:
        only(lambda step: step.elements in range(0, 300, 5) and step.series != "numbers")
    start = time.monotonic()
    result = check(op, op.backward, depth="deep")
    record_property("seconds", round(time.monotonic() - start, 1))
    assert result.passed and result.unsupported.cases == () and time.monotonic() - start < 90
    assert (
        "calls in another order" not in result.untried
        and "calls in another order" in check(op, op.backward).untried
    )


def test_every_series_has_its_share_of_the_elements_and_a_step_too_large_ends_its_own_alone(
    only, monkeypatch
):
    only(lambda step: step.elements < 3000)
    monkeypatch.setattr(scope, "prepared_step", lambda scope, step, seed: step)
    whole = [*deeper(Scope.of(SWISH), 0)]
    monkeypatch.setattr(scope, "DEEP", 40 * scope.EACH)
    some = [*deeper(Scope.of(SWISH), 0)]
    assert 20 < len(some) < 40 < len(whole) and {one.series for one in some} == {
        one.series for one in whole
    }
    assert sum(one.elements + scope.EACH for one in some) <= scope.DEEP


@OPERATORS
@pytest.mark.sampled(2)
def test_a_quick_check_is_small_and_still_sees_modes_and_formats(op):
    start = time.process_time()
    result = check(op, op.backward, depth="quick")
    assert result.passed and result.depth == "quick" and result.cases <= 20
    assert time.process_time() - start < 10  # of the processor, 2 at most


def test_the_depth_is_reported_and_checked(capsys):
    untried = json.loads(check(SWISH, SWISH.backward, depth="quick").to_json())["not_tried"]
    assert untried[0].endswith(" conditions") and any("tensors of more" in x for x in untried)
    with pytest.raises(
        ValueError, match="depth is one of quick, normal, deep: got 'deeper'; choose one"
    ):
        check(SWISH, SWISH.backward, depth="deeper")
    assert main(["check", "hardswish", "host", "--depth", "quick"]) == 0
    assert "this depth, quick, did not try: " in capsys.readouterr().out


def test_what_was_tried_is_not_listed():
    tried = Coverage()
    for n in range(65, 129):
        tried.add(av.case("rms_norm", shape=(n, 3)))
    text = "; ".join(tried.untried)
    assert (
        "R > 128" in text and "K by 2 and more" in text and "R by" not in text and "; nan;" in text
    )
    assert "numbers from 64 to 128 in dy, x, gamma" in text  # one rstd is as large
    tried.add(av.case("rms_norm", shape=(4, 6), dy=np.float32([[np.nan, 0, -0.0, 1, 2, 90]] * 4)))
    text = tried.untried
    assert "numbers from 64 to 128 in x, gamma" in text
    assert "nan in x, rstd, gamma" in text and "-0.0 in x, rstd, gamma" in text


# Memory around the inputs.


def spoils(gradOutput, self):
    out = SWISH.backward(gradOutput=gradOutput, self=self)
    if gradOutput.flags.c_contiguous:
        np.lib.stride_tricks.as_strided(gradOutput.reshape(-1), (gradOutput.size + 1,))[-1] = 0
    return out


def test_a_write_behind_an_input_is_reported():
    result = check(SWISH, spoils, depth="quick")
    assert not result.passed and any(
        "writes outside its input gradOutput" in what for what in result.misbehaviour
    )


def test_what_lies_around_an_input_is_nan():
    one = Guarded(np.float32([1, 2, 3, 4])[::2])
    assert one.copy.tolist() == [1, 3] and one.changed() == ""
    assert np.isnan(np.lib.stride_tricks.as_strided(one.copy, (4,), (4,))[[1, 3]]).all()
    one.copy[0] = -0.0
    assert one.changed() == "modifies its input"
    fortran = Guarded(np.asfortranarray(np.ones((2, 3), np.float16)))
    assert fortran.copy.flags.f_contiguous and not fortran.copy.flags.c_contiguous


# A deep check's memory of discarded cases.


def test_right_large_cases_speak_against_a_condition(only):
    """Rows of 8,193 and 16,385 are right: they are discarded, and yet no smaller bound is reported."""
    only(
        lambda step: step.series == "shape 1" and 2**13 < step.elements <= 3 * (2**15 + 1),
        searching=2000,
    )
    wrong = beyond(av.operator("rms_norm"), "x", lambda shape: shape[-1] > 16385)
    text = check("rms_norm", wrong, depth="deep")
    assert text.failed and "exactly those with dy.shape[-1] >= " in text.diagnosis.text, (
        text.diagnosis
    )
    assert "(right up to 16385)" in text.diagnosis.text
    assert "16385" in text.explanation.condition if text.explanation else True


def test_right_large_cases_count_for_every_condition():
    right, wrong = (
        Traits.of(av.case("hardswish", shape=(n,), dtype=dtype))
        for n, dtype in ((9, "float32"), (5, "float16"))
    )
    cases = [(wrong, True)] * 5 + [(right, False)] * 5
    assert wrong_outputs.wrong_conditions(cases) == [
        "dtype='float16': wrong in 5 of 5 cases, never otherwise"
    ]
    assert wrong_outputs.wrong_conditions(cases + [(wrong, False)] * 90) == []


def test_the_first_failure_of_a_deep_check_counts_the_whole_check(only):
    only(lambda step: step.series == "one axis" and step.elements == 65)
    found = Evidence(start=time.monotonic() - 1000)
    scope = Scope.of(SWISH)
    examine_deeper(
        found,
        KernelUnderTest(scaled(SWISH, 2), scope),
        deeper(scope, 0),
        time.monotonic() + 60,
    )
    assert found.first_failure >= 1000


def test_calls_in_another_order_end_in_time_and_are_reported_as_they_were():
    ran = [
        (one, SWISH.backward(**one.case.inputs))
        for one, _ in zip(prepared_suite(SWISH, 0), range(3))
    ]
    found = kernel_call.repeated(SWISH.backward, ran, None, time.monotonic() + 60)
    assert found == ("", "", 1 + kernel_call.TIMES, True)
    assert kernel_call.repeated(SWISH.backward, ran, None, time.monotonic() - 1) == (
        "",
        "",
        0,
        False,
    )
    assert kernel_call.repeated(SWISH.backward, [], None, time.monotonic() + 60) == (
        "",
        "",
        0,
        False,
    )
    assert kernel_call.repeated(scaled(SWISH, 2), ran, None, time.monotonic() + 60)[0]


@pytest.mark.skipif(sys.platform != "linux", reason="the allocator of Linux")
def test_memory_between_other_arrays_is_given_back(monkeypatch):
    def resident():
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    arrays = [np.ones(12_000) for _ in range(2000)]  # too small to be mapped separately
    last, before = np.ones(12_000), resident()
    with meter.memory_given_back(True):
        arrays.clear()
    assert before - resident() > 100 << 20 and last.all()
    called = []
    monkeypatch.setattr(
        sys.modules[check.__module__],
        "memory_given_back",
        lambda large: called.append(large) or nullcontext(),
    )
    for depth in ("quick", "deep"):
        with pytest.raises(TypeError, match="a kernel is a function"):
            check("tanh", None, depth=depth)
    assert called == [False, True]
