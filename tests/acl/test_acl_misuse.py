"""What the emulator says about wrong programs: the status, the exact complaint, and that nothing later suffers.

That a correct program brings no complaint is asserted behind every test of the conformance suite.
"""

import re

import numpy as np
import pytest
from acl_program import FLOAT, ND, TO_DEVICE, TO_HOST, Program, inputs_of, on_new_thread, uniform

from aclnn_viz.acl import HostAcl

HARDSWISH, RMS, SAMPLER = "aclnnHardswishBackward", "aclnnRmsNormGrad", "aclnnGridSampler2DBackward"
POISON = np.full(4, 0xA5, np.uint8).view(np.float32)[0]
QUEUED = f"of {HARDSWISH}, which is still queued; synchronise before"


def hardswish(p, **replaced):
    """Arguments of phase 1 by name; `replaced` are tensors to take instead."""
    inputs, shapes = inputs_of(HARDSWISH)
    arguments, made = p.arguments(HARDSWISH, inputs, shapes)
    return dict(zip(("gradOutput", "self", "out"), arguments)) | replaced


def queued(p, **replaced):
    arguments = hardswish(p, **replaced)
    p.queue(HARDSWISH, arguments.values())
    return {name: p.tensors[tensor][0] for name, tensor in arguments.items() if tensor in p.tensors}


def synchronised(p, **replaced):
    queued(p, **replaced)
    return p.acl.aclrtSynchronizeStream(p.stream)


def prepared(p, name=HARDSWISH):
    return p.phase_1(name, p.arguments(name, *inputs_of(name))[0])


def free_block(p, address):
    p.blocks.remove(address)
    return p.acl.aclrtFree(address)


def destroy(p, tensor):
    p.tensors.pop(tensor)
    return p.acl.aclDestroyTensor(tensor)


def freed_twice(p):
    address = p.malloc(64)
    assert [free_block(p, address), p.acl.aclrtFree(address)] == [0, 107000]


def freed_inside(p):
    assert p.acl.aclrtFree(p.malloc(64) + 32) == 107000


def freed_host_memory(p):
    assert [p.acl.aclrtFree(np.zeros(4)), p.acl.aclrtFree(0x1234)] == [107000, 107000]


def freed_while_queued(p):
    places = queued(p)
    assert free_block(p, places["self"]) == 0
    assert p.acl.aclrtSynchronizeStream(p.stream) == 507015
    assert (p.get(places["out"], (2, 5), np.float32) == POISON).all()


def freed_before_launch(p):
    tensor = p.tensor(uniform(0, 2, 5))
    assert free_block(p, p.tensors[tensor][0]) == 0
    assert synchronised(p, self=tensor) == 507015


def workspace_freed(p):
    status, size, executor = prepared(p, RMS)
    workspace = p.malloc(size)
    assert p.acl.aclnnRmsNormGrad(workspace, size, executor, p.stream) == 0
    assert [free_block(p, workspace), p.acl.aclrtSynchronizeStream(p.stream)] == [0, 507015]


def workspace_too_short(p):
    status, size, executor = prepared(p, RMS)
    assert p.acl.aclnnRmsNormGrad(p.malloc(size - 8), size, executor, p.stream) == 0
    assert p.acl.aclrtSynchronizeStream(p.stream) == 0


def workspace_size_too_small(p):
    status, size, executor = prepared(p, SAMPLER)
    assert p.acl.aclnnGridSampler2DBackward(p.malloc(size), size - 1, executor, p.stream) == 0
    assert p.acl.aclrtSynchronizeStream(p.stream) == 0


def workspace_on_the_host(p):
    status, size, executor = prepared(p, RMS)
    assert p.acl.aclnnRmsNormGrad(np.zeros(size, np.uint8), size, executor, p.stream) == 0
    assert p.acl.aclrtSynchronizeStream(p.stream) == 507015


