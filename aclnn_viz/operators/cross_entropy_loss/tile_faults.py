"""Wrong tile programs of the cross entropy gradient."""

from aclnn_viz.tiles.fault import WRONG, TileFault

FULL = {"shape": (9, 20), "labelSmoothing": 0.3}
CUT = {"shape": (2, 7000), "target": 6848}  # the first column of the second tile

FAULTS = (
    TileFault("target at a tile's edge", "the end of a tile is taken for a part of it", "beyond tensor",
              {"if start <= target < start + count:": "if start <= target <= start + count:"}, CUT),
    TileFault("scalar reads too early", "the element at the target is read before it is scaled", "missing scalar wait",
              {"            SetFlag(HardEvent.V_S, eventID)\n            WaitFlag(HardEvent.V_S, eventID)\n": ""}, FULL,
              schedule="late"),
    TileFault("scalar store not awaited", "the vector unit goes on before the element at the target is stored",
              "missing scalar wait",
              {"            SetFlag(HardEvent.S_V, eventID)\n            WaitFlag(HardEvent.S_V, eventID)\n": ""}, FULL,
              schedule="late"),
    TileFault("part stored too early", "the copy to the workspace does not wait for the scalar unit",
              "missing scalar wait",
              {"        SetFlag(HardEvent.S_MTE3, eventID)\n        WaitFlag(HardEvent.S_MTE3, eventID)\n": ""}, FULL,
              schedule="late"),
    TileFault("column tile of zero", "few classes rounded down to whole repeats leave none", "buffer of no bytes",
              {"-(-columns // 64) * 64": "columns // 64 * 64"}, FULL, schedule="eager"),
    TileFault("no SyncAll before the parts", "the divisor lacks what slow cores have counted", "race between cores",
              {"        SyncAll()\n": ""}, FULL, schedule="eager"),
    TileFault("own rows alone", "each core divides by its own part: right on one core", WRONG,
              {"for core in range(GetBlockNum()):": "for core in range(1):"}, FULL, schedule="eager"),
    TileFault("weights of the first tile", "the weights are not moved on with the tile", WRONG,
              {"self.weightGm[start]": "self.weightGm[0]"}, CUT | {"labelSmoothing": 0.3}, schedule="eager"),
    TileFault("row not freed", "the tile of log-probabilities is never given back", "queue not freed",
              {"        self.inQue.FreeTensor(logProb)\n": ""}, FULL, schedule="eager"),
    TileFault("parts packed", "parts are read as if they lay side by side", "padding",
              {"self.part.GetValue(8 * core)": "self.part.GetValue(2 * core)"}, FULL, schedule="eager"),
)
