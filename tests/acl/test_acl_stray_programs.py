"""Random programs: any call raises only TypeError, and a correct program runs after them."""

import gc
import random
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from acl_program import PARAMETERS, Program, inputs_of
from machine import SOAK
from together import in_one

from aclnn_viz.acl import HostAcl
from aclnn_viz.acl.program import AclError
from aclnn_viz.acl.protocol import FUNCTIONS, RUNTIME

SOCS = ("Ascend910B2", "Ascend910_9391", "Ascend950PR_9579", "Ascend910A", "Ascend310P3")
CALLS, SEEDS = 300, 400 if SOAK else 8
ATTRIBUTES = (
    -1,
    0,
    1,
    2,
    3,
    2**40,
    True,
    False,
    0.5,
    -1.0,
    float("nan"),
    "mean",
    "none",
    "avg",
    "",
    None,
)


def is_handle_or_address(value):
    return (
        value is not None
        and not isinstance(value, (str, tuple))
        and (not isinstance(value, int) or value > 2**40)
    )


def stray_value(draw, kept):
    return draw.choice(
        [
            *ATTRIBUTES,
            64,
            (2, 3),
            (),
            (2**40,),
            (-1, 2),
            [True, False],
            np.zeros(6, np.float32),
            *kept,
        ]
    )


@pytest.mark.parametrize("seed", range(700 if SOAK else 12))  # 210,000 calls
def test_calls_in_any_order(seed, record_property):
    record_property("calls", CALLS)
    draw = random.Random(seed)
    acl, kept, refused = (
        HostAcl(soc=draw.choice(SOCS), cann=draw.choice(("8.1", "9.0", "9.1")), memory=1 << 28),
        [],
        0,
    )
    assert (acl.aclInit(None), acl.aclrtSetDevice(0)) == (0, 0)
    for _ in range(CALLS):
        function = draw.choice(draw.choice((RUNTIME, FUNCTIONS)))
        arguments = [
            draw.choice(kept)
            if kept and "*" in p.c_type and draw.random() < 0.6
            else stray_value(draw, kept)
            for p in function.inputs
        ]
        try:
            result = getattr(acl, function.name)(*arguments)
        except TypeError as error:
            assert ": got " in str(error)
            refused += 1
        else:
            kept += filter(is_handle_or_address, result if isinstance(result, tuple) else (result,))
    assert 0 < refused < CALLS


def distorted(draw, program, array):
    """Return a tensor over an array, with one or two changed properties."""
    shape, dtype, strides, offset, address = array.shape, array.dtype, None, 0, program.put(array)
    for change in draw.sample(
        ("shape", "dtype", "strides", "offset", "address", "rank", "ones", "empty", "nothing"),
        draw.choice((1, 2, 2, 3)),
    ):
        match change:
            case "shape" if shape:
                shape = tuple(draw.choice((n, n, n + 1, 2 * n, 1)) for n in shape)
            case "dtype":
                dtype = np.dtype(
                    draw.choice((np.float16, np.float32, np.float64, np.int32, np.int64))
                )
            case "strides":
                strides = [
                    draw.choice((-3, 0, 1, 2, 7, 2**60, 2**63 - 1, -(2**63)))
                    for _ in range(len(shape) + 1)
                ]
            case "offset":
                offset = draw.choice((-1, 1, 10**6, 2**62, 2**63 - 1))
            case "address":
                address = draw.choice(
                    (None, 64, address + 4, 2**64 - 1, np.zeros(100, np.uint8), program.stream)
                )
            case "rank":
                shape = shape[1:] if draw.random() < 0.5 else (1, *shape)
            case "ones":
                shape = tuple(1 if draw.random() < 0.6 else n for n in shape)
            case "empty":
                shape = tuple(draw.choice((0, n, n, 2**40, 2**62)) for n in shape)
    return program.view(address, shape, dtype, strides, offset)


@pytest.mark.parametrize("name", PARAMETERS)
@pytest.mark.sampled(1)
def test_distorted_launches(name, record_property):
    launched = sum(distorted_launches(name, seed) for seed in range(SEEDS))
    record_property("programs", 12 * SEEDS)
    record_property("launched", launched)
    assert launched > 10


