"""State and numbers of the interactive picture (explorer) of the 2D grid sampler. The front end and the figure draw this data
and compute nothing.

Controls: the modes; one point (dragged), or the cloth of all points (turned, scaled, shifted); the image, the dtype. Panels:
the image continued by padding, and the way of the chosen point to its sample; below it the column read for every x; the
pixels that the point covers, with weights as areas; the output, and the gradients. Lesson: a padding mode is a function from
coordinates to coordinates, and its slope is the factor of gridGrad: 1 inside, 0 beyond a border, -1 after a mirror; the
gradient returns to the pixels read, with the same weights.
"""

from functools import lru_cache
from math import ceil

import numpy as np

from aclnn_viz.dtypes import round_to
from aclnn_viz.explorers.arrays import XP, double, element, placed
from aclnn_viz.explorers.fields import stated
from aclnn_viz.explorers.state import check_indices, check_points
from aclnn_viz.operators import operator
from aclnn_viz.operators.families import sampling
from aclnn_viz.operators.grid_sampler_2d import page
from aclnn_viz.pictures.marks import record

OP = operator("grid_sampler_2d")
PADDINGS = ("zeros", "border", "reflection")
INTERPOLATIONS = ("bilinear", "nearest", "bicubic")
PLACES = 481  # number of x values for which the column read is computed
FLIGHT = 12  # number of gradients that move at a time


# Images to sample: functions of a position in the unit square, with values from 0 to 1, on any
# number of pixels.


def image(name: str, height: int, width: int, seed: int) -> np.ndarray:
    """Return the image `name` of IMAGES as float64 (height, width); `seed` sets its random parts."""
    y, x = _centres(height, width)
    return np.clip(IMAGES[name](x, y, np.random.default_rng(seed)), 0.0, 1.0)


def _centres(*shape):
    """Return the places of the centres of pixels, from 0 to 1: y and x."""
    return np.meshgrid(*((np.arange(n) + 0.5) / n for n in shape), indexing="ij")


def landscape(x, y, rng):
    """Return a landscape like a photograph: a lit sky with a sun, two ridges in haze, a lake that mirrors them, grain."""
    phase = rng.uniform(0, 2 * np.pi, 4)
    far = 0.46 + 0.06 * np.sin(5 * x + phase[0]) + 0.04 * np.sin(13 * x + phase[1])
    near = 0.62 + 0.09 * np.sin(3 * x + phase[2]) + 0.02 * np.sin(21 * x + phase[3])
    sun = np.hypot(x - 0.72, 1.1 * (y - 0.2))
    sky = 0.55 + 0.3 * y + 0.5 * np.exp(-((sun / 0.13) ** 2)) + 0.04 * np.sin(9 * x + 30 * y)
    picture = np.where(y > far, 0.42 + 0.25 * (y - far), sky)
    picture = np.where(y > near, 0.16 + 0.2 * (y - near), picture)
    ripples = (
        0.34
        + 0.22 * np.exp(-(((x - 0.72) / 0.12) ** 2))
        + 0.08 * np.sin(90 * (y + 0.04 * np.sin(9 * x)))
    )
    picture = np.where(y > 0.78, ripples, picture)
    return picture * (1 - 0.25 * ((x - 0.5) ** 2 + (y - 0.5) ** 2)) + 0.02 * rng.standard_normal(
        x.shape
    )


def letter(x, y, rng):
    """Return an F, which shows every mirror and turn."""
    stem = (0.28 < x) & (x < 0.42) & (0.15 < y) & (y < 0.85)
    bars = ((0.28 < x) & (x < 0.75) & (0.15 < y) & (y < 0.28)) | (
        (0.28 < x) & (x < 0.62) & (0.44 < y) & (y < 0.56)
    )
    return np.where(stem | bars, 0.95, 0.12 + 0.25 * x)


IMAGES = {"landscape": landscape, "letter": letter}


@stated("grid_sampler_2d")
class State:
    """The movable values. `moved` holds the dragged points as (row, column, x, y), instead of their grid positions."""

    moved: tuple = ()

    def __post_init__(self):
        check_indices(self)
        check_points(self, self.grid_height, self.grid_width)

    @property
    def units(self) -> tuple:
        """Return `pixel_units` of x and of y."""
        return tuple(pixel_units(n, self.alignCorners) for n in (self.width, self.height))


