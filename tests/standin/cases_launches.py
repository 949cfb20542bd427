"""Descriptors, executors, launches: what is answered, and the misuse that is recorded."""

import ctypes

import numpy as np

from standin.driver import (
    ACL_FLOAT, HARDSWISH, ND, POISON, Failed, Session, case, rms_arguments,
)

POISON_FLOAT = np.frombuffer(b"\xa5" * 4, np.float32)[0].item()


@case(0)
def destroy_null(root):
    s = Session(root)
    return s.aclDestroyTensor(None) or s.aclDestroyBoolArray(None)


@case(0, misuse="tensor was destroyed before")
def tensor_destroyed_twice(root):
    s = Session(root)
    tensor = s.view(None, (2,), ACL_FLOAT)
    s.aclDestroyTensor(tensor)
    return s.aclDestroyTensor(tensor)


@case(0, misuse="handle of a stream in place of a tensor")
def stream_as_tensor(root):
    s = Session(root)
    return s.aclDestroyTensor(s.stream)


@case(0, misuse="is not a handle")
def truncated_handle(root):
    s = Session(root)
    return s.aclDestroyTensor(s.view(None, (2,), ACL_FLOAT) & 0xFFFFFFFF)


@case(0)
def tensors_destroyed_after_phase_2(root):
    s = Session(root)
    g, x, out, address = s.three()
    s.launch(HARDSWISH, g, x, out)
    for tensor in (g, x, out):
        s.aclDestroyTensor(tensor)
    s.ok("aclrtSynchronizeStream", s.stream)
    return float(s.get(address, 6, np.float32)[0] - 1)


@case(0, misuse="tensor was destroyed before")
def tensor_destroyed_between_phases(root):
    s = Session(root)
    g, x, out, _ = s.three()
    _, size, executor = s.phase1(HARDSWISH, g, x, out)
    s.aclDestroyTensor(g)
    return s.aclnnHardswishBackward(None, size, executor, s.stream)


@case([161001, 561000], misuse="executor was destroyed before")
def executor_spent(root):
    s = Session(root)
    _, size, executor = s.phase1(HARDSWISH, *s.three()[:3])
    first = s.aclnnHardswishBackward(None, 0, None, s.stream)
    s.ok(HARDSWISH, None, 0, executor, s.stream)
    return [first, s.aclnnHardswishBackward(None, 0, executor, s.stream)]


@case([0, 0, 0, 0])
def executor_repeatable(root):
    s = Session(root)
    g, x, out, address = s.three()
    _, size, executor = s.phase1(HARDSWISH, g, x, out)
    statuses = [s.aclSetAclOpExecutorRepeatable(executor)]
    statuses += [s.aclnnHardswishBackward(None, 0, executor, s.stream) for _ in range(2)]
    s.ok("aclrtSynchronizeStream", s.stream)
    return statuses + [s.aclDestroyAclOpExecutor(executor)]


@case([1.0, POISON_FLOAT])
def executor_moved(root):
    s = Session(root)
    g, x, out, first = s.three()
    second = s.malloc(24)
    _, size, executor = s.phase1(HARDSWISH, g, x, out)
    s.ok("aclSetAclOpExecutorRepeatable", executor)
    s.ok("aclSetOutputTensorAddr", executor, 0, out, second)
    s.ok(HARDSWISH, None, 0, executor, s.stream)
    s.ok("aclSetOutputTensorAddr", executor, 0, out, first)  # too late for the launch before
    s.ok("aclrtSynchronizeStream", s.stream)
    s.ok("aclDestroyAclOpExecutor", executor)
    assert s.aclSetTensorAddr(None, 0, out, first) == 561103
    return [s.get(second, 6, np.float32)[0].item(), s.get(first, 6, np.float32)[0].item()]


@case(0, misuse="the executor is that of aclnnHardswishBackward")
def executor_of_another_operator(root):
    s = Session(root)
    _, size, executor = s.phase1(HARDSWISH, *s.three()[:3])
    return s.aclnnRmsNormGrad(None, 0, executor, s.stream)


@case(0)
def executor_without_phase_2(root):
    s = Session(root)
    _, _, executor = s.phase1(HARDSWISH, *s.three()[:3])
    return s.aclDestroyAclOpExecutor(executor)


