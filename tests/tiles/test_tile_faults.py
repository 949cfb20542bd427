"""Every tile fault is found as its entry says; the program it is made from is right on the same case."""

import pytest
from judged import judged, same_bits

import aclnn_viz as av
from aclnn_viz.accuracy.envelopes import envelope, explain
from aclnn_viz.tiles import KINDS
from aclnn_viz.tiles.fault import BITS, WRONG, TileFault, faults

FAULTS = [(op.name, fault) for op in av.operators() for fault in faults(op.name)]
each = pytest.mark.parametrize(("op", "fault"), FAULTS, ids=[f"{op}: {fault.name}" for op, fault in FAULTS])


def wrong(program, case, run):
    truth, bounds = case.operator.truth(**case.inputs), envelope(case.operator, program.plan, **case.inputs)
    return any(explain(run.outputs[name], truth[name], bounds[name]).not_explained for name in truth)


@each
def test_a_fault_is_found_by_what_its_entry_says(op, fault):
    case, broken = av.case(op, **fault.case), fault.broken(op)
    runs = {schedule: av.tiles.launch(broken, cores=fault.cores, schedule=schedule, **case.inputs)
            for schedule in ("eager", "late", 0, 1, 2, 3)}
    kinds = [{hazard.kind for hazard in run.hazards} for run in runs.values()]
    if fault.shows in KINDS:
        assert all(fault.shows in found for found in kinds), kinds
    else:
        assert not any(kinds), kinds
    if fault.schedule is not None:
        assert wrong(broken, case, runs[fault.schedule])
    else:
        assert not any(wrong(broken, case, run) for run in runs.values())
    if fault.shows == BITS:
        assert any(not same_bits(run.outputs, runs["eager"].outputs) for run in runs.values())


@each
def test_the_right_program_is_right_there(op, fault):
    right = next(program for program in av.tiles.programs(op) if program.name == (fault.program or op))
    for schedule in ("eager", "late"):
        judged(right, av.case(op, **fault.case), cores=fault.cores, schedule=schedule)


def test_there_are_enough_of_them():
    assert len(FAULTS) >= 30 and len({(op, fault.name) for op, fault in FAULTS}) == len(FAULTS)
    assert {fault.shows for _, fault in FAULTS} >= {WRONG, BITS}
    assert {op for op, _ in FAULTS} == {op.name for op in av.operators() if av.tiles.programs(op)}


def test_a_fault_that_names_text_nobody_wrote_is_refused():
    with pytest.raises(ValueError, match="a change names text that stands once"):
        TileFault("none", "none", WRONG, (("no such text", ""),)).broken("hardswish")
