"""The cases that a kernel is checked with, in an order that finds faults early: modes first, then shapes.

A deep check goes on with lengths beyond every tile, every remainder, and numbers at the ends of the formats. These follow from
the declaration alone: which axes there are and which tensors are floating. A case that the operator does not take is for the
caller to leave out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod

import numpy as np

from aclnn_viz.cases import default
from aclnn_viz.cases.case import Case, case
from aclnn_viz.dtypes import FLOAT16, float_format, round_to
from aclnn_viz.operators import Operator, operator, registry
from aclnn_viz.operators.patterns import chosen
from aclnn_viz.words.messages import linked, message


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
        """A message that is kept, so English."""
        text = [f"{name}={_short(value)}" for name, value in self.options.items()] + [
            message("strided tensors")
        ] * self.strided
        return linked("{some}, {more}", text) if text else message("the default case")


def _short(value) -> str:
    return f"array{list(value.shape)}" if isinstance(value, np.ndarray) else repr(value)


def transposed(made: Case) -> Case:
    """The same case, its tensors in another order in memory: no axis but one is contiguous."""
    inputs = {
        name: _scattered(value) if isinstance(value, np.ndarray) else value
        for name, value in made.inputs.items()
    }
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
    for options in own_cases(op, "suite") or filter(partial(_taken, op), default.suite(op)):
        yield Recipe(
            op.name,
            {name: value for name, value in options.items() if name != "strided"},
            options.get("strided", False),
        )


def own_cases(op: Operator, name: str) -> tuple[dict, ...]:
    """What an operator's own table of cases states under a name, "suite" or "standard"; nothing where it has none."""
    return _stated(registry.table("cases", op.name).get(name, []))


def _stated(value):
    """What a table states: lists are tuples, and a text behind "=" is an expression of NumPy."""
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
    """Yield every recipe with its case; each case has a seed of its own, so that no two repeat the same numbers."""
    for number, recipe in enumerate(recipes(op)):
        yield recipe, recipe.case(1000 * seed + number)


# one more than every power of two that a tile, or a core's share, has
LONG_LENGTHS = tuple(2**k + 1 for k in range(7, 17))
LONGEST = 2**20 + 1
REMAINDERS = range(65, 129)  # every remainder by every number up to 64
TOTALS = (2**15, 2**18, 2**21)  # elements, all axes alike
WIDE = 2.0**30  # a number whose cube does not overflow in float32


@dataclass(frozen=True)
class Step:
    """One case: the series it belongs to, how many elements its largest tensor has or may have, and how it is drawn."""

    series: str
    elements: int
    options: dict
    change: "Change | None" = None

    def recipe(self, op: Operator, seed: int) -> Recipe:
        """The recipe; raises ValueError or TypeError where the operator does not take such a case."""
        options = default.fitted(op, dict(self.options))
        if self.change:
            options |= self.change.of(case(op, seed=seed, **options))
        return Recipe(op.name, options)


