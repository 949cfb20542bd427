"""Where recipes come from: the suites, deep checks, all numbers of a format, files, capsules. Each is told when asked for."""

import json
from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from aclnn_viz.cases.deep import deep
from aclnn_viz.cases.lists import KINDS, CaseList, entries
from aclnn_viz.cases.suites import recipes
from aclnn_viz.devices.capsule import Capsule, digest
from aclnn_viz.errors import listed as listed_of
from aclnn_viz.errors import place_of, problem, whole
from aclnn_viz.operators import Operator, operator, operators
from aclnn_viz.storage.cases import LONGEST_INDEX
from aclnn_viz.storage.damage import StoredError
from aclnn_viz.storage.reading import read_file
from aclnn_viz.sweeps.recipes import canonical, elementwise, listed, named, recipe

HALVES = ("float16", "bfloat16")
FORMATS = ("float32", *HALVES)


@dataclass(frozen=True)
class Source:
    """Recipes as often as they are asked for, and how many there are, None where only the last one tells."""

    make: Callable[[], Iterator[str]]
    count: int | None = None

    def __iter__(self) -> Iterator[str]:
        return self.make()


def source(name, ops=None, seeds: int = 1) -> Source:
    """Return the recipes that a name stands for: "suite", "deep", "exhaustive", "recorded:FILE", or a file of cases.

    `ops` are the operators, all unless given; `seeds` tells how often each case of a suite is drawn anew. A file is a
    JSON list of recipes, ATK's JSON or TTK's CSV; a JSON list may stand there itself. Raises ValueError for what names
    no cases.

    >>> source("suite", ["rms_norm"], seeds=3).count % 3, next(iter(source("suite", ["rms_norm"])))
    (0, '{"operator":"rms_norm","seed":0,"shape":[4,6]}')
    """
    seeds, name = whole("seeds", seeds, 1), str(name)
    if name in NAMED:
        return NAMED[name](chosen(ops), seeds)
    if name.lstrip().startswith("["):
        return _objects(name, ops)
    if name.startswith("recorded:"):
        return _recorded(place_of(name.partition(":")[2]), ops)
    return _file(place_of(name), ops, seeds)


def chosen(ops=None) -> list[Operator]:
    """The operators that an option names: one of them, several, or all."""
    if ops is None or isinstance(ops, (str, Operator)):
        return list(operators()) if ops is None else [operator(ops)]
    return [operator(op) for op in listed_of("ops", ops, (str, Operator))]


def _asked(ops) -> Callable[[str], bool]:
    """Whether an operator is asked for by its name: all are unless some are named, announced ones too."""
    names = ops if ops is None else {op.name for op in chosen(ops)}
    return lambda name: names is None or name in names


def given(many: Iterable, ops) -> Source:
    """The recipes of an iterable that are of some operators."""
    asked = _asked(ops)
    return Source(lambda: (one for one in canonical(many) if asked(named(one))), len(many) if isinstance(many, Sized)
                  and not isinstance(many, np.ndarray) else None)


def _suite(ops, seeds: int) -> Source:
    suites = {op.name: tuple(recipes(op)) for op in ops}

    def make():
        for seed in range(seeds):  # every operator early: what is wrong shows early
            for its in suites.values():
                for number, one in enumerate(its):
                    yield recipe(one, 1000 * seed + number)
    return Source(make, seeds * sum(map(len, suites.values())))


def _deep(ops, seeds: int) -> Source:
    def make():
        for seed in range(seeds):
            for op in ops:
                for number, step in enumerate(deep(op, op.modes, FORMATS)):
                    try:
                        yield recipe(step.recipe(op, 1000 * seed + number), 1000 * seed + number)
                    except (ValueError, TypeError, ZeroDivisionError):
                        continue  # no such case of this operator
    return Source(make)


def _exhaustive(ops, seeds: int) -> Source:
    ops = [op for op in ops if elementwise(op)] if len(ops) == len(operators()) else ops
    if other := [op.name for op in ops if not elementwise(op)]:
        told = ", ".join(op.name for op in operators() if elementwise(op))
        raise ValueError(problem("all numbers of a format are tried with an elementwise operator", ", ".join(other),
                                 f"name {told}, or leave the operators out"))
    many = [{"operator": op.name, "every": p.name, "dtype": dtype} for op in ops for p in op.parameters for dtype in HALVES]
    return Source(lambda: (recipe(one, seed) for one in many for seed in range(seeds)), len(many) * seeds)


def _file(path: Path, ops, seeds: int) -> Source:
    try:
        text = read_file(path, LONGEST_INDEX).decode("utf-8-sig")
    except (OSError, StoredError, UnicodeDecodeError) as error:
        told = f"{path}: {error.strerror if isinstance(error, OSError) else error}"
        raise ValueError(problem(f"cases are {', '.join(NAMED)}, recorded:CAPSULE, a JSON list of recipes, or {KINDS}",
                                 told, "choose one, or mend the file")) from None
    if path.suffix == ".json" and _is_ours(text):
        return _objects(text, ops)
    names, left = {op.name for op in chosen(ops)}, CaseList()
    found = [(one, its, number) for number, its, one in entries(path, None, left)
             if its.name in names and listed(one, its, number, 0)]  # what cannot be a recipe is told now
    if not found:
        told = "; ".join(f"{count} with {why}" for why, count in left.left_out.items()) or "none of these operators"
        raise ValueError(problem(f"{path.name} must hold cases of {', '.join(sorted(names))}", told, "name others"))
    return Source(lambda: (listed(*one, seed) for one in found for seed in range(seeds)), len(found) * seeds)


def _is_ours(text: str) -> bool:
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(held, list) and all(isinstance(one, dict) and "operator" in one for one in held)


def _objects(text: str, ops) -> Source:
    try:
        held = listed_of("recipes", json.loads(text), dict)
    except (ValueError, RecursionError) as error:
        raise ValueError(problem("a list of recipes is JSON", str(error), "write it again")) from None
    asked = _asked(ops)
    found = [one for one in canonical(held) if asked(named(one))]
    return Source(lambda: iter(found), len(found))


def _recorded(path: Path, ops) -> Source:
    asked = _asked(ops)
    with Capsule(path) as capsule:
        found = [recipe({"operator": op.name, "recorded": digest(op, op.bind(inputs))}) for op, inputs in capsule.cases()
                 if asked(op.name)]
    return Source(lambda: iter(found), len(found))


NAMED: dict[str, Callable] = {"suite": _suite, "deep": _deep, "exhaustive": _exhaustive}
