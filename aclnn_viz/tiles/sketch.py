"""A tile program as a sketch in Ascend C: the same names, the same lines, the numbers of one launch.

The translation is mechanical, from the syntax tree of the Python program: what it does not know stays as a comment. It
is a sketch: nobody compiled it.
"""

import ast
import inspect
import textwrap

import numpy as np

from aclnn_viz.errors import need
from aclnn_viz.operators import operator
from aclnn_viz.operators.products import SOC
from aclnn_viz.tiles.launching import Program
from aclnn_viz.tiles.platforms import Platform, c_name, fitting

_ENUMS = {"RoundMode", "CMPMODE", "SELMODE", "HardEvent"}
_TYPED = {
    "AllocTensor",
    "AllocEventID",
    "DeQue",
    "Get",
    "ReinterpretCast",
}  # methods whose type is a template argument
_TEMPLATED = {
    "SetFlag",
    "WaitFlag",
    "PipeBarrier",
    "SetAtomicAdd",
}  # functions whose first argument is
_BRACED = {"DataCopyExtParams", "DataCopyParams", "UnaryRepeatParams", "BinaryRepeatParams"}
_FORMATS = {"float32": "float"}
_OPERATORS = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "/",
    ast.Mod: "%",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "==",
    ast.IsNot: "!=",
    ast.And: "&&",
    ast.Or: "||",
}


class Unknown(Exception):
    """A piece of Python that has no line in C++ here."""


