"""Everything that a tile program writes, by its Ascend C name; import all of it, as C++ includes kernel_operator.h.

Template arguments of C++ come first: `SetFlag<HardEvent::V_MTE3>(id)` is `SetFlag(HardEvent.V_MTE3, id)`.
"""

from aclnn_viz.tiles.buffers import VECCALC, VECIN, VECOUT, TBuf, TPipe, TPosition, TQue
from aclnn_viz.tiles.casts import Cast, RoundMode
from aclnn_viz.tiles.copies import DataCopy, DataCopyExtParams, DataCopyPad, DataCopyPadExtParams, DataCopyParams
from aclnn_viz.tiles.formats import (
    bfloat16_t,
    float32,
    half,
    int8_t,
    int16_t,
    int32_t,
    int64_t,
    uint8_t,
    uint16_t,
    uint32_t,
    uint64_t,
)
from aclnn_viz.tiles.lanes import BinaryRepeatParams, UnaryRepeatParams
from aclnn_viz.tiles.launching import Program, Tiling
from aclnn_viz.tiles.reductions import (
    BlockReduceMax,
    BlockReduceMin,
    BlockReduceSum,
    PairReduceSum,
    ReduceMax,
    ReduceMin,
    ReduceSum,
    RepeatReduceSum,
    WholeReduceMax,
    WholeReduceMin,
    WholeReduceSum,
)
from aclnn_viz.tiles.selection import CMPMODE, SELMODE, Brcb, Compare, CompareScalar, Gather, GatherMask, Select
from aclnn_viz.tiles.sync import (
    PIPE_ALL,
    PIPE_MTE2,
    PIPE_MTE3,
    PIPE_S,
    PIPE_V,
    GetBlockIdx,
    GetBlockNum,
    HardEvent,
    PipeBarrier,
    SetAtomicAdd,
    SetAtomicNone,
    SetFlag,
    SyncAll,
    WaitFlag,
)
from aclnn_viz.tiles.tensors import GlobalTensor, LocalTensor
from aclnn_viz.tiles.vector import (
    Abs,
    Add,
    Adds,
    And,
    Axpy,
    Copy,
    CreateVecIndex,
    Div,
    Duplicate,
    Exp,
    FusedMulAdd,
    LeakyRelu,
    Ln,
    Max,
    Maxs,
    Min,
    Mins,
    Mul,
    MulAddDst,
    Muls,
    Not,
    Or,
    Reciprocal,
    Relu,
    Rsqrt,
    ShiftLeft,
    ShiftRight,
    Sqrt,
    Sub,
)

__all__ = [name for name in dir() if name[0] != "_"]
