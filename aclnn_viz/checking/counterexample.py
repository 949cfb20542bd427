"""Find a small test case on which a kernel is wrong: shrink it to the smallest shape, then to the simplest numbers, while it
stays wrong.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from aclnn_viz.cases import default, files
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.case_run import CaseRun
from aclnn_viz.checking.evidence import KernelUnderTest
from aclnn_viz.checking.judge import bound, documented
from aclnn_viz.checking.meter import Budget
from aclnn_viz.checking.wrong_outputs import convention
from aclnn_viz.operators.parameters import REQUIRED
from aclnn_viz.operators.patterns import chosen, resolved
from aclnn_viz.storage.results import strict
from aclnn_viz.words.messages import commas, tr

PRINTED = 24  # elements of a tensor at most in a printed call
# A smaller case is kept only if its error is as large as that of the first case, or so many
# allowed errors: rounding alone gives no such error.
PLAIN = 1000.0
SIMPLE = (
    np.ones_like,
    np.rint,
    lambda values: np.rint(2 * values) / 2,
    lambda values: np.rint(10 * values) / 10,
)


def dumped(ready, outputs: dict[str, np.ndarray]) -> files.Dumped:
    """Return the case of a Ready or a Prepared with its known outputs, in the form that is written to files."""
    return files.Dumped(
        ready.case,
        str(ready.recipe),
        outputs,
        {
            name: (result.documented_shape, result.format.numpy)
            for name, result in documented(ready.case).items()
        },
    )


class Counterexample:
    """A small case on which a kernel is wrong: `inputs`, `actual`, `truth`, and the element with the largest error."""

    def __init__(self, seen: CaseRun):
        self._seen = seen
        self.case = seen.case
        self.recipe = str(seen.prepared.recipe)
        self.inputs = self.case.inputs
        self.actual = seen.outputs
        self.truth = {name: part.truth for name, part in seen.expected.items()}
        self.problems = [miss.problem for miss in seen.misses]
        shown = next((miss for miss in seen.misses if miss.worst), seen.misses[0])
        self.output, self.index, self.worst = seen.misses[0].output, shown.index, shown.worst

    def __str__(self) -> str:
        attributes = [
            f"{name}={value!r}"
            for name, value in self.inputs.items()
            if name not in self.case.arrays
        ]
        lines = [
            tr(
                "{operator}, {dtype}: {problems}",
                operator=self.case.operator.name,
                dtype=self.case.dtype,
                problems=commas(self.problems),
            )
        ]
        lines += [f"  {tr(self.worst)}"] * bool(self.worst)
        lines += [f"  {', '.join(attributes)}"] * bool(attributes)
        lines += [f"  {name} = {_text(value)}" for name, value in self.case.arrays.items()]
        for name in self.truth:
            if name in self.actual and any(problem.startswith(name) for problem in self.problems):
                lines += [
                    tr("  {name}, yours = {value}", name=name, value=_text(self.actual[name])),
                    tr("  {name}, truth = {value}", name=name, value=_text(self.truth[name])),
                ]
        return "\n".join(lines)

    def write(self, folder, force: bool = False) -> Path:
        """Write the case, with the kernel's outputs, in the layout of `aclnn-viz check --write`; return the folder.

        Raises FileExistsError for a folder with contents; `force` replaces a folder of cases.
        """
        return files.write_cases(
            folder, self.case.operator, [dumped(self._seen.prepared, self.actual)], force=force
        )

    @property
    def call(self) -> str:
        """A line of Python that repeats the counterexample: a call of the kernel with these inputs, or, for large ones, by files."""
        if sum(np.size(value) for value in self.inputs.values()) > PRINTED * len(self.inputs):
            # a folder works for a case of any source
            return 'result.counterexample.write("folder"); av.check("folder", kernel)'
        arguments = [f"{name}={_literal(value)}" for name, value in self.inputs.items()]
        return f"kernel({', '.join(arguments)})"

    def to_json(self) -> dict:
        return {
            "dtype": self.case.dtype,
            "recipe": self.recipe,
            "call": self.call,
            "problems": self.problems,
            "worst": self.worst,
        } | {
            part: {name: _plain(value) for name, value in getattr(self, part).items()}
            for part in ("inputs", "actual", "truth")
        }


def _text(array: np.ndarray) -> str:
    if array.size > PRINTED:
        return tr("array of shape {shape}", shape=array.shape)
    numbers = re.sub(
        r"\n\s*",
        " ",
        np.array2string(_wide(array), precision=9, separator=", ", max_line_width=10**6),
    )
    return f"{numbers} ({array.dtype})"


def _literal(value) -> str:
    if not isinstance(value, np.ndarray):
        return repr(value)
    text = re.sub(r"\b(nan|inf)\b", r"np.\1", repr(_wide(value).tolist()))
    return f'np.array({text}, "{value.dtype}")'


def _plain(value):
    """Return nested lists of numbers, only the shape of a large array, and texts for nan and infinities."""
    if not isinstance(value, np.ndarray):
        return strict(value)
    if value.size > 1000:
        return {"shape": list(value.shape), "dtype": str(value.dtype)}
    return strict(_wide(value).tolist())


@np.errstate(all="ignore")
def _wide(array: np.ndarray) -> np.ndarray:
    """Return a floating array in float64, and others unchanged."""
    return array.astype(np.float64) if array.dtype.kind not in "iub" else array


def shrink(run: CaseRun, tested: KernelUnderTest, budget: Budget) -> CaseRun:
    """Return the smallest and simplest case of the scope on which the kernel still has one of the same outputs wrong."""
    plain = min(PLAIN, max(miss.excess for miss in run.misses))
    recipe, best = run.prepared.recipe, run
    seed = run.case.seed

    apart = bool(convention(run))

    def attempt(options: dict, its_seed: int) -> CaseRun | None:
        smaller = tested.run_on(tested.scope.ready(options, its_seed, recipe.strided), wrong=True)
        # do not shrink a mistake to a case in which only a convention differs, such as 0 / 0
        return (
            smaller
            if smaller
            and any(miss.output in run.wrong and miss.excess >= plain for miss in smaller.misses)
            and (apart or not convention(smaller))
            else None
        )

    options = dict(recipe.options)
    seen = {str(Recipe(recipe.operator, options))}
    progress = True
    while progress and not budget.over:
        progress = False
        for smaller in _smaller(options, best):
            name = str(Recipe(recipe.operator, smaller))
            if name in seen:
                # tried before: the operator's formula undid the cut, or the default is longer
                continue
            tries = (attempt(smaller, s) for s in budget.within((seed, seed + 1, seed + 2)))
            better = next(filter(None, tries), None)
            if better:
                options, best, progress = smaller, better, True
                seen.add(name)
                seed = better.case.seed
                break
    for name in best.case.floats(saved=False):
        for simplify in SIMPLE:
            values = best.case.inputs[name]
            simple = simplify(values.astype(np.float64)).astype(values.dtype)
            if budget.over or np.array_equal(simple, values):
                continue
            # all other drawn tensors stay, so that one change affects nothing else
            drawn = {
                other: best.case.inputs[other]
                for other in best.case.floats(saved=False)
                if other != name
            }
            better = attempt(options | drawn | {name: simple}, seed)
            if better:
                options, best = dict(better.prepared.recipe.options), better
                break
    return best


def _smaller(options: dict, run: CaseRun) -> Iterator[dict]:
    """Yield the options with one axis cut to the error's place, to half, or by one, largest cut first; then without unnecessary
    options.
    """
    case, op = run.case, run.case.operator
    axes = Axes(case)
    worst = next((miss for miss in run.misses if miss.index is not None), None)
    at = dict(zip(axes.of(worst.output), worst.index)) if worst else {}
    drawn = {
        name: value
        for name, value in case.arrays.items()
        if value.ndim and (name not in op.saved or name in options)
    }
    lengths = sorted(
        ((axis, n) for axis, n in axes.lengths.items() if n > 1), key=lambda pair: -pair[1]
    )
    for axis, _ in lengths:
        yield from axes.cut(options | drawn, axis, slice(at.get(axis, 0), at.get(axis, 0) + 1))
    for axis, n in lengths:
        # remove powers of two: an error behind whole blocks remains behind fewer of them
        power = 1 << (n - 1).bit_length() - 1
        for to in sorted({1, n // 2, n - 1, n - power, n - (power // 2 or 1)}):
            yield from axes.cut(options, axis, slice(0, to))
    for name, value in options.items():
        plain = op.attributes[name].default if name in op.attributes else value
        if plain is not REQUIRED and not isinstance(value, np.ndarray) and value != plain:
            yield options | {name: plain}
    rows = options.get("rows", {})
    yield from (options | {"rows": {k: v for k, v in rows.items() if k != name}} for name in rows)
    for name, value in case.inputs.items():
        if name in op.attributes and isinstance(value, tuple):
            # tensors drawn anew get the shapes that an attribute implies
            free = {k: v for k, v in options.items() if not isinstance(v, np.ndarray)}
            yield from (kept | {name: few} for few in _lower(value) for kept in (options, free))


def _lower(entries: tuple) -> Iterator[tuple]:
    """Yield tuples of integers with one entry lowered; at last, for equal entries, the tuple of one entry."""
    if {*map(type, entries)} != {int}:
        return
    for at, n in enumerate(entries):
        for less in sorted({1, n // 2, n - 1}):
            if 0 <= less < n:
                yield (*entries[:at], less, *entries[at + 1 :])
    if len(entries) > 1 and len({*entries}) == 1:
        # last, because an entry shared by several axes cannot be lowered for one of them
        yield entries[:1]


class Axes:
    """The axes of a case's tensors by the letters of their patterns; axes with the same name are cut together."""

    def __init__(self, case):
        self.op, self.bound = case.operator, bound(case)
        self.sizes = self.op.fitting(self.bound)[1]
        self.others = default.other_shapes(self.op)
        self.lengths = {
            axis: n
            for name, value in self.bound.items()
            if isinstance(value, np.ndarray)
            for axis, n in zip(self.of(name), value.shape)
            if not axis[0][0].isdigit() and (axis[0] not in self.op.sizes or self._listed(axis[0]))
        }

    def _listed(self, letter: str) -> bool:
        """Return whether the lengths of a letter's axes are an attribute, which must then be cut, too."""
        return isinstance(self.sizes[letter], tuple) and self.op.sizes[letter] in self.op.attributes

    def of(self, name: str) -> list[tuple[str, int]]:
        """Return the name of each axis of a tensor: its letter, and its place among the axes of a starred letter."""
        pattern, axes = chosen(self.op.tensors[name].shape, self.bound), []
        for token in pattern.axes:
            letter = token.lstrip("*").removeprefix("1..")
            starred = token[0] == "*" or token.startswith("1..")
            kept = letter if not token.startswith("1..") else f"1..{letter}"
            axes += (
                [(kept, at) for at in range(len(self.sizes[letter]))] if starred else [(token, 0)]
            )
        return axes

    def cut(self, options: dict, axis, part: slice) -> Iterator[dict]:
        """Yield options with every tensor cut along an axis and the shapes that follow; none if a formula forbids it."""
        cut, (token, place), formulas = dict(options), axis, self.op.sizes
        length = len(range(*part.indices(self.lengths[axis])))
        sizes = {
            letter: n
            for letter, n in self.sizes.items()
            if formulas.get(letter, "a").isidentifier()
        }
        if isinstance(self.sizes.get(token), tuple):
            sizes[token] = tuple(length if at == place else n for at, n in enumerate(sizes[token]))
            cut |= {formulas[token]: sizes[token]} if formulas.get(token) in options else {}
        else:  # cut the factor of a product that no attribute gives
            rest = next(letter for letter in token.split("*") if letter not in formulas)
            sizes[rest] = length * sizes[rest] // max(self.lengths[axis], 1)
        try:
            sizes = self.sizes | resolved(
                sizes,
                formulas,
                {name: value for name, value in self.bound.items() if name in self.op.attributes},
            )
        except ValueError:
            return
        cut["shape"] = chosen(self.op.tensors[self.op.first].shape, self.bound).shape(sizes)
        for option, letters in self.others.items():
            cut[option] = tuple(
                n for letter in letters for n in np.atleast_1d(sizes[letter]).tolist()
            )
        for name, value in options.items():
            if (
                name in self.op.tensors
                and isinstance(value, np.ndarray)
                and value.ndim == len(self.of(name))
            ):
                shape = chosen(self.op.tensors[name].shape, self.bound).shape(sizes)
                cut[name] = value[
                    tuple(
                        part if own == axis else slice(0, n) for own, n in zip(self.of(name), shape)
                    )
                ]
        yield default.fitted(self.op, cut)