@case(0, misuse="read before it is synchronised")
def read_too_early(root):
    s = Session(root)
    g, x, out, address = s.three()
    s.ok("aclrtMemset", address, 24, 0, 24)
    s.launch(HARDSWISH, g, x, out)
    assert (s.get(address, 6, np.uint32) == POISON).all()
    s.ok("aclrtSynchronizeStream", s.stream)
    return float(s.get(address, 6, np.float32)[0] - 1)


@case(0)
def default_stream_and_device_synchronize(root):
    s = Session(root)
    g, x, out, address = s.three()
    _, size, executor = s.phase1(HARDSWISH, g, x, out)
    s.ok(HARDSWISH, None, size, executor, None)
    s.ok("aclrtSynchronizeDevice")
    return float(s.get(address, 6, np.float32)[0] - 1)


@case(507015, misuse="which is no device address")
def tensor_over_host_memory(root):
    s = Session(root)
    g, x, _, _ = s.three()
    host = np.zeros(6, np.float32)
    s.launch(HARDSWISH, g, x, s.view(host.ctypes.data, (2, 3), ACL_FLOAT))
    return s.aclrtSynchronizeStream(s.stream)


@case(0, misuse="beyond its allocation of 8 bytes")
def tensor_larger_than_its_memory(root):
    s = Session(root)
    g, x, _, _ = s.three()
    s.run(HARDSWISH, g, x, s.view(s.malloc(8), (2, 3), ACL_FLOAT))
    return 0


@case([161001, 161002])
def workspace_refused(root):
    s = Session(root)
    arguments = rms_arguments(s)
    statuses = []
    for workspace, shortage in ((None, 0), (s.malloc(1 << 25), 1)):
        _, size, executor = s.phase1("aclnnRmsNormGrad", *arguments)
        statuses.append(s.aclnnRmsNormGrad(workspace, size - shortage, executor, s.stream))
    return statuses


@case(0, misuse="the workspace has 64 bytes of live memory")
def workspace_smaller_than_said(root):
    s = Session(root)
    _, size, executor = s.phase1("aclnnRmsNormGrad", *rms_arguments(s))
    s.ok("aclnnRmsNormGrad", s.malloc(64), size, executor, s.stream)
    return s.aclrtSynchronizeStream(s.stream)


@case([True, 2779096485])
def workspace_is_scribbled_on(root):
    s = Session(root)
    _, size, executor = s.phase1("aclnnRmsNormGrad", *rms_arguments(s))
    workspace = s.malloc(size)
    s.ok("aclrtMemset", workspace, size, 0, 64)
    s.ok("aclnnRmsNormGrad", workspace, size, executor, s.stream)
    s.ok("aclrtSynchronizeStream", s.stream)
    return [size >= 16 << 20, int(s.get(workspace, 1, np.uint32)[0])]


@case([507015, 507015, 361001], STANDIN_FAIL="task@aclnnHardswishBackward:1:507015")
def a_failed_task_stops_the_stream(root):
    s = Session(root)
    g, x, out, address = s.three()
    s.launch(HARDSWISH, g, x, out)
    statuses = [s.aclrtSynchronizeStream(s.stream), s.aclrtSynchronizeStream(s.stream)]
    s.ok("aclrtDestroyStreamForce", s.stream)
    assert (s.get(address, 6, np.uint32) == POISON).all()  # the task did not run
    s.ok("aclrtFree", address)
    _, size, executor = s.phase1(HARDSWISH, g, x, out)
    s.standin_fail(b"aclnnHardswishBackward:1:361001")
    return statuses + [s.aclnnHardswishBackward(None, size, executor, None)]


@case([0, "aclrtMalloc", 207001, 0])
def every_call_fails_with_k_0(root):
    s = Session(root)
    s.standin_fail(b"aclrtMalloc:0:207001,aclCreateTensor:1:1")
    statuses = []
    for _ in range(2):
        try:
            s.malloc(8)
        except Failed as failed:
            statuses = [failed.call, failed.status]
    null = s.aclCreateTensor(None, 0, 0, None, 0, ND, None, 0, None)
    again = s.aclCreateTensor(None, 0, 0, None, 0, ND, None, 0, None)
    return [int(null is not None), *statuses, int(again is None)]
