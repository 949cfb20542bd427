"""Wrong kernels of the hardswish gradient."""

import numpy as np

from aclnn_viz.arrays.plan import Plan
from aclnn_viz.operators.faults.fault import STRIDES, TRUNCATED, Fault

LINE = "    inside = x / 3.0 + 0.5"
CHOICE = "xp.where(x < -3.0, xp.zeros_like(x), xp.where(x <= 3.0, inside, xp.ones_like(x)))"
FAR = ("all |x| < 1", {"self": 0.75})


def line(text):
    return ((LINE, f"    inside = {text}"),)


FAULTS = (
    Fault("both kinks open", "taken from aclnnHardswishBackwardV2 or a newer PyTorch, whose interval is open",
          "x = -3 and x = 3", {"x < -3.0": "x <= -3.0", "x <= 3.0": "x < 3.0"}, hidden=FAR),
    Fault("lower kink open", "x <= -3 instead of x < -3", "x = -3", {"x < -3.0": "x <= -3.0"}, hidden=FAR),
    Fault("upper kink open", "x < 3 instead of x <= 3", "x = 3", {"x <= 3.0": "x < 3.0"}, hidden=FAR),
    Fault("slope 1/6 in the middle", "only one factor of the product is differentiated: that of hard sigmoid",
          "-3 < x < 3", line("x / 6.0 + 0.5")),
    Fault("half forgotten", "the 3 / 6 of the product rule is dropped", "-3 < x < 3", line("x / 3.0")),
    Fault("only the clip differentiated", "x times the derivative of the clip, the other term is dropped", "-3 < x < 3",
          line("x / 6.0")),
    Fault("forward in place of the gradient", "the forward kernel is copied and the middle line left", "-3 < x < 3",
          line("x * (x + 3.0) / 6.0")),
    Fault("relu6 in the middle", "the gradient of another activation: 1 between the kinks", "-3 < x < 3",
          line("xp.ones_like(x)")),
    Fault("right side cut", "everything outside of the middle is taken for saturated", "x > 3",
          {"xp.ones_like(x)))": "xp.zeros_like(x)))"}, hidden=FAR),
    Fault("left side passed", "everything outside of the middle is taken for linear", "x < -3",
          {"xp.zeros_like(x), xp.where(x <=": "xp.ones_like(x), xp.where(x <="}, hidden=FAR),
    Fault("upper kink at 6", "the 6 of the clip is used as a bound of x", "3 < x <= 6", {"x <= 3.0": "x <= 6.0"},
          hidden=FAR),
    Fault("lower kink at 0", "the kernel starts from relu", "-3 < x < 0", {"x < -3.0": "x < 0.0"}),
    Fault("gradOutput forgotten", "the slope is returned as the gradient", "gradOutput that is not 1",
          {"gradOutput * slope": "slope"}, hidden=("gradOutput is 1", {"gradOutput": 1.0})),
    Fault("inputs swapped", "the two tensors are passed in the wrong order", "gradOutput that is not self",
          {"gradOutput * slope(xp, self)": "self * slope(xp, gradOutput)"}),
    Fault("sign flipped", "the gradient is subtracted once too often", "any gradOutput",
          {"gradOutput * slope": "-gradOutput * slope"}),
    Fault("a third with three digits", "1/3 typed as 0.333", "-3 < x < 3, float32", line("x * 0.333 + 0.5")),
    Fault("infinity times a zero mask", "branches are chosen by multiplying with masks: inf * 0 is nan", "x = +-inf",
          {CHOICE: "inside * xp.astype((x >= -3.0) & (x <= 3.0), x.dtype) + xp.astype(x > 3.0, x.dtype)"},
          hidden=FAR),
    Fault("computed in 16 bits", "16-bit inputs are not widened: near x = -1.5 the slope has no digits left",
          "16-bit inputs", plan=Plan("16 bits", compute="storage"), hidden=("the format is float32", {})),
    STRIDES, TRUNCATED,
)


def regions(values, output, shape):
    x = values["self"].astype(np.float64)
    return {"x < -3": x < -3, "x = -3": x == -3, "-3 < x < 3": np.abs(x) < 3, "x = 3": x == 3, "x > 3": x > 3}


# What usual tests feed.
USUAL_SHAPE = (8, 16)


def random_options(rng):
    return {"self": rng.standard_normal(USUAL_SHAPE).astype(np.float32)}

#: One of each kind: a wrong formula, one that is slightly wrong, and one that is seldom seen.
KINDS = {"formula": "half forgotten", "slight": "a third with three digits",
         "seldom": "both kinks open"}
