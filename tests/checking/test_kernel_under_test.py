"""Repeated calls of a kernel keep its scope, its precision and its time limit."""

from threading import Event
from types import SimpleNamespace

import pytest
from checking.wrong_kernels import RMS, SWISH, fault, scaled

import aclnn_viz as av
from aclnn_viz.arrays.plan import Plan
from aclnn_viz.cases.suites import Recipe, suite
from aclnn_viz.checking import check, evidence, explanation
from aclnn_viz.checking.evidence import KernelUnderTest
from aclnn_viz.checking.judge import judge, prepared
from aclnn_viz.checking.kernel import load_kernel
from aclnn_viz.checking.meter import Budget
from aclnn_viz.checking.scope import Ready, Scope
from aclnn_viz.operators import plans
from aclnn_viz.operators.faults import faults
from aclnn_viz.operators.faults.fault import faulty_kernel

doubled = scaled(SWISH, 2)


@pytest.mark.parametrize(
    "kernel", [doubled, fault("rms_norm", "missing 1/n")], ids=["explained", "named"]
)
def test_every_call_has_the_limit_of_the_check(kernel, monkeypatch):
    limits, run = set(), evidence.run
    monkeypatch.setattr(
        evidence,
        "run",
        lambda kernel, case, seconds: limits.add(seconds) or run(kernel, case, seconds),
    )
    check("hardswish" if kernel is doubled else "rms_norm", kernel, call_limit=7.5, depth="quick")
    assert limits == {7.5}


def test_what_does_not_count_is_neither_prepared_nor_asked(monkeypatch):
    monkeypatch.setattr(Ready, "prepare", lambda one: pytest.fail("prepared"))
    half = KernelUnderTest(lambda **inputs: pytest.fail("asked"), Scope.of(SWISH, dtypes="float16"))
    single, large = (
        Ready(half.scope, Recipe("hardswish", options), None, 0)
        for options in ({"shape": (3,)}, {"shape": (30,), "dtype": "float16"})
    )
    assert half.run_on(single) is None and half.run_on(large, 20) is None
    refusing = KernelUnderTest(
        lambda **inputs: (_ for _ in ()).throw(av.NotSupported), Scope.of(SWISH)
    )
    assert refusing.run_on(single) is None


def test_outputs_without_doubt_right_are_right_by_all_bounds():
    op, early = av.operator("cross_entropy_loss"), set()
    kernels = [op.backward, *(faulty_kernel(op, each) for each in faults(op)[-3:])]
    for recipe, case in suite(op):
        whole = prepared(recipe, case)
        for kernel in kernels:
            outputs = kernel(**case.inputs)
            if prepared(recipe, case, right=outputs) is None:
                early.add(kernel)
                assert not judge(whole, outputs)
    assert op.backward in early


def test_it_is_judged_in_the_precision_of_the_check():
    half = Plan("half", compute="float16", accumulate="float16")
    recipe = Recipe("rms_norm", {"shape": (5, 300), "dtype": "float16"})
    for plan, wrong in ((None, True), (half, False)):
        scope = Scope.of(RMS, plan=plan)
        found = KernelUnderTest(lambda **inputs: plans.run(RMS, half, **inputs), scope).run_on(
            Ready(scope, recipe, None, 0)
        )
        assert bool(found.misses) == wrong


def test_fresh_cases_end_with_their_budget():
    slow = KernelUnderTest(SWISH.backward, Scope.of(SWISH))
    assert (
        list(explanation.fresh_runs(slow, 0, SimpleNamespace(within=lambda items: iter(())))) == []
    )
    fresh = list(explanation.fresh_runs(slow, 0, Budget(1000)))
    assert explanation.FRESH < len(fresh) <= 2 * explanation.FRESH + explanation.MIXED and not any(
        judge(one.prepared, one.outputs) for one in fresh
    )
    assert {one.case.seed for one in fresh}.isdisjoint(
        ready.case.seed for ready in slow.scope.cases(0)
    )


def test_fresh_cases_have_the_shapes_that_are_asked_for():
    scope = Scope.of(RMS, shapes=[(3, 40)], dtypes="float16")
    fresh = list(explanation.fresh_runs(KernelUnderTest(RMS.backward, scope), 0, Budget(1000)))
    assert fresh and {(one.case.inputs["x"].shape, one.case.dtype) for one in fresh} == {
        ((3, 40), "float16")
    }


@pytest.mark.usefixtures("unshrunken")
def test_a_kernel_is_asked_once_on_each_fresh_case():
    """Answers may be compared and counted often."""
    seen = []

    def kernel(**inputs):
        seen.append(inputs["x"].tobytes())
        return {
            name: value * value.dtype.type(2 if name == "dgammaOut" else 1)
            for name, value in RMS.backward(**inputs).items()
        }

    assert check("rms_norm", kernel, depth="quick").explanation
    fresh = [one.case.inputs["x"].tobytes() for one, _ in zip(Scope.of(RMS).cases(1), range(12))]
    assert max(seen.count(one) for one in fresh) == 1


def test_a_check_in_which_a_call_did_not_return_asks_no_more():
    """Each such call would continue beside all others."""
    calls, held = [], Event()

    def kernel(**inputs):
        calls.append(inputs["self"].size)
        if len(calls) > 4:
            held.wait()
        return doubled(**inputs)

    found = check("hardswish", kernel, call_limit=0.5)
    assert len(calls) <= 5 and "does not return within 0.5 s" in str(found)
    held.set()


def test_outputs_without_number_are_counted():
    result = av.check("tanh", lambda **given: {f"k{n}": given["output"] for n in range(1000)})
    assert "returns 1000 outputs instead of 1: gradInput" in str(result)
    assert len(str(result.to_json())) < 5000


def test_a_kernel_imports_what_lies_beside_its_file(tmp_path):
    (tmp_path / "beside_a_kernel.py").write_text("answer = 42\n")
    (tmp_path / "mine.py").write_text(
        "from beside_a_kernel import answer\ndef f(): return answer\n"
    )
    assert load_kernel(f"{tmp_path}/mine.py:f")() == 42
