"""Wrong tile programs of the hardswish gradient."""

from aclnn_viz.tiles.fault import WRONG, TileFault

MUL = "        Muls(slope, x, 1.0 / 3.0, count)\n        PipeBarrier(PIPE_V)\n"
OUT = "DataCopyPad(self.outGm[start], out, DataCopyExtParams(1, count * self.T.itemsize, 0, 0, 0))"
LONG = {"shape": (50000,)}  # several tiles a core

FAULTS = (
    TileFault("barrier removed", "two vector instructions in a row overlap", "missing barrier",
              {MUL: "        Muls(slope, x, 1.0 / 3.0, count)\n"}, schedule="late"),
    TileFault("queue not freed", "the tile of x is never given back", "queue not freed",
              {"        self.xQue.FreeTensor(given)\n": ""}, LONG, 2, "eager"),
    TileFault("freed twice", "the tile of x is given back a second time", "freed twice",
              {"        self.xQue.FreeTensor(given)\n": "        self.xQue.FreeTensor(given)\n" * 2}, LONG, 2),
    TileFault("freed before its last use", "the gradient is given back as soon as it is there", "used after FreeTensor",
              {"        self.gradQue.FreeTensor(grad)\n": "", "        out = self.outQue.AllocTensor(self.T)\n":
              "        out = self.outQue.AllocTensor(self.T)\n        self.gradQue.FreeTensor(grad)\n"}),
    TileFault("enqueued before it is copied", "the wait that EnQue stands for comes too early", "used after EnQue",
              {"        self.xQue.EnQue(x)\n": "", "        row = DataCopyExt":
              "        self.xQue.EnQue(x)\n        row = DataCopyExt"}),
    TileFault("tail rounded up", "the last tile is stored in whole blocks of 32 bytes", "beyond global memory",
              {OUT: "DataCopy(self.outGm[start], out, -(-count * self.T.itemsize // 32) * 32 // self.T.itemsize)"},
              {"shape": (99,)}, schedule="eager"),
    TileFault("tail rounded down", "DataCopy moves whole blocks and says nothing", "shortened copy",
              {OUT: "DataCopy(self.outGm[start], out, count)"}, {"shape": (99,)}, schedule="eager"),
    TileFault("one core fewer", "the tiling deals to more cores than it starts", "output not written",
              {"return Tiling(cores,": "return Tiling(max(cores - 1, 1),"}, schedule="eager"),
    TileFault("planned for one buffer", "tiles fill the Unified Buffer before they are doubled", "unified buffer full",
              {"3 * BUFFERS * size +": "3 * size +"}, LONG, schedule="eager"),
    TileFault("planned without the scratch of Select", "Select works in the last 8 KiB on its own",
              "unified buffer full",
              {" - 8192  # which Select works in": ""}, LONG),
    TileFault("comparison of the tail alone", "lanes that do not fill 256 bytes are left out",
              "alignment of a comparison",
              {"lanes = -(-count // 64) * 64": "lanes = count"}, {"shape": (99,)}, schedule="eager"),
    TileFault("lanes behind the tail", "the comparison reads lanes that hold anything", "unwritten",
              {"        Duplicate(self.xBuf.Get(float32), 0.0, min(self.tile, -(-self.length // 64) * 64))\n": ""},
              {"shape": (99,)}),
    TileFault("start of a core", "every core is taken to have one block more", "output not written",
              {"min(core, tiling.formerNum) * tiling.align": "core * tiling.align"}, {"shape": (99,)},
              schedule="eager"),
    TileFault("computed in bfloat16", "there is no vector arithmetic in bfloat16", "format",
              {"        if self.T == float32:\n            Muls(x": "        if True:\n            Muls(x"},
              {"dtype": "bfloat16"}, schedule="eager"),
    TileFault("result cut off", "CAST_TRUNC where CAST_RINT rounds to nearest", WRONG,
              {"RoundMode.CAST_RINT": "RoundMode.CAST_TRUNC"}, {"dtype": "bfloat16", "shape": (300,)},
              schedule="eager"),
    TileFault("no round mode for bfloat16", "CAST_NONE is for half alone", "format",
              {"RoundMode.CAST_RINT": "RoundMode.CAST_NONE"}, {"dtype": "bfloat16"}, schedule="eager"),
    TileFault("slope forgotten", "the second selection takes x for the slope", WRONG,
              {"Select(slope, within, slope, 1.0": "Select(slope, within, x, 1.0"}, schedule="eager"),
)
