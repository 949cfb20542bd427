"""What PyTorch calls an operator: one file an operator, that takes `torch` and tensors and returns its own results."""
