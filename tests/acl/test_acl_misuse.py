"""What the emulator says about wrong programs: the status, the exact complaint, and that nothing later suffers.

That a correct program brings no complaint is asserted behind every test of the conformance suite.
"""

import re

import pytest
from acl_program import Program
from misuse_handles import TABLE as HANDLES
from misuse_memory import TABLE as MEMORY
from misuse_steps import HARDSWISH

from aclnn_viz.acl import HostAcl

TABLE = MEMORY + HANDLES


def without_numbers(text):
    """Addresses and handle numbers differ from run to run of the table."""
    return re.sub(r"0x[0-9a-f]+", "0x#", re.sub(r"(<acl\w+) \d+>", r"\1 #>", text))


@pytest.mark.parametrize(("wrong", "complaints"), TABLE, ids=lambda value: getattr(value, "__name__", ""))
def test_misuse_is_told_exactly_and_corrupts_nothing(wrong, complaints):
    acl = HostAcl()
    program = Program(acl).start()
    wrong(program)
    assert list(map(without_numbers, acl.misuse)) == list(map(without_numbers, complaints))
    told = list(acl.misuse)
    found = program.run(HARDSWISH)
    other = Program(HostAcl()).start()
    assert found["out"].tobytes() == other.run(HARDSWISH)["out"].tobytes()
    program.finish()
    assert acl.misuse == told


def test_the_table_notices_a_missing_complaint(monkeypatch):
    monkeypatch.setattr(HostAcl, "record", lambda self, call, what: None)
    with pytest.raises(AssertionError):
        test_misuse_is_told_exactly_and_corrupts_nothing(*TABLE[0])


def test_the_table_notices_corruption(monkeypatch):
    acl_run = HostAcl.run
    monkeypatch.setattr(HostAcl, "run", lambda self, stream: acl_run(self, stream) if not self.misuse else 0)
    with pytest.raises(AssertionError):
        test_misuse_is_told_exactly_and_corrupts_nothing(*TABLE[0])
