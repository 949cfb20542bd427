"""Grid sampler backward as an Ascend C kernel, in Python for simulated cores: point after point, all channels at once, taps as atomic sums onto inputGrad.

    clear:  zeros onto inputGrad (in 16 bits: onto a float workspace); SyncAll
    points: coordinates, taps and weights by the scalar unit; for each tap weight * grad -> atomic sum onto the pixel,
            and the dot product of grad and pixel for gridGrad
    cast:   in 16 bits, SyncAll, then the float workspace is rounded to inputGrad

The channels of a pixel lie height * width elements apart: a strided copy puts each into a separate block of 32 bytes, with
zeros in the other lanes. A faster kernel would transpose the images first, and compute coordinates in the vector unit. The
waits between vector instructions, and between these and the scalar unit, are left to the compiler.
"""

from functools import partial
from math import prod

import numpy as np

from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.operators.families.sampling import (
    BICUBIC,
    HUGE,
    NEAREST,
    NOWHERE,
    REFLECTION,
    ZEROS,
    A,
)
from aclnn_viz.tiles.ascendc import *  # noqa: F403  the header of every Ascend C kernel
from aclnn_viz.tiles.by_operator.moves import BUFFERS, F, Fetch, Send, Store, Widen, bound

CHANNELS = 128  # channels processed at once
POINTS = 128  # points whose gridGrad is collected before it is stored
FLAT = 4096  # elements per tile in elementwise steps