@record
class Data:
    """The drawn data. Axes are (x, y) in this order; `pixels` and maps are in pixel coordinates, 0 the first centre."""

    xp: object
    state: State
    inputs: dict  # inputs of op.backward
    image: np.ndarray  # shape (H, W)
    # the image continued by the padding mode, shape (H + 2 margin, W + 2 margin)
    surround: np.ndarray
    margin: np.ndarray  # width of the continued border: rows, columns
    pixels: np.ndarray  # the points in pixels (column, row), before padding
    out: np.ndarray  # output, shape (Hout, Wout)
    inputGrad: np.ndarray  # gradient of the image, shape (H, W)
    gridGrad: np.ndarray  # gradient of the grid, shape (Hout, Wout, 2)
    # for each of K taps: row, column, weight, d weight/dx, d weight/dy, inside, pixel value
    taps: np.ndarray
    read: np.ndarray  # mean column and mean row of the taps, each with its slope
    hops: np.ndarray  # for each axis: the chosen point, its image by one mirror or the border, its image by two mirrors
    curve: np.ndarray  # columns of points, columns read, columns where none is read
    flights: np.ndarray  # places (row, column) of the moving gradients

    @property
    def chosen(self) -> tuple:
        return self.state.row, self.state.column

    def at_chosen(self, values):
        """Return the element at the chosen point of an array (Hout, Wout, ...)."""
        return element(self.xp, element(self.xp, values, self.state.row), self.state.column)


def points(state: State, xp=XP):
    """Return the grid (1, Hout, Wout, 2) of a state in float64, before it is rounded to the dtype."""
    shape = state.grid_height, state.grid_width
    y, x = (2.0 * each - 1.0 for each in _centres(*shape))
    grid = turned(state, x, y, xp)
    dragged = placed(state.moved, (*shape, 2))
    return xp.where(xp.isnan(dragged), grid, dragged)


def turned(state: State, x, y, xp=XP):
    """Return places of a grid from -1 to 1 as scaled, turned and shifted."""
    turn = xp.reshape(state.rotate * (np.pi / 180), (1, 1, 1))
    cosine, sine = xp.cos(turn), xp.sin(turn)
    shift = xp.stack([xp.reshape(one, ()) for one in (state.shift_x, state.shift_y)])
    return state.scale * xp.stack([x * cosine - y * sine, x * sine + y * cosine], axis=-1) + shift


def pixel_units(size: int, aligned: bool) -> tuple[float, float]:
    """Return (offset, factor) of x = offset + factor * place, with the first of `size` pixels at place 0."""
    if not aligned:
        return 1 / size - 1, 2 / size
    return (-1.0, 2 / (size - 1)) if size > 1 else (0.0, 0.0)


@lru_cache(16)  # few movements change the image
def _image(name: str, height: int, width: int, seed: int, dtype: str) -> np.ndarray:
    """Return the image (1, 1, H, W)."""
    made = round_to(image(name, height, width, seed)[None, None], dtype)
    made.flags.writeable = False
    return made


def inputs(state: State, xp=XP) -> dict:
    """Return the inputs of op.backward for a state."""
    shape = state.grid_height, state.grid_width
    upstream = xp.where(xp.reshape(phases(state, xp) >= 1.0, (1, 1, *shape)), 1.0, 0.0)
    return {
        "gradOutput": xp.round_to(upstream, state.dtype),
        "input": _image(state.image, state.height, state.width, state.seed, state.dtype),
        "grid": xp.round_to(points(state, xp), state.dtype),
        "interpolationMode": state.interpolationMode,
        "paddingMode": state.paddingMode,
        "alignCorners": state.alignCorners,
    }


def phases(state: State, xp=XP):
    """Return how far the gradient of each point has moved, from 0 to 1 (Hout * Wout,), one point after another."""
    count = state.grid_height * state.grid_width
    return xp.clip((state.sent * (count + FLIGHT) - np.arange(float(count))) / FLIGHT, 0.0, 1.0)


def compute(state: State, backward=None) -> Data:
    """Return the data of a state; the kit's kernel computes it, whatever `backward` is."""
    return data(XP, state, **gathered(state))


def gathered(state: State, _=None, xp=XP, op=OP) -> dict:
    """Return kernels' results for a state, the arguments of `data`."""
    given = inputs(state, xp)
    shown = {name: value for name, value in given.items() if name != "gradOutput"}
    return {
        "given": given,
        "outputs": op.backward(**given),
        "out": op.forward(**shown)["out"][0, 0],
    }


