"""What every implementation of the C API does with correct programs and with calls that the vendor's library refuses."""

import inspect
import threading
from importlib import import_module

import ml_dtypes
import numpy as np
import pytest
from acl_program import BF16, FLOAT, INT64, ND, PARAMETERS, TO_DEVICE, TO_HOST, Program, inputs_of, uniform

from aclnn_viz.acl.protocol import FUNCTIONS

JUDGES = {"aclnnHardswishBackward": "hardswish", "aclnnRmsNormGrad": "rms_norm",
          "aclnnGridSampler2DBackward": "grid_sampler_2d", "aclnnCrossEntropyLossGrad": "cross_entropy_loss",
          "aclnnGroupNormSwishGrad": "group_norm_swish"}
HARDSWISH = "aclnnHardswishBackward"


def judged(name, inputs):
    """The outputs at 50 digits, as float64, from formulas that the kit does not see."""
    given = {key: value for key, value in inputs.items() if value is not None}
    outputs = import_module(f"reference.{JUDGES[name]}").backward(**given)
    return {key: np.asarray(value, dtype=np.float64) for key, value in outputs.items()}


def assert_close(found, expected):
    """Sums of a few terms of size 1, rounded to the outputs' format: a few units of its last place."""
    units = {np.dtype(np.float32): 2**-24, np.dtype(np.float16): 2**-11, np.dtype(ml_dtypes.bfloat16): 2**-8}
    for name, array in found.items():
        np.testing.assert_allclose(array.astype(np.float64), expected[name], rtol=0, err_msg=name,
                                   atol=32 * units[array.dtype] * max(1, np.abs(expected[name]).max()))


def on_new_thread(work):
    """Run `work` on a thread of its own and return its result."""
    results = []
    thread = threading.Thread(target=lambda: results.append(work()))
    thread.start()
    thread.join()
    return results[0]


# The protocol

def test_every_function_is_a_method_with_the_c_arguments(acl):
    for function in FUNCTIONS:
        assert list(inspect.signature(getattr(acl, function.name)).parameters) == [p.name for p in function.inputs]


def test_the_operators_take_the_vendors_parameters_in_c_order(acl):
    for name, parameters in PARAMETERS.items():
        phase_1 = inspect.signature(getattr(acl, f"{name}GetWorkspaceSize"))
        assert list(phase_1.parameters) == parameters.replace("|", "").split()
        assert len(inspect.signature(getattr(acl, name)).parameters) == 4


@pytest.mark.parametrize(("call", "text"), [
    (lambda acl: acl.aclInit(), "aclInit takes 1 arguments: got 0 positional; call aclInit(config_path)"),
    (lambda acl: acl.aclrtMalloc(8), "aclrtMalloc takes 2 arguments: got 1 positional; call aclrtMalloc(size, policy)"),
    (lambda acl: acl.aclrtMalloc(8, size=8), "aclrtMalloc takes 2 arguments: got 1 positional and size by keyword; "
                                             "call aclrtMalloc(size, policy)"),
    (lambda acl: acl.aclrtMalloc("8", 0), "aclrtMalloc: size (size_t) must be an integer: got '8' (str); pass an int"),
    (lambda acl: acl.aclrtSetDevice(None), "aclrtSetDevice: device_id (int32_t) must be an integer: got None "
                                           "(NoneType); pass an int"),
    (lambda acl: acl.aclDestroyTensor(5), "aclDestroyTensor: tensor (const aclTensor *) must be an aclTensor or null: "
                                          "got 5 (int); pass the handle that the C API returned, or None"),
    (lambda acl: acl.aclInit(b"x"), "aclInit: config_path (const char *) must be a string or null: got b'x' (bytes); "
                                    "pass a str, or None for the null pointer"),
    (lambda acl: acl.aclCreateBoolArray(["a"]), "aclCreateBoolArray: values (const bool *) must be a boolean: "
                                                "got ['a'] (list); pass True or False"),
    (lambda acl: acl.aclCreateTensor(3, 0, None, 0, 2, (3,), None),
     "aclCreateTensor: view_dims (const int64_t *) must be a sequence of integers or null: got 3 (int); "
     "pass a tuple or a list, or None for the null pointer"),
    (lambda acl: acl.aclrtFree(1.5), "aclrtFree: address (void *) must be a device address, a NumPy array or null: "
                                     "got 1.5 (float); pass an int from aclrtMalloc, an array, or None")])