def read_too_early(p):
    places = queued(p)
    assert (p.get(places["out"], (2, 5), np.float32) == POISON).all()
    assert p.acl.aclrtSynchronizeStream(p.stream) == 0


def overwritten_input(p):
    places = queued(p)
    assert p.acl.aclrtMemset(places["self"], 40, 0, 40) == 0
    assert p.acl.aclrtMemcpy(places["gradOutput"], 40, np.zeros(10, np.float32), 40, TO_DEVICE) == 0
    assert p.acl.aclrtSynchronizeStream(p.stream) == 0


def overwritten_beside_a_view(p):
    """Elements 2 to 11 of 14 are in use: only a write that touches them is told."""
    address = p.put(uniform(1, 14))
    p.queue(HARDSWISH, hardswish(p, self=p.view(address, (2, 5), np.float32, offset=2, storage=(14,))).values())
    assert [p.acl.aclrtMemset(address, 8, 0, 8), p.acl.aclrtMemset(address + 48, 8, 0, 8)] == [0, 0]
    assert p.acl.misuse == []
    assert [p.acl.aclrtMemset(address, 9, 0, 9), p.acl.aclrtMemset(address + 47, 8, 0, 8)] == [0, 0]
    assert p.acl.aclrtSynchronizeStream(p.stream) == 0


def copied_outside(p):
    address, data = p.malloc(8), np.arange(16, dtype=np.uint8)
    assert p.acl.aclrtMemcpy(address, 16, data, 16, TO_DEVICE) == 0
    assert p.get(address, 8, np.uint8).tolist() == data[:8].tolist()
    assert p.acl.aclrtMemcpy(data, 16, address + 4, 12, TO_HOST) == 0
    assert data.tolist() == [4, 5, 6, 7, *range(4, 16)]


def copied_outside_the_host(p):
    assert p.acl.aclrtMemcpy(p.malloc(64), 64, np.zeros(3, np.float32), 64, TO_DEVICE) == 0


def filled_outside(p):
    assert p.acl.aclrtMemset(p.malloc(8), 64, 1, 9) == 0


def copied_freed_memory(p):
    address = p.malloc(8)
    assert free_block(p, address) == 0
    assert p.acl.aclrtMemcpy(np.zeros(1), 8, address, 8, TO_HOST) == 107000


def copied_from_nowhere(p):
    assert p.acl.aclrtMemcpy(np.zeros(1), 8, 0x1000, 8, TO_HOST) == 107000


def wrong_direction(p):
    address, data = p.malloc(8), np.float64([7])
    assert p.acl.aclrtMemcpy(address, 8, data, 8, TO_HOST) == 0
    assert p.get(address, 1, np.float64).tolist() == [7]


def view_outside(p):
    tensor = p.view(p.put(uniform(1, 3)), (2, 5), np.float32)
    assert synchronised(p, self=tensor) == 0


def view_before(p):
    tensor = p.view(p.put(uniform(1, 10)), (2, 5), np.float32, offset=-1)
    assert synchronised(p, self=tensor) == 0


def output_outside(p):
    address = p.malloc(36)
    assert synchronised(p, out=p.view(address, (2, 5), np.float32)) == 0
    assert not (p.get(address, 9, np.float32) == POISON).any()


def unaligned(p):
    assert synchronised(p, self=p.view(p.put(uniform(1, 12)) + 8, (2, 5), np.float32)) == 0


def tensor_on_the_host(p):
    assert synchronised(p, self=p.view(uniform(1, 2, 5), (2, 5), np.float32)) == 507015


def tensor_nowhere(p):
    assert synchronised(p, self=p.view(0x4000, (2, 5), np.float32)) == 507015


def tensor_without_address(p):
    assert synchronised(p, self=p.view(None, (2, 5), np.float32)) == 507015


