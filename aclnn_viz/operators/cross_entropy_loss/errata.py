"""Errata of aclnnCrossEntropyLossGrad."""

from functools import partial

import numpy as np

from aclnn_viz.dtypes import BFLOAT16
from aclnn_viz.operators import operator
from aclnn_viz.operators.codes import ACL_INT32, ACL_INT64
from aclnn_viz.operators.contract import contract
from aclnn_viz.operators.products import A2, ASCEND_950
from aclnn_viz.verification.contract import Run, run
from aclnn_viz.verification.errata import model
from aclnn_viz.verification.errata.model import (
    Computation, Contradiction, Counterexample, Lemma, Observation, erratum, gradient,
)

DOCUMENT = "aclnnCrossEntropyLossGrad, CANN documentation of 8.x"
NEWEST = "ops-nn loss/cross_entropy_loss_grad/docs/aclnnCrossEntropyLossGrad.md, commit e5c3fa9"
HEADER = "aclnn_cross_entropy_loss_grad.h of CANN 8.1"
TILING = "ops-nn loss/cross_entropy_loss_grad/op_host/cross_entropy_loss_grad_tiling.cpp"
KERNEL = "ops-nn loss/cross_entropy_loss_grad/op_kernel/cross_entropy_loss_grad_base.h"
ARCH35 = "ops-nn loss/cross_entropy_loss_grad/op_host/cross_entropy_loss_grad_tiling_arch35.cpp"
EVEN = np.log(np.full((2, 2), 0.5))  # two rows, two classes of the same probability


phase_1 = partial(model.phase_1, "cross_entropy_loss", logProb=((4, 3),), target=((4,), ACL_INT64), weightOptional=((3,),),
                  xGradOut=((4, 3),))


def ce_run(target, soc: str = A2, gradLoss=1.0, logProb=EVEN, **attributes) -> Run:
    """Both phases with gradLoss 1 in float32; the output holds 7 before the call."""
    log_prob = np.float32(logProb)
    given = {"gradLoss": np.asarray(gradLoss, np.float32), "logProb": log_prob, "target": np.asarray(target, np.int64),
             "weightOptional": None, "reduction": "sum", "ignoreIndex": -100,
             "xGradOut": np.full(log_prob.shape, 7, np.float32)}
    return run("cross_entropy_loss", soc, **given | attributes)


def out(target, *arguments, **attributes):
    return ce_run(target, *arguments, **attributes).outputs["xGradOut"]


def printed_mean(mask, gradLoss=1.0, weight=1.0):
    """exp(logProb) nll - onehot nll with nll = grad / W m w, W = sum of w m, for two rows with target 0."""
    m = np.asarray(mask, float)
    with np.errstate(all="ignore"):
        nll = gradLoss / np.sum(weight * m) * m * weight
        return np.exp(EVEN) * nll[:, None] - np.array([1, 0]) * nll[:, None]


def read_as_double(value: float) -> float:
    """What a callee that expects a double finds when the caller put a float into the lower half of the register."""
    return float(np.array([value, 0], np.float32).view(np.float64)[0])


def unnormalised() -> dict:
    """The sample: logProb -0.2 everywhere, gradLoss 0.1, targets 0, mean."""
    return {"gradLoss": np.float64(0.1), "logProb": np.full((2, 3), -0.2), "target": np.zeros(2, np.int64)}


def slope_of_renormalised():
    """The gradient by logits whose log-softmax is meant: -0.2 less the logarithm of the sum of its exponentials."""
    def loss(x):
        return float(operator("cross_entropy_loss").forward(input=x, target=np.zeros(2, np.int64))["loss"])
    return 0.1 * gradient(loss, np.full((2, 3), -0.2))


