"""Recipes: cases as lines of text, which cost nothing until they are drawn and mean the same on every machine.

A recipe is an object of JSON with the keywords of `av.case`: `{"operator": NAME, "shape": [4, 16], "seed": 3}`. Beside
these it may say `"strided": true`, or how else the case is made: `"every": TENSOR` (all numbers of a 16-bit format in
one tensor), `"listed": [...]` (what a test list tells of it) or `"recorded": DIGEST` (a case of a capsule). An array is
`{"array": DTYPE, "shape": [...], "base64": ...}`. Recipes are the same exactly if their canonical texts are.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from math import prod
from numbers import Integral, Real

import numpy as np

from aclnn_viz.cases import Case
from aclnn_viz.cases import suites
from aclnn_viz.cases.case import checked_shape, stated
from aclnn_viz.cases.forms import Listed, Values, range_of, shape_of
from aclnn_viz.cases.lists import drawn
from aclnn_viz.dtypes import float_format
from aclnn_viz.errors import need, problem, shown
from aclnn_viz.operators import Operator, known
from aclnn_viz.storage.tensors import dtype_named

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
        given = {"operator": given.operator, **given.options} | ({"strided": True} if given.strided else {})
    need(given, Mapping, ASKED, FIX)
    if not isinstance(given.get("operator"), (str, Operator)):
        raise TypeError(problem(ASKED, shown(dict(given)), FIX))
    plain = {name: _plain(value) for name, value in given.items() if name != "operator"}
    plain |= {"operator": known(given["operator"]).name, "seed": plain.get("seed", 0) if seed is None else seed}
    for name, kind in KINDS.items():
        if type(value := plain.get(name, kind())) is not kind:
            raise TypeError(problem(f"{name} of a recipe is of type {kind.__name__}", shown(value), FIX))
    if not 0 <= plain["seed"] < 1 << 63:
        raise ValueError(problem("a seed is a number from 0 on, below 2^63", shown(plain["seed"]), FIX))
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


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
    told = json.loads(text)
    op, seed = known(told.pop("operator")), told.pop("seed")
    strided, every = told.pop("strided", False), told.pop("every", None)
    options = {name: _value(value) for name, value in told.items()}
    if "listed" in told:
        match told["listed"]:
            case [str(name), [*tensors], {**attributes}, int(number)] if number >= 0:
                one = Listed(name, op.name, tuple(map(_tensor, tensors)), attributes)
                return suites.Recipe(op.name, {"listed": name}), drawn(op, one, seed, number, [])
        raise TypeError(problem("a listed case is [name, tensors, attributes, number]", shown(told["listed"]), FIX))
    if "recorded" in told:
        if told["recorded"] not in recorded:
            raise ValueError(problem("a recorded case is drawn from the capsule that holds it",
                                     f"{told['recorded'][:12]}, which is not in the device",
                                     "sweep with that capsule as the device"))
        return suites.Recipe(op.name, {"recorded": told["recorded"][:12]}), recorded[told["recorded"]]
    if every is not None:
        return suites.Recipe(op.name, {"every": every} | options), _every(op, every, seed, **options)
    made = suites.Recipe(op.name, options, strided)
    drawn_case = stated(op, seed=seed, **options)
    return made, suites.transposed(drawn_case) if strided else drawn_case


def mode(made: Case) -> str:
    """The attributes that its operator declares as worth trying, as this case has them."""
    bound = made.operator.bind(made.inputs)
    return ", ".join(f"{name}={bound[name]!r}" for name in made.operator.modes[0])


def _every(op: Operator, name: str, seed: int, dtype: str = "float32", **options) -> Case:
    """All numbers of a 16-bit format in one tensor; with seed 0 the upstream gradients are one, else drawn."""
    fmt = float_format(dtype)
    if fmt.bits != 16 or name not in op.tensors:
        raise ValueError(problem("every number is that of a tensor in a 16-bit format", f"{name} in {fmt.name}",
                                 "use float16 or bfloat16"))
    values = {name: np.arange(EVERY, dtype=np.uint16).view(fmt.numpy)}
    ones = {} if seed else {up: 1.0 for up in op.upstream if up != name}
    return stated(op, dtype=dtype, seed=seed, shape=(EVERY,), **ones | values | options)


def elementwise(op: Operator) -> bool:
    """Whether each element of every output depends on that element of the inputs alone.

    >>> elementwise(known("hardswish")), elementwise(known("rms_norm"))
    (True, False)
    """
    return set(op.page.AXES.values()) == {"e"} and set(p.kind for p in op.parameters) == {"tensor"} and bool(op.first)


def listed(entry: Listed, op: Operator, number: int, seed: int) -> str:
    """The recipe of an entry of a test list."""
    return recipe({"operator": op.name, "listed": [entry.name, entry.tensors, entry.attributes, number]}, seed)


def canonical(many: Iterable) -> Iterator[str]:
    """The canonical texts of recipes in any form: mappings, recipes of the suites, texts of JSON."""
    for one in many:
        if isinstance(one, str):
            try:
                one = json.loads(one)
            except ValueError as error:
                raise ValueError(problem(ASKED, f"{shown(one)}: {error}", FIX)) from None
        yield recipe(one)


def _plain(value):
    """A value as JSON has it, the same whatever library or kind of number it came as."""
    if isinstance(value, np.ndarray):
        little = np.ascontiguousarray(value).astype(value.dtype.newbyteorder("<")) if value.dtype.kind != "V" else value
        return {"array": value.dtype.name, "shape": list(value.shape),
                "base64": base64.b64encode(little.tobytes()).decode()}
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (str, type(None))):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real) and not isinstance(value, np.floating) or isinstance(value, (np.floating, np.generic)):
        return float(value)
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
        return {key: _plain(one) for key, one in value.items()}
    raise TypeError(problem("a recipe holds numbers, texts, lists and arrays", shown(value), FIX))


def _tensor(value) -> Values:
    """What a test list tells of a tensor, as `listed` wrote it."""
    match value:
        case [str(name), shape, str(dtype), low, high, *normal]:
            return Values(name, shape_of(name, shape), dtype, *range_of(name, (low, high)), any(normal))
    raise TypeError(problem("a listed tensor is [name, shape, dtype, low, high]", shown(value), FIX))


def _value(value):
    if isinstance(value, dict) and "base64" in value:
        if value.keys() != {"array", "shape", "base64"}:
            raise ValueError(problem("an array of a recipe has array, shape and base64", shown(value), FIX))
        shape, dtype = checked_shape(value["shape"]), dtype_named(value["array"])
        held = base64.b64decode(value["base64"])
        if len(held) != prod(shape) * dtype.itemsize:
            raise ValueError(problem("an array of a recipe is whole", f"{len(held)} bytes for {dtype.name}{list(shape)}",
                                     "write it again"))
        return np.frombuffer(held, dtype.newbyteorder("<") if dtype.kind != "V" else dtype).astype(dtype).reshape(shape)
    return tuple(map(_value, value)) if isinstance(value, list) else value
