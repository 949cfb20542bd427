"""Wrong tile programs of the grid sampler's gradient."""

from aclnn_viz.tiles.fault import BITS, WRONG, TileFault

ATOMIC = "grid_sampler_2d_atomic"
SMALL = {"shape": (2, 3, 4, 5), "grid_shape": (3, 4)}
CROWD = {"shape": (1, 2, 2, 2), "grid_shape": (6, 6)}

FAULTS = (
    TileFault("atomics onto anything", "nobody clears inputGrad", "dirty atomics",
              {"            self.Clear()\n": ""}, SMALL, schedule="eager"),
    TileFault("cleared too late", "a fast core adds before a slow one has cleared", "race between cores",
              {"            self.Clear()\n            SyncAll()\n": "            self.Clear()\n"}, SMALL,
              schedule="late", program=ATOMIC),
    TileFault("stored instead of added", "a tap overwrites what others left on its pixel", WRONG,
              {"        SetAtomicAdd(float32)\n": ""}, CROWD, schedule="eager"),
    TileFault("stored by many cores", "cores overwrite each other's taps", "race between cores",
              {"        SetAtomicAdd(float32)\n": ""}, CROWD, schedule="eager", program=ATOMIC),
    TileFault("atomic mode left on", "gridGrad is added onto what lies in its memory", "dirty atomics",
              {"        SetAtomicNone()\n": ""}, SMALL, schedule="eager"),
    TileFault("lanes beside a channel", "a channel's block is summed without having been filled", "padding",
              {"DataCopyPadExtParams(True, 0, self.lanes - 1, 0)": "DataCopyPadExtParams(False, 0, 0, 0)"}, SMALL,
              schedule="eager"),
    TileFault("stride without its block", "the gap is taken from start to start", "beyond global memory",
              {"(step - 1) * size": "step * size"}, {"shape": (2, 2, 4, 5), "grid_shape": (3, 4)}, 1, "eager"),
    TileFault("16 bits stored densely", "channels of 16 bits lie 64 bytes apart once they are float", WRONG,
              {"self.lanes // 8 - 1": "0"}, SMALL | {"dtype": "float16"}, schedule="eager"),
    TileFault("cast too early", "the workspace is rounded before all have added", "race between cores",
              {"            SyncAll()\n            self.CastSums()": "            self.CastSums()"},
              SMALL | {"dtype": "float16"}, schedule="eager", program=ATOMIC),
    TileFault("sums overtake each other", "atomic sums of one core need a barrier to keep their order", BITS,
              {"            PipeBarrier(PIPE_MTE3)  # atomic": "            pass  # atomic"},
              {"shape": (1, 40, 1, 1), "grid_shape": (6, 6)}),
)
