"""Choose a suite of test cases for any operator: generate many calls at random, and keep a few small ones that show everything
that the many show.

The number of drafts is fixed and no clock is read, so every machine makes the same suite.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import cycle
from math import prod

import numpy as np

from aclnn_viz.cases import default
from aclnn_viz.cases.atoms import OFTEN, atoms
from aclnn_viz.cases.case import Case
from aclnn_viz.cases.recipe import ROWS, Recipe, family
from aclnn_viz.operators import Attribute, Operator, registry
from aclnn_viz.operators.contract.calls import refusal
from aclnn_viz.operators.parameters import REQUIRED
from aclnn_viz.operators.patterns import Pattern, chosen, value
from aclnn_viz.operators.products import CANN, SOC, Version, product_of

DRAFTS, TRIES = 1000, 4  # drafts of an operator of the kit; attempts per draft
RECIPES_WANTED = 40  # least recipes of a suite; if fewer show all atoms, random ones are added
# most elements of a case; fixed cost of judging a case, counted in elements
ELEMENTS, EACH = 12_000, 500
# the elements of a mask of this size or larger are not counted: its size is fixed, and it costs
# little
MASK = 2**20
LENGTHS = (1, 1, 2, 2, 3, 3, *range(4, 18), 20, 25, 33, 40, 65, 128, 260)
# so many of LENGTHS, the shortest, serve most tensors of three axes or more; tensors of many axes
SHORT_LENGTHS, SHORTEST = 12, 6
# usual highest rank where the operator allows more, and the share of drafts with more
RANK, HIGHER = 5, 0.15
UNTAKEN = ValueError, TypeError, ZeroDivisionError, IndexError, AttributeError, OverflowError


class Source:
    """A source of options for calls: random by the declaration, or an earlier call with one or two changes."""

    def __init__(self, op: Operator, seed: int = 0):
        self.op, self.rng, self.others = op, random.Random(seed), default.other_shapes(op)
        self.takes = registry.own("cases", op.name, "OPTIONS", default.options(op))
        self.parameters = {p.name: p for p in (*op.forward_parameters, *op.parameters)}
        tensors = {name: t for name, t in op.tensors.items() if name in self.parameters}
        self.tensors = [k for k, t in tensors.items() if not t.reserved and k not in op.saved]
        kinds = [(k, kind) for k in self.tensors for kind in ROWS[family(tensors[k])]]
        self.rows = cycle(self.rng.sample(kinds, len(kinds)))
        self.optional = [name for name, tensor in tensors.items() if tensor.optional]

    def draft(self) -> dict:
        op, rng = self.op, self.rng
        known = {name: a.default for name, a in op.attributes.items()}
        asked = {
            name: a
            for name, a in op.attributes.items()
            if name in self.parameters and (a.default is REQUIRED or rng.random() < 0.6)
        }
        options = {name: rng.choice([*a.values]) for name, a in asked.items() if a.values}
        first = chosen(op.tensors[op.first].shape, known | options)
        low, high = op.tensors[op.first].ranks or first.ranks
        most = min(high, max(low, RANK))
        ends = (most, high) if rng.random() < HIGHER else (low, most)
        shape = options["shape"] = self._lengths(rng.randint(*ends))
        for name, a in asked.items():
            if not a.values and not self._implied(name, a, first):
                options[name] = self._attribute(name, a, shape, known | options)
        for name, letters in self.others.items():
            starred = op.tensors[name.removesuffix("_shape")].shape == f"*{letters[0]}"
            if rng.random() < 0.8:
                options[name] = self._lengths(rng.randint(0, 3) if starred else len(letters))
        for name in self.tensors:
            pattern = chosen(op.tensors[name].shape, known | options)
            stretches = pattern.stretched and f"{name}_shape" in self.takes and name != op.first
            if stretches and rng.random() < 0.4:
                ones = (1,) * len(shape)
                longer = tuple(rng.choice(LENGTHS) if n == 1 else n for n in shape)
                shapes = shape[1:], (*shape[:-1], 1), ones, (), (*ones[:1], *shape[1:])
                shapes += longer, (rng.choice(LENGTHS), *longer)
                if pattern.ranks == (1, 1):
                    shapes = ((1,),)
                options[f"{name}_shape"] = rng.choice(shapes)
            trailing = op.tensors[name].shape in [f"*{letter}" for letter in first.starred[1:]]
            if trailing and f"{name}_ndim" in self.takes:
                options[f"{name}_ndim"] = rng.randint(1, max(len(shape), 1))
        options |= {name: None for name in self.optional if rng.random() < 0.35}
        if rng.random() < 0.35:
            options["dtype"] = rng.choice(("float32", "float16", "bfloat16"))
        if rng.random() < 0.1:
            options["strided"] = True
        while rng.random() < 0.6:
            name, kind = next(self.rows)
            options["rows"] = options.get("rows", {}) | {name: kind}
        return options

    def bred(self, options: dict) -> dict:
        """Return options with one or two taken from another draft, or with one entry of an array changed."""
        rng, other = self.rng, self.draft()
        names = sorted({*options, *other})
        for name in rng.sample(names, min(len(names), rng.randint(1, 2))):
            entries = options.get(name)
            rest = {key: x for key, x in options.items() if key != name}
            if isinstance(entries, tuple) and {*map(type, entries)} == {int} and rng.random() < 0.7:
                at, n = (
                    rng.randrange(len(entries)),
                    rng.choice(rng.choice((entries, options["shape"] or (1,)))),
                )
                n = rng.choice(
                    (entries[at] + 1, max(entries[at] - 1, 0), 2 * entries[at], n, 2 * n)
                )
                options = options | {name: (*entries[:at], n, *entries[at + 1 :])}
            else:
                options = rest | ({name: other[name]} if name in other else {})
        return options

    def _lengths(self, count: int) -> tuple[int, ...]:
        rng = self.rng
        lengths = LENGTHS if rng.random() < (0.6 if count < 3 else 0.2) else LENGTHS[:SHORT_LENGTHS]
        # probability of a short length; a tensor of many axes is small only if most are short
        low = 0.7 * (count > RANK)
        return tuple(
            0
            if rng.random() < 0.01
            else rng.choice(lengths if rng.random() >= low else LENGTHS[:SHORTEST])
            for _ in range(count)
        )

    def _implied(self, name: str, a: Attribute, first: Pattern) -> bool:
        """Return whether lengths of the first tensor determine an attribute."""
        letters = [k for k, text in self.op.sizes.items() if text.partition("[")[0] == name]
        return (
            a.follows
            or a.default is REQUIRED
            and any("*" in k or k in first.names and k not in first.starred for k in letters)
        )

    def _attribute(self, name: str, a: Attribute, shape: tuple[int, ...], known: dict):
        rng, p = self.rng, self.parameters[name]
        usual = [x for x in (a.default, *a.tries) if x is not REQUIRED]
        low, high = (value(str(end), known) for end in (a.low, a.high))
        if p.kind in ("bool", "bools"):
            flags = tuple(rng.random() < 0.55 for _ in range(p.length or 1))
            return flags if p.kind == "bools" else flags[0]
        if p.kind == "ints":
            if name in self.op.sizes.values():
                return shape[-rng.randint(1, len(shape)) :]
            count, most = a.length or rng.choice((2, 2, 1, 0)), rng.choice((2, 3, 4, 9))
            entries = [(low or 0) + rng.randint(0, most) for _ in range(count)]
            if a.default is REQUIRED:
                entries = [*self._lengths(count)]
            if isinstance(high, tuple) and len(high) in (1, count):
                entries = [*map(min, entries, high * count)]
            return tuple(entries[:1] * count if rng.random() < 0.3 else entries)
        if p.kind not in ("int", "float"):
            return rng.choice(usual)
        pool = [x * k for x in usual for k in (1, 1, 5, 0.1, -1, 2)]
        pool += [0, 0.5, 1, 2, 3, -1, rng.choice(LENGTHS), -rng.choice(LENGTHS)]
        pool += [n + k for n in shape for k in (0, -1)]
        if p.kind == "float":
            pool += [rng.choice(LENGTHS) / rng.choice(LENGTHS)]
        number = (float if p.kind == "float" else int)(rng.choice(pool))
        return max(number if low is None else low, min(number, number if high is None else high))


def size_of(made: Case) -> int:
    """Return the number of elements of inputs and outputs, without masks of fixed size."""
    results = made.operator.arrange_backward(**made.operator.bind(made.inputs)).results
    inputs = sum(x.size for x in made.arrays.values() if x.dtype.kind in "fV" or x.size < MASK)
    return inputs + sum(prod(result.documented_shape) for result in results.values())


def small(options: dict) -> bool:
    """Return whether every shape among the options has at most ELEMENTS elements."""
    lengths = (given for name, given in options.items() if name.endswith("shape"))
    return max(map(prod, lengths), default=1) <= ELEMENTS


def drawn(op: Operator, count: int) -> Iterator[tuple[dict, dict, int]]:
    """Yield (options, atoms, size) of at most `count` random cases that the operator accepts; atoms are facts on it."""
    source, met, kept, done = Source(op), set(), [], 0
    for number in range(TRIES * count):
        if done == count:
            return
        options = source.draft()
        if kept and source.rng.random() < 0.5:
            options = source.bred(source.rng.choice(kept))
        try:
            options = default.fitted(op, options)
            made = Recipe.of(op, options).case(number) if small(options) else None
            if not made or size_of(made) > ELEMENTS or not taken(made):
                continue
            held = atoms(made)
        except UNTAKEN:
            continue
        if not shown(held) <= met:
            kept.append(options)
            met |= shown(held)
        done += 1
        yield options, held, size_of(made)


def taken(made: Case) -> bool:
    return not refusal(made.operator, made.inputs, product_of(SOC), Version.parse(CANN))


def shown(held: dict) -> set:
    return {atom for atom, holds in held.items() if holds}


def suite(op: Operator, before: Sequence[Recipe], count: int = DRAFTS) -> list[dict]:
    """Return options whose cases show facts (atoms) that no recipe in `before` shows, most per cost first.

    The place of a case in the suite is its seed; if its numbers miss an atom by chance, a later recipe shows it.
    """
    with np.errstate(all="ignore"):
        stated = [recipe.case(number) for number, recipe in enumerate(before)]
        met = set().union(*(shown(atoms(made)) for made in stated if taken(made)))
        drafts, kept = [*drawn(op, count)], []
        often = Counter(atom for _, held, _ in drafts for atom in shown(held))
        left = {atom for atom, n in often.items() if n > OFTEN[atom[0]] * len(drafts)} - met
        sets = [(options, shown(held) - met, EACH + size) for options, held, size in drafts]
        while sets and (left or len(kept) < RECIPES_WANTED):
            best = max(sets, key=lambda draft: len(draft[1] & left) / draft[2])
            sets.remove(best)
            with suppress(*UNTAKEN):  # drawing the case with another seed may fail
                made = Recipe.of(op, best[0]).case(len(before) + len(kept))
                left = left - shown(atoms(made)) if best[1] & left else set()
                kept.append(best[0])
    return kept
