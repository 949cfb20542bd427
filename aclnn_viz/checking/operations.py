"""Record how a kernel computes: each operation with its line, and the elements that it takes and makes.

Each element has an address, in memory or as a Python number. A first run of a Python kernel shows which functions run. For a
second run those outside Python, array libraries and the kit get code compiled anew from their source, in which the recorder
executes each operation.
"""

import copy
import gc
import inspect
import re
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import CodeType, FunctionType
from typing import NamedTuple

import numpy as np

from aclnn_viz.arrays import calls
from aclnn_viz.arrays.operations import RECORDER, Handed, function_of
from aclnn_viz.storage.foreign_arrays import as_array, is_number
from aclnn_viz.words.messages import message

TILES = "aclnn_viz.checking.tile_operations"  # loaded only for tile programs
WORK = 5_000_000  # most elements of all recorded results; each result counts as at least `COUNTED`
COUNTED = 100
UNWRITTEN = message("memory that was never written")
NOTHING = np.empty(0)  # stands for operands without elements, such as unwritten memory
# functions and instructions that add elements up
SUMS = re.compile("sum|mean|dot|mm|matmul|inner|norm|reduce|std|var|linear|softmax", re.I)
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
        return Part(self.at[place], self.values[place], self.name)

    @property
    def wrong(self) -> np.ndarray:
        """The mask of nan and infinities."""
        return ~np.isfinite(self.values)


class Step(NamedTuple):
    """An operation that ran: its line and code, the function's name, the operands before it, and a result.

    `core` names the core and the tensor in a tile program; `inner` counts the steps that ran inside the operation.
    """

    file: str
    line: int
    code: str
    name: str
    operands: list[Part]
    result: Part
    core: str = ""
    inner: int = 0

    @property
    def place(self) -> str:
        place = place_of(self.file, self.line)
        return message("{place}, {core}", place=place, core=self.core) if self.core else place

    @property
    def said(self) -> str:
        return message("{place}: {code}", place=self.place, code=self.code)

    @property
    def shares(self) -> set[float]:
        """The number of elements of each operand for one element of the result."""
        return {operand.at.size / max(self.result.at.size, 1) for operand in self.operands}


def place_of(file: str, line: int) -> str:
    """Return a line in a reader's form: a notebook cell has a number for a file name, which is omitted."""
    if re.fullmatch(r"\d+\.py", name := Path(file).name):
        return message("line {line}", line=line)
    return message("{file}, line {line}", file=name, line=line)


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
            steps = np.tensordot(np.int64(array.strides), np.indices(array.shape), 1)
            at = np.asarray(array.ctypes.data + steps)
            if hasattr(value, "data_ptr") and array.size and value.data_ptr() != at.flat[0]:
                raise NotImplementedError("a copy of an array on a device has other addresses")
        case _:
            return None
    return Part(at, array.astype(np.float64), name) if is_number(array.dtype) else None


@lru_cache
def _handed(file: str, source: str) -> dict[tuple, CodeType]:
    """Return the code of each function of a file that hands its operations to the recorder."""
    codes = [Handed(file).compiled(source)]
    for code in codes:
        codes += [part for part in code.co_consts if isinstance(part, CodeType)]
    return {SAME(code): code for code in codes}


class Recorder:
    """What executes the operations of a kernel, and records those with elements in `steps`."""

    def __init__(self):
        self.steps: list[Step] = []
        # recorded arrays stay alive, so that no other array gets their address
        self.kept: list = []
        self.left = WORK

    def __getitem__(self, index):
        return index

    def note(self, step: Step):
        self.left -= max(step.result.at.size, COUNTED)
        if self.left < 0:
            raise NotImplementedError("there is too much to record")
        self.steps.append(step)

    def __call__(self, operation, function, /, *args, **options):
        function = function_of(function)
        if RECORDER.id in getattr(getattr(function, "__code__", None), "co_names", ()):
            return function(*args, **options)  # its own operations are recorded
        *place, names = operation
        name, start = getattr(function, "__name__", ""), len(self.steps)
        # what stands in `out` before is an operand only if `where` keeps some of it
        read = options if "where" in options else {**options, "out": None}
        given = [getattr(function, "__self__", None), *args, *read.values()]
        operands = [text and part(value, text) for value, text in zip(given, names)]
        result = function(*args, **options)
        self.kept.append((given, result))
        made = [*result] if isinstance(result, tuple) else [result]
        if name in ("getitem", "setitem"):
            if not hasattr(args[0], "shape"):
                return result
            element = [part(args[0], names[1]).chosen(args[1])]
            operands, made = (element, made) if name == "getitem" else (operands[3:], element)
        elif "empty" in name:
            operands = [part(NOTHING, UNWRITTEN)]
            with suppress(ValueError):  # integers
                as_array(result)[...] = np.nan
        else:  # an operation may write into its operands
            for value, before in zip(given, operands):
                if before and hasattr(value, "shape") and value is not result:
                    after = part(value)
                    if not np.array_equal(before.values, after.values, equal_nan=True):
                        made.append(after)
        operands = [*filter(None, operands)]
        for each in filter(None, map(part, made)):
            inner = len(self.steps) - start
            if operands or inner:
                self.note(Step(*place, name, operands, each, inner=inner))
        return result


def recorded(kernel: Callable, inputs: Mapping, **how) -> tuple[list[Step], object]:
    """Run a kernel, a tile program with keywords of `launch`; return its steps and what it returns, as Parts or arrays.

    Raises whatever the kernel raises, OSError without a source or if `gc.freeze` hides its functions, KeyError if the source
    differs.
    """
    if hasattr(kernel, "under"):
        return import_module(TILES).recorded(kernel, inputs, **how)
    ran, twins, recorder = set(), {}, Recorder()

    def mine(frame):
        if str(frame.f_globals.get("__name__")).partition(".")[0] not in UNCHANGED:
            ran.add(frame.f_code)

    calls.watched(lambda: kernel(**copy.deepcopy(inputs)), mine)
    for function in gc.get_referrers(*ran):
        if type(function) is FunctionType:
            with suppress(OSError):  # no source
                code = function.__code__
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