def test_what_c_would_not_compile_is_a_type_error(acl, call, text):
    with pytest.raises(TypeError) as caught:
        call(acl)
    assert str(caught.value) == text


@pytest.mark.parametrize(("dst", "src", "text"), [
    (np.zeros((4, 4), np.float32)[:, 1], np.zeros(4, np.float32), "must be one dense block of memory"),
    (np.broadcast_to(np.float32(0), 1), np.zeros(4, np.float32), "must be memory that may be written"),
    (np.zeros(4, np.float32), np.array([None]), "must be memory of numbers"),
    (np.zeros(4, np.float32), [1, 2], "must be a device address, a NumPy array or null")])
def test_host_memory_is_a_dense_array(acl, dst, src, text):
    with pytest.raises(TypeError, match=text):
        acl.aclrtMemcpy(dst, 4, src, 4, TO_HOST)


def test_attributes_are_typed(acl):
    handle = acl.aclCreateTensor((2,), FLOAT, None, 0, ND, (2,), None)
    with pytest.raises(TypeError, match=r"labelSmoothing \(double\) must be a number"):
        acl.aclnnCrossEntropyLossGradGetWorkspaceSize(handle, handle, handle, None, None, None, "mean", 0, "0", 0.0, handle)
    with pytest.raises(TypeError, match=r"alignCorners \(bool\) must be a boolean"):
        acl.aclnnGridSampler2DBackwardGetWorkspaceSize(handle, handle, handle, 0, 0, 0.0, None, handle, handle)
    with pytest.raises(TypeError, match=r"executor \(aclOpExecutor \*\) must be an aclOpExecutor or null"):
        acl.aclnnRmsNormGrad(None, 0, handle, None)
    assert acl.aclDestroyTensor(handle) == 0


# Initialisation, devices, contexts, streams

def test_init_is_counted_and_finalize_is_not(acl):
    assert [acl.aclInit(None), acl.aclInit(None)] == [0, 100002]
    assert [acl.aclFinalize(), acl.aclFinalize(), acl.aclInit(None), acl.aclFinalize()] == [0, 100037, 0, 0]


def test_finalize_reference_is_counted(acl):
    assert [acl.aclInit(None), acl.aclInit(None)] == [0, 100002]
    assert [acl.aclFinalizeReference() for _ in range(3)] == [(0, 1), (0, 0), (100037, None)]


def test_a_device_is_set_before_it_is_used(acl):
    assert acl.aclrtSetDevice(0) == 100001
    assert acl.aclInit(None) == 0
    assert [acl.aclrtSetDevice(-1), acl.aclrtSetDevice(1000)] == [107001, 107001]
    assert [acl.aclrtGetDevice(), acl.aclrtMalloc(8, 0), acl.aclrtCreateStream()] == [(107002, None)] * 3
    assert acl.aclrtSynchronizeStream(None) == 107002
    assert [acl.aclrtSetDevice(0), acl.aclrtGetDevice(), acl.aclrtResetDevice(0)] == [0, (0, 0), 0]
    assert [acl.aclrtGetDevice(), acl.aclFinalize()] == [(107002, None), 0]


def test_setting_a_device_is_counted(acl):
    assert [acl.aclInit(None), acl.aclrtSetDevice(0), acl.aclrtSetDevice(0)] == [0] * 3
    assert [acl.aclrtResetDevice(0), acl.aclrtGetDevice(), acl.aclrtResetDevice(0)] == [0, (0, 0), 0]
    assert [acl.aclrtGetDevice(), acl.aclFinalize()] == [(107002, None), 0]


