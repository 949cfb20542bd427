"""Single sessions with the stand-in, most of them wrong in one way: what they return and what misuse is recorded."""

import ctypes
import threading

import numpy as np

from standin.driver import (
    ACL_FLOAT, CE, D2H, GN, GRID, H2D, HARDSWISH, ND, POISON, RMS, Failed, Library, Session, ce_arguments, dtype_code,
    gn_arguments, grid_arguments, in_child, rms_arguments,
)

POISON_FLOAT = np.frombuffer(b"\xa5" * 4, np.float32)[0].item()
CASES = {}


def case(result=0, misuse=None, **environment):
    """Register a case: what it returns, and a pattern of the one misuse that it records (None: no misuse)."""
    def register(function):
        CASES[function.__name__] = {"run": function, "result": result, "misuse": misuse, "environment": environment}
        return function
    return register


# ---- the session

@case()
def clean_run(root):
    s = Session(root)
    g, x, out, address = s.three()
    s.run(HARDSWISH, g, x, out)
    assert np.allclose(s.get(address, (2, 3), np.float32), 1.0)
    s.close()
    return s.standin_live_objects()


@case(100001)
def set_device_before_init(root):
    return Library(root).aclrtSetDevice(0)


@case(100002)
def init_twice(root):
    library = Library(root)
    library.aclInit(None)
    return library.aclInit(None)


@case(100037)
def finalize_twice(root):
    library = Library(root)
    library.aclInit(None)
    library.aclFinalize()
    return library.aclFinalize()


@case(107001)
def no_such_device(root):
    library = Library(root)
    library.aclInit(None)
    return library.aclrtSetDevice(1)


@case([0, 3], STANDIN_DEVICES="4")
def device_count(root):
    library = Library(root)
    library.aclInit(None)
    assert library.out("aclrtGetDeviceCount", ctypes.c_uint32) == 4
    return [library.aclrtSetDevice(3), library.out("aclrtGetDevice", ctypes.c_int32)]


@case(107002)
def other_thread_without_device(root):
    s = Session(root)
    results = []
    thread = threading.Thread(target=lambda: results.append(s.aclrtSynchronizeStream(s.stream)))
    thread.start()
    thread.join()
    return results[0]


@case([107002, 1, 0])
def forked_child(root):
    s = Session(root)
    answer = in_child(lambda: [s.aclrtSynchronizeStream(s.stream), s.standin_misuse_count()])
    return [*answer, s.standin_misuse_count()]


@case(107003)
def stream_of_another_context(root):
    s = Session(root)
    s.out("aclrtCreateContext", ctypes.c_void_p, 0)
    return s.aclrtSynchronizeStream(s.stream)


@case(107017, misuse="stream was destroyed before")
def stream_destroyed_twice(root):
    s = Session(root)
    s.aclrtDestroyStream(s.stream)
    return s.aclrtDestroyStream(s.stream)


@case(0, misuse="still queued")
def stream_destroyed_with_work(root):
    s = Session(root)
    s.launch(HARDSWISH, *s.three()[:3])
    return s.aclrtDestroyStream(s.stream)


@case(0)
def stream_destroyed_by_force(root):
    s = Session(root)
    s.launch(HARDSWISH, *s.three()[:3])
    return s.aclrtDestroyStreamForce(s.stream)


@case(0, misuse="device memory at 0x[0-9a-f]+ were not freed")
def memory_left_at_reset(root):
    s = Session(root)
    s.malloc(64)
    s.aclrtDestroyStream(s.stream)
    return s.aclrtResetDevice(0)


@case(0, misuse="a stream was not destroyed")
def stream_left_at_finalize(root):
    return Session(root).aclFinalize()


@case(0, misuse="a tensor was not destroyed")
def tensor_left_at_finalize(root):
    s = Session(root)
    s.view(None, (2,), ACL_FLOAT)
    s.aclrtDestroyStream(s.stream)
    return s.aclFinalize()


@case(["1 device memory, 1 stream", 2])
def live_objects_are_counted(root):
    s = Session(root)
    s.malloc(64)
    return [s.standin_live_text().decode(), s.standin_live_objects()]


@case([0, 107021, 0, 107000])
def two_stores_of_options(root):
    s, value = Session(root), ctypes.c_int64(-1)
    assert s.aclrtSetSysParamOpt(0, 1) == 0
    return [s.aclrtGetSysParamOpt(1, ctypes.byref(value)), s.aclrtCtxGetSysParamOpt(0, ctypes.byref(value)),
            s.aclrtCtxSetSysParamOpt(0, 9), s.aclrtSetSysParamOpt(0, 9)]


