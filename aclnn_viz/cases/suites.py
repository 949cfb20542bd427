"""The cases that a kernel is checked with, in an order that finds faults early: modes first, then shapes."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from aclnn_viz.cases.case import Case, case
from aclnn_viz.operators import operator

WEIGHTLESS = {"weightOptional": None}
INF = np.float32(np.inf)


@dataclass(frozen=True, eq=False)
class Recipe:
    """How a case is made: the keywords of `av.case`, and whether its tensors lie transposed in memory."""

    operator: str
    options: dict = field(default_factory=dict)
    strided: bool = False

    def case(self, seed: int) -> Case:
        made = case(self.operator, seed=seed, **self.options)
        return transposed(made) if self.strided else made

    def __str__(self) -> str:
        told = [f"{name}={_short(value)}" for name, value in self.options.items()]
        return ", ".join(told + ["strided tensors"] * self.strided) or "the default case"


def _short(value) -> str:
    return f"array{list(value.shape)}" if isinstance(value, np.ndarray) else repr(value)


def transposed(made: Case) -> Case:
    """The same case, its tensors in another order in memory: no axis but one is contiguous."""
    inputs = {name: _scattered(value) if isinstance(value, np.ndarray) else value
              for name, value in made.inputs.items()}
    return Case(made.operator, inputs, made.dtype, made.seed)


def _scattered(array: np.ndarray) -> np.ndarray:
    if array.ndim == 1:
        return np.repeat(array, 2)[::2]
    return np.asfortranarray(array) if array.ndim else array


def recipes(op) -> Iterator[Recipe]:
    """Yield the recipes of an operator's suite.

    >>> str(next(recipes("rms_norm")))
    'shape=(4, 6)'
    """
    op = operator(op)
    for options in _SUITES[op.name]():
        strided = options.pop("strided", False)
        yield Recipe(op.name, options, strided)


def suite(op, seed: int = 0) -> Iterator[tuple[Recipe, Case]]:
    """Yield every recipe with its case; each case has a seed of its own, so that no two repeat the same numbers."""
    for number, recipe in enumerate(recipes(op)):
        yield recipe, recipe.case(1000 * seed + number)


def _hardswish():
    yield {"shape": (6, 7)}
    yield {"shape": (3,), "self": np.float32([-3, 3, -1.5])}
    beside = np.nextafter(np.float32([-3, -3, 3, 3]), np.float32([-4, 0, 0, 4]))
    yield {"shape": (4,), "self": beside}
    yield {"shape": (5,), "self": np.float32([-INF, INF, 0, -0.0, 1e30]), "gradOutput": 2.0}
    yield {"shape": (5, 4), "strided": True}
    for dtype in ("float16", "bfloat16", "float64"):
        yield {"shape": (16, 17), "dtype": dtype}
    for shape in ((), (1,), (2, 1, 3, 1, 2, 1, 1, 2), (0, 3), (255,), (256,), (257,), (70, 500)):
        yield {"shape": shape}
    for dtype in ("float16", "bfloat16"):
        yield {"shape": (64, 64), "dtype": dtype}
        yield {"shape": (4, 6), "dtype": dtype, "strided": True}


def _rms_norm():
    yield {"shape": (4, 6)}
    yield {"shape": (3, 5), "epsilon": 0.3}
    yield {"shape": (3, 17)}
    yield {"shape": (2, 3, 2, 5), "gamma_ndim": 2}
    yield {"shape": (3, 8), "rstd": 0.7}  # not what the forward pass saves, and legal
    yield {"shape": (4, 6), "strided": True}
    for dtype in ("float16", "bfloat16", "float64"):
        yield {"shape": (5, 24), "dtype": dtype}
    yield {"shape": (6, 15), "dtype": "bfloat16", "gamma": np.linspace(0.4, 1.9, 15, dtype=np.float32)}
    for shape in ((7,), (1, 16), (4, 1), (2, 255), (2, 256), (2, 257), (300, 3), (0, 4)):
        yield {"shape": shape}
    yield {"shape": (12, 130), "dtype": "float16"}
    yield {"shape": (3, 3), "x": 0.0}
    yield {"shape": (70, 33)}
    yield {"shape": (2, 6100)}  # rows longer than Atlas A2 takes whole
    yield {"shape": (5, 40), "dtype": "float16", "gamma": np.linspace(-1.5, 1.5, 40, dtype=np.float32)}


def _grid_sampler_2d():
    for interpolation in (0, 2, 1):
        for padding in (0, 2, 1):
            for aligned in (False, True):
                yield {"shape": (2, 2, 5, 4), "grid_shape": (4, 5), "interpolationMode": interpolation,
                       "paddingMode": padding, "alignCorners": aligned}
    quarters = np.arange(-6, 7, dtype=np.float32) / 4
    crossing = np.stack(np.meshgrid(quarters, quarters), -1)[None]  # centres, edges, mirrors and ties of 4 and 5 pixels
    for interpolation in (0, 1, 2):
        for padding in (0, 1, 2):
            yield {"shape": (1, 2, 5, 4), "grid_shape": (13, 13), "grid": crossing, "interpolationMode": interpolation,
                   "paddingMode": padding, "alignCorners": bool(padding % 2)}
    yield {"shape": (1, 2, 5, 4), "grid_shape": (13, 13), "grid": crossing, "paddingMode": 1}
    yield {"shape": (1, 1, 9, 8), "grid_shape": (2, 2)}  # most pixels are touched by no point
    for mask in ((True, False), (False, True)):
        yield {"shape": (2, 2, 3, 4), "outputMask": mask}
    yield {"shape": (2, 3, 4, 6), "strided": True}
    for dtype in ("float16", "bfloat16", "float64"):
        for interpolation, padding in ((0, 0), (0, 2), (2, 1)):
            yield {"shape": (2, 2, 6, 5), "dtype": dtype, "interpolationMode": interpolation, "paddingMode": padding,
                   "alignCorners": padding == 2}
    for aligned in (False, True):
        for padding in range(3):
            yield {"shape": (2, 1, 1, 3), "paddingMode": padding, "alignCorners": aligned}
    yield {"shape": (1, 1, 1, 1)}
    yield {"shape": (1, 1, 1, 1), "interpolationMode": 2, "paddingMode": 2}
    yield {"shape": (1, 1, 2, 3), "interpolationMode": 2, "paddingMode": 2, "alignCorners": True,
           "grid": 1.95}  # taps beyond two mirrors
    yield {"shape": (1, 17, 15, 16), "grid_shape": (9, 11)}
    yield {"shape": (1, 1, 2, 2), "grid_shape": (30, 30)}  # hundreds of points add up in each pixel
    yield {"shape": (1, 2, 4, 5), "grid_shape": (3, 3), "grid": 37.3, "paddingMode": 2}


def _cross_entropy_loss():
    full = {"labelSmoothing": 0.3, "lseSquareScaleForZloss": 0.2}
    for reduction in ("mean", "none", "sum"):
        yield {"shape": (9, 4), "reduction": reduction}
        yield {"shape": (9, 4), "reduction": reduction, **full}
    yield {"shape": (9, 4), **full, **WEIGHTLESS}
    yield {"shape": (5, 3), "labelSmoothing": 0.3}
    yield {"shape": (5, 3), "lseSquareScaleForZloss": 0.2, "ignoreIndex": 1}
    yield {"shape": (6, 5), "ignoreIndex": 2, **full}
    yield {"shape": (6, 5), **WEIGHTLESS}
    yield {"shape": (4, 3), "target": 1, "gradZlossOptional": None, **full}
    yield {"shape": (3, 4), "logProb": -0.5, "labelSmoothing": 0.25}  # rows that do not sum to 1
    for reduction in ("mean", "none"):
        yield {"shape": (3, 4), "target": -100, "reduction": reduction}
    yield {"shape": (9, 6), "strided": True}
    yield {"shape": (9, 6), "strided": True, "reduction": "none", **full}
    for dtype in ("float16", "bfloat16", "float64"):
        yield {"shape": (11, 7), "dtype": dtype}
        yield {"shape": (11, 7), "dtype": dtype, "reduction": "none", **full}
    for shape in ((1, 1), (1, 5), (5, 1), (17, 16), (4, 255), (300, 3), (64, 257)):
        yield {"shape": shape, "reduction": "sum" if 1 in shape else "mean"}
    yield {"shape": (9, 5), "labelSmoothing": 1.0}
    yield {"shape": (2500, 2), **WEIGHTLESS}  # more rows than float16 can count


def _group_norm_swish():
    yield {"shape": (2, 4, 3), "numGroups": 2, "swishScale": 0.6}
    yield {"shape": (3, 6, 2, 2), "numGroups": 3, "swishScale": 1.7}
    yield {"shape": (1, 4, 5), "numGroups": 1}
    yield {"shape": (2, 6, 3), "numGroups": 2, "mean": 0.4, "rstd": 0.9, "swishScale": -1.3}
    yield {"shape": (2, 4, 6), "swishScale": 60.0}  # both tails of the sigmoid
    yield {"shape": (3, 4), "numGroups": 2, "swishScale": 0.0}
    yield {"shape": (2, 4, 6), "strided": True}
    for dtype in ("float16", "bfloat16", "float64"):
        yield {"shape": (2, 4, 4, 5), "dtype": dtype, "swishScale": 0.8}
    spread = np.linspace(0.4, 1.9, 4, dtype=np.float32)
    for dtype in ("float16", "bfloat16"):
        yield {"shape": (2, 4, 7), "dtype": dtype, "gamma": spread, "beta": spread - 1}
    for flags in ((False, True), (True, False), (False, False)):
        yield {"shape": (2, 4, 3), "dgammaIsRequire": flags[0], "dbetaIsRequire": flags[1]}
    yield {"shape": (3, 4), "numGroups": 4}  # groups of one element
    for shape in ((1, 1, 9), (2, 3, 17), (2, 2, 255), (1, 2, 257), (20, 4, 2), (2, 2, 1, 3, 1, 2), (2, 4, 31, 33)):
        yield {"shape": shape}
    yield {"shape": (2, 8, 5, 6), "numGroups": 4, "dtype": "float16"}
    yield {"shape": (0, 4, 3), "numGroups": 2}


_SUITES = {"hardswish": _hardswish, "rms_norm": _rms_norm, "grid_sampler_2d": _grid_sampler_2d,
           "cross_entropy_loss": _cross_entropy_loss, "group_norm_swish": _group_norm_swish}
