"""Record how a tile program (an Ascend C kernel in Python or C++) computes on simulated cores, instruction by instruction."""

import linecache
from collections.abc import Mapping

from aclnn_viz.checking.operations import NOTHING, UNWRITTEN, Part, Recorder, Step, part
from aclnn_viz.tiles.machine import Instruction
from aclnn_viz.tiles.program import Program, launch
from aclnn_viz.tiles.schedules import Eager
from aclnn_viz.words.messages import message

SCALAR = message("a number from the scalar unit")


class Recorded(Eager, Recorder):
    """A run in the program's order, every instruction recorded; `starts` has each tensor's address in global memory."""

    def __init__(self):
        super().__init__()
        self.starts = {}

    def issue(self, instruction: Instruction):
        core, where, name = instruction.core, instruction.where, instruction.name
        code = " ".join(linecache.getline(*where).split()) or name

        def step(name, operands, result) -> Step:
            there = message("core {core}, {tile}", core=core.index, tile=result.name)
            return Step(*where, code, name, operands, result, there)

        reads = _parts(core, instruction.reads)
        for memory, read in reads:
            if not getattr(memory, "read_only", False) and read.wrong.any():
                # any other step that wrote these elements comes after this one
                self.steps.insert(0, step("", [part(NOTHING, UNWRITTEN)], read))
        instruction.land()
        writes = _parts(core, instruction.writes)
        # a result in several parts has separate operands for each part
        share, rest = divmod(len(reads), len(writes) or 1)
        for number, (memory, write) in enumerate(writes):
            if memory is not core.ub:
                self.starts[memory.name] = memory.bytes.ctypes.data
            own = reads if rest else reads[number * share :][:share]
            operands = [read for _, read in own] + [part(NOTHING, SCALAR)] * (name == "SetValue")
            self.note(step(name, operands, write))


def _parts(core, spans) -> list[tuple]:
    """Return (memory, elements) of each accessed span, named by its tensor and first element; scratch memory is left out."""
    parts = []
    for memory, span in spans:
        dtype = core.formats.get((memory, span))
        if dtype is not None and (elements := part(span.values(memory.bytes, dtype))):
            blocks = [
                (block.label or block.name, block.start)
                for pipe in core.pipes
                for block in pipe.buffers
                if memory is core.ub and 0 <= span.start - block.start < block.length
            ]
            name, start = [*blocks, (getattr(memory, "name", ""), 0)][0]
            first = (span.start - start) // dtype.itemsize
            name = message("{tile}[{element}]", tile=name, element=first)
            parts.append((memory, elements._replace(name=name)))
    return parts


def recorded(program: Program, inputs: Mapping, **how) -> tuple[list[Step], dict[str, Part]]:
    """Run a tile program in its own order; return its steps and outputs, despite any hazards."""
    order = Recorded()
    run = launch(program, traced=False, **how | {"schedule": order}, **inputs)
    return order.steps, {
        name: (output := part(array))._replace(
            at=output.at - array.ctypes.data + order.starts.get(name, 0)
        )
        for name, array in run.outputs.items()
    }
