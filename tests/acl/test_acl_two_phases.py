"""The two phases of every operator: values, statuses, executors, streams and views; for any implementation."""

import threading
from importlib import import_module

import ml_dtypes
import numpy as np
import pytest
from acl_program import PARAMETERS, Program, inputs_of, on_new_thread, uniform

JUDGES = {
    "aclnnHardswishBackward": "hardswish",
    "aclnnRmsNormGrad": "rms_norm",
    "aclnnGridSampler2DBackward": "grid_sampler_2d",
    "aclnnCrossEntropyLossGrad": "cross_entropy_loss",
    "aclnnGroupNormSwishGrad": "group_norm_swish",
}
HARDSWISH = "aclnnHardswishBackward"


def judged(name, inputs=None):
    """Return the outputs at 50 digits, as float64, from formulas independent of the kit."""
    inputs = inputs_of(name)[0] | (inputs or {})
    given = {key: value for key, value in inputs.items() if value is not None}
    outputs = import_module(f"reference.{JUDGES[name]}").backward(**given)
    return {key: np.asarray(value, dtype=np.float64) for key, value in outputs.items()}


def assert_close(found, expected):
    """Sums of a few terms of size 1, rounded to the outputs' format: a few units of its last place."""
    units = {
        np.dtype(np.float32): 2**-24,
        np.dtype(np.float16): 2**-11,
        np.dtype(ml_dtypes.bfloat16): 2**-8,
    }
    for name, array in found.items():
        np.testing.assert_allclose(
            array.astype(np.float64),
            expected[name],
            rtol=0,
            err_msg=name,
            atol=32 * units[array.dtype] * max(1, np.abs(expected[name]).max()),
        )


# The two phases


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.sampled(15)
def test_values(program, name, dtype):
    inputs, shapes = inputs_of(name, dtype)
    assert_close(program.run(name, inputs, shapes), judged(name, inputs))


@pytest.mark.parametrize(("name", "status"), [(name, 161001) for name in PARAMETERS])
def test_a_null_tensor_is_refused(program, name, status):
    arguments, _ = program.arguments(name)
    assert program.phase_1(name, [None, *arguments[1:]]) == (status, 0, None)


@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("aclnnHardswishBackward", 161002),
        ("aclnnRmsNormGrad", 561002),
        ("aclnnGridSampler2DBackward", 161002),
        ("aclnnCrossEntropyLossGrad", 561002),
    ],
)
def test_a_wrong_shape_is_refused_with_the_operators_own_code(program, name, status):
    key = {
        "aclnnHardswishBackward": "self",
        "aclnnRmsNormGrad": "gamma",
        "aclnnGridSampler2DBackward": "grid",
        "aclnnCrossEntropyLossGrad": "target",
    }[name]
    right = inputs_of(name)[0][key]
    arguments, _ = program.arguments(name, {key: np.zeros((7,) * right.ndim, right.dtype)})
    assert program.phase_1(name, arguments) == (status, 0, None)
    assert name in program.acl.aclGetRecentErrMsg()


def test_a_shape_that_the_tiling_ignores_fails_at_launch(program):
    name = "aclnnGroupNormSwishGrad"
    arguments, _ = program.arguments(name, {"gamma": uniform(0, 7)})
    status, size, executor = program.phase_1(name, arguments)
    assert status == 0 and program.phase_2(name, size, executor) == 361001


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_wrong_dtype_is_refused(program, name):
    key, value = next(iter(inputs_of(name)[0].items()))
    arguments, _ = program.arguments(name, {key: value.astype(np.float64)})
    assert program.phase_1(name, arguments) == (161002, 0, None)


@pytest.mark.parametrize("name", PARAMETERS)
def test_phase_2_refuses_null_pointers_and_spends_the_executor(program, name):
    acl, arguments = program.acl, program.arguments(name)[0]
    assert getattr(acl, name)(None, 0, None, program.stream) == 161001
    status, size, executor = program.phase_1(name, arguments)
    assert (status, getattr(acl, name)(None, max(size, 1), executor, program.stream)) == (0, 161001)


@pytest.mark.parametrize(
    "name", ["aclnnRmsNormGrad", "aclnnCrossEntropyLossGrad", "aclnnGroupNormSwishGrad"]
)
def test_generated_operators_refuse_a_small_workspace(program, name):
    status, size, executor = program.phase_1(name, program.arguments(name)[0])
    assert status == 0 and size > 0
    assert (
        getattr(program.acl, name)(program.malloc(size), size - 1, executor, program.stream)
        == 161002
    )


