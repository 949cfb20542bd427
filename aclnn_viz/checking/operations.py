"""A Python kernel in which somebody else makes each operation: every call, operator, index and store of its file, with its line.

The kernel is compiled anew from its source; closures, partials and defaults stay as they are. What it calls in other folders runs
as it is.
"""

import ast
import copy
import inspect
import operator
import re
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import CellType, CodeType, FunctionType, MethodType
from typing import NamedTuple

from aclnn_viz.words.messages import message

WATCH = "_operation"
# By the name of its node what an operator is called in Python's module.
OPERATORS = {
    **{name: name.lower() for name in ("Add", "Sub", "Mod", "Pow", "Lt", "Gt", "Eq", "MatMult")},
    **{"Mult": "mul", "Div": "truediv", "FloorDiv": "floordiv", "MatMult": "matmul"},
    **{"USub": "neg", "LtE": "le", "GtE": "ge", "NotEq": "ne"},
}
APART = {"super", "locals", "vars", "dir", "eval", "exec", "slice"}  # they look at who calls them
KIT = Path(__file__).parents[1]
SAME = "co_qualname", "co_firstlineno", "co_freevars", "co_varnames"  # of a function and its twin


class Operation(NamedTuple):
    """Where it stands, how it reads, and what its operands are called there."""

    file: str
    line: int
    code: str
    operands: tuple[str, ...]
    place: str


def place_of(file: str, line: int) -> str:
    """A line as people name it: in a cell of a notebook without the file, which has a number for a name."""
    if re.fullmatch(r"\d+\.py", name := Path(file).name):
        return message("line {line}", line=line)
    return message("{file}, line {line}", file=name, line=line)


class _Handed(ast.NodeTransformer):
    """Hands each operation of a tree over, by its number in `operations`."""

    def __init__(self, file: str, operations: list[Operation]):
        self.file, self.operations = file, operations

    def _over(self, node, function, operands, keywords=(), owner=()) -> ast.Call:
        texts = (*owner, *operands, *(keyword.value for keyword in keywords))
        place = place_of(self.file, node.lineno)
        operands_, code = tuple(map(ast.unparse, texts)), ast.unparse(node)
        self.operations.append(Operation(self.file, node.lineno, code, operands_, place))
        head = ast.Constant(len(self.operations) - 1), self.visit(function)
        parts = [*head, *map(self.visit, map(_value, operands))]
        return ast.Call(ast.Name(WATCH, ast.Load()), parts, [*map(self.visit, keywords)])

    def _operator(self, node, kind, *operands, inplace="") -> ast.AST:
        name = OPERATORS.get(type(kind).__name__)
        return (
            self._over(node, ast.Constant(inplace + name), operands)
            if name
            else self.generic_visit(node)
        )

    def visit_BinOp(self, node):
        return self._operator(node, node.op, node.left, node.right)

    def visit_UnaryOp(self, node):
        return self._operator(node, node.op, node.operand)

    def visit_Compare(self, node):
        return self._operator(
            node, None if node.ops[1:] else node.ops[0], node.left, *node.comparators
        )

    def visit_Call(self, node):
        name = getattr(node.func, "id", "")
        if name == WATCH or name in APART:
            return node if name == WATCH else self.generic_visit(node)
        owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        return self._over(node, node.func, node.args, node.keywords, owner)

    def visit_For(self, node):
        node.iter = self._rows(node.iter)
        return self.generic_visit(node)

    visit_comprehension = visit_For

    def _rows(self, node: ast.expr) -> ast.expr:
        """What a loop goes over, with each of its elements an operation's."""
        match node:
            case ast.Call(func=ast.Name(id="zip" | "enumerate" | "reversed"), args=args):
                node.args = [*map(self._rows, args)]
                return node
        return self._over(node, ast.Constant("rows"), (node,))

    def visit_Subscript(self, node):
        if isinstance(node.ctx, ast.Load):
            return self._over(node, ast.Constant("getitem"), (node.value, node.slice))
        return self.generic_visit(node)

    def visit_Assign(self, node):
        match node.targets:
            case [ast.Subscript(value=value, slice=place)]:
                parts = value, place, node.value
                return ast.Expr(self._over(node, ast.Constant("setitem"), parts))
        return self.generic_visit(node)

    def visit_AugAssign(self, node):
        new = copy.deepcopy(node.target)
        new.ctx = ast.Load()
        value = self._operator(node, node.op, new, node.value, inplace="i")
        if isinstance(value, ast.AugAssign):
            return value
        match node.target:
            case ast.Subscript(value=array, slice=place):
                stored = self._over(node, ast.Constant("setitem"), (array, place, node.target))
                stored.args[-1] = value
                return ast.Expr(stored)
        return ast.Assign([node.target], value)


