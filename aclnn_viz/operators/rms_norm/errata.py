"""Errata of aclnnRmsNormGrad."""

from functools import partial

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.operators.codes import ACL_FLOAT, ACL_FORMAT_NCDHW, ACL_FORMAT_ND
from aclnn_viz.operators.products import ASCEND_950, INFERENCE, TRAINING
from aclnn_viz.verification.contract import Bench, run
from aclnn_viz.verification.errata import model
from aclnn_viz.verification.errata.model import (
    Computation, Contradiction, Counterexample, Lemma, Observation, erratum, gradient,
)

DOCUMENT = "aclnnRmsNormGrad, CANN documentation of 8.x"
NEWEST = "ops-nn norm/rms_norm_grad/docs/aclnnRmsNormGrad.md, commit e5c3fa9"
TILING = "ops-nn norm/rms_norm_grad/op_host/rms_norm_grad_tiling.cpp"
GENERATED = "src/nnopbase/individual_op/executor/indv_executor_tensor.cpp of nnopbase"
X, DY, RSTD = np.array([[1.0], [2.0]]), np.array([[3.0], [5.0]]), np.array([[1.0], [0.5]])


def printed_dgamma():
    """dg_i = r x_i dy_i, as printed: one number for each row."""
    return [row[0] for row in RSTD * X * DY]


def summed_dgamma():
    return (RSTD * X * DY).sum(axis=0)


def slope_by_gamma():
    return gradient(lambda gamma: float(np.sum(DY * X * RSTD * gamma)), np.ones(1))


def shapes(x, rstd, gamma) -> dict:
    return {"dy": (x,), "x": (x,), "rstd": (rstd,), "gamma": (gamma,), "dxOut": (x,), "dgammaOut": (gamma,)}


USUAL = shapes((2, 64), (2,), (64,))
phase_1 = partial(model.phase_1, "rms_norm", **USUAL)


def documented_ranks(first: int, last: int):
    """The ranks of x for which the printed rules leave rstd = x[0:n] and gamma = x[n:] with 1 to 8 axes each."""
    return [rank for rank in range(first, last + 1)
            if any(1 <= n <= 8 and 1 <= rank - n <= 8 for n in range(rank))]


def no_rows_on_950():
    """dgammaOut for x of shape (0, 2)."""
    rows, one = np.zeros((0, 2), np.float32), np.zeros(2, np.float32)
    given = {"dy": rows, "x": rows, "rstd": np.zeros(0, np.float32), "gamma": one, "dxOut": rows, "dgammaOut": one}
    return run("rms_norm", ASCEND_950, **given).outputs["dgammaOut"]


def through_strides():
    """dgammaOut for x and dy of shape (1, 2) seen through strides of 2, and rstd and gamma of ones."""
    def every_second(*values):
        return np.repeat(np.float32([values]), 2, axis=1)[:, ::2]

    ones = np.ones(2, np.float32)
    return run("rms_norm", dy=every_second(3, 5), x=every_second(1, 2), rstd=ones[:1], gamma=ones,
               dxOut=np.zeros((1, 2), np.float32), dgammaOut=0 * ones).outputs["dgammaOut"]


def on_the_host():
    """The statuses of both phases and of synchronise when x lies in host memory."""
    bench, x = Bench("rms_norm"), np.ones((2, 64), np.float32)
    there = bench.acl.aclCreateTensor([2, 64], ACL_FLOAT, None, 0, ACL_FORMAT_ND, [2, 64], x.ctypes.data)
    return list(bench.run(USUAL | {"x": there}).statuses)


