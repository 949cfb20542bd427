"""The calls of the runtime and of descriptors, in correct programs and for the library's refusals."""

import inspect

import ml_dtypes
import numpy as np
import pytest
from acl_program import (
    FLOAT,
    INT64,
    ND,
    PARAMETERS,
    TO_HOST,
    on_new_thread,
)
from script import play, scripts
from standin.generic import functions

from aclnn_viz.acl.protocol import FUNCTIONS, Handle


@pytest.mark.parametrize("script", scripts("process"))
def test_calls_of_a_process(acl, script):
    play(scripts("process")[script], acl)


@pytest.mark.parametrize("script", scripts("program"))
def test_calls_of_a_program(program, script):
    play(scripts("program")[script], program.acl, program)


# The protocol


def test_every_function_is_a_method_with_the_c_arguments(acl):
    for function in FUNCTIONS:
        assert list(inspect.signature(getattr(acl, function.name)).parameters) == [
            p.name for p in function.inputs
        ]


def test_the_operators_take_the_vendors_parameters_in_c_order(acl):
    for name, parameters in PARAMETERS.items():
        phase_1 = inspect.signature(getattr(acl, f"{name}GetWorkspaceSize"))
        assert list(phase_1.parameters) == parameters.replace("|", "").split()
        assert len(inspect.signature(getattr(acl, name)).parameters) == 4


def test_every_call_takes_nulls_and_returns_one_value_for_each_out_pointer(acl):
    """Each call once, in the table's order, which initialises, finalises, and continues like a stray program."""
    for function in functions():
        zeros = [0.0 if p.c_type == "double" else 0 for p in function.inputs]
        result = getattr(acl, function.name)(*zeros)
        if function.outputs:
            assert isinstance(result, tuple) and len(result) == 1 + len(function.outputs), (
                function.name
            )
        assert isinstance(
            result[0] if function.outputs else result, (int, str, Handle, type(None))
        ), function.name


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (
            lambda acl: acl.aclInit(),
            "aclInit takes 1 arguments: got 0 positional; call aclInit(config_path)",
        ),
        (
            lambda acl: acl.aclrtMalloc(8),
            "aclrtMalloc takes 2 arguments: got 1 positional; call aclrtMalloc(size, policy)",
        ),
        (
            lambda acl: acl.aclrtMalloc(8, size=8),
            "aclrtMalloc takes 2 arguments: got 1 positional and size by keyword; "
            "call aclrtMalloc(size, policy)",
        ),
        (
            lambda acl: acl.aclrtMalloc("8", 0),
            "aclrtMalloc: size (size_t) must be an integer: got '8' (str); pass an int",
        ),
        (
            lambda acl: acl.aclrtSetDevice(None),
            "aclrtSetDevice: device_id (int32_t) must be an integer: got None "
            "(NoneType); pass an int",
        ),
        (
            lambda acl: acl.aclDestroyTensor(5),
            "aclDestroyTensor: tensor (const aclTensor *) must be an aclTensor or null: "
            "got 5 (int); pass the handle that the C API returned, or None",
        ),
        (
            lambda acl: acl.aclInit(b"x"),
            "aclInit: config_path (const char *) must be a string or null: got b'x' (bytes); "
            "pass a str, or None for the null pointer",
        ),
        (
            lambda acl: acl.aclCreateBoolArray(["a"]),
            "aclCreateBoolArray: values (const bool *) must be a boolean: "
            "got ['a'] (list); pass True or False",
        ),
        (
            lambda acl: acl.aclCreateTensor(3, 0, None, 0, 2, (3,), None),
            "aclCreateTensor: view_dims (const int64_t *) must be a sequence of integers or null: got 3 (int); "
            "pass a tuple or a list, or None for the null pointer",
        ),
        (
            lambda acl: acl.aclrtFree(1.5),
            "aclrtFree: address (void *) must be a device address, a NumPy array or null: "
            "got 1.5 (float); pass an int from aclrtMalloc, an array, or None",
        ),
    ],
)
def test_what_c_would_not_compile_is_a_type_error(acl, call, text):
    with pytest.raises(TypeError) as caught:
        call(acl)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("dst", "src", "text"),
    [
        (
            np.zeros((4, 4), np.float32)[:, 1],
            np.zeros(4, np.float32),
            "must be one dense block of memory",
        ),
        (
            np.broadcast_to(np.float32(0), 1),
            np.zeros(4, np.float32),
            "must be memory that may be written",
        ),
        (np.zeros(4, np.float32), np.array([None]), "must be memory of numbers"),
        (np.zeros(4, np.float32), [1, 2], "must be a device address, a NumPy array or null"),
    ],
)
def test_host_memory_is_a_dense_array(acl, dst, src, text):
    with pytest.raises(TypeError, match=text):
        acl.aclrtMemcpy(dst, 4, src, 4, TO_HOST)


