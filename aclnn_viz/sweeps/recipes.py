"""Recipes: cases as lines of text, which cost nothing until they are drawn and mean the same on every machine.

A recipe is an object of JSON with the keywords of `av.case`: `{"operator": NAME, "shape": [4, 16], "seed": 3}`. Beside
these it may say `"strided": true`, or how else the case is made: `"every": TENSOR` (all numbers of a 16-bit format in
one tensor), `"listed": [...]` (what a test list says of it) or `"recorded": DIGEST` (a case of a capsule). An array is
`{"array": DTYPE, "shape": [...], "values": [...]}`. Recipes are the same exactly if their canonical texts are.

A source yields recipes one by one: the suites, deep checks, all numbers of a 16-bit format, files, capsules.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass
from numbers import Real
from pathlib import Path

import numpy as np

from aclnn_viz.cases import Case, suites
from aclnn_viz.cases.case import checked_shape, stated
from aclnn_viz.cases.lists import (
    KINDS as LISTS,
)
from aclnn_viz.cases.lists import (
    CaseList,
    Listed,
    Values,
    drawn,
    entries,
    range_of,
    shape_of,
)
from aclnn_viz.cases.suites import deep, recipes
from aclnn_viz.devices.capsule import Capsule, digest
from aclnn_viz.dtypes import float_format
from aclnn_viz.errors import listed as listed_of
from aclnn_viz.errors import need, place_of, problem, shown, whole
from aclnn_viz.operators import Operator, known, operator, operators
from aclnn_viz.storage.cases import LONGEST_INDEX
from aclnn_viz.storage.reading import StoredError, dtype_named, parsed, read_file

ASKED = "a recipe is an object of JSON with the keywords of av.case"
FIX = 'write such as {"operator": NAME, "shape": [4, 16], "seed": 3}'
KINDS = {"seed": int, "dtype": str, "strided": bool, "every": str, "recorded": str, "listed": list}
EVERY = 1 << 16  # numbers of a 16-bit format


def recipe(given: Mapping | suites.Recipe, seed: int | None = None) -> str:
    """Return the canonical text of a recipe; TypeError for what is none, ValueError for what JSON cannot say.

    >>> recipe({"seed": 3, "shape": (4, 16), "operator": "rms_norm"})
    '{"operator":"rms_norm","seed":3,"shape":[4,16]}'
    """
    if isinstance(given, suites.Recipe):
        strided = {"strided": True} if given.strided else {}
        given = {"operator": given.operator, **given.options, **strided}
    need(given, Mapping, ASKED, FIX)
    if not isinstance(given.get("operator"), (str, Operator)):
        raise TypeError(problem(ASKED, shown(dict(given)), FIX))
    plain = {"seed": 0, **given, "operator": known(given["operator"]).name}
    if seed is not None:
        plain["seed"] = seed
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), default=_plain)
    plain = json.loads(text)
    for name, kind in KINDS.items():
        if type(value := plain.get(name, kind())) is not kind:
            raise TypeError(
                problem(f"{name} of a recipe is of type {kind.__name__}", shown(value), FIX)
            )
    for name, value in plain.items():
        if name == "shape" or name.endswith("_shape"):
            shape_of(f"{name} of a recipe", value)
    if not 0 <= plain["seed"] < 1 << 63:
        raise ValueError(
            problem("a seed is a number from 0 on, below 2^63", shown(plain["seed"]), FIX)
        )
    return text


def hashed(*texts: str) -> str:
    """The identity of texts: the same in every process and on every platform.

    >>> hashed("a", "b")[:8], hashed("ab")[:8]
    ('7e18f737', 'fb8e20fc')
    """
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:32]


def named(text: str) -> str:
    """The operator of a recipe."""
    return json.loads(text)["operator"]


def draw(text: str, recorded: Mapping[str, Case] = {}) -> tuple[suites.Recipe, Case]:
    """Draw the case of a canonical recipe; `recorded` are those of a capsule by their digests.

    Raises ValueError and TypeError as `av.case` does.
    """
    said = json.loads(text)
    op, seed = known(said.pop("operator")), said.pop("seed")
    if "listed" in said:
        match said["listed"]:
            case [str(name), [*tensors], {**attributes}, int(number)] if number >= 0:
                entry = Listed(name, op.name, tuple(map(_tensor, tensors)), attributes)
                return suites.Recipe(op.name, {"listed": name}), drawn(op, entry, seed, number, [])
        raise TypeError(
            problem(
                "a listed case is [name, tensors, attributes, number]", shown(said["listed"]), FIX
            )
        )
    if digest_ := said.get("recorded"):
        if digest_ not in recorded:
            raise ValueError(
                problem(
                    "a recorded case is drawn from the capsule that holds it",
                    f"{digest_[:12]}, which is not in the device",
                    "sweep with that capsule as the device",
                )
            )
        return suites.Recipe(op.name, {"recorded": digest_[:12]}), recorded[digest_]
    options = {name: _value(value) for name, value in said.items()}
    if every := options.pop("every", None):
        kind = suites.Recipe(op.name, {"every": every} | options)
        return kind, _every(op, every, seed, **options)
    strided = options.pop("strided", False)
    drawn_case = stated(op, seed=seed, **options)
    kind = suites.Recipe(op.name, options, strided)
    return kind, suites.transposed(drawn_case) if strided else drawn_case


def mode(case: Case) -> str:
    """The attributes that its operator declares as worth trying, as this case has them."""
    bound = case.operator.bind(case.inputs)
    return ", ".join(f"{name}={bound[name]!r}" for name in case.operator.modes[0])


def _every(op: Operator, name: str, seed: int, dtype: str = "float32", **options) -> Case:
    """All numbers of a 16-bit format in one tensor; with seed 0 the upstream gradients are one, else drawn."""
    fmt = float_format(dtype)
    if fmt.bits != 16 or name not in op.tensors:
        raise ValueError(
            problem(
                "every number is that of a tensor in a 16-bit format",
                f"{name} in {fmt.name}",
                "use float16 or bfloat16",
            )
        )
    values = {name: np.arange(EVERY, dtype=np.uint16).view(fmt.numpy)}
    ones = {} if seed else {up: 1.0 for up in op.upstream if up != name}
    return stated(op, dtype=dtype, seed=seed, shape=(EVERY,), **ones | values | options)


def elementwise(op: Operator) -> bool:
    """Whether each element of every output depends on that element of the inputs alone.

    >>> elementwise(known("hardswish")), elementwise(known("rms_norm"))
    (True, False)
    """
    return (
        set(op.page.AXES.values()) == {"e"}
        and set(p.kind for p in op.parameters) == {"tensor"}
        and bool(op.first)
    )


def listed(entry: Listed, op: Operator, number: int, seed: int) -> str:
    """The recipe of an entry of a test list."""
    return recipe(
        {"operator": op.name, "listed": [entry.name, entry.tensors, entry.attributes, number]}, seed
    )


def canonical(recipes: Iterable) -> Iterator[str]:
    """The canonical texts of recipes in any form: mappings, recipes of the suites, texts of JSON."""
    for given in recipes:
        if isinstance(given, str):
            try:
                given = parsed(given)
            except ValueError as error:
                raise ValueError(problem(ASKED, f"{shown(given)}: {error}", FIX)) from None
        yield recipe(given)


def _plain(value):
    """A number or an array as JSON has it, the same whatever library or byte order it came in."""
    if isinstance(value, np.ndarray):
        exact = value if value.dtype.kind in "biu" else value.astype(np.float64)
        return {
            "array": value.dtype.name,
            "shape": list(value.shape),
            "values": exact.ravel().tolist(),
        }
    if isinstance(value, np.generic | Real):
        return (
            value.item() if getattr(value, "dtype", np.dtype("V")).kind in "biu" else float(value)
        )
    raise TypeError(problem("a recipe holds numbers, texts, lists and arrays", shown(value), FIX))


def _tensor(value) -> Values:
    """What a test list says of a tensor, as `listed` wrote it."""
    match value:
        case [str(name), shape, str(dtype), low, high, *normal]:
            return Values(
                name, shape_of(name, shape), dtype, *range_of(name, (low, high)), any(normal)
            )
    raise TypeError(
        problem("a listed tensor is [name, shape, dtype, low, high]", shown(value), FIX)
    )


def _value(value):
    """A value of a recipe as `av.case` takes it."""
    if not isinstance(value, dict):
        return tuple(map(_value, value)) if isinstance(value, list) else value
    try:
        values = np.array(value["values"]).astype(dtype_named(value["array"]))
        return values.reshape(checked_shape(value["shape"]))
    except (LookupError, ValueError, TypeError, ArithmeticError) as error:
        raise ValueError(
            problem(
                "an array of a recipe has array, shape and values", f"{error}", "write it again"
            )
        ) from None


HALVES = ("float16", "bfloat16")
FORMATS = ("float32", *HALVES)


@dataclass(frozen=True)
class Source:
    """Recipes as often as they are asked for, and how many there are, None where that is known only at the end."""

    make: Callable[[], Iterator[str]]
    count: int | None = None

    def __iter__(self) -> Iterator[str]:
        return self.make()


def source(name, ops=None, seeds: int = 1) -> Source:
    """Return the recipes that a name stands for: "suite", "deep", "exhaustive", "recorded:FILE", or a file of cases.

    `ops` are the operators, all unless given; `seeds` says how often each case of a suite is drawn anew. A file is a
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