def test_device_queries(program):
    acl = program.acl
    status, count = acl.aclrtGetDeviceCount()
    assert status == 0 and count >= 1
    assert acl.aclrtGetSocName().startswith("Ascend")
    status, *version = acl.aclrtGetVersion()
    assert status == 0 and len(version) == 3
    assert [acl.aclGetCannAttribute(k)[0] for k in (-1, 0, 1, 2, 3)] == [100000, 0, 0, 0, 100000]
    assert [acl.aclDataTypeSize(k) for k in (FLOAT, BF16, INT64, 12, 99)] == [4, 2, 8, 1, 0]
    assert [acl.aclnnInit(None), acl.aclnnFinalize()] == [0, 0]


def test_a_thread_sets_the_device_for_itself(program):
    acl = program.acl
    assert on_new_thread(acl.aclrtGetDevice) == (107002, None)
    assert on_new_thread(lambda: acl.aclrtSynchronizeStream(program.stream)) == 107002
    used = on_new_thread(lambda: (acl.aclrtSetDevice(0), acl.aclrtSynchronizeStream(program.stream),
                                  acl.aclrtResetDevice(0)))
    assert used == (0, 0, 0)
    assert acl.aclrtGetDevice() == (0, 0)


def test_streams_belong_to_their_context(program):
    acl = program.acl
    status, other = acl.aclrtCreateContext(0)
    assert status == 0 and acl.aclrtSynchronizeStream(program.stream) == 107003
    status, stream = acl.aclrtCreateStream()
    assert [status, acl.aclrtSynchronizeStream(stream), acl.aclrtDestroyStream(stream)] == [0, 0, 0]
    assert [acl.aclrtDestroyContext(other), acl.aclrtGetDevice()] == [0, (107002, None)]
    assert [acl.aclrtSetDevice(0), acl.aclrtSynchronizeStream(program.stream), acl.aclrtResetDevice(0)] == [0] * 3


def test_contexts_can_be_exchanged(program):
    acl = program.acl
    status, first = acl.aclrtGetCurrentContext()
    assert status == 0 and first is not None
    status, second = acl.aclrtCreateContext(0)
    assert acl.aclrtGetCurrentContext() == (0, second)
    assert [acl.aclrtSetCurrentContext(first), acl.aclrtGetCurrentContext()] == [0, (0, first)]
    assert [acl.aclrtDestroyContext(second), acl.aclrtSetCurrentContext(None)] == [0, 100000]


def test_null_is_the_default_stream_and_cannot_be_destroyed(program):
    acl = program.acl
    assert [acl.aclrtSynchronizeStream(None), acl.aclrtSynchronizeStream(0)] == [0, 0]
    assert [acl.aclrtDestroyStream(None), acl.aclrtDestroyStreamForce(None)] == [100000, 100000]


def test_every_way_to_synchronise_runs_the_work(program):
    acl = program.acl
    for synchronise in (lambda: acl.aclrtSynchronizeStream(program.stream), acl.aclrtSynchronizeDevice,
                        lambda: acl.aclrtSynchronizeStreamWithTimeout(program.stream, 1000)):
        inputs, shapes = inputs_of(HARDSWISH)
        arguments, made = program.arguments(HARDSWISH, inputs, shapes)
        program.queue(HARDSWISH, arguments)
        assert synchronise() == 0
        assert_close({"out": program.fetch(made["out"])}, judged(HARDSWISH, inputs))


def test_a_forced_destroy_drops_the_work(program):
    acl = program.acl
    inputs, shapes = inputs_of(HARDSWISH)
    arguments, made = program.arguments(HARDSWISH, inputs, shapes)
    untouched = program.fetch(made["out"]).tobytes()
    program.queue(HARDSWISH, arguments)
    assert acl.aclrtDestroyStreamForce(program.stream) == 0
    status, program.stream = acl.aclrtCreateStream()
    assert (status, acl.aclrtSynchronizeDevice()) == (0, 0)
    assert program.fetch(made["out"]).tobytes() == untouched