ERRATA = (
    erratum(
        "cross-entropy-all-ignored", "mathematics", "All targets ignored, mean: 0 / 0",
        "ignoreIndex names targets that do not influence the input gradient; mean divides by the sum of the weights of "
        "the others.", NEWEST,
        "When every target is ignored, that sum is 0 and the whole output nan, also in ignored rows. PyTorch writes "
        "nothing for ignored rows and leaves zeros.",
        f"{KERNEL}; nll_loss backward in ATen, read and not run",
        Lemma("cross_entropy_loss", "all_rows_ignored", "divisor 1"),
        Observation("printed formula, both rows ignored", lambda: printed_mean([0, 0]), np.zeros((2, 2)),
                    np.full((2, 2), np.nan)),
        Observation("emulated A2, both targets -100, mean", lambda: out([-100, -100], reduction="mean"),
                    np.zeros((2, 2)), np.full((2, 2), np.nan))),
    erratum(
        "cross-entropy-sample", "mathematics", "The sample's logProb is no log-softmax",
        "logProb is the log-softmax of the forward pass; the sample passes -0.2 everywhere and expects -0.0091 and "
        "0.0409.", f"{DOCUMENT}, sample program",
        "exp(-0.2) over three classes adds up to 2.456, and the operator does not renormalise: the rows of the result "
        "do not add up to 0, and it is no gradient of any logits.", KERNEL,
        Lemma("cross_entropy_loss", "row_sum_of_unnormalised_input", "sum p"),
        Counterexample("the values of the sample",
                       lambda: operator("cross_entropy_loss").truth(**unnormalised())["xGradOut"],
                       lambda: operator("cross_entropy_loss").truth(
                           **unnormalised() | {"logProb": np.full((2, 3), -np.log(3))})["xGradOut"],
                       slope_of_renormalised, "difference of the forward pass by logits", 1e-6,
                       ("from -0.2 as given", "from log-softmax")),
        Observation("sum of exp(logProb) in a row", lambda: float(np.sum(np.exp(np.full(3, -0.2)))), 1.0,
                    2.4561922592)),
    erratum(
        "cross-entropy-sample-types", "contract",
        "The sample declares other types than it stores",
        "gradLoss and logProb are vectors of float, created as ACL_BF16; target is {0, 0} in floats, created as "
        "ACL_INT64 (16 bytes from 8); the output buffer holds the expected answers before the call.",
        f"{DOCUMENT}, sample program; ops-nn loss/cross_entropy_loss_grad/examples",
        "gradLoss is then the lower half of the float 0.1; a program that does nothing prints the expected values.",
        "the bytes of the sample",
        Computation("gradLoss that the kernel reads instead of 0.1",
                    lambda: float(np.array([0.1], np.float32).view(BFLOAT16.numpy)[0]), 0.1, -107479040.0),
        Computation("bytes of target given, for 2 elements of INT64", lambda: np.zeros(2, np.float32).nbytes, 16, 8)),
    erratum(
        "cross-entropy-negative-ignore-index", "contract",
        "A negative ignoreIndex does ignore targets on Atlas A2, and faults on Ascend 950",
        "ignoreIndex: below zero it counts as no ignored label.", DOCUMENT,
        "The A2 kernel compares every target with ignoreIndex; the newest formula masks always, too. The Ascend 950 "
        "kernel ignores none and asserts that targets are classes.",
        f"{KERNEL}; {NEWEST}; ops-nn loss/cross_entropy_loss_grad/op_kernel/arch35",
        Contradiction(("ignoreIndex below zero counts as no ignored label", DOCUMENT),
                      ("every target equal to ignoreIndex is masked", f"{NEWEST}, formula")),
        Observation("emulated A2, second target -100 = ignoreIndex, row 2", lambda: out([0, -100])[1], [0.5, 0.5],
                    [0.0, 0.0]),
        Observation("emulated Ascend 950, the same, statuses", lambda: list(ce_run([0, -100], ASCEND_950).statuses),
                    [0, 0, 0], [0, 0, 507035]),
        inferred="the status 507035 of a kernel that asserts"),
    erratum(
        "cross-entropy-float-or-double", "contract",
        "The printed prototype has the wrong C types",
        "float labelSmoothing, float lseSquareScaleForZloss, const char *reduction", f"{DOCUMENT}, prototype",
        "The header has double, double and char *. A foreign function call that passes a float is read as a double: "
        "0.1 becomes a subnormal, and 0.0 hides the fault.", HEADER,
        Contradiction(("float labelSmoothing", f"{DOCUMENT}, prototype"), ("double labelSmoothing", HEADER)),
        Observation("type of labelSmoothing in the prototype that the kit binds",
                    lambda: {p.name: p.c_type for p in contract("cross_entropy_loss").parameters}["labelSmoothing"],
                    "float", "double"),
        Observation("labelSmoothing = 0.1f read as a double", lambda: read_as_double(0.1), 0.1, 5.12263e-315)),
    erratum(
        "cross-entropy-label-smoothing", "contract",
        "labelSmoothing other than 0 is not refused: A2 writes nothing, 950 computes it",
        "labelSmoothing: only 0.0 is supported at present.", DOCUMENT,
        "No check looks at it on A2, where the kernel takes a branch that writes nothing; Ascend 950 computes it.",
        f"{TILING}; {KERNEL}; {ARCH35}",
        phase_1("phase 1 on A2 with labelSmoothing = 0.5", "refused", 0, labelSmoothing=0.5),
        Observation("xGradOut after it, 7 before", lambda: out([0, 0], labelSmoothing=0.5)[0], [-0.25, 0.25],
                    [7.0, 7.0]),
        Observation("xGradOut on Ascend 950", lambda: out([0, 0], ASCEND_950, labelSmoothing=0.5)[0], "unsupported",
                    [-0.25, 0.25]),
        inferred="that the A2 kernel ends, and leaves the output as it was"),
    erratum(
        "cross-entropy-reduction", "contract", "An unknown reduction means none on Atlas A2",
        "reduction: 'none', 'mean' or 'sum'.", DOCUMENT,
        "A2 takes any other string for none, and reads gradLoss as N elements; Ascend 950 refuses it.",
        f"{TILING}; {ARCH35}",
        phase_1("phase 1 on A2 with reduction 'Mean'", "refused", 0, reduction="Mean"),
        Observation("xGradOut of 'Mean' for gradLoss [1, 3]", lambda: out([0, 0], reduction="Mean", gradLoss=[1, 3]),
                    "refused", [[-0.5, 0.5], [-1.5, 1.5]]),
        phase_1("phase 1 on Ascend 950 with reduction 'Mean'", "no status listed", 561002, ASCEND_950, reduction="Mean")),
    erratum(
        "cross-entropy-zloss", "contract", "The z-loss inputs are not refused but ignored",
        "gradZlossOptional and lseForZlossOptional: only nullptr is supported; lseSquareScaleForZloss: only 0.0.",
        DOCUMENT, "They are taken and never read; the newest document says that they have no effect.",
        f"{KERNEL}; {NEWEST}",
        Contradiction(("lseForZlossOptional: only nullptr is supported", DOCUMENT),
                      ("lseForZlossOptional has no effect", NEWEST)),
        phase_1("phase 1 with both tensors and scale 1", "refused", 0, gradZlossOptional=((),),
                lseForZlossOptional=((4,),), lseSquareScaleForZloss=1.0),
        Observation("xGradOut with them (formula with z-loss: 1.5, 2.5)",
                    lambda: out([0, 0], gradZlossOptional=np.zeros((), np.float32),
                                lseForZlossOptional=np.full(2, 2, np.float32), lseSquareScaleForZloss=1.0)[0],
                    [1.5, 2.5], [-0.5, 0.5])),
    erratum(
        "cross-entropy-limits", "contract", "Two printed limits are not enforced",
        "N < 200000; ignoreIndex must be smaller than C.", DOCUMENT,
        "Neither is checked, and the newest document has dropped both.", f"{TILING}; {NEWEST}",
        phase_1("phase 1 with N = 200000", "refused", 0, logProb=((200000, 3),), target=((200000,), ACL_INT64),
                xGradOut=((200000, 3),)),
        phase_1("phase 1 with ignoreIndex = 3 for C = 3", "refused", 0, ignoreIndex=3)),
    erratum(
        "cross-entropy-561002", "contract", "Wrong shapes give a status that is not listed",
        "161001 for null pointers and 161002 for data types are the only failures of phase 1.", DOCUMENT,
        "Shapes are compared by the tiling, which fails with 561002; the newest document lists it.",
        f"{TILING}; {NEWEST}",
        Contradiction(("161001 and 161002", f"{DOCUMENT}, return values"), ("561002", f"{NEWEST}, return values")),
        phase_1("phase 1 with 5 targets for 4 rows", "not listed", 561002, target=((5,), ACL_INT64)),
        phase_1("phase 1 with 4 weights for 3 classes", "not listed", 561002, weightOptional=((4,),))),
    erratum(
        "cross-entropy-unchecked-shapes", "contract", "Atlas A2 checks hardly any shape",
        "xGradOut is 2D with the shape (N, C); gradLoss is a scalar for mean and sum, (N,) for none.", DOCUMENT,
        "The A2 tiling compares one axis of target and one of weightOptional; nothing else is looked at.",
        f"{TILING}; {ARCH35}",
        phase_1("phase 1 on A2 with xGradOut (1, 1) for logProb (4, 3)", "refused", 0, xGradOut=((1, 1),)),
        phase_1("phase 1 on A2 with gradLoss () for none", "refused", 0, reduction="none"),
        phase_1("phase 1 on Ascend 950 with gradLoss () for none", "no status listed", 561002, ASCEND_950,
                reduction="none")),
    erratum(
        "cross-entropy-int32", "contract",
        "Ascend 950 takes INT32 targets that no document lists",
        "target: INT64.", f"{DOCUMENT}; {NEWEST}", "The definition of the operator allows INT32 on Ascend 950.",
        "ops-nn loss/cross_entropy_loss_grad/op_host/cross_entropy_loss_grad_def.cpp",
        phase_1("phase 1 on Ascend 950 with INT32 targets", "INT64 only", 0, ASCEND_950, target=((4,), ACL_INT32))),
)
