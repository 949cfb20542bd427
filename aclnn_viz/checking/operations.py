"""Record how a kernel computes: each operation with its line, and the elements that it takes and makes.

Each element has an address, in memory or as a Python number. A first run of a Python kernel shows which functions run. For a
second run those outside Python, array libraries and the kit get code compiled anew from their source, in which the recorder
executes each call, operator, index and store.
"""

import ast
import copy
import gc
import inspect
import operator
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple

import numpy as np

from aclnn_viz.arrays import calls
from aclnn_viz.storage.foreign_arrays import as_array, is_number
from aclnn_viz.words.messages import message

TILES = "aclnn_viz.checking.tile_operations"  # loaded only for tile programs
WORK = 5_000_000  # most elements of all recorded results; each result counts as at least `COUNTED`
COUNTED = 100
UNWRITTEN = message("memory that was never written")
# functions and instructions that add elements up
SUMS = re.compile("sum|mean|dot|mm|matmul|inner|norm|reduce|std|var|linear|softmax", re.I)
EMPTY = {"empty", "empty_like", "new_empty"}
RECORDER, NOTHING = ast.Name("_recorded_operation", ast.Load()), ast.Constant(None)
# names of operators in Python's module `operator` by AST node, where they differ
OPERATORS = dict(
    Mult="mul", Div="truediv", MatMult="matmul", USub="neg", LtE="le", GtE="ge", NotEq="ne"
)
# modules whose functions run unchanged
UNCHANGED = sys.stdlib_module_names | {"aclnn_viz", "numpy", "ml_dtypes", "torch", "jax"}
SAME = attrgetter("co_qualname", "co_firstlineno", "co_freevars", "co_varnames")


class Part(NamedTuple):
    """Elements of an operand or a result: their addresses, values and name."""

    at: np.ndarray
    values: np.ndarray
    name: str = ""

    def chosen(self, place) -> "Part":
        """Return the elements at an index."""
        return Part(*(np.asarray(array[place]) for array in self[:2]), self.name)

    @property
    def wrong(self) -> np.ndarray:
        """The mask of nan and infinities."""
        return ~np.isfinite(self.values)


class Step(NamedTuple):
    """An operation that ran: its line and code, the function's name, its place in words, the operands before it, and a result.

    `origin` names a source that has no elements; `inner` counts the steps that ran inside the operation.
    """

    file: str
    line: int
    code: str
    name: str
    place: str
    operands: list[Part]
    result: Part
    origin: str = ""
    inner: int = 0


def place_of(file: str, line: int) -> str:
    """Return a line in a reader's form: a notebook cell has a number for a file name, which is omitted."""
    if re.fullmatch(r"\d+\.py", name := Path(file).name):
        return message("line {line}", line=line)
    return message("{file}, line {line}", file=name, line=line)


def said(step: Step, place: str) -> str:
    """Return an operation and its place as text."""
    return message("{place}: {code}", place=place, code=step.code)


def part(value, name: str = "") -> Part | None:
    """Return an array, a number or a list of these as a Part with copied values; None for other types."""
    match value:
        case Part():
            return value
        case list() | tuple():
            parts = [*filter(None, map(part, value))]
            arrays = (np.concatenate(arrays, None) for arrays in [*zip(*parts)][:2])
            return Part(*arrays, name) if parts else None
        case float() | np.generic():
            array, at = np.asarray(value), np.array(-id(value))
        case object(shape=_):
            array = np.asarray(as_array(value))
            at = addresses(array)
            if hasattr(value, "data_ptr") and array.size and value.data_ptr() != at.flat[0]:
                raise NotImplementedError("a copy of an array on a device has other addresses")
        case _:
            return None
    return Part(at, array.astype(np.float64), name) if is_number(array.dtype) else None


def addresses(array: np.ndarray) -> np.ndarray:
    """Return the address of each element in memory."""
    steps = np.tensordot(np.int64(array.strides), np.indices(array.shape), 1)
    return np.asarray(array.ctypes.data + steps)


class _Handed(ast.NodeTransformer):
    """A transformer of syntax that replaces each operation by a call of the recorder, with its line, its
    code and that of its operands."""

    def __init__(self, file: str):
        self.file = file

    def _over(self, node, function, operands, keywords=()) -> ast.AST:
        named = isinstance(function, str)
        if named and function != "rows" and not hasattr(operator, function):
            return self.generic_visit(node)
        owner = getattr(function, "value", NOTHING)  # a method belongs to an array
        texts = map(_variable, [owner, *operands, *(keyword.value for keyword in keywords)])
        place = ast.Constant((self.file, node.lineno, _text(node), tuple(texts)))
        called = ast.Constant(function) if named else self.visit(function)
        arguments = [place, called, *map(self.visit, operands)]
        call = ast.Call(RECORDER, arguments, [*map(self.visit, keywords)])
        return ast.copy_location(call, node)  # the copy keeps the line of the original node

    def visit(self, node):
        match node:
            case ast.BinOp(left, kind, right) | ast.Compare(left, [kind], [right]):
                return self._over(node, _name(kind), (left, right))
            case ast.UnaryOp(kind, operand):
                return self._over(node, _name(kind), (operand,))
            case ast.Call(ast.Name(RECORDER.id)):
                return node
            case ast.Call(ast.Name("super" | "locals" | "vars" | "dir" | "eval" | "exec")):
                pass  # these inspect the frame of their caller
            case ast.Call(function, operands, keywords):
                return self._over(node, function, operands, keywords)
            case ast.For() | ast.comprehension():
                node.iter = self._rows(node.iter)
            case ast.Subscript(array, place, ast.Load()):
                return self._over(node, "getitem", (array, place))
            case ast.Assign([ast.Subscript(array, place)], value):
                return ast.Expr(self._over(node, "setitem", (array, place, value)))
        return super().visit(node)

    def _rows(self, node: ast.expr) -> ast.expr:
        """Return the syntax of a loop's iterable, passed to the recorder as the operation "rows"."""
        match node:
            case ast.Call(ast.Name("zip" | "enumerate" | "reversed")):
                node.args = [*map(self._rows, node.args)]
                return node
        return self._over(node, "rows", (node,))

    def visit_Slice(self, node):
        parts = (part or NOTHING for part in (node.lower, node.upper, node.step))
        return ast.Call(ast.Name("slice", ast.Load()), [*map(self.visit, parts)], [])

    def visit_AugAssign(self, node):
        read = copy.deepcopy(node.target)
        read.ctx = ast.Load()
        value = self._over(node, "i" + _name(node.op), (read, node.value))
        if value is node:
            return node
        stored = ast.copy_location(ast.Assign([node.target], value), node)
        stored.text = value.text = ast.unparse(node)
        return self.visit(stored)


