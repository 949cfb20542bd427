"""Initialisation, devices, streams, memory: what the runtime answers, and the misuse that it records."""

import ctypes
import threading

import numpy as np

from standin.driver import (
    ACL_FLOAT, D2H, H2D, HARDSWISH, POISON, Library, Session, case, in_child,
)


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
def memcpy_to_no_memory(root):
    s, host = Session(root), np.zeros(4)
    return s.aclrtMemcpy(4096, 32, host.ctypes.data, 32, H2D)  # nothing is ever mapped below 64 KiB


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
