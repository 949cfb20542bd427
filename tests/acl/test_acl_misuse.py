"""What the emulator says about wrong programs: the status, the exact complaint, and that nothing later suffers.

That a correct program brings no complaint is asserted behind every test of the conformance suite.
"""

import re
from contextlib import suppress

import pytest
from acl_program import Program
from in_child import StandIn, in_child, stand_in
from misuse_handles import TABLE as HANDLES
from misuse_memory import TABLE as MEMORY
from misuse_steps import HARDSWISH
from test_acl_leaks import COMPLAINTS, leak

from aclnn_viz.acl import CannAcl, HostAcl
from together import in_one

TABLE = MEMORY + HANDLES


def without_numbers(text):
    """Addresses and handle numbers differ from run to run of the table."""
    return re.sub(r"0x[0-9a-f]+", "0x#", re.sub(r"(<acl\w+) \d+>", r"\1 #>", text))


@in_one
@pytest.mark.parametrize(
    ("wrong", "complaints"), TABLE, ids=lambda value: getattr(value, "__name__", "")
)
def test_misuse_is_reported_exactly_and_corrupts_nothing(wrong, complaints):
    acl = HostAcl()
    program = Program(acl).start()
    wrong(program)
    assert list(map(without_numbers, acl.misuse)) == list(map(without_numbers, complaints))
    text = list(acl.misuse)
    found = program.run(HARDSWISH)
    other = Program(HostAcl()).start()
    assert found["out"].tobytes() == other.run(HARDSWISH)["out"].tobytes()
    program.finish()
    assert acl.misuse == text


def every_case_fails():
    with pytest.raises(ExceptionGroup) as found:
        test_misuse_is_reported_exactly_and_corrupts_nothing()
    assert [type(one) for one in found.value.exceptions] == [AssertionError] * len(TABLE)


def test_the_table_notices_a_missing_complaint(monkeypatch):
    monkeypatch.setattr(HostAcl, "record", lambda self, *what: None)
    every_case_fails()


def test_the_table_notices_corruption(monkeypatch):
    acl_run = HostAcl.run
    monkeypatch.setattr(
        HostAcl, "run", lambda self, stream: acl_run(self, stream) if not self.misuse else 0
    )
    every_case_fails()


#: What the stand-in cannot know: lengths of Python's arrays, handles of the emulator, the gaps between elements.
UNNOTICED = {
    "overwritten_beside_a_view",
    "copied_outside_the_host",
    "tensor_of_another_process",
    "too_few_strides",
    "device_reset_without_set",
}


@pytest.mark.needs("g++")
def test_the_stand_in_notices_wrong_programs_too():
    """Behind every test on the stand-in it is asserted that it noticed nothing."""
    root = stand_in()

    def noticed(wrong):
        def work():
            program = Program(CannAcl(root)).start()
            with suppress(AssertionError, TypeError):  # its statuses may be others
                wrong(program)
            return bool(StandIn(root).misuse)

        return in_child(work)

    def leaks(kind):
        def left(program):
            leak(kind, program)
            program.finish()

        return left

    assert {wrong.__name__ for wrong, _ in TABLE if not noticed(wrong)} == UNNOTICED
    assert all(noticed(leaks(kind)) for kind in COMPLAINTS) and not noticed(
        lambda program: program.run(HARDSWISH)
    )
