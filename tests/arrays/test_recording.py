"""What recording arrays record, against data flow found by changing one input element at a time."""

import numpy as np
import pytest
from machine import sampled
from together import in_one

from aclnn_viz import case
from aclnn_viz.arrays.elementary import ERF, ERFC
from aclnn_viz.arrays.functions import Guards
from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.arrays.recording import RecordingArray, record
from aclnn_viz.cases import default
from aclnn_viz.cases.default import matrix_shape

SMALL = {
    "hardswish": {"shape": (2, 3)},
    "rms_norm": {"shape": (2, 3)},
    "group_norm_swish": {"shape": (2, 4, 2)},
    "cross_entropy_loss": {"shape": (3, 2), "labelSmoothing": 0.2},
    "grid_sampler_2d": {"shape": (1, 2, 3, 3), "grid_shape": (1, 2)},
}


class RecordingArrays(Guards):
    """NumPy as the namespace of a page whose arrays record."""

    float64 = np.dtype(np.float64)
    erf, erfc = ERF, ERFC

    def __getattr__(self, name):
        return getattr(np, name)

    def astype(self, x, dtype):
        return x.astype(dtype)

    def zeros(self, shape, dtype):
        return RecordingArray(np.zeros(shape, dtype))

    def scatter_add(self, target, index, values):
        result = target.copy()
        np.add.at(result, (slice(None), index), values)
        return result


def lands(seen, name, index, output):
    """The elements of an output that one element of an input went into."""
    first, shape = seen.places[name]
    bit = first + int(np.ravel_multi_index(index, shape)) if shape else first
    return np.array([record >> bit & 1 for record in seen.records[output].ravel()], bool).reshape(
        seen.records[output].shape
    )


def over_recording_arrays(op):
    """The page of an operator as a kernel of its canonical arrays."""

    def kernel(**arrays):
        return op.page.backward(RecordingArrays(), **arrays)

    return kernel


def recorded(op, **options):
    inputs = case(op, dtype="float64", seed=5, **options).inputs
    arranged = op.arrange_backward(**op.bind(inputs))
    arrays = arranged.arrays | (arranged.prelude(np, arranged.arrays) if arranged.prelude else {})
    arrays = {
        name: np.asarray(a) if a is not None else None for name, a in arrays.items()
    } | arranged.attributes
    return record(over_recording_arrays(op), arrays, op.outputs), arrays, op


def differences(op, arrays, name, index):
    """The outputs, changed elements marked, when one element of one input changes."""
    changed = {
        key: value.copy() if isinstance(value, np.ndarray) else value
        for key, value in arrays.items()
    }
    changed[name][index] += 1e-3
    with np.errstate(all="ignore"):
        before, after = (op.page.backward(NumPyArrays(), **some) for some in (arrays, changed))
    return {key: before[key] != after[key] for key in before}


@in_one
@pytest.mark.parametrize("op", sampled(__name__), ids=lambda op: op.name)
def test_pages_compute_the_same_over_recording_arrays(op):
    seen, arrays, _ = recorded(
        op, **SMALL.get(op.name, default.fitted(op, {"shape": matrix_shape(op, 2, 3)}))
    )
    for name, value in op.page.backward(NumPyArrays(), **arrays).items():
        # another order of summation
        np.testing.assert_allclose(seen.outputs[name], value, rtol=1e-12, atol=1e-12)


@in_one
@pytest.mark.parametrize("op", sampled(__name__), ids=lambda op: op.name)
def test_whatever_changes_an_output_was_recorded(op):
    seen, arrays, _ = recorded(
        op, **SMALL.get(op.name, default.fitted(op, {"shape": matrix_shape(op, 2, 3)}))
    )
    for name, (_, shape) in seen.places.items():
        for index in list(np.ndindex(shape))[:6]:
            for output, changed in differences(op, arrays, name, index).items():
                assert not (changed & ~lands(seen, name, index, output)).any(), (
                    name,
                    index,
                    output,
                )


def test_reads_are_not_more_than_they_are():
    seen, *_ = recorded(sampled(__name__)[1], **SMALL["rms_norm"])
    assert seen.reads("dxOut", (0, 1), "x").tolist() == [[True] * 3, [False] * 3]  # its own row
    # its own column
    assert seen.reads("dgammaOut", (2,), "x").tolist() == [[False, False, True]] * 2
    assert seen.counts("dxOut", "dy").tolist() == [[3] * 3] * 2


def test_a_scattered_gradient_lands_at_its_taps():
    def kernel(values):
        image = np.zeros_like(values)
        np.add.at(image, np.array([2, 0, 2]), values)
        return image

    seen = record(kernel, {"values": np.arange(3.0)}, ["image"])
    assert lands(seen, "values", (0,), "image").tolist() == [False, False, True]
    assert seen.counts("image", "values").tolist() == [1, 0, 2]


def test_what_is_written_through_a_view_is_recorded():
    def kernel(values):
        image = np.zeros_like(values)
        row = image[0]
        row[...] = values[1]
        return image

    seen = record(kernel, {"values": np.ones((2, 3))}, ["image"])
    assert seen.reads("image", (0, 2), "values").tolist() == [[False] * 3, [False, False, True]]


def test_a_plain_numpy_kernel_is_recorded():
    def kernel(dy, x, rstd, gamma):
        xhat = x * rstd
        dx = (dy * gamma - xhat * (dy * gamma * xhat).mean(axis=-1, keepdims=True)) * rstd
        return dx, np.sum(dy * xhat, axis=0)

    inputs = case("rms_norm", shape=(2, 4)).inputs
    seen = record(kernel, inputs, ["dxOut", "dgammaOut"])
    assert seen.counts("dxOut", "x").tolist() == [[4] * 4] * 2
    assert seen.counts("dgammaOut", "x").tolist() == [2] * 4


@pytest.mark.parametrize(
    "store",
    [lambda out, a: out.__setitem__(slice(0, 2), a), lambda out, a: np.add.at(out, [0], a[:1])],
)
def test_a_plain_target_is_refused(store):
    with pytest.raises(TypeError, match="zeros_like"):
        record(lambda a: store(np.zeros(2), a), {"a": np.ones(2)}, ["c"])


def test_an_unknown_function_is_named():
    with pytest.raises(TypeError, match="numpy.cov"):
        record(lambda a: np.cov(a), {"a": np.ones((2, 2))}, ["c"])
