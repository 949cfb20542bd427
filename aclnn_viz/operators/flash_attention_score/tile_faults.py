"""Wrong tile programs of attention."""

from aclnn_viz.tiles.fault import WRONG, TileFault

SMALL = {"shape": (1, 2, 5, 4), "keyIn_shape": (1, 1, 11, 4), "pseShiftOptional": None}
CAUSAL = SMALL | {"sparseMode": 3}

FAULTS = (
    TileFault("diagonal from the upper left", "mode 3 ends in the lower right corner: with more keys than queries these are other keys", WRONG,
              {"corner=0 if sparseMode == LEFT_UP else columns - length": "corner=0"}, CAUSAL, schedule="eager"),
    TileFault("D left out", "the sum of a row through which each score moves all its weights", WRONG, {" - self.D.GetValue(0)": ""}, SMALL,
              schedule="eager"),
    TileFault("first head of a group alone", "heads of queries that share keys all add to dk and dv", WRONG,
              {"first, rows = head * t.rows + i, min(t.block, t.rows - i)": "first, rows = head * t.rows + i, min(t.block, max(t.length - i, 0))"}, SMALL, schedule="eager"),
    TileFault("dk not cleared", "a sum over blocks begins from anything", "unwritten", {"        Duplicate(self.dk, 0.0, t.block * t.wide)\n": ""},
              SMALL, schedule="eager"),
    TileFault("last block as long as the others", "the tail of the keys is loaded beyond their end", "beyond global memory",
              {"min(t.block, t.columns - j)\n        self.LoadKeys(place": "t.block\n        self.LoadKeys(place"}, SMALL, schedule="eager"),
)
