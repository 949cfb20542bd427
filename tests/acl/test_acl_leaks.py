"""Objects that a program leaves are reported when its device is reset or the process finalised."""

import re

import numpy as np
import pytest
from acl_program import Program

from aclnn_viz.acl import HostAcl

HARDSWISH, RMS = "aclnnHardswishBackward", "aclnnRmsNormGrad"


def arguments(p):
    return p.arguments(HARDSWISH)[0]


def leak(kind, p):
    """Leave one object behind and finish everything else."""
    match kind:
        case "memory":
            p.blocks.remove(p.malloc(24))
        case "tensor":
            p.tensors.pop(p.view(None, (2,), np.float32))
        case "array":
            p.acl.aclCreateBoolArray((True, False))
        case "stream":
            p.acl.aclrtCreateStream()
        case "executor":
            p.phase_1(HARDSWISH, arguments(p))
        case "repeatable":
            p.acl.aclSetAclOpExecutorRepeatable(p.phase_1(HARDSWISH, arguments(p))[2])


COMPLAINTS = {
    "memory": r"aclrtResetDevice: device memory was not freed \(24 bytes at 0x\w+\)",
    "tensor": r"aclFinalize: <aclTensor \d+> was not destroyed",
    "array": r"aclFinalize: <aclBoolArray \d+> was not destroyed",
    "stream": r"aclrtResetDevice: <aclrtStream \d+> was not destroyed",
    **dict.fromkeys(
        ("executor", "repeatable"), r"aclFinalize: <aclOpExecutor \d+> was not destroyed"
    ),
}


@pytest.mark.parametrize(("kind", "complaint"), COMPLAINTS.items())
def test_leaks_are_reported(kind, complaint):
    program = Program(HostAcl()).start()
    leak(kind, program)
    assert program.acl.misuse == []
    program.finish()
    assert len(program.acl.misuse) == 1 and re.fullmatch(complaint, program.acl.misuse[0])


def test_a_leak_without_a_reset_is_reported_at_finalise():
    acl = HostAcl()
    assert [acl.aclInit(None), acl.aclrtSetDevice(0), acl.aclrtMalloc(8, 0)[0]] == [0, 0, 0]
    stream = acl.aclrtCreateStream()[1]
    assert acl.aclFinalize() == 0
    assert acl.misuse == [
        "aclFinalize: device memory was not freed (8 bytes at 0x12c000000000)",
        f"aclFinalize: {stream!r} was not destroyed",
    ]


def test_a_second_life_starts_clean():
    acl = HostAcl()
    for complaints in (1, 1):
        program = Program(acl).start()
        if not acl.misuse:
            leak("memory", program)
        program.run(RMS)
        program.finish()
        assert len(acl.misuse) == complaints
    assert acl.aclrtGetDevice() == (107002, None)


def test_finalise_without_init_is_no_error_and_reported():
    acl = HostAcl()
    assert [acl.aclFinalize(), acl.misuse] == [0, ["aclFinalize: aclInit has not been called"]]


def test_work_left_at_reset_is_reported():
    program = Program(HostAcl()).start()
    acl = program.acl
    program.queue(HARDSWISH, arguments(program))
    assert [acl.aclDestroyTensor(tensor) for tensor in program.tensors] == [0, 0, 0]
    assert acl.aclrtResetDeviceForce(0) == 0
    blocks = [
        f"aclrtResetDeviceForce: device memory was not freed (40 bytes at {a:#x})"
        for a in program.blocks
    ]
    assert acl.misuse == [
        f"aclrtResetDeviceForce: {HARDSWISH} is still queued; synchronise before",
        *blocks,
        f"aclrtResetDeviceForce: {program.stream!r} was not destroyed",
    ]
    assert [acl.aclrtGetDevice(), acl.aclFinalize()] == [(107002, None), 0]


@pytest.mark.parametrize(("cann", "current"), [("8.1", (107002, None)), ("9.0", (0, 0))])
def test_one_reset_undid_many_sets_before_9_0(cann, current):
    acl = HostAcl(cann=cann)
    assert [
        acl.aclInit(None),
        acl.aclrtSetDevice(0),
        acl.aclrtSetDevice(0),
        acl.aclrtResetDevice(0),
    ] == [0] * 4
    assert acl.aclrtGetDevice() == current
