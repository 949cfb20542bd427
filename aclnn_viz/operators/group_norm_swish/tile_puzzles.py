"""A detective case on group norm and swish in tiles."""

from aclnn_viz.checking.puzzles.symptoms import table
from aclnn_viz.checking.puzzles.tiles.detective import TileDetective

DETECTIVES = (
    TileDetective(
        5, "one_channel", "group_norm_swish", "One channel is enough",
        "The tests had as many groups as channels. With fewer groups one of three outputs is wrong.",
        (("4 channels, 4 groups", {"shape": (2, 4, 20), "numGroups": 4, "cores": 4}),
         ("4 channels, 2 groups", {"shape": (2, 4, 20), "numGroups": 2, "cores": 4}),
         ("1 sample, 4 groups", {"shape": (1, 4, 20), "numGroups": 4, "cores": 4}),
         ("4 channels, 2 groups, late", {"shape": (2, 4, 20), "numGroups": 2, "cores": 4, "schedule": "late"})), table,
        ("first sample left out", "rest not stored", "divided by one channel", "samples not awaited"),
        ("The order makes no difference: no wait is missing.",
         "dgammaOut and dbetaOut are sums over samples. Are they right?",
         "What does only dxOut need, and what does it depend on the number of channels in a group?"),
        "divided by one channel"),
)