def tensor_larger_than_the_device(p):
    huge = 1 << 40
    views = [p.view(p.put(np.float32([1])), (huge,), np.float32, strides=(0,), storage=(1,)) for _ in range(3)]
    status, size, executor = p.phase_1(HARDSWISH, views)
    assert p.acl.aclnnHardswishBackward(None, 0, executor, p.stream) == 0  # so much workspace is not to be had either
    assert p.acl.aclrtSynchronizeStream(p.stream) == 507015


def tensor_destroyed_twice(p):
    tensor = p.tensor(uniform(0, 3))
    assert [destroy(p, tensor), p.acl.aclDestroyTensor(tensor)] == [0, 0]


def array_destroyed_twice(p):
    array = p.acl.aclCreateBoolArray((True,))
    assert [p.acl.aclDestroyBoolArray(array), p.acl.aclDestroyBoolArray(array)] == [0, 0]


def tensor_destroyed_before_phase_1(p):
    arguments = hardswish(p)
    assert destroy(p, arguments["self"]) == 0
    assert p.phase_1(HARDSWISH, arguments.values()) == (561103, 0, None)


def tensor_destroyed_between_the_phases(p):
    arguments = hardswish(p)
    status, size, executor = p.phase_1(HARDSWISH, arguments.values())
    assert [destroy(p, arguments["self"]), p.phase_2(HARDSWISH, size, executor)] == [0, 0]
    assert p.acl.aclrtSynchronizeStream(p.stream) == 0


def tensor_of_another_process(p):
    foreign = HostAcl().aclCreateTensor((2, 5), FLOAT, None, 0, ND, (2, 5), None)
    assert p.phase_1(HARDSWISH, hardswish(p, self=foreign).values()) == (561103, 0, None)
    assert p.acl.aclDestroyTensor(foreign) == 0


def negative_extents(p):
    p.view(None, (2, -1), np.float32, strides=(1, 1))


def negative_extents_launched(p):
    views = [p.view(p.put(uniform(0, 4)), (-2, 2), np.float32) for _ in range(3)]
    assert synchronised(p, **dict(zip(("gradOutput", "self", "out"), views))) == 507015


def address_of_a_spent_executor(p):
    status, size, executor = prepared(p)
    tensor = p.tensor(uniform(0, 2, 5))
    assert [p.acl.aclDestroyAclOpExecutor(executor), p.acl.aclSetTensorAddr(executor, 0, tensor, 64)] == [0, 561000]


def too_few_strides(p):
    p.view(None, (2, 3), np.float32, strides=(3,))


def executor_served_twice(p):
    status, size, executor = prepared(p)
    assert [p.phase_2(HARDSWISH, size, executor) for _ in range(2)] == [0, 561000]
    assert p.acl.aclrtSynchronizeStream(p.stream) == 0


def executor_of_another_operator(p):
    status, size, executor = prepared(p)
    assert p.phase_2(RMS, 0, executor) == 561000


def executor_destroyed_twice(p):
    status, size, executor = prepared(p)
    assert [p.acl.aclDestroyAclOpExecutor(executor) for _ in range(2)] == [0, 561000]
    assert p.acl.aclSetAclOpExecutorRepeatable(executor) == 561000


def stream_destroyed_with_work(p):
    places = queued(p)
    assert p.acl.aclrtDestroyStream(p.stream) == 0
    assert not (p.get(places["out"], (2, 5), np.float32) == POISON).any()
    p.stream = p.acl.aclrtCreateStream()[1]


def stream_destroyed_twice(p):
    old, p.stream = p.stream, p.acl.aclrtCreateStream()[1]
    assert [p.acl.aclrtDestroyStream(old) for _ in range(2)] == [0, 107003]
    assert p.acl.aclrtSynchronizeStream(old) == 107003


def launched_on_a_destroyed_stream(p):
    status, size, executor = prepared(p)
    old, p.stream = p.stream, p.acl.aclrtCreateStream()[1]
    assert p.acl.aclrtDestroyStream(old) == 0
    assert p.acl.aclnnHardswishBackward(None, size, executor, old) == 361001


