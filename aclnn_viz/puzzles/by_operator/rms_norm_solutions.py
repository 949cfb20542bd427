"""Right answers to the puzzles on RMS norm; changed in a place or two, they become the usual mistakes."""

import numpy as np

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
            DataCopyPad(
                self.work,
                self.partGm[core * self.t.slot + start],
                row,
                DataCopyPadExtParams(False, 0, 0, 0),
            )
            eventID = GetTPipePtr().FetchEventID(HardEvent.MTE2_V)
            SetFlag(HardEvent.MTE2_V, eventID)
            WaitFlag(HardEvent.MTE2_V, eventID)
            Add(self.dgamma, self.dgamma, self.work, count)
        eventID = GetTPipePtr().FetchEventID(HardEvent.V_MTE3)
        SetFlag(HardEvent.V_MTE3, eventID)
        WaitFlag(HardEvent.V_MTE3, eventID)
        DataCopyPad(self.dgammaGm[start], self.dgamma, row)
