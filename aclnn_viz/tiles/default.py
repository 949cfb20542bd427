"""Generate an Ascend C kernel, a line for each instruction, from an operator's formulas, for operators without one written by
hand.

    CopyIn: a tile of each input -> Compute: the page in straight lines, everything in float -> CopyOut: a tile of each output

A tile has as many elements as fit, or is a row if the page sums rows. Each step of the page is one or two vector instructions
and a barrier; a buffer is reused once its value is no longer needed. Steps without an instruction (tanh), sums over rows, moved
elements and tensors broadcast along inner axes raise NotStraight with the reason: such programs are written by hand.
"""

import linecache
import sys
from functools import cache
from math import prod
from types import ModuleType
from zlib import crc32

import numpy as np

from aclnn_viz.arrays.javascript import Traced
from aclnn_viz.arrays.lines import NotStraight, straight
from aclnn_viz.arrays.plan import BLOCKED, Plan
from aclnn_viz.cases import case
from aclnn_viz.operators import operator
from aclnn_viz.tiles.program import Program, Tiling

KEPT, QUEUED = 9216, 2  # bytes for Select, with a margin; buffers per queue
EVENT_IDS = 8  # per pair of pipes; each buffer of an input queue holds one
#: Ascend C code of a vector step; {x} is the result, {a} and {b} are vectors, {n} replaces {b}
#: for a number.
STEPS = {
    "add": "Add({x}, {a}, {b}, lanes)",
    "subtract": "Sub({x}, {a}, {b}, lanes)",
    "multiply": "Mul({x}, {a}, {b}, lanes)",
    "divide": "Div({x}, {a}, {b}, lanes)",
    "minimum": "Min({x}, {a}, {b}, lanes)",
    "maximum": "Max({x}, {a}, {b}, lanes)",
    "abs": "Abs({x}, {a}, lanes)",
    "sqrt": "Sqrt({x}, {a}, lanes)",
    "exp": "Exp({x}, {a}, lanes)",
    "log": "Ln({x}, {a}, lanes)",
    "negative": "Muls({x}, {a}, -1.0, lanes)",
    "where": "Select({x}, {a}, {b}, {c}, SELMODE.VSEL_TENSOR_TENSOR_MODE, lanes)",
    "equal": "Compare({x}, {a}, {b}, CMPMODE.EQ, lanes)",
    "not_equal": "Compare({x}, {a}, {b}, CMPMODE.NE, lanes)",
    "less": "Compare({x}, {a}, {b}, CMPMODE.LT, lanes)",
    "less_equal": "Compare({x}, {a}, {b}, CMPMODE.LE, lanes)",
    "greater": "Compare({x}, {a}, {b}, CMPMODE.GT, lanes)",
    "greater_equal": "Compare({x}, {a}, {b}, CMPMODE.GE, lanes)",
    "logical_and": "And({x}.ReinterpretCast(uint16_t), {a}.ReinterpretCast(uint16_t), {b}.ReinterpretCast(uint16_t), lanes // 16)",
    "logical_or": "Or({x}.ReinterpretCast(uint16_t), {a}.ReinterpretCast(uint16_t), {b}.ReinterpretCast(uint16_t), lanes // 16)",
    "logical_not": "Not({x}.ReinterpretCast(uint16_t), {a}.ReinterpretCast(uint16_t), lanes // 16)",
}
WITH_NUMBER = {
    "add": "Adds({x}, {a}, {n}, lanes)",
    "subtract": "Adds({x}, {a}, -({n}), lanes)",
    "multiply": "Muls({x}, {a}, {n}, lanes)",
    "minimum": "Mins({x}, {a}, {n}, lanes)",
    "maximum": "Maxs({x}, {a}, {n}, lanes)",
} | {
    name: text.replace("Compare", "CompareScalar").replace("{b}", "{n}")
    for name, text in STEPS.items()
    if text.startswith("Compare")
}
EITHER = {"add", "multiply", "minimum", "maximum"}  # operations whose first operand may be a number
# operations with an infix operator
SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
PROGRAM = '''"""{aclnn} as tiles, written from its page."""

from aclnn_viz.tiles.ascendc import *

BUFFERS = {queued}
F = float32.type
NO_PAD = DataCopyPadExtParams(False, 0, 0, 0)


class Kernel:
    def Init(self, {passed}, tiling):
        self.t, self.tile = tiling, tiling.tileLength
        pipe = TPipe()
{init}
    def Process(self):
        first = GetBlockIdx() * self.t.span
        last = min(first + self.t.span, self.t.total)
        for start in range(first, last, self.t.step):
            count = min(self.t.step, last - start)
            self.CopyIn(start, count)
            self.Compute(start, count)
            self.CopyOut(start, count)

    def CopyIn(self, start, count):
{copy_in}        return

    def Compute(self, start, count):
        lanes = -(-count // 64) * 64
{compute}
    def CopyOut(self, start, count):
{copy_out}

def kernel({pointers}, workspace, tiling):
    op = Kernel()
    op.Init({passed}, tiling)
    op.Process()
'''
GLOBAL = (
    "        self.{0}Gm = GlobalTensor(tiling.T_{0})\n        self.{0}Gm.SetGlobalBuffer({0}_)\n"
)
QUEUE = "        self.{0}Que = TQue({1}, 1)\n        pipe.InitBuffer(self.{0}Que, BUFFERS, self.tile * tiling.T_{0}.itemsize)\n"
BUFFER = (
    "        self.{0}Buf = TBuf(VECCALC)\n        pipe.InitBuffer(self.{0}Buf, self.tile {1})\n"
)
GOT = "        {0} = self.{0}Buf.Get({1})\n"
ROW = "        {0}Row = DataCopyExtParams(1, count * self.t.T_{0}.itemsize, 0, 0, 0)\n"
COPY_IN = (
    "        {0}Tile = self.{0}Que.AllocTensor(self.t.T_{0})\n"
    + ROW
    + (
        "        DataCopyPad({0}Tile, self.{0}Gm[{1}], {0}Row, NO_PAD)\n        self.{0}Que.EnQue({0}Tile)\n"
    )
)
COPY_OUT = (
    "        {0}Tile = self.{0}Que.DeQue(self.t.T_{0})\n"
    + ROW
    + (
        "        DataCopyPad(self.{0}Gm[start], {0}Tile, {0}Row)\n        self.{0}Que.FreeTensor({0}Tile)\n"
    )
)
FILLED = "        Duplicate({0}, {1}, lanes)\n        PipeBarrier(PIPE_V)\n"
NUMBER = "        {0}Number = F(self.{0}Gm.GetValue({1}))\n"
# the lanes behind a tail need values
TAKEN = "        {0}Given = self.{0}Que.DeQue(self.t.T_{0})\n" + FILLED.format("{1}", "0.0")
WIDENED = """        if self.t.T_{0} == float32:
            Muls({1}, {0}Given, 1.0, count)
        else:
            Cast({1}, {0}Given, RoundMode.CAST_NONE, count)
        PipeBarrier(PIPE_V)
"""
AS_BITS = """        Cast({2}.ReinterpretCast(half), {0}Given, RoundMode.CAST_NONE, count)
        PipeBarrier(PIPE_V)
        Cast({1}, {2}.ReinterpretCast(half), RoundMode.CAST_NONE, count)
        PipeBarrier(PIPE_V)
        CompareScalar({3}, {1}, 0.0, CMPMODE.NE, lanes)
        PipeBarrier(PIPE_V)
"""
FREED = "        self.{0}Que.FreeTensor({0}Given)\n"
SUMMED = "        ReduceSum({0}, {1}, {2}, count)\n        PipeBarrier(PIPE_V)\n        {3} = {0}.GetValue(0)\n"
ROUNDED = """        {0}Made = self.{0}Que.AllocTensor(self.t.T_{0})
        if self.t.T_{0} == float32:
            Muls({0}Made, {1}, 1.0, count)
        else:
            Cast({0}Made, {1}, RoundMode.CAST_RINT, count)
        PipeBarrier(PIPE_V)
        self.{0}Que.EnQue({0}Made)
"""


