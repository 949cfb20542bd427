"""Solutions of the puzzles on RMS norm."""

import numpy as np

from aclnn_viz.checking.puzzles.solutions import Mistake
from aclnn_viz.tiles.ascendc import *  # noqa: F403  the header of every Ascend C kernel


def rms_xhat(x, rstd):
    return x * rstd


def rms_row_mean(dy, x, rstd, gamma):
    return np.mean(dy * gamma * x * rstd, axis=-1, keepdims=True)


def rms_dx(dy, x, rstd, gamma):
    xhat = x * rstd
    return (dy * gamma - xhat * np.mean(dy * gamma * xhat, axis=-1, keepdims=True)) * rstd


def rms_dgamma(dy, x, rstd):
    return np.sum(dy * x * rstd, axis=0)


def rms_kernel(dy, x, rstd, gamma):
    wide = np.promote_types(x.dtype, np.float32)
    axes, lead = tuple(range(-gamma.ndim, 0)), tuple(range(x.ndim - gamma.ndim))
    dy, gamma = dy.astype(wide), gamma.astype(wide)
    xhat = x.astype(wide) * rstd
    mean = np.mean(dy * gamma * xhat, axis=axes, keepdims=True)
    dx = (dy * gamma - xhat * mean) * rstd
    return dx.astype(x.dtype), np.sum(dy * xhat, axis=lead)


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
        eventID = GetTPipePtr().FetchEventID(HardEvent.MTE3_V)
        SetFlag(HardEvent.MTE3_V, eventID)
        WaitFlag(HardEvent.MTE3_V, eventID)
        Duplicate(self.dgamma, 0.0, count)
        for core in range(GetBlockNum()):
            eventID = GetTPipePtr().FetchEventID(HardEvent.V_MTE2)
            SetFlag(HardEvent.V_MTE2, eventID)
            WaitFlag(HardEvent.V_MTE2, eventID)
            DataCopyPad(self.work, self.partGm[core * self.t.slot + start], row, DataCopyPadExtParams(False, 0, 0, 0))
            eventID = GetTPipePtr().FetchEventID(HardEvent.MTE2_V)
            SetFlag(HardEvent.MTE2_V, eventID)
            WaitFlag(HardEvent.MTE2_V, eventID)
            Add(self.dgamma, self.dgamma, self.work, count)
        eventID = GetTPipePtr().FetchEventID(HardEvent.V_MTE3)
        SetFlag(HardEvent.V_MTE3, eventID)
        WaitFlag(HardEvent.V_MTE3, eventID)
        DataCopyPad(self.dgammaGm[start], self.dgamma, row)


