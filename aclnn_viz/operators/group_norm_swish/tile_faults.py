"""Wrong tile programs of the gradient of group norm + swish."""

from aclnn_viz.tiles.fault import WRONG, TileFault

SMALL = {"shape": (3, 6, 20), "numGroups": 2}

FAULTS = (
    TileFault("no SyncAll before the samples", "sums of other cores are added before they are there",
              "race between cores", {"        SyncAll()\n": ""}, SMALL, schedule="eager"),
    TileFault("rest not stored", "sums are stored in full batches alone", "unwritten",
              {" or k == self.t.inGroup - 1": ""}, SMALL, schedule="eager"),
    TileFault("first sample left out", "the sum over the samples starts with the second", WRONG,
              {"for sample in range(self.t.samples):": "for sample in range(1, self.t.samples):"}, SMALL,
              schedule="eager"),
    TileFault("lanes behind the tail", "the comparison reads lanes that hold anything", "unwritten",
              {"        Duplicate(self.t1, 0.0, tiling.tileLength)": "        Duplicate(self.one, 1.0, 64)"}, SMALL),
    TileFault("divided by one channel", "the mean over a group is divided by its positions", WRONG,
              {"F(self.t.inGroup * self.t.positions)": "F(self.t.positions)"}, SMALL, schedule="eager"),
    TileFault("planned without the scratch of Select", "Select works in the last 8 KiB on its own",
              "unified buffer full", {" - 8192 - 8 * SUMS": " - 8 * SUMS"}, {"shape": (1, 1, 6000)}),
    TileFault("samples not awaited", "sums are added before they are loaded", "missing wait",
              {"                SetFlag(HardEvent.MTE2_V, eventID)\n                WaitFlag(HardEvent.MTE2_V, eventID)\n": ""},
              SMALL, schedule="late"),
    TileFault("a sample too far", "the sums of the next sample are taken", "beyond global memory",
              {"parts[sample * self.t.channels + start]": "parts[(sample + 1) * self.t.channels + start]"},
              SMALL, 2, "eager"),
)
