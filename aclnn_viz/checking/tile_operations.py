"""Watch a tile program (an Ascend C kernel in Python or C++) run on simulated cores, instruction by instruction, to trace its
numbers.
"""

import linecache
from collections.abc import Mapping

import numpy as np

from aclnn_viz.checking.nan import UNWRITTEN, Link, Part, Trail, addresses, part
from aclnn_viz.checking.operations import Operation, place_of
from aclnn_viz.checking.same_bits import Step
from aclnn_viz.tiles.machine import Instruction
from aclnn_viz.tiles.program import Program, launch
from aclnn_viz.tiles.schedules import Eager
from aclnn_viz.words.messages import Message, message

SCALAR = message("a number from the scalar unit")
MIXED = (
    "Reduce",
    "Gather",
    "Sum",
    "SoftMax",
    "Broadcast",
    "Transpose",
)  # parts of names of instructions that move or mix elements instead of computing


class Watched(Eager):
    """A run in the program's order, every instruction recorded; `starts` has each tensor's address in global memory."""

    def __init__(self, trail: Trail):
        self.trail, self.starts = trail, {}

    def issue(self, instruction: Instruction):
        core, operation, links = instruction.core, _operation(instruction), self.trail.links
        place = message("{place}, core {core}", place=operation.place, core=core.index)
        operation = operation._replace(place=place)
        reads = _parts(core, instruction.reads)
        for memory, read in reads:
            if not getattr(memory, "read_only", False):
                for at in read.at[read.wrong].tolist():
                    links.setdefault(at, Link(operation, np.nan, (UNWRITTEN,), True))
        instruction.land()
        writes = _parts(core, instruction.writes)
        # a result in several parts has separate operands for each part
        share = len(reads) // len(writes) if writes and not len(reads) % len(writes) else len(reads)
        for number, (memory, write) in enumerate(writes):
            if memory is not core.ub:
                self.starts[memory.name] = addresses(memory.bytes[:1])[0]
            there = message("{place}, {tile}", place=place, tile=write.name)
            self.trail.note(
                operation._replace(place=there),
                [read for _, read in reads[number * share % max(len(reads), 1) :][:share]],
                write,
                any(word in instruction.name for word in MIXED),
                SCALAR if instruction.name == "SetValue" else "",
            )


def _operation(instruction: Instruction) -> Operation:
    file, line = instruction.where
    code = " ".join(linecache.getline(file, line).split()) or instruction.name
    return Operation(file, line, code, (), place_of(file, line))


def _parts(core, spans) -> list[tuple]:
    """Return (memory, elements) of each accessed span, with the tensor's name; scratch memory is left out."""
    parts = []
    for memory, span in spans:
        dtype = core.formats.get((memory, span))
        if dtype is not None and (elements := part(span.values(memory.bytes, dtype))):
            parts.append((memory, elements._replace(name=_tile(core, memory, span, dtype))))
    return parts


def _tile(core, memory, span, dtype) -> str | Message:
    """Return a tensor's name and first element, in global memory or in a buffer."""
    if memory is not core.ub:
        return f"{memory.name}[{span.start // dtype.itemsize}]"
    blocks = (block for pipe in core.pipes for block in pipe.buffers)
    block = next((held for held in blocks if 0 <= span.start - held.start < held.length), None)
    if block is None:
        return f"[{span.start // dtype.itemsize}]"
    return message(
        "{tile}[{element}]",
        tile=block.label or block.name,
        element=(span.start - block.start) // dtype.itemsize,
    )


def steps(program: Program, inputs: Mapping, how: Mapping) -> list[Step]:
    """Return the instructions of a run: shapes of operands, and whether they sum elements or add atomically."""
    recorded = []
    for instruction in launch(program, **how, **inputs).trace:
        name, reads = instruction.name, _parts(instruction.core, instruction.reads)
        shapes = tuple(read.values.shape for _, read in reads)
        sums = "Reduce" in name or name == "Sum"
        recorded.append(Step(_operation(instruction), shapes, sums, "(atomic)" in name))
    return recorded


def watched(program: Program, trail: Trail, inputs: Mapping) -> dict[str, Part]:
    """Run a tile program with its instructions watched; return its outputs, despite any hazards."""
    order = Watched(trail)
    run = launch(program, schedule=order, traced=False, **inputs)
    outputs = {name: part(array) for name, array in run.outputs.items()}
    return {
        name: output._replace(at=output.at - output.at.ravel()[0] + order.starts.get(name, 0))
        for name, output in outputs.items()
    }