def no_stream_at_all(p):
    assert [p.acl.aclrtSynchronizeStream(p.malloc(8)), p.acl.aclrtSetCurrentContext(p.stream)] == [107003, 107002]


def context_destroyed_twice(p):
    status, context = p.acl.aclrtCreateContext(0)
    assert [p.acl.aclrtDestroyContext(context) for _ in range(2)] == [0, 107002]
    assert [p.acl.aclrtSetCurrentContext(context), p.acl.aclrtSetDevice(0), p.acl.aclrtResetDevice(0)] == [107002, 0, 0]


def context_destroyed_with_its_stream(p):
    status, context = p.acl.aclrtCreateContext(0)
    assert p.acl.aclrtCreateStream()[0] == 0
    assert [p.acl.aclrtDestroyContext(context), p.acl.aclrtSetDevice(0), p.acl.aclrtResetDevice(0)] == [0, 0, 0]


def context_destroyed_with_work(p):
    status, context = p.acl.aclrtCreateContext(0)
    arguments = hardswish(p)
    status, size, executor = p.phase_1(HARDSWISH, arguments.values())
    assert p.acl.aclnnHardswishBackward(None, size, executor, None) == 0  # on the default stream of the context
    assert [p.acl.aclrtDestroyContext(context), p.acl.aclrtSetDevice(0), p.acl.aclrtResetDevice(0)] == [0, 0, 0]


def device_reset_without_set(p):
    assert on_new_thread(lambda: p.acl.aclrtResetDevice(0)) == 0


