"""List the test cases that a kernel is checked with, in an order that finds faults early: modes first, then shapes.

A deep check adds lengths beyond every tile, every remainder, and numbers at the ends of the formats. They follow from the
declaration alone: its axes and floating tensors. The caller skips cases that the operator refuses.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import prod
from pathlib import Path

import numpy as np

from aclnn_viz.cases import default, drafts
from aclnn_viz.cases.case import Case, case
from aclnn_viz.cases.recipe import NUMBERS, Recipe, transposed
from aclnn_viz.dtypes import float_format
from aclnn_viz.operators import Operator, operator, registry
from aclnn_viz.operators.patterns import chosen

DRAWN = Path(__file__).parent / "drawn"
# fewer drafts for a user's operator, drawn in this process; more for a deep check
FEWER_DRAFTS, MORE_DRAFTS = 300, 1000
__all__ = ["Recipe", "transposed"]


def recipes(op) -> Iterator[Recipe]:
    """Yield the recipes of an operator's suite.

    >>> str(next(recipes("rms_norm")))
    'shape=(4, 6)'
    """
    op = operator(op)
    yield from stated(op)
    yield from (Recipe.of(op, options) for options in drawn(op))
    nothing = default.fitted(op, {"shape": (0, *default.default_shape(op)[1:])})
    yield from [Recipe(op.name, nothing)] * _taken(op, nothing)


@lru_cache
def drawn(op: Operator) -> Sequence[dict]:
    """Return the options drawn for an operator; the kit's own operators have them stored."""
    path = DRAWN / f"{op.name}.json"
    if registry.sources(op.name) is None and path.is_file():
        return _stated(json.loads(path.read_text("utf-8")))
    return drafts.suite(op, tuple(stated(op)), FEWER_DRAFTS)


def stated(op: Operator) -> Iterator[Recipe]:
    """Yield the recipes of an operator's own table of cases; without one, those of modes, formats and strides."""
    for options in own_cases(op, "suite") or filter(partial(_taken, op), default.suite(op)):
        yield Recipe.of(op, options)


def own_cases(op: Operator, name: str) -> tuple[dict, ...]:
    """Return the entries "suite" or "standard" of an operator's own table of cases, empty if it has none."""
    return _stated(registry.table("cases", op.name).get(name, []))


def _stated(value):
    """Convert a table's value: lists become tuples, and a text behind "=" is evaluated with NumPy's names."""
    if isinstance(value, dict):
        return {name: _stated(part) for name, part in value.items()}
    if isinstance(value, list):
        return tuple(map(_stated, value))
    return eval(value[1:], vars(np)) if str(value).startswith("=") else value


def _taken(op, options: dict) -> bool:
    try:
        case(op, **{name: value for name, value in options.items() if name != "strided"})
    except (TypeError, ValueError):
        return False
    return True


def suite(op, seed: int = 0) -> Iterator[tuple[Recipe, Case]]:
    """Yield every recipe with its case; each case has its own seed, so numbers never repeat."""
    for number, recipe in enumerate(recipes(op)):
        yield recipe, recipe.case(1000 * seed + number)


# lengths one above a power of two, which may be the length of a tile or of a core's share
LONG_LENGTHS = tuple(2**k + 1 for k in range(7, 17))
LONGEST = 2**20 + 1
REMAINDERS = range(65, 129)  # these numbers have every remainder modulo each number up to 64
TOTALS = (2**15, 2**18, 2**21)  # elements of a shape with equal axes


@dataclass(frozen=True)
class Step:
    """One case of a deep check: its series, the most elements that a tensor has, and its options."""

    series: str
    elements: int
    options: dict

    def recipe(self, op: Operator) -> Recipe:
        """Return the recipe; raise ValueError or TypeError if the operator refuses the case."""
        return Recipe.of(op, default.fitted(op, self.options))


RARE = ("large and small", "largest", "smallest")


