"""What a declaration must hold by itself: asked when a folder is opened, with the line of what does not."""

import ast
from collections.abc import Iterator
from pathlib import Path

from aclnn_viz.errors import problem
from aclnn_viz.operators.operator import Operator
from aclnn_viz.operators.parameters import KINDS
from aclnn_viz.operators.patterns import FUNCTIONS, choices, formula
from aclnn_viz.operators.prototype import parse
from aclnn_viz.operators.shapes import is_plain

DTYPES = ("same", "same or float32", "wide", "float32")


def check(op: Operator, path: Path) -> None:
    """Raise ValueError for the first thing that does not hold, with the line of the file that says it."""
    for field, key, asked, got, fix in _faults(op):
        raise ValueError(problem(f"{path}, line {_line(path, field, key)}: {asked}", got, fix))


def _faults(op: Operator) -> Iterator[tuple[str, str, str, str, str]]:
    """(field of the declaration, key there, what must hold, what is there, what to do) for all that does not hold."""
    declared = parse(op.prototype)
    if len(declared) != 1 or not declared[0].name.endswith("GetWorkspaceSize"):
        yield ("prototype", "", "the prototype declares one function aclnn...GetWorkspaceSize",
               ", ".join(one.name for one in declared) or "none", "copy its declaration from the header")
        return
    known, inputs = {**op.tensors, **op.attributes}, [p for p in declared[0].parameters if p.role == "in"]
    for p in inputs:
        kind = KINDS.get(p.c_type.removeprefix("const "))
        where, there = ("tensors", op.tensors) if kind == "tensor" else ("attributes", op.attributes)
        if kind is None:
            yield "prototype", "", f"the type of {p.name} is one of {', '.join(KINDS)}", repr(p.c_type), "use one of these"
        elif p.name not in there:
            yield where, "", f"{where} hold {p.name} of the prototype", ", ".join(there) or "nothing", "add it"
        elif kind != "tensor" and op.attributes[p.name].c_type.removeprefix("const ") != p.c_type.removeprefix("const "):
            yield where, p.name, f"{p.name} has the type of the prototype, {p.c_type}", op.attributes[p.name].c_type, "make them agree"
    names = [p.name for p in inputs]
    tensors = {name for name in names if name in op.tensors}
    for field, some, allowed, what in (
            ("takes", op.takes, known, "tensors and attributes"), ("gives", op.gives, op.tensors, "tensors"),
            ("upstream", op.upstream, tensors, "tensors of the prototype"), ("saved", op.saved, tensors, "tensors of the prototype"),
            ("upstream", op.upstream.values(), op.gives, "outputs of forward"), ("saved", op.saved.values(), op.gives, "outputs of forward"),
            ("gradient_of", op.gradient_of, tensors, "tensors of the prototype"),
            ("gradient_of", op.gradient_of.values(), op.takes, "parameters of forward"),
            ("like", [op.like], tensors - op.gradient_of.keys(), "input tensors of the prototype"),
            ("c_names", op.c_names, names, "parameters of the prototype")):
        for name in some:
            if name not in allowed:
                yield field, name, f"{field} names {what}: {', '.join(allowed)}", repr(name), "use one of these"
    if not any(name in op.tensors for name in op.takes):
        yield "takes", "", "forward takes a tensor at least, to which a case gives its shape", repr(op.takes), "name it first"
    letters = {name for tensor in op.tensors.values() for pattern in choices(tensor.shape) for name in pattern.names}
    for letter, text in op.sizes.items():
        yield from _misnamed("sizes", letter, text, {*letters, *op.sizes, *op.attributes})
    for field, group in (("tensors", op.tensors), ("attributes", op.attributes)):
        for name, one in group.items():
            for end in (one.low, one.high):
                yield from _misnamed(field, name, end, {*letters, *op.sizes, *op.attributes}) if isinstance(end, str) else ()
    for name, tensor in op.tensors.items():
        other = tensor.dtype.removeprefix("as ")
        if not (is_plain(tensor.dtype) or tensor.dtype in DTYPES or other in op.tensors):
            yield "tensors", name, f"the dtype of {name} is {', '.join(DTYPES)}, such as int64 or int32, or as another tensor", repr(tensor.dtype), "use one of these"
        if tensor.asked and tensor.asked.partition("[")[0] not in known:
            yield "tensors", name, f"what asks for {name} is a parameter", repr(tensor.asked), "use the vendor's name"
        axes = getattr(op.page, "AXES", {}).get(name)
        for pattern in choices(tensor.shape):
            if pattern.placed and (pattern.placed not in op.attributes or [axis[0] == "*" for axis in pattern.axes] != [True, False, True]):
                yield "tensors", name, f"an axis by attribute is written *A D@dim *B, in {name}", repr(pattern.text), "write it so"
            elif axes is None or len(axes) < len(pattern.page_axes):
                yield ("tensors", name, f"AXES of the page has {len(pattern.page_axes)} characters for {name} ({pattern.text}), one for each axis and "
                       "each factor", repr(axes), "add those")
    yield from _page_faults(op, names)


def _misnamed(field: str, name: str, text: str, known) -> Iterator[tuple]:
    try:
        wrong = [one for one in formula(text).co_names if one not in known and one not in FUNCTIONS]
    except SyntaxError as error:
        yield field, name, f"the formula for {name} is an expression", f"{text!r}: {error.msg}", "mend it"
        return
    if wrong:
        yield field, name, f"the formula for {name} names lengths and attributes: {', '.join(sorted(known))}", f"{', '.join(wrong)} in {text!r}", "use these"


def _page_faults(op: Operator, names: list[str]) -> Iterator[tuple]:
    """A page's functions take what the declaration passes: inputs by name, but for attributes that it does not see."""
    for function, passed in (("forward", op.takes), ("backward", [name for name in names if name not in op.gradient_of])):
        code = getattr(getattr(op.page, function, None), "__code__", None)
        wanted = {name for name in passed if name in op.tensors or op.attributes[name].seen}
        taken = set(code.co_varnames[1:code.co_argcount]) if code else set()
        if wanted - taken or (taken - wanted and not hasattr(op.page, "PRELUDE")):
            yield ("page", "", f"{function} of the page takes xp, {', '.join(name for name in passed if name in wanted)}",
                   ", ".join(sorted(taken)) if code else "no such function", "make page and declaration agree: what a page does not need "
                   "to know is declared seen=False")


def _line(path: Path, field: str, key: str) -> int:
    """The line of a key in a field of the declaration, else of the field, else of the declaration."""
    call = next((node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)
                 and getattr(node.func, "id", "") == "Operator"), None)
    at = next((one for one in call.keywords if one.arg == field), call) if call else None
    inside = [node.lineno for node in ast.walk(at) if key and isinstance(node, ast.Constant) and node.value == key] if at else []
    return min(inside, default=at.lineno if at else 1)
