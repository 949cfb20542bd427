"""Watch a Python kernel run, to trace its numbers: each call, operator, index and store is passed, with its line, to a function
that executes it.

For one call, its functions, and those of its folder that they call, get code compiled anew from their source. Functions of
other folders run unchanged.
"""

import ast
import copy
import inspect
import operator
import re
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from operator import attrgetter
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import NamedTuple

import numpy as np

from aclnn_viz.words.messages import message

WATCH = "_operation"
WATCHER = ast.Name(WATCH, ast.Load())
# names of operators in Python's module `operator` by AST node, where they differ
OPERATORS = dict(
    Mult="mul", Div="truediv", MatMult="matmul", USub="neg", LtE="le", GtE="ge", NotEq="ne"
)
# calls that are not watched: all but slice inspect the frame of their caller
APART = {"super", "locals", "vars", "dir", "eval", "exec", "slice"}
KIT = Path(__file__).parents[1]
SAME = attrgetter("co_qualname", "co_firstlineno", "co_freevars", "co_varnames")


class Operation(NamedTuple):
    """An operation: file and line, source text, and the names of its operands."""

    file: str
    line: int
    code: str
    operands: tuple[str, ...]
    place: str


def place_of(file: str, line: int) -> str:
    """Return a line in a reader's form: a notebook cell has a number for a file name, which is omitted."""
    if re.fullmatch(r"\d+\.py", name := Path(file).name):
        return message("line {line}", line=line)
    return message("{file}, line {line}", file=name, line=line)


class _Handed(ast.NodeTransformer):
    """A transformer of syntax that replaces each operation by a call of the watcher, with the operation's file and
    number."""

    def __init__(self, file: str):
        self.file, self.operations = file, {}

    def _over(self, node, function, operands, keywords=(), owner=()) -> ast.Call:
        texts = [*owner, *operands, *(keyword.value for keyword in keywords)]
        names, code = tuple(map(ast.unparse, texts)), ast.unparse(getattr(node, "read", node))
        at = self.file, node.lineno
        place = self.file, len(self.operations)
        self.operations[place] = Operation(*at, code, names, place_of(*at))
        called = ast.Constant(function) if isinstance(function, str) else self.visit(function)
        parts = [ast.Constant(place), called, *map(self._value, operands)]
        call = ast.Call(WATCHER, parts, [*map(self.visit, keywords)])
        return ast.copy_location(call, node)  # the copy keeps the line of the original node

    def _value(self, node: ast.expr) -> ast.expr:
        """Return the syntax of an operand that can be inspected: an index as a value, a generator as a list."""
        match node:
            case ast.Slice() | ast.Tuple():
                index = ast.Attribute(WATCHER, "index", ast.Load())
                return ast.Subscript(index, self.generic_visit(node), ast.Load())
            case ast.GeneratorExp(elt=element, generators=generators):
                node = ast.ListComp(element, generators)
        return self.visit(node)

    def _operator(self, node, kind, *operands) -> ast.AST:
        name = OPERATORS.get(kind := type(kind).__name__, kind.lower())
        name = "i" * hasattr(node, "read") + name
        handed = hasattr(operator, name)
        return self._over(node, name, operands) if handed else self.generic_visit(node)

    def visit(self, node):
        match node:
            case (
                ast.BinOp(left=left, op=kind, right=right)
                | ast.Compare(left=left, ops=[kind], comparators=[right])
            ):
                return self._operator(node, kind, left, right)
            case ast.UnaryOp(op=kind, operand=operand):
                return self._operator(node, kind, operand)
            case ast.Call(func=ast.Name(id=name)) if name == WATCH:
                return node
            case ast.Call(func=function) if getattr(function, "id", "") not in APART:
                owner = [function.value] if isinstance(function, ast.Attribute) else []
                return self._over(node, function, node.args, node.keywords, owner)
            case ast.For() | ast.comprehension():
                node.iter = self._rows(node.iter)
            case ast.Subscript(value=array, slice=place, ctx=ast.Load()):
                return self._over(node, "getitem", (array, place))
            case ast.Assign(targets=[ast.Subscript(value=array, slice=place)], value=value):
                return ast.Expr(self._over(node, "setitem", (array, place, value)))
        return super().visit(node)

    def _rows(self, node: ast.expr) -> ast.expr:
        """Return the syntax of a loop's iterable, passed to the watcher as the operation "rows"."""
        match node:
            case ast.Call(func=ast.Name(id="zip" | "enumerate" | "reversed"), args=args):
                node.args = [*map(self._rows, args)]
                return node
        return self._over(node, "rows", (node,))

    def visit_AugAssign(self, node):
        new = copy.deepcopy(node.target)
        new.ctx = ast.Load()
        value = ast.copy_location(ast.BinOp(new, node.op, node.value), node)
        stored = ast.copy_location(ast.Assign([node.target], value), node)
        value.read = stored.read = node
        return self.visit(stored)