def deep(
    op: Operator, modes: Sequence[dict], dtypes: Sequence[str], sizes: bool = True
) -> Iterator[Step]:
    """Yield the cases of a deep check, small ones of each series first; without `sizes` only special numbers."""
    turns = partial(_turn, modes, dtypes)
    yield from _numbers(op, modes, dtypes)
    if not sizes:
        return
    source = drafts.Source(op, seed=1)  # a seed that the standard suite does not use
    for options in filter(drafts.small, (source.draft() for _ in range(MORE_DRAFTS))):
        yield Step("drafts", prod(options["shape"]), options)
    axes = _axes(op)
    small = 3 if len(axes) <= 3 else 2
    for number, length in enumerate(REMAINDERS):
        for at, (option, axis) in enumerate(axes):
            yield _long(axes, option, axis, length, small, "remainders", turns(number + at))
    for at, (option, axis) in enumerate(axes):
        # other options, such as grid_shape, stay shorter: all points may hit one pixel, and exact
        # sums of more terms are slow
        longest = (LONGEST,) * (option == "shape")
        for number, length in enumerate((*LONG_LENGTHS, *longest)):
            others = small if length < LONG_LENGTHS[-1] else 1
            yield _long(axes, option, axis, length, others, f"{option} {axis}", turns(number + at))
            if length == LONGEST and len(axes) > 1:
                yield _long(
                    axes, option, axis, length, 1, f"{option} {axis}", turns(number + at), beside=2
                )
    lengths, others = _usual(op)
    for number, total in enumerate(TOTALS):
        each = round(total ** (1 / max(len(lengths), 1)))
        shape = (each,) * len(lengths)
        yield Step(
            "all axes",
            prod(shape),
            {"shape": shape, **{name: (5,) * n for name, n in others.items()}, **turns(number)},
        )
    low, _ = op.tensors[op.first].ranks or chosen(op.tensors[op.first].shape, {}).ranks
    if low <= 1 < len(lengths):  # a tensor of one axis has no axis 1
        for number, length in enumerate((*REMAINDERS, *LONG_LENGTHS, LONGEST, 2 * LONGEST)):
            yield Step("one axis", length, {"shape": (length,), **turns(number)})


def rows(
    op: Operator,
    modes: Sequence[dict],
    dtypes: Sequence[str],
    lengths: Callable[[int], Sequence[int]],
) -> Iterator[Step]:
    """Yield a few rows of each length in every format; `lengths(itemsize)` returns the lengths of the last axis."""
    axes, last = _axes(op), len(_usual(op)[0]) - 1
    for at, dtype in enumerate(dtypes):
        for number, length in enumerate(lengths(float_format(dtype).bits // 8)):
            yield _long(
                axes,
                "shape",
                last,
                length,
                3 if len(axes) <= 3 else 2,
                "rows",
                {**modes[(number + at) % len(modes)], "dtype": dtype},
            )


def _turn(modes: Sequence[dict], dtypes: Sequence[str], number: int) -> dict:
    return {**modes[number * 5 % len(modes)], "dtype": dtypes[number % len(dtypes)]}


def _numbers(op: Operator, modes, dtypes) -> Iterator[Step]:
    """Yield every kind of number in every floating tensor in every mode; formats take turns if there are many modes."""
    base = op.shapes[0] if op.shapes else {"shape": default.default_shape(op)}
    plain = case(op, **base)
    elements = sum(np.size(value) for value in plain.inputs.values())
    for at, mode in enumerate(modes):
        for number, rows in enumerate(_kinds(op, plain)):
            kind = next(iter(rows.values()))
            if len(modes) > len(dtypes) and kind in RARE and RARE[at % len(RARE)] != kind:
                continue  # each mode gets one of the rare kinds
            for dtype in (
                dtypes if len(modes) < len(dtypes) else [dtypes[(at + number) % len(dtypes)]]
            ):
                options = base | mode | {"dtype": dtype, "rows": rows}
                yield Step("numbers", elements, options)


def _kinds(op: Operator, plain: Case) -> Iterator[dict[str, str]]:
    """Yield {tensor: kind of special numbers} for each case; saved tensors only get nan or infinities."""
    several = [name for name in plain.floats(saved=False) if plain.inputs[name].size > 1]
    yield dict.fromkeys(several, "zeros of both signs")
    for name in plain.floats():
        yield from (
            {name: kind} for kind in NUMBERS if name not in op.saved or kind in ("nan", "inf")
        )


def _usual(op: Operator) -> tuple[tuple[int, ...], dict[str, int]]:
    """Return the default shape, and for each option the number of lengths that follow from other tensors only."""
    others = default.other_shapes(op)
    return registry.own("cases", op.name, "SHAPE", default.default_shape(op)), {
        name: len(letters) for name, letters in others.items()
    }


def _axes(op: Operator) -> list[tuple[str, int]]:
    shape, others = _usual(op)
    return [("shape", axis) for axis in range(len(shape))] + [
        (name, axis) for name, n in others.items() for axis in range(n)
    ]


def _long(axes, option, axis, length, small, series, turn, beside: int = 1) -> Step:
    """Return the step in which one axis has length `length`, its neighbour `beside * small`, all others `small`."""
    found: dict[str, list[int]] = {}
    for name, at in axes:
        found.setdefault(name, []).append(length if (name, at) == (option, axis) else small)
    found[option][axis - 1] *= beside
    return Step(
        series,
        prod(map(prod, found.values())),
        {name: tuple(value) for name, value in found.items()} | turn,
    )
