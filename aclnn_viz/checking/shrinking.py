"""Make a counterexample small: the smallest shape, then the simplest numbers, as long as the kernel stays wrong."""

import time
from collections.abc import Callable, Iterator

import numpy as np

from aclnn_viz.cases import case
from aclnn_viz.cases.suites import Recipe, transposed
from aclnn_viz.checking.judging import judge, prepared
from aclnn_viz.checking.observing import Seen
from aclnn_viz.checking.running import run
from aclnn_viz.checking.scope import Scope

PLAIN = 1000.0  # times the allowed error: a counterexample must not be a matter of rounding, if it was none before
SIMPLE = (lambda values: np.ones_like(values), lambda values: np.rint(values), lambda values: np.rint(2 * values) / 2,
          lambda values: np.rint(10 * values) / 10)


def shrink(found: Seen, kernel: Callable, limit: float | None, seconds: float, scope: Scope) -> Seen:
    """Return the smallest and simplest case of a scope on which the kernel is still wrong in one of the same outputs."""
    end = time.monotonic() + seconds
    wrong = {miss.output for miss in found.misses}
    plain = min(PLAIN, max(miss.excess for miss in found.misses))
    recipe, best = found.prepared.recipe, found
    seed = found.prepared.case.seed

    def attempt(options: dict, its_seed: int) -> Seen | None:
        try:
            made = case(recipe.operator, seed=its_seed, **options)
        except (ValueError, TypeError, ZeroDivisionError):
            return None
        made = transposed(made) if recipe.strided else made
        try:
            if scope.reason(made):
                return None
            ready = prepared(Recipe(recipe.operator, options, recipe.strided), made, scope.judged_by)
        except (ValueError, IndexError):
            return None
        outcome = run(kernel, made, list(ready.expected), limit)
        misses = judge(ready, outcome.outputs) if outcome.outputs is not None else []
        shows = any(miss.output in wrong and miss.excess >= plain for miss in misses)
        return Seen(ready, outcome.outputs, misses) if shows else None

    options = dict(recipe.options)
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for smaller in _smaller(options, best.prepared.case.inputs):
            tries = (attempt(smaller, s) for s in (seed, seed + 1, seed + 2) if time.monotonic() < end)
            better = next(filter(None, tries), None)
            if better:
                options, best, progress = smaller, better, True
                seed = better.prepared.case.seed
                break
    for name in _free(best.prepared.case):
        for simplify in SIMPLE:
            values = best.prepared.case.inputs[name]
            simple = simplify(values.astype(np.float64)).astype(values.dtype)
            if time.monotonic() > end or np.array_equal(simple, values):
                continue
            better = attempt(options | _fixed(best.prepared.case, options, name) | {name: simple}, seed)
            if better:
                options, best = dict(better.prepared.recipe.options), better
                break
    return best


def _smaller(options: dict, inputs: dict) -> Iterator[dict]:
    """The same options with one axis cut to 1, to half, or by one, most drastic first; without what is not needed."""
    actual = {"grid_shape": inputs["grid"].shape[1:3]} if "grid" in inputs and "grid" not in options else {}
    for name in ("grid_shape", "shape"):
        shape = tuple((actual | options).get(name, ()))
        steps = sorted({(axis, to) for axis, n in enumerate(shape) for to in (1, n // 2, n - 1) if 0 < to < n},
                       key=lambda step: step[1] / shape[step[0]])
        for axis, to in steps:
            cut = shape[:axis] + (to,) + shape[axis + 1:]
            kept = {key: _fitted(value, shape, cut) for key, value in options.items()}
            yield kept | {name: cut}
    for name, value in options.items():
        if name in ("labelSmoothing", "lseSquareScaleForZloss", "paddingMode", "interpolationMode") and value:
            yield options | {name: type(value)(0)}
        if name == "grid" and np.ndim(value) and value.shape[1] * value.shape[2] > 1:
            for at in np.ndindex(value.shape[1:3]):
                yield options | {"grid": value[:, at[0]:at[0] + 1, at[1]:at[1] + 1], "grid_shape": (1, 1)}


def _fitted(value, shape, cut):
    """An array given for a tensor of the old shape, or of its last axes, cut to the new one."""
    if not isinstance(value, np.ndarray) or value.ndim == 0 or value.shape != shape[len(shape) - value.ndim:]:
        return value
    return value[tuple(slice(0, n) for n in cut[len(cut) - value.ndim:])]


def _free(made) -> list[str]:
    """The floating tensors that the forward pass did not make."""
    return [name for name, value in made.inputs.items()
            if isinstance(value, np.ndarray) and value.dtype.kind in "fV" and value.size
            and name not in made.operator.saved]


def _fixed(made, options: dict, name: str) -> dict:
    """All other drawn tensors as they are, so that one change changes nothing else."""
    return {other: made.inputs[other] for other in _free(made) if other != name}
