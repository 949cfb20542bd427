"""Errata of aclnnGroupNormSwishGrad."""

from functools import partial

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.operators.codes import ACL_FLOAT16
from aclnn_viz.operators.products import CANN, SOC
from aclnn_viz.verification.contract import Run, run
from aclnn_viz.verification.errata import model
from aclnn_viz.verification.errata.model import (
    STEP, Computation, Contradiction, Counterexample, Lemma, Observation, erratum, gradient,
)

DOCUMENT = "aclnnGroupNormSwishGrad, CANN documentation of 8.x"
FILE = "ops-nn norm/group_norm_swish_grad/docs/aclnnGroupNormSwishGrad.md"
NEWEST = f"{FILE}, commit e5c3fa9"  # earlier versions print no formula
EARLIER = f"{FILE}, commit 5ea842f"
TILING = "ops-nn norm/group_norm_swish_grad/op_host/group_norm_swish_grad_tiling.cpp"
HEADER = "aclnn_group_norm_swish_grad.h of CANN 8.1"
SAMPLE = np.arange(1.0, 25.0).reshape(2, 12)  # x of the sample, a row a group
KERNEL = "ops-nn norm/group_norm_swish_grad/op_kernel/group_norm_swish_grad.h"
ONE = np.array([[[0.0, 2.0]]])  # one sample, one channel, two positions: x-hat is [-1, 1]
TWO = np.array([[[0.0, 2.0]], [[0.0, 4.0]]])  # two samples
DY = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])


def printed_dx(x, count: int, whole_batch: bool = False):
    """rstd (dYNew gamma - (x-hat sum gamma dGamma + sum gamma dBeta) / count) with gamma = s = 1, beta = eps = 0."""
    dy = DY[:len(x)]
    rstd = 1 / x.std(axis=(1, 2), keepdims=True)
    hat = (x - x.mean(axis=(1, 2), keepdims=True)) * rstd
    slope = (hat - hat / (np.exp(-hat) + 1) + 1) / (np.exp(-hat) + 1) * dy
    axes = (0, 1, 2) if whole_batch else (1, 2)
    along, shift = (np.sum(terms, axis=axes, keepdims=True) for terms in (slope * hat, slope))
    return rstd * (slope - (hat * along + shift) / count)


def slope_by_x(x):
    """The derivative of sum(dy out) by x, from differences of the forward operator."""
    one, zero = np.ones(1), np.zeros(1)

    def loss(x):
        return float(np.sum(DY[:len(x)] * operator("group_norm_swish").forward(
            x=x, gamma=one, beta=zero, numGroups=1, eps=0.0)["y"]))
    return gradient(loss, x)


def swish_slope(y: float, s: float, scaled: bool) -> float:
    """T / (exp(-s y) + 1); `scaled` says whether T has its factor s."""
    e = np.exp(-s * y) + 1
    return ((y - y / e) * (s if scaled else 1) + 1) / e


def swish_difference(y: float, s: float) -> float:
    swish = lambda y: y / (1 + np.exp(-s * y))  # noqa: E731
    return float((swish(y + STEP) - swish(y - STEP)) / (2 * STEP))


phase_1 = partial(model.phase_1, "group_norm_swish")


def gns_run(cann: str = CANN, predict: bool = False, dtype=np.float32, **replaced) -> Run:
    """x-hat [-1, 1], gamma 1, beta 0, dy [1, 0]; the outputs hold 7 before the call."""
    given = {"dy": DY[:1], "mean": [[1]], "rstd": [[1]], "x": ONE, "gamma": [1], "beta": [0]}
    arrays = {name: np.asarray(value, dtype) for name, value in given.items()}
    outputs = {name: np.full(shape, 7, dtype) for name, shape in (
        ("dxOut", (1, 1, 2)), ("dgammaOut", 1), ("dbetaOut", 1))}
    return run("group_norm_swish", SOC, cann, predict, **arrays | outputs | {"numGroups": 1} | replaced)


def predicted(cann: str):
    """dbetaOut with s = 2, to the four digits that float32 and the rounding of exp leave in doubt nowhere."""
    return np.round(np.float64(gns_run(cann, True, swishScale=2.0).outputs["dbetaOut"]), 4)


def wide_group(channels: int) -> dict:
    """Shapes of one group with this many channels."""
    return {name: ((1, channels, 1),) for name in ("dy", "x", "dxOut")} | {
        name: ((channels,),) for name in ("gamma", "beta", "dgammaOut", "dbetaOut")} | {
        "mean": ((1, 1),), "rstd": ((1, 1),), "numGroups": 1}


