"""Attention backward as an Ascend C kernel, in Python for simulated cores, layout BNSD: each block of a gradient has one owner, a core that sums its contributions.

    Row:     a = exp(scale (q k + pse) - max) / sum;  p = a keep;  ds = scale a (dy v keep - dy y)
    Keys:    dk += ds q;  dv += p dy      over the blocks of queries, heads that share the keys one after the other
    Queries: dq += ds k;  dpse = ds       over the blocks of keys

Only max and sum of the scores are saved, and both owners compute the scores again, which doubles the work. In return no two
cores add to one place: there are no atomic sums, no float workspace for 16-bit outputs, and the same bits in every order. Tiles
hidden by a mask are computed, too. The vector unit computes products, as no matrix unit is modelled; the waits between vector
instructions, and around the scalar unit, are left to the compiler.
"""

from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.errors import problem
from aclnn_viz.operators.flash_attention_score.page import BAND, LEFT_UP, OF_POSITIONS, PREFIX
from aclnn_viz.tiles.ascendc import *  # noqa: F403  the header of every Ascend C kernel
from aclnn_viz.tiles.by_operator.moves import BUFFERS, NO_PAD, F, Round, Widen, bound

FAR = 1 << 40


def tiling(
    platform,
    query,
    value,
    pseShiftOptional,
    attenMaskOptional,
    prefixOptional,
    scaleValue,
    keepProb,
    preTokens,
    nextTokens,
    inputLayout,
    sparseMode,
    block=64,
    **rest,
):
    """Return blocks of rows: one per core, at least 8 rows, at most `block` and at most what fits."""
    if inputLayout != "BNSD":
        raise NotImplementedError(
            problem("tiles take inputLayout BNSD", inputLayout, "move the axes")
        )
    pse, band = pseShiftOptional, sparseMode == BAND
    mask = None if sparseMode in OF_POSITIONS else attenMaskOptional
    (batch, heads, length, size), (_, kept, columns, narrow) = query.shape, value.shape
    # a row starts at a multiple of 32 bytes in every format
    places, wide = batch * heads * length * columns, -(-size // 16) * 16
    rows = heads // kept * length  # query rows of the heads that share keys
    most = max(rows, columns)
    fits = (platform.GetCoreMemSize() - 1024) // (
        wide * (2 * BUFFERS * query.dtype.itemsize + 8 * 4) + 4 * (64 + 4)
    )
    block = min(block, fits, max(8, -(-batch * kept * most // platform.GetCoreNumAiv())))
    if block < 1 or wide > 255 * 8 or pse is not None and pse.size < places:
        raise NotImplementedError(
            problem(
                "tiles take rows that fit, of at most 2,040 elements, and pseShiftOptional for each query of each batch",
                f"{size} elements, pseShiftOptional {pse is not None and pse.shape}",
                "pass such tensors",
            )
        )
    return Tiling(
        min(platform.GetCoreNumAiv(), batch * kept * -(-most // block)),
        T=query.dtype,
        block=block,
        wide=wide,
        heads=batch * kept,
        rows=rows,
        length=length,
        columns=columns,
        size=size,
        narrow=narrow,
        scale=scaleValue,
        keepProb=keepProb,
        sharing=0 if mask is None else places // max(mask.size, 1),
        corner=0 if sparseMode == LEFT_UP else columns - length,
        before=preTokens if band else FAR,
        after=nextTokens if band else 0 if sparseMode in OF_POSITIONS else FAR,
        prefix=prefixOptional if sparseMode == PREFIX else (0,) * batch,
        each=heads,
    )


class FlashAttentionScoreGrad:
    def Init(self, query, key, value, dy, pse, drop, mask, top, total, y, dq, dk, dv, dpse, tiling):
        self.t, self.shifted, self.dropped = tiling, pse is not None, drop is not None
        self.queryGm, self.keyGm, self.valueGm, self.dyGm, self.yGm = (
            bound(tiling.T, address) for address in (query, key, value, dy, y)
        )
        self.pseGm, self.dqGm, self.dkGm, self.dvGm, self.dpseGm = (
            bound(tiling.T, address) for address in (pse, dq, dk, dv, dpse)
        )
        self.topGm, self.totalGm, self.maskGm, self.dropGm = (
            bound(float32, top),
            bound(float32, total),
            bound(uint8_t, mask),
            bound(uint8_t, drop),
        )
        self.Buffers(tiling)

    def Buffers(self, tiling):
        pipe, self.inQue, self.outQue = TPipe(), TQue(VECIN, 1), TQue(VECOUT, 1)
        for que in (self.inQue, self.outQue):
            pipe.InitBuffer(que, BUFFERS, tiling.block * tiling.wide * tiling.T.itemsize)
        wide, narrow = [[TBuf(VECCALC) for _ in range(count)] for count in (8, 4)]
        for buf in wide:
            pipe.InitBuffer(buf, tiling.block * tiling.wide * 4)
        for buf in narrow:
            pipe.InitBuffer(buf, tiling.block * 4)
        workBuf = TBuf(VECCALC)
        pipe.InitBuffer(workBuf, tiling.block * 64 * 4)
        self.q, self.k, self.v, self.dy, self.y, self.dq, self.dk, self.dv = (
            buf.Get(float32) for buf in wide
        )
        self.p, self.ds, self.part, self.D = (buf.Get(float32) for buf in narrow)
        self.work = workBuf.Get(float32)

    def Process(self):
        t = self.t
        for length, own in ((t.columns, self.Keys), (t.rows, self.Queries)):
            blocks = -(-length // t.block)
            for item in range(GetBlockIdx(), t.heads * blocks, GetBlockNum()):
                own(item // blocks, item % blocks * t.block)

    def Keys(self, head, j):
        t, place = self.t, head * self.t.columns + j
        columns = min(t.block, t.columns - j)
        self.LoadKeys(place, columns)
        Duplicate(self.dk, 0.0, t.block * t.wide)
        Duplicate(self.dv, 0.0, t.block * t.wide)
        for i in range(0, t.rows, t.block):
            first, rows = head * t.rows + i, min(t.block, t.rows - i)
            self.LoadQueries(first, rows)
            for row in range(rows):
                self.Row(first + row, row, j, columns)
                for column in range(columns):
                    Axpy(
                        self.dk[column * t.wide],
                        self.q[row * t.wide],
                        self.ds.GetValue(column),
                        t.size,
                    )
                    Axpy(
                        self.dv[column * t.wide],
                        self.dy[row * t.wide],
                        self.p.GetValue(column),
                        t.narrow,
                    )
        self.Save(self.dkGm[place * t.size], self.dk, columns, t.size)
        self.Save(self.dvGm[place * t.narrow], self.dv, columns, t.narrow)

    def Queries(self, head, i):
        t, place = self.t, head * self.t.rows + i
        rows = min(t.block, t.rows - i)
        self.LoadQueries(place, rows)
        Duplicate(self.dq, 0.0, t.block * t.wide)
        for j in range(0, t.columns, t.block):
            columns = min(t.block, t.columns - j)
            self.LoadKeys(head * t.columns + j, columns)
            for row in range(rows):
                self.Row(place + row, row, j, columns)
                for column in range(columns):
                    Axpy(
                        self.dq[row * t.wide],
                        self.k[column * t.wide],
                        self.ds.GetValue(column),
                        t.size,
                    )
                if self.shifted:
                    self.Save(self.dpseGm[(place + row) * t.columns + j], self.ds, 1, columns)
        self.Save(self.dqGm[place * t.size], self.dq, rows, t.size)

    def LoadKeys(self, place, columns):
        self.Load(self.k, self.keyGm[place * self.t.size], columns, self.t.size)
        self.Load(self.v, self.valueGm[place * self.t.narrow], columns, self.t.narrow)

    def LoadQueries(self, place, rows):
        self.Load(self.q, self.queryGm[place * self.t.size], rows, self.t.size)
        self.Load(self.dy, self.dyGm[place * self.t.narrow], rows, self.t.narrow)
        self.Load(self.y, self.yGm[place * self.t.narrow], rows, self.t.narrow)

    def Row(self, place, row, j, columns):
        """Store p and ds of the query at this place for a block of keys, 0 at hidden keys."""
        t = self.t
        self.Dots(self.p, self.q[row * t.wide], self.k, columns, t.size)
        self.Dots(self.ds, self.dy[row * t.wide], self.v, columns, t.narrow)
        self.Dots(self.D, self.dy[row * t.wide], self.y[row * t.wide], 1, t.narrow)
        if self.shifted:
            for column in range(columns):
                self.p.SetValue(
                    column,
                    self.p.GetValue(column)
                    + F(self.pseGm.GetValue(place * t.columns + j + column)),
                )
        Muls(self.p, self.p, t.scale, columns)
        Adds(self.p, self.p, -self.topGm.GetValue(place * 8), columns)
        Exp(self.p, self.p, columns)
        for column in range(columns):
            a, keep, bit = F(0), F(1), place * t.columns + j + column
            if not self.Hides(place, j + column):
                a = self.p.GetValue(column) / self.totalGm.GetValue(place * 8)
            if self.dropped:
                keep = F(self.dropGm.GetValue(bit // 8) >> bit % 8 & 1) / F(t.keepProb)
            self.p.SetValue(column, a * keep)
            self.ds.SetValue(
                column, F(t.scale) * (a * (self.ds.GetValue(column) * keep - self.D.GetValue(0)))
            )

    def Hides(self, place, column):
        t = self.t
        head, row = place // t.length, place % t.length
        if t.sharing:
            return self.maskGm.GetValue((head // t.sharing * t.length + row) * t.columns + column)
        ahead = column - row - t.corner  # distance from the diagonal
        return ahead > t.after and column >= t.prefix[head // t.each] or ahead < -t.before

    def Dots(self, out, one, many, count, size):
        """Store the dot products of one row with each of `count` rows, 64 elements at a time."""
        Duplicate(out, 0.0, count)
        for start in range(0, size, 64):
            lanes = min(64, size - start)
            Mul(
                self.work,
                many[start],
                one[start],
                lanes,
                count,
                BinaryRepeatParams(1, 1, 1, 8, self.t.wide // 8, 0),
            )
            WholeReduceSum(self.part, self.work, lanes, count, 1, 1, 8)
            Add(out, out, self.part, count)

    def Load(self, wide, source, rows, size):
        given = self.inQue.AllocTensor(self.t.T)
        DataCopyPad(
            given,
            source,
            DataCopyExtParams(rows, size * self.t.T.itemsize, 0, self.Gap(size), 0),
            NO_PAD,
        )
        self.inQue.EnQue(given)
        given = self.inQue.DeQue(self.t.T)
        for at in range(0, rows * self.t.wide, self.t.wide):
            Widen(wide[at], given[at], size)
        self.inQue.FreeTensor(given)

    def Save(self, target, wide, rows, size):
        out = self.outQue.AllocTensor(self.t.T)
        for at in range(0, rows * self.t.wide, self.t.wide):
            Round(out[at], wide[at], size)
        self.outQue.EnQue(out)
        out = self.outQue.DeQue(self.t.T)
        DataCopyPad(
            target, out, DataCopyExtParams(rows, size * self.t.T.itemsize, self.Gap(size), 0, 0)
        )
        self.outQue.FreeTensor(out)

    def Gap(self, size):
        """Return the number of 32-byte blocks between the rows of a tile."""
        return max((self.t.wide - size) * self.t.T.itemsize // 32, 0)


def kernel(
    query,
    key,
    value,
    dy,
    pse,
    drop,
    padding,
    mask,
    top,
    total,
    softmaxIn,
    y,
    dq,
    dk,
    dv,
    dpse,
    workspace,
    tiling,
):
    op = FlashAttentionScoreGrad()
    op.Init(query, key, value, dy, pse, drop, mask, top, total, y, dq, dk, dv, dpse, tiling)
    op.Process()


PROGRAMS = (
    Program(
        "flash_attention_score",
        "flash_attention_score",
        tiling,
        kernel,
        Plan("attention in tiles", order=SEQUENTIAL),
        text="each block of queries, and each of keys, has a core that computes its weights again and adds up its gradients",
    ),
)
