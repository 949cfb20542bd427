"""Errata of aclnnHardswishBackward."""

from functools import partial

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.operators.codes import ACL_FLOAT, ACL_FORMAT_NHWC
from aclnn_viz.operators.products import ASCEND_950, INFERENCE, INFERENCE_A2, SOC
from aclnn_viz.verification.contract import run
from aclnn_viz.verification.errata import model
from aclnn_viz.verification.errata.model import Contradiction, Counterexample, Lemma, Observation, erratum, one_sided

DOCUMENT = "ops-nn activation/hard_swish_grad/docs/aclnnHardswishBackward.md, commit e5c3fa9"
VERSION_2 = "ops-nn activation/hard_swish_grad_v2/docs/aclnnHardswishBackwardV2.md, commit e5c3fa9"
HEADER = "aclnn_hardswish_backward.h of CANN 8.1"
CODE = "ops-nn activation/hard_swish_grad/op_host/op_api/aclnn_hardswish_backward.cpp"
KINKS = np.array([-3.0, 3.0])

phase_1 = partial(model.phase_1, "hardswish")


def first_version(x):
    """0 below -3, x/3 + 1/2 on [-3, 3], 1 above."""
    return np.where(x < -3, 0, np.where(x <= 3, x / 3 + 0.5, 1))


def second_version(x):
    """0 up to -3, x/3 + 1/2 in (-3, 3), 1 from 3 on."""
    return np.where(x <= -3, 0, np.where(x < 3, x / 3 + 0.5, 1))


def from_outside():
    forward = lambda x: float(operator("hardswish").forward(self=np.array([x]))["out"][0])  # noqa: E731
    return [one_sided(forward, -3.0, -1), one_sided(forward, 3.0, 1)]


def kernel_at_kinks():
    return operator("hardswish").backward(gradOutput=np.ones(2), self=KINKS)["out"]


def of_nan(dtype, soc):
    """out for self = nan and gradOutput = 5."""
    given = {"gradOutput": np.full(1, 5, dtype), "self": np.full(1, np.nan, dtype), "out": np.zeros(1, dtype)}
    return run("hardswish", soc, predict=True, **given).outputs["out"]


