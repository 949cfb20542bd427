"""Errata of the contract of aclnnGridSampler2DBackward."""

import numpy as np

from aclnn_viz.codes import ACL_DOUBLE
from aclnn_viz.verification.bench import A2, TRAINING, run, status
from aclnn_viz.verification.errata.model import Contradiction, Erratum, Observation

DOCUMENT = "aclnnGridSampler2DBackward, CANN documentation of 8.x"
NEWEST = "ops-cv image/grid_sampler2_d_grad/docs/aclnnGridSampler2DBackward.md, commit 6ae8765"
CODE = "ops-cv image/grid_sampler2_d_grad/op_host/op_api/aclnn_grid_sampler2d_backward.cpp"
DOUBLES = {name: (shape, ACL_DOUBLE) for name, shape in (
    ("gradOutput", (1, 2, 3, 3)), ("input", (1, 2, 4, 5)), ("grid", (1, 3, 3, 2)), ("inputGrad", (1, 2, 4, 5)),
    ("gridGrad", (1, 3, 3, 2)))}


def grid_status(soc: str = A2, cann: str = "9.1", **replaced) -> int:
    return status("grid_sampler_2d", soc, cann, **replaced)


def nulls(mask) -> dict:
    return {"outputMask": mask, "gradOutput": None, "input": None, "grid": None}


def without_points():
    """What an inputGrad that was [7, 7] before the call holds after a call with no grid point."""
    image, none = np.zeros((1, 1, 1, 2), np.float32), np.zeros((1, 0, 1, 2), np.float32)
    given = {"gradOutput": np.zeros((1, 1, 0, 1), np.float32), "input": image, "grid": none, "outputMask": [True, True],
             "inputGrad": np.full(image.shape, 7, np.float32), "gridGrad": none}
    return run("grid_sampler_2d", **given).outputs["inputGrad"][0, 0, 0]


ERRATA = (
    Erratum(
        "grid-sampler-null-mask", "grid_sampler_2d", "contract", "A null outputMask succeeds before every check",
        "161001 for null gradOutput, input, grid, inputGrad, gridGrad; nothing about a null outputMask.",
        f"{DOCUMENT}, return values",
        "A null outputMask returns success and computes nothing, whatever the other arguments are.", CODE,
        (Observation("phase 1 with outputMask and all inputs null", lambda: grid_status(**nulls(None)), 161001, 0),)),
    Erratum(
        "grid-sampler-false-mask", "grid_sampler_2d", "contract", "The mask {false, false} skips the checks before 9.1",
        "161001 for null gradOutput, input, grid.", DOCUMENT,
        "Up to CANN 9.0.1 a mask of two false entries succeeds before any check; from 9.1.0-beta.1 on after them.",
        f"{CODE}, tags v9.0.1 and v9.1.0-beta.1",
        (Observation("CANN 9.0.1, inputs null", lambda: grid_status(cann="9.0.1", **nulls([False, False])), 161001, 0),
         Observation("CANN 9.1, inputs null", lambda: grid_status(**nulls([False, False])), "success as in 9.0.1",
                     161001))),
    Erratum(
        "grid-sampler-mask-size", "grid_sampler_2d", "contract", "The length of outputMask is checked, and not listed",
        "Ten reasons for 161002, none of them about outputMask.", DOCUMENT, "outputMask must have two entries.", CODE,
        (Observation("phase 1 with a mask of three entries", lambda: grid_status(outputMask=[True] * 3),
                     "no status named", 161002),)),
    Erratum(
        "grid-sampler-double-910", "grid_sampler_2d", "contract", "DOUBLE on Atlas training series passes the check",
        "Atlas training series: FLOAT16 and FLOAT32.", f"{DOCUMENT}; {NEWEST}",
        "The check takes DOUBLE on every architecture; an AI CPU kernel computes it.", CODE,
        (Observation("phase 1 on Ascend910A with DOUBLE", lambda: grid_status(TRAINING, **DOUBLES), 161002, 0),),
        inferred="that the AI CPU kernel then runs: its source is not published"),
    Erratum(
        "grid-sampler-empty", "grid_sampler_2d", "contract",
        "Without grid points inputGrad is left as it was",
        "gradOutput and grid may be empty; inputGrad is the gradient of input.", NEWEST,
        "A call without grid points succeeds at once and does not write inputGrad, whose value is the empty sum 0. (An "
        "H or W of 0 is refused, as the document says under 161002.)", CODE,
        (Observation("inputGrad after a call without grid points, [7, 7] before", without_points, [0.0, 0.0],
                     [7.0, 7.0]),)),
    Erratum(
        "grid-sampler-bicubic-version", "grid_sampler_2d", "contract", "Whether bicubic exists depends on the version",
        "The older document: interpolationMode 0 and 1; the newest: 0, 1 and 2, without a version.",
        f"{DOCUMENT}; {NEWEST}", "2 is accepted from v9.1.0-beta.2 on.", f"{CODE}, tag by tag",
        (Contradiction(("interpolationMode: 0 bilinear, 1 nearest", DOCUMENT), ("interpolationMode: 0, 1, 2", NEWEST)),
         Observation("CANN 9.0, interpolationMode 2 (newest document)",
                     lambda: grid_status(cann="9.0", interpolationMode=2), 0, 161002),
         Observation("CANN 9.1, interpolationMode 2 (older document)", lambda: grid_status(interpolationMode=2), 161002,
                     0))),
)