def _value(node: ast.expr) -> ast.expr:
    """An index as a value, and what a generator gives as a list, which can be looked at."""
    match node:
        case ast.Slice(lower=lower, upper=upper, step=step):
            parts = [part or ast.Constant(None) for part in (lower, upper, step)]
            node = ast.Call(ast.Name("slice", ast.Load()), parts, [])
        case ast.Tuple(elts=elements) if any(isinstance(part, ast.Slice) for part in elements):
            node = ast.Tuple([*map(_value, elements)], ast.Load())
        case ast.GeneratorExp(elt=element, generators=generators):
            node = ast.ListComp(element, generators)
    return node


def _rows(value):
    """The elements of an array as a list, that they may be looked at; anything else as it is."""
    return list(value) if hasattr(value, "shape") else value


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


class Watched:
    """Kernels in which `watch(operation, function, *args, **options)` makes each operation; what it returns is its result.

    OSError where there is no source.
    """

    def __init__(self, watch: Callable):
        self.watch, self.operations, self.twins = watch, [], {}
        self.spaces, self.codes = {}, {}

    def of(self, value):
        """A function, or what holds one, as it is watched; anything else as it is."""
        match value:
            case partial():
                options = {name: self.of(part) for name, part in value.keywords.items()}
                return partial(self.of(value.func), *map(self.of, value.args), **options)
            case MethodType():
                return MethodType(self.of(value.__func__), value.__self__)
            case staticmethod():
                return staticmethod(self.of(value.__func__))
            case FunctionType():
                return self.twins.get(value) or self._twin(value)
        return value

    def _twin(self, function: FunctionType) -> FunctionType:
        code, space = function.__code__, function.__globals__
        own = KIT not in Path(code.co_filename).parents
        if own:
            code = self._code(code)
            space = self.spaces.setdefault(id(space), space | {WATCH: self._made})
        closure = function.__closure__ or ()
        cells = tuple(self.twins.setdefault(id(cell), CellType()) for cell in closure)
        twin = FunctionType(code, space, function.__name__, function.__defaults__, cells)
        twin.__kwdefaults__ = function.__kwdefaults__
        self.twins[function] = self.twins[twin] = twin
        for old, new in zip(closure, cells):
            new.cell_contents = self.of(old.cell_contents)
        names = {name for part in _codes(code) for name in part.co_names} if own else set()
        for name in names & space.keys():
            space[name] = self._beside(space[name], function)
        return twin

    def _beside(self, value, function: FunctionType):
        """What a function calls of its own folder, and classes of its file, as they are watched; anything else as it is."""
        if isinstance(value, FunctionType):
            paths = (Path(one.__code__.co_filename).parent for one in (value, function))
            return self.of(value) if len({*paths}) == 1 else value
        if isinstance(value, type) and value.__module__ == function.__module__:
            methods = {name: self.of(part) for name, part in vars(value).items()}
            changed = {
                name: part for name, part in methods.items() if part is not vars(value)[name]
            }
            self.twins[value] = type(value)(value.__name__, (value,), changed)
            return self.twins[value]
        return value

    def _made(self, number: int, function, /, *args, **options):
        if isinstance(function, str):
            function = getattr(operator, function, _rows)
        return self.watch(self.operations[number], function, *args, **options)

    def _code(self, code: CodeType) -> CodeType:
        """The code of a function in which operations are handed over."""
        file = code.co_filename
        if file not in self.codes:
            tree = ast.parse("".join(inspect.findsource(code)[0]))
            tree = ast.fix_missing_locations(_Handed(file, self.operations).visit(tree))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.codes[file] = [*_codes(compile(tree, file, "exec", dont_inherit=True))]
        for other in self.codes[file]:
            if all(getattr(other, name) == getattr(code, name) for name in SAME):
                return other
        raise OSError(code)
