"""The vacuity meter: which terms and branches of an operator a set of inputs can show to be wrong, and which it cannot.

A test that passes says nothing about a term that its inputs make vanish: on groups of one element the factor 1/n is 1,
on gradients of ones a forgotten gradient is not missed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

import numpy as np

from aclnn_viz.cases.case import Case
from aclnn_viz.kernels import grid_sampler_2d as grid_page


@dataclass(frozen=True)
class Vacuity:
    """`influence`: for every term or branch how much of it the inputs can show, from 0, nothing, to about 1.

    `blind` lists those with 0: a kernel that is wrong there passes.
    """

    operator: str
    cases: int
    influence: dict[str, float]

    @property
    def blind(self) -> tuple[str, ...]:
        return tuple(name for name, value in self.influence.items() if value == 0.0)

    def __str__(self) -> str:
        width = max(map(len, self.influence), default=0)
        lines = [f"{self.operator}, {self.cases} cases: cannot fail on {', '.join(self.blind) or 'nothing of these'}"]
        return "\n".join(lines + [f"  {name:<{width}}  {value:.3g}" for name, value in self.influence.items()])


def vacuity(cases: Iterable[Case]) -> Vacuity:
    """Measure a set of cases of one operator; the influence of a term is that in the case that shows it best.

    >>> import aclnn_viz as av
    >>> "factor 1/n" in vacuity([av.case("rms_norm", shape=(4, 1))]).blind
    True
    """
    cases = list(cases)
    best: dict[str, float] = {}
    for one in cases:
        found = _METERS[one.operator.name](**{p.name: p.default for p in one.operator.parameters} | one.inputs)
        found["16-bit formats"] = float(one.dtype in ("float16", "bfloat16"))
        found["strides"] = float(any(isinstance(value, np.ndarray) and not value.flags.c_contiguous
                                     for value in one.inputs.values()))
        for name, value in found.items():
            best[name] = max(best.get(name, 0.0), float(value))
    return Vacuity(cases[0].operator.name if cases else "", len(cases), best)


def wide(array) -> np.ndarray:
    """The numbers of any format in float64."""
    return np.asarray(array).astype(np.float64)


def _share(mask) -> float:
    return float(np.mean(mask)) if np.size(mask) else 0.0


def _spread(array, axis=None) -> float:
    """The largest standard deviation along the axes, as a share of the largest value."""
    values = wide(array)
    with np.errstate(all="ignore"):
        scale = np.max(np.abs(values), initial=0.0)
        return float(np.max(np.std(values, axis=axis), initial=0.0) / scale) if scale > 0 else 0.0


def _off(array, value: float) -> float:
    """The share of elements that are not `value`."""
    return _share(wide(array) != value)


def _hardswish(self, gradOutput):
    x = wide(self)
    distance = np.min(np.abs(np.abs(x[np.isfinite(x)]) - 3.0), initial=np.inf)
    return {"x < -3": _share(x < -3), "x = -3": _share(x == -3), "-3 < x < 3": _share(np.abs(x) < 3),
            "x = 3": _share(x == 3), "x > 3": _share(x > 3), "infinite x": _share(np.isinf(x)),
            "closeness to a kink": 1.0 / (1.0 + distance), "gradOutput": _off(gradOutput, 1.0)}


def _rms_norm(dy, x, rstd, gamma):
    rows = max(rstd.size, 1)
    flat = wide(x).reshape(rows, -1) if x.size else np.zeros((0, 1))
    n = flat.shape[1]
    with np.errstate(all="ignore"):
        saved = np.abs(wide(rstd).reshape(-1, 1)[:len(flat)] * np.sqrt(np.mean(flat**2, axis=1, keepdims=True)))
    by_row = wide(dy).reshape(flat.shape) if x.size else flat
    return {"factor 1/n": 1 - 1 / n, "projection": _share(np.abs(np.mean(by_row * flat, axis=1)) > 0),
            "dy in the projection": _spread(by_row, 1), "gamma": _off(gamma, 1.0), "rows": 1 - 1 / max(len(flat), 1),
            "rstd": _off(rstd, 1.0), "epsilon": _share(saved < 0.9), "n not divided by 16": float(n % 16 != 0)}


def _grid_sampler_2d(gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask):
    found = {f"interpolation {k}": float(interpolationMode == k) for k in range(3)}
    found |= {f"padding {k}": float(paddingMode == k) for k in range(3)}
    found |= {f"alignCorners {k}": float(alignCorners == k) for k in (False, True)}
    height, width = input.shape[2:]
    places = [grid_page.unnormalise(wide(grid[..., axis]), size, alignCorners)[0]
              for axis, size in enumerate((width, height))]
    last = np.array([width - 1, height - 1]).reshape(2, 1, 1, 1)
    u = np.array(places)
    inside, zone = (u >= 0) & (u <= last), ((u > -1) & (u < 0)) | ((u > last) & (u < last + 1))
    touched = np.unique(np.rint(u).reshape(2, -1), axis=1).shape[1] if u.size else 0
    distance = np.min(np.abs(u - np.rint(u)), initial=np.inf)
    return found | {
        "points inside": _share(inside.all(0)), "points in the border zone": _share(zone.any(0)),
        "points outside": _share((~inside & ~zone).any(0)), "coordinates in (-1, 0)": _share((u > -1) & (u < 0)),
        "mirrored points": _share(~inside.all(0)) * (paddingMode == 2),
        "points on the border itself": _share((u == 0) | (u == last)),
        "points halfway": _share(u % 1 == 0.5) * (interpolationMode == 1),
        "samples": 1 - 1 / max(input.shape[0], 1), "channels": 1 - 1 / max(input.shape[1], 1),
        "height that is not the width": float(height != width), "x that is not y": _off(grid[..., 0] - grid[..., 1], 0),
        "points sharing a pixel": float(u[0].size > touched),
        "closeness to a kink": 1.0 / (1.0 + distance),
        "pixels that no point touches": max(0.0, 1.0 - 4 * touched / (height * width)),
        "variation of gradOutput": _spread(gradOutput), "variation of the image": _spread(input),
        "masked outputs": float(not all(outputMask)), "gridGrad": float(outputMask[1])}


def _cross_entropy_loss(gradLoss, logProb, target, weightOptional, gradZlossOptional, lseForZlossOptional, reduction,
                        ignoreIndex, labelSmoothing, lseSquareScaleForZloss):
    ignored = target == ignoreIndex
    with np.errstate(all="ignore"):
        total = np.sum(np.exp(wide(logProb)), axis=1)
    weights = _spread(weightOptional) if weightOptional is not None else 0.0
    z = float(lseSquareScaleForZloss != 0 and lseForZlossOptional is not None)
    return {f"reduction {name}": float(reduction == name) for name in ("none", "mean", "sum")} | {
        "ignored rows": _share(ignored), "all rows ignored": float(bool(ignored.size and ignored.all())),
        "negative ignoreIndex": _share(ignored) * (ignoreIndex < 0),
        "weights": weights, "weights in the mean": weights * (reduction == "mean"),
        "label smoothing": labelSmoothing, "label smoothing with weights": labelSmoothing * weights,
        "z-loss": z, "z-loss in ignored rows": z * _share(ignored), "gradZloss": z * (gradZlossOptional is not None),
        "gradLoss": _off(gradLoss, 1.0), "rows that do not sum to 1": _share(np.abs(total - 1) > 0.1)}


def _group_norm_swish(dy, mean, rstd, x, gamma, beta, numGroups, dataFormatOptional, swishScale, dgammaIsRequire,
                      dbetaIsRequire):
    samples, channels = x.shape[:2]
    depth, positions = channels // numGroups, prod(x.shape[2:])
    groups = wide(dy).reshape(samples * numGroups, -1) if dy.size else np.zeros((0, 1))
    return {"factor 1/n": 1 - 1 / max(depth * positions, 1), "samples": 1 - 1 / max(samples, 1),
            "channels in a group": 1 - 1 / depth, "groups": 1 - 1 / numGroups,
            "variation of dy in a group": _spread(groups, 1), "mean": _off(mean, 0.0), "rstd": _off(rstd, 1.0),
            "gamma": _off(gamma, 1.0), "beta": _off(beta, 0.0), "swishScale": abs(swishScale - 1.0),
            "large swishScale": float(abs(swishScale) > 40), "flags": float(not (dgammaIsRequire and dbetaIsRequire))}


_METERS = {"hardswish": _hardswish, "rms_norm": _rms_norm, "grid_sampler_2d": _grid_sampler_2d,
           "cross_entropy_loss": _cross_entropy_loss, "group_norm_swish": _group_norm_swish}