def test_phase_2_needs_a_device_in_its_thread(program):
    status, size, executor = program.phase_1(HARDSWISH, program.arguments(HARDSWISH)[0])
    launch = getattr(program.acl, HARDSWISH)
    assert on_new_thread(lambda: launch(None, 0, executor, program.stream)) == 361001


def test_an_unused_executor_can_be_destroyed(program):
    status, _, executor = program.phase_1(HARDSWISH, program.arguments(HARDSWISH)[0])
    assert (status, program.acl.aclDestroyAclOpExecutor(executor)) == (0, 0)


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_repeatable_executor_serves_until_it_is_destroyed(program, name):
    arguments, made = program.arguments(name)
    status, size, executor = program.phase_1(name, arguments)
    assert (status, program.acl.aclSetAclOpExecutorRepeatable(executor)) == (0, 0)
    for _ in range(3):
        assert program.phase_2(name, size, executor) == 0
        assert program.acl.aclrtSynchronizeStream(program.stream) == 0
        assert_close({key: program.fetch(tensor) for key, tensor in made.items()}, judged(name))
    assert program.acl.aclDestroyAclOpExecutor(executor) == 0


def test_a_repeatable_executor_takes_new_addresses(program):
    acl, inputs = program.acl, inputs_of(HARDSWISH)[0]
    arguments, _ = program.arguments(HARDSWISH)
    status, size, executor = program.phase_1(HARDSWISH, arguments)
    assert (status, acl.aclSetAclOpExecutorRepeatable(executor)) == (0, 0)
    other = uniform(9, 2, 5, low=-5, high=5)
    out = program.malloc(40)
    assert acl.aclSetInputTensorAddr(executor, 1, arguments[1], program.put(other)) == 0
    assert acl.aclSetOutputTensorAddr(executor, 0, arguments[2], out) == 0
    assert (
        acl.aclSetTensorAddr(executor, 0, arguments[0], program.put(inputs["gradOutput"] * 2)) == 0
    )
    assert [
        acl.aclSetInputTensorAddr(executor, 2, arguments[1], out),
        acl.aclSetTensorAddr(executor, 0, None, out),
        acl.aclSetTensorAddr(executor, 0, arguments[0], None),
    ] == [161002, 561103, 561103]
    assert (
        program.phase_2(HARDSWISH, size, executor),
        acl.aclrtSynchronizeStream(program.stream),
    ) == (0, 0)
    expected = judged(HARDSWISH, {"gradOutput": inputs["gradOutput"] * 2, "self": other})
    assert_close({"out": program.get(out, (2, 5), np.float32)}, expected)
    assert acl.aclDestroyAclOpExecutor(executor) == 0


def test_descriptors_may_go_once_phase_2_returned(program):
    arguments, made = program.arguments("aclnnGridSampler2DBackward")
    places = {key: program.tensors[tensor] for key, tensor in made.items()}
    program.queue("aclnnGridSampler2DBackward", arguments)
    assert [program.acl.aclDestroyTensor(tensor) for tensor in program.tensors] == [0] * 5
    assert program.acl.aclDestroyBoolArray(program.arrays.pop()) == 0
    program.tensors.clear()
    assert program.acl.aclrtSynchronizeStream(program.stream) == 0
    found = {key: program.get(*place) for key, place in places.items()}
    assert_close(found, judged("aclnnGridSampler2DBackward"))


def test_a_null_string_is_the_default(program):
    name = "aclnnCrossEntropyLossGrad"
    assert (
        program.run(name, {"reduction": None})["xGradOut"].tolist()
        == program.run(name)["xGradOut"].tolist()
    )


def test_work_runs_in_order(program):
    inputs, shapes = inputs_of(HARDSWISH)
    first, made = program.arguments(HARDSWISH, inputs, shapes)
    second, last = program.arguments(HARDSWISH, inputs, shapes)
    program.queue(HARDSWISH, first)
    program.queue(HARDSWISH, [made["out"], second[1], second[2]])  # reads the first call's output
    assert program.acl.aclrtSynchronizeStream(program.stream) == 0
    once = judged(HARDSWISH, inputs)["out"].astype(np.float32)
    twice = judged(HARDSWISH, {"gradOutput": once, "self": inputs["self"]})
    assert_close({"out": program.fetch(last["out"])}, twice)


