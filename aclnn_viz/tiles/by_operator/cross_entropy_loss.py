"""Cross entropy backward as an Ascend C kernel, in Python for simulated cores: rows dealt to the cores, each cut into column tiles, one exponential an element.

    row:   xGrad = exp(logProb) * (nll + smooth * sum(weight) + z) - nll at the target - smooth * weight
    cores: for "mean", W = sum of the targets' weights and M = the rows that count: each core writes its part to the
           workspace; SyncAll; every core adds up all parts in the same order

The scalar unit computes values of a row (its target, its factors).
"""

from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.tiles.ascendc import *  # noqa: F403  the header of every Ascend C kernel
from aclnn_viz.tiles.by_operator.moves import BUFFERS, NO_PAD, F, Fetch, Round, bound


def tiling(
    platform,
    gradLoss,
    logProb,
    target,
    weightOptional,
    gradZlossOptional,
    lseForZlossOptional,
    reduction,
    ignoreIndex,
    labelSmoothing,
    lseSquareScaleForZloss,
    tileLength=None,
):
    rows, columns = logProb.shape
    size = logProb.dtype.itemsize
    span = -(-rows // platform.GetCoreNumAiv())
    cores = -(-rows // span) if logProb.size else 0
    available = platform.GetCoreMemSize() - 4096
    tile = int(available / (2 * BUFFERS * size + BUFFERS * 4 + 4)) // 64 * 64
    tile = min(tileLength or tile, -(-columns // 64) * 64)
    return Tiling(
        cores,
        workspace=32 * cores,
        T=logProb.dtype,
        G=gradLoss.dtype,
        rows=rows,
        columns=columns,
        span=span,
        tileLength=tile,
        mean=reduction == "mean",
        none=reduction == "none",
        ignoreIndex=ignoreIndex,
        smoothing=labelSmoothing,
        zScale=lseSquareScaleForZloss,
        L=getattr(lseForZlossOptional, "dtype", float32),
        Z=getattr(gradZlossOptional, "dtype", float32),
    )


class CrossEntropyLossGrad:
    def Init(self, gradLoss, logProb, target, weight, gradZloss, lse, xGrad, workspace, tiling):
        self.t, self.T = tiling, tiling.T
        self.weighted, self.hasZ, self.hasGradZ = (
            weight is not None,
            lse is not None,
            gradZloss is not None,
        )
        total = self.t.rows * self.t.columns
        self.gradGm, self.logProbGm = bound(self.t.G, gradLoss), bound(self.T, logProb, total)
        self.outGm, self.targetGm = bound(self.T, xGrad, total), bound(int64_t, target, self.t.rows)
        self.weightGm = bound(float32, weight, self.t.columns)
        self.partGm = bound(float32, workspace, 8 * self.t.blockDim)
        self.lseGm, self.gradZGm = bound(self.t.L, lse, self.t.rows), bound(self.t.Z, gradZloss)
        self.first = GetBlockIdx() * self.t.span
        self.last = min(self.first + self.t.span, self.t.rows)
        pipe = TPipe()
        self.inQue, self.weightQue, self.outQue = TQue(VECIN, 1), TQue(VECIN, 1), TQue(VECOUT, 1)
        self.workBuf, self.partBuf, self.sumBuf = TBuf(VECCALC), TBuf(VECCALC), TBuf(VECCALC)
        pipe.InitBuffer(self.inQue, BUFFERS, self.t.tileLength * self.T.itemsize)
        pipe.InitBuffer(self.outQue, BUFFERS, self.t.tileLength * self.T.itemsize)
        pipe.InitBuffer(self.weightQue, BUFFERS, self.t.tileLength * 4)
        pipe.InitBuffer(self.workBuf, self.t.tileLength * 4)
        pipe.InitBuffer(self.partBuf, 32 * self.t.blockDim)
        pipe.InitBuffer(self.sumBuf, 32)
        self.work, self.part, self.sum = (
            self.workBuf.Get(float32),
            self.partBuf.Get(float32),
            self.sumBuf.Get(float32),
        )

    def Process(self):
        self.weightSum, self.rowCount = F(1), F(1)
        if self.t.mean:
            self.Divisors()
        self.allWeights = F(self.t.columns)
        if self.t.smoothing != 0 and self.weighted:
            self.SumWeights()
        for row in range(self.first, self.last):
            self.Row(row)

    def Counted(self, row):
        """Return the target of a row, whether the row counts, and its weight."""
        target = self.targetGm.GetValue(row)
        if target == self.t.ignoreIndex:
            return target, F(0), F(0)
        return target, F(1), self.weightGm.GetValue(target) if self.weighted else F(1)

    def Divisors(self):
        weights, count = F(0), F(0)
        for row in range(self.first, self.last):
            _, counted, weight = self.Counted(row)
            weights, count = weights + weight, count + counted
        self.part.SetValue(0, weights)
        self.part.SetValue(1, count)
        eventID = GetTPipePtr().FetchEventID(HardEvent.S_MTE3)
        SetFlag(HardEvent.S_MTE3, eventID)
        WaitFlag(HardEvent.S_MTE3, eventID)
        DataCopyPad(self.partGm[8 * GetBlockIdx()], self.part, DataCopyExtParams(1, 8, 0, 0, 0))
        SyncAll()
        # Parts lie 32 bytes apart in the workspace and in this buffer.
        DataCopyPad(self.part, self.partGm, DataCopyExtParams(GetBlockNum(), 8, 24, 0, 0), NO_PAD)
        eventID = GetTPipePtr().FetchEventID(HardEvent.MTE2_S)
        SetFlag(HardEvent.MTE2_S, eventID)
        WaitFlag(HardEvent.MTE2_S, eventID)
        self.weightSum, self.rowCount = F(0), F(0)
        for core in range(GetBlockNum()):
            self.weightSum = self.weightSum + self.part.GetValue(8 * core)
            self.rowCount = self.rowCount + self.part.GetValue(8 * core + 1)

    def SumWeights(self):
        self.allWeights = F(0)
        for start in range(0, self.t.columns, self.t.tileLength):
            count = min(self.t.tileLength, self.t.columns - start)
            self.LoadWeights(start, count)
            weight = self.weightQue.DeQue(float32)
            ReduceSum(self.sum, weight, weight, count)  # includes a wait for its result
            self.weightQue.FreeTensor(weight)
            self.allWeights = self.allWeights + self.sum.GetValue(0)

    def LoadWeights(self, start, count):
        Fetch(self.weightQue, self.weightGm[start], count)

    def Row(self, row):
        target, counted, weight = self.Counted(row)
        each = row if self.t.none else 0
        grad = F(self.gradGm.GetValue(each))
        rowGrad = grad / self.weightSum * counted if self.t.mean else grad * counted
        nll = rowGrad * F(1 - self.t.smoothing) * weight
        smooth = rowGrad * F(self.t.smoothing) / F(self.t.columns)
        scale = nll + smooth * self.allWeights
        if self.hasZ:
            gradZ = grad + F(self.gradZGm.GetValue(each)) if self.hasGradZ else grad
            gradZ = gradZ / self.rowCount if self.t.mean else gradZ
            scale = scale + F(2 * self.t.zScale) * F(self.lseGm.GetValue(row)) * counted * gradZ
        for start in range(0, self.t.columns, self.t.tileLength):
            count = min(self.t.tileLength, self.t.columns - start)
            Fetch(self.inQue, self.logProbGm[row * self.t.columns + start], count)
            self.Compute(start, count, target, scale, nll, smooth)
            self.CopyOut(row * self.t.columns + start, count)

    def Compute(self, start, count, target, scale, nll, smooth):
        logProb, out = self.inQue.DeQue(self.T), self.outQue.AllocTensor(self.T)
        if self.T == float32:
            Exp(self.work, logProb, count)
        else:
            Cast(self.work, logProb, RoundMode.CAST_NONE, count)
            PipeBarrier(PIPE_V)
            Exp(self.work, self.work, count)
        self.inQue.FreeTensor(logProb)
        PipeBarrier(PIPE_V)
        Muls(self.work, self.work, scale, count)
        if start <= target < start + count:
            eventID = GetTPipePtr().FetchEventID(HardEvent.V_S)
            SetFlag(HardEvent.V_S, eventID)
            WaitFlag(HardEvent.V_S, eventID)
            self.work.SetValue(target - start, self.work.GetValue(target - start) - nll)
            eventID = GetTPipePtr().FetchEventID(HardEvent.S_V)
            SetFlag(HardEvent.S_V, eventID)
            WaitFlag(HardEvent.S_V, eventID)
        PipeBarrier(PIPE_V)
        if self.t.smoothing != 0 and self.weighted:
            self.LoadWeights(start, count)
            weight = self.weightQue.DeQue(float32)
            Muls(weight, weight, smooth, count)
            PipeBarrier(PIPE_V)
            Sub(self.work, self.work, weight, count)
            self.weightQue.FreeTensor(weight)
            PipeBarrier(PIPE_V)
        elif self.t.smoothing != 0:
            Adds(self.work, self.work, -smooth, count)
            PipeBarrier(PIPE_V)
        Round(out, self.work, count)
        PipeBarrier(PIPE_V)  # the next tile computes in the same buffer
        self.outQue.EnQue(out)

    def CopyOut(self, start, count):
        out = self.outQue.DeQue(self.T)
        DataCopyPad(self.outGm[start], out, DataCopyExtParams(1, count * self.T.itemsize, 0, 0, 0))
        self.outQue.FreeTensor(out)


def kernel(gradLoss, logProb, target, weight, gradZloss, lse, xGrad, workspace, tiling):
    op = CrossEntropyLossGrad()
    op.Init(gradLoss, logProb, target, weight, gradZloss, lse, xGrad, workspace, tiling)
    op.Process()


PROGRAMS = (
    Program(
        "cross_entropy_loss",
        "cross_entropy_loss",
        tiling,
        kernel,
        Plan("cross entropy in tiles", order=SEQUENTIAL),
        sync="strict",
        text="rows in column tiles; the divisors of the mean through the workspace, in the cores' order",
    ),
)
