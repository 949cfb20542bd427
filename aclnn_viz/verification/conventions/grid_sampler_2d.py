"""Conventions of the grid sampler."""

from itertools import product

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.verification import kinks as table

SIZES = {True: 5, False: 4}  # pixels in a row, by alignCorners: all coordinates u / 2 are then exact as grid values
MULTIPLIER = 2.0  # of both, (5 - 1) / 2 and 4 / 2: what turns a derivative by the pixel coordinate into gridGrad
PIXELS = np.array([1.0, 3.0, 7.0, 15.0, 31.0])  # differences 2, 4, 8, 16: no two slopes are alike
BICUBIC = 2
BICUBIC_SOURCE = "ATen GridSampler.h, read and not run: the multiplier of bicubic is that of the unnormalisation alone"


def kinks() -> list[table.Row]:
    """One row of `PIXELS` in each of the 18 modes; values are derivatives by the pixel coordinate.

    Bicubic has no kinks: its rows show both one-sided derivatives at each pixel, which are equal.
    """
    from derivations.kinks import grid_sampler_kinks

    rows = []
    for mode in product((0, 1, 2), (0, 1, 2), (True, False)):
        if mode[0] == BICUBIC:
            rows += _bicubic(*mode[1:])
        else:
            rows += [_kink(found, mode) for found in grid_sampler_kinks(*mode, size=SIZES[mode[2]])]
    return rows


def _kink(found, mode) -> table.Row:
    from sympy import Indexed

    def number(e):
        return float(e.subs({entry: PIXELS[int(entry.indices[0])] for entry in e.atoms(Indexed)}))

    at, size = float(found.at), SIZES[mode[2]]
    # Where the image ends, one side is outside: border padding is constant there.
    outside = ("left" if at == 0 else "right" if at == size - 1 else "") if mode[1] == 1 and mode[0] == 0 else ""
    return table.kink("grid_sampler_2d", found.mode, at, number(found.left), number(found.right),
                      number(found.documented), _kernel(at, *mode), (number(found.pytorch), found.source),
                      _sampled(at, *mode), outside, number(found.jump))


def _bicubic(paddingMode: int, alignCorners: bool) -> list[table.Row]:
    """One row a pixel, and one beyond each end: no kinks. The document multiplies by the factor of padding."""
    from derivations.coordinates import padded
    from derivations.interpolation import DOCUMENTED_A, cubic_weights, printed_coefficients, slopes, t
    from derivations.kinks import INTERPOLATIONS, PADDINGS
    from sympy import Integer, S

    size = SIZES[alignCorners]
    mode = f"{INTERPOLATIONS[BICUBIC]}, {PADDINGS[paddingMode]}, alignCorners={alignCorners}"

    def pixel(index):
        index = int(padded(Integer(index), Integer(size), paddingMode, alignCorners)[0])
        return PIXELS[index] if 0 <= index < size else 0.0

    def combine(weights, first):
        return float(sum(float(weight) * pixel(first + j) for j, weight in enumerate(weights)))

    derivatives, printed = slopes(cubic_weights(t, DOCUMENTED_A)), printed_coefficients(S.Zero, DOCUMENTED_A)
    rows = []
    for u in range(-1, size + 1):
        left, right = (combine([d.subs(t, end) for d in derivatives], u - 1 - end) for end in (1, 0))
        factor = float(padded(Integer(u), Integer(size), paddingMode, alignCorners, closed=True)[1])
        rows.append(table.kink("grid_sampler_2d", mode, float(u), left, right, 0.0 - factor * combine(printed, u - 1),
                               _kernel(float(u), BICUBIC, paddingMode, alignCorners), (left, BICUBIC_SOURCE),
                               _sampled(float(u), BICUBIC, paddingMode, alignCorners), ""))
    return rows


def _grid(u: float, alignCorners: bool) -> np.ndarray:
    x = u / MULTIPLIER - 1 if alignCorners else (2 * u + 1) / SIZES[False] - 1
    return np.array([[[[x, 0.0]]]])


def _kernel(u: float, interpolationMode: int, paddingMode: int, alignCorners: bool) -> float:
    """What op.backward returns at pixel coordinate u of the row, per pixel."""
    image = PIXELS[None, None, None, :SIZES[alignCorners]]
    grad = operator("grid_sampler_2d").backward(
        gradOutput=np.ones((1, 1, 1, 1)), input=image, grid=_grid(u, alignCorners),
        interpolationMode=interpolationMode, paddingMode=paddingMode, alignCorners=alignCorners)["gridGrad"]
    return float(grad[0, 0, 0, 0]) / MULTIPLIER


def _sampled(u: float, interpolationMode: int, paddingMode: int, alignCorners: bool) -> tuple[float, str] | None:
    def loss(torch, grid):
        image = torch.tensor(PIXELS[None, None, None, :SIZES[alignCorners]])
        return torch.nn.functional.grid_sample(
            image, grid, ("bilinear", "nearest", "bicubic")[interpolationMode],
            ("zeros", "border", "reflection")[paddingMode], alignCorners).sum()

    return table.peer(loss, _grid(u, alignCorners).tolist(), MULTIPLIER)
