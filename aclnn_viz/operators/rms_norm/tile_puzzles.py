"""Puzzles on the RMS norm gradient in tiles: rows for cores, columns for strips, what is read twice, and waits."""

import numpy as np

from aclnn_viz.checking.puzzles.puzzle import Curve, Puzzle
from aclnn_viz.checking.puzzles.symptoms import table
from aclnn_viz.checking.puzzles.tiles.detective import TileDetective
from aclnn_viz.checking.puzzles.tiles.machine import Part

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
            self.dgammaGm[i] = sum(self.partGm[core * self.t.slot + i] for core in range(GetBlockNum()))


PUZZLES = (
    Puzzle(rows_of_core, "rms_norm", "Rows for a core", ("held",), 2, (
        "The span is rounded up, so that the last row has a core.",
        "What is left for core k is rows - k * span, but no more than a span, and never less than nothing.",
        "span = -(-rows // cores); return np.clip(rows - core * span, ...)"),
        Curve("core", 0.0, 7.0, ({"rows": 20, "cores": 8}, {"rows": 64, "cores": 8}), (6.0, 7.0)),
        lambda core, rows, cores: np.array(
            [len(range(rows)[int(k) * -(-rows // cores):(int(k) + 1) * -(-rows // cores)]) for k in core], np.float64),
        tuple({"core": np.arange(cores, dtype=np.float64), "rows": rows, "cores": cores}
              for rows, cores in ((64, 8), (64, 7), (20, 8), (5, 8), (100, 48)))),
    Puzzle(strip_owner, "rms_norm", "Whose column", ("owner",), 1, (
        "Which strip is it?",
        "Strips are dealt in turn: behind the last core comes core 0 again.",
        "return column // strip % ..."),
        Curve("column", 0.0, 600.0, ({"strip": 64, "cores": 4}, {"strip": 64, "cores": 7}), (256.0, 448.0)),
        lambda column, strip, cores: np.floor(column / strip) - np.floor(column / strip / cores) * cores,
        tuple({"column": np.array([0.0, 1.0, 63.0, 64.0, 100.0, 255.0, 256.0, 600.0]), "strip": strip, "cores": cores}
              for strip, cores in ((64, 4), (64, 7), (128, 2)))),
    Puzzle(row_traffic, "rms_norm", "Read twice", ("moved",), 1, (
        "Three tensors of a row are moved at least: two in, one out.",
        "A row that is cut moves two more. A row of exactly one tile is not cut.",
        "return columns * itemsize * np.where(columns <= tileLength, 3, ...)"),
        Curve("columns", 64.0, 12000.0, ({"tileLength": 4864, "itemsize": 4}, {"tileLength": 6080, "itemsize": 2}),
              (4864.0, 6080.0)),
        lambda columns, tileLength, itemsize: columns * itemsize * (3.0 + 2.0 * (columns > tileLength)),
        ({"columns": np.array([1.0, 4864.0, 4865.0, 9000.0]), "tileLength": 4864, "itemsize": 4},
         {"columns": np.array([64.0, 6080.0, 6081.0]), "tileLength": 6080, "itemsize": 2})),
    Puzzle(rms_add_to_dgamma, "rms_norm", "Three instructions and a barrier", (), 4, (
        "One product goes through `self.work`; the other stays in place.",
        "Which instruction reads what the one before has written? Between those two stands PipeBarrier(PIPE_V).",
        "Mul(self.work, self.dy, self.xhat, count), the barrier, Add(...), Mul(...)"), None,
        judge=Part("AddToDgamma", FEW)),
    Puzzle(rms_add_slots, "rms_norm", "A sum across the cores", (), 16, (
        "For each strip: zeros, then slot after slot is loaded and added, then the sum is stored.",
        "A load waits for the last sum (V_MTE2), a sum for its load (MTE2_V), the store for the last sum (V_MTE3), and "
        "the zeros of the next strip for the store (MTE3_V).",
        "SetFlag(HardEvent.V_MTE2, 0); WaitFlag(HardEvent.V_MTE2, 0); DataCopyPad(self.work, self.partGm[core * "
        "self.t.slot + start], row, DataCopyPadExtParams(False, 0, 0, 0)) is the load."), None,
        judge=Part("AddSlots", (*FEW, ({"shape": (5, 200)}, 2)))),
)

DETECTIVES = (
    TileDetective(
        1, "seven_cores", "rms_norm", "Right on eight cores, wrong on seven",
        "Sixteen rows. On eight cores the kernel is right, on seven it is wrong. Nothing else is changed.",
        (*((f"{cores} core{'s' * (cores > 1)}", {"shape": (16, 20), "cores": cores}) for cores in (1, 4, 7, 8)),
         ("1 core, long rows", {"shape": (2, 9000), "cores": 1})), table,
        ("one slot fewer", "mean of a tile", "rows beyond the last", "sum of the last tile"),
        ("What do 1, 4 and 8 have in common that 7 does not have?",
         "With seven cores a span is three rows. How many rows are dealt in spans of three?",
         "Two of the suspects need a row that is cut. A third would be wrong on eight cores as well."),
        "rows beyond the last"),
)