MISTAKES = {
    "rms_xhat": (
        Mistake("sigma for rstd", "the saved tensor is taken for the root itself: it is already its reciprocal",
                {"x * rstd": "x / rstd"}),
        Mistake("rstd recomputed", "rstd is computed again from x; a kernel must be right for any rstd that was saved",
                {"x * rstd": "x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-6)"}),
        Mistake("mean taken off", "that is layer norm: RMS norm does not centre its rows",
                {"x * rstd": "(x - np.mean(x, axis=-1, keepdims=True)) * rstd"}),
    ),
    "rms_row_mean": (
        Mistake("missing 1/n", "the row is summed, not averaged", {"np.mean(": "np.sum("}),
        Mistake("gamma forgotten", "the mean is taken of dy instead of dy * gamma", {"dy * gamma": "dy"}),
        Mistake("dy forgotten", "a mean of the forward pass is reused for the backward one",
                {"dy * gamma": "gamma"}),
    ),
    "rms_dx": (
        Mistake("projection missing", "rstd is taken for a constant, but every x of the row is in it",
                {" - xhat * np.mean(dy * gamma * xhat, axis=-1, keepdims=True)": ""}),
        Mistake("missing 1/n", "the row mean is written as a row sum", {"np.mean(": "np.sum("}),
        Mistake("last rstd forgotten", "the bracket is returned without its factor", {")) * rstd": "))"}),
        Mistake("gamma forgotten in the mean", "the mean is taken of dy instead of dy * gamma",
                {"np.mean(dy * gamma": "np.mean(dy"}),
    ),
    "rms_dgamma": (
        Mistake("rows averaged", "the loss is a sum over the rows, so their gradients add up",
                {"np.sum(dy * x * rstd, axis=0)": "np.mean(dy * x * rstd, axis=0)"}),
        Mistake("last row only", "each row overwrites dgamma instead of adding to it",
                {"np.sum(dy * x * rstd, axis=0)": "(dy * x * rstd)[-1]"}),
        Mistake("x for x-hat", "gamma multiplies the normalised x, not x", {" * rstd": ""}),
    ),
    "rms_kernel": (
        Mistake("missing 1/n", "", {"np.mean(": "np.sum("}),
        Mistake("dgamma with gamma", "", {"np.sum(dy * xhat": "np.sum(dy * gamma * xhat"}),
        Mistake("last rstd forgotten", "", {"xhat * mean) * rstd": "xhat * mean)"}),
    ),
    "rows_of_core": (
        Mistake("rounded down", "the rows that cannot be dealt evenly have no core",
                {"-(-rows // cores)": "rows // cores"}),
        Mistake("every core is full", "the last core takes rows that are not there",
                {"np.clip(rows - core * span, 0, span)": "span + 0 * core"}),
        Mistake("fewer than none", "cores behind the last row get a negative number of rows",
                {"np.clip(rows - core * span, 0, span)": "np.minimum(rows - core * span, span)"}),
    ),
    "strip_owner": (
        Mistake("dealt once", "strips behind the last core's first are given to cores that are not there",
                {" % cores": ""}),
        Mistake("column after column", "single columns are dealt in turn, which no copy moves well",
                {"column // strip % cores": "column % cores"}),
        Mistake("in one piece", "each core has its strips side by side",
                {"column // strip % cores": "column // (strip * cores)"}),
    ),
    "row_traffic": (
        Mistake("read once", "the second reading of a row that is cut is forgotten", {"3, 5": "3, 3"}),
        Mistake("a tile that is full", "a row of exactly one tile is taken to be cut", {"columns <= ": "columns < "}),
        Mistake("all three twice", "dx is written once", {"3, 5": "3, 6"}),
    ),
    "rms_add_to_dgamma": (
        Mistake("no barrier", "the sum reads a product that is not written yet", {"    PipeBarrier(PIPE_V)\n": ""}),
        Mistake("gamma first", "dy is multiplied by gamma before dgamma has it",
                {"    Mul(self.work, self.dy, self.xhat, count)\n":
                 "    Mul(self.dy, self.dy, self.gamma, count)\n    PipeBarrier(PIPE_V)\n"
                 "    Mul(self.work, self.dy, self.xhat, count)\n",
                 "self.work, count)\n    Mul(self.dy, self.dy, self.gamma, count)": "self.work, count)"}),
        Mistake("overwritten", "each row writes dgamma anew",
                {"Add(self.dgamma, self.dgamma, self.work, count)": "Muls(self.dgamma, self.work, 1.0, count)"}),
    ),
    "rms_add_slots": (
        Mistake("load not awaited", "the slots are added before they are loaded",
                {"            SetFlag(HardEvent.MTE2_V, eventID)\n            WaitFlag(HardEvent.MTE2_V, eventID)\n": ""}),
        Mistake("slot overwritten", "the next slot is loaded while the last is added",
                {"            SetFlag(HardEvent.V_MTE2, eventID)\n            WaitFlag(HardEvent.V_MTE2, eventID)\n": ""}),
        Mistake("sum not awaited", "the sum is stored before the last slot is added",
                {"        SetFlag(HardEvent.V_MTE3, eventID)\n        WaitFlag(HardEvent.V_MTE3, eventID)\n": ""}),
        Mistake("columns for slots", "slots lie slot elements apart, which may be more than columns",
                {"core * self.t.slot": "core * self.t.columns"}),
        Mistake("no zeros", "the sum starts from what the buffer holds",
                {"        Duplicate(self.dgamma, 0.0, count)\n": ""}),
    ),
}
