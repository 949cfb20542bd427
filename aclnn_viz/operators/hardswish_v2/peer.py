"""Backward of hardswish in PyTorch: one function of ATen, which has the slopes of the second version at -3 and 3."""

ATEN = "hardswish_backward(gradOutput, self)"