@case(["Ascend910B2", "stand-in for CANN 9.1.0, no device"], STANDIN_CANN="9.1.0")
def names(root):
    library = Library(root)
    return [library.aclrtGetSocName().decode(), library.standin_version().decode()]


@case([None, "aclrtMalloc: size is 0", None])
def recent_message_is_taken_once(root):
    s = Session(root)
    texts = [s.aclGetRecentErrMsg()]
    s.aclrtMalloc(ctypes.byref(ctypes.c_void_p()), 0, 0)
    return [text and text.decode() for text in texts + [s.aclGetRecentErrMsg(), s.aclGetRecentErrMsg()]]


# ---- memory

@case([100000, 100000, 207001], STANDIN_MEMORY="1000")
def malloc_refuses(root):
    s, pointer = Session(root), ctypes.c_void_p()
    return [s.aclrtMalloc(None, 8, 0), s.aclrtMalloc(ctypes.byref(pointer), 0, 0),
            s.aclrtMalloc(ctypes.byref(pointer), 1000, 0)]


@case([1000, 1000 - 96], STANDIN_MEMORY="1000")
def memory_is_counted(root):
    s = Session(root)
    s.malloc(33)
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    s.ok("aclrtGetMemInfo", 1, ctypes.byref(free), ctypes.byref(total))
    return [total.value, free.value]


@case(100000)
def free_null(root):
    return Session(root).aclrtFree(None)


@case(507899, misuse="was freed before")
def free_twice(root):
    s = Session(root)
    address = s.malloc(64)
    s.aclrtFree(address)
    return s.aclrtFree(address)


@case(507899, misuse="did not come from aclrtMalloc")
def free_inside_a_block(root):
    s = Session(root)
    return s.aclrtFree(s.malloc(64) + 32)


@case(507899, misuse="did not come from aclrtMalloc")
def free_host_memory(root):
    return Session(root).aclrtFree(np.zeros(4).ctypes.data)


@case(0, misuse="freed while aclnnHardswishBackward is queued")
def free_before_synchronize(root):
    s = Session(root)
    g, x, out, address = s.three()
    s.launch(HARDSWISH, g, x, out)
    return s.aclrtFree(address)


@case(True)
def addresses_are_never_used_again(root):
    s = Session(root)
    seen = [s.malloc(64)]
    s.aclrtFree(seen[0])
    seen.append(s.malloc(64))
    return len(set(seen)) == 2 and all(address % 64 == 0 for address in seen)


@case([0, 100000, 100000, 107000])
def memcpy_refuses(root):
    s, host = Session(root), np.zeros(4)
    address = s.malloc(32)
    return [s.aclrtMemcpy(None, 0, None, 0, H2D), s.aclrtMemcpy(None, 8, host.ctypes.data, 8, H2D),
            s.aclrtMemcpy(address, 32, host.ctypes.data, 32, 8), s.aclrtMemcpy(address, 16, host.ctypes.data, 32, H2D)]


@case(0, misuse="32 bytes at 0x[0-9a-f]+, 16 beyond the end")
def memcpy_overruns(root):
    s = Session(root)
    return s.aclrtMemcpy(s.malloc(16), 32, np.zeros(4).ctypes.data, 32, H2D)


@case(0, misuse="kind 2 is not the direction")
def memcpy_wrong_direction(root):
    s, host = Session(root), np.zeros(4)
    return s.aclrtMemcpy(s.malloc(32), 32, host.ctypes.data, 32, D2H)


@case(0, misuse="was freed")
def memcpy_to_freed_memory(root):
    s, host = Session(root), np.zeros(4)
    address = s.malloc(32)
    s.aclrtFree(address)
    return s.aclrtMemcpy(address, 32, host.ctypes.data, 32, H2D)


@case(107000, misuse="neither device memory nor mapped host memory")
def memcpy_of_a_truncated_address(root):
    s, host = Session(root), np.zeros(4)
    return s.aclrtMemcpy(s.malloc(32) & 0xFFF000, 32, host.ctypes.data, 32, H2D)


@case([POISON, POISON])
def fresh_memory_is_poison(root):
    s = Session(root)
    return [int(s.get(s.malloc(size), 1, np.uint32)[0]) for size in (64, 3 << 20)]


@case("SIGSEGV")
def device_address_on_the_host(root):
    return ctypes.string_at(Session(root).malloc(64), 4).hex()


@case("SIGSEGV")
def handle_on_the_host(root):
    return ctypes.string_at(Session(root).stream, 4).hex()