def _rows(value):
    """Return an array's elements as a list, to inspect them; other values unchanged."""
    return list(value) if hasattr(value, "shape") else value


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def _functions(value, known: dict[FunctionType, CodeType]) -> None:
    """Add to `known` a value's functions with their code: it, those that it holds, and those that it calls in its
    folder or as methods of its file's classes.
    """
    parts: list = []
    match value:
        case partial():
            parts = [value.func, *value.args, *value.keywords.values()]
        case MethodType() | staticmethod() | classmethod():
            parts = [value.__func__]
        case FunctionType(__code__=code) if value not in known:
            known[value] = code
            parts = [cell.cell_contents for cell in value.__closure__ or ()]
            names = {name for inner in _codes(code) for name in inner.co_names}
            for name in (
                names & value.__globals__.keys() if not _folder(code).is_relative_to(KIT) else ()
            ):
                match value.__globals__[name]:
                    case type(__module__=value.__module__) as kind:
                        parts += vars(kind).values()
                    case FunctionType(__code__=called) as function:
                        parts += [function] * (_folder(called) == _folder(code))
    for part in parts:
        _functions(part, known)


def _folder(code: CodeType) -> Path:
    return Path(code.co_filename).parent


@lru_cache
def _handed(file: str, source: str) -> tuple:
    """Return the operations of a file by place, and its code that hands each to the watcher."""
    handed = _Handed(file)
    tree = ast.fix_missing_locations(handed.visit(ast.parse(source)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = compile(tree, file, "exec", dont_inherit=True)
    return handed.operations, {SAME(part): part for part in _codes(whole)}


def watched(kernel: Callable, watch: Callable, **inputs):
    """Run a kernel so that `watch(operation, function, operands, call)` executes each operation by `call()`; return its result.

    Raises OSError without a source, KeyError if the source differs.
    """
    known, operations, twins = {}, {}, {}

    def made(place, function, /, *args, **options):
        if isinstance(function, str):
            function = getattr(operator, function, _rows)
        called, operands = operations[place], [*args, *options.values()]
        if len(called.operands) > len(
            operands
        ):  # a method is called on an array: the first operand
            operands.insert(0, getattr(function, "__self__", None))
        return watch(called, function, operands, lambda: function(*args, **options))

    made.index = np.s_
    _functions(kernel, known)
    for function, code in known.items():
        if not _folder(code).is_relative_to(KIT):
            own, codes = _handed(code.co_filename, "".join(inspect.findsource(code)[0]))
            operations |= own
            twins[function] = codes[SAME(code)]
    if not twins:
        raise OSError(kernel)
    try:
        for function, twin in twins.items():
            function.__code__, function.__globals__[WATCH] = twin, made
        return kernel(**inputs)
    finally:
        for function in twins:
            function.__code__ = known[function]
            function.__globals__.pop(WATCH, None)
