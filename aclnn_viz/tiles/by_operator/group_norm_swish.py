"""Group norm + swish backward as an Ascend C kernel, in Python for simulated cores: one task a sample and group, two sweeps over the channels of a group.

    sweep 1: dz = dy * slope(xhat * gamma + beta); for each channel the sums of dz and dz * xhat
    sweep 2: dz again; dx = (dz * gamma - xhat * along - shift) * rstd, with along and shift from all channels' sums
    cores:   the sums of each sample and channel go to the workspace; SyncAll; strips of channels add up the samples

Samples are summed in order, whichever core computed them: the bits do not depend on the number of cores. The waits between
vector instructions, and between these and the scalar unit, are left to the compiler.
"""

from math import prod

from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.operators.group_norm_swish.page import swish_slope
from aclnn_viz.tiles.ascendc import *  # noqa: F403  the header of every Ascend C kernel
from aclnn_viz.tiles.by_operator.moves import BUFFERS, NO_PAD, F, Fetch, Store, Widen, bound

SUMS = 256  # channels whose sums are collected before they are stored


def tiling(
    platform, dy, mean, rstd, x, gamma, beta, numGroups, swishScale, tileLength=None, **others
):
    samples, channels = x.shape[:2]
    tasks, positions, size = samples * numGroups, prod(x.shape[2:]), x.dtype.itemsize
    span = max(-(-tasks // platform.GetCoreNumAiv()), 1)
    cores = max(-(-tasks // span), 1)
    # Select uses the upper 8 KiB
    available = platform.GetCoreMemSize() - 8192 - 8 * SUMS - 1024
    most = int(available / (2 * BUFFERS * size + BUFFERS * 4 + 6 * 4 + 1 / 8)) // 64 * 64
    tile = min(tileLength or most, most, -(-max(positions, 1) // 64) * 64)
    strip = min(max(-(-channels // (64 * cores)) * 64, 64), tile)
    return Tiling(
        cores,
        workspace=8 * samples * channels,
        T=x.dtype,
        G=gamma.dtype,
        M=mean.dtype,
        samples=samples,
        channels=channels,
        groups=numGroups,
        inGroup=channels // numGroups,
        positions=positions,
        tasks=tasks,
        span=span,
        tileLength=tile,
        strip=strip,
        scale=swishScale,
    )


class GroupNormSwishGrad:
    def Init(self, dy, mean, rstd, x, gamma, beta, dx, dgamma, dbeta, workspace, tiling):
        self.t, self.T, self.G = tiling, tiling.T, tiling.G
        self.dyGm, self.xGm, self.dxGm = bound(self.T, dy), bound(self.T, x), bound(self.T, dx)
        self.meanGm, self.rstdGm = bound(tiling.M, mean), bound(tiling.M, rstd)
        self.gammaGm, self.betaGm = bound(self.G, gamma), bound(self.G, beta)
        self.sumGm = bound(float32, workspace)
        self.outputs = []
        for k, address in enumerate((dbeta, dgamma)):
            if address is not None:
                parts = self.sumGm[k * tiling.samples * tiling.channels]
                self.outputs.append((parts, bound(self.G, address, tiling.channels)))
        pipe = TPipe()
        self.dyQue, self.xQue, self.outQue = TQue(VECIN, 1), TQue(VECIN, 1), TQue(VECOUT, 1)
        for que in (self.dyQue, self.xQue, self.outQue):
            pipe.InitBuffer(
                que,
                BUFFERS,
                tiling.tileLength * 4
                if que is self.outQue
                else tiling.tileLength * self.T.itemsize,
            )
        bufs = [TBuf(VECCALC) for _ in range(6)]
        for buf in bufs:
            pipe.InitBuffer(buf, tiling.tileLength * 4)
        self.dz, self.xhat, self.t1, self.a, self.b, self.one = (buf.Get(float32) for buf in bufs)
        bitsBuf, sumBuf, gatherBuf = TBuf(VECCALC), TBuf(VECCALC), TBuf(VECCALC)
        pipe.InitBuffer(bitsBuf, tiling.tileLength // 8)
        pipe.InitBuffer(sumBuf, 32)
        pipe.InitBuffer(gatherBuf, 2 * SUMS * 4)
        self.bits, self.sum, self.gathered = (
            bitsBuf.Get(uint8_t),
            sumBuf.Get(float32),
            gatherBuf.Get(float32),
        )
        Duplicate(self.one, 1.0, tiling.tileLength)
        Duplicate(self.t1, 0.0, tiling.tileLength)  # a comparison reads whole repeats

    def Process(self):
        first = GetBlockIdx() * self.t.span
        for task in range(first, min(first + self.t.span, self.t.tasks)):
            self.Task(task)
        SyncAll()
        for parts, out in self.outputs:
            self.AddSamples(parts, out)

    def Task(self, task):
        sample, group = task // self.t.groups, task % self.t.groups
        mean, rstd = F(self.meanGm.GetValue(task)), F(self.rstdGm.GetValue(task))
        along, shift = F(0), F(0)
        for k in range(self.t.inGroup):
            channel = group * self.t.inGroup + k
            gamma, beta = F(self.gammaGm.GetValue(channel)), F(self.betaGm.GetValue(channel))
            sumDz, sumDzXhat = self.ChannelSums(
                sample * self.t.channels + channel, mean, rstd, gamma, beta
            )
            self.Keep(sample * self.t.channels + channel, k, sumDz, sumDzXhat)
            shift, along = shift + gamma * sumDz, along + gamma * sumDzXhat
        count = F(self.t.inGroup * self.t.positions)
        along, shift = along / count, shift / count
        for k in range(self.t.inGroup):
            channel = group * self.t.inGroup + k
            gamma, beta = F(self.gammaGm.GetValue(channel)), F(self.betaGm.GetValue(channel))
            start = (sample * self.t.channels + channel) * self.t.positions
            for at in range(0, self.t.positions, self.t.tileLength):
                length = min(self.t.tileLength, self.t.positions - at)
                self.Slope(start + at, length, mean, rstd, gamma, beta)
                self.Dx(start + at, length, along, shift, rstd, gamma)

    def ChannelSums(self, plane, mean, rstd, gamma, beta):
        sumDz, sumDzXhat = F(0), F(0)
        for at in range(0, self.t.positions, self.t.tileLength):
            length = min(self.t.tileLength, self.t.positions - at)
            self.Slope(plane * self.t.positions + at, length, mean, rstd, gamma, beta)
            ReduceSum(self.sum, self.dz, self.a, length)
            sumDz = sumDz + self.sum.GetValue(0)
            Mul(self.b, self.dz, self.xhat, length)
            ReduceSum(self.sum, self.b, self.a, length)
            sumDzXhat = sumDzXhat + self.sum.GetValue(0)
        return sumDz, sumDzXhat

    def Keep(self, plane, k, sumDz, sumDzXhat):
        """Collect a channel's two sums, and copy the sums out when SUMS channels are collected or the group ends."""
        self.gathered.SetValue(k % SUMS, sumDz)
        self.gathered.SetValue(SUMS + k % SUMS, sumDzXhat)
        if k % SUMS == SUMS - 1 or k == self.t.inGroup - 1:
            count = k % SUMS + 1
            row = DataCopyExtParams(1, count * 4, 0, 0, 0)
            DataCopyPad(self.sumGm[plane - count + 1], self.gathered, row)
            DataCopyPad(
                self.sumGm[self.t.samples * self.t.channels + plane - count + 1],
                self.gathered[SUMS],
                row,
            )

    def Slope(self, start, count, mean, rstd, gamma, beta):
        """Store xhat and dz = dy * slope in their buffers, with slope = sigmoid(t) * (1 + t * sigmoid(-t))."""
        Fetch(self.dyQue, self.dyGm[start], count)
        Fetch(self.xQue, self.xGm[start], count)
        dy, x = self.dyQue.DeQue(self.T), self.xQue.DeQue(self.T)
        Widen(self.dz, dy, count)
        Widen(self.xhat, x, count)
        self.dyQue.FreeTensor(dy)
        self.xQue.FreeTensor(x)
        Adds(self.xhat, self.xhat, -mean, count)
        Muls(self.xhat, self.xhat, rstd, count)
        Muls(self.t1, self.xhat, gamma, count)
        Adds(self.t1, self.t1, beta, count)
        Muls(self.t1, self.t1, self.t.scale, count)
        Mins(self.t1, self.t1, 2e4, count)  # beyond, t * sigmoid(-t) would be inf * 0
        Maxs(self.t1, self.t1, -2e4, count)
        Abs(self.a, self.t1, count)
        Muls(self.a, self.a, -1.0, count)
        Exp(self.a, self.a, count)  # never overflows
        Adds(self.b, self.a, 1.0, count)
        Div(self.a, self.a, self.b, count)  # the smaller of sigmoid(t), sigmoid(-t)
        Div(self.b, self.one, self.b, count)  # the larger of the two
        CompareScalar(self.bits, self.t1, 0.0, CMPMODE.LT, -(-count // 64) * 64)
        out = self.outQue.AllocTensor(float32)
        # sigmoid(-t)
        Select(out, self.bits, self.b, self.a, SELMODE.VSEL_TENSOR_TENSOR_MODE, count)
        Select(self.a, self.bits, self.a, self.b, SELMODE.VSEL_TENSOR_TENSOR_MODE, count)
        Mul(out, out, self.t1, count)
        Adds(out, out, 1.0, count)
        Mul(self.a, self.a, out, count)
        Mul(self.dz, self.dz, self.a, count)
        self.outQue.FreeTensor(out)

    def Dx(self, start, count, along, shift, rstd, gamma):
        Muls(self.dz, self.dz, gamma, count)
        Muls(self.xhat, self.xhat, along, count)
        Sub(self.dz, self.dz, self.xhat, count)
        Adds(self.dz, self.dz, -shift, count)
        Muls(self.dz, self.dz, rstd, count)
        Store(self.outQue, self.dxGm[start], self.dz, count)

    def AddSamples(self, parts, out):
        for start in range(
            GetBlockIdx() * self.t.strip, self.t.channels, self.t.strip * GetBlockNum()
        ):
            count = min(self.t.strip, self.t.channels - start)
            Duplicate(self.dz, 0.0, count)
            for sample in range(self.t.samples):
                eventID = GetTPipePtr().FetchEventID(HardEvent.V_MTE2)
                SetFlag(HardEvent.V_MTE2, eventID)
                WaitFlag(HardEvent.V_MTE2, eventID)
                DataCopyPad(
                    self.xhat,
                    parts[sample * self.t.channels + start],
                    DataCopyExtParams(1, count * 4, 0, 0, 0),
                    NO_PAD,
                )
                eventID = GetTPipePtr().FetchEventID(HardEvent.MTE2_V)
                SetFlag(HardEvent.MTE2_V, eventID)
                WaitFlag(HardEvent.MTE2_V, eventID)
                Add(self.dz, self.dz, self.xhat, count)
            Store(self.outQue, out[start], self.dz, count)


def kernel(dy, mean, rstd, x, gamma, beta, dx, dgamma, dbeta, workspace, tiling):
    op = GroupNormSwishGrad()
    op.Init(dy, mean, rstd, x, gamma, beta, dx, dgamma, dbeta, workspace, tiling)
    op.Process()


def page(xp, dy, mean, rstd, x, gamma, beta, swishScale):
    """Return the gradients as the kit's page does, but multiply by gamma after a channel's sums, as the tiles do."""
    xhat = (x - mean) * rstd
    dz = dy * swish_slope(xp, xhat * gamma + beta, swishScale)
    shift, along = (xp.sum(terms, axis=3, keepdims=True) for terms in (dz, dz * xhat))
    count = x.shape[2] * x.shape[3]
    c1, c2 = (xp.sum(gamma * sums, axis=2, keepdims=True) / count for sums in (shift, along))
    return {
        "dxOut": (dz * gamma - xhat * c2 - c1) * rstd,
        "dgammaOut": xp.sum(along, axis=0),
        "dbetaOut": xp.sum(shift, axis=0),
    }


PROGRAMS = (
    Program(
        "group_norm_swish",
        "group_norm_swish",
        tiling,
        kernel,
        Plan("group norm in tiles", order=SEQUENTIAL, page=page),
        text="one task a sample and group, each read twice; the samples' sums through the workspace",
    ),
)
