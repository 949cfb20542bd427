"""In float64 the gradients of every operator that PyTorch computes agree with PyTorch's to 1e-10 of their terms, on random cases."""

import numpy as np
import pytest
from machine import SOAK
from rounding_bounds import magnitudes

import aclnn_viz as av
from aclnn_viz.cases import default
from aclnn_viz.cases.suites import Recipe, recipes
from aclnn_viz.devices import UnsupportedError
from aclnn_viz.operators.peers import in_torch

pytestmark = pytest.mark.needs("torch")
OPERATORS = [op for op in av.operators() if in_torch(op)]
CASES, CLOSE = 2000 if SOAK else 20, 1e-10
CONSTANT = 2.0**-24  # ATen's least divisor, 1e-12, is a float32 number


def drawn(op, number):
    """Return a case of the suite with other numbers, every second time with other lengths; None if there is none."""
    rng = np.random.default_rng(number)
    suite = [
        one.options
        for one in recipes(op)
        if not any(isinstance(value, np.ndarray) for value in one.options.values())
    ]
    options = suite[rng.integers(len(suite))] | {"dtype": "float64"}
    if number % 2 and not any(name.endswith(("_shape", "_ndim")) for name in options):
        shape = options.get("shape", default.default_shape(op))
        options = default.fitted(
            op, options | {"shape": tuple(rng.integers(1, 9, len(shape)).tolist())}
        )
    try:
        return Recipe(op.name, options).case(number)
    except (TypeError, ValueError):
        return None


def apart(op, peer, inputs):
    """Return the largest distance in units of the terms, except for documented differences; 0 for empty outputs."""
    ours, theirs, sizes = op.backward(**inputs), peer.run(op, **inputs), magnitudes(op, inputs)
    largest = {
        name: float(np.max(np.abs(one[np.isfinite(one)]), initial=0.0))
        for name, one in inputs.items()
        if isinstance(one, np.ndarray) and one.dtype.kind == "f"
    }
    # Terms may cancel to 0 before an input, such as rstd, multiplies them here, and after it there.
    least = (
        1e-3
        * max(largest[name] for name in op.upstream if name in largest)
        * max(1.0, *largest.values())
    )
    found = [0.0]
    for name, value in ours.items():
        other, size = theirs[name], sizes[name].reshape(value.shape)
        same = (value == other) | np.isnan(value) & np.isnan(other) | (size == np.inf)
        for difference in (
            one for one in peer.differences(op) if one.values and "float64" in one.dtypes
        ):
            mask, values = difference.values(inputs).get(name, (False, np.nan))
            same |= mask & (values == other)
        distances = np.abs(value - other) / np.maximum(size, least + 1e-290)
        if op.name == "binary_cross_entropy":
            distances *= np.where(
                inputs["self"] * (1 - inputs["self"]) < 1e-12, CLOSE / CONSTANT, 1
            )
        found.append(np.max(distances, initial=0.0, where=~same))
    return max(found)


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.name)
def test_gradients_are_those_of_pytorch(op):
    seen, number = 0, 0
    with av.open_device("torch") as peer:
        while seen < CASES and (number := number + 1) < 5 * CASES:
            if (made := drawn(op, number)) is not None:
                try:
                    assert apart(op, peer, made.inputs) <= CLOSE, made
                    seen += 1
                except UnsupportedError:
                    pass
    assert seen == CASES


def test_an_error_of_some_digits_is_seen(monkeypatch):
    op = av.operator("silu")
    right, made = type(op).backward, av.case(op, "float64", seed=3)
    with av.open_device("torch") as peer:
        assert apart(op, peer, made.inputs) <= CLOSE / 1e4
        monkeypatch.setattr(
            type(op),
            "backward",
            lambda self, /, **i: {k: v * (1 + 1e-9) for k, v in right(self, **i).items()},
        )
        assert apart(op, peer, made.inputs) > CLOSE
