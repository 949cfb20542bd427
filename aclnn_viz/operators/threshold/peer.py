"""PyTorch's gradient of threshold, to compare ours with: threshold_backward of ATen."""

ATEN = "threshold_backward(gradOutput, self, threshold)"
