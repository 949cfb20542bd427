"""PyTorch's gradient of hardtanh, to compare ours with: hardtanh_backward of ATen."""

ATEN = "hardtanh_backward(gradOutput, self, min, max)"

DUMPED = {"hardtanh": "input: self, min_val: min, max_val: max, inplace"}
