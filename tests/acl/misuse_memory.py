"""Wrong programs around memory and addresses, and what the emulator says about each."""

import numpy as np
from acl_program import TO_DEVICE, TO_HOST, uniform
from misuse_steps import (
    HARDSWISH,
    POISON,
    QUEUED,
    RMS,
    SAMPLER,
    free_block,
    hardswish,
    prepared,
    queued,
    synchronised,
)


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
    """Elements 2 to 11 of 14 are in use: only a write that touches them is reported."""
    address = p.put(uniform(1, 14))
    p.queue(
        HARDSWISH,
        hardswish(p, self=p.view(address, (2, 5), np.float32, offset=2, storage=(14,))).values(),
    )
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
    views = [
        p.view(p.put(np.float32([1])), (huge,), np.float32, strides=(0,), storage=(1,))
        for _ in range(3)
    ]
    status, size, executor = p.phase_1(HARDSWISH, views)
    # so much workspace is not to be had either
    assert p.acl.aclnnHardswishBackward(None, 0, executor, p.stream) == 0
    assert p.acl.aclrtSynchronizeStream(p.stream) == 507015


TABLE = [
    (freed_twice, ["aclrtFree: memory freed twice (64 bytes at 0x#)"]),
    (freed_inside, ["aclrtFree: 0x# did not come from aclrtMalloc"]),
    (
        freed_host_memory,
        [
            "aclrtFree: host memory did not come from aclrtMalloc",
            "aclrtFree: 0x# did not come from aclrtMalloc",
        ],
    ),
    (freed_while_queued, [f"aclrtFree: frees self {QUEUED}"]),
    (freed_before_launch, [f"{HARDSWISH}: reads self: memory already freed (40 bytes at 0x#)"]),
    (
        workspace_freed,
        [f"aclrtFree: frees workspace of {RMS}, which is still queued; synchronise before"],
    ),
    (
        workspace_too_short,
        [f"{RMS}: writes workspace: 8 bytes outside the allocation of 16777208 bytes at 0x#"],
    ),
    (workspace_size_too_small, [f"{SAMPLER}: workspaceSize is 1535, and phase 1 asked for 1536"]),
    (workspace_on_the_host, [f"{RMS}: writes workspace: host memory is no device address"]),
    (read_too_early, [f"aclrtMemcpy: reads out {QUEUED}"]),
    (
        overwritten_input,
        [f"aclrtMemset: writes self {QUEUED}", f"aclrtMemcpy: writes gradOutput {QUEUED}"],
    ),
    (overwritten_beside_a_view, [f"aclrtMemset: writes self {QUEUED}"] * 2),
    (
        copied_outside,
        [
            "aclrtMemcpy: writes 8 bytes outside the allocation of 8 bytes at 0x#",
            "aclrtMemcpy: reads 8 bytes outside the allocation of 8 bytes at 0x#",
        ],
    ),
    (copied_outside_the_host, ["aclrtMemcpy: reads 52 bytes outside a host array of 12"]),
    (filled_outside, ["aclrtMemset: writes 1 bytes outside the allocation of 8 bytes at 0x#"]),
    (copied_freed_memory, ["aclrtMemcpy: memory already freed (8 bytes at 0x#)"]),
    (copied_from_nowhere, ["aclrtMemcpy: 0x# is neither device memory nor a host array"]),
    (wrong_direction, ["aclrtMemcpy: kind 2 is not the direction of the pointers"]),
    (
        view_outside,
        [f"{HARDSWISH}: reads self: 28 bytes outside the allocation of 12 bytes at 0x#"],
    ),
    (
        view_before,
        [
            "aclCreateTensor: dims (2, 5), strides (5, 1) and offset -1 must not be negative",
            f"{HARDSWISH}: reads self: 4 bytes outside the allocation of 40 bytes at 0x#",
        ],
    ),
    (
        output_outside,
        [f"{HARDSWISH}: writes out: 4 bytes outside the allocation of 36 bytes at 0x#"],
    ),
    (unaligned, [f"{HARDSWISH}: self starts at 0x#, which is not aligned to 32 bytes"]),
    (tensor_on_the_host, [f"{HARDSWISH}: reads self: host memory is no device address"]),
    (tensor_nowhere, [f"{HARDSWISH}: reads self: 0x# is no device address"]),
    (tensor_without_address, [f"{HARDSWISH}: reads self: null is no device address"]),
    (
        tensor_larger_than_the_device,
        [
            f"{HARDSWISH}: {name} has 4398046511104 bytes, more than the device"
            for name in ("gradOutput", "self", "out")
        ]
        + [f"{HARDSWISH}: workspaceSize is 0, and phase 1 asked for 13194139534848"],
    ),
]
