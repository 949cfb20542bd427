"""Wrong programs around tensors, executors, streams and contexts, and what the emulator says about each."""

import numpy as np
from acl_program import FLOAT, ND, on_new_thread, uniform
from misuse_steps import HARDSWISH, POISON, RMS, destroy, hardswish, prepared, queued, synchronised

from aclnn_viz.acl import HostAcl


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
    assert [
        p.acl.aclDestroyAclOpExecutor(executor),
        p.acl.aclSetTensorAddr(executor, 0, tensor, 64),
    ] == [0, 561000]


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
    assert [p.acl.aclrtSynchronizeStream(p.malloc(8)), p.acl.aclrtSetCurrentContext(p.stream)] == [
        107003,
        107002,
    ]


def context_destroyed_twice(p):
    status, context = p.acl.aclrtCreateContext(0)
    assert [p.acl.aclrtDestroyContext(context) for _ in range(2)] == [0, 107002]
    assert [
        p.acl.aclrtSetCurrentContext(context),
        p.acl.aclrtSetDevice(0),
        p.acl.aclrtResetDevice(0),
    ] == [107002, 0, 0]


def context_destroyed_with_its_stream(p):
    status, context = p.acl.aclrtCreateContext(0)
    assert p.acl.aclrtCreateStream()[0] == 0
    assert [
        p.acl.aclrtDestroyContext(context),
        p.acl.aclrtSetDevice(0),
        p.acl.aclrtResetDevice(0),
    ] == [0, 0, 0]


def context_destroyed_with_work(p):
    status, context = p.acl.aclrtCreateContext(0)
    arguments = hardswish(p)
    status, size, executor = p.phase_1(HARDSWISH, arguments.values())
    # on the default stream of the context
    assert p.acl.aclnnHardswishBackward(None, size, executor, None) == 0
    assert [
        p.acl.aclrtDestroyContext(context),
        p.acl.aclrtSetDevice(0),
        p.acl.aclrtResetDevice(0),
    ] == [0, 0, 0]


def device_reset_without_set(p):
    assert on_new_thread(lambda: p.acl.aclrtResetDevice(0)) == 0


TABLE = [
    (tensor_destroyed_twice, ["aclDestroyTensor: <aclTensor #> was destroyed before"]),
    (array_destroyed_twice, ["aclDestroyBoolArray: <aclBoolArray #> was destroyed before"]),
    (
        tensor_destroyed_before_phase_1,
        [f"{HARDSWISH}GetWorkspaceSize: <aclTensor #> was destroyed before"],
    ),
    (
        tensor_destroyed_between_the_phases,
        [f"{HARDSWISH}: <aclTensor #> was destroyed between the phases"],
    ),
    (
        tensor_of_another_process,
        [
            f"{HARDSWISH}GetWorkspaceSize: <aclTensor #> belongs to another process",
            "aclDestroyTensor: <aclTensor #> belongs to another process",
        ],
    ),
    (
        negative_extents,
        ["aclCreateTensor: dims (2, -1), strides (1, 1) and offset 0 must not be negative"],
    ),
    (
        negative_extents_launched,
        ["aclCreateTensor: dims (-2, 2), strides (2, 1) and offset 0 must not be negative"] * 3,
    ),
    (address_of_a_spent_executor, ["aclSetTensorAddr: <aclOpExecutor #> was destroyed before"]),
    (too_few_strides, ["aclCreateTensor: reads 2 strides from an array of 1"]),
    (
        executor_served_twice,
        [f"{HARDSWISH}: <aclOpExecutor #> has served before; phase 1 makes a new one"],
    ),
    (executor_of_another_operator, [f"{RMS}: <aclOpExecutor #> was made for {HARDSWISH}"]),
    (
        executor_destroyed_twice,
        [
            "aclDestroyAclOpExecutor: <aclOpExecutor #> was destroyed before",
            "aclSetAclOpExecutorRepeatable: <aclOpExecutor #> was destroyed before",
        ],
    ),
    (
        stream_destroyed_with_work,
        [f"aclrtDestroyStream: {HARDSWISH} is still queued; synchronise before"],
    ),
    (
        stream_destroyed_twice,
        [
            "aclrtDestroyStream: <aclrtStream #> was destroyed before",
            "aclrtSynchronizeStream: <aclrtStream #> was destroyed before",
        ],
    ),
    (launched_on_a_destroyed_stream, [f"{HARDSWISH}: <aclrtStream #> was destroyed before"]),
    (
        no_stream_at_all,
        [
            "aclrtSynchronizeStream: 0x# is no stream",
            "aclrtSetCurrentContext: <aclrtStream #> is no context",
        ],
    ),
    (
        context_destroyed_twice,
        [
            "aclrtDestroyContext: <aclrtContext #> was destroyed before",
            "aclrtSetCurrentContext: <aclrtContext #> was destroyed before",
        ],
    ),
    (context_destroyed_with_its_stream, ["aclrtDestroyContext: <aclrtStream #> not destroyed"]),
    (
        context_destroyed_with_work,
        [f"aclrtDestroyContext: {HARDSWISH} is still queued; synchronise before"],
    ),
    (device_reset_without_set, ["aclrtResetDevice: this thread did not set the device"]),
]
