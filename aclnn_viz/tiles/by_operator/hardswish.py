"""Hardswish backward as an Ascend C kernel, in Python for simulated cores: blocks of 32 bytes dealt to the cores, tiles through two buffers, all in float.

    CopyIn: gradOutput, x -> Compute: slope = x >= -3 ? x * (1/3) + 0.5 : 0;  x <= 3 ? slope : 1 -> CopyOut: product

Elements are independent, so cores exchange nothing, and any cut that covers every element once is right.
"""

from aclnn_viz.arrays.plan import Plan
from aclnn_viz.operators.hardswish import plans as device
from aclnn_viz.tiles.ascendc import *  # noqa: F403  the header of every Ascend C kernel

BUFFERS = 2  # per queue: the next buffer fills while one is computed


def tiling(platform, gradOutput, self):
    """Deal whole blocks of 32 bytes to the cores; the first `formerNum` cores have one block more than the others."""
    size, n = self.dtype.itemsize, self.size
    align = 32 // size
    blocks = -(-n // align)
    cores = min(platform.GetCoreNumAiv(), blocks)
    # An element takes space in three queues, two bits, and float buffers for x, slope and, if narrower, gradient.
    available = platform.GetCoreMemSize() - 8192  # bytes for Select
    bytes_of_element = 3 * BUFFERS * size + 4 * (2 if size == 4 else 3) + 2 / 8
    tile = int(available / bytes_of_element) // 256 * 256
    return Tiling(
        cores,
        T=self.dtype,
        total=n,
        formerNum=blocks % max(cores, 1),
        blockLength=blocks // max(cores, 1) * align,
        align=align,
        tileLength=tile,
    )


class HardswishGrad:
    def Init(self, gradOutput, x, out, tiling):
        self.T, self.tile = tiling.T, tiling.tileLength
        core = GetBlockIdx()
        first = core * tiling.blockLength + min(core, tiling.formerNum) * tiling.align
        length = tiling.blockLength + (tiling.align if core < tiling.formerNum else 0)
        self.length = min(length, tiling.total - first)  # the last block may be cut
        self.gradGm, self.xGm, self.outGm = (GlobalTensor(self.T) for _ in range(3))
        self.gradGm.SetGlobalBuffer(gradOutput, tiling.total)
        self.xGm.SetGlobalBuffer(x, tiling.total)
        self.outGm.SetGlobalBuffer(out, tiling.total)
        self.gradGm, self.xGm, self.outGm = self.gradGm[first], self.xGm[first], self.outGm[first]
        pipe = TPipe()
        self.gradQue, self.xQue, self.outQue = TQue(VECIN, 1), TQue(VECIN, 1), TQue(VECOUT, 1)
        self.xBuf, self.slopeBuf, self.wideBuf, self.bitsBuf, self.moreBitsBuf = (
            TBuf(VECCALC) for _ in range(5)
        )
        pipe.InitBuffer(self.gradQue, BUFFERS, self.tile * self.T.itemsize)
        pipe.InitBuffer(self.xQue, BUFFERS, self.tile * self.T.itemsize)
        pipe.InitBuffer(self.outQue, BUFFERS, self.tile * self.T.itemsize)
        pipe.InitBuffer(self.xBuf, self.tile * 4)
        pipe.InitBuffer(self.slopeBuf, self.tile * 4)
        pipe.InitBuffer(self.bitsBuf, self.tile // 8)
        pipe.InitBuffer(self.moreBitsBuf, self.tile // 8)
        if self.T != float32:
            pipe.InitBuffer(self.wideBuf, self.tile * 4)
        # A comparison reads whole repeats of 64 lanes, so the lanes behind a tail need values.
        Duplicate(self.xBuf.Get(float32), 0.0, min(self.tile, -(-self.length // 64) * 64))
        PipeBarrier(PIPE_V)

    def Process(self):
        for start in range(0, self.length, self.tile):
            count = min(self.tile, self.length - start)
            self.CopyIn(start, count)
            self.Compute(count)
            self.CopyOut(start, count)

    def CopyIn(self, start, count):
        grad, x = self.gradQue.AllocTensor(self.T), self.xQue.AllocTensor(self.T)
        row = DataCopyExtParams(1, count * self.T.itemsize, 0, 0, 0)
        DataCopyPad(grad, self.gradGm[start], row, DataCopyPadExtParams(False, 0, 0, 0))
        DataCopyPad(x, self.xGm[start], row, DataCopyPadExtParams(False, 0, 0, 0))
        self.gradQue.EnQue(grad)
        self.xQue.EnQue(x)

    def Compute(self, count):
        grad, given = self.gradQue.DeQue(self.T), self.xQue.DeQue(self.T)
        out = self.outQue.AllocTensor(self.T)
        x, slope = self.xBuf.Get(float32), self.slopeBuf.Get(float32)
        above, within = self.bitsBuf.Get(uint8_t), self.moreBitsBuf.Get(uint8_t)
        if self.T == float32:
            Muls(x, given, 1.0, count)
        else:
            Cast(x, given, RoundMode.CAST_NONE, count)
        PipeBarrier(PIPE_V)
        lanes = -(-count // 64) * 64
        CompareScalar(above, x, -3.0, CMPMODE.GE, lanes)
        CompareScalar(within, x, 3.0, CMPMODE.LE, lanes)
        Muls(slope, x, 1.0 / 3.0, count)
        PipeBarrier(PIPE_V)
        Adds(slope, slope, 0.5, count)
        PipeBarrier(PIPE_V)
        Select(slope, above, slope, 0.0, SELMODE.VSEL_TENSOR_SCALAR_MODE, count)
        PipeBarrier(PIPE_V)
        # a nan also has slope 1
        Select(slope, within, slope, 1.0, SELMODE.VSEL_TENSOR_SCALAR_MODE, count)
        if self.T == float32:
            PipeBarrier(PIPE_V)
            Mul(out, grad, slope, count)
        else:
            wide = self.wideBuf.Get(float32)
            Cast(wide, grad, RoundMode.CAST_NONE, count)
            PipeBarrier(PIPE_V)
            Mul(wide, wide, slope, count)
            PipeBarrier(PIPE_V)
            Cast(out, wide, RoundMode.CAST_RINT, count)
        self.gradQue.FreeTensor(grad)
        self.xQue.FreeTensor(given)
        self.outQue.EnQue(out)

    def CopyOut(self, start, count):
        out = self.outQue.DeQue(self.T)
        DataCopyPad(self.outGm[start], out, DataCopyExtParams(1, count * self.T.itemsize, 0, 0, 0))
        self.outQue.FreeTensor(out)


def kernel(gradOutput, x, out, workspace, tiling):
    op = HardswishGrad()
    op.Init(gradOutput, x, out, tiling)
    op.Process()


PROGRAMS = (
    Program(
        "hardswish",
        "hardswish",
        tiling,
        kernel,
        Plan("hardswish in tiles", page=device.page),
        sync="strict",
        text="one queue each for gradient, x and result, two buffers, no sum",
    ),
)
