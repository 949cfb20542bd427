"""Programs drawn at random: whatever they call, only TypeError is raised, and a correct program runs after them."""

import random

import numpy as np
import pytest
from acl_program import PARAMETERS, Program, inputs_of
from machine import SOAK

from aclnn_viz.acl import HostAcl
from aclnn_viz.acl.protocol import FUNCTIONS

SOCS = ("Ascend910B2", "Ascend910_9391", "Ascend950PR_9579", "Ascend910A", "Ascend310P3")
ATTRIBUTES = (-1, 0, 1, 2, 3, 2**40, True, False, 0.5, -1.0, float("nan"), "mean", "none", "avg", "", None)


def is_handle_or_address(value):
    return value is not None and not isinstance(value, (str, tuple)) and (not isinstance(value, int) or value > 2**40)


def stray_value(draw, kept):
    return draw.choice([*ATTRIBUTES, 64, (2, 3), (), (2**40,), (-1, 2), [True, False], np.zeros(6, np.float32), *kept])


@pytest.mark.parametrize("seed", range(400 if SOAK else 12))
def test_calls_in_any_order(seed):
    draw = random.Random(seed)
    acl, kept, refused = HostAcl(soc=draw.choice(SOCS), cann=draw.choice(("8.1", "9.0", "9.1")), memory=1 << 28), [], 0
    assert (acl.aclInit(None), acl.aclrtSetDevice(0)) == (0, 0)
    for _ in range(300):
        function = draw.choice(FUNCTIONS)
        arguments = [draw.choice(kept) if kept and "*" in p.c_type and draw.random() < 0.6 else stray_value(draw, kept)
                     for p in function.inputs]
        try:
            result = getattr(acl, function.name)(*arguments)
        except TypeError as error:
            assert ": got " in str(error)
            refused += 1
        else:
            kept += filter(is_handle_or_address, result if isinstance(result, tuple) else (result,))
    assert 0 < refused < 300


def distorted(draw, program, array):
    """A tensor over an array, with one thing about it changed."""
    shape, dtype, strides, offset, address = array.shape, array.dtype, None, 0, program.put(array)
    match draw.choice(("shape", "dtype", "strides", "offset", "address", "rank", "empty", "nothing")):
        case "shape" if shape:
            shape = tuple(draw.choice((n, n, n + 1, 2 * n, 1)) for n in shape)
        case "dtype":
            dtype = np.dtype(draw.choice((np.float16, np.float32, np.float64, np.int32, np.int64)))
        case "strides":
            strides = tuple(draw.choice((-3, 0, 1, 2, 7, 2**60)) for _ in shape)
        case "offset":
            offset = draw.choice((-1, 1, 10**6, 2**62))
        case "address":
            address = draw.choice((None, 64, address + 4, np.zeros(100, np.uint8)))
        case "rank":
            shape = shape[1:] if draw.random() < 0.5 else (1, *shape)
        case "empty":
            shape = tuple(0 if draw.random() < 0.3 else n for n in shape)
    return program.view(address, shape, dtype, strides, offset)


@pytest.mark.parametrize("seed", range(200 if SOAK else 8))
@pytest.mark.parametrize("name", PARAMETERS)
def test_distorted_launches(name, seed):
    draw = random.Random(f"{name} {seed}")
    launched = 0
    for _ in range(12):
        acl = HostAcl(soc=draw.choice(SOCS[:3]), cann=draw.choice(("8.5", "9.0", "9.1")), memory=1 << 28)
        program = Program(acl).start()
        inputs, shapes = inputs_of(name, draw.choice((np.float32, np.float16)))
        values = inputs | {key: np.zeros(*spec) for key, spec in shapes.items()}
        arguments = []
        for key in PARAMETERS[name].replace("|", "").split():
            strange = draw.random() < 0.15
            if isinstance(values[key], np.ndarray):
                arguments.append(distorted(draw, program, values[key]) if strange else program.tensor(values[key]))
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
            assert acl.aclrtSynchronizeStream(program.stream) in (0, 507015, 507035)
        told = len(acl.misuse)
        found = program.run("aclnnHardswishBackward")
        assert found["out"].tobytes() == Program(HostAcl()).start().run("aclnnHardswishBackward")["out"].tobytes()
        program.finish()
        assert len(acl.misuse) == told
    assert launched
