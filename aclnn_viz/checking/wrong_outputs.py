"""Describe where and how far outputs are wrong, when no change of the formulas explains them.

A description lists outputs with another name, shape or format than documented, where and under which attributes elements are
wrong, what the numbers resemble, and at which lengths the kernel is wrong.
"""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import comb, prod

import numpy as np

from aclnn_viz.cases import default
from aclnn_viz.checking.budgets import BREAKING, LONGEST
from aclnn_viz.checking.candidates import BLOCKS
from aclnn_viz.checking.case_run import CaseRun, Variant
from aclnn_viz.checking.conditions import Traits, remainder
from aclnn_viz.checking.evidence import KernelUnderTest
from aclnn_viz.checking.judge import in_float64, once_per_case
from aclnn_viz.checking.meter import Budget
from aclnn_viz.dtypes import float_format, round_to
from aclnn_viz.operators.faults.fault import by_letter
from aclnn_viz.operators.registry import own
from aclnn_viz.words.messages import commas, message

NEVER_ELSE = message("{choice}: wrong in {bad} of {all} cases, never otherwise")
OFTEN = message("{choice}: wrong in {bad} of {all} cases")
# a place or condition is described only if chance gives it with a smaller probability
CHANCE = 0.05
CLOSE = 1e-3  # tolerance of a resemblance, wide enough for 16-bit outputs; it is a hint, no verdict
# relative error of float64 outputs of a kernel that computes in float32: a few float32 roundings
SINGLE = 2.0**-20
LENGTHS = (*range(1, 36), *(2**k + step for k in range(6, 13) for step in (-1, 0, 1)), 1000, 3000)
# move of the inputs to either side of a kink; least relative difference of the results there
BESIDE, KINK = 2.0**-20, 0.05
SHARE_DESCRIBED = 0.6  # a condition that holds in a larger share of all places describes nothing
# share of the wrong interval's elements that may be right by chance, such as zeros
SHARE = 0.02
FIRST_RIGHT = message("in all places but the first of axis {axis}")
LAST_RIGHT = message("in all places but the last of axis {axis}")
BITS = range(4, 17)  # possible significant bits of an intermediate result in 16 bits
CANCELLED = 2.0**-20  # error of a few float32 roundings, relative to the largest number
# largest wrong element relative to the largest number, if two bits or more have cancelled
SHARE_CANCELLING = 0.25


def wrong_forms(seen: Sequence[CaseRun]) -> list[str]:
    """Return undocumented names, shapes and formats in words: each once, with an example and the number of cases."""
    texts: dict[tuple, list[str]] = {}
    for run in seen:
        for miss in run.misses:
            if miss.wrong is None:
                kind = "shape" if " has shape " in miss.problem else miss.problem
                texts.setdefault((miss.output, kind), []).append(miss.problem)
    return [
        message("{problem} in {n} case", problem=text[0], n=1)
        if len(text) == 1
        else message("{problem} in {n} cases", problem=text[0], n=len(text))
        for text in texts.values()
    ]


def in_documented_form(run: CaseRun) -> CaseRun:
    """Return a run with the same numbers in the documented shapes and formats; other outputs are omitted."""
    if all(miss.wrong is not None for miss in run.misses):
        return run
    outputs = {}
    for name, value in run.outputs.items():
        expected = run.expected.get(name)
        if expected is None:
            continue
        shape = expected.truth.shape
        try:
            value = (
                value.reshape(shape)
                if value.size == expected.truth.size
                else np.broadcast_to(value, shape)
            )
        except ValueError:
            continue
        if value.dtype != expected.dtype:
            with np.errstate(all="ignore"):
                value = np.asarray(round_to(value.astype(np.float64), expected.dtype))
        outputs[name] = value
    fit = (
        replace(run.prepared, expected={name: run.expected[name] for name in outputs})
        if outputs
        else run.prepared
    )
    return CaseRun.of(fit, outputs)


