"""The tile program of an operator that has none of its own, written from its page in Ascend C's names, one line for each instruction.

    CopyIn: a tile of each input -> Compute: the page in straight lines, everything in float -> CopyOut: a tile of each output

A tile is as many elements as fit, or one row where the page sums rows. Each step of the page is a vector instruction or two, and a
barrier; a buffer is used again as soon as its value is not needed any more. Steps without an instruction (erf, tanh), sums over rows,
moved elements and broadcast tensors raise NotImplementedError with the reason: somebody writes such a program by hand.
"""

import linecache
import sys
from functools import cache
from math import prod
from types import ModuleType
from zlib import crc32

import numpy as np

from aclnn_viz.arrays.plan import BLOCKED, Plan
from aclnn_viz.arrays.straight import NotStraight, Value, last_uses, straight
from aclnn_viz.cases import case
from aclnn_viz.errors import problem
from aclnn_viz.operators import operator
from aclnn_viz.tiles.launching import Program, Tiling

BOTH = {"add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "minimum": "Min", "maximum": "Max"}
ONE = {"abs": "Abs", "sqrt": "Sqrt", "exp": "Exp", "log": "Ln"}
NUMBER = {"add": "Adds", "multiply": "Muls", "minimum": "Mins", "maximum": "Maxs"}  # which take a number second, in either order
COMPARED = {"equal": "EQ", "not_equal": "NE", "less": "LT", "less_equal": "LE", "greater": "GT", "greater_equal": "GE"}
TURNED = {"LT": "GT", "LE": "GE", "GT": "LT", "GE": "LE"}
SIGNS = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
KEPT, LANES, QUEUED = 8192, 64, 2  # bytes that Select works in, and a margin; elements of a repeat; buffers of a queue


def programs(op) -> tuple[Program, ...]:
    """Return the program that is written from an operator's page, none where its page is not straight or has other steps."""
    try:
        tiling(None, op.name, case(op).inputs)
    except NotImplementedError:
        return ()
    plan = Plan(f"{op.name} in tiles", order=BLOCKED, tile=LANES)
    return Program(op.name, op.name, lambda platform, /, **inputs: tiling(platform, op.name, inputs), kernel, plan, sync="strict",
                   text="written from the page; each row, or each element, by itself"),


def kernel(*arguments):
    arguments[-1].written.kernel(*arguments)


def tiling(platform, name: str, inputs: dict) -> Tiling:
    """Write the program for these inputs, and deal whole rows, or blocks of elements, to the cores in equal spans."""
    op = operator(name)
    arranged = op.arrange_backward(**inputs)
    made = straight(op, arranged)
    shape = arranged.results[op.main].documented_shape
    total = prod(shape)
    places = {each.name: _place(each, inputs[each.name].shape, shape, made.length) for each in made.inputs.values()}
    again = [inputs[each].size for each, place in places.items() if "%" in place]  # what is read again and again, whole each time
    row = made.length or (min(again) if again else None)
    text = _written(op, made, places)
    types = {f"T_{each}": np.dtype(np.uint8) if value.truth else inputs[each].dtype for each, value in made.inputs.items()} | {
        f"T_{each}": result.format.numpy for each, result in arranged.results.items()}
    if platform is None:
        return None
    bytes_of_element = sum(QUEUED * kind.itemsize for kind in types.values()) + 4 * text.count("Buf = TBuf(")
    tile = (platform.GetCoreMemSize() - KEPT - 1024) // bytes_of_element // 256 * 256
    if row and row > tile:
        raise NotStraight(problem(f"a row has at most {tile} elements, one tile", f"{row}", "cut rows in a program written by hand"))
    step = row or 256
    span = -(-max(-(-total // step), 1) // platform.GetCoreNumAiv()) * step
    return Tiling(-(-total // span) if total else 0, **types, total=total, span=span, step=row or tile, tileLength=tile,
                  written=_module(name, text))


def _place(one: Value, shape: tuple, whole: tuple, row: int | None) -> str:
    """Where a tile that begins at `start` finds its elements of an input of this shape."""
    size, total, own = prod(shape), prod(whole), shape[next((k for k, n in enumerate(shape) if n != 1), len(shape)):]
    if size == total and one.wide:
        return "start"
    if size == 1:
        return "0"
    if row and not one.wide and size == total // row:
        return f"start // {row}"
    if one.wide and own == whole[len(whole) - len(own):]:  # it is broadcast along leading axes
        return f"start % {size}"
    raise NotStraight(problem("a tile program that is made of a page takes tensors that are broadcast along leading axes alone",
                              f"{one.name} {shape} beside {whole}", "broadcast it first"))


@cache
def _module(name: str, text: str) -> ModuleType:
    """The program as a module whose text can be read: hazards quote its lines, and a sketch is made of it."""
    module = ModuleType(f"{__name__}_{name}_{crc32(text.encode()):08x}")
    module.__file__ = f"<tiles from the page of {name}, {crc32(text.encode()):08x}>"
    linecache.cache[module.__file__] = len(text), None, text.splitlines(True), module.__file__
    sys.modules[module.__name__] = module
    exec(compile(text, module.__file__, "exec"), vars(module))
    return module


# The text

def _written(op, made, places: dict) -> str:
    compute, buffers, bits = _compute(made, places)
    names, outputs = [name for name in made.inputs if name in last_uses(made)], list(made.outputs)
    streamed = [name for name in names if _streamed(made.inputs[name], places)]
    pointers = [p.name for p in op.parameters if p.kind == "tensor"] + list(op.outputs)
    lines = [f'"""{op.aclnn_name} as tiles, written from its page."""', "", "from aclnn_viz.tiles.ascendc import *", "", f"BUFFERS = {QUEUED}",
             "F = float32.type", "NO_PAD = DataCopyPadExtParams(False, 0, 0, 0)", "", "", "class Kernel:",
             f"    def Init(self, {', '.join(f'{name}_' for name in (*names, *outputs))}, tiling):",
             "        self.t, self.tile = tiling, tiling.tileLength"]
    for name in (*names, *outputs):
        lines += [f"        self.{name}Gm = GlobalTensor(tiling.T_{name})", f"        self.{name}Gm.SetGlobalBuffer({name}_)"]
    lines += ["        pipe = TPipe()"]
    for name in (*streamed, *outputs):
        lines += [f"        self.{name}Que = TQue({'VECOUT' if name in outputs else 'VECIN'}, 1)",
                  f"        pipe.InitBuffer(self.{name}Que, BUFFERS, self.tile * tiling.T_{name}.itemsize)"]
    for name in (*buffers, *bits):
        lines += [f"        self.{name}Buf = TBuf(VECCALC)", f"        pipe.InitBuffer(self.{name}Buf, self.tile {'* 4' if name in buffers else '// 8'})"]
    lines += ["", "    def Process(self):", "        first = GetBlockIdx() * self.t.span", "        last = min(first + self.t.span, self.t.total)",
              "        for start in range(first, last, self.t.step):", "            count = min(self.t.step, last - start)",
              "            self.CopyIn(start, count)", "            self.Compute(start, count)", "            self.CopyOut(start, count)", "",
              "    def CopyIn(self, start, count):"]
    for name in streamed:
        lines += [f"        {name}Tile = self.{name}Que.AllocTensor(self.t.T_{name})",
                  f"        {name}Row = DataCopyExtParams(1, count * self.t.T_{name}.itemsize, 0, 0, 0)",
                  f"        DataCopyPad({name}Tile, self.{name}Gm[{places[name]}], {name}Row, NO_PAD)", f"        self.{name}Que.EnQue({name}Tile)"]
    lines += [*["        return"] * (not streamed), "", "    def Compute(self, start, count):", f"        lanes = -(-count // {LANES}) * {LANES}"]
    lines += [f"        {name} = self.{name}Buf.Get({'float32' if name in buffers else 'uint8_t'})" for name in (*buffers, *bits)]
    lines += [f"        {line}" for line in compute] + ["", "    def CopyOut(self, start, count):"]
    for name in outputs:
        lines += [f"        {name}Tile = self.{name}Que.DeQue(self.t.T_{name})",
                  f"        {name}Row = DataCopyExtParams(1, count * self.t.T_{name}.itemsize, 0, 0, 0)",
                  f"        DataCopyPad(self.{name}Gm[start], {name}Tile, {name}Row)", f"        self.{name}Que.FreeTensor({name}Tile)"]
    lines += ["", "", f"def kernel({', '.join(f'{name}_' for name in pointers)}, workspace, tiling):", "    op = Kernel()",
              f"    op.Init({', '.join(f'{name}_' for name in (*names, *outputs))}, tiling)", "    op.Process()"]
    return "\n".join(lines) + "\n"


class _Registers:
    """Buffers of one kind, each used again when its value is no longer needed."""

    def __init__(self, letter: str):
        self.letter, self.all, self.free = letter, [], []

    def take(self) -> str:
        if not self.free:
            self.all.append(f"{self.letter}{len(self.all)}")
            self.free.append(self.all[-1])
        return self.free.pop()


def _streamed(one: Value, places: dict) -> bool:
    return one.wide and places[one.name] != "0"


def _compute(made, places: dict) -> tuple[list[str], list[str], list[str]]:
    """The lines of Compute, and the names of buffers of numbers and of bits."""
    numbers, bits, lines, named, last = _Registers("x"), _Registers("b"), [], {}, last_uses(made)

    def issue(text):
        lines.extend((text, "PipeBarrier(PIPE_V)"))

    def vector(one) -> str:
        """A number as a vector, in a buffer that only this step uses."""
        if isinstance(one, Value) and one.wide:
            return named[one.name]
        spare.append(numbers.take())
        issue(f"Duplicate({spare[-1]}, {number(one)}, lanes)")
        return spare[-1]

    def number(one) -> str:
        return named[one.name] if isinstance(one, Value) else repr(float(one))

    for name, value in made.inputs.items():
        if name not in last:
            continue
        if not _streamed(value, places):
            named[name] = number_of_row = f"{name}Value"
            lines.append(f"{number_of_row} = F(self.{name}Gm.GetValue({places[name]}))")
            if value.wide:
                named[name] = numbers.take()
                issue(f"Duplicate({named[name]}, {number_of_row}, lanes)")
            continue
        named[name] = numbers.take()
        lines.append(f"{name}Given = self.{name}Que.DeQue(self.t.T_{name})")
        issue(f"Duplicate({named[name]}, 0.0, lanes)")  # the lanes behind a tail must hold something
        if value.truth:
            half = numbers.take()
            issue(f"Cast({half}.ReinterpretCast(half), {name}Given, RoundMode.CAST_NONE, count)")
            issue(f"Cast({named[name]}, {half}.ReinterpretCast(half), RoundMode.CAST_NONE, count)")
            mask = bits.take()
            issue(f"CompareScalar({mask}, {named[name]}, 0.0, CMPMODE.NE, lanes)")
            numbers.free += [half, named[name]]
            named[name] = mask
        else:
            lines.append(f"if self.t.T_{name} == float32:")
            lines.append(f"    Muls({named[name]}, {name}Given, 1.0, count)")
            lines.append("else:")
            lines.append(f"    Cast({named[name]}, {name}Given, RoundMode.CAST_NONE, count)")
            lines.append("PipeBarrier(PIPE_V)")
        lines.append(f"self.{name}Que.FreeTensor({name}Given)")
    for at, line in enumerate(made.lines):
        value, step, taken, spare = line.value, line.step, line.taken, []
        if value.name not in last:
            continue
        if step == "sum":
            held = numbers.take()
            work = numbers.take()
            issue(f"ReduceSum({held}, {named[taken[0].name]}, {work}, count)")
            lines.append(f"{value.name} = {held}.GetValue(0)")
            named[value.name] = value.name
            numbers.free += [held, work]
        elif not value.wide:
            if step not in SIGNS:
                raise NotStraight(problem("numbers of a row are added, multiplied and divided", step, "write the program by hand"))
            a, b = (number(one) if isinstance(one, Value) else f"F({float(one)!r})" for one in taken)
            lines.append(f"{value.name} = {a} {SIGNS[step]} {b}")
            named[value.name] = value.name
        else:
            pool = bits if value.truth else numbers
            target = pool.take()
            _step(issue, step, taken, target, vector, number)
            named[value.name] = target
        numbers.free += spare
        for one in {each.name: each for each in (*taken, value) if isinstance(each, Value) and each.wide}.values():
            if last.get(one.name, -1) == at:
                (bits if one.truth else numbers).free.append(named[one.name])
    for name, value in made.outputs.items():
        out = named[value.name]
        lines.append(f"{name}Made = self.{name}Que.AllocTensor(self.t.T_{name})")
        lines.append(f"if self.t.T_{name} == float32:")
        lines.append(f"    Muls({name}Made, {out}, 1.0, count)")
        lines.append("else:")
        lines.append(f"    Cast({name}Made, {out}, RoundMode.CAST_RINT, count)")
        lines.append("PipeBarrier(PIPE_V)")
        lines.append(f"self.{name}Que.EnQue({name}Made)")
    return lines, numbers.all, bits.all


def _step(issue, step, taken, target, vector, number) -> None:
    """The instructions of one step on a vector."""
    a, b = (*taken, None)[:2]
    wide = [isinstance(one, Value) and one.wide for one in taken]
    if step == "where":
        yes, no = taken[1:]
        mask, scalar = number(a), not (isinstance(no, Value) and no.wide)
        mode = "VSEL_TENSOR_SCALAR_MODE" if scalar else "VSEL_TENSOR_TENSOR_MODE"
        issue(f"Select({target}, {mask}, {vector(yes)}, {number(no) if scalar else vector(no)}, SELMODE.{mode}, lanes)")
    elif step in COMPARED:
        mode = COMPARED[step]
        if all(wide):
            issue(f"Compare({target}, {vector(a)}, {vector(b)}, CMPMODE.{mode}, lanes)")
        elif wide[0]:
            issue(f"CompareScalar({target}, {vector(a)}, {number(b)}, CMPMODE.{mode}, lanes)")
        else:
            issue(f"CompareScalar({target}, {vector(b)}, {number(a)}, CMPMODE.{TURNED.get(mode, mode)}, lanes)")
    elif step.startswith("logical_"):
        words = [f"{number(one)}.ReinterpretCast(uint16_t)" for one in taken]
        call = {"logical_and": "And", "logical_or": "Or", "logical_not": "Not"}[step]
        issue(f"{call}({target}.ReinterpretCast(uint16_t), {', '.join(words)}, lanes // 16)")
    elif step == "negative":
        issue(f"Muls({target}, {vector(a)}, -1.0, lanes)")
    elif step in ONE:
        issue(f"{ONE[step]}({target}, {vector(a)}, lanes)")
    elif step in NUMBER and not all(wide):
        one, other = (a, b) if wide[0] else (b, a)
        issue(f"{NUMBER[step]}({target}, {vector(one)}, {number(other)}, lanes)")
    elif step == "subtract" and wide[0] and not wide[1]:
        issue(f"Adds({target}, {vector(a)}, -{number(b)}, lanes)" if isinstance(b, Value) else f"Adds({target}, {vector(a)}, {-b!r}, lanes)")
    elif step in BOTH:
        issue(f"{BOTH[step]}({target}, {vector(a)}, {vector(b)}, lanes)")
    else:
        raise NotStraight(problem("a step of a tile program has an instruction", f"{step}, which has none", "write the program by hand"))
