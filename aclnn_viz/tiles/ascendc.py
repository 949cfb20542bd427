"""Everything that a tile program writes, by its Ascend C name; import all of it, as C++ includes kernel_operator.h.

Template arguments of C++ come first: `SetFlag<HardEvent::V_MTE3>(id)` is `SetFlag(HardEvent.V_MTE3, id)`.
"""

from aclnn_viz.tiles.copies import (
    PIPE_ALL, PIPE_MTE2, PIPE_MTE3, PIPE_S, PIPE_V, CacheLine, DataCacheCleanAndInvalid, DataCopy, DataCopyExtParams, DataCopyPad,
    DataCopyPadExtParams, DataCopyParams, GetBlockIdx, GetBlockNum, PipeBarrier, SetAtomicAdd, SetAtomicNone, SyncAll,
)
from aclnn_viz.tiles.events import HardEvent, SetFlag, WaitFlag
from aclnn_viz.tiles.launching import Program, Tiling
from aclnn_viz.tiles.platforms import (
    bfloat16_t, float32, half, int16_t, int32_t, int64_t, int8_t, uint16_t, uint32_t, uint64_t, uint8_t,
)
from aclnn_viz.tiles.reductions import (
    CMPMODE, SELMODE, BlockReduceMax, BlockReduceMin, BlockReduceSum, Brcb, Compare, CompareScalar, Gather,
    GatherMask, PairReduceSum, ReduceMax, ReduceMin, ReduceSum, RepeatReduceSum, Select, WholeReduceMax,
    WholeReduceMin, WholeReduceSum,
)
from aclnn_viz.tiles.tensors import (
    VECCALC, VECIN, VECOUT, GetTPipePtr, GlobalTensor, LocalMemAllocator, LocalTensor, TBuf, TPipe, TPosition, TQue, TQueBind,
)
from aclnn_viz.tiles.vector import (
    Abs, Add, Adds, And, Axpy, BinaryRepeatParams, Cast, Copy, CreateVecIndex, Div, Duplicate, Exp, FusedMulAdd,
    LeakyRelu, Ln, Max, Maxs, Min, Mins, Mul, MulAddDst, Muls, Not, Or, Reciprocal, Relu, RoundMode, Rsqrt, ShiftLeft,
    ShiftRight, Sqrt, Sub, UnaryRepeatParams,
)

__all__ = [name for name in dir() if name[0] != "_"]
