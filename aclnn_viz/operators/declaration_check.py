"""Check an operator's declaration.py (shapes, dtypes) when its folder is opened, and name the line of a gap or a contradiction."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import get_origin

from aclnn_viz.dtypes import FORMATS
from aclnn_viz.errors import invalid, shown
from aclnn_viz.operators.operator import Operator, Tensor
from aclnn_viz.operators.parameters import KINDS
from aclnn_viz.operators.patterns import FUNCTIONS, choices, formula
from aclnn_viz.operators.prototype import parse
from aclnn_viz.operators.shapes import is_plain

DTYPES = ("same", "same or float32", "wide", "float32")
AXIS = re.compile(r"(\*|1\.\.)?[A-Za-z]\w*|([A-Za-z]\w*|\d+)(\*([A-Za-z]\w*|\d+))*", re.ASCII)
NAMES = {fmt.name for fmt in FORMATS}


def check(op: Operator, path: Path) -> None:
    """Raise ValueError for the first mistake of a declaration, with its line in the file."""
    for field, key, asked, got in _faults(op):
        raise invalid(f"{path}, line {_line(path, field, key)}: {asked}", got, "mend it there")


Fault = tuple[str, str, str, str]


def _faults(op: Operator) -> Iterator[Fault]:
    """Yield each mistake as (field of the declaration, key, rule, value)."""
    for part in (_kinds, _prototype):  # the parts below need valid kinds and a valid prototype
        if fault := next(part(op), None):
            yield fault
            return
    types = {
        p.name: p.c_type.removeprefix("const ")
        for p in parse(op.prototype)[0].parameters
        if p.role == "in"
    }
    yield from _parameters(op, types)
    yield from _roles(op, [name for name in types if name in op.tensors])
    yield from _formulas(op)
    yield from _patterns(op)
    for name, tensor in op.tensors.items():
        yield from _tensor(op, name, tensor)
    yield from _functions(op, types)


def _kinds(op: Operator) -> Iterator[Fault]:
    for one, kinds in chain(
        [(op, fields(op))],
        ((tensor, fields(Tensor)) for tensor in op.tensors.values() if isinstance(tensor, Tensor)),
    ):
        for name, kind in ((part.name, get_origin(part.type) or part.type) for part in kinds):
            if kind in (dict, tuple, str) and not isinstance(getattr(one, name), kind):
                yield (
                    (name if one is op else "tensors"),
                    "",
                    f"{name} is a {kind.__name__}",
                    shown(getattr(one, name)),
                )


def _prototype(op: Operator) -> Iterator[Fault]:
    declared = parse(op.prototype)
    if [one.name.endswith("GetWorkspaceSize") for one in declared] != [True]:
        yield (
            "prototype",
            "",
            "the prototype declares one function aclnn...GetWorkspaceSize",
            ", ".join(one.name for one in declared) or "none",
        )
    names = [p.name for p in declared[0].parameters]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        yield (
            "prototype",
            "",
            "the prototype names each parameter once",
            f"{', '.join(twice)} twice",
        )


def _parameters(op: Operator, types: dict[str, str]) -> Iterator[Fault]:
    for name, c_type in types.items():
        attribute, kind = op.attributes.get(name), KINDS.get(c_type)
        there = op.tensors if kind == "tensor" else op.attributes
        if kind is None or name not in there:
            yield (
                ("attributes" if there is op.attributes else "tensors"),
                "",
                f"{name} of the prototype is declared, as {c_type}",
                ", ".join(there),
            )
        elif attribute and attribute.c_type.removeprefix("const ") != c_type:
            yield (
                "attributes",
                name,
                f"{name} has the type of the prototype, {c_type}",
                attribute.c_type,
            )


def _roles(op: Operator, tensors: list[str]) -> Iterator[Fault]:
    for field, some, allowed in (
        ("takes", op.takes, [*op.tensors, *op.attributes]),
        ("gives", op.gives, op.tensors),
        ("upstream", op.upstream, tensors),
        ("upstream", op.upstream.values(), op.gives),
        ("saved", op.saved, tensors),
        ("saved", op.saved.values(), op.gives),
        ("gradient_of", op.gradient_of, tensors),
        ("gradient_of", op.gradient_of.values(), op.takes),
        ("like", [op.like], [name for name in tensors if name not in op.gradient_of]),
    ):
        yield from (
            (field, name, f"{field} names one of {', '.join(allowed)}", repr(name))
            for name in some
            if name not in allowed
        )


def _formulas(op: Operator) -> Iterator[Fault]:
    letters = {
        name
        for tensor in op.tensors.values()
        for pattern in choices(tensor.shape)
        for name in pattern.names
    }
    texts = [("sizes", *item) for item in op.sizes.items()]
    texts += [
        (field, name, end)
        for field in ("tensors", "attributes")
        for name, one in getattr(op, field).items()
        for end in (one.low, one.high, *getattr(one, "kinks", ()))
        if isinstance(end, str)
    ]
    # a kink may be the value of another tensor
    tensors = {kink: op.takes for tensor in op.tensors.values() for kink in tensor.kinks}
    for field, name, text in texts:
        try:
            wrong = {*formula(text).co_names} - {
                *letters,
                *op.sizes,
                *op.attributes,
                *FUNCTIONS,
                *tensors.get(text, ()),
            }
        except SyntaxError as error:
            wrong = [error.msg]
        if wrong:
            yield (
                field,
                name,
                f"the formula for {name} names lengths and attributes",
                f"{', '.join(wrong)} in {text!r}",
            )


def _patterns(op: Operator) -> Iterator[Fault]:
    patterns = [pattern for tensor in op.tensors.values() for pattern in choices(tensor.shape)]
    if both := {name for pattern in patterns for name in pattern.starred} & {
        axis for pattern in patterns for axis in pattern.axes
    }:
        yield (
            "tensors",
            "",
            "a name with a star is several axes, in each tensor",
            f"{', '.join(sorted(both))} without one, too",
        )


def _tensor(op: Operator, name: str, tensor: Tensor) -> Iterator[Fault]:
    if not (
        is_plain(tensor.dtype)
        or tensor.reserved
        or tensor.dtype in DTYPES
        or {*tensor.dtype.split(" or ")} <= NAMES
        or tensor.dtype.removeprefix("as ") in op.tensors
    ):
        yield (
            "tensors",
            name,
            f"the dtype of {name} is {', '.join(DTYPES)}, such as int64 or int32, or as another tensor",
            repr(tensor.dtype),
        )
    if tensor.asked and tensor.asked.partition("[")[0] not in {**op.tensors, **op.attributes}:
        yield "tensors", name, f"what asks for {name} is a parameter", repr(tensor.asked)
    axes = str(getattr(op.page, "AXES", {}).get(name, ""))
    for pattern in choices(tensor.shape):
        if not all(AXIS.fullmatch(axis) for axis in pattern.axes):
            yield (
                "tensors",
                name,
                f"an axis of {name} is a name, *NAME, 1..NAME or a product of names and numbers",
                repr(pattern.text),
            )
        elif pattern.placed and (
            pattern.placed not in op.attributes
            or [axis[0] for axis in pattern.axes][::2] != ["*", "*"]
        ):
            yield (
                "tensors",
                name,
                f"an axis by attribute is written *A D@dim *B, in {name}",
                repr(pattern.text),
            )
        elif len(axes) < len(pattern.page_axes) and not tensor.reserved:
            yield (
                "tensors",
                name,
                f"AXES of the page has {len(pattern.page_axes)} characters for {name} ({pattern.text}), one for each axis "
                "and each factor",
                repr(axes),
            )


def _functions(op: Operator, types: dict[str, str]) -> Iterator[Fault]:
    for function, passed in (
        ("forward", op.takes),
        ("backward", [name for name in types if name not in op.gradient_of]),
    ):
        code = getattr(getattr(op.page, function, None), "__code__", None)
        wanted = [
            name
            for name in passed
            if (not op.tensors[name].reserved if name in op.tensors else op.attributes[name].seen)
        ]
        taken = code.co_varnames[1 : code.co_argcount] if code else ()
        if {*wanted} - {*taken} or (
            {*taken} - {*wanted, *op.counts} and not hasattr(op.page, "PRELUDE")
        ):
            yield (
                "page",
                "",
                f"{function} of the page takes xp, {', '.join(wanted)}; what it need not know is seen=False",
                ", ".join(taken) or "none",
            )


def _line(path: Path, field: str, key: str) -> int:
    """Return the line of a key in a field of the declaration, else the field's line, else the declaration's."""
    at = next(
        (
            node
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Operator"
        ),
        None,
    )
    at = next((one for one in at.keywords if one.arg == field), at) if at else None
    lines = (
        [
            node.lineno
            for node in ast.walk(at)
            if key and isinstance(node, ast.Constant) and node.value == key
        ]
        if at
        else []
    )
    return min(lines, default=getattr(at, "lineno", 1))
