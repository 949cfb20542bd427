"""Backward of hardtanh in PyTorch: one function of ATen."""

ATEN = "hardtanh_backward(gradOutput, self, min, max)"

DUMPED = {"hardtanh": "input: self, min_val: min, max_val: max, inplace"}
