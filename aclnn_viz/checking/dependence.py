"""What an error that nothing explains depends on: places and values of the elements, and lengths, asked of the kernel."""

from collections.abc import Iterator, Sequence

import numpy as np

from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.asking import Asking, Budget
from aclnn_viz.checking.facts import remainder
from aclnn_viz.checking.observing import Seen
from aclnn_viz.checking.scope import Ready
from aclnn_viz.words.speech import message

LENGTHS = (*range(1, 36), *(2**k + step for k in range(6, 13) for step in (-1, 0, 1)), 1000, 3000)
LARGEST = 20_000  # elements of a case that is asked more
BLOCKS = (2, 4, 8, 16, 32, 64, 128, 256)
MOST = 0.6  # of the places: what takes more tells nothing
SHARE = 0.02  # of wrong elements may be right by chance: zeros, and values that both formulas share
FIRST_RIGHT = message("in all places but the first of axis {axis}")
LAST_RIGHT = message("in all places but the last of axis {axis}")
BITS = range(4, 16)  # of a result that was 16 bits wide on its way


def depends(op, failing: Sequence[Seen], asking: Asking | None, seed: int, seconds: float) -> list[str]:
    """Return in words where the elements are that are wrong, and at which lengths of the main tensor the kernel is."""
    usable = [one for one in failing if one.usable]
    told = [words for output in dict.fromkeys(miss.output for one in usable for miss in one.misses)
            for words in _of_output(op, output, usable)]
    return told + (list(_of_lengths(op, failing, asking, seed, seconds)) if asking and failing else [])


def _of_output(op, output: str, failing: list[Seen]) -> Iterator[str]:
    masks = [(one, miss.wrong.reshape(one.wanted[output][0].shape)) for one in failing for miss in one.misses
             if miss.output == output and miss.wrong is not None]
    masks = [(one, mask) for one, mask in masks if mask.size > 1]
    if not masks:
        return
    if words := next(_places([mask for _, mask in masks]), None):
        yield message("{output} is wrong only {place}", output=output, place=words)
    if words := next(_values(output, masks), None):
        yield words
    if words := _precision(output, [one for one, _ in masks]):
        yield words


def _places(masks: list[np.ndarray]) -> Iterator[str]:
    """Sets of places along an axis outside of which nothing is wrong in any mask, and which are not most of them."""
    tests = {(message("in the last place of axis {axis}"), 0): lambda at, n, b: at == n - 1,
             (message("in the first place of axis {axis}"), 0): lambda at, n, b: at == 0}
    for block in reversed(BLOCKS):
        tests |= {(message("behind the last whole {block} of axis {axis}"), block): lambda at, n, b: at >= n - n % b,
                  (message("behind the first {block} of axis {axis}"), block): lambda at, n, b: at >= b,
                  (message("in places that {block} divides of axis {axis}"), block): lambda at, n, b: at % b == 0}
    tests |= {(FIRST_RIGHT, 0): lambda at, n, b: at > 0, (LAST_RIGHT, 0): lambda at, n, b: at < n - 1}
    for axis in range(-min(mask.ndim for mask in masks), 0):
        rows = [np.moveaxis(mask, axis, 0).reshape(mask.shape[axis], -1).any(axis=1) for mask in masks]
        for (words, block), test in tests.items():
            allowed = [test(np.arange(row.size), row.size, block) for row in rows]
            most = 0.9 if words in (FIRST_RIGHT, LAST_RIGHT) else MOST
            if not any((row & ~inside).any() for row, inside in zip(rows, allowed)) and \
                    np.mean(np.concatenate(allowed)) <= most:
                yield message(words, block=block, axis=axis)


def _values(output: str, masks: list[tuple[Seen, np.ndarray]]) -> Iterator[str]:
    """Intervals of an input of the output's shape in which all is wrong, or all is right."""
    for name in masks[0][0].arranged.arrays:
        pairs = [(seen.arranged.arrays[name], wrong) for seen, wrong in masks]
        if any(array is None or array.dtype.kind == "i" or array.shape != wrong.shape for array, wrong in pairs):
            continue
        values = np.concatenate([array.astype(np.float64).ravel() for array, _ in pairs])
        wrong = np.concatenate([part.ravel() for _, part in pairs])
        finite = np.isfinite(values)
        values, wrong = values[finite], wrong[finite]
        for part, words in ((wrong, message("{output} is wrong only where {values}")),
                            (~wrong, message("{output} is wrong everywhere but where {values}"))):
            if 2 < part.sum() < part.size:
                low, high = values[part].min(), values[part].max()
                inside = (values >= low) & (values <= high)
                if (inside & ~part).sum() <= SHARE * part.sum() and inside.mean() < 0.9:
                    ends = [f"{low:.4g} <= "] * bool((values < low).any()), [f" <= {high:.4g}"] * bool((values > high).any())
                    yield message(words, output=output, values=f"{''.join(ends[0])}{name}{''.join(ends[1])}")


def _precision(output: str, failing: list[Seen]) -> str:
    """How many bits of an output are right, where these are as many as 16-bit formats have, with errors of both signs."""
    worst, signs = [], []
    for one in failing:
        truth = one.prepared.expected[output].truth.astype(np.float64)
        with np.errstate(all="ignore"):
            error = one.outputs[output].astype(np.float64) - truth
            size = np.max(np.abs(truth), initial=0.0, where=np.isfinite(truth))
            apart = np.max(np.abs(error), initial=0.0)
            if not size or not np.isfinite(apart) or apart == 0:
                return ""
            worst.append(np.log2(size / apart))
            signs.append(np.mean(np.sign(error * truth)))
    if not worst or min(worst) < BITS[0] or max(worst) > 24 or abs(np.mean(signs)) > 0.5:
        return ""
    return message("{output} is right to {bits} bits at least, with errors of both signs: a step or a sum in 16 bits may be the "
                   "reason (float16 keeps 11, bfloat16 8)", output=output, bits=f"{min(worst):.0f}")


def _of_lengths(op, failing: Sequence[Seen], asking: Asking, seed: int, seconds: float) -> Iterator[str]:
    """The lengths of an axis of the main tensor at which the kernel is wrong, found by asking it."""
    budget = Budget(seconds)
    made = failing[0].prepared
    options = {name: value for name, value in made.recipe.options.items() if not isinstance(value, np.ndarray)}
    shape = made.case.inputs[op.like].shape
    for axis in range(len(shape)):
        outcome: dict[int, bool] = {}
        for length in LENGTHS:
            tried = shape[:axis] + (length,) + shape[axis + 1:]
            if budget.over or np.prod(tried) > LARGEST:
                break
            one = asking.on(Ready(asking.scope, Recipe(op.name, options | {"shape": tried}), None, seed + length))
            if one is not None:
                outcome[length] = bool(one.misses)
        wrong, right = ([n for n, bad in outcome.items() if bad == kind] for kind in (True, False))
        if len(wrong) > 1 and len(right) > 1 and (words := remainder(wrong, right)):
            yield message("wrong only where {length} {law} ({n} lengths were tried)", length=f"{op.like}.shape[{axis}]", law=words,
                          n=len(outcome))