ERRATA = (
    erratum(
        "rms-norm-dgamma", "mathematics", "dgamma as printed lacks the sum over rows",
        "dg_i = r x_i dy_i", NEWEST,
        "gamma serves every row, so dg_i is the sum of r x_i dy_i over the rows; the kernels add them up.",
        "the derivative of the forward pass; "
        "ops-nn norm/rms_norm_grad/op_kernel/rms_norm_grad_split_n_high_precision.h",
        Lemma("rms_norm", "dgamma_sums_over_rows", "rstd squared"),
        Lemma("rms_norm", "printed_dgamma_misses_rows", "difference has the other sign"),
        Counterexample("x = [1, 2] in two rows of one column, dy = [3, 5], rstd = [1, 1/2], gamma = 1", printed_dgamma,
                       summed_dgamma, slope_by_gamma, "difference of the forward pass"),
        Observation("op.backward", lambda: operator("rms_norm").backward(
            dy=DY, x=X, rstd=RSTD[:, 0], gamma=np.ones(1))["dgammaOut"], printed_dgamma(), summed_dgamma())),
    erratum(
        "rms-norm-910", "contract", "Atlas training series is called unsupported and is registered",
        "Atlas training series: not supported.", NEWEST,
        "The registry holds FLOAT and FLOAT16 for Ascend910, and the tiling has a rule of its own for it: gamma must "
        "have a multiple of 64 elements.", f"{TILING}; operator registry of CANN 8.1",
        phase_1("phase 1 on Ascend910A, 64 columns", "unsupported", 0, TRAINING),
        phase_1("phase 1 on Ascend910A, 63 columns", "unsupported", 561002, TRAINING, **shapes((2, 63), (2,), (63,)))),
    erratum(
        "rms-norm-ranks-exclude-themselves", "contract", "The printed shape ranges exclude themselves",
        "dy, x, rstd and gamma have 1 to 8 axes each; rstd_shape = x_shape[0:n] and gamma_shape = x_shape[n:] with "
        "n < x.dims.", DOCUMENT,
        "With one axis of x, n is 0 and rstd has none, against its own range; and neither rstd nor gamma can ever have "
        "8 of 8 axes. rstd with trailing axes of 1, as the vendor's own tests pass it, fits no printed rule.",
        "arithmetic on the printed ranges",
        Computation("ranks of x that satisfy all printed rules", lambda: documented_ranks(1, 8),
                    list(range(1, 9)), list(range(2, 9))),
        phase_1("phase 1 with rstd (2, 1) for x (2, 64)", 561002, 0, **shapes((2, 64), (2, 1), (64,)))),
    erratum(
        "rms-norm-one-axis", "contract", "Two documents disagree about one axis; the library takes it",
        "The newest document: dy and x have 2 to 8 axes; the older one: 1 to 8.", f"{NEWEST}; {DOCUMENT}",
        "The tiling takes 1 to 8; for one axis rstd is [1].", TILING,
        Contradiction(("dy, x: 2 to 8 axes", NEWEST), ("dy, x: 1 to 8 axes", DOCUMENT)),
        phase_1("phase 1 with x (64,), rstd (1,), gamma (64,)", 561002, 0, **shapes((64,), (1,), (64,)))),
    erratum(
        "rms-norm-empty", "contract", "Empty tensors: unsupported, supported, refused or nan",
        "The older document: empty tensors are not supported; the newest: they are.", f"{DOCUMENT}; {NEWEST}",
        "An empty last axis succeeds and computes nothing. No rows is a tiling error, but on Ascend 950, which fills "
        "dgamma with nan where the empty sum is 0.",
        f"{TILING}; ops-nn norm/rms_norm_grad/op_kernel/arch35/rms_norm_grad_empty_dgamma.h",
        Contradiction(("empty tensors are not supported", DOCUMENT), ("empty tensors are supported", NEWEST)),
        phase_1("phase 1 with x (2, 0) (older document: unsupported)", 561002, 0, **shapes((2, 0), (2,), (0,))),
        phase_1("phase 1 with x (0, 64) (newest document: supported)", 0, 561002, **shapes((0, 64), (0,), (64,))),
        Observation("dgammaOut on Ascend 950 for x (0, 2)", no_rows_on_950, [0.0, 0.0], [np.nan, np.nan]),
        inferred="that an empty last axis never reaches the tiling"),
    erratum(
        "rms-norm-310p-tail", "contract", "The 32 bytes of the last axis on 310P are not checked",
        "Atlas inference series: the last axis of x, dy and gamma must hold at least 32 bytes (561002 for parameters "
        "that do not meet their description).", DOCUMENT,
        "No check looks at it; the kernel copies blocks of 32 bytes.", TILING,
        phase_1("phase 1 on Ascend310P3 with a last axis of 16 bytes", 561002, 0, INFERENCE, **shapes((2, 4), (2,), (4,)))),
    erratum(
        "rms-norm-strided", "contract", "Strided inputs are called unsupported and are made contiguous",
        "Non-contiguous inputs are not supported.", DOCUMENT,
        "Inputs of generated operators are copied densely first; the newest document says so.",
        f"{GENERATED}; {NEWEST}",
        Contradiction(("non-contiguous tensors are not supported", DOCUMENT), ("non-contiguous tensors: yes", NEWEST)),
        Observation("dgammaOut of x = [1, 2], dy = [3, 5] through strides of 2", through_strides, "unsupported",
                    [3.0, 10.0])),
    erratum(
        "rms-norm-host-side", "contract", "Tensors are said to be on the host",
        "x, rstd, gamma and dxOut: aclTensor on the host side.", DOCUMENT,
        "All tensors must lie on the device; the newest document says so. A host address fails when the kernel runs.",
        NEWEST,
        Contradiction(("rstd: aclTensor on the host side", DOCUMENT), ("all tensors: on the device side", NEWEST)),
        Observation("statuses of phase 1, phase 2 and synchronise with x on the host", on_the_host, [0, 0, 0],
                    [0, 0, 507015]),
        inferred="the status 507015 of a kernel that reads a host address"),
    erratum(
        "rms-norm-sample-format", "contract", "The sample creates all tensors as NCDHW",
        "Data format: ND; the sample passes ACL_FORMAT_NCDHW for tensors with one and three axes.",
        f"{DOCUMENT}, parameters and sample program",
        "The generated layer takes NCDHW for ND; NDHWC (27) it refuses.",
        "src/nnopbase/individual_op/api/individual_op_api.cpp of nnopbase",
        Contradiction(("data format: ND", f"{DOCUMENT}, parameters"),
                      ("aclFormat::ACL_FORMAT_NCDHW", f"{DOCUMENT}, sample program; {NEWEST}, sample program")),
        phase_1("phase 1 with x in NCDHW", "ND only", 0, x=((2, 64), ACL_FLOAT, ACL_FORMAT_NCDHW)),
        phase_1("phase 1 with x in NDHWC", "ND only", 161002, x=((2, 64), ACL_FLOAT, 27))),
    erratum(
        "rms-norm-sample-shape", "contract",
        "The rstd of the sample has another shape than the printed rule",
        "rstd_shape = x_shape[0:n], gamma_shape = x_shape[n:].", f"{DOCUMENT}; {NEWEST}",
        "By that rule the sample's rstd for x (2, 1, 16) and gamma (16,) is (2, 1); it passes (2,), and the tiling "
        "takes that: axes that rstd lacks must be 1, and the number of elements must be that of the rows.", TILING,
        Contradiction(("rstd_shape = x_shape[0:n]", f"{NEWEST}, parameters"),
                      ("xInputShape = {2, 1, 16}; rstdInputShape = {2}", f"{NEWEST}, sample program")),
        phase_1("phase 1 with x (2, 1, 16), rstd (2,), gamma (16,)", 561002, 0, **shapes((2, 1, 16), (2,), (16,)))),
    erratum(
        "rms-norm-sample-rstd", "numerics", "The rstd of the sample does not belong to its x",
        "rstd is what the forward operator saved; the sample passes {1, 2} for rows 1 to 16 and 17 to 32.",
        f"{DOCUMENT}, sample program; {NEWEST}, sample program",
        "With epsilon 0 these rows have the rstd 0.1034 and 0.0401, with any other less: what the sample prints is no "
        "gradient of the forward operator.", "the definition of rstd, recomputed; the operator takes any rstd",
        Computation("rstd of the two rows with epsilon 0",
                    lambda: 1 / np.sqrt(np.mean(np.arange(1.0, 33.0).reshape(2, 16) ** 2, axis=1)), [1.0, 2.0],
                    [0.103418, 0.0401125])),
)
