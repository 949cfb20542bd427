"""Wrong tile programs of the RMS norm gradient."""

from aclnn_viz.tiles.fault import WRONG, TileFault

ATOMIC = "rms_norm_atomic"
FEW = {"shape": (8, 20)}
WAIT_LOAD = "                SetFlag(HardEvent.MTE2_V, eventID)\n                WaitFlag(HardEvent.MTE2_V, eventID)\n"
WAIT_SUM = ("            SetFlag(HardEvent.V_MTE3, eventID)\n            WaitFlag(HardEvent.V_MTE3, eventID)\n"
            "            DataCopyPad(self.dgammaGm")

FAULTS = (
    TileFault("no SyncAll before the slots", "a core adds up slots that others have not written", "race between cores",
              {"            SyncAll()\n            self.AddSlots()": "            self.AddSlots()"}, FEW,
              schedule="eager"),
    TileFault("SyncAll for full cores alone", "the core with fewer rows never comes", "deadlock",
              {"            SyncAll()\n            self.AddSlots()":
               "            if self.last - self.first == self.t.span:\n                SyncAll()\n"
               "            self.AddSlots()"}, {"shape": (7, 20)}, schedule="eager"),
    TileFault("atomics onto anything", "the output is not cleared before the first sum", "dirty atomics",
              {"            self.ClearOutput()\n": "            pass\n"}, FEW, schedule="eager", program=ATOMIC),
    TileFault("cleared too late", "a fast core adds before a slow one has cleared", "race between cores",
              {"min(start + self.t.strip, self.t.columns))\n        SyncAll()\n":
               "min(start + self.t.strip, self.t.columns))\n"}, FEW, program=ATOMIC),
    TileFault("atomic mode left on", "the next plain store would add", "atomic mode left on",
              {"        SetAtomicNone()\n": ""}, FEW, program=ATOMIC),
    TileFault("gamma not awaited", "the vector unit widens gamma while it is loaded", "missing wait",
              {"        SetFlag(HardEvent.MTE2_V, eventID)\n        WaitFlag(HardEvent.MTE2_V, eventID)\n        self.Widen":
               "        self.Widen"}, FEW, schedule="late"),
    TileFault("slot not awaited", "the slots of other cores are added before they are loaded", "missing wait",
              {WAIT_LOAD: ""}, FEW, schedule="late"),
    TileFault("slot overwritten", "the next slot is loaded while the last is added", "missing barrier",
              {"                SetFlag(HardEvent.V_MTE2, eventID)  # and so the vector unit's last sum is finished, too\n"
               "                WaitFlag(HardEvent.V_MTE2, eventID)\n": ""}, FEW, schedule="late"),
    TileFault("sum not awaited", "dgamma is stored before the last slot is added", "missing wait",
              {WAIT_SUM: "            DataCopyPad(self.dgammaGm"}, FEW, schedule="late"),
    TileFault("slots too narrow", "the tail of a slot lies in the neighbour's, that of the last nowhere",
              "beyond global memory", {"slot = -(-columns // 8) * 8": "slot = columns // 8 * 8"}, FEW,
              schedule="eager"),
    TileFault("rows beyond the last", "every core is taken to have the same number of rows", "beyond global memory",
              {"min(self.first + self.t.span, self.t.rows)": "self.first + self.t.span"}, {"shape": (7, 20)},
              schedule="eager"),
    TileFault("sum over the padding", "the row is summed up to a multiple of 8", "unwritten",
              {"ReduceSum(self.sum, self.work, self.work, count)":
               "ReduceSum(self.sum, self.work, self.work, -(-count // 8) * 8)"}, {"shape": (4, 13)},
              schedule="eager"),
    TileFault("dgamma not cleared", "the sum over the rows starts from anything", "unwritten",
              {"        Duplicate(self.dgamma, 0.0, columns)\n": ""}, FEW, schedule="eager"),
    TileFault("one slot fewer", "the last core's rows are left out of dgamma", WRONG,
              {"for core in range(GetBlockNum()):": "for core in range(max(GetBlockNum() - 1, 1)):"}, FEW,
              schedule="eager"),
    TileFault("mean of a tile", "the sum of a row that is cut is divided by the tile", WRONG,
              {"mean = total * (float32.type(1) / float32.type(columns))":
               "mean = total * (float32.type(1) / float32.type(tile))"}, {"shape": (2, 9000)}, schedule="eager"),
    TileFault("sum of the last tile", "the sum of a row starts again with every tile", WRONG,
              {"total = total + self.RowSum(rstd, count)": "total = self.RowSum(rstd, count)"},
              {"shape": (2, 9000)}, schedule="eager"),
    TileFault("plain store of a sum", "the rows of a cut row overwrite each other's dgamma", WRONG,
              {"if self.t.atomic or self.t.columns > self.t.tileLength:": "if self.t.atomic:"},
              {"shape": (8, 9000)}, schedule="eager"),
)