def regions(op, inputs: dict, output: str, shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Return masks of an output's shape by name; regions may overlap.

    >>> import aclnn_viz as av
    >>> sorted(regions(av.operator("hardswish"), {"self": np.float32([-3, 1])}, "out", (2,)))
    ['-3 < x < 3', 'x < -3', 'x = -3', 'x = 3', 'x > 3']
    """
    find = own("faults", op.name, "regions")
    if find is None:
        return _by_axes(op, inputs, output, shape)
    values = {p.name: p.default for p in op.parameters} | inputs
    return {
        name: np.broadcast_to(mask, shape) for name, mask in find(values, output, shape).items()
    }


def _by_axes(op, inputs, output, shape) -> dict[str, np.ndarray]:
    arranged = op.arrange_backward(**(bound := op.bind(inputs)))
    page_shape = arranged.results[output].shape
    masks = by_letter(
        (arranged.axes or op.page.AXES)[output], page_shape, op.page_axes(output, bound)
    )
    return {name: np.broadcast_to(mask, page_shape).reshape(shape) for name, mask in masks.items()}


def wrong_conditions(cases: list[tuple[Traits, bool]]) -> list[str]:
    """Return the values of an attribute or format under which the kernel is wrong, if it is right under others."""
    counts: dict[str, dict] = {}
    for run, bad in cases:
        for name, value in run.choices.items():
            tally = counts.setdefault(name, {}).setdefault(value, [0, 0])
            tally[0] += bad
            tally[1] += 1
    lines = []
    for name, values in counts.items():
        failing = {value: tally for value, tally in values.items() if tally[0]}
        right = sum(total for value, (bad, total) in values.items() if not bad)
        wrong, every = (sum(numbers) for numbers in zip(*values.values()))
        if failing and comb(every - wrong, right) < CHANCE * comb(every, right):
            text = NEVER_ELSE if len(failing) == 1 else OFTEN
            lines += [
                message(
                    text.key,
                    choice=message("{name}={value}", name=name, value=repr(value)),
                    bad=bad,
                    all=all_,
                )
                for value, (bad, all_) in failing.items()
            ]
    return lines


def wrong_regions(op, wrong: list[CaseRun]) -> dict[str, dict[str, tuple[int, int]]]:
    """Return {output: {region: (number of wrong elements, number of elements)}}, summed over the failing cases."""
    tallies: dict[str, dict[str, list[int]]] = {}
    for run in wrong:
        for miss in run.misses:
            if miss.wrong is None:
                continue
            for name, mask in regions(op, run.case.inputs, miss.output, miss.wrong.shape).items():
                tally = tallies.setdefault(miss.output, {}).setdefault(name, [0, 0])
                tally[0] += int((mask & miss.wrong).sum())
                tally[1] += int(mask.sum())
    return {
        output: {name: tuple(tally) for name, tally in named.items() if tally[1]}
        for output, named in tallies.items()
    }


def resemblance(failing: Sequence[CaseRun]) -> list[str]:
    """Return a line for each output on what its wrong values resemble."""
    text: dict[str, Counter] = {}
    totals: Counter = Counter()
    for run in failing:
        for name in run.wrong & run.outputs.keys() & run.truth.keys():
            if run.outputs[name].shape == run.truth[name].shape and run.outputs[name].size > 2:
                totals[name] += 1
                text.setdefault(name, Counter()).update(_remarks(run, name))
    lines = []
    for name, remarks in text.items():
        for remark, count in remarks.most_common(1):
            if 2 * count > totals[name]:
                lines.append(
                    message(
                        "{output} {remark} on {n} of {all} wrong cases",
                        output=name,
                        remark=remark,
                        n=count,
                        all=totals[name],
                    )
                )
    return lines


def _remarks(run: CaseRun, name: str) -> list[str]:
    actual = run.outputs[name].astype(np.float64)
    if run.outputs[name].dtype == np.float64 and _near(actual, run.truth[name], SINGLE):
        return [message("is right to the digits of float32")]
    if run.outputs[name].dtype.itemsize == 2 and _near(actual, run.truth[name]):
        return [message("is right to three digits")]
    return likeness(name, actual, run.truth, run.case.inputs)


def likeness(
    name: str, actual: np.ndarray, truths: dict[str, np.ndarray], inputs: dict
) -> list[str]:
    """Return what wrong values of an output resemble, given the truth of all outputs, likeliest first.

    >>> likeness("out", np.array([2.0, 4.0]), {"out": np.array([1.0, 2.0])}, {})
    ['is 2 times the truth']
    """
    truth = truths[name]
    if not np.isfinite(actual).all():
        return [message("is not finite")] * bool(np.isfinite(truth).all())
    if not actual.any():
        return [message("is 0 everywhere")]
    if _near(actual, truth):
        return [message("is right to three digits")]
    remarks = []
    off = np.abs(actual - truth) > CLOSE * np.max(np.abs(truth))
    if _near(np.sort(actual[off]), np.sort(truth[off])):
        remarks.append(message("holds the right values in another order"))
    scale = float(np.vdot(truth, actual) / max(float(np.vdot(truth, truth)), 1e-300))
    if scale and _near(actual, scale * truth):
        remarks.append(message("is {factor} times the truth", factor=_factor(scale, inputs)))
    for other, values in truths.items():
        if other != name and values.size == actual.size and _near(actual.ravel(), values.ravel()):
            remarks.append(message("holds {output}", output=other))
    return remarks


def _near(a, b, share=CLOSE) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.max(np.abs(a - b), initial=0.0) <= share * np.max(np.abs(b), initial=0.0))


def _factor(scale: float, inputs: dict) -> str:
    """Return a factor as text, as a product of axis lengths if it equals one, because such factors change with the shape."""
    for name, value in inputs.items():
        shape = getattr(value, "shape", ())
        for start in range(len(shape)):
            count = prod(shape[start:])
            for sign, head in ((1, ""), (-1, "-")):
                if count > 1 and abs(sign * scale - count) < CLOSE * count:
                    return f"{head}prod({name}.shape[{start}:])"
                if count > 1 and abs(sign * scale * count - 1) < CLOSE:
                    return f"{head}1 / prod({name}.shape[{start}:])"
    return f"{scale:.4g}"


@once_per_case  # for counting, shrinking and explaining
def convention(run: CaseRun) -> str:
    """Return the only convention in which a wrong run differs from the kit, such as 0 / 0 or the slope at a kink, or ""."""
    if not run.usable or any(miss.wrong is None for miss in run.misses):
        return ""
    finite = all(np.isfinite(value).all() for value in in_float64(run.case.inputs).values())
    if finite and all(np.isnan(run.truth[miss.output][miss.wrong]).all() for miss in run.misses):
        return message(
            "the kit computes 0 / 0 = nan in this case, as the product does; PyTorch and others may have another value"
        )
    try:
        low, high = (
            run.computed(
                Variant(
                    lambda: run.case.operator.page,
                    arrays=partial(_moved, step=step, kept=run.case.operator.upstream),
                )
            )
            for step in (-BESIDE, BESIDE)
        )
    except Exception:  # a page may fail on moved inputs
        return ""
    made = run.case
    upstream = [array for name, array in made.arrays.items() if name in made.operator.upstream]
    largest = max(np.abs(array.astype(np.float64)).max(initial=0.0) for array in upstream)
    # the results may differ by so much without a kink, where a slope is steep
    least = 8 * BESIDE * largest
    for miss in run.misses:
        actual, truth = (
            part[miss.wrong].astype(np.float64)
            for part in (run.outputs[miss.output], run.truth[miss.output])
        )
        sides = [
            np.asarray(part[miss.output], np.float64).reshape(miss.wrong.shape)[miss.wrong]
            for part in (low, high)
        ]
        size = np.max(np.abs([*sides, truth]), axis=0)
        close = CLOSE + 2.0 * float_format(run.outputs[miss.output]).unit_roundoff
        if (
            not (np.abs(sides[0] - sides[1]) > KINK * size + least).all()
            or not np.any(
                [np.abs(actual - value) <= close * size for value in (*sides, sum(sides) / 2)],
                axis=0,
            ).all()
        ):
            return ""
    return message(
        "the formula has a kink there: which one-sided slope is returned is a convention"
    )


def _moved(arrays: dict, step: float, kept) -> dict:
    return {
        name: value + step * np.maximum(np.abs(value), 1.0)
        if value is not None and value.dtype.kind == "f" and name not in kept
        else value
        for name, value in arrays.items()
    }


def depends(
    op,
    failing: Sequence[CaseRun],
    tested: KernelUnderTest | None,
    seed: int,
    budget: Budget,
    others: Sequence[CaseRun] = (),
) -> list[str]:
    """Return in words where elements are wrong, and at which lengths of the main tensor the kernel is wrong.

    Statements that one of `others`, further wrong cases, contradicts are omitted.
    """
    usable, more = ([run for run in some if run.usable] for some in (failing, others))
    text = [
        words
        for output in dict.fromkeys(miss.output for run in usable for miss in run.misses)
        for words in _of_output(output, usable, more)
    ]
    return text + (
        list(_of_lengths(op, failing, tested, seed, budget)) if tested and failing else []
    )


def _of_output(output: str, failing: list[CaseRun], others: list[CaseRun]) -> Iterator[str]:
    pairs, more = (
        [
            (run, miss.wrong)
            for run in some
            for miss in run.misses
            if miss.output == output and miss.wrong is not None
        ]
        for some in (failing, others)
    )
    if not (pairs := [(run, mask) for run, mask in pairs if mask.size > 1]):
        return
    masks = [(run, mask.reshape(run.wanted[output][0].shape)) for run, mask in (*pairs, *more)]
    place = next(_places(*([mask for _, mask in some] for some in (pairs, more))), None)
    values = next(_values(output, masks), None)
    if place:  # `pairs` has the axes as the caller orders them
        yield message("{output} is wrong only {place}", output=output, place=place)
    if values:
        yield values
    if words := _cancelled(output, pairs) or (
        "" if place or values else _of_16_bits(output, pairs)
    ):
        yield words


def _places(masks: list[np.ndarray], others: list[np.ndarray]) -> Iterator[str]:
    """Yield sets of places along an axis that contain all errors of all masks and of `others`.

    They are a minority of the places, and chance would rarely confine the errors to them.
    """
    tests = {
        (message("in the last place of axis {axis}"), 0): lambda at, n, b: at == n - 1,
        (message("in the first place of axis {axis}"), 0): lambda at, n, b: at == 0,
    }
    for block in reversed(BLOCKS):
        tests |= {
            (message("behind the last whole {block} of axis {axis}"), block): lambda at, n, b: (
                at >= n - n % b
            ),
            (message("behind the first {block} of axis {axis}"), block): lambda at, n, b: at >= b,
            (
                message("where the index along axis {axis} is a multiple of {block}"),
                block,
            ): lambda at, n, b: at % b == 0,
        }
    tests |= {
        (FIRST_RIGHT, 0): lambda at, n, b: at > 0,
        (LAST_RIGHT, 0): lambda at, n, b: at < n - 1,
    }
    for axis in range(-min(mask.ndim for mask in masks), 0):
        rows, more = (
            [
                np.moveaxis(mask, axis, 0).reshape(mask.shape[axis], -1).any(axis=1)
                for mask in some
                if mask.ndim >= -axis
            ]
            for some in (masks, others)
        )
        for (words, block), test in tests.items():
            share = np.mean(
                np.concatenate([test(np.arange(row.size), row.size, block) for row in rows])
            )
            most = 0.9 if words in (FIRST_RIGHT, LAST_RIGHT) else SHARE_DESCRIBED
            if (
                share <= most
                and share ** sum(row.sum() for row in rows) < CHANCE
                and not any(
                    (row & ~test(np.arange(row.size), row.size, block)).any()
                    for row in (*rows, *more)
                )
            ):
                yield message(words, block=block, axis=axis)


def _values(output: str, masks: list[tuple[CaseRun, np.ndarray]]) -> Iterator[str]:
    """Yield intervals of an input of the output's shape in which all elements are wrong, or all are right."""
    for name in masks[0][0].arranged.arrays:
        pairs = [(seen.arranged.arrays[name], wrong) for seen, wrong in masks]
        if any(
            array is None or array.dtype.kind == "i" or array.shape != wrong.shape
            for array, wrong in pairs
        ):
            continue
        values = np.concatenate([array.astype(np.float64).ravel() for array, _ in pairs])
        wrong = np.concatenate([part.ravel() for _, part in pairs])
        finite = np.isfinite(values)
        values, wrong = values[finite], wrong[finite]
        for part, words in (
            (
                wrong,
                message("{output} is wrong only where {values}, of the values that were tried"),
            ),
            (
                ~wrong,
                message("{output} is wrong for all tried values except where {values}"),
            ),
        ):
            if 2 < part.sum() < part.size:
                low, high = values[part].min(), values[part].max()
                inside = (values >= low) & (values <= high)
                if (inside & ~part).sum() <= SHARE * part.sum() and inside.mean() < 0.9:
                    below, above, least, most = (
                        (values < low).any(),
                        (values > high).any(),
                        f"{low:.4g}",
                        f"{high:.4g}",
                    )
                    where = (
                        f"{name} = {least}"
                        if below and above and least == most
                        else (f"{least} <= " * bool(below) + name + f" <= {most}" * bool(above))
                    )
                    yield message(words, output=output, values=where)


def _cancelled(output: str, pairs: list[tuple[CaseRun, np.ndarray]]) -> str:
    """Return a note that terms cancel, if errors are float32 errors of the inputs' size and only small elements are wrong."""
    bits = []
    for run, mask in pairs:
        if run.outputs[output].dtype.itemsize == 2:
            continue
        truth = run.truth[output]
        arrays = [part for part in run.case.arrays.values() if part.size and part.dtype.kind == "f"]
        size = max(np.max(abs(part)) for part in (truth, *arrays))
        error = np.max(abs(run.outputs[output] - truth)[mask])
        if not 0 < error <= CANCELLED * size or np.max(abs(truth[mask])) > SHARE_CANCELLING * size:
            return ""
        bits.append(np.log2(size / error))
    if not bits:
        return ""
    return message(
        "no error of {output} is above 2^-{bits} of the largest number, and only small elements are wrong: the formula may be right, but written so that terms cancel in float32",
        output=output,
        bits=f"{min(bits):.0f}",
    )


def _of_16_bits(output: str, pairs: list[tuple[CaseRun, np.ndarray]]) -> str:
    """Return the size of an output's errors, if most elements have 16-bit rounding errors of both signs."""
    bits, signs = [], []
    for run, mask in pairs:
        truth = run.truth[output]
        error = run.outputs[output].astype(np.float64) - truth
        size = np.max(np.abs(truth), initial=0.0, where=np.isfinite(truth))
        apart = np.max(np.abs(error), initial=0.0)
        wide = run.outputs[output].dtype.itemsize > 2
        if not size or not 0 < apart < np.inf or wide and 2 * mask.sum() < np.sum(truth != 0):
            return ""
        bits.append(np.log2(size / apart))
        signs.append(np.mean(np.sign(error * truth)))
    if not bits or min(bits) < BITS[0] or max(bits) > BITS[-1] or abs(np.mean(signs)) > 0.5:
        return ""
    return message(
        "no error of {output} is above 2^-{bits} of its largest element, and errors have both signs: a step or a sum in 16 bits may be the reason (float16 keeps 11 bits, bfloat16 8)",
        output=output,
        bits=f"{min(bits):.0f}",
    )


def _of_lengths(
    op, failing: Sequence[CaseRun], tested: KernelUnderTest, seed: int, budget: Budget
) -> Iterator[str]:
    """Yield the lengths of an axis of the main tensor at which the kernel is wrong, found by running it."""
    prepared = failing[0].prepared
    options = {
        name: value
        for name, value in prepared.recipe.options.items()
        if not isinstance(value, np.ndarray)
    }
    name = op.like if op.tensors[op.like].shape == op.tensors[op.first].shape else op.first
    shape = (
        prepared.case.inputs[name].shape
        if name in prepared.case.inputs
        else options.get("shape", default.default_shape(op))
    )
    known = [
        run.case.inputs[name].shape
        for run in (*failing, *tested.wrong)
        if np.ndim(run.case.inputs.get(name)) == len(shape) and not convention(run)
    ]
    rng = random.Random(seed)
    for axis in range(len(shape)):
        tries = _Lengths(tested, options, shape, axis, seed, budget)
        if law := tries.law(rng, [other[axis] for other in known]):
            yield message(
                "wrong only where {length} {law}{also} ({n} lengths were tried)",
                length=f"{name}.shape[{axis}]",
                law=law,
                also=tries.also,
                n=len(tries.outcome),
            )


@dataclass(eq=False)
class _Lengths:
    """Runs of a kernel on cases with other lengths of one axis."""

    tested: KernelUnderTest
    options: dict
    shape: tuple[int, ...]
    axis: int
    seed: int
    budget: Budget
    outcome: dict[int, bool] = field(default_factory=dict)  # whether the kernel is wrong, by length
    held: dict[bool, list[set[str]]] = field(default_factory=lambda: {True: [], False: []})

    def law(self, rng: random.Random, known: list[int]) -> str:
        """Return the common law of the lengths, including `known`, at which the kernel is wrong; "" if it breaks."""
        self._try(LENGTHS)
        wrong, right = self._sides()
        if len(wrong) < 2 or len(right) < 2 or not remainder(wrong, right):
            return ""
        while min(wrong) > max(right) + 1:
            middle = (min(wrong) + max(right)) // 2
            if middle in self.outcome:
                break
            self._try([middle])
            wrong, right = self._sides()
            if middle not in self.outcome:
                break
        law, longest = remainder(wrong, right), max(self.outcome)
        self._try(sorted(rng.sample(range(2, longest + 1), min(BREAKING, longest - 2))))
        wrong, right = self._sides()
        return law if law == remainder([*wrong, *known], right) and not self.budget.over else ""

    @property
    def also(self) -> str:
        """Return in words the operator's regions that all wrong cases have and no right one has; "" without any."""
        alike = sorted(set.intersection(*self.held[True]).difference(*self.held[False]))
        if not alike:
            return ""
        return message(
            ", and {regions} occur only at these lengths, too",
            regions=commas(alike),
        )

    def _sides(self) -> list[list[int]]:
        return [[n for n, bad in self.outcome.items() if bad == kind] for kind in (True, False)]

    def _try(self, lengths: Iterable[int]) -> None:
        scope = self.tested.scope
        for length in lengths:
            here = self.shape[: self.axis] + (length,) + self.shape[self.axis + 1 :]
            if self.budget.over or np.prod(here) > LONGEST:
                return
            options = self.options | {"shape": here}
            if length in self.outcome or default.fitted(scope.op, options)["shape"] != here:
                continue
            if run := self.tested.run_on(scope.ready(options, self.seed + length)):
                self.outcome[length] = bool(run.misses)
                self.held[bool(run.misses)].append(_regions_of(run))


def _regions_of(run: CaseRun) -> set[str]:
    """Return the named regions of an operator in a run's outputs."""
    op, inputs = run.case.operator, run.case.inputs
    if not own("faults", op.name, "regions"):
        return set()
    return {
        region
        for output, value in run.outputs.items()
        if output in op.outputs
        for region, mask in regions(op, inputs, output, value.shape).items()
        if mask.any()
    }
