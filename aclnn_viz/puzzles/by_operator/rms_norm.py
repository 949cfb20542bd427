"""Puzzles on the gradient of RMS norm: a saved tensor, a row mean, a Jacobian that shrinks to two lines; and, in
tiles, rows for cores, columns for strips, what is read twice, and waits.
"""

import numpy as np

from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.puzzles.detective import Detective
from aclnn_viz.puzzles.puzzle import Curve, Puzzle, Reads
from aclnn_viz.puzzles.symptoms import table
from aclnn_viz.puzzles.tiles.detective import TileDetective
from aclnn_viz.puzzles.tiles.machine import Part
from aclnn_viz.words.messages import message

from aclnn_viz.operators.rms_norm import page

XP = NumPyArrays()


def drawn(seed, rows, n, *names, rstd=None):
    """Random tensors by name; rstd is what the forward pass saves for x, unless it is given."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0.5, 2.0, (rows, n))
    saved = (
        1.0 / np.sqrt(np.mean(x * x, axis=1, keepdims=True) + 1e-6)
        if rstd is None
        else np.full((rows, 1), rstd)
    )
    tensors = {
        "dy": rng.normal(size=(rows, n)),
        "x": x,
        "rstd": saved,
        "gamma": rng.normal(1.0, 0.5, n),
    }
    return {name: tensors[name] for name in names}


def cases(*names):
    """Rows of ordinary lengths, one row, one column, and a saved rstd that is not that of x."""
    return (
        drawn(0, 3, 5, *names),
        drawn(1, 1, 4, *names),
        drawn(2, 4, 1, *names),
        drawn(3, 2, 17, *names, rstd=0.7),
    )


def rms_xhat(x, rstd):
    """x-hat, the normalised x (rows, n), from the rstd (rows, 1) that the forward pass saved."""
    xhat = np.zeros_like(x)
    for row in range(x.shape[0]):
        for i in range(x.shape[1]):
            xhat[row, i] = x[row, i] * rstd[row, 0]
    return xhat


def rms_row_mean(dy, x, rstd, gamma):
    """The mean of dy gamma x-hat over each row: (rows, 1) from x (rows, n), rstd (rows, 1), gamma (n,)."""
    mean = np.zeros_like(rstd)
    for row in range(x.shape[0]):
        for i in range(x.shape[1]):
            mean[row, 0] += dy[row, i] * gamma[i] * x[row, i] * rstd[row, 0] / x.shape[1]
    return mean


def rms_dx(dy, x, rstd, gamma):
    """dx (rows, n) through the whole Jacobian of y_j = gamma_j x_j rstd, where rstd depends on every x_i of its row;
    write it without the loop over pairs."""
    rows, n = x.shape
    dx = np.zeros_like(x)
    for row in range(rows):
        for i in range(n):
            for j in range(n):
                direct = rstd[row, 0] if i == j else 0.0
                through_rstd = -x[row, j] * x[row, i] * rstd[row, 0] ** 3 / n
                dx[row, i] += dy[row, j] * gamma[j] * (direct + through_rstd)
    return dx


def rms_dgamma(dy, x, rstd):
    """dgamma (n,): every row used the same gamma."""
    dgamma = np.zeros_like(x[0])
    for row in range(x.shape[0]):
        for i in range(x.shape[1]):
            dgamma[i] += dy[row, i] * x[row, i] * rstd[row, 0]
    return dgamma


def rms_kernel(dy, x, rstd, gamma):
    """The whole kernel: gamma spans any number of trailing axes, 16-bit inputs are computed in float32, dxOut has the
    format of x and dgammaOut is float32 (float64 for float64)."""
    wide = np.promote_types(x.dtype, np.float32)
    dx, dgamma = np.zeros_like(x), np.zeros(gamma.shape, wide)
    for row in np.ndindex(x.shape[: x.ndim - gamma.ndim]):
        s = float(rstd[row].item())
        mean = 0.0
        for i in np.ndindex(gamma.shape):
            mean += float(dy[row + i]) * float(gamma[i]) * float(x[row + i]) * s / gamma.size
        for i in np.ndindex(gamma.shape):
            xhat = float(x[row + i]) * s
            dx[row + i] = (float(dy[row + i]) * float(gamma[i]) - xhat * mean) * s
            dgamma[i] += float(dy[row + i]) * xhat
    return dx, dgamma


SMALL = drawn(5, 2, 3, "dy", "x", "rstd", "gamma")


def small(*names):
    return {name: SMALL[name] for name in names}


PUZZLES = (
    Puzzle(
        rms_xhat,
        "What was saved",
        ("xhat",),
        (
            "Nothing is to be computed that the forward pass has computed before.",
            "rstd has a column axis of length 1: it broadcasts along the row.",
            "return x * ...",
        ),
        Reads(small("x", "rstd"), "xhat", (1, 2)),
        cases("x", "rstd"),
        page.normalised,
    ),
    Puzzle(
        rms_row_mean,
        "One number for a row",
        ("mean",),
        (
            "np.mean takes an axis. Which one runs along a row?",
            "The result keeps its column axis: keepdims.",
            "return np.mean(dy * gamma * x * rstd, axis=..., keepdims=...)",
        ),
        Reads(small("dy", "x", "rstd", "gamma"), "mean", (1, 0)),
        cases("dy", "x", "rstd", "gamma"),
        lambda dy, x, rstd, gamma: page.projection(XP, dy, page.normalised(x, rstd), gamma),
    ),
    Puzzle(
        rms_dx,
        "A Jacobian in two lines",
        ("dx",),
        (
            "Take the two terms of the bracket apart. In the first, only j = i is left of the sum.",
            "In the second, all that depends on i leaves the sum over j. What stays is the row mean of the puzzle before.",
            "With xhat = x * rstd: return (dy * gamma - xhat * <row mean of dy * gamma * xhat>) * rstd",
        ),
        Reads(small("dy", "x", "rstd", "gamma"), "dx", (0, 1)),
        cases("dy", "x", "rstd", "gamma"),
        lambda **inputs: page.backward(XP, **inputs)["dxOut"],
    ),
    Puzzle(
        rms_dgamma,
        "One gamma for all rows",
        ("dgamma",),
        (
            "Which axis is in dy but not in gamma?",
            "What is used many times gets the sum of its gradients.",
            "return np.sum(dy * x * rstd, axis=...)",
        ),
        Reads(small("dy", "x", "rstd"), "dgamma", (1,)),
        cases("dy", "x", "rstd"),
        lambda dy, x, rstd: page.backward(XP, dy, x, rstd, np.ones(x.shape[1]))["dgammaOut"],
    ),
    Puzzle(
        rms_kernel,
        "The whole of RMS norm",
        ("dxOut", "dgammaOut"),
        (
            "Put the puzzles before together. New are the formats, and the axes of gamma.",
            "Rows are averaged over the last gamma.ndim axes, dgamma is summed over all axes before them.",
            "axes = tuple(range(-gamma.ndim, 0)) and lead = tuple(range(x.ndim - gamma.ndim)); widen dy, x, gamma first, "
            "and narrow dx last.",
        ),
        Reads(small("dy", "x", "rstd", "gamma"), "dxOut", (0, 1)),
    ),
)

LAST_ROW = np.zeros((4, 8), np.float32)
LAST_ROW[-1] = np.linspace(-1, 1, 8)

DETECTIVES = (
    Detective(
        1,
        "long_rows",
        "rms_norm",
        "Rows of a certain length",
        "The benchmark ran rows of 16, 32 and 1024 elements, and all was well. Then a model came with 50.",
        tuple(
            (message("rows of {n}", n=n), {"shape": (3, n)}) for n in (16, 17, 31, 32, 50, 64, 1024)
        ),
        table,
        (
            "missing 1/n",
            "divided by n - 1",
            "tail of the row forgotten",
            "one mean for all rows",
            "x for x-hat",
        ),
        (
            "Write down the lengths that are right. What do they have in common?",
            "Which suspects would know about 16?",
            "A loop over whole tiles leaves something out.",
        ),
        "tail of the row forgotten",
    ),
    Detective(
        2,
        "one_row",
        "rms_norm",
        "Four rows are too many",
        "dxOut is right in every test. dgammaOut is right with one row, and once more in a case that somebody made up.",
        (
            ("one row", {"shape": (1, 8)}),
            ("four rows", {"shape": (4, 8)}),
            ("four rows, gamma is 1", {"shape": (4, 8), "gamma": 1.0}),
            ("four rows, dy is 0 but in the last", {"shape": (4, 8), "dy": LAST_ROW}),
        ),
        table,
        (
            "dgamma averaged",
            "dgamma of the last row",
            "dgamma with gamma",
            "dgamma with x",
            "one mean for all rows",
        ),
        (
            "gamma = 1 changes nothing: which suspect does that clear?",
            "An average of one row is right, too. But what of the last experiment?",
            "There only the last row has something to add, and the result is right.",
        ),
        "dgamma of the last row",
    ),
)


FEW = (({"shape": (6, 20)}, 2), ({"shape": (7, 20)}, 3))


def rows_of_core(core, rows, cores):
    """How many rows each core (n,) has: equal spans, as short as cores allow; the last may have fewer, or none."""
    span, held = np.ceil(rows / cores), np.zeros_like(core)
    for i in range(core.size):
        for row in range(rows):
            held[i] += np.floor(core[i]) * span <= row < (np.floor(core[i]) + 1) * span
    return held


def strip_owner(column, strip, cores):
    """Which core adds up a column (n,): strips of so many columns are dealt to the cores in turn, again and again."""
    owner = np.zeros_like(column)
    for i in range(column.size):
        start, core = 0.0, 0
        while start + strip <= column[i]:
            start, core = start + strip, (core + 1) % cores
        owner[i] = core
    return owner


def row_traffic(columns, tileLength, itemsize):
    """The bytes that one row of columns (n,) moves: dy and x are read and dx is written; a row that does not fit a tile
    is read twice, for its mean must be known before the first element of dx."""
    moved = np.zeros_like(columns)
    for i in range(columns.size):
        for times in range(1 if columns[i] <= tileLength else 2):
            moved[i] += 2 * columns[i] * itemsize
        moved[i] += columns[i] * itemsize
    return moved


def rms_add_to_dgamma(self, count):
    """Add dy * xhat to `self.dgamma`, then let `self.dy` hold dy * gamma. `self.dy`, `self.xhat`, `self.gamma` and
    `self.work` are float tensors; between vector instructions nothing waits by itself."""
    for i in range(count):
        self.dgamma[i] += self.dy[i] * self.xhat[i]
        self.dy[i] = self.dy[i] * self.gamma[i]


def rms_add_slots(self):
    """After SyncAll: add up the slots of all cores in their order and store the sum to `self.dgammaGm`, strip after
    strip of `self.t.strip` columns. `self.partGm` holds a slot of `self.t.slot` floats for each core; `self.work` and
    `self.dgamma` are float tensors; every wait must be written."""
    for start in range(GetBlockIdx() * self.t.strip, self.t.columns, self.t.strip * GetBlockNum()):
        for i in range(start, min(start + self.t.strip, self.t.columns)):
            self.dgammaGm[i] = sum(
                self.partGm[core * self.t.slot + i] for core in range(GetBlockNum())
            )


TILE_PUZZLES = (
    Puzzle(
        rows_of_core,
        "Rows for a core",
        ("held",),
        (
            "The span is rounded up, so that the last row has a core.",
            "What is left for core k is rows - k * span, but no more than a span, and never less than nothing.",
            "span = -(-rows // cores); return np.clip(rows - core * span, ...)",
        ),
        Curve("core", 0.0, 7.0, ({"rows": 20, "cores": 8}, {"rows": 64, "cores": 8}), (6.0, 7.0)),
        tuple(
            {"core": np.arange(cores, dtype=np.float64), "rows": rows, "cores": cores}
            for rows, cores in ((64, 8), (64, 7), (20, 8), (5, 8), (100, 48))
        ),
    ),
    Puzzle(
        strip_owner,
        "Whose column",
        ("owner",),
        (
            "Which strip is it?",
            "Strips are dealt in turn: behind the last core comes core 0 again.",
            "return column // strip % ...",
        ),
        Curve(
            "column",
            0.0,
            600.0,
            ({"strip": 64, "cores": 4}, {"strip": 64, "cores": 7}),
            (256.0, 448.0),
        ),
        tuple(
            {
                "column": np.array([0.0, 1.0, 63.0, 64.0, 100.0, 255.0, 256.0, 600.0]),
                "strip": strip,
                "cores": cores,
            }
            for strip, cores in ((64, 4), (64, 7), (128, 2))
        ),
    ),
    Puzzle(
        row_traffic,
        "Read twice",
        ("moved",),
        (
            "Three tensors of a row are moved at least: two in, one out.",
            "A row that is cut moves two more. A row of exactly one tile is not cut.",
            "return columns * itemsize * np.where(columns <= tileLength, 3, ...)",
        ),
        Curve(
            "columns",
            64.0,
            12000.0,
            ({"tileLength": 4864, "itemsize": 4}, {"tileLength": 6080, "itemsize": 2}),
            (4864.0, 6080.0),
        ),
        (
            {"columns": np.array([1.0, 4864.0, 4865.0, 9000.0]), "tileLength": 4864, "itemsize": 4},
            {"columns": np.array([64.0, 6080.0, 6081.0]), "tileLength": 6080, "itemsize": 2},
        ),
    ),
    Puzzle(
        rms_add_to_dgamma,
        "Three instructions and a barrier",
        (),
        (
            "One product goes through `self.work`; the other stays in place.",
            "Which instruction reads what the one before has written? Between those two stands PipeBarrier(PIPE_V).",
            "Mul(self.work, self.dy, self.xhat, count), the barrier, Add(...), Mul(...)",
        ),
        None,
        judge=Part("AddToDgamma", FEW),
    ),
    Puzzle(
        rms_add_slots,
        "A sum across the cores",
        (),
        (
            "For each strip: zeros, then slot after slot is loaded and added, then the sum is stored.",
            "A load waits for the last sum (V_MTE2), a sum for its load (MTE2_V), the store for the last sum (V_MTE3), and "
            "the zeros of the next strip for the store (MTE3_V).",
            "Queues hold event ids, too: eventID = GetTPipePtr().FetchEventID(HardEvent.V_MTE2) is one that is free; then come SetFlag and "
            "WaitFlag, and DataCopyPad(self.work, self.partGm[core * self.t.slot + start], row, DataCopyPadExtParams(False, 0, 0, 0)).",
        ),
        None,
        judge=Part("AddSlots", (*FEW, ({"shape": (5, 200)}, 2))),
    ),
)

TILE_DETECTIVES = (
    TileDetective(
        1,
        "seven_cores",
        "rms_norm",
        "Right on eight cores, wrong on seven",
        "Sixteen rows. On eight cores the kernel is right, on seven it is wrong. Nothing else is changed.",
        (
            *(
                (f"{cores} core{'s' * (cores > 1)}", {"shape": (16, 20), "cores": cores})
                for cores in (1, 4, 7, 8)
            ),
            ("1 core, long rows", {"shape": (2, 9000), "cores": 1}),
        ),
        table,
        ("one slot fewer", "mean of a tile", "rows beyond the last", "sum of the last tile"),
        (
            "What do 1, 4 and 8 have in common that 7 does not have?",
            "With seven cores a span is three rows. How many rows are dealt in spans of three?",
            "Two of the suspects need a row that is cut. A third would be wrong on eight cores as well.",
        ),
        "rows beyond the last",
    ),
)