def _name(kind: ast.AST) -> str:
    """Return the name of an operator in Python's module `operator`."""
    name = type(kind).__name__
    return OPERATORS.get(name, name.lower())


def _text(node: ast.AST) -> str:
    return getattr(node, "text", None) or ast.unparse(node)


def _variable(node: ast.expr) -> str:
    """Return the text of an operand, "" for a constant."""
    return _text(node) if any(isinstance(part, ast.Name) for part in ast.walk(node)) else ""


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


@lru_cache
def _handed(file: str, source: str) -> dict[tuple, CodeType]:
    """Return the code of a file that hands each operation to the recorder."""
    tree = ast.fix_missing_locations(_Handed(file).visit(ast.parse(source)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {SAME(part): part for part in _codes(compile(tree, file, "exec"))}


def _rows(value):
    """Return an array's elements as a list, to inspect them; other values unchanged."""
    return list(value) if hasattr(value, "shape") else value


class Recorder:
    """What executes the operations of a kernel, and records those with elements in `steps`."""

    def __init__(self):
        self.steps: list[Step] = []
        # recorded arrays stay alive, so that no other array gets their address
        self.kept: list = []
        self.left = WORK

    def note(self, step: Step):
        self.left -= max(step.result.at.size, COUNTED)
        if self.left < 0:
            raise NotImplementedError("there is too much to record")
        self.steps.append(step)

    def __call__(self, operation, function, /, *args, **options):
        if isinstance(function, str):
            function = getattr(operator, function, _rows)
        if RECORDER.id in getattr(getattr(function, "__code__", None), "co_names", ()):
            return function(*args, **options)  # its own operations are recorded
        file, line, code, names = operation
        name, start, origin = getattr(function, "__name__", ""), len(self.steps), ""
        given = [getattr(function, "__self__", None), *args, *options.values()]
        operands = [text and part(value, text) for value, text in zip(given, names)]
        result = function(*args, **options)
        self.kept.append((given, result))
        results = [*(result if isinstance(result, tuple) else [result])]
        if name in ("getitem", "setitem"):
            if not hasattr(args[0], "shape"):
                return result
            element = part(args[0], names[1]).chosen(args[1])
            if name == "getitem":
                operands = [element]
            else:
                operands, results = operands[3:], [element]
        elif name in EMPTY:
            operands, origin = [], UNWRITTEN
            with suppress(ValueError):  # integers
                as_array(result)[...] = np.nan
        else:  # an operation may write into its operands
            results += [
                value
                for value, before in zip(given, operands)
                if before and hasattr(value, "shape") and value is not result
                if not np.array_equal(before.values, part(value).values, equal_nan=True)
            ]
        operands = [*filter(None, operands)]
        for made in filter(None, map(part, results)):
            inner = len(self.steps) - start
            if operands or origin or inner:
                place = place_of(file, line)
                self.note(Step(file, line, code, name, place, operands, made, origin, inner))
        return result


def recorded(kernel: Callable, inputs: Mapping, **how) -> tuple[list[Step], object]:
    """Run a kernel, a tile program with keywords of `launch`; return its steps and what it returns, as Parts or arrays.

    Raises whatever the kernel raises, OSError without a source or if `gc.freeze` hides its functions, KeyError if the source
    differs.
    """
    if hasattr(kernel, "under"):
        return import_module(TILES).recorded(kernel, inputs, **how)
    ran, twins, recorder = set(), {}, Recorder()
    calls.watched(lambda: kernel(**copy.deepcopy(inputs)), lambda frame: ran.add(frame.f_code))
    for function in gc.get_objects():
        if type(function) is not FunctionType or (code := function.__code__) not in ran:
            continue
        with suppress(OSError):  # no source
            if str(function.__module__).partition(".")[0] not in UNCHANGED:
                source = "".join(inspect.findsource(code)[0])
                twins[function] = code, _handed(code.co_filename, source)[SAME(code)]
    if not twins:
        raise OSError(kernel)
    try:
        for function, (_, twin) in twins.items():
            function.__code__, function.__globals__[RECORDER.id] = twin, recorder
        return recorder.steps, kernel(**copy.deepcopy(inputs))
    finally:
        for function, (code, _) in twins.items():
            function.__code__ = code
            function.__globals__.pop(RECORDER.id, None)