def data(xp, state: State, given: dict, outputs: dict, out) -> Data:
    """Return the data of a state from `given` inputs, their outputs and forward's output, all arrays of `xp`."""
    size = (state.height, state.width)
    modes = (state.interpolationMode, state.paddingMode, state.alignCorners)
    grid, image = double(xp, given["grid"][0]), double(xp, given["input"][0, 0])
    here = element(xp, element(xp, grid, state.row), state.column)
    margin = _margin(*size)
    pixels, sources = (
        xp.stack([step(grid[..., k], n) for k, n in enumerate(size[::-1])], axis=-1)
        for step in (
            lambda x, n: sampling.unnormalise(x, n, state.alignCorners)[0],
            lambda x, n: sampling.source(xp, x, n, *modes[1:])[0],
        )
    )
    taps = _taps(xp, here, image, *modes)
    place = element(xp, element(xp, pixels, state.row), state.column)
    phase = xp.reshape(phases(state, xp), (*grid.shape[:2], 1))
    flights = xp.where((phase > 0.0) & (phase < 1.0), pixels + (sources - pixels) * phase, np.nan)
    return Data(
        xp=xp,
        state=state,
        inputs=given,
        image=image,
        margin=margin,
        surround=continued(xp, state, image, -margin, tuple(size + 2 * margin)),
        pixels=pixels,
        out=double(xp, out),
        inputGrad=double(xp, outputs["inputGrad"][0, 0]),
        gridGrad=double(xp, outputs["gridGrad"][0]),
        taps=taps,
        read=_read(xp, here, taps, state.units, size[::-1], *modes),
        hops=xp.stack([_hops(xp, place[k], n, *modes[1:]) for k, n in enumerate(size[::-1])]),
        curve=_curve(state.width, margin[1], *modes),
        flights=xp.reshape(flights, (-1, 2)).T,
    )


def _read(xp, here, taps, units, size, *modes):
    """Return the mean column and row of a point's taps, and the slope of each; of bicubic the slope over one pixel, because
    the line of means oscillates within each.
    """
    means, slopes = (
        xp.stack([xp.sum(taps[:, weight] * taps[:, at]) for weight, at in pairs])
        for pairs in (((2, 1), (2, 0)), ((3, 1), (4, 0)))
    )
    if modes[0] == sampling.BICUBIC:
        step = np.array([factor or 1.0 for _, factor in units])
        low, high = (
            xp.stack([_mean(sampling.taps(xp, at[k], n, *modes)) for k, n in enumerate(size)])
            for at in (here - step / 2, here + step / 2)
        )
        slopes = (high - low) / step
    return xp.stack([means, xp.where(xp.abs(slopes) < 1e-9, 0.0, slopes)])  # equal, but rounded


def _mean(taps):
    return sum(index * weight for index, weight, _ in taps)


def _hops(xp, u, size: int, mode: int, aligned: bool):
    """Return three coordinates of a point: its own, after the border or a first mirror, and after a second mirror."""
    low, span = (0.0, size - 1.0) if aligned else (-0.5, float(size))
    hops = [u]
    for _ in range(2):
        at = hops[-1]
        if mode == sampling.BORDER:
            at = xp.clip(at, 0.0, size - 1.0)
        elif mode == sampling.REFLECTION and span:
            tile = xp.floor((at - low) / span)
            mirror = low + span * xp.where(tile > 0.0, tile, tile + 1.0)
            at = xp.where(tile == 0.0, at, 2.0 * mirror - at)
        hops.append(at)
    return xp.stack(hops)


@lru_cache(32)  # few movements change the curve
def _curve(size: int, margin: int, *modes) -> np.ndarray:
    """Return three rows: the columns of points, the mean column of each point's taps if a pixel is read (else nan), and
    the same mean if none is read (else nan).
    """
    places = np.linspace(-0.5 - margin, size - 0.5 + margin, PLACES)
    offset, factor = pixel_units(size, modes[2])
    taps = [np.stack(tap) for tap in sampling.taps(XP, offset + factor * places, size, *modes)]
    at = _mean(taps)
    there = np.any(
        [(index >= 0) & (index < size) & (abs(weight) > 1e-9) for index, weight, _ in taps], axis=0
    )
    return np.stack([places, np.where(there, at, np.nan), np.where(there, np.nan, at)])


def _taps(xp, here, image, *modes):
    """Return the taps of a point (K, 7), as in `Data`."""
    found = []
    for row, column, *weights in page.taps_2d(xp, xp.reshape(here, (1, 1, 2)), image.shape, *modes):
        parts = (xp.reshape(part, (-1,)) for part in (row, column, *weights))
        found.append(xp.concat([*parts, *_pixels(xp, image, row, column)]))
    return xp.stack(found)


def _pixels(xp, image, row, column):
    """Return of places (1, P) whether they lie on the image, and the pixels read there."""
    index, inside = page.pixel(xp, row, column, image.shape)
    return double(xp, inside), xp.where(inside, xp.take(xp.reshape(image, (-1,)), index), 0.0)


def continued(xp, state, image, corner, shape):
    """Return the pixels of a rectangle whose first place is a corner (row, column), as padding continues the image."""
    index = (
        sampling.pad_index(
            xp, at + np.reshape(along, (1, -1)) * 1.0, n, state.paddingMode, state.alignCorners
        )
        for at, along, n in zip(corner, np.indices(shape), image.shape)
    )
    return xp.reshape(_pixels(xp, image, *index)[1], shape)


def _margin(height: int, width: int):
    """Return rows and columns around an image: a little beyond x from -3 to 3, and about twice as wide as high."""
    rows = ceil(max(2, 0.3 * height, 0.65 * width - height / 2))
    return np.array([rows, ceil(max(2, 1.2 * width, 1.36 * height - width / 2))])
