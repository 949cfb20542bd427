"""Recipes: test cases as lines of JSON, which cost nothing until they are drawn and mean the same on every machine.

A recipe is a JSON object with the keywords of `av.case`: `{"operator": NAME, "shape": [4, 16], "seed": 3}`. It may add
`"strided": true` and `"rows": {TENSOR: KIND}` (special rows, see `cases.recipe`). An array is `{"array": DTYPE, "shape": [...],
"values": [...]}`. Two recipes are the same if their canonical texts are.

A source yields recipes one by one: the suites, the standard list, a list of recipes.
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
from aclnn_viz.errors import invalid, lengths, mistyped, need, place_of, printable, shown, whole
from aclnn_viz.errors import listed as listed_of
from aclnn_viz.operators import Operator, known, operator, operators
from aclnn_viz.operators.products import SOC, product_of
from aclnn_viz.storage.cases import LONGEST_INDEX
from aclnn_viz.storage.readers import StoredError, dtype_named, parsed, read_file

ASKED = "a recipe is an object of JSON with the keywords of av.case"
FIX = 'write such as {"operator": NAME, "shape": [4, 16], "seed": 3}'
KINDS = {"seed": int, "dtype": str, "strided": bool, "rows": dict}


def recipe(given: Mapping | suites.Recipe, seed: int | None = None) -> str:
    """Return the canonical text of a recipe; raise TypeError for other types, ValueError for values that JSON lacks.

    >>> recipe({"seed": 3, "shape": (4, 16), "operator": "rms_norm"})
    '{"operator":"rms_norm","seed":3,"shape":[4,16]}'
    """
    if isinstance(given, suites.Recipe):
        strided = {"strided": True} if given.strided else {}
        given = {"operator": given.operator, **given.options, **strided}
    need(given, Mapping, ASKED, FIX)
    if not isinstance(given.get("operator"), (str, Operator)):
        raise mistyped(ASKED, shown(dict(given)), FIX)
    plain = {"seed": 0, **given, "operator": known(given["operator"]).name}
    if seed is not None:
        plain["seed"] = seed
    text = json.dumps(plain, sort_keys=True, separators=(",", ":"), default=_plain)
    plain = json.loads(text)
    for name, kind in KINDS.items():
        if type(value := plain.get(name, kind())) is not kind:
            raise mistyped(f"{name} of a recipe is of type {kind.__name__}", shown(value), FIX)
    for name, value in plain.items():
        if name == "shape" or name.endswith("_shape"):
            lengths(name, value)
    if not 0 <= plain["seed"] < 1 << 63:
        raise invalid("a seed is a number from 0 on, below 2^63", shown(plain["seed"]), FIX)
    return text


def hashed(*texts: str) -> str:
    """Return a hash of texts, the same in every process and on every platform.

    >>> hashed("a", "b")[:8], hashed("ab")[:8]
    ('7e18f737', 'fb8e20fc')
    """
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:32]


def named(text: str) -> str:
    """Return the operator's name in a recipe."""
    return json.loads(text)["operator"]


def draw(text: str) -> tuple[suites.Recipe, Case]:
    """Draw the case of a canonical recipe; raise ValueError and TypeError as `av.case` does."""
    options = {
        name: value if name == "rows" else _value(value) for name, value in json.loads(text).items()
    }
    op, seed = known(options.pop("operator")), options.pop("seed")
    kind = suites.Recipe.of(op, options)
    return kind, kind.case(seed, stated)


def mode(case: Case) -> str:
    """Return the case's values of the attributes that its operator declares as modes."""
    bound = case.operator.bind(case.inputs)
    return ", ".join(f"{name}={bound[name]!r}" for name in case.operator.modes[0])


def canonical(recipes: Iterable) -> Iterator[str]:
    """Yield the canonical texts of recipes in any form: mappings, recipes of the suites, JSON texts."""
    for given in recipes:
        if isinstance(given, str):
            try:
                given = parsed(given)
            except ValueError as error:
                raise invalid(ASKED, f"{shown(given)}: {error}", FIX) from None
        yield recipe(given)


def _plain(value):
    """Return a number or an array for JSON, independent of library and byte order."""
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
    raise mistyped("a recipe holds numbers, texts, lists and arrays", shown(value), FIX)