@case(2.0, misuse="the result of aclrtMemcpyAsync is read before it is synchronised")
def async_copy_waits_for_synchronize(root):
    s, host = Session(root), np.ones(1, np.float32)
    address = s.malloc(4)
    s.ok("aclrtMemcpyAsync", address, 4, host.ctypes.data, 4, H2D, s.stream)
    host[0] = 2
    s.get(address, 1, np.float32)
    s.ok("aclrtSynchronizeStream", s.stream)
    return s.get(address, 1, np.float32).item()


# ---- descriptors and executors

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


# ---- work

@case(0, misuse="read before it is synchronised")
def read_too_early(root):
    s = Session(root)
    g, x, out, address = s.three()
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


# ---- silent behaviour of the operators

@case([0, 0, 0], misuse="outputMask is null")
def null_mask_does_nothing(root):
    s = Session(root)
    arguments = grid_arguments(s, mask=None, gradOutput=None)
    status, size, executor = s.phase1(GRID, *arguments)
    return [status, size, s.aclnnGridSampler2DBackward(None, 0, executor, s.stream)]


@case(0, misuse="reduction average acts as none")
def unknown_reduction_is_none(root):
    s = Session(root)
    s.run(CE, *ce_arguments(s, reduction=b"average", gradLoss=np.ones(2, np.float32)))
    return 0


@case(0, misuse="reductionOptional changed")
def reduction_is_read_at_synchronize(root):
    s = Session(root)
    text = ctypes.create_string_buffer(b"mean")
    s.launch(CE, *ce_arguments(s, reduction=ctypes.cast(text, ctypes.c_char_p)))
    text.value = b"sum"
    return s.aclrtSynchronizeStream(s.stream)


@case(0, misuse="target\\[1\\] = 7 is not in")
def target_out_of_range(root):
    s = Session(root)
    s.run(CE, *ce_arguments(s, target=(0, 7)))
    return 0


@case(507015, misuse="target\\[1\\] = 7 is not in", STANDIN_SOC="Ascend950PR_9579", STANDIN_CANN="9.1.0")
def target_out_of_range_on_950(root):
    s = Session(root)
    s.launch(CE, *ce_arguments(s, target=(0, 7)))
    return s.aclrtSynchronizeStream(s.stream)


@case([7.0] * 6, misuse="makes the kernel write nothing")
def smoothing_writes_nothing(root):
    s = Session(root)
    arguments = ce_arguments(s, smoothing=0.1)
    address = s.put(np.full(6, 7, np.float32))
    s.run(CE, *arguments[:-1], s.view(address, (2, 3), ACL_FLOAT))
    return s.get(address, 6, np.float32).tolist()


@case([0, 0, 361001, "C / numGroups exceeds 4000"], misuse="exceeds 4000, but phase 1 succeeds")
def group_too_wide_fails_at_launch(root):
    s = Session(root)
    status, size, executor = s.phase1(GN, *gn_arguments(s, shape=(1, 4001, 1), groups=1))
    text = s.aclGetRecentErrMsg().decode().split(": ")[1]
    return [status, size, s.aclnnGroupNormSwishGrad(None, 0, executor, s.stream), text]


@case([0.0, 9.0])
def gradients_that_are_not_required(root):
    s = Session(root)
    results = []
    for dtype in (np.float32, np.float16):
        arguments = gn_arguments(s, flags=(False, True), dtype=dtype)
        address = s.put(np.full(4, 9, dtype))
        arguments[-2] = s.view(address, (4,), dtype_code(np.zeros(1, dtype)))
        s.run(GN, *arguments)
        results.append(float(s.get(address, 4, dtype)[0]))
    return results


@case([1.0, 1.0, 9.0, 9.0], misuse="strides of an output are ignored")
def strided_output_of_a_generated_operator(root):
    s = Session(root)
    arguments = rms_arguments(s, shape=(1, 2), rstd=np.ones(1, np.float32), x=np.zeros((1, 2), np.float32))
    address = s.put(np.full(4, 9, np.float32))
    s.run(RMS, *arguments[:4], s.view(address, (1, 2), ACL_FLOAT, strides=(4, 2)), arguments[5])
    return s.get(address, 4, np.float32).tolist()


@case([0.0, 3.4028234663852886e38], STANDIN_SOC="Ascend910A")
def old_products_saturate(root):
    s = Session(root)
    g = np.array([np.nan, np.inf], np.float32)
    address = s.malloc(8)
    s.run(HARDSWISH, s.tensor(g), s.tensor(np.full(2, 9, np.float32)), s.view(address, (2,), ACL_FLOAT))
    return s.get(address, 2, np.float32).tolist()