def of_operators(cases: Iterable, ops) -> Source:
    """The recipes of an iterable that are of some operators; of all, announced ones too, unless some are named."""
    names = ops if ops is None else {op.name for op in chosen(ops)}
    is_sized = isinstance(cases, Sized) and not isinstance(cases, np.ndarray)
    return Source(
        lambda: (text for text in canonical(cases) if names is None or named(text) in names),
        len(cases) if is_sized else None,
    )


def _suite(ops, seeds: int) -> Source:
    suites = {op.name: tuple(recipes(op)) for op in ops}

    def make():
        for seed in range(seeds):  # every operator early: what is wrong shows early
            for suite in suites.values():
                for number, case in enumerate(suite):
                    yield recipe(case, 1000 * seed + number)

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
        text = ", ".join(op.name for op in operators() if elementwise(op))
        raise ValueError(
            problem(
                "all numbers of a format are tried with an elementwise operator",
                ", ".join(other),
                f"name {text}, or leave the operators out",
            )
        )
    cases = [
        {"operator": op.name, "every": p.name, "dtype": dtype}
        for op in ops
        for p in op.parameters
        for dtype in HALVES
    ]
    return Source(
        lambda: (recipe(case, seed) for case in cases for seed in range(seeds)), len(cases) * seeds
    )


