"""Backward of threshold in PyTorch: one function of ATen."""

ATEN = "threshold_backward(gradOutput, self, threshold)"