# Options and error text

def test_process_and_context_keep_options_apart(program):
    acl = program.acl
    assert [acl.aclrtCtxGetSysParamOpt(0), acl.aclrtGetSysParamOpt(0)] == [(107021, None), (0, 0)]
    assert [acl.aclrtCtxSetSysParamOpt(0, 1), acl.aclrtGetSysParamOpt(0)] == [0, (0, 0)]
    assert [acl.aclrtSetSysParamOpt(0, 1), acl.aclrtCtxSetSysParamOpt(0, 0)] == [0, 0]
    assert [acl.aclrtGetSysParamOpt(0), acl.aclrtCtxGetSysParamOpt(0)] == [(0, 1), (0, 0)]
    assert [acl.aclrtSetSysParamOpt(0, -1), acl.aclrtSetSysParamOpt(0, 4), acl.aclrtSetSysParamOpt(1, 2)] == [107000] * 3
    assert [acl.aclrtGetSysParamOpt(0), acl.aclrtSetSysParamOpt(0, 0)] == [(0, 1), 0]


def test_options_belong_to_their_context(program):
    acl = program.acl
    assert acl.aclrtCtxSetSysParamOpt(0, 1) == 0
    status, other = acl.aclrtCreateContext(0)
    assert (status, acl.aclrtCtxGetSysParamOpt(0)) == (0, (107021, None))
    assert [acl.aclrtDestroyContext(other), acl.aclrtCtxSetSysParamOpt(0, 1)] == [0, 107002]
    assert [acl.aclrtSetDevice(0), acl.aclrtCtxGetSysParamOpt(0), acl.aclrtResetDevice(0)] == [0, (0, 1), 0]


def test_the_error_text_belongs_to_its_thread(program):
    acl = program.acl
    acl.aclGetRecentErrMsg()
    assert acl.aclrtMalloc(0, 0) == (100000, None)
    assert on_new_thread(acl.aclGetRecentErrMsg) is None
    assert "aclrtMalloc" in acl.aclGetRecentErrMsg()


# Memory

def test_addresses_are_aligned_and_never_used_twice(program):
    addresses = [program.malloc(size) for size in (1, 63, 64, 1000)]
    assert program.acl.aclrtFree(program.blocks.pop()) == 0
    addresses.append(program.malloc(1000))
    assert len(set(addresses)) == 5 and all(a % 64 == 0 for a in addresses)


def test_malloc_and_free_refuse(program):
    acl = program.acl
    assert acl.aclrtMalloc(0, 0) == (100000, None)
    assert [acl.aclrtMalloc(2**60, 0), acl.aclrtMalloc(-1, 0)] == [(207001, None)] * 2
    assert [acl.aclrtFree(None), acl.aclrtFree(0)] == [100000, 100000]


def test_memory_info_follows_malloc_and_free(program):
    acl = program.acl
    status, free, total = acl.aclrtGetMemInfo(1)
    assert status == 0 and 0 < free <= total
    address = program.malloc(1 << 20)
    assert acl.aclrtGetMemInfo(1)[1] <= free - (1 << 20)
    assert acl.aclrtFree(program.blocks.pop()) == 0 and address and acl.aclrtGetMemInfo(1) == (0, free, total)


def test_copies_in_every_direction(program):
    acl, data = program.acl, uniform(0, 7)
    first, second, back, host = program.put(data), program.malloc(28), np.zeros(7, np.float32), np.zeros(7, np.float32)
    assert acl.aclrtMemcpy(second, 28, first, 28, 3) == 0
    assert acl.aclrtMemcpy(back, 28, second, 28, TO_HOST) == 0
    assert acl.aclrtMemcpy(host, 28, back, 28, 0) == 0
    assert host.tolist() == data.tolist()
    assert acl.aclrtMemcpy(second + 4, 24, data, 8, 4) == 0  # the default direction, into the middle
    expected = data.copy()
    expected[1:3] = data[:2]
    assert program.get(second, 7, np.float32).tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int64, np.bool_, ml_dtypes.bfloat16, np.complex64])
