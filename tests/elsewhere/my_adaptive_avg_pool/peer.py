"""One function of ATen, which adds up in 16 bits."""

from aclnn_viz.operators.peers import narrow

NAME, SOURCE = "every step is rounded to 16 bits", "ATen native/cpu/AdaptiveAvgPoolKernel.cpp"
DIFFERENCES = {"torch": (narrow(NAME, SOURCE, "adaptive average pooling in 16 bits"),)}
ATEN = "_adaptive_avg_pool2d_backward(gradOutput, self)"
