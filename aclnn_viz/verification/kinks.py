"""The table of kinks: one-sided derivatives, what the document says, what the kernel and PyTorch return there.

For hardswish and one row of pixels in every mode of the grid sampler. Left, right, documented and PyTorch's values are
exact data of `derivations.kinks`; the kernel's are recomputed, PyTorch's too where it is installed. Bicubic has no
kinks: its rows show both one-sided derivatives at each pixel, which are equal.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product

import numpy as np

from aclnn_viz.operators import operator

SIZES = {True: 5, False: 4}  # pixels in a row, by alignCorners: all coordinates u / 2 are then exact as grid values
MULTIPLIER = 2.0  # of both, (5 - 1) / 2 and 4 / 2: what turns a derivative by the pixel coordinate into gridGrad
PIXELS = np.array([1.0, 3.0, 7.0, 15.0, 31.0])  # differences 2, 4, 8, 16: no two slopes are alike
BICUBIC = 2
BICUBIC_SOURCE = "ATen GridSampler.h, read and not run: the multiplier of bicubic is that of the unnormalisation alone"


@dataclass(frozen=True)
class Row:
    """One kink: where, the derivatives on both sides, and what is returned there by whom.

    Values of the grid sampler are derivatives by the pixel coordinate, for pixels 1, 3, 7, 15, 31. `convention` names
    the kernel's value: "left", "right" or "mean" of the two, "both" where they are equal, else "other"; "from outside"
    is added where the other side is the image. `jump` is that of the function itself.
    """

    operator: str
    mode: str
    at: float
    left: float
    right: float
    documented: float
    kernel: float
    pytorch: float
    pytorch_source: str
    convention: str
    jump: float


def convention(value: float, left: float, right: float) -> str:
    """The name of the one-sided derivative, or mean, that a value is.

    >>> convention(0.0, 2.0, -2.0)
    'mean'
    """
    if left == right:
        return "both" if value == left else "other"
    return {left: "left", right: "right", (left + right) / 2: "mean"}.get(value, "other")


def rows() -> list[Row]:
    """Recompute the table: hardswish first, then the 18 modes of the grid sampler."""
    from derivations.kinks import grid_sampler_kinks, hardswish_kinks

    table = [_hardswish(kink) for kink in hardswish_kinks()]
    for mode in product((0, 1, 2), (0, 1, 2), (True, False)):
        if mode[0] == BICUBIC:
            table += _bicubic(*mode[1:])
        else:
            table += [_grid_sampler(kink, mode) for kink in grid_sampler_kinks(*mode, size=SIZES[mode[2]])]
    return table


def text_table(table: list[Row]) -> str:
    """The rows as a text table, one mode after the other, with the sources of PyTorch's values below."""
    header = ("at", "left", "right", "document", "kernel", "pytorch", "jump", "the kernel returns")
    sources = list(dict.fromkeys(row.pytorch_source for row in table))
    cells = [(*(f"{value:g}" for value in (row.at, row.left, row.right, row.documented, row.kernel)),
              f"{row.pytorch:g} [{sources.index(row.pytorch_source) + 1}]", f"{row.jump:g}", row.convention)
             for row in table]
    widths = [max(map(len, column)) for column in zip(header, *cells)]
    text, mode = [], None
    for row, line in zip(table, cells):
        if (row.operator, row.mode) != mode:
            mode = (row.operator, row.mode)
            text += ["", ": ".join(filter(None, mode)), _line(header, widths)]
        text.append(_line(line, widths))
    return "\n".join([*text[1:], "", *(f"[{number}] {source}" for number, source in enumerate(sources, 1))])


def to_json(table: list[Row]) -> list[dict]:
    return [asdict(row) for row in table]


def _line(cells, widths) -> str:
    return "  " + "  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip()


def _row(name, mode, at, left, right, documented, kernel, cited, ran, outside, jump=0.0) -> Row:
    pytorch, source = cited if ran is None else ran
    named = convention(kernel, left, right)
    if named == outside:
        named += ", from outside"
    return Row(name, mode, at, left, right, documented, kernel, pytorch, source, named, jump)


def _hardswish(kink) -> Row:
    at = float(kink.at)
    kernel = operator("hardswish").backward(gradOutput=np.ones(1), self=np.array([at]))["out"]
    ran = _peer(lambda torch, x: torch.nn.functional.hardswish(x).sum(), [at])
    return _row("hardswish", "", at, float(kink.left), float(kink.right), float(kink.documented), float(kernel[0]),
                (float(kink.pytorch), kink.source), ran, "left" if at < 0 else "right")


def _grid_sampler(kink, mode) -> Row:
    from sympy import Indexed

    def number(e):
        return float(e.subs({entry: PIXELS[int(entry.indices[0])] for entry in e.atoms(Indexed)}))

    at, size = float(kink.at), SIZES[mode[2]]
    # Where the image ends, one side is outside: border padding is constant there.
    outside = ("left" if at == 0 else "right" if at == size - 1 else "") if mode[1] == 1 and mode[0] == 0 else ""
    return _row("grid_sampler_2d", kink.mode, at, number(kink.left), number(kink.right), number(kink.documented),
                _kernel(at, *mode), (number(kink.pytorch), kink.source), _sampled(at, *mode), outside,
                number(kink.jump))


def _bicubic(paddingMode: int, alignCorners: bool) -> list[Row]:
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
    table = []
    for u in range(-1, size + 1):
        left, right = (combine([d.subs(t, end) for d in derivatives], u - 1 - end) for end in (1, 0))
        factor = float(padded(Integer(u), Integer(size), paddingMode, alignCorners, closed=True)[1])
        table.append(_row("grid_sampler_2d", mode, float(u), left, right, 0.0 - factor * combine(printed, u - 1),
                          _kernel(float(u), BICUBIC, paddingMode, alignCorners), (left, BICUBIC_SOURCE),
                          _sampled(float(u), BICUBIC, paddingMode, alignCorners), ""))
    return table


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

    return _peer(loss, _grid(u, alignCorners).tolist(), MULTIPLIER)


def _peer(loss: Callable, at: list, by: float = 1.0) -> tuple[float, str] | None:
    """The first entry of PyTorch's gradient of `loss` there, and its version; None where it is not installed."""
    torch = _torch()
    if torch is None:
        return None
    x = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    loss(torch, x).backward()
    return float(x.grad.flatten()[0]) / by, f"PyTorch {torch.__version__}, run here"


@cache
def _torch():
    try:
        import torch
    except ImportError:
        return None
    return torch
