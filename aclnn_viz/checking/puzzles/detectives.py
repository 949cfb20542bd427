"""The detective cases: what is told and shown of each, its suspects, and who did it."""

from functools import partial

import numpy as np

from aclnn_viz.checking.puzzles.detective import Detective
from aclnn_viz.checking.puzzles.symptoms import error_map, standards, table

LAST_ROW = np.zeros((4, 8), np.float32)
LAST_ROW[-1] = np.linspace(-1, 1, 8)
LATTICE = np.stack(np.meshgrid(*2 * [np.linspace(-3.9, 3.9, 14)]), -1)[None].astype(np.float32)
SPREAD = np.float32([[[[-0.5, -0.5], [0.5, 0.5]]]])
PILED = np.full((1, 1, 2, 2), 0.3, np.float32)
SQUARE = {"shape": (1, 1, 6, 6)}
NO_WEIGHTS = {"weightOptional": None}

DETECTIVES = (
    Detective(
        "long_rows", "rms_norm", "Rows of a certain length",
        "The benchmark ran rows of 16, 32 and 1024 elements, and all was well. Then a model came with 50.",
        tuple((f"rows of {n}", {"shape": (3, n)}) for n in (16, 17, 31, 32, 50, 64, 1024)), table,
        ("missing 1/n", "n - 1", "tail of the row forgotten", "one mean for all rows", "x for x-hat"),
        ("Write down the lengths that are right. What do they have in common?",
         "Which suspects would know about 16?", "A loop over whole tiles leaves something out."),
        "tail of the row forgotten"),
    Detective(
        "one_row", "rms_norm", "Four rows are too many",
        "dxOut is right in every test. dgammaOut is right with one row, and once more in a case that somebody made up.",
        (("one row", {"shape": (1, 8)}), ("four rows", {"shape": (4, 8)}),
         ("four rows, gamma is 1", {"shape": (4, 8), "gamma": 1.0}),
         ("four rows, dy is 0 but in the last", {"shape": (4, 8), "dy": LAST_ROW})), table,
        ("dgamma averaged", "dgamma of the last row", "dgamma with gamma", "dgamma with x", "one mean for all rows"),
        ("gamma = 1 changes nothing: which suspect does that clear?",
         "An average of one row is right, too. But what of the last experiment?",
         "There only the last row has something to add, and the result is right."),
        "dgamma of the last row"),
    Detective(
        "half_digits", "hardswish", "Accepted here, refused there",
        "A float16 kernel passes the loose standards and fails the strict ones. The formula was read twice, and is "
        "right.",
        (("float16", {"shape": (64, 64), "dtype": "float16"}),), partial(standards, output="out"),
        ("both kinks open", "a third with three digits", "16-bit outputs truncated", "computed in 16 bits",
         "half forgotten"),
        ("How many ulps are the largest errors? A cut output is off by less than one.",
         "Look where the errors are large: at which |truth|?",
         "Small results near x = -1.5 are differences of larger numbers. With how many digits were those kept?"),
        "computed in 16 bits"),
    Detective(
        "in_the_mirror", "grid_sampler_2d", "A striped gradient",
        "The x component of gridGrad over a lattice of points from -3.9 to 3.9, x to the right: reflection padding, an "
        "image of 4 x 4. inputGrad is right.",
        (("a lattice", {"shape": (1, 1, 4, 4), "grid_shape": (14, 14), "grid": LATTICE, "paddingMode": 2}),),
        partial(error_map, output="gridGrad", at=(0, ..., 0)),
        ("period off by one", "mirrors on the centres", "reflection sign lost", "clipped points keep their gradient",
         "reflection as border"),
        ("In which columns is it wrong? What do their x have in common?",
         "It is right between -1 and 1, wrong beyond, and right again after another image width.",
         "An odd number of mirrors is passed there. inputGrad is right, so the place of the point is."),
        "reflection sign lost"),
    Detective(
        "crowded", "grid_sampler_2d", "One point works",
        "inputGrad is right as long as few points are sampled. gridGrad is always right.",
        (("one point", SQUARE | {"grid": PILED[:, :, :1], "grid_shape": (1, 1)}),
         ("two points far apart", SQUARE | {"grid": SPREAD, "grid_shape": (1, 2)}),
         ("two points at one place", SQUARE | {"grid": PILED, "grid_shape": (1, 2)}),
         ("25 points", SQUARE | {"grid_shape": (5, 5)}),
         ("two samples, one point each", {"shape": (2, 1, 6, 6), "grid": np.repeat(PILED[:, :, :1], 2, 0),
                                          "grid_shape": (1, 1)})), table,
        ("first sample for all", "uninitialised where nothing lands", "scatter overwrites", "x and y swapped",
         "inputGrad added up in float16"),
        ("Two points far apart are right, two at one place are wrong.",
         "What happens in a pixel that two gradients reach?", "One of the two is lost."),
        "scatter overwrites"),
    Detective(
        "by_what", "cross_entropy_loss", "Divided by what?",
        "Some means are wrong, in every row that counts. Sums never are.",
        (("mean", {}), ("mean, no weights", NO_WEIGHTS), ("mean, no row ignored", {"target": 1}),
         ("mean, no weights, no row ignored", NO_WEIGHTS | {"target": 1}), ("sum", {"reduction": "sum"}),
         ("none", {"reduction": "none"})), table,
        ("mean forgotten", "weights forgotten", "mean over all rows", "mean over the counted rows",
         "weight of the column"),
        ("Sums are right, with weights and ignored rows: what is left that only a mean has?",
         "Without weights it is right, though rows are ignored.", "So rows are counted rightly, but not weighed."),
        "mean over the counted rows"),
    Detective(
        "one_sample", "group_norm_swish", "Never alone",
        "Every test with one sample passes. In a batch dxOut is wrong, and only that.",
        (("one sample", {"shape": (1, 4, 6)}), ("two samples", {"shape": (2, 4, 6)}),
         ("five samples", {"shape": (5, 4, 6)}), ("one sample, one channel in a group", {"shape": (1, 4, 6),
                                                                                         "numGroups": 4})), table,
        ("missing 1/n", "documented formula", "sums over the batch", "statistics of one channel",
         "dgamma of the last sample"),
        ("Which sums run over the batch in a right kernel, and which must not?",
         "One sample is right, so no factor 1/n is missing.",
         "dgammaOut and dbetaOut are sums over the batch. Somebody may have used what they are made of twice."),
        "sums over the batch"),
    Detective(
        "not_a_number", "group_norm_swish", "Nan by the group",
        "A model asked for a large swishScale. Two channels of one sample are nan in dxOut (a row is a channel here), "
        "one element of dgammaOut is, and all the rest is right.",
        (("swishScale = 25", {"shape": (2, 6, 8), "numGroups": 3, "swishScale": 25.0, "seed": 3}),),
        partial(error_map, output="dxOut", at=0),
        ("swish scale ignored", "sigmoid for the swish slope", "change of rstd forgotten", "exp overflows",
         "sums in float16"),
        ("One element is enough to make a sum nan. How far does a sum reach here?",
         "What becomes of exp(t) / (1 + exp(t)) for t = 100 in float32?",
         "A large swishScale makes large t. The other groups were spared: none of their t is large enough."),
        "exp overflows"),
)