def _file(path: Path, ops, seeds: int) -> Source:
    try:
        text = read_file(path, LONGEST_INDEX).decode("utf-8-sig")
    except (OSError, StoredError, UnicodeDecodeError) as error:
        shown = f"{path}: {error.strerror if isinstance(error, OSError) else error}"
        raise ValueError(
            problem(
                f"cases are {', '.join(NAMED)}, recorded:CAPSULE, a JSON list of recipes, or {LISTS}",
                shown,
                "choose one, or mend the file",
            )
        ) from None
    if path.suffix == ".json" and _is_ours(text):
        return _objects(text, ops)
    names, left = {op.name for op in chosen(ops)}, CaseList()
    cases = [
        (entry, op, number)
        for number, op, entry in entries(path, None, left)
        # what cannot be a recipe is refused now
        if op.name in names and listed(entry, op, number, 0)
    ]
    if not cases:
        shown = (
            "; ".join(f"{count} with {why}" for why, count in left.left_out.items())
            or "none of these operators"
        )
        raise ValueError(
            problem(
                f"{path.name} must hold cases of {', '.join(sorted(names))}", shown, "name others"
            )
        )
    return Source(
        lambda: (listed(*case, seed) for case in cases for seed in range(seeds)), len(cases) * seeds
    )


def _is_ours(text: str) -> bool:
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(held, list) and all(
        isinstance(case, dict) and "operator" in case for case in held
    )


def _objects(text: str, ops) -> Source:
    try:
        held = listed_of("recipes", parsed(text), dict)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            problem("a list of recipes is JSON", str(error), "write it again")
        ) from None
    return of_operators([*canonical(held)], ops)


def _recorded(path: Path, ops) -> Source:
    with Capsule(path) as capsule:
        cases = [
            {"operator": op.name, "recorded": digest(op, op.bind(inputs))}
            for op, inputs in capsule.cases()
        ]
    return of_operators(cases, ops)


NAMED: dict[str, Callable] = {"suite": _suite, "deep": _deep, "exhaustive": _exhaustive}
