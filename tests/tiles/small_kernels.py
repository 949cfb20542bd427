"""Small kernels on a machine of few cores: `ran(kernel)` returns its hazards and its result in y."""

from typing import NamedTuple

import numpy as np

from aclnn_viz.tiles.ascendc import *  # noqa: F403
from aclnn_viz.tiles.machine import Machine
from aclnn_viz.tiles.memory import GlobalMemory
from aclnn_viz.tiles.platforms import Platform
from aclnn_viz.tiles.schedules import schedule_of

NO_PAD = DataCopyPadExtParams(False, 0, 0, 0)  # noqa: F405


class Ran(NamedTuple):
    hazards: list
    y: np.ndarray

    @property
    def kinds(self):
        return [hazard.kind for hazard in self.hazards]


def ran(kernel, x=None, size=256, dtype=np.float32, cores=1, schedule="eager", sync="strict"):
    """Run `kernel(x, y)` on `cores` cores; x counts from 1 unless given, y holds poison."""
    x = np.arange(1, size + 1).astype(dtype) if x is None else np.asarray(x)
    y = np.frombuffer(b"\xff" * size * np.dtype(dtype).itemsize, dtype).copy()
    machine = Machine(Platform.of("Ascend910B2"), cores, schedule_of(schedule), sync)
    machine.run(kernel, (GlobalMemory("x", x, True), GlobalMemory("y", y, False)))
    return Ran(list(machine.hazards), y)


def gm(address, dtype=np.float32):
    tensor = GlobalTensor(dtype)  # noqa: F405
    tensor.SetGlobalBuffer(address)
    return tensor


def buffer(pipe, dtype, count):
    """Return a TBuf of `count` elements, as a tensor."""
    buf = TBuf(VECCALC)  # noqa: F405
    pipe.InitBuffer(buf, count * np.dtype(dtype).itemsize)
    return buf.Get(dtype)


def queue(pipe, position, num, length, depth=1):
    que = TQue(position, depth)  # noqa: F405
    pipe.InitBuffer(que, num, length)
    return que


def sync(event, number=0):
    """Set a flag and wait for it at once."""
    SetFlag(event, number)  # noqa: F405
    WaitFlag(event, number)  # noqa: F405
