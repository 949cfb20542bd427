"""Layer norm backward as an Ascend C kernel, in Python for simulated cores: rows dealt to the cores in groups, each group swept twice, by tiles of columns.

    sweep 1: xhat = (x - mean) * rstd;  g = grad * weight;  sums of g and g * xhat for each row of the group;
             gradWeight += grad * xhat, gradBias += grad, for each column of the tile
    sweep 2: gradInput = (g - (mean(g) + xhat * mean(g * xhat))) * rstd
    cores:   gradWeight and gradBias go to a slot of the workspace for each core; SyncAll; strips of columns add them

Any number of columns fits, because a tile is at most as long as the Unified Buffer allows. The waits between vector
instructions, and between these and the scalar unit, are left to the compiler.
"""

from math import prod

from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.tiles.ascendc import *  # noqa: F403  the header of every Ascend C kernel
from aclnn_viz.tiles.by_operator.moves import BUFFERS, NO_PAD, F, Fetch, Store, Widen, bound

ROWS = 64  # rows that are summed together; the scalar unit keeps a sum for each


def tiling(
    platform,
    gradOut,
    input,
    normalizedShape,
    mean,
    rstd,
    weightOptional,
    biasOptional,
    outputMask,
    tileLength=None,
):
    columns = prod(normalizedShape)
    rows, size = (input.size // columns if columns else 0), input.dtype.itemsize
    weight = input.dtype if weightOptional is None else weightOptional.dtype
    span = max(-(-rows // platform.GetCoreNumAiv()), 1)
    cores = max(-(-rows // span), 1) if any(outputMask) else 0
    available = platform.GetCoreMemSize() - 1024
    most = int(available / (BUFFERS * (2 * size + 4 + weight.itemsize) + 6 * 4)) // 64 * 64
    tile = min(tileLength or most, most, -(-max(columns, 1) // 64) * 64)
    slot = -(-columns // 8) * 8
    return Tiling(
        cores,
        workspace=8 * slot * cores,
        T=input.dtype,
        W=weight,
        M=mean.dtype,
        rows=rows,
        columns=columns,
        span=span,
        tileLength=tile,
        slot=slot,
        strip=max(min(-(-columns // (64 * max(cores, 1))) * 64, tile), 64),
    )


class LayerNormGrad:
    def Init(
        self, gradOut, x, mean, rstd, weight, gradInput, gradWeight, gradBias, workspace, tiling
    ):
        self.t, self.T, self.W = tiling, tiling.T, tiling.W
        self.gradGm, self.xGm = bound(self.T, gradOut), bound(self.T, x)
        self.meanGm, self.rstdGm = bound(tiling.M, mean), bound(tiling.M, rstd)
        self.weightGm, self.outGm = bound(self.W, weight), bound(self.T, gradInput)
        self.partGm = bound(float32, workspace)
        self.weighted, self.wantsInput = weight is not None, gradInput is not None
        # the outputs that are sums over the rows: index, start of the slots, output
        self.sums = []
        # gradWeight sums dw, gradBias sums db.
        for k, address in enumerate((gradWeight, gradBias)):
            if address is not None:
                parts = self.partGm[k * tiling.slot * tiling.blockDim]
                self.sums.append((k, parts, bound(self.W, address, tiling.columns)))
        self.first = GetBlockIdx() * tiling.span
        self.last = min(self.first + tiling.span, tiling.rows)
        pipe = TPipe()
        self.gradQue, self.xQue, self.weightQue = TQue(VECIN, 1), TQue(VECIN, 1), TQue(VECIN, 1)
        self.outQue = TQue(VECOUT, 1)
        pipe.InitBuffer(self.gradQue, BUFFERS, tiling.tileLength * self.T.itemsize)
        pipe.InitBuffer(self.xQue, BUFFERS, tiling.tileLength * self.T.itemsize)
        pipe.InitBuffer(self.weightQue, BUFFERS, tiling.tileLength * self.W.itemsize)
        pipe.InitBuffer(self.outQue, BUFFERS, tiling.tileLength * 4)
        bufs = [TBuf(VECCALC) for _ in range(6)]
        for buf in bufs:
            pipe.InitBuffer(buf, tiling.tileLength * 4)
        self.grad, self.xhat, self.weight, self.work, self.dw, self.db = (
            buf.Get(float32) for buf in bufs
        )
        sumBuf = TBuf(VECCALC)
        pipe.InitBuffer(sumBuf, 32)
        self.sum = sumBuf.Get(float32)

    def Process(self):
        tiles = [
            (start, min(self.t.tileLength, self.t.columns - start))
            for start in range(0, self.t.columns, self.t.tileLength)
        ]
        Duplicate(self.dw, 0.0, self.t.tileLength)
        for _, parts, _ in self.sums:  # zeros, to which atomic adds add the sums of row groups
            for start, count in tiles:
                Store(self.outQue, parts[GetBlockIdx() * self.t.slot + start], self.dw, count)
        for first in range(self.first, self.last, ROWS):
            self.Group(first, min(first + ROWS, self.last), tiles)
        if self.sums:
            SyncAll()
            for _, parts, out in self.sums:
                self.AddSlots(parts, out)

    def Group(self, first, last, tiles):
        total, along = [F(0)] * ROWS, [F(0)] * ROWS
        for start, count in tiles:
            self.LoadWeight(start, count)
            Duplicate(self.dw, 0.0, count)
            Duplicate(self.db, 0.0, count)
            for row in range(first, last):
                self.Xhat(row, start, count)
                Mul(self.work, self.grad, self.xhat, count)
                Add(self.dw, self.dw, self.work, count)
                Add(self.db, self.db, self.grad, count)
                Mul(self.grad, self.grad, self.weight, count)
                ReduceSum(self.sum, self.grad, self.work, count)
                total[row - first] = total[row - first] + self.sum.GetValue(0)
                Mul(self.grad, self.grad, self.xhat, count)
                ReduceSum(self.sum, self.grad, self.work, count)
                along[row - first] = along[row - first] + self.sum.GetValue(0)
            PipeBarrier(PIPE_MTE3)  # earlier sums of rows, or the zeros, have been written
            SetAtomicAdd(float32)
            for k, parts, _ in self.sums:
                Store(
                    self.outQue,
                    parts[GetBlockIdx() * self.t.slot + start],
                    self.db if k else self.dw,
                    count,
                )
            SetAtomicNone()
        for row in range(first, last if self.wantsInput else first):
            mean, slope = (
                total[row - first] / F(self.t.columns),
                along[row - first] / F(self.t.columns),
            )
            for start, count in tiles:
                self.LoadWeight(start, count)
                self.Xhat(row, start, count)
                Mul(self.grad, self.grad, self.weight, count)
                Muls(self.xhat, self.xhat, slope, count)
                Adds(self.xhat, self.xhat, mean, count)
                Sub(self.grad, self.grad, self.xhat, count)
                Muls(self.grad, self.grad, F(self.rstdGm.GetValue(row)), count)
                Store(self.outQue, self.outGm[row * self.t.columns + start], self.grad, count)

    def Load(self, que, source, wide, count):
        """Copy `count` elements from global memory, and convert them to float in the buffer `wide`."""
        Fetch(que, source, count)
        given = que.DeQue(source.dtype)
        Widen(wide, given, count)
        que.FreeTensor(given)

    def LoadWeight(self, start, count):
        if self.weighted:
            self.Load(self.weightQue, self.weightGm[start], self.weight, count)
        else:
            Duplicate(self.weight, 1.0, count)

    def Xhat(self, row, start, count):
        at = row * self.t.columns + start
        self.Load(self.gradQue, self.gradGm[at], self.grad, count)
        self.Load(self.xQue, self.xGm[at], self.xhat, count)
        Adds(self.xhat, self.xhat, -F(self.meanGm.GetValue(row)), count)
        Muls(self.xhat, self.xhat, F(self.rstdGm.GetValue(row)), count)

    def AddSlots(self, parts, out):
        for start in range(
            GetBlockIdx() * self.t.strip, self.t.columns, self.t.strip * GetBlockNum()
        ):
            count = min(self.t.strip, self.t.columns - start)
            Duplicate(self.dw, 0.0, count)
            for core in range(GetBlockNum()):
                eventID = GetTPipePtr().FetchEventID(HardEvent.V_MTE2)
                SetFlag(HardEvent.V_MTE2, eventID)
                WaitFlag(HardEvent.V_MTE2, eventID)
                DataCopyPad(
                    self.work,
                    parts[core * self.t.slot + start],
                    DataCopyExtParams(1, count * 4, 0, 0, 0),
                    NO_PAD,
                )
                eventID = GetTPipePtr().FetchEventID(HardEvent.MTE2_V)
                SetFlag(HardEvent.MTE2_V, eventID)
                WaitFlag(HardEvent.MTE2_V, eventID)
                Add(self.dw, self.dw, self.work, count)
            Store(self.outQue, out[start], self.dw, count)


def kernel(
    gradOut, x, mean, rstd, weight, bias, gradInput, gradWeight, gradBias, workspace, tiling
):
    op = LayerNormGrad()
    op.Init(gradOut, x, mean, rstd, weight, gradInput, gradWeight, gradBias, workspace, tiling)
    op.Process()


PROGRAMS = (
    Program(
        "layer_norm",
        "layer_norm",
        tiling,
        kernel,
        Plan("layer norm in tiles", order=SEQUENTIAL),
        text="groups of rows swept twice; the sums over the rows through the workspace, in core order",
    ),
)
