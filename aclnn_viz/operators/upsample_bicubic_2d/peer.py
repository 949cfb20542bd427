"""PyTorch's gradient of bicubic interpolation, to compare ours with: one function of ATen, called as PyTorch's interpolate
does.
"""

from aclnn_viz.operators.families.resampling_peer import REFUSED, arrangements, interpolation
from aclnn_viz.operators.upsample_bicubic_2d import page

ARRANGEMENTS = arrangements(page)
in_torch = interpolation("upsample_bicubic2d_backward")