def tiling(
    platform,
    gradOutput,
    input,
    grid,
    interpolationMode,
    paddingMode,
    alignCorners,
    outputMask,
    atomic=False,
):
    """Deal points to the cores if `atomic`; else deal whole images, so that one core adds to a pixel in a fixed order."""
    samples, channels, *size = input.shape
    depth, height, width = (1, *size)[-3:]
    points = prod(grid.shape[1:-1])
    tasks = samples * points if atomic else samples
    span = max(-(-tasks // platform.GetCoreNumAiv()), 1)
    cores = max(-(-tasks // span), 1) if any(outputMask) else 0
    total = input.size
    return Tiling(
        cores,
        workspace=4 * total if input.dtype != float32 and outputMask[0] else 0,
        T=input.dtype,
        samples=samples,
        channels=channels,
        depth=depth,
        height=height,
        width=width,
        pixels=prod(size),
        axes=len(size),
        points=points,
        span=span * (1 if atomic else points),
        total=total,
        part=-(-total // (8 * max(cores, 1))) * 8,
        mode=interpolationMode,
        padding=paddingMode,
        aligned=alignCorners,
        inOrder=not atomic,
    )


class GridSamplerGrad:
    def Init(self, gradOutput, x, grid, inputGrad, gridGrad, workspace, tiling):
        self.t, self.T = tiling, tiling.T
        self.wantsInput, self.wantsGrid = inputGrad is not None, gridGrad is not None
        self.gradGm, self.gridGm = bound(self.T, gradOutput), bound(self.T, grid)
        self.xGm, self.outGm = (bound(self.T, image, tiling.total) for image in (x, inputGrad))
        self.gridGradGm = bound(self.T, gridGrad)
        self.sumGm = bound(float32, inputGrad if self.T == float32 else workspace, tiling.total)
        self.first = GetBlockIdx() * tiling.span
        self.last = min(self.first + tiling.span, tiling.samples * tiling.points)
        self.lanes = 32 // self.T.itemsize  # elements of 32 bytes; a channel uses the first one
        pipe = TPipe()
        self.gradQue, self.xQue, self.outQue = TQue(VECIN, 1), TQue(VECIN, 1), TQue(VECOUT, 1)
        pipe.InitBuffer(self.gradQue, BUFFERS, CHANNELS * 32)
        pipe.InitBuffer(self.xQue, BUFFERS, max(CHANNELS * 32, FLAT * 4))
        pipe.InitBuffer(self.outQue, BUFFERS, max(CHANNELS * self.lanes, FLAT) * 4)
        gradBuf, workBuf, sumBuf, pointBuf = (TBuf(VECCALC) for _ in range(4))
        pipe.InitBuffer(gradBuf, CHANNELS * self.lanes * 4)
        pipe.InitBuffer(workBuf, CHANNELS * self.lanes * 4)
        pipe.InitBuffer(sumBuf, 32)
        pipe.InitBuffer(pointBuf, tiling.axes * POINTS * 4)
        self.grad, self.work = gradBuf.Get(float32), workBuf.Get(float32)
        self.sum, self.gathered = sumBuf.Get(float32), pointBuf.Get(float32)

    def Process(self):
        if self.wantsInput:
            self.Clear()
            SyncAll()
        for point in range(self.first, self.last):
            self.Point(point)
        if self.wantsInput and self.T != float32:
            SyncAll()
            self.CastSums()

    def Part(self):
        """Return (start, count) of each tile of this core's pixels, for steps that treat all pixels alike."""
        first = GetBlockIdx() * self.t.part
        last = min(first + self.t.part, self.t.total)
        return [(start, min(FLAT, last - start)) for start in range(first, last, FLAT)]

    def Clear(self):
        for start, count in self.Part():
            zeros = self.outQue.AllocTensor(float32)
            Duplicate(zeros, 0.0, count)
            Send(self.outQue, self.sumGm[start], zeros, count)

    def CastSums(self):
        for start, count in self.Part():
            Fetch(self.xQue, self.sumGm[start], count)
            sums, out = self.xQue.DeQue(float32), self.outQue.AllocTensor(self.T)
            Cast(out, sums, RoundMode.CAST_RINT, count)
            self.xQue.FreeTensor(sums)
            Send(self.outQue, self.outGm[start], out, count)

    def Point(self, point):
        sample, place = point // self.t.points, point % self.t.points
        inside = self.Corners(point)
        dots = [F(0)] * len(inside)
        slopes = self.wantsGrid and self.t.mode != NEAREST
        for channel in range(0, self.t.channels if inside else 0, CHANNELS):
            count = min(CHANNELS, self.t.channels - channel)
            plane = sample * self.t.channels + channel
            self.Load(
                self.gradQue, self.gradGm[plane * self.t.points + place], count, self.t.points
            )
            self.Widen(self.grad, self.gradQue, count)
            for k, (pixel, weight, *_) in enumerate(inside):
                at = plane * self.t.pixels + pixel
                if self.wantsInput:
                    self.AddTap(at, weight, count)
                if slopes:
                    dots[k] = dots[k] + self.Dot(at, count)
        if self.wantsGrid:
            sums = [F(0)] * self.t.axes
            for dot, (_, _, *along) in zip(dots, inside if slopes else []):
                sums = [total + dot * slope for total, slope in zip(sums, along)]
            self.Keep(point, sums)

    def Load(self, que, source, count, step):
        """Load one element of each of `count` planes, `step` elements apart, each into a separate block."""
        size = self.T.itemsize
        values = que.AllocTensor(self.T)
        DataCopyPad(
            values,
            source,
            DataCopyExtParams(count, size, (step - 1) * size, 0, 0),
            DataCopyPadExtParams(True, 0, self.lanes - 1, 0),
        )
        que.EnQue(values)

    def Widen(self, wide, que, count):
        values = que.DeQue(self.T)
        Widen(wide, values, count * self.lanes)
        que.FreeTensor(values)

    def AddTap(self, at, weight, count):
        out = self.outQue.AllocTensor(float32)
        Muls(out, self.grad, weight, count * self.lanes)
        self.outQue.EnQue(out)
        out = self.outQue.DeQue(float32)
        SetAtomicAdd(float32)
        DataCopyPad(
            self.sumGm[at],
            out,
            DataCopyExtParams(count, 4, self.lanes // 8 - 1, (self.t.pixels - 1) * 4, 0),
        )
        SetAtomicNone()
        if self.t.inOrder:
            PipeBarrier(PIPE_MTE3)  # atomic sums of one core, too, may land in any order
        self.outQue.FreeTensor(out)

    def Dot(self, at, count):
        self.Load(self.xQue, self.xGm[at], count, self.t.pixels)
        self.Widen(self.work, self.xQue, count)
        Mul(self.work, self.work, self.grad, count * self.lanes)
        ReduceSum(self.sum, self.work, self.work, count * self.lanes)
        return self.sum.GetValue(0)

    def Keep(self, point, sums):
        k = (point - self.first) % POINTS
        for axis in range(self.t.axes):
            self.gathered.SetValue(self.t.axes * k + axis, sums[axis])
        if k == POINTS - 1 or point == self.last - 1:
            count = self.t.axes * (k + 1)
            Store(self.outQue, self.gridGradGm[self.t.axes * (point - k)], self.gathered, count)

    # ---- one axis of one point, by the scalar unit -------------------------------------------------------------------

    def Axis(self, x, size):
        """Return the taps along an axis: (index, weight, d weight / d x) each."""
        mode, padding = self.t.mode, self.t.padding
        if padding == REFLECTION:
            x = x - 4 * np.rint(x / 4)
        u = (x + 1) * F(0.5) * (size - 1) if self.t.aligned else ((x + 1) * size - 1) * F(0.5)
        slope = F((size - 1) / 2 if self.t.aligned else size / 2)
        if mode == BICUBIC:
            if padding != REFLECTION and not abs(u) <= HUGE:
                u = F(NOWHERE)
            first = np.floor(u)
            return [
                (self.PadIndex(first + (k - 1), size), w, d * slope)
                for k, (w, d) in enumerate(self.Cubic(u - first))
            ]
        if padding == REFLECTION:
            u, factor = self.Mirror(u, size)
            slope = slope * factor
        if padding != ZEROS:
            slope = slope if 0 < u < size - 1 else F(0)
            u = F(0) if u < 0 else F(size - 1) if u > size - 1 else u
        if not abs(u) <= HUGE:
            u = F(NOWHERE)
        if mode == NEAREST:
            return [(np.rint(u), F(1), F(0))]
        first = np.floor(u)
        return [(first, 1 - (u - first), -slope), (first + 1, u - first, slope)]

    def Inside(self, place, size):
        """Return the taps inside the image along one axis, for the coordinate at a place of grid."""
        taps = self.Axis(F(self.gridGm.GetValue(place)), size)
        return [(int(index), weight, slope) for index, weight, slope in taps if 0 <= index < size]

    def Mirror(self, u, size):
        """Return the coordinate reflected into the image, and the sign of its slope."""
        low, span = (F(0), F(size - 1)) if self.t.aligned else (F(-0.5), F(size))
        if span == 0:
            return u * 0, F(0)
        offset = u - low
        phase = np.fmod(abs(offset), 2 * span)
        forth = phase < span
        return (phase if forth else 2 * span - phase) + low, F(1) if forth == (offset >= 0) else F(
            -1
        )

    def PadIndex(self, index, size):
        if self.t.padding == REFLECTION:
            index, _ = self.Mirror(index, size)
        if self.t.padding != ZEROS:
            index = F(0) if index < 0 else F(size - 1) if index > size - 1 else index
        return index

    def Cubic(self, t):
        """Return weights and derivatives of the taps at -1, 0, 1, 2."""

        def near(d):
            return (
                (F(A + 2) * d - F(A + 3)) * d * d + 1,
                (F(3 * (A + 2)) * d - F(2 * (A + 3))) * d,
            )

        def far(d):
            return (
                ((F(A) * d - F(5 * A)) * d + F(8 * A)) * d - F(4 * A),
                (F(3 * A) * d - F(10 * A)) * d + F(8 * A),
            )

        (w0, d0), (w1, d1), (w2, d2), (w3, d3) = far(t + 1), near(t), near(1 - t), far(2 - t)
        return [(w0, d0), (w1, d1), (w2, -d2), (w3, -d3)]


def programs(op: str, kernel, place: str) -> tuple[Program, ...]:
    """Return the programs of a sampler: one in the order of the points, and one whose cores add in any order."""
    plan = Plan("grid sampler in tiles", order=SEQUENTIAL, coordinates="float32")
    return (
        Program(
            op,
            op,
            tiling,
            kernel,
            plan,
            text=f"one image a core: the sums onto a {place} come in the order of the points",
        ),
        Program(
            op,
            f"{op}_atomic",
            partial(tiling, atomic=True),
            kernel,
            plan,
            deterministic=False,
            text=f"points dealt to all cores, which add onto the same {place}s in whatever order they arrive",
        ),
    )