def test_attributes_are_typed(acl):
    handle = acl.aclCreateTensor((2,), FLOAT, None, 0, ND, (2,), None)
    with pytest.raises(TypeError, match=r"labelSmoothing \(double\) must be a number"):
        acl.aclnnCrossEntropyLossGradGetWorkspaceSize(
            handle, handle, handle, None, None, None, "mean", 0, "0", 0.0, handle
        )
    with pytest.raises(TypeError, match=r"alignCorners \(bool\) must be a boolean"):
        acl.aclnnGridSampler2DBackwardGetWorkspaceSize(
            handle, handle, handle, 0, 0, 0.0, None, handle, handle
        )
    with pytest.raises(
        TypeError, match=r"executor \(aclOpExecutor \*\) must be an aclOpExecutor or null"
    ):
        acl.aclnnRmsNormGrad(None, 0, handle, None)
    assert acl.aclDestroyTensor(handle) == 0


# Initialisation, devices, contexts, streams


def test_finalize_reference_is_counted(acl):
    assert [acl.aclInit(None), acl.aclInit(None)] == [0, 100002]
    assert [acl.aclFinalizeReference() for _ in range(3)] == [(0, 1), (0, 0), (100037, None)]


def test_device_queries(program):
    assert program.acl.aclrtGetSocName().startswith("Ascend")
    status, count = program.acl.aclrtGetDeviceCount()
    assert status == 0 and count >= 1


# Options and error text


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


def test_memory_info_follows_malloc_and_free(program):
    acl = program.acl
    status, free, total = acl.aclrtGetMemInfo(1)
    assert status == 0 and 0 < free <= total
    address = program.malloc(1 << 20)
    assert acl.aclrtGetMemInfo(1)[1] <= free - (1 << 20)
    assert (
        acl.aclrtFree(program.blocks.pop()) == 0
        and address
        and acl.aclrtGetMemInfo(1) == (0, free, total)
    )


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float64, np.int64, np.bool_, ml_dtypes.bfloat16, np.complex64]
)
def test_bytes_survive_the_device(program, dtype):
    data = np.arange(12).reshape(3, 4).astype(dtype)
    assert program.get(program.put(data), (3, 4), dtype).tobytes() == data.tobytes()


# Tensors, arrays, executors


def test_tensors_tell_what_they_were_reported(program):
    acl = program.acl
    view = program.view(
        program.malloc(256), (3, 2), np.float32, strides=(8, 2), offset=5, storage=(4, 16)
    )
    assert acl.aclGetViewShape(view) == (0, (3, 2)) and acl.aclGetViewStrides(view) == (0, (8, 2))
    assert acl.aclGetViewOffset(view) == (0, 5) and acl.aclGetStorageShape(view) == (0, (4, 16))
    assert acl.aclGetFormat(view) == (0, ND) and acl.aclGetDataType(view) == (0, FLOAT)
    undefined = acl.aclCreateTensor((), -1, None, 0, -1, (), None)
    assert [acl.aclGetDataType(undefined), acl.aclGetFormat(undefined)] == [(0, -1), (0, -1)]
    assert acl.aclDestroyTensor(undefined) == 0
    dense = program.view(None, (3, 2, 5), np.int64)
    assert acl.aclGetViewStrides(dense) == (0, (10, 5, 1)) and acl.aclGetDataType(dense) == (
        0,
        INT64,
    )


def test_the_caller_may_change_its_arrays_after_the_call(program):
    dims, strides = [3, 2], np.array([2, 1])
    tensor = program.acl.aclCreateTensor(dims, FLOAT, strides, 0, ND, dims, None)
    program.tensors[tensor] = None
    dims[0], strides[0] = 7, 9
    assert program.acl.aclGetViewShape(tensor) == (0, (3, 2)) and program.acl.aclGetViewStrides(
        tensor
    ) == (0, (2, 1))


def test_arrays_know_their_size(program):
    for values in ((True, False), (True,), (), None):
        program.arrays.append(program.acl.aclCreateBoolArray(values))
        assert program.acl.aclGetBoolArraySize(program.arrays[-1]) == (0, len(values or ()))
