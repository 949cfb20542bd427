"""RMS norm backward as an Ascend C kernel, in Python for simulated cores: rows dealt to the cores, and dgamma, a sum over all rows, added across the cores.

    row:   xhat = x * rstd;  g = dy * gamma;  dx = (g - xhat * mean(g * xhat)) * rstd;  dgamma += dy * xhat
    cores: each writes its dgamma to a slot of the workspace; SyncAll; each adds up a strip of columns, slot after slot

A row that fits the Unified Buffer is read once. A longer row is cut into column tiles and read twice, because dx needs the
row's mean.
"""

from aclnn_viz.arrays.plan import BLOCKED, SEQUENTIAL, Plan
from aclnn_viz.tiles.ascendc import *  # noqa: F403  the header of every Ascend C kernel
from aclnn_viz.tiles.by_operator.moves import BUFFERS, NO_PAD, Widen, bound


def tiling(platform, dy, x, rstd, gamma, tileLength=None, atomic=False):
    """Deal the rows to the cores in equal spans; a tile is a whole row if that fits, else `tileLength` columns."""
    size, columns = x.dtype.itemsize, gamma.size
    rows = x.size // columns if columns else 0
    span = -(-rows // platform.GetCoreNumAiv())
    cores = -(-rows // span) if rows else 1
    # Queues for dy, x and dx; float buffers for dy, x, gamma, dgamma and a product; gamma in its format.
    available = platform.GetCoreMemSize() - 1024
    most = int(available / (3 * BUFFERS * size + 5 * 4 + gamma.dtype.itemsize)) // 64 * 64
    tile = min(tileLength or most, most, -(-max(columns, 1) // 64) * 64)
    slot = -(-columns // 8) * 8
    strip = min(-(-columns // (64 * cores)) * 64, tile)
    return Tiling(
        cores,
        workspace=0 if atomic else 4 * slot * cores,
        T=x.dtype,
        G=gamma.dtype,
        rows=rows,
        columns=columns,
        span=span,
        tileLength=tile,
        slot=slot,
        strip=strip,
        atomic=atomic,
    )


class RmsNormGrad:
    def Init(self, dy, x, rstd, gamma, dx, dgamma, workspace, tiling):
        self.t, self.T, self.G = tiling, tiling.T, tiling.G
        total = self.t.rows * self.t.columns
        self.dyGm, self.xGm = bound(self.T, dy, total), bound(self.T, x, total)
        self.dxGm, self.rstdGm = bound(self.T, dx, total), bound(float32, rstd, self.t.rows)
        self.gammaGm = bound(self.G, gamma, self.t.columns)
        self.dgammaGm = bound(float32, dgamma, self.t.columns)
        self.partGm = bound(float32, workspace, self.t.slot * self.t.blockDim)
        self.first = GetBlockIdx() * self.t.span
        self.last = min(self.first + self.t.span, self.t.rows)
        pipe = TPipe()
        self.dyQue, self.xQue, self.dxQue = TQue(VECIN, 1), TQue(VECIN, 1), TQue(VECOUT, 1)
        for que in (self.dyQue, self.xQue, self.dxQue):
            pipe.InitBuffer(que, BUFFERS, self.t.tileLength * max(self.T.itemsize, 2))
        self.gammaInBuf = TBuf(VECCALC)
        pipe.InitBuffer(self.gammaInBuf, self.t.tileLength * self.G.itemsize)
        self.dyBuf, self.xBuf, self.gammaBuf, self.dgammaBuf, self.workBuf = (
            TBuf(VECCALC) for _ in range(5)
        )
        for buf in (self.dyBuf, self.xBuf, self.gammaBuf, self.dgammaBuf, self.workBuf):
            pipe.InitBuffer(buf, self.t.tileLength * 4)
        self.sumBuf = TBuf(VECCALC)
        pipe.InitBuffer(self.sumBuf, 32)
        self.dy, self.xhat, self.work = (
            self.dyBuf.Get(float32),
            self.xBuf.Get(float32),
            self.workBuf.Get(float32),
        )
        self.gamma, self.dgamma = self.gammaBuf.Get(float32), self.dgammaBuf.Get(float32)
        self.sum = self.sumBuf.Get(float32)

    def Process(self):
        if not self.t.columns:  # rows without elements
            return
        if self.t.atomic:
            self.ClearOutput()
        if self.t.columns <= self.t.tileLength:
            self.WholeRows()
        else:
            self.CutRows()
        if not self.t.atomic:
            SyncAll()
            self.AddSlots()

    def WholeRows(self):
        columns = self.t.columns
        self.LoadGamma(0, columns)
        Duplicate(self.dgamma, 0.0, columns)
        for row in range(self.first, self.last):
            rstd = self.rstdGm.GetValue(row)
            self.CopyIn(row * columns, columns)
            mean = self.RowSum(rstd, columns) * (float32.type(1) / float32.type(columns))
            self.AddToDgamma(columns)
            self.Dx(row * columns, mean, rstd, columns)
        self.StoreDgamma(0, columns)

    def CutRows(self):
        columns, tile = self.t.columns, self.t.tileLength
        if not self.t.atomic:
            self.ClearSlot()
        for row in range(self.first, self.last):
            rstd, total = self.rstdGm.GetValue(row), float32.type(0)
            for start in range(0, columns, tile):
                count = min(tile, columns - start)
                self.LoadGamma(start, count)
                self.CopyIn(row * columns + start, count)
                total = total + self.RowSum(rstd, count)
            mean = total * (float32.type(1) / float32.type(columns))
            for start in range(0, columns, tile):
                count = min(tile, columns - start)
                self.LoadGamma(start, count)
                self.CopyIn(row * columns + start, count)
                self.RowSum(rstd, count)
                Duplicate(self.dgamma, 0.0, count)
                self.AddToDgamma(count)
                self.Dx(row * columns + start, mean, rstd, count)
                self.StoreDgamma(start, count)  # finished before the next row adds to these columns

    def LoadGamma(self, start, count):
        given = self.gammaInBuf.Get(self.G)
        eventID = GetTPipePtr().FetchEventID(HardEvent.V_MTE2)
        SetFlag(
            HardEvent.V_MTE2, eventID
        )  # gamma has been read; the sum of a row also waits for this
        WaitFlag(HardEvent.V_MTE2, eventID)
        DataCopyPad(
            given,
            self.gammaGm[start],
            DataCopyExtParams(1, count * self.G.itemsize, 0, 0, 0),
            NO_PAD,
        )
        eventID = GetTPipePtr().FetchEventID(HardEvent.MTE2_V)
        SetFlag(HardEvent.MTE2_V, eventID)
        WaitFlag(HardEvent.MTE2_V, eventID)
        Widen(self.gamma, given, count)

    def CopyIn(self, start, count):
        dy, x = self.dyQue.AllocTensor(self.T), self.xQue.AllocTensor(self.T)
        row = DataCopyExtParams(1, count * self.T.itemsize, 0, 0, 0)
        DataCopyPad(dy, self.dyGm[start], row, NO_PAD)
        DataCopyPad(x, self.xGm[start], row, NO_PAD)
        self.dyQue.EnQue(dy)
        self.xQue.EnQue(x)

    def RowSum(self, rstd, count):
        """Store xhat in `xhat`, dy * gamma in `work`, and return the sum of their product."""
        dy, x = self.dyQue.DeQue(self.T), self.xQue.DeQue(self.T)
        Widen(self.dy, dy, count)
        Widen(self.xhat, x, count)
        PipeBarrier(PIPE_V)
        self.dyQue.FreeTensor(dy)
        self.xQue.FreeTensor(x)
        Muls(self.xhat, self.xhat, rstd, count)
        Mul(self.work, self.dy, self.gamma, count)
        PipeBarrier(PIPE_V)
        Mul(self.work, self.work, self.xhat, count)
        PipeBarrier(PIPE_V)
        # includes a wait, so that the sum may be read at once
        ReduceSum(self.sum, self.work, self.work, count)
        return self.sum.GetValue(0)

    def AddToDgamma(self, count):
        Mul(self.work, self.dy, self.xhat, count)
        PipeBarrier(PIPE_V)
        Add(self.dgamma, self.dgamma, self.work, count)
        Mul(self.dy, self.dy, self.gamma, count)

    def Dx(self, start, mean, rstd, count):
        dx = self.dxQue.AllocTensor(self.T)
        Muls(self.xhat, self.xhat, mean, count)
        PipeBarrier(PIPE_V)
        Sub(self.dy, self.dy, self.xhat, count)
        PipeBarrier(PIPE_V)
        if self.T == float32:
            Muls(dx, self.dy, rstd, count)
        else:
            Muls(self.dy, self.dy, rstd, count)
            PipeBarrier(PIPE_V)
            Cast(dx, self.dy, RoundMode.CAST_RINT, count)
        PipeBarrier(PIPE_V)
        self.dxQue.EnQue(dx)
        dx = self.dxQue.DeQue(self.T)
        DataCopyPad(self.dxGm[start], dx, DataCopyExtParams(1, count * self.T.itemsize, 0, 0, 0))
        self.dxQue.FreeTensor(dx)

    def StoreDgamma(self, start, count):
        """Add dgamma to the output (`atomic`), or to the core's slot if tiles cut the rows; else write the slot."""
        eventID = GetTPipePtr().FetchEventID(HardEvent.V_MTE3)
        SetFlag(HardEvent.V_MTE3, eventID)
        WaitFlag(HardEvent.V_MTE3, eventID)
        target = self.dgammaGm if self.t.atomic else self.partGm[GetBlockIdx() * self.t.slot]
        if self.t.atomic or self.t.columns > self.t.tileLength:
            SetAtomicAdd(float32)
        DataCopyPad(target[start], self.dgamma, DataCopyExtParams(1, count * 4, 0, 0, 0))
        SetAtomicNone()
        eventID = GetTPipePtr().FetchEventID(HardEvent.MTE3_V)
        SetFlag(HardEvent.MTE3_V, eventID)
        WaitFlag(HardEvent.MTE3_V, eventID)

    def Clear(self, target, start, end):
        """Write zeros to the columns from start to end."""
        count = min(self.t.tileLength, max(end - start, 0))
        Duplicate(self.work, 0.0, count)
        eventID = GetTPipePtr().FetchEventID(HardEvent.V_MTE3)
        SetFlag(HardEvent.V_MTE3, eventID)
        WaitFlag(HardEvent.V_MTE3, eventID)
        for column in range(start, end, self.t.tileLength):
            DataCopyPad(
                target[column],
                self.work,
                DataCopyExtParams(1, min(count, end - column) * 4, 0, 0, 0),
            )
        eventID = GetTPipePtr().FetchEventID(HardEvent.MTE3_V)
        SetFlag(HardEvent.MTE3_V, eventID)
        WaitFlag(HardEvent.MTE3_V, eventID)

    def ClearOutput(self):
        first = GetBlockIdx() * self.t.strip
        for start in range(first, self.t.columns, self.t.strip * GetBlockNum()):
            self.Clear(self.dgammaGm, start, min(start + self.t.strip, self.t.columns))
        SyncAll()

    def ClearSlot(self):
        self.Clear(self.partGm[GetBlockIdx() * self.t.slot], 0, self.t.columns)

    def AddSlots(self):
        """Add the slots of all cores, in order, for every strip of columns of this core."""
        for start in range(
            GetBlockIdx() * self.t.strip, self.t.columns, self.t.strip * GetBlockNum()
        ):
            count = min(self.t.strip, self.t.columns - start)
            row = DataCopyExtParams(1, count * 4, 0, 0, 0)
            eventID = GetTPipePtr().FetchEventID(HardEvent.MTE3_V)
            SetFlag(HardEvent.MTE3_V, eventID)  # the last strip has been stored
            WaitFlag(HardEvent.MTE3_V, eventID)
            Duplicate(self.dgamma, 0.0, count)
            for core in range(GetBlockNum()):
                eventID = GetTPipePtr().FetchEventID(HardEvent.V_MTE2)
                # `work` may be overwritten: the vector unit has added it to dgamma
                SetFlag(HardEvent.V_MTE2, eventID)
                WaitFlag(HardEvent.V_MTE2, eventID)
                DataCopyPad(self.work, self.partGm[core * self.t.slot + start], row, NO_PAD)
                eventID = GetTPipePtr().FetchEventID(HardEvent.MTE2_V)
                SetFlag(HardEvent.MTE2_V, eventID)
                WaitFlag(HardEvent.MTE2_V, eventID)
                Add(self.dgamma, self.dgamma, self.work, count)
            eventID = GetTPipePtr().FetchEventID(HardEvent.V_MTE3)
            SetFlag(HardEvent.V_MTE3, eventID)
            WaitFlag(HardEvent.V_MTE3, eventID)
            DataCopyPad(self.dgammaGm[start], self.dgamma, row)


def kernel(dy, x, rstd, gamma, dx, dgamma, workspace, tiling):
    op = RmsNormGrad()
    op.Init(dy, x, rstd, gamma, dx, dgamma, workspace, tiling)
    op.Process()


def atomic_tiling(platform, **inputs):
    return tiling(platform, **inputs, atomic=True)


# The cores' atomic sums come in any order. SEQUENTIAL bounds all: no order has a longer chain of
# additions than row after row.
_PLAN = Plan("rms norm in tiles", order=BLOCKED, tile=64, leading=SEQUENTIAL, reciprocal_mean=True)
PROGRAMS = (
    Program(
        "rms_norm",
        "rms_norm",
        tiling,
        kernel,
        _PLAN,
        sync="strict",
        text="dgamma through the workspace, the cores' slots added in their order",
    ),
    Program(
        "rms_norm",
        "rms_norm_atomic",
        atomic_tiling,
        kernel,
        _PLAN,
        deterministic=False,
        sync="strict",
        text="dgamma by atomic sums onto the cleared output, in whatever order the cores arrive",
    ),
)