TABLE = [
    (freed_twice, ["aclrtFree: memory freed twice (64 bytes at 0x#)"]),
    (freed_inside, ["aclrtFree: 0x# did not come from aclrtMalloc"]),
    (freed_host_memory, ["aclrtFree: host memory did not come from aclrtMalloc",
                         "aclrtFree: 0x# did not come from aclrtMalloc"]),
    (freed_while_queued, [f"aclrtFree: frees self {QUEUED}"]),
    (freed_before_launch, [f"{HARDSWISH}: reads self: memory already freed (40 bytes at 0x#)"]),
    (workspace_freed, [f"aclrtFree: frees workspace of {RMS}, which is still queued; synchronise before"]),
    (workspace_too_short, [f"{RMS}: writes workspace: 8 bytes outside the allocation of 16777208 bytes at 0x#"]),
    (workspace_size_too_small, [f"{SAMPLER}: workspaceSize is 1535, and phase 1 asked for 1536"]),
    (workspace_on_the_host, [f"{RMS}: writes workspace: host memory is no device address"]),
    (read_too_early, [f"aclrtMemcpy: reads out {QUEUED}"]),
    (overwritten_input, [f"aclrtMemset: writes self {QUEUED}", f"aclrtMemcpy: writes gradOutput {QUEUED}"]),
    (overwritten_beside_a_view, [f"aclrtMemset: writes self {QUEUED}"] * 2),
    (copied_outside, ["aclrtMemcpy: writes 8 bytes outside the allocation of 8 bytes at 0x#",
                      "aclrtMemcpy: reads 8 bytes outside the allocation of 8 bytes at 0x#"]),
    (copied_outside_the_host, ["aclrtMemcpy: reads 52 bytes outside a host array of 12"]),
    (filled_outside, ["aclrtMemset: writes 1 bytes outside the allocation of 8 bytes at 0x#"]),
    (copied_freed_memory, ["aclrtMemcpy: memory already freed (8 bytes at 0x#)"]),
    (copied_from_nowhere, ["aclrtMemcpy: 0x# is neither device memory nor a host array"]),
    (wrong_direction, ["aclrtMemcpy: kind 2 is not the direction of the pointers"]),
    (view_outside, [f"{HARDSWISH}: reads self: 28 bytes outside the allocation of 12 bytes at 0x#"]),
    (view_before, ["aclCreateTensor: dims (2, 5), strides (5, 1) and offset -1 must not be negative",
                   f"{HARDSWISH}: reads self: 4 bytes outside the allocation of 40 bytes at 0x#"]),
    (output_outside, [f"{HARDSWISH}: writes out: 4 bytes outside the allocation of 36 bytes at 0x#"]),
    (unaligned, [f"{HARDSWISH}: self starts at 0x#, which is not aligned to 32 bytes"]),
    (tensor_on_the_host, [f"{HARDSWISH}: reads self: host memory is no device address"]),
    (tensor_nowhere, [f"{HARDSWISH}: reads self: 0x# is no device address"]),
    (tensor_without_address, [f"{HARDSWISH}: reads self: null is no device address"]),
    (tensor_larger_than_the_device, [f"{HARDSWISH}: {name} has 4398046511104 bytes, more than the device"
                                     for name in ("gradOutput", "self", "out")]
     + [f"{HARDSWISH}: workspaceSize is 0, and phase 1 asked for 13194139534848"]),
    (tensor_destroyed_twice, ["aclDestroyTensor: <aclTensor #> was destroyed before"]),
    (array_destroyed_twice, ["aclDestroyBoolArray: <aclBoolArray #> was destroyed before"]),
    (tensor_destroyed_before_phase_1, [f"{HARDSWISH}GetWorkspaceSize: <aclTensor #> was destroyed before"]),
    (tensor_destroyed_between_the_phases, [f"{HARDSWISH}: <aclTensor #> was destroyed between the phases"]),
    (tensor_of_another_process, [f"{HARDSWISH}GetWorkspaceSize: <aclTensor #> belongs to another process",
                                 "aclDestroyTensor: <aclTensor #> belongs to another process"]),
    (negative_extents, ["aclCreateTensor: dims (2, -1), strides (1, 1) and offset 0 must not be negative"]),
    (negative_extents_launched,
     ["aclCreateTensor: dims (-2, 2), strides (2, 1) and offset 0 must not be negative"] * 3),
    (address_of_a_spent_executor, ["aclSetTensorAddr: <aclOpExecutor #> was destroyed before"]),
    (too_few_strides, ["aclCreateTensor: reads 2 strides from an array of 1"]),
    (executor_served_twice, [f"{HARDSWISH}: <aclOpExecutor #> has served before; phase 1 makes a new one"]),
    (executor_of_another_operator, [f"{RMS}: <aclOpExecutor #> was made for {HARDSWISH}"]),
    (executor_destroyed_twice, ["aclDestroyAclOpExecutor: <aclOpExecutor #> was destroyed before",
                                "aclSetAclOpExecutorRepeatable: <aclOpExecutor #> was destroyed before"]),
    (stream_destroyed_with_work, [f"aclrtDestroyStream: {HARDSWISH} is still queued; synchronise before"]),
    (stream_destroyed_twice, ["aclrtDestroyStream: <aclrtStream #> was destroyed before",
                              "aclrtSynchronizeStream: <aclrtStream #> was destroyed before"]),
    (launched_on_a_destroyed_stream, [f"{HARDSWISH}: <aclrtStream #> was destroyed before"]),
    (no_stream_at_all, ["aclrtSynchronizeStream: 0x# is no stream",
                        "aclrtSetCurrentContext: <aclrtStream #> is no context"]),
    (context_destroyed_twice, ["aclrtDestroyContext: <aclrtContext #> was destroyed before",
                               "aclrtSetCurrentContext: <aclrtContext #> was destroyed before"]),
    (context_destroyed_with_its_stream, ["aclrtDestroyContext: <aclrtStream #> not destroyed"]),
    (context_destroyed_with_work, [f"aclrtDestroyContext: {HARDSWISH} is still queued; synchronise before"]),
    (device_reset_without_set, ["aclrtResetDevice: this thread did not set the device"]),
]


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
