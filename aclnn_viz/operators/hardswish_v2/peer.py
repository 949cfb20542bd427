"""PyTorch's gradient of hardswish, second version, to compare ours with: hardswish_backward of ATen, which has that version's
slopes at -3 and 3.
"""

ATEN = "hardswish_backward(gradOutput, self)"
