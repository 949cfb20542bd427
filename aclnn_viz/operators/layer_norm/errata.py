"""Errata of aclnnLayerNormBackward."""

from functools import partial

import numpy as np

from aclnn_viz.operators.codes import ACL_FLOAT16
from aclnn_viz.verification.errata import model
from aclnn_viz.verification.errata.model import Computation, erratum

DOCUMENT = "ops-nn norm/layer_norm_grad_v3/docs/aclnnLayerNormBackward.md, commit 10d8837 of the mirror jbgztxdy/ops-nn"
CODE = "ops-nn norm/layer_norm_grad_v3/op_host/op_api/aclnn_layer_norm_backward.cpp"
phase_1 = partial(model.phase_1, "layer_norm")
SAMPLE = np.array([[2.0, 3.0], [4.0, 5.0]])


def shapes(x, rows, columns) -> dict:
    """Arguments for input of shape x, which is said to end with `columns`, and no weight."""
    return {"gradOut": (x,), "input": (x,), "normalizedShape": list(columns), "mean": (rows,), "rstd": (rows,),
            "weightOptional": None, "biasOptional": None, "gradInputOut": (x,), "gradWeightOut": (columns,),
            "gradBiasOut": (columns,)}


ERRATA = (
    erratum(
        "layer-norm-normalized-shape", "contract", "input is hardly ever compared with normalizedShape",
        "161002: input and normalizedShape, aligned on the right, differ in an axis.", DOCUMENT,
        "The comparison runs from the number of leading axes up to the number of normalised ones: with at least as "
        "many leading as normalised axes it looks at nothing, and the kernel reads rows of another length.", CODE,
        phase_1("phase 1 with input (2, 3, 4) and normalizedShape {5}", 161002, 0, **shapes((2, 3, 4), (2, 3, 1), (5,)))),
    erratum(
        "layer-norm-statistics-types", "contract", "The data types of mean and rstd are not compared",
        "mean and rstd have one data type, at least as wide as that of input.", DOCUMENT,
        "Each must be supported; they are neither compared with each other nor with input.", CODE,
        phase_1("phase 1 with mean in FLOAT16, rstd and input in FLOAT", "some refusal", 0,
                **shapes((2, 4), (2, 1), (4,)) | {"mean": ((2, 1), ACL_FLOAT16)})),
    erratum(
        "layer-norm-sample-statistics", "numerics", "mean and rstd of the sample do not belong to its x",
        "mean and rstd are what the forward operator saved; the sample passes {2, 3} and {4, 5} for x = {2, 3, 4, 5}.",
        f"{DOCUMENT}, sample program",
        "The rows have the means 2.5 and 4.5 and, with eps 0, the rstd 2: what the sample prints is no gradient of the "
        "forward operator.", "the definition of mean and rstd, recomputed; the operator takes any",
        Computation("means of the rows", lambda: SAMPLE.mean(axis=1), [2.0, 3.0], [2.5, 4.5]),
        Computation("rstd of the rows with eps 0", lambda: 1 / SAMPLE.std(axis=1), [4.0, 5.0], [2.0, 2.0])),
)
