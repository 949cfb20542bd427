"""The inputs of the vendor's five sample programs, as printed: `op.backward`, `device.run` and the C API take them alike."""

import numpy as np
import pytest

import aclnn_viz as av
from aclnn_viz.verification.contract import run


def count(stop, *shape):
    return np.arange(1, stop + 1, dtype=np.float32).reshape(shape)


ENDS = (-1, 0, 1)
SAMPLES = {
    "hardswish": {"gradOutput": count(8, 4, 2) - 1, "self": count(8, 4, 2) - 1},
    "rms_norm": {"dy": count(32, 2, 1, 16), "x": count(32, 2, 1, 16), "rstd": np.float32([1, 2]),
                 "gamma": count(16, 16)},
    "grid_sampler_2d": {"gradOutput": np.ones((1, 1, 3, 3), np.float32), "input": count(40, 1, 1, 5, 8),
                        "grid": np.float32([[[(x, y) for x in ENDS] for y in ENDS]])},
    "cross_entropy_loss": {"gradLoss": np.array(0.1, np.float32), "logProb": np.full((2, 3), -0.2, np.float32),
                           "target": np.zeros(2, np.int64), "weightOptional": np.ones(3, np.float32)},
    "group_norm_swish": {"dy": count(24, 2, 3, 4), "mean": np.full((2, 1), 2, np.float32),
                         "rstd": np.full((2, 1), 2, np.float32), "x": count(24, 2, 3, 4),
                         "gamma": np.full(3, 2, np.float32), "beta": np.full(3, 2, np.float32), "numGroups": 1},
}
EVERY = pytest.mark.parametrize("name", SAMPLES)


def test_every_sample_is_here():
    assert set(SAMPLES) <= {op.name for op in av.operators()} and len(SAMPLES) == 5


@EVERY
@pytest.mark.filterwarnings("ignore::aclnn_viz.devices.ConstraintWarning")
def test_the_device_computes_what_backward_does(name):
    op = av.operator(name)
    expected = op.backward(**SAMPLES[name])
    with av.open_device("host") as device:
        found = device.run(op, **SAMPLES[name])
    assert found.keys() == expected.keys() and all(np.array_equal(found[key], expected[key]) for key in expected)


@EVERY
def test_the_calls_of_the_c_api_fill_the_same_numbers(name):
    expected = av.operator(name).backward(**SAMPLES[name])
    found = run(name, **SAMPLES[name] | {key: np.zeros_like(value) for key, value in expected.items()})
    assert found.statuses == (0, 0, 0)
    assert all(np.array_equal(found.outputs[key], expected[key]) for key in expected)


def test_rstd_counts_by_its_elements():
    """(2,) for two rows, as the sample has it, (2, 1) as the printed rule, (2, 1, 1) as the forward operator."""
    op, given = av.operator("rms_norm"), SAMPLES["rms_norm"]
    outputs = [op.backward(**given | {"rstd": given["rstd"].reshape(shape)}) for shape in ((2,), (2, 1), (2, 1, 1))]
    assert all(np.array_equal(outputs[0][key], other[key]) for other in outputs for key in other)
    with pytest.raises(ValueError, match="rstd must have 2 elements"):
        op.backward(**given | {"rstd": np.float32([1, 2, 3])})