def distorted_launches(name, seed):
    """Launch an operator twelve times with strange tensors and a right one after each; return the number of launches."""
    draw = random.Random(f"{name} {seed}")
    launched = 0
    for _ in range(12):
        share = draw.choice((0.1, 0.3, 0.8))
        acl = HostAcl(
            soc=draw.choice(SOCS[:3]), cann=draw.choice(("8.5", "9.0", "9.1")), memory=1 << 28
        )
        program = Program(acl).start()
        inputs, shapes = inputs_of(name, draw.choice((np.float32, np.float16)))
        values = inputs | {key: np.zeros(*spec) for key, spec in shapes.items()}
        arguments = []
        for key in PARAMETERS[name].replace("|", "").split():
            strange = draw.random() < share
            if isinstance(values[key], np.ndarray):
                arguments.append(
                    distorted(draw, program, values[key])
                    if strange
                    else program.tensor(values[key])
                )
            elif isinstance(values[key], (bool, int, float)) and strange:
                arguments.append(draw.choice((True, 0, 1, 2, -1, 2**33)))
            else:
                arguments.append(program.given(values[key]))
        status, size, executor = program.phase_1(name, arguments)
        assert (executor is None) == (status != 0)
        if executor is not None:
            size = size if size < 1 << 27 else 0
            workspace = program.malloc(size) if size else None
            launched += getattr(acl, name)(workspace, size, executor, program.stream) == 0
            status = acl.aclrtSynchronizeStream(program.stream)
            assert status in (0, 207001, 507015, 507035)
        text = len(acl.misuse)
        found = program.run("aclnnHardswishBackward")
        assert (
            found["out"].tobytes()
            == Program(HostAcl()).start().run("aclnnHardswishBackward")["out"].tobytes()
        )
        program.finish()
        assert len(acl.misuse) == text
    return launched


def test_lengths_of_one_may_have_any_strides():
    program = Program(HostAcl()).start()
    inputs, _ = inputs_of("aclnnHardswishBackward")
    for huge in (2**62, 2**63 - 1, -(2**63)):
        given = [
            program.view(program.put(inputs[name]), (1, 10), np.float32, (huge, 1))
            for name in inputs
        ]
        out = program.empty((10,))
        seen = program.view(program.tensors[out][0], (1, 10), np.float32, (huge, 1))
        program.launch("aclnnHardswishBackward", [*given, seen])
        expected = program.run("aclnnHardswishBackward")["out"]
        assert program.fetch(out).tobytes() == expected.tobytes()


@in_one
@pytest.mark.parametrize("address", [None, 64, 2**64 - 1, np.zeros(9, np.uint8)], ids=str)
@pytest.mark.parametrize(
    "shape,status", [((0, 3), 0), ((0, 2**62), 507015), ((), 507015), ((1, 1), 507015)]
)
def test_tensors_nowhere_give_a_status(address, shape, status):
    program = Program(HostAcl()).start()
    given = [program.view(address, shape, np.float32) for _ in range(3)]
    try:
        program.launch("aclnnHardswishBackward", given)
    except AclError as error:
        assert (error.call, error.code) == (
            "aclrtSynchronizeStream",
            status,
        ) or error.call.endswith("Size")
    else:
        assert status == 0 or 0 in shape


def test_more_memory_than_the_machine_has_is_refused_where_c_refuses_it():
    acl = HostAcl(memory=1 << 60)
    assert (acl.aclInit(None), acl.aclrtSetDevice(0)) == (0, 0)
    for size in (1 << 50, (1 << 60) - 64, 1 << 63):
        assert (
            acl.aclrtMalloc(size, 0) == (207001, None) and "no room for" in acl.aclGetRecentErrMsg()
        )
    status, address = acl.aclrtMalloc(64, 0)
    assert (status, acl.aclrtMemset(address, 64, 1, 64), acl.aclrtFree(address), acl.misuse) == (
        0,
        0,
        0,
        [],
    )


def test_a_kernel_without_memory_ends_in_a_status():
    def short(name, inputs):
        raise MemoryError

    program = Program(HostAcl(backward=short)).start()
    with pytest.raises(
        AclError, match="aclrtSynchronizeStream must succeed: got 207001 .*emulating machine"
    ):
        program.run("aclnnHardswishBackward")
    program.finish()


def test_nothing_is_kept_of_a_process_that_has_finalised():
    acl = HostAcl()

    def lives(count):
        for _ in range(count):
            program = Program(acl).start()
            program.run("aclnnHardswishBackward")
            program.finish()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    try:
        seen = [lives(50) for _ in range(4)]
    finally:
        tracemalloc.stop()
    assert min(after - before for before, after in pairwise(seen)) < 10_000 and acl.misuse == []


def test_a_configuration_that_is_no_file_or_endless_is_not_read():
    acl = HostAcl()
    assert [
        acl.aclInit("/dev/zero"),
        acl.aclInit("/"),
        acl.aclInit("nowhere"),
        acl.aclInit(None),
    ] == [100003] * 3 + [0]
