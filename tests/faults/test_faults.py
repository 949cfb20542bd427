"""The named faults: enough of them, each applies to its page, is caught, and is hidden where stated."""

import re

import numpy as np
import pytest
from machine import SOAK
from together import in_one

from aclnn_viz import case, operator, operators
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.judge import judge, prepared, prepared_suite
from aclnn_viz.dtypes import BFLOAT16, FLOAT16, float_format
from aclnn_viz.operators import registry
from aclnn_viz.operators.faults import Fault, faults
from aclnn_viz.operators.faults.fault import diff_of, faulty_kernel, truncated

# mechanical edits may change nothing
WITH_OWN = [op for op in operators() if registry.file("faults", op.name)]
ALL = [(op, fault) for op in WITH_OWN for fault in faults(op.name)]
NAMED = [f"{op.name}-{fault.name}" for op, fault in ALL]


def caught(prepared_case, kernel):
    return bool(judge(prepared_case, kernel(**prepared_case.case.inputs)))


@pytest.mark.parametrize("op", WITH_OWN, ids=lambda op: op.name)
def test_every_operator_has_fifteen_with_names_and_stories(op):
    names = [fault.name for fault in faults(op.name)]
    assert len(names) == len(set(names)) >= 15
    assert all(
        fault.story and fault.exposed_by and len(fault.story) < 120 for fault in faults(op.name)
    )


@pytest.mark.parametrize(
    ("op", "fault"), [pair for pair in ALL if pair[1].thread], ids=lambda one: one.name
)
def test_a_public_thread_is_written_as_on_its_site(op, fault):
    assert all(
        re.fullmatch(r"[\w.-]+/([\w.-]+#\d+|articles/[\w-]+)", thread)
        for thread in fault.thread.split(", ")
    )


@in_one
@pytest.mark.parametrize(("op", "fault"), ALL[:: 1 if SOAK else 2])
def test_a_fault_is_caught(op, fault):
    assert any(
        caught(one, faulty_kernel(op, fault))
        for one in prepared_suite(op, 0)
        if all(part.truth.size for part in one.expected.values())
    )


@pytest.mark.parametrize(
    ("op", "fault"),
    [pair for pair in ALL if pair[1].hidden],
    ids=[name for name, (_, fault) in zip(NAMED, ALL) if fault.hidden],
)
@pytest.mark.sampled(20)
def test_a_fault_hides_where_it_says(op, fault):
    options = {"dtype": "float32"} | fault.hidden[1]
    assert not caught(
        prepared(Recipe(op.name, options), case(op, **options)), faulty_kernel(op, fault)
    )


def test_a_change_that_no_longer_applies_is_refused():
    with pytest.raises(ValueError, match="stands once"):
        Fault("old", "", "", (("no such text", ""),)).page(operator("rms_norm").page)


def test_the_diff_shows_both_sides():
    assert faults("hardswish")[1].diff == "- x < -3.0\n+ x <= -3.0"
    assert diff_of((("-x", "x"), ("", "--x"))) == "- -x\n+ x\n+ --x"


def test_the_diff_keeps_how_far_in_lines_are_and_leaves_out_what_stays():
    found = {one.name: one.diff.splitlines() for one in faults("rms_norm")}
    assert found["divided by n - 1"][2:] == [
        "+ def x_hat_length(xhat):",
        "+     return xhat.shape[-1]",
    ]
    assert len(found["eps outside the root"]) == 1


@pytest.mark.parametrize("fmt", [FLOAT16, BFLOAT16], ids=lambda f: f.name)
def test_truncation_goes_towards_zero(fmt):
    values = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    cut = truncated(values, fmt).astype(np.float64)
    spacing = 2.0 ** (np.frexp(values)[1] - fmt.significand_bits)
    assert float_format(truncated(values, fmt)) is fmt
    assert (np.abs(cut) <= np.abs(values)).all() and (np.abs(values) - np.abs(cut) < spacing).all()


def test_what_is_too_large_for_16_bits_is_cut_to_the_largest_number_without_a_warning():
    assert truncated(np.float32([1e6, -1e6, np.inf]), FLOAT16).tolist() == [
        FLOAT16.largest,
        -FLOAT16.largest,
        np.inf,
    ]