ERRATA = (
    erratum(
        "hardswish-kinks", "mathematics", "Two published versions disagree at -3 and 3",
        "The first version gives x/3 + 0.5 for -3 <= x <= 3, so -0.5 and 1.5 at the ends; the second version gives 0 "
        "for x <= -3 and 1 for x >= 3.",
        f"{DOCUMENT}; {VERSION_2}",
        "There is no derivative at a kink: the first returns the one from inside, the second the one from outside. "
        "float16 represents -3 and 3, so both occur. PyTorch up to 2.6 closes the interval.",
        "the forward pass; ops-nn activation/hard_swish_grad_v2/tests/assets/golden.py; pytorch issue 147801",
        Contradiction(("self/3 + 0.5 for -3 <= self <= 3", DOCUMENT),
                      ("0 for self <= -3, 1 for self >= 3", VERSION_2)),
        Lemma("hardswish", "kink_at_minus_three", "it returns 0"), Lemma("hardswish", "kink_at_three", "it returns 1"),
        Lemma("hardswish", "open_interval_returns_outer_derivatives", "closed interval"),
        Counterexample("self = [-3, 3], gradOutput = 1", lambda: first_version(KINKS), lambda: second_version(KINKS),
                       from_outside, "difference from outside", 1e-4, ("first version", "second version")),
        Observation("op.backward at [-3, 3]", kernel_at_kinks, [0.0, 1.0],
                    [-0.5, 1.5])),
    erratum(
        "hardswish-950-comment", "mathematics",
        "The comment of the Ascend 950 kernel has the open interval",
        "0 if x <= -3, (2x + 3) / 6, 1 if x >= 3",
        "ops-nn activation/hard_swish_grad/op_kernel/arch35/hard_swish_grad.h, comment",
        "The code below it selects 0 for x < -3 and 1 for x > 3: the closed interval of the first version.",
        "ops-nn activation/hard_swish_grad/op_kernel/arch35/hard_swish_grad.h, code",
        Lemma("hardswish", "comment_form_of_the_middle", "(2x + 1) / 6"),
        Observation("emulated Ascend 950 at [-3, 3]",
                    lambda: run("hardswish", ASCEND_950, predict=True, gradOutput=np.ones(2, np.float32),
                                self=np.float32(KINKS), out=np.zeros(2, np.float32)).outputs["out"],
                    second_version(KINKS), [-0.5, 1.5])),
    erratum(
        "hardswish-nan", "numerics", "No documented case covers nan, and the devices give three answers",
        "Three cases: self < -3, -3 <= self <= 3, self > 3.", DOCUMENT,
        "nan in self: the TBE kernel writes 1 in float32 and bfloat16 whatever gradOutput is, and nan in float16; the "
        "Ascend 950 kernel takes the slope 1 and returns gradOutput.",
        "hard_swish_grad.py among the TBE kernels of CANN 8.1; "
        "ops-nn activation/hard_swish_grad/op_kernel/arch35/hard_swish_grad.h",
        *(Observation(f"{soc}, {np.dtype(dtype).name}, self = nan, gradOutput = 5",
                          lambda dtype=dtype, soc=soc: of_nan(dtype, soc), "no case", [found])
              for dtype, soc, found in ((np.float32, SOC, 1.0), (np.float16, SOC, np.nan),
                                        (np.float32, ASCEND_950.example_soc, 5.0))),
        inferred="that the TBE kernel is unchanged after CANN 8.1"),
    erratum(
        "hardswish-null-out", "contract", "A null out is refused, too",
        "161001: gradOutput or self is a null pointer.", DOCUMENT,
        "out is checked as well, with the same status.", CODE,
        phase_1("phase 1 with out = nullptr", "no status named", 161001, out=None)),
    erratum(
        "hardswish-310b", "contract", "Atlas 200I/500 A2 is called unsupported and has a kernel",
        "Atlas 200I/500 A2 inference is not supported.", DOCUMENT,
        "The list of data types knows architectures only and takes FLOAT; the registry holds a kernel for Ascend310B.",
        f"{CODE}; operator registry of CANN 8.1",
        phase_1("phase 1 on Ascend310B1, FLOAT", "unsupported", 0, INFERENCE_A2)),
    erratum(
        "hardswish-310p", "contract", "310P is refused by another status than the document has for it",
        "Atlas inference series is not supported; 161002 for data types that are not.", DOCUMENT,
        "The check takes FLOAT on this architecture, the registry holds no kernel for it, and the launch of none fails "
        "inside the API.", f"{CODE}; operator registry of CANN 8.1",
        phase_1("phase 1 on Ascend310P3, FLOAT", 161002, 561103, INFERENCE),
        inferred="561103 for a kernel that cannot be launched", emulated_only=True),
    erratum(
        "hardswish-format", "contract", "The data format is documented and never checked",
        "Data format: ND.", DOCUMENT, "Any format is taken, NHWC for two axes, too.", CODE,
        phase_1("phase 1 with self in format NHWC", "ND only", 0, self=((6, 7), ACL_FLOAT, ACL_FORMAT_NHWC))),
    erratum(
        "hardswish-names", "contract", "The document speaks of a gradInput that does not exist",
        "self is the forward input of softplus; the output has the shape of gradInput.", DOCUMENT,
        "The parameters are gradOutput, self and out, and the forward operator is hardswish.",
        HEADER,
        Contradiction(("out: the shape is that of gradInput", DOCUMENT), ("gradOutput, self, out", HEADER)),
        Observation("parameters of op.backward and outputs",
                    lambda: ", ".join([p.name for p in operator("hardswish").parameters]
                                      + list(operator("hardswish").outputs)),
                    "gradInput", "gradOutput, self, out")),
)
