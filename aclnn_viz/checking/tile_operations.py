"""Record how a tile program (an Ascend C kernel in Python or C++) computes on simulated cores, instruction by instruction."""

import linecache
from collections.abc import Mapping

from aclnn_viz.checking.operations import (
    UNWRITTEN,
    Part,
    Recorder,
    Step,
    addresses,
    part,
    place_of,
)
from aclnn_viz.tiles.machine import Instruction
from aclnn_viz.tiles.program import Program, launch
from aclnn_viz.tiles.schedules import Eager
from aclnn_viz.words.messages import Message, message

SCALAR = message("a number from the scalar unit")


class Recorded(Eager):
    """A run in the program's order, every instruction recorded; `starts` has each tensor's address in global memory."""

    def __init__(self):
        self.recorder, self.starts = Recorder(), {}

    def issue(self, instruction: Instruction):
        core, (file, line), name = instruction.core, instruction.where, instruction.name
        code = " ".join(linecache.getline(file, line).split()) or name
        place = message("{place}, core {core}", place=place_of(file, line), core=core.index)
        reads = _parts(core, instruction.reads)
        for memory, read in reads:
            if not getattr(memory, "read_only", False) and read.wrong.any():
                # any other step that wrote these elements comes after this one
                there = message("{place}, {tile}", place=place, tile=read.name)
                self.recorder.steps.insert(
                    0, Step(file, line, code, "", there, [], read, UNWRITTEN)
                )
        instruction.land()
        writes = _parts(core, instruction.writes)
        # a result in several parts has separate operands for each part
        share, rest = divmod(len(reads), max(len(writes), 1))
        for number, (memory, write) in enumerate(writes):
            if memory is not core.ub:
                self.starts[memory.name] = addresses(memory.bytes[:1])[0]
            operands = [read for _, read in (reads if rest else reads[number * share :][:share])]
            there = message("{place}, {tile}", place=place, tile=write.name)
            origin = SCALAR if name == "SetValue" else ""
            self.recorder.note(Step(file, line, code, name, there, operands, write, origin))


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


def recorded(program: Program, inputs: Mapping, **how) -> tuple[list[Step], dict[str, Part]]:
    """Run a tile program in its own order; return its steps and outputs, despite any hazards."""
    order = Recorded()
    run = launch(program, traced=False, **how | {"schedule": order}, **inputs)
    outputs = {name: part(array) for name, array in run.outputs.items()}
    return order.recorder.steps, {
        name: output._replace(at=output.at - output.at.ravel()[0] + order.starts.get(name, 0))
        for name, output in outputs.items()
    }