def programs(op) -> tuple[Program, ...]:
    """Return the tile program that follows from an operator's page; none if the page branches, or has steps that tiles lack."""
    try:
        tiling(None, op.name, case(op).inputs)
    except NotStraight:
        return ()
    return (
        Program(
            op.name,
            op.name,
            lambda platform, /, **inputs: tiling(platform, op.name, inputs),
            kernel,
            Plan(f"{op.name} in tiles", order=BLOCKED, tile=64),
            sync="strict",
            text="written from the page; each row, or each element, by itself",
        ),
    )


def kernel(*arguments):
    arguments[-1].written.kernel(*arguments)


def tiling(platform, name: str, inputs: dict) -> Tiling:
    """Write the program for these inputs, and deal whole rows, or blocks of elements, to the cores in equal spans."""
    op = operator(name)
    arranged = op.arrange_backward(**inputs)
    lines, shape = straight(op, arranged), arranged.results[op.main].documented_shape
    places = {
        key: _place(value, inputs[key].shape, shape, lines.length)
        for key, value in lines.inputs.items()
        if key in lines.last
    }
    row = lines.length or min(
        (inputs[key].size for key, place in places.items() if "%" in place), default=None
    )
    text = _written(op, lines, places)
    if platform is None:
        return None
    types = {
        f"T_{key}": np.dtype(np.uint8) if lines.inputs[key].dtype == bool else inputs[key].dtype
        for key in places
    } | {f"T_{key}": result.format.numpy for key, result in arranged.results.items()}
    tile = (
        (platform.GetCoreMemSize() - KEPT)
        // (sum(QUEUED * kind.itemsize for kind in types.values()) + 4 * text.count("Buf = TBuf("))
        // 256
        * 256
    )
    if row and row > tile:
        raise NotStraight.of(f"a row of {row} elements, of which a tile holds {tile}")
    total, step = prod(shape), row or 256
    span = -(-max(-(-total // step), 1) // platform.GetCoreNumAiv()) * step
    return Tiling(
        -(-total // span),
        **types,
        total=total,
        span=span,
        step=row or tile,
        tileLength=tile,
        written=_module(name, text),
    )


def _place(value, shape: tuple, whole: tuple, row: int | None) -> str:
    """Return a formula of `start`, a tile's first output element, for the tile's first element in this input."""
    size, wide, own = (
        prod(shape),
        value.size > 1,
        shape[next((k for k, n in enumerate(shape) if n != 1), len(shape)) :],
    )
    if size == 1 != prod(whole):
        return "0"
    if row and not wide and size == prod(whole) // row:
        return f"start // {row}"
    if wide and own == whole[len(whole) - len(own) :]:  # the tensor is broadcast along leading axes
        return "start" if size == prod(whole) else f"start % {size}"
    raise NotStraight.of(
        f"{value.name} {shape} beside {whole}, broadcast along other axes than the leading ones"
    )


@cache
def _module(name: str, text: str) -> ModuleType:
    """Return the program as a module whose text is stored, so that hazards can quote its lines."""
    module = ModuleType(f"{__name__}_{name}_{crc32(text.encode()):08x}")
    module.__file__ = f"<{module.__name__}>"
    linecache.cache[module.__file__] = len(text), None, text.splitlines(True), module.__file__
    sys.modules[module.__name__] = module
    exec(compile(text, module.__file__, "exec"), vars(module))
    return module


def _written(op, lines, places: dict) -> str:
    """Return the text of the tile program, written from a page."""
    writing, passed = _Writing(lines, places), [*places, *lines.outputs]
    streamed = [key for key, place in places.items() if writing.streamed(key)]
    buffers = [(name, "* 4", "float32") for name in writing.all[False]] + [
        (name, "// 8", "uint8_t") for name in writing.all[True]
    ]
    return PROGRAM.format(
        aclnn=op.aclnn_name,
        queued=min(QUEUED, EVENT_IDS // max(len(streamed), 1)),
        passed=", ".join(f"{key}_" for key in passed),
        pointers=", ".join(f"{p.name}_" for p in op.c_parameters if p.kind == "tensor"),
        init="".join(
            [
                *map(GLOBAL.format, passed),
                *(QUEUE.format(key, "VECIN") for key in streamed),
                *(QUEUE.format(key, "VECOUT") for key in lines.outputs),
                *(BUFFER.format(*buffer) for buffer in buffers),
            ]
        ),
        copy_in="".join(COPY_IN.format(key, places[key]) for key in streamed),
        copy_out="".join(map(COPY_OUT.format, lines.outputs)),
        compute="".join([*(GOT.format(name, kind) for name, _, kind in buffers), *writing.text]),
    )


class _Writing:
    """The writer of Compute: lines in `text`; names of `all` and `free` buffers for numbers (False) and bits (True)."""

    def __init__(self, lines, places):
        self.lines, self.places, self.text = lines, places, []
        self.named, self.all, self.free = {}, {False: [], True: []}, {False: [], True: []}
        for key in places:
            self.given(key)
        for at, (value, step, taken) in enumerate(lines.steps):
            if value.name in lines.last:
                self.step(value, step, taken)
            for vector in {
                operand.name: operand for operand in (value, *taken) if self.is_vector(operand)
            }.values():
                if lines.last.get(vector.name, at) == at:
                    self.free[vector.dtype == bool].append(self.named[vector.name])
        self.text += [
            ROUNDED.format(key, self.vector(value)) for key, value in lines.outputs.items()
        ]

    def streamed(self, key: str) -> bool:
        return self.lines.inputs[key].size > 1 and self.places[key] != "0"

    def buffer(self, bits: bool = False) -> str:
        if not self.free[bits]:
            self.all[bits].append(f"{'b' if bits else 'x'}{len(self.all[bits])}")
            return self.all[bits][-1]
        return self.free[bits].pop()

    def given(self, key: str):
        if not self.streamed(key):
            self.text.append(NUMBER.format(key, self.places[key]))
            self.named[key] = f"{key}Number"
            return
        wide = self.named[key] = self.buffer()
        self.text.append(TAKEN.format(key, wide))
        if self.lines.inputs[key].dtype == bool:
            half, self.named[key] = self.buffer(), self.buffer(True)
            self.text.append(AS_BITS.format(key, wide, half, self.named[key]))
            self.free[False] += [wide, half]
        else:
            self.text.append(WIDENED.format(key, wide))
        self.text.append(FREED.format(key))

    def number(self, value) -> str:
        return self.named[value.name] if isinstance(value, Traced) else repr(value)

    def is_vector(self, value) -> bool:
        return (
            isinstance(value, Traced)
            and self.named.get(value.name) in self.all[False] + self.all[True]
        )

    def vector(self, value) -> str:
        """Return the name of a value's buffer; a number fills a spare buffer, which is free again after this step."""
        if self.is_vector(value):
            return self.named[value.name]
        spread = self.buffer()
        self.text.append(FILLED.format(spread, self.number(value)))
        self.spread.append(spread)
        return spread

    spread = []

    def step(self, value, step, taken):
        name, self.spread = value.name, []
        if step == "sum":
            held, work = self.buffer(), self.buffer()
            self.text.append(SUMMED.format(held, self.vector(taken[0]), work, name))
            self.named[name], self.spread = name, [*self.spread, held, work]
        elif value.size == 1 or not any(map(self.is_vector, taken)):
            if step not in SIGNS:
                raise NotStraight.of(f"{step} of numbers that all elements of a tile share")
            self.text.append(
                f"        {name} = F({self.number(taken[0])}) {SIGNS[step]} F({self.number(taken[1])})\n"
            )
            self.named[name] = name
        else:
            if step in EITHER and not self.is_vector(taken[0]):
                taken = taken[::-1]
            number = step in WITH_NUMBER and not self.is_vector(taken[1])
            form = (WITH_NUMBER if number else STEPS).get(step)
            if form is None:
                raise NotStraight.of(f"{step}, for which there is no instruction")
            x = self.buffer(value.dtype == bool)
            used = dict(
                zip(
                    "abc",
                    (
                        self.number(operand) if number and k else self.vector(operand)
                        for k, operand in enumerate(taken)
                    ),
                )
            )
            self.text.append(
                f"        {form.format(x=x, n=used.get('b'), **used)}\n        PipeBarrier(PIPE_V)\n"
            )
            self.named[name] = x
        self.free[False] += self.spread