def test_bytes_survive_the_device(program, dtype):
    data = np.arange(12).reshape(3, 4).astype(dtype)
    assert program.get(program.put(data), (3, 4), dtype).tobytes() == data.tobytes()


def test_copies_are_checked_in_the_vendors_order(program):
    acl, address, data = program.acl, program.malloc(8), np.zeros(8, np.uint8)
    assert acl.aclrtMemcpy(None, 0, None, 0, 99) == 0  # nothing to do
    assert [acl.aclrtMemcpy(None, 8, data, 8, 1), acl.aclrtMemcpy(address, 8, None, 8, 1)] == [100000, 100000]
    assert [acl.aclrtMemcpy(address, 8, data, 8, -1), acl.aclrtMemcpy(address, 8, data, 8, 8)] == [100000, 100000]
    assert acl.aclrtMemcpy(address, 4, data, 8, TO_DEVICE) == 107000


def test_memset(program):
    acl, address = program.acl, program.put(np.arange(6, dtype=np.uint8))
    assert [acl.aclrtMemset(address, 6, 0x17F, 2), acl.aclrtMemset(address, 6, 0, 0)] == [0, 0]
    assert program.get(address, 6, np.uint8).tolist() == [127, 127, 2, 3, 4, 5]
    assert [acl.aclrtMemset(None, 6, 0, 2), acl.aclrtMemset(address, 2, 0, 6)] == [100000, 107000]


# Tensors, arrays, executors

def test_tensors_tell_what_they_were_told(program):
    acl = program.acl
    view = program.view(program.malloc(256), (3, 2), np.float32, strides=(8, 2), offset=5, storage=(4, 16))
    assert acl.aclGetViewShape(view) == (0, (3, 2)) and acl.aclGetViewStrides(view) == (0, (8, 2))
    assert acl.aclGetViewOffset(view) == (0, 5) and acl.aclGetStorageShape(view) == (0, (4, 16))
    assert acl.aclGetFormat(view) == (0, ND) and acl.aclGetDataType(view) == (0, FLOAT)
    dense = program.view(None, (3, 2, 5), np.int64)
    assert acl.aclGetViewStrides(dense) == (0, (10, 5, 1)) and acl.aclGetDataType(dense) == (0, INT64)


def test_the_caller_may_change_its_arrays_after_the_call(program):
    dims, strides = [3, 2], np.array([2, 1])
    tensor = program.acl.aclCreateTensor(dims, FLOAT, strides, 0, ND, dims, None)
    program.tensors[tensor] = None
    dims[0], strides[0] = 7, 9
    assert program.acl.aclGetViewShape(tensor) == (0, (3, 2)) and program.acl.aclGetViewStrides(tensor) == (0, (2, 1))


def test_arrays_know_their_size(program):
    for values in ((True, False), (True,), (), None):
        program.arrays.append(program.acl.aclCreateBoolArray(values))
        assert program.acl.aclGetBoolArraySize(program.arrays[-1]) == (0, len(values or ()))


def test_null_is_destroyed_in_peace_and_nothing_else_takes_it(acl):
    assert [acl.aclDestroyTensor(None), acl.aclDestroyBoolArray(0), acl.aclDestroyTensor(0)] == [0, 0, 0]
    assert [acl.aclGetViewShape(None)[0], acl.aclGetBoolArraySize(None)[0]] == [161001, 161001]
    assert [acl.aclSetAclOpExecutorRepeatable(None), acl.aclDestroyAclOpExecutor(None)] == [561103, 561103]
    assert acl.aclSetInputTensorAddr(None, 0, None, None) == 561103


# The two phases

