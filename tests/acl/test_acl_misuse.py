"""The emulator's reports on wrong programs: the status, the exact complaint, and that nothing later suffers.

That a correct program brings no complaint is asserted behind every test of the conformance suite.
"""

import re
from contextlib import suppress

import pytest
from acl_program import Program
from in_child import StandIn, in_child, stand_in
from script import HARDSWISH, play, scripts
from test_acl_leaks import COMPLAINTS, leak
from together import in_one

from aclnn_viz.acl import CannAcl, HostAcl

TABLE = scripts("misuse")


def without_numbers(text):
    """Return a text without addresses and handle numbers, which differ from run to run of the table."""
    return re.sub(r"0x[0-9a-f]+", "0x#", re.sub(r"(<acl\w+) \d+>", r"\1 #>", text))


def split(lines):
    """Return the calls of a wrong program, and the complaints."""
    calls = [line for line in lines if not line.startswith("! ")]
    return calls, [line[2:] for line in lines[len(calls) :]]


@in_one
@pytest.mark.parametrize("lines", TABLE.values(), ids=TABLE)
def test_misuse_is_reported_exactly_and_corrupts_nothing(lines):
    acl = HostAcl()
    program, (calls, complaints) = Program(acl).start(), split(lines)
    play(calls, acl, program)
    assert list(map(without_numbers, acl.misuse)) == complaints
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


#: Complaints impossible for the stand-in: lengths of Python arrays, the emulator's handles, gaps between elements.
UNNOTICED = {
    "overwritten_beside_a_view",
    "copied_outside_the_host",
    "tensor_of_another_process",
    "too_few_strides",
    "device_reset_without_set",
}


@pytest.mark.needs("g++")
def test_the_stand_in_notices_wrong_programs_too():
    """Every test on the stand-in asserts that it noticed nothing; here it must notice something."""
    root = stand_in()

    def noticed(wrong):
        def work():
            program = Program(CannAcl(root)).start()
            with suppress(AssertionError, TypeError):  # its statuses may differ
                wrong(program)
            return bool(StandIn(root).misuse)

        return in_child(work)

    def leaks(kind):
        def left(program):
            leak(kind, program)
            program.finish()

        return left

    def script(lines):
        return lambda program: play(split(lines)[0], program.acl, program)

    assert {name for name, lines in TABLE.items() if not noticed(script(lines))} == UNNOTICED
    assert all(noticed(leaks(kind)) for kind in COMPLAINTS) and not noticed(
        lambda program: program.run(HARDSWISH)
    )
