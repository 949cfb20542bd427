"""What right kernels may return for inputs that are no numbers, infinite, or at the ends of their format.

The page in float64 says what is right. Where right evaluations disagree whether a result is finite (the page in
float64, the kit's kernel, that of the device, and the page on inputs moved by less than float32 can tell), nothing is
judged. A nan may come out wherever a nan has come in that the element depends on, and so may what the device returns
there; where a nan is right but the result is 0 for all finite numbers, the kernel may have skipped the element.
"""

from dataclasses import replace

import numpy as np

from aclnn_viz.dtypes import float_format, round_to
from aclnn_viz.operators import plans

JITTER = 2.0**-21
DRAWS = 4
FAR = 2.0**120  # numbers whose products overflow in float32 in one order and not in another
COARSE = 2.0**-6  # of a result that went through subnormal numbers
NEAR_ZERO = 2.0**-100


def loosened(op, inputs: dict, expected: dict, device, signs: bool) -> dict:
    """Return what is expected with what special inputs leave open; `device` is the plan of the judge's product."""
    floats = {name: value.astype(np.float64) for name, value in inputs.items()
              if isinstance(value, np.ndarray) and value.dtype.kind in "fV"}
    nan = any(np.isnan(value).any() for value in floats.values())
    infinite = any(np.isinf(value).any() for value in floats.values())
    sizes = [np.abs(value[np.isfinite(value) & (value != 0)]) for value in floats.values()]
    far = any(size.size and (size.max() >= FAR or size.min() <= 1 / FAR) for size in sizes)
    if nan or infinite:
        expected = _special(op, inputs, floats, expected, device, nan)
    if far:
        expected = _far(op, inputs, floats, expected)
    if signs and any((value == 0).any() for value in floats.values()):
        expected = _signs(op, inputs, floats, expected)
    return expected


def _special(op, inputs, floats, expected, device, nan: bool) -> dict:
    with np.errstate(all="ignore"):
        rng = np.random.default_rng(0)
        on_device = plans.run(op, device, **inputs)
        right = [op.backward(**inputs), on_device] + [
            _wide(op, inputs, {name: value * (1 + JITTER * rng.choice([-1, 1], value.shape))
                               for name, value in floats.items()}) for _ in range(2)]
        drawn = [_wide(op, inputs, {name: rng.uniform(-1, 1, value.shape) for name, value in floats.items()})
                 for _ in range(DRAWS)]
        replaced = [_wide(op, inputs, {name: np.where(np.isnan(value), rng.uniform(-4, 4, value.shape), np.where(
            np.isinf(value), np.sign(value), value)) for name, value in floats.items()}) for _ in range(DRAWS)] * nan
        found = {}
        for name, part in expected.items():
            kind = _kind(round_to(part.truth, part.dtype))
            agreed = np.all([_kind(one[name]) == kind for one in right], axis=0)
            finite, void = kind == 0, np.all([one[name] == 0 for one in drawn], axis=0)
            depends = np.zeros(part.truth.shape, bool)
            if replaced:
                depends = ~np.all([_same(one[name], replaced[0][name]) for one in replaced[1:]], axis=0)
            found[name] = replace(
                part, undecided=part.undecided | ~agreed, nan_too=depends | ~finite | void,
                another=np.where(depends, on_device[name].astype(np.float64), np.nan), infinite_too=kind == 3, zero_too=~finite & void)
    return found


def _wide(op, inputs: dict, floats: dict) -> dict:
    return op.backward(**inputs | floats)


def _kind(values) -> np.ndarray:
    """0 for a number, 1 and 2 for the infinities, 3 for a nan."""
    wide = np.asarray(values).astype(np.float64)
    return np.where(np.isnan(wide), 3, np.where(np.isinf(wide), 1 + (wide < 0), 0))


def _same(a, b) -> np.ndarray:
    return (a == b) | np.isnan(a) & np.isnan(b)


def _far(op, inputs, floats, expected) -> dict:
    """Any overflow is right and subnormal numbers cost digits. Of what depends on a far number only that is judged which
    is proportional to it: a coordinate, for one, may overflow before it is mirrored."""
    rng, found = np.random.default_rng(0), {}

    def with_far(change):
        return _wide(op, inputs, {name: np.where(np.abs(value) >= FAR, change(value), value)
                                  for name, value in floats.items()})
    with np.errstate(all="ignore"):
        others = [with_far(lambda value: rng.uniform(-4, 4, value.shape)) for _ in range(2)]
        half = with_far(lambda value: value / 2)
        for name, part in expected.items():
            size = np.where(np.isfinite(part.truth), np.abs(part.truth), 0.0)
            allowed = np.maximum(part.allowed, np.maximum(COARSE * size, NEAR_ZERO))
            depends = np.any([~(np.abs(one[name] - part.truth) <= part.allowed) for one in others], axis=0)
            proportional = (size > 0) & (np.abs(half[name] - part.truth / 2) <= COARSE * size)
            found[name] = replace(part, allowed=np.asarray(allowed), nan_too=True, infinite_too=True,
                                  undecided=part.undecided | depends & ~proportional)
    return found


def _signs(op, inputs, floats, expected) -> dict:
    """Where a zero is the product of the upstream gradient with 0, and so positive in whatever order."""
    turned = {name: -value if name in op.upstream else value for name, value in floats.items()}
    with np.errstate(all="ignore"):
        one, other = (_wide(op, inputs, some) for some in (floats, turned))
    return {name: replace(part, positive=(one[name] == 0) & ~np.signbit(one[name]) & (other[name] == 0)
                          & np.signbit(other[name]) & (part.allowed == 0))
            for name, part in expected.items()}