@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", PARAMETERS)
def test_values(program, name, dtype):
    inputs, shapes = inputs_of(name, dtype)
    assert_close(program.run(name, inputs, shapes), judged(name, inputs))


@pytest.mark.parametrize(("name", "status"), [(name, 161001) for name in PARAMETERS])
def test_a_null_tensor_is_refused(program, name, status):
    given, shapes = inputs_of(name)
    arguments, _ = program.arguments(name, given, shapes)
    assert program.phase_1(name, [None, *arguments[1:]]) == (status, 0, None)


@pytest.mark.parametrize(("name", "status"), [
    ("aclnnHardswishBackward", 161002), ("aclnnRmsNormGrad", 561002), ("aclnnGridSampler2DBackward", 161002),
    ("aclnnCrossEntropyLossGrad", 561002)])
def test_a_wrong_shape_is_refused_with_the_operators_own_code(program, name, status):
    key = {"aclnnHardswishBackward": "self", "aclnnRmsNormGrad": "gamma", "aclnnGridSampler2DBackward": "grid",
           "aclnnCrossEntropyLossGrad": "target"}[name]
    given, shapes = inputs_of(name)
    wrong = given | {key: np.zeros((7,) * given[key].ndim, given[key].dtype)}
    arguments, _ = program.arguments(name, wrong, shapes)
    assert program.phase_1(name, arguments) == (status, 0, None)
    assert name in program.acl.aclGetRecentErrMsg()


def test_a_shape_that_the_tiling_ignores_fails_at_launch(program):
    name = "aclnnGroupNormSwishGrad"
    arguments, _ = program.arguments(name, inputs_of(name)[0] | {"gamma": uniform(0, 7)}, inputs_of(name)[1])
    status, size, executor = program.phase_1(name, arguments)
    assert status == 0 and program.phase_2(name, size, executor) == 361001


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_wrong_dtype_is_refused(program, name):
    given, shapes = inputs_of(name)
    key = next(iter(given))
    arguments, _ = program.arguments(name, given | {key: given[key].astype(np.float64)}, shapes)
    assert program.phase_1(name, arguments) == (161002, 0, None)


@pytest.mark.parametrize("name", PARAMETERS)
def test_phase_2_refuses_null_pointers_and_spends_the_executor(program, name):
    acl, arguments = program.acl, program.arguments(name, *inputs_of(name))[0]
    assert getattr(acl, name)(None, 0, None, program.stream) == 161001
    status, size, executor = program.phase_1(name, arguments)
    assert (status, getattr(acl, name)(None, max(size, 1), executor, program.stream)) == (0, 161001)


@pytest.mark.parametrize("name", ["aclnnRmsNormGrad", "aclnnCrossEntropyLossGrad", "aclnnGroupNormSwishGrad"])
def test_generated_operators_refuse_a_small_workspace(program, name):
    status, size, executor = program.phase_1(name, program.arguments(name, *inputs_of(name))[0])
    assert status == 0 and size > 0
    assert getattr(program.acl, name)(program.malloc(size), size - 1, executor, program.stream) == 161002


def test_phase_2_needs_a_device_in_its_thread(program):
    status, size, executor = program.phase_1(HARDSWISH, program.arguments(HARDSWISH, *inputs_of(HARDSWISH))[0])
    launch = getattr(program.acl, HARDSWISH)
    assert on_new_thread(lambda: launch(None, 0, executor, program.stream)) == 361001


def test_an_unused_executor_can_be_destroyed(program):
    status, _, executor = program.phase_1(HARDSWISH, program.arguments(HARDSWISH, *inputs_of(HARDSWISH))[0])
    assert (status, program.acl.aclDestroyAclOpExecutor(executor)) == (0, 0)


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_repeatable_executor_serves_until_it_is_destroyed(program, name):
    inputs, shapes = inputs_of(name)
    arguments, made = program.arguments(name, inputs, shapes)
    status, size, executor = program.phase_1(name, arguments)
    assert (status, program.acl.aclSetAclOpExecutorRepeatable(executor)) == (0, 0)
    for _ in range(3):
        assert program.phase_2(name, size, executor) == 0
        assert program.acl.aclrtSynchronizeStream(program.stream) == 0
        assert_close({key: program.fetch(tensor) for key, tensor in made.items()}, judged(name, inputs))
    assert program.acl.aclDestroyAclOpExecutor(executor) == 0


