"""Every tile fault is found as its entry states; its right program is right on the same case."""

import pytest
from judged import judged, same_bits, unexplained
from machine import SOAK

import aclnn_viz as av
from aclnn_viz.operators import registry
from aclnn_viz.tiles import KINDS
from aclnn_viz.tiles.fault import BITS, WRONG, TileFault, faults

FAULTS = [(op.name, fault) for op in av.operators() for fault in faults(op.name)]
each = pytest.mark.parametrize(
    ("op", "fault"), FAULTS, ids=[f"{op}: {fault.name}" for op, fault in FAULTS]
)
DRAWN = {}
RIGHT = {(op, fault.program or op, repr(fault.case), fault.cores): fault for op, fault in FAULTS}


def drawn(op, fault):
    """Return the same object for the same case, so that its truth is computed once."""
    return DRAWN.setdefault(repr((op, fault.case)), av.case(op, **fault.case))


def test_every_entry_quotes_its_program_as_it_is():
    assert all(fault.broken(op).operator == op for op, fault in FAULTS)


@each
@pytest.mark.sampled(12)
def test_a_fault_is_found_by_what_its_entry_says(op, fault):
    case, broken = drawn(op, fault), fault.broken(op)
    schedules = ("eager", "late", *range(20 if SOAK else 4 if fault.shows == BITS else 0))
    runs = {
        schedule: av.tiles.launch(
            broken, cores=fault.cores, schedule=schedule, traced=False, **case.inputs
        )
        for schedule in schedules
    }
    kinds = [{hazard.kind for hazard in run.hazards} for run in runs.values()]
    if fault.shows in KINDS:
        assert all(fault.shows in found for found in kinds), kinds
    else:
        assert not any(kinds), kinds
    if fault.schedule is not None:
        assert unexplained(broken, case, runs[fault.schedule].outputs)
    else:
        assert not any(unexplained(broken, case, run.outputs) for run in runs.values())
    if fault.shows == BITS:
        assert any(not same_bits(run.outputs, runs["eager"].outputs) for run in runs.values())


@pytest.mark.parametrize(
    ("op", "name", "fault"),
    [(*key[:2], fault) for key, fault in RIGHT.items()],
    ids=[f"{key[1]}: {fault.name}" for key, fault in RIGHT.items()],
)
@pytest.mark.sampled(11)
def test_the_right_program_is_right_there(op, name, fault):
    """Once per case of a fault; faults share cases."""
    right = next(program for program in av.tiles.programs(op) if program.name == name)
    judged(right, drawn(op, fault), cores=fault.cores, schedule="late")


def test_there_are_enough_of_them():
    assert len(FAULTS) >= 30 and len({(op, fault.name) for op, fault in FAULTS}) == len(FAULTS)
    assert {fault.shows for _, fault in FAULTS} >= {WRONG, BITS}
    assert {op for op, _ in FAULTS} == {
        op.name for op in av.operators() if registry.file("tiles", op.name)
    }


def test_a_fault_that_names_text_nobody_wrote_is_refused():
    with pytest.raises(ValueError, match="a change names text that stands once"):
        TileFault("none", "none", WRONG, (("no such text", ""),)).broken("hardswish")
