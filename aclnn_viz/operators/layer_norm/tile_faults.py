"""Named mistakes that one can put into the tile programs of the layer norm gradient."""

from aclnn_viz.tiles.fault import WRONG, TileFault

FEW = {"shape": (8, 20), "normalizedShape": (20,)}

FAULTS = (
    TileFault("no SyncAll before the slots", "a core adds up slots that others have not finished", "race between cores",
              {"            SyncAll()\n": ""}, FEW, schedule="eager"),
    TileFault("sums overtake the zeros", "a plain store and an atomic sum of one core have no order by themselves",
              "missing barrier", {"            PipeBarrier(PIPE_MTE3)  # the sums": "            pass  # the sums"},
              FEW | {"outputMask": (True, True, False)}, schedule="late"),
    TileFault("atomic mode left on", "gradInput is added onto what lies in its memory", "dirty atomics",
              {"            SetAtomicNone()\n": ""}, FEW, schedule="eager"),
    TileFault("no weight forgotten", "without a weight nothing fills its buffer", "unwritten",
              {"            Duplicate(self.weight, 1.0, count)\n": "            pass\n"},
              FEW | {"weightOptional": None}, schedule="eager"),
    TileFault("mean of a tile", "the sums of a row are divided by the length of a tile", WRONG,
              {"total[row - first] / F(self.t.columns)": "total[row - first] / F(self.t.tileLength)"}, FEW,
              schedule="eager"),
    TileFault("sums of the last group", "gradWeight is not cleared between groups: right up to 64 rows a core", WRONG,
              {"            Duplicate(self.dw, 0.0, count)\n            Duplicate(self.db":
               "            Duplicate(self.db"}, {"shape": (70, 20), "normalizedShape": (20,)}, 1, "eager"),
    TileFault("slots in the wrong order", "a core adds only to its own slot, and reads that of core 0", WRONG,
              {"parts[core * self.t.slot + start]": "parts[0 * self.t.slot + start]"}, FEW, schedule="eager"),
)