def _value(value):
    """Return a value of a recipe in the form that `av.case` accepts."""
    if not isinstance(value, dict):
        return tuple(map(_value, value)) if isinstance(value, list) else value
    try:
        values = np.array(value["values"]).astype(dtype_named(value["array"]))
        return values.reshape(checked_shape(value["shape"]))
    except (LookupError, ValueError, TypeError, ArithmeticError) as error:
        raise invalid(
            "an array of a recipe has array, shape and values", f"{error}", "write it again"
        ) from None


@dataclass(frozen=True)
class Source:
    """An iterable of recipes that can be repeated, and their number, None if unknown in advance."""

    make: Callable[[], Iterator[str]]
    count: int | None = None

    def __iter__(self) -> Iterator[str]:
        return self.make()


def source(cases, ops=None, seeds: int = 1) -> Source:
    """Return the recipes of "suite", of "standard", of a file with a JSON list of recipes, or of an iterable.

    `ops` are the operators, by default all; `seeds` is how often each case of a suite is drawn. The JSON text may replace its
    file. Raises ValueError for other names, TypeError for other types.

    >>> source("suite", ["rms_norm"], seeds=3).count % 3, next(iter(source("suite", ["rms_norm"])))
    (0, '{"operator":"rms_norm","seed":0,"shape":[4,6]}')
    """
    seeds, text = whole("seeds", seeds, 1), str(cases)
    if not isinstance(cases, (str, Path)):
        if (
            isinstance(cases, (Mapping, suites.Recipe))
            or not isinstance(cases, Iterable)
            or getattr(cases, "ndim", 1) == 0
        ):
            raise mistyped(
                'cases are "suite", "standard", a file, or an iterable of recipes',
                shown(cases),
                'pass such as [{"operator": NAME, "shape": (4, 16), "seed": 3}]',
            )
        return of_operators(cases, ops)
    if text in NAMED:
        return NAMED[text](chosen(ops), seeds)
    try:
        if not text.lstrip().startswith("["):
            text = read_file(place_of(text), LONGEST_INDEX).decode("utf-8-sig")
        recipes = [*canonical(listed_of("recipes", parsed(text), dict))]
    except (
        OSError,
        StoredError,
        UnicodeDecodeError,
        json.JSONDecodeError,
        RecursionError,
    ) as error:
        raise invalid(
            f"cases are {', '.join(NAMED)}, or a JSON list of recipes",
            printable(f"{cases!s:.200}: {getattr(error, 'strerror', error)}"),
            "choose one, or mend the list",
        ) from None
    return of_operators(recipes, ops)


def chosen(ops=None) -> list[Operator]:
    """Return the operators that the option `ops` names: one, several, or all (None)."""
    if ops is None or isinstance(ops, (str, Operator)):
        return list(operators()) if ops is None else [operator(ops)]
    return [operator(op) for op in listed_of("ops", ops, (str, Operator))]


def of_operators(cases: Iterable, ops) -> Source:
    """Return the recipes of an iterable, for all operators or for some."""
    names = ops if ops is None else {op.name for op in chosen(ops)}
    is_sized = isinstance(cases, Sized) and not isinstance(cases, np.ndarray)
    return Source(
        lambda: (text for text in canonical(cases) if names is None or named(text) in names),
        len(cases) if is_sized else None,
    )


def _suite(ops, seeds: int) -> Source:
    by_operator = [tuple(suites.recipes(op)) for op in ops]

    def make():
        # every operator occurs with the first seed, so that errors show early
        for seed in range(seeds):
            for suite in by_operator:
                for number, case in enumerate(suite):
                    yield recipe(case, 1000 * seed + number)

    return Source(make, seeds * sum(map(len, by_operator)))


def _standard(ops, seeds: int) -> Source:
    """Return each mode of each operator once in each format that an Atlas A2 supports."""
    recipes = [
        {"operator": op.name, "dtype": dtype, "seed": seed, **options}
        for op in ops
        for seed, options in enumerate(suites.own_cases(op, "standard") or op.modes)
        for dtype in ("float32", "float16", "bfloat16")
        if any(
            dtype in formats.split()
            for products, formats in op.formats.items()
            if product_of(SOC) in products
        )
    ]
    return of_operators(recipes, None)


NAMED: dict[str, Callable] = {"suite": _suite, "standard": _standard}
