"""Grid sampler 3D: images (N, C, D, H, W) at points (x, y, z) of a grid (N, D_out, H_out, W_out, 3).

x runs along W, y along H, z along D. Each axis is treated as an axis of the 2D sampler is; there is no bicubic mode.
"""

from .grid_sampler_2d import backward, forward, terms  # noqa: F401