@dataclass(frozen=True)
class Change:
    """Some elements of tensors replaced: `kind` is a row of NUMBERS; no name: every tensor that a caller draws."""

    kind: str
    name: str | None = None

    def of(self, made: Case) -> dict:
        rng, changed = np.random.default_rng(made.seed), {}
        several = [name for name in made.floats(saved=False) if made.inputs[name].size > 1]
        for name in [self.name] if self.name else several:
            value = made.inputs.get(name)
            if not isinstance(value, np.ndarray) or not value.size:
                raise ValueError(f"{name} has no elements")
            numbers = NUMBERS[self.kind](float_format(value))
            at = rng.choice(
                value.size, size=max(1, min(len(numbers), value.size // 2)), replace=False
            )
            flat = value.astype(np.float64).reshape(-1)
            flat[at] = rng.permutation(numbers)[: at.size]
            changed[name] = np.asarray(round_to(flat.reshape(value.shape), value.dtype))
        return changed


def _largest(fmt) -> list[float]:
    return [fmt.largest, -fmt.largest]


def _tiny(fmt) -> list[float]:
    return [
        2.0**fmt.min_exponent,
        -(2.0**fmt.min_exponent),
        fmt.smallest_subnormal,
        -fmt.smallest_subnormal,
    ]


NUMBERS = {
    "zeros": lambda fmt: [0.0, -0.0] * 4,
    "nan": lambda fmt: [np.nan] * 6,
    "inf": lambda fmt: [np.inf, -np.inf] * 4,  # so many, to meet every region of the other tensors
    # where exp is tiny, or overflows in float32
    "far from 0": lambda fmt: [20.0, -20.0, 80.0, -80.0, 90.0, -90.0],
    "large and small": lambda fmt: (
        [WIDE, -WIDE, 1 / WIDE, -1 / WIDE] if fmt is not FLOAT16 else _largest(fmt)
    ),
    "largest": _largest,
    "smallest": _tiny,
}

RARE = ("large and small", "largest", "smallest")


def deep(
    op: Operator, modes: Sequence[dict], dtypes: Sequence[str], sizes: bool = True
) -> Iterator[Step]:
    """Yield the steps of a deep check, those of a series from small to large; without `sizes` only other numbers."""
    turns = partial(_turn, modes, dtypes)
    yield from _numbers(op, modes, dtypes)
    if not sizes:
        return
    axes = _axes(op)
    small = 3 if len(axes) <= 3 else 2
    for number, length in enumerate(REMAINDERS):
        for at, (option, axis) in enumerate(axes):
            yield _long(axes, option, axis, length, small, "remainders", turns(number + at))
    for at, (option, axis) in enumerate(axes):
        # of points all may meet in one place: exact sums of so many are dear
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
    if low <= 1 < len(lengths):  # one axis alone
        for number, length in enumerate((*REMAINDERS, *LONG_LENGTHS, LONGEST, 2 * LONGEST)):
            yield Step("one axis", length, {"shape": (length,), **turns(number)})


def rows(
    op: Operator,
    modes: Sequence[dict],
    dtypes: Sequence[str],
    lengths: Callable[[int], Sequence[int]],
) -> Iterator[Step]:
    """Yield a few rows of each of some lengths, in every format, where `lengths(itemsize)` are those of the last axis."""
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
    """Every kind of number in every floating tensor, in every mode, the formats in turn where there are many modes."""
    base = op.shapes[0] if op.shapes else {"shape": default.default_shape(op)}
    plain = case(op, **base)
    elements = sum(np.size(value) for value in plain.inputs.values())
    for at, mode in enumerate(modes):
        for number, (kind, name) in enumerate(_kinds(op, plain)):
            if len(modes) > len(dtypes) and kind in RARE and RARE[at % len(RARE)] != kind:
                continue  # one of them in each mode
            for dtype in (
                dtypes if len(modes) < len(dtypes) else [dtypes[(at + number) % len(dtypes)]]
            ):
                yield Step("numbers", elements, base | mode | {"dtype": dtype}, Change(kind, name))


def _kinds(op: Operator, plain: Case) -> Iterator[tuple[str, str | None]]:
    """Tensors that the forward pass made are what they are, but for a nan or an infinity."""
    yield "zeros", None
    for name in plain.floats():
        yield from (
            (kind, name) for kind in NUMBERS if name not in op.saved or kind in ("nan", "inf")
        )


def _usual(op: Operator) -> tuple[tuple[int, ...], dict[str, int]]:
    """The default shape, and by option how many lengths follow from other tensors only."""
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
    """One axis of some length, the next one of its tensor `beside` times as long as all others."""
    found: dict[str, list[int]] = {}
    for name, at in axes:
        found.setdefault(name, []).append(length if (name, at) == (option, axis) else small)
    found[option][axis - 1] *= beside
    return Step(
        series,
        prod(map(prod, found.values())),
        {name: tuple(value) for name, value in found.items()} | turn,
    )