def test_a_repeatable_executor_takes_new_addresses(program):
    acl, inputs = program.acl, inputs_of(HARDSWISH)[0]
    arguments, _ = program.arguments(HARDSWISH, inputs, inputs_of(HARDSWISH)[1])
    status, size, executor = program.phase_1(HARDSWISH, arguments)
    assert (status, acl.aclSetAclOpExecutorRepeatable(executor)) == (0, 0)
    other = uniform(9, 2, 5, low=-5, high=5)
    out = program.malloc(40)
    assert acl.aclSetInputTensorAddr(executor, 1, arguments[1], program.put(other)) == 0
    assert acl.aclSetOutputTensorAddr(executor, 0, arguments[2], out) == 0
    assert acl.aclSetTensorAddr(executor, 0, arguments[0], program.put(inputs["gradOutput"] * 2)) == 0
    assert [acl.aclSetInputTensorAddr(executor, 2, arguments[1], out), acl.aclSetTensorAddr(executor, 0, None, out),
            acl.aclSetTensorAddr(executor, 0, arguments[0], None)] == [161002, 561103, 561103]
    assert (program.phase_2(HARDSWISH, size, executor), acl.aclrtSynchronizeStream(program.stream)) == (0, 0)
    expected = judged(HARDSWISH, {"gradOutput": inputs["gradOutput"] * 2, "self": other})
    assert_close({"out": program.get(out, (2, 5), np.float32)}, expected)
    assert acl.aclDestroyAclOpExecutor(executor) == 0


def test_descriptors_may_go_once_phase_2_returned(program):
    inputs, shapes = inputs_of("aclnnGridSampler2DBackward")
    arguments, made = program.arguments("aclnnGridSampler2DBackward", inputs, shapes)
    places = {key: program.tensors[tensor] for key, tensor in made.items()}
    program.queue("aclnnGridSampler2DBackward", arguments)
    assert [program.acl.aclDestroyTensor(tensor) for tensor in program.tensors] == [0] * 5
    assert program.acl.aclDestroyBoolArray(program.arrays.pop()) == 0
    program.tensors.clear()
    assert program.acl.aclrtSynchronizeStream(program.stream) == 0
    found = {key: program.get(*place) for key, place in places.items()}
    assert_close(found, judged("aclnnGridSampler2DBackward", inputs))


def test_a_null_string_is_the_default(program):
    name = "aclnnCrossEntropyLossGrad"
    assert program.run(name, {"reduction": None})["xGradOut"].tolist() == program.run(name)["xGradOut"].tolist()


def test_work_runs_in_order(program):
    inputs, shapes = inputs_of(HARDSWISH)
    first, made = program.arguments(HARDSWISH, inputs, shapes)
    second, last = program.arguments(HARDSWISH, inputs, shapes)
    program.queue(HARDSWISH, first)
    program.queue(HARDSWISH, [made["out"], second[1], second[2]])  # reads what the first one writes
    assert program.acl.aclrtSynchronizeStream(program.stream) == 0
    once = judged(HARDSWISH, inputs)["out"].astype(np.float32)
    twice = judged(HARDSWISH, {"gradOutput": once, "self": inputs["self"]})
    assert_close({"out": program.fetch(last["out"])}, twice)


# Views

