"""Loads and stores that the Ascend C kernels of several operators share: tensors over global memory, numbers made float when
they are loaded, and rounded when they are stored.

Flags and barriers are in the programs, because a wait is identified by its line.
"""

from aclnn_viz.tiles.ascendc import *  # noqa: F403  the header of every Ascend C kernel

BUFFERS = 2  # per queue: the next buffer fills while one is computed
NO_PAD = DataCopyPadExtParams()
F = float32.type  # a scalar of C++ type float


def bound(dtype, address, size=None):
    tensor = GlobalTensor(dtype)
    tensor.SetGlobalBuffer(address, size)
    return tensor


def Widen(wide, given, count):
    if given.dtype == float32:
        Muls(wide, given, 1.0, count)
    else:
        Cast(wide, given, RoundMode.CAST_NONE, count)


def Round(out, wide, count):
    if out.dtype == float32:
        Muls(out, wide, 1.0, count)
    else:
        Cast(out, wide, RoundMode.CAST_RINT, count)


def Fetch(que, source, count):
    """Copy a row into a tensor of a queue."""
    given = que.AllocTensor(source.dtype)
    row = DataCopyExtParams(1, count * source.dtype.itemsize, 0, 0, 0)
    DataCopyPad(given, source, row, NO_PAD)
    que.EnQue(given)


def Store(que, target, wide, count):
    """Round `count` elements of the float buffer `wide` to the target's type, and copy them to global memory."""
    out = que.AllocTensor(target.dtype)
    Round(out, wide, count)
    Send(que, target, out, count)


def Send(que, target, out, count):
    """Copy a tensor of a queue out."""
    que.EnQue(out)
    out = que.DeQue(target.dtype)
    DataCopyPad(target, out, DataCopyExtParams(1, count * target.dtype.itemsize, 0, 0, 0))
    que.FreeTensor(out)
