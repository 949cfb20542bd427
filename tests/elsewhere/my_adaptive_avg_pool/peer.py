"""One function of ATen, which adds up in 16 bits."""

from aclnn_viz.operators.peers import NARROW, Difference, narrow_steps

NAME, SOURCE = "every step is rounded to 16 bits", "ATen native/cpu/AdaptiveAvgPoolKernel.cpp"
PLAN = narrow_steps("adaptive average pooling in 16 bits")
DIFFERENCES = {"torch": (Difference(NAME, SOURCE, PLAN, dtypes=NARROW),)}


def in_torch(torch, gradOutput, self):
    return {"out": torch.ops.aten._adaptive_avg_pool2d_backward(gradOutput, self)}
