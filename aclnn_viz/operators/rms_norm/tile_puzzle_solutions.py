"""Solutions of the puzzles on RMS norm in tiles."""

import numpy as np

from aclnn_viz.checking.puzzles.solutions import Mistake
from aclnn_viz.tiles.ascendc import *  # noqa: F403  the header of every Ascend C kernel


def rows_of_core(core, rows, cores):
    span = -(-rows // cores)
    return np.clip(rows - core * span, 0, span)


def strip_owner(column, strip, cores):
    return column // strip % cores


def row_traffic(columns, tileLength, itemsize):
    return columns * itemsize * np.where(columns <= tileLength, 3, 5)


def rms_add_to_dgamma(self, count):
    Mul(self.work, self.dy, self.xhat, count)
    PipeBarrier(PIPE_V)
    Add(self.dgamma, self.dgamma, self.work, count)
    Mul(self.dy, self.dy, self.gamma, count)


def rms_add_slots(self):
    for start in range(GetBlockIdx() * self.t.strip, self.t.columns, self.t.strip * GetBlockNum()):
        count = min(self.t.strip, self.t.columns - start)
        row = DataCopyExtParams(1, count * 4, 0, 0, 0)
        SetFlag(HardEvent.MTE3_V, 0)
        WaitFlag(HardEvent.MTE3_V, 0)
        Duplicate(self.dgamma, 0.0, count)
        for core in range(GetBlockNum()):
            SetFlag(HardEvent.V_MTE2, 0)
            WaitFlag(HardEvent.V_MTE2, 0)
            DataCopyPad(self.work, self.partGm[core * self.t.slot + start], row, DataCopyPadExtParams(False, 0, 0, 0))
            SetFlag(HardEvent.MTE2_V, 0)
            WaitFlag(HardEvent.MTE2_V, 0)
            Add(self.dgamma, self.dgamma, self.work, count)
        SetFlag(HardEvent.V_MTE3, 0)
        WaitFlag(HardEvent.V_MTE3, 0)
        DataCopyPad(self.dgammaGm[start], self.dgamma, row)


MISTAKES = {
    "rows_of_core": (
        Mistake("rounded down", "the rows that cannot be dealt evenly have no core",
                (("-(-rows // cores)", "rows // cores"),)),
        Mistake("every core is full", "the last core takes rows that are not there",
                (("np.clip(rows - core * span, 0, span)", "span + 0 * core"),)),
        Mistake("fewer than none", "cores behind the last row get a negative number of rows",
                (("np.clip(rows - core * span, 0, span)", "np.minimum(rows - core * span, span)"),)),
    ),
    "strip_owner": (
        Mistake("dealt once", "strips behind the last core's first are given to cores that are not there",
                ((" % cores", ""),)),
        Mistake("column after column", "single columns are dealt in turn, which no copy moves well",
                (("column // strip % cores", "column % cores"),)),
        Mistake("in one piece", "each core has its strips side by side",
                (("column // strip % cores", "column // (strip * cores)"),)),
    ),
    "row_traffic": (
        Mistake("read once", "the second reading of a row that is cut is forgotten", (("3, 5", "3, 3"),)),
        Mistake("a tile that is full", "a row of exactly one tile is taken to be cut", (("columns <= ", "columns < "),)),
        Mistake("all three twice", "dx is written once", (("3, 5", "3, 6"),)),
    ),
    "rms_add_to_dgamma": (
        Mistake("no barrier", "the sum reads a product that is not written yet", (("    PipeBarrier(PIPE_V)\n", ""),)),
        Mistake("gamma first", "dy is multiplied by gamma before dgamma has it",
                (("    Mul(self.work, self.dy, self.xhat, count)\n",
                  "    Mul(self.dy, self.dy, self.gamma, count)\n    PipeBarrier(PIPE_V)\n"
                  "    Mul(self.work, self.dy, self.xhat, count)\n"),
                 ("self.work, count)\n    Mul(self.dy, self.dy, self.gamma, count)", "self.work, count)"))),
        Mistake("overwritten", "each row writes dgamma anew",
                (("Add(self.dgamma, self.dgamma, self.work, count)", "Muls(self.dgamma, self.work, 1.0, count)"),)),
    ),
    "rms_add_slots": (
        Mistake("load not awaited", "the slots are added before they are loaded",
                (("            SetFlag(HardEvent.MTE2_V, 0)\n            WaitFlag(HardEvent.MTE2_V, 0)\n", ""),)),
        Mistake("slot overwritten", "the next slot is loaded while the last is added",
                (("            SetFlag(HardEvent.V_MTE2, 0)\n            WaitFlag(HardEvent.V_MTE2, 0)\n", ""),)),
        Mistake("sum not awaited", "the sum is stored before the last slot is added",
                (("        SetFlag(HardEvent.V_MTE3, 0)\n        WaitFlag(HardEvent.V_MTE3, 0)\n", ""),)),
        Mistake("columns for slots", "slots lie slot elements apart, which may be more than columns",
                (("core * self.t.slot", "core * self.t.columns"),)),
        Mistake("no zeros", "the sum starts from what the buffer holds",
                (("        Duplicate(self.dgamma, 0.0, count)\n", ""),)),
    ),
}