class Lines:
    """The translation; `known` are the names that the present function has declared, `members` those of the class."""

    def __init__(self):
        self.known: set[str] = set()
        self.members: dict[str, str] = {}

    def kernel_class(self, node: ast.ClassDef) -> str:
        self.members = {}
        methods = [self._method(part) for part in node.body if isinstance(part, ast.FunctionDef)]
        members = "\n".join(f"{kind} {name};" for name, kind in self.members.items())
        return (
            f"class {node.name} {{\npublic:\n"
            + textwrap.indent("\n".join(methods), "    ")
            + "\nprivate:\n"
            + textwrap.indent(members, "    ")
            + "\n};\n"
        )

    def _method(self, node: ast.FunctionDef) -> str:
        names = [argument.arg for argument in node.args.args if argument.arg != "self"]
        self.known = set(names)
        kinds = {"tiling": "const TilingData &tiling"}
        given = [
            kinds.get(name, f"GM_ADDR {name}" if node.name == "Init" else f"auto {name}")
            for name in names
        ]
        returns = any(isinstance(part, ast.Return) and part.value for part in ast.walk(node))
        head = f"__aicore__ inline {'auto' if returns else 'void'} {node.name}({', '.join(given)})"
        return f"{head} {{\n{self.block(node.body)}\n}}\n"

    def block(self, body) -> str:
        outside = set(self.known)  # what a block declares ends with it
        text = textwrap.indent(
            "\n".join(line for node in body for line in self.statement(node)), "    "
        )
        self.known = outside
        return text

    def statement(self, node) -> list[str]:
        """The lines of one statement; what is not known stays as a comment."""
        try:
            return self._statement(node)
        except Unknown:
            return [
                f"// Python: {line}" for line in ast.unparse(node).replace("self.", "").splitlines()
            ]

    def _statement(self, node) -> list[str]:
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                return [f"// {line.strip()}" for line in text.strip().splitlines() if line.strip()]
            case ast.Expr(value=value):
                return [self.text(value) + ";"]
            case ast.Return(value=ast.Tuple()):
                raise Unknown
            case ast.Return(value=value):
                return [f"return {self.text(value)};" if value else "return;"]
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                return [line for one in zip(targets, values) for line in self._assign(*one)]
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.GeneratorExp(elt=made)):
                return [line for target in targets for line in self._assign(target, made)]
            case ast.Assign(targets=[target], value=value):
                return self._assign(target, value)
            case ast.If(test=test, body=body, orelse=others):
                condition = self.text(
                    test
                )  # what the types decide is decided when the kernel is compiled
                constant = (
                    " constexpr" if condition.removeprefix("!").startswith("std::is_same") else ""
                )
                lines = [f"if{constant} ({condition}) {{", self.block(body), "}"]
                return lines if not others else [*lines[:-1], "} else {", self.block(others), "}"]
            case ast.For(
                target=ast.Name(id=name),
                iter=ast.Call(func=ast.Name(id="range"), args=limits),
                body=body,
            ):
                start, stop, step = {1: ["0", *limits, "1"], 2: [*limits, "1"], 3: limits}[
                    len(limits)
                ]
                start, stop, step = (
                    one if isinstance(one, str) else self.text(one) for one in (start, stop, step)
                )
                self.known.add(name)
                return [
                    f"for (int64_t {name} = {start}; {name} < {stop}; {name} += {step}) {{",
                    self.block(body),
                    "}",
                ]
            case ast.For(
                target=target, iter=ast.Tuple(elts=values), body=body
            ):  # one copy of the body for each
                return [
                    line
                    for value in values
                    for one in body
                    for line in self.statement(_replaced(one, target, value))
                ]
        raise Unknown

    def _assign(self, target, value) -> list[str]:
        match target:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                if isinstance(value, ast.Attribute) and ast.unparse(value) in (
                    f"tiling.{name}",
                    "self.t",
                ):
                    return []  # a type of the launch
                made = self._made(value)
                self.members.setdefault(name, made or self._kind(value))
                return [] if made else [f"{self.text(target)} = {self.text(value)};"]
            case ast.Name(id=name):
                made, new = self._made(value), name not in self.known
                if made == "TPipe":  # which owns the buffers as long as the kernel runs
                    self.members.setdefault(name, made)
                    return []
                self.known.add(name)
                if made:
                    return [f"{made} {name};"]
                return [f"{'auto ' * new}{name} = {self.text(value)};"]
        raise Unknown

    def _made(self, value) -> str | None:
        """The C++ type of an object that a declaration makes."""
        match value:
            case ast.Call(func=ast.Name(id="GlobalTensor"), args=[kind]):
                return f"GlobalTensor<{self.text(kind)}>"
            case ast.Call(func=ast.Name(id="TQue"), args=[place, depth]):
                return f"TQue<TPosition::{self.text(place)}, {self.text(depth)}>"
            case ast.Call(func=ast.Name(id="TBuf"), args=[place]):
                return f"TBuf<TPosition::{self.text(place)}>"
            case ast.Call(func=ast.Name(id="TPipe"), args=[]):
                return "TPipe"
        return None

    def _kind(self, value) -> str:
        text = ast.unparse(value)
        if ".Get(" in text:
            return f"LocalTensor<{'uint8_t' if 'uint8_t' in text else 'float'}>"
        if text == "tiling":
            return "TilingData"
        if "is not None" in text:
            return "bool"
        return "float" if "F(" in text or "float32.type" in text else "int64_t"

    def text(self, node) -> str:
        """An expression in C++; raises Unknown for what has none."""
        match node:
            case ast.Constant(value=None):
                return "nullptr"
            case ast.Constant(value=bool(value)):
                return str(value).lower()
            case ast.Constant(value=float(value)):
                return f"{value!r}f"
            case ast.Constant(value=value):
                return str(value)
            case ast.Name(id=name):
                return _FORMATS.get(name, name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                return (
                    f"this->{name}" if name in self.known else name
                )  # beside a local of that name
            case ast.Attribute(value=value, attr="dtype"):
                return f"typename decltype({self.text(value)})::PrimType"
            case ast.Attribute(value=ast.Name(id=enum), attr=name) if enum in _ENUMS:
                return f"{enum}::{name}"
            case ast.Attribute(value=kind, attr="itemsize"):
                return f"sizeof({self.text(kind)})"
            case ast.Attribute(
                value=ast.Name(id="tiling") | ast.Attribute(attr="t"), attr=name
            ) if len(name) == 1 or name[:2] == "T_":
                return name  # a type
            case ast.Attribute(value=ast.Call(func=ast.Name(id="GetTPipePtr")), attr=name):
                return f"GetTPipePtr()->{name}"
            case ast.Attribute(value=value, attr=name):
                return f"{self.text(value)}.{name}"
            case ast.Subscript(value=value, slice=index):
                return f"{self.text(value)}[{self.text(index)}]"
            case ast.UnaryOp(
                op=ast.USub(),
                operand=ast.BinOp(
                    left=ast.UnaryOp(op=ast.USub(), operand=a), op=ast.FloorDiv(), right=b
                ),
            ):
                return f"CeilDiv({self.text(a)}, {self.text(b)})"
            case ast.UnaryOp(op=op, operand=value):
                return f"{'!' if isinstance(op, ast.Not) else '-'}{self.text(value)}"
            case ast.BinOp(left=a, op=op, right=b) if type(op) in _OPERATORS:
                return f"{self._grouped(a, op)} {_OPERATORS[type(op)]} {self._grouped(b, op, True)}"
            case ast.BoolOp(op=op, values=values):
                return f" {_OPERATORS[type(op)]} ".join(f"({self.text(value)})" for value in values)
            case ast.Compare(left=left, ops=ops, comparators=others):
                return self._compared(left, ops, others)
            case ast.IfExp(test=test, body=a, orelse=b):
                return f"({self.text(test)} ? {self.text(a)} : {self.text(b)})"
            case ast.Call():
                return self._call(node)
        raise Unknown

    def _grouped(self, node, op, right=False) -> str:
        """An operand, in brackets where it would else belong to a neighbour."""
        loose = isinstance(node, (ast.BoolOp, ast.Compare))
        if isinstance(node, ast.BinOp):
            inner, outer = (isinstance(one, (ast.Add, ast.Sub)) for one in (node.op, op))
            loose = inner and not outer or right and inner == outer
        return f"({self.text(node)})" if loose else self.text(node)

    def _compared(self, left, ops, others) -> str:
        sides = [left, *others]
        if any(type(op) not in _OPERATORS for op in ops):
            raise Unknown
        if ast.unparse(others[0]) == "float32" and isinstance(left, ast.Attribute):
            same = f"std::is_same<{self.text(left)}, float>::value"
            return same if isinstance(ops[0], ast.Eq) else f"!{same}"
        return " && ".join(
            f"{self.text(a)} {_OPERATORS[type(op)]} {self.text(b)}"
            for a, op, b in zip(sides, ops, others)
        )

    def _call(self, node: ast.Call) -> str:
        if any(isinstance(one, ast.Starred) for one in node.args) or node.keywords:
            raise Unknown
        arguments = [self.text(one) for one in node.args]
        match node.func:
            case ast.Attribute(value=owner, attr=name) if name in _TYPED:
                return f"{self.text(owner)}.{name}<{arguments[0]}>()"
            case ast.Attribute(value=ast.Name(id="float32"), attr="type") | ast.Name(id="F"):
                return f"static_cast<float>({', '.join(arguments)})"
            case ast.Name(id=name) if name in _TEMPLATED:
                return f"{name}<{arguments[0]}>({', '.join(arguments[1:])})"
            case ast.Name(id=name) if name in _BRACED:
                return f"{name}{{{', '.join(arguments)}}}"
            case ast.Name(id="DataCopyPadExtParams"):
                return f"DataCopyPadExtParams<T>{{{', '.join(arguments)}}}"
            case ast.Name(id=("min" | "max") as name) if len(arguments) == 3:
                return f"{name}({name}({arguments[0]}, {arguments[1]}), {arguments[2]})"
            case ast.Attribute(value=ast.Name(id="np")):
                raise Unknown
        return f"{self.text(node.func)}({', '.join(arguments)})"


def _replaced(node, target, value):
    """A copy of a statement with the loop's names replaced by one turn's expressions."""
    names = (
        {target.id: value}
        if isinstance(target, ast.Name)
        else {one.id: part for one, part in zip(target.elts, value.elts)}
    )

    class Replace(ast.NodeTransformer):
        def visit_Name(self, name):
            return names.get(name.id, name)

    return Replace().visit(ast.parse(ast.unparse(node)).body[0])


_HEAD = """\
// A sketch in Ascend C of the tile program {name} ({aclnn}), with the numbers of one launch on {soc}.
// Made line by line from Python; not compiled here. Types written as auto or int64_t may need yours.
#include "kernel_operator.h"
using namespace AscendC;
"""
_CEIL = "__aicore__ inline int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }\n"


def sketch(
    program: Program,
    /,
    soc: str = SOC,
    cores: int | None = None,
    unified_buffer: int | None = None,
    **inputs,
) -> str:
    """Return an Ascend C sketch of a program: tiling struct with its numbers, kernel class, entry function.

    >>> import aclnn_viz as av
    >>> text = sketch(av.tiles.programs("hardswish")[0], **av.case("hardswish").inputs)
    >>> "PipeBarrier<PIPE_V>();" in text, "self." in text
    (True, False)
    """
    need(program, Program, "a tile program is a Program", "pass av.tiles.programs(op)[0]")
    op, platform = operator(program.operator), Platform.of(soc, cores, unified_buffer)
    tiling = program.tiling(platform, **fitting(op, inputs)[0])
    module = getattr(tiling, "written", None) or inspect.getmodule(program.kernel)
    tree = ast.parse(inspect.getsource(module))
    classes = [getattr(module, node.name) for node in tree.body if isinstance(node, ast.ClassDef)]
    modules = dict.fromkeys(inspect.getmodule(one) for cls in classes for one in _above(cls)) or [
        module
    ]
    lines = Lines()
    parts = [
        _HEAD.format(name=program.name, aclnn=op.aclnn_name, soc=soc),
        *_types(tiling),
        _struct(tiling),
        f"// On the host: blockDim = {tiling.blockDim}, user workspace = {tiling.workspace} bytes.\n",
        *(line for one in modules for line in _constants(ast.parse(inspect.getsource(one)), lines)),
        _CEIL,
        *(lines.kernel_class(_as_one(cls)) for cls in classes),
    ]
    entry = next(
        node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "kernel"
    )
    return "\n".join([*parts, _entry(entry, program, lines)])


def _above(cls) -> list[type]:
    """The classes that a class extends, and itself last."""
    return cls.__mro__[-2::-1]


def _as_one(cls) -> ast.ClassDef:
    """One class in place of a class and those it extends, whose methods it may replace: nothing virtual on a core."""
    methods = {}
    for one in _above(cls):
        node = ast.parse(textwrap.dedent(inspect.getsource(one))).body[0]
        methods.update((part.name, part) for part in node.body if isinstance(part, ast.FunctionDef))
    node.body = list(methods.values())
    return node


def _types(tiling) -> list[str]:
    """The formats of the launch; C++ has them as template arguments chosen by the tiling key."""
    return [
        f"using {name} = {c_name(value)};"
        for name, value in tiling.numbers.items()
        if isinstance(value, np.dtype)
    ] + [""]


def _struct(tiling) -> str:
    fields = []
    for name, value in {"blockDim": tiling.blockDim, **tiling.numbers}.items():
        if isinstance(value, bool):
            fields.append(f"bool {name} = {str(value).lower()};")
        elif isinstance(value, float):
            fields.append(f"float {name} = {value!r}f;")
        elif isinstance(value, int):
            fields.append(f"int64_t {name} = {value};")
    return "struct TilingData {\n" + textwrap.indent("\n".join(fields), "    ") + "\n};\n"


def _constants(tree: ast.Module, lines: Lines) -> list[str]:
    """Module-level numbers and padding."""
    found = [
        f"constexpr int64_t {node.targets[0].id} = {node.value.value};"
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, int)
    ]
    found += [
        f"const DataCopyPadExtParams<T> {node.targets[0].id} = {lines.text(node.value)};"
        for node in tree.body
        if isinstance(node, ast.Assign)
        and ast.unparse(node.value).startswith("DataCopyPadExtParams(")
    ]
    return found


def _entry(entry: ast.FunctionDef, program: Program, lines: Lines) -> str:
    *tensors, _ = (argument.arg for argument in entry.args.args)
    arguments = ", ".join(f"GM_ADDR {name}" for name in (*tensors, "tiling"))
    made = next(node for node in entry.body if isinstance(node, ast.Assign))
    body = [f"{made.value.func.id} op;"]
    body += [lines.text(node.value) + ";" for node in entry.body[1:] if isinstance(node, ast.Expr)]
    return (
        f'extern "C" __global__ __aicore__ void {program.name}({arguments}) {{\n'
        "    GET_TILING_DATA(tilingData, tiling);\n"
        + textwrap.indent("\n".join(body).replace("tiling)", "tilingData)"), "    ")
        + "\n}\n"
    )