def strided_inputs(program, name):
    """Every input of an operator as a view with gaps, transposed and away from the start of its storage."""
    given, shapes = inputs_of(name)
    arguments, made = program.arguments(name, given, shapes)
    for position, key in enumerate(PARAMETERS[name].split("|")[0].split()):
        if isinstance(given[key], np.ndarray) and given[key].ndim:
            array = given[key]
            storage = np.full([2 * n + 3 for n in array.shape[::-1]], 77, array.dtype)
            inside = storage.T[tuple(slice(3, None, 2) for _ in array.shape)]
            inside[...] = array
            strides = [s // array.itemsize for s in inside.strides]
            offset = (inside.__array_interface__["data"][0] - storage.__array_interface__["data"][0]) // array.itemsize
            arguments[position] = program.view(program.put(storage), array.shape, array.dtype, strides, offset,
                                               storage.shape)
    return given, arguments, made


@pytest.mark.parametrize("name", PARAMETERS)
def test_strided_inputs_are_honoured(program, name):
    given, arguments, made = strided_inputs(program, name)
    program.launch(name, arguments)
    assert_close({key: program.fetch(tensor) for key, tensor in made.items()}, judged(name, given))


def test_broadcast_inputs_are_honoured(program):
    grad = program.view(program.put(np.float32([3])), (2, 5), np.float32, strides=(0, 0), storage=(1,))
    inputs, shapes = inputs_of(HARDSWISH)
    arguments, made = program.arguments(HARDSWISH, inputs, shapes)
    program.launch(HARDSWISH, [grad, *arguments[1:]])
    expected = judged(HARDSWISH, inputs | {"gradOutput": np.full((2, 5), 3, np.float32)})
    assert_close({"out": program.fetch(made["out"])}, expected)


def test_a_hand_written_operator_writes_through_strides(program):
    inputs, _ = inputs_of(HARDSWISH)
    address = program.put(np.full((5, 4), 77, np.float32))
    out = program.view(address, (2, 5), np.float32, strides=(2, 4), offset=1, storage=(5, 4))
    program.launch(HARDSWISH, [program.tensor(inputs["gradOutput"]), program.tensor(inputs["self"]), out])
    found = program.get(address, (5, 4), np.float32)
    assert_close({"out": found[:, 1::2].T.copy()}, judged(HARDSWISH, inputs))
    assert (found[:, ::2] == 77).all()


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1), (0,), (3, 0), (2, 1, 3, 1)])
def test_shapes_at_the_edge(program, shape):
    inputs = {"gradOutput": uniform(0, *shape), "self": uniform(1, *shape, low=-5, high=5)}
    found = program.run(HARDSWISH, inputs, {"out": (shape, np.float32)})
    assert found["out"].shape == shape
    if found["out"].size:
        assert_close(found, judged(HARDSWISH, inputs))


def test_two_threads_at_once(acl):
    """Each thread runs its own programme of work on its own stream of the shared device."""
    Program(acl).start().finish()
    assert acl.aclInit(None) == 0
    results = {}

    def work(seed):
        program = Program(acl)
        assert acl.aclrtSetDevice(0) == 0
        _, program.stream = acl.aclrtCreateStream()
        inputs = {"gradOutput": uniform(seed, 2, 5), "self": uniform(seed + 9, 2, 5, low=-5, high=5)}
        results[seed] = [(program.run(HARDSWISH, inputs), judged(HARDSWISH, inputs)) for _ in range(10)]
        for tensor in program.tensors:
            acl.aclDestroyTensor(tensor)
        for block in program.blocks:
            acl.aclrtFree(block)
        acl.aclrtDestroyStream(program.stream)
        acl.aclrtResetDevice(0)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [0, 1, 2, 3] and acl.aclFinalize() == 0
    for found, expected in (pair for pairs in results.values() for pair in pairs):
        assert_close(found, expected)


def test_the_judge_of_values_rejects_a_wrong_answer():
    inputs, _ = inputs_of(HARDSWISH)
    expected = judged(HARDSWISH, inputs)
    wrong = expected["out"].astype(np.float32)
    wrong[1, 2] += 1e-4
    with pytest.raises(AssertionError):
        assert_close({"out": wrong}, expected)