# Streams and threads


def test_every_way_to_synchronise_runs_the_work(program):
    acl = program.acl
    for synchronise in (
        lambda: acl.aclrtSynchronizeStream(program.stream),
        acl.aclrtSynchronizeDevice,
        lambda: acl.aclrtSynchronizeStreamWithTimeout(program.stream, 1000),
    ):
        arguments, made = program.arguments(HARDSWISH)
        program.queue(HARDSWISH, arguments)
        assert synchronise() == 0
        assert_close({"out": program.fetch(made["out"])}, judged(HARDSWISH))


def test_a_forced_destroy_drops_the_work(program):
    acl = program.acl
    arguments, made = program.arguments(HARDSWISH)
    untouched = program.fetch(made["out"]).tobytes()
    program.queue(HARDSWISH, arguments)
    assert acl.aclrtDestroyStreamForce(program.stream) == 0
    status, program.stream = acl.aclrtCreateStream()
    assert (status, acl.aclrtSynchronizeDevice()) == (0, 0)
    assert program.fetch(made["out"]).tobytes() == untouched


def test_two_threads_at_once(acl):
    """Each thread runs its own work on its own stream of the shared device."""
    Program(acl).start().finish()
    assert acl.aclInit(None) == 0
    results = {}

    def work(seed):
        program = Program(acl)
        assert acl.aclrtSetDevice(0) == 0
        _, program.stream = acl.aclrtCreateStream()
        inputs = {
            "gradOutput": uniform(seed, 2, 5),
            "self": uniform(seed + 9, 2, 5, low=-5, high=5),
        }
        results[seed] = [
            (program.run(HARDSWISH, inputs), judged(HARDSWISH, inputs)) for _ in range(10)
        ]
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


# Views


def strided_inputs(program, name):
    """Return every input of an operator as a view with gaps, transposed and away from its storage's start."""
    given, shapes = inputs_of(name)
    arguments, made = program.arguments(name, given, shapes)
    for position, key in enumerate(PARAMETERS[name].split("|")[0].split()):
        if isinstance(given[key], np.ndarray) and given[key].ndim:
            array = given[key]
            storage = np.full([2 * n + 3 for n in array.shape[::-1]], 77, array.dtype)
            inside = storage.T[tuple(slice(3, None, 2) for _ in array.shape)]
            inside[...] = array
            strides = [s // array.itemsize for s in inside.strides]
            offset = (
                inside.__array_interface__["data"][0] - storage.__array_interface__["data"][0]
            ) // array.itemsize
            arguments[position] = program.view(
                program.put(storage), array.shape, array.dtype, strides, offset, storage.shape
            )
    return given, arguments, made


@pytest.mark.parametrize("name", PARAMETERS)
def test_strided_inputs_are_honoured(program, name):
    given, arguments, made = strided_inputs(program, name)
    program.launch(name, arguments)
    assert_close({key: program.fetch(tensor) for key, tensor in made.items()}, judged(name, given))


def test_broadcast_inputs_are_honoured(program):
    grad = program.view(
        program.put(np.float32([3])), (2, 5), np.float32, strides=(0, 0), storage=(1,)
    )
    arguments, made = program.arguments(HARDSWISH)
    program.launch(HARDSWISH, [grad, *arguments[1:]])
    expected = judged(HARDSWISH, {"gradOutput": np.full((2, 5), 3, np.float32)})
    assert_close({"out": program.fetch(made["out"])}, expected)


def test_a_hand_written_operator_writes_through_strides(program):
    inputs, _ = inputs_of(HARDSWISH)
    address = program.put(np.full((5, 4), 77, np.float32))
    out = program.view(address, (2, 5), np.float32, strides=(2, 4), offset=1, storage=(5, 4))
    program.launch(
        HARDSWISH, [program.tensor(inputs["gradOutput"]), program.tensor(inputs["self"]), out]
    )
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


def test_the_judge_of_values_rejects_a_wrong_answer():
    inputs, _ = inputs_of(HARDSWISH)
    expected = judged(HARDSWISH, inputs)
    wrong = expected["out"].astype(np.float32)
    wrong[1, 2] += 1e-4
    with pytest.raises(AssertionError):
        assert_close({"out": wrong}, expected)