ERRATA = (
    erratum(
        "group-norm-dx", "mathematics", "dx as printed lacks the factor 1/n",
        "dx = rstd (dYNew gamma - x-hat sum(gamma dGamma) - sum(gamma dBeta))", NEWEST,
        "Both sums need the factor 1/n with n = C/G HxW, the number of elements of a group; the kernel has it. As "
        "printed, dx does not even add up to 0 over a group.", f"the derivative of the forward pass; {KERNEL}",
        Lemma("group_norm_swish", "dx_needs_one_over_m", "as printed, without 1/M"),
        Lemma("group_norm_swish", "printed_dx_is_wrong", "wrong by nothing"),
        Lemma("group_norm_swish", "printed_dx_sums_to_a_remainder", "to zero"),
        Counterexample("x = [0, 2], dy = [1, 0], gamma = 1, beta = 0, eps = 0 (two elements always normalise to "
                       "-1 and 1, so dx is 0)", lambda: printed_dx(ONE, 1), lambda: printed_dx(ONE, 2),
                       lambda: slope_by_x(ONE), "difference of the forward pass")),
    erratum(
        "group-norm-batch-sums", "mathematics",
        "The outputs dGamma and dBeta are not the sums in dx",
        "The same dGamma and dBeta are outputs and stand in dx.", NEWEST,
        "The outputs are summed over the batch; dx needs the sums of its own sample and group.",
        f"the derivative of the forward pass; {KERNEL}",
        Lemma("group_norm_swish", "outputs_are_not_group_sums", "wrong by nothing"),
        Lemma("group_norm_swish", "dx_needs_one_over_m", "sums over the whole batch"),
        Counterexample("x = [0, 2] and [0, 4] in two samples, dy = [1, 0] and [0, 1]",
                       lambda: printed_dx(TWO, 2, whole_batch=True), lambda: printed_dx(TWO, 2),
                       lambda: slope_by_x(TWO), "difference of the forward pass")),
    erratum(
        "group-norm-swish-scale", "numerics",
        "Kernels before CANN 9.1.0 forget a factor swishScale",
        "T = s y - s y / (exp(-s y) + 1) + 1 with s = swishScale.", NEWEST,
        "Kernels of 8.1 to 9.1.0-beta.3 compute T without s, which is right for s = 1 alone. Exact all the same: call "
        "with s = 1, dy / s, s gamma, s beta, and multiply dgamma and dbeta by s.",
        f"{KERNEL}, tag by tag",
        Lemma("group_norm_swish", "missing_scale_in_t", "wrong by nothing"),
        Lemma("group_norm_swish", "workaround_for_missing_scale", "dgamma unchanged"),
        Counterexample("y = 1, s = 2", lambda: swish_slope(1.0, 2.0, False), lambda: swish_slope(1.0, 2.0, True),
                       lambda: swish_difference(1.0, 2.0), "difference of swish", 1e-6,
                       ("kernel before 9.1.0", "documented")),
        Observation("dbetaOut predicted for CANN 9.0, x-hat = -1, s = 2",
                    lambda: predicted("9.0"), np.round([swish_slope(-1.0, 2.0, True)], 4),
                    np.round([swish_slope(-1.0, 2.0, False)], 4)),
        Observation("the predictions for CANN 9.1 and 9.0 agree",
                    lambda: bool(np.allclose(predicted("9.1"), predicted("9.0"))), True, False)),
    erratum(
        "group-norm-limits", "contract",
        "No violated limit of shapes is reported: phase 1 returns 0",
        "Limits: C divisible by numGroups, C / numGroups up to 4000, gamma with C elements. The return values list "
        "161001 for null pointers and 161002 for data types, and nothing for these.", f"{DOCUMENT}; {EARLIER}",
        "The tiling makes the checks and discards their result: phase 1 succeeds with an empty plan, and the launch "
        "fails in phase 2.", TILING,
        phase_1("phase 1 with gamma of 5 elements for C = 4", "some refusal", 0, gamma=((5,),)),
        phase_1("phase 1 with numGroups = 3 for C = 4", "some refusal", 0, numGroups=3),
        phase_1("phase 1 with C / numGroups = 4001", "some refusal", 0, **wide_group(4001)),
        Observation("statuses of both phases with a gamma that is too long",
                    lambda: list(gns_run(gamma=np.ones(2, np.float32)).statuses), "refused by the first",
                    [0, 361001]),
        inferred="that phase 2 returns 361001: the runtime rejects the empty plan"),
    erratum(
        "group-norm-parameter-rank", "contract", "dgammaOut and dbetaOut are said to have two axes",
        "dgammaOut, dbetaOut: 2 dimensions; gamma has the data type and the dimensions of dy.",
        f"{EARLIER}, table of parameters; {NEWEST}, the same",
        "They have one axis of C elements, as gamma; the library does not look at the shapes of outputs.", TILING,
        Contradiction(("dgammaOut: 2 axes", f"{EARLIER}, column of shapes"),
                      ("dgammaOut: the shape of gamma, which has 1 axis", f"{EARLIER}, column of use")),
        Observation("axes of dgammaOut", lambda: operator("group_norm_swish").backward(
           dy=DY[:1], mean=np.ones((1, 1)), rstd=np.ones((1, 1)), x=ONE, gamma=np.ones(1), beta=np.zeros(1),
           numGroups=1)["dgammaOut"].ndim, 2, 1),
        phase_1("phase 1 with dgammaOut of 99 elements", "refused", 0, dgammaOut=((99,),))),
    erratum(
        "group-norm-data-format", "contract", "dataFormatOptional is never read",
        "dataFormatOptional: the data format, NCHW suggested.", DOCUMENT,
        "The attribute is ignored, and axis 1 is always C: NHWC gives the numbers of NCHW.", TILING,
        phase_1("phase 1 with 'no format'", "refused", 0, dataFormatOptional="no format"),
        Observation("dxOut for NHWC is that for NCHW",
                    lambda: np.array_equal(*(gns_run(dataFormatOptional=name).outputs["dxOut"]
                                             for name in ("NHWC", "NCHW"))), False, True)),
    erratum(
        "group-norm-flags", "contract",
        "An output that is not required must be given, and may be written",
        "dgammaIsRequire, dbetaIsRequire: whether dgamma and dbeta are to be output.", DOCUMENT,
        "Null is refused all the same; float32 outputs are filled with zeros, 16-bit ones are left as they are.",
        f"{KERNEL}; src/nnopbase/individual_op/api/individual_op_api.cpp of nnopbase",
        phase_1("phase 1 with dgammaIsRequire = false and a null dgammaOut", "not required", 161001,
                dgammaIsRequire=False, dgammaOut=None),
        Observation("dgammaOut that is not required, float32, 7 before",
                    lambda: gns_run(dgammaIsRequire=False).outputs["dgammaOut"], [7.0], [0.0]),
        Observation("dgammaOut that is not required, float16, 7 before",
                    lambda: gns_run(dgammaIsRequire=False, dtype=np.float16).outputs["dgammaOut"],
                    "as in float32: [0]", [7.0])),
    erratum(
        "group-norm-dtypes", "contract",
        "gamma is allowed a data type of its own, and refused with it",
        "gamma: FLOAT32, FLOAT16, BFLOAT16; mean, rstd and beta have the type of gamma.", DOCUMENT,
        "Later documents ask for dy's data type everywhere, and so does the tiling.", f"{EARLIER}; {TILING}",
        Contradiction(("gamma: FLOAT32, FLOAT16, BFLOAT16; mean has the type of gamma", DOCUMENT),
                      ("161002: mean, rstd, x, gamma or beta has another data type than dy", EARLIER)),
        phase_1("phase 1 with dy, x and dxOut in FLOAT16 and the others in FLOAT", 0, 161002,
                **{name: ((2, 4, 3), ACL_FLOAT16) for name in ("dy", "x", "dxOut")}),
        inferred="that the lookup of the kernel refuses the mixture before the tiling does"),
    erratum(
        "group-norm-names", "contract", "The document speaks of a gradOut that does not exist",
        "numGroups divides the C of the input gradOut; cross references read 'undefined'.", DOCUMENT,
        "The gradient is called dy.", HEADER,
        Contradiction(("numGroups divides the C of the input gradOut", DOCUMENT), ("const aclTensor *dy", HEADER)),
        Observation("first parameter", lambda: operator("group_norm_swish").parameters[0].name, "gradOut", "dy")),
    erratum(
        "group-norm-output-names", "contract", "dgammaOut and dbetaOut are explained as statistics",
        "dgammaOut is the meanOut of the formula, dbetaOut its rstdOut.", EARLIER,
        "They are the gradients of gamma and beta; the document of that version prints no formula at all.",
        f"{DOCUMENT}; {NEWEST}",
        Contradiction(("dgammaOut: the meanOut of the formula; dbetaOut: the rstdOut", EARLIER),
                      ("dgammaOut: the gradient of gamma; dbetaOut: of beta", DOCUMENT))),
    erratum(
        "group-norm-dy-count", "contract",
        "A version forbids the number of elements that dy must have",
        "The number of elements of dy is not equal to N * C * HxW.", f"{FILE}, commit 41ec22c",
        "It is equal, as the other version says.", EARLIER,
        Contradiction(("the number of elements of dy is not equal to N * C * HxW", f"{FILE}, commit 41ec22c"),
                      ("the number of elements of dy is equal to N * C * HxW", EARLIER))),
    erratum(
        "group-norm-sample-statistics", "numerics",
        "mean and rstd of the sample do not belong to its x",
        "mean and rstd are what the forward operator saved; the sample passes {2, 2} for both, with x from 1 to 24.",
        f"{EARLIER}, sample program",
        "The two groups have the means 6.5 and 18.5 and, with eps 0, the rstd 0.2897: what the sample prints is no "
        "gradient of the forward operator.", "the definition of mean and rstd, recomputed; the operator takes any",
        Computation("means of the groups", lambda: SAMPLE.mean(axis=1), [2.0, 2.0], [6.5, 18.5]),
        Computation("rstd of the groups with eps 0", lambda: 1 / SAMPLE.std(axis=1), [2.0, 2.0],
                    [0.289683, 0.289683])),
)
