"""Refuse the grids on which PyTorch's grid samplers may crash the process, before a gradient is compared with theirs."""

from aclnn_viz.errors import NotSupported, problem

ZEROS = 0
SOURCE = "ATen native/GridSampler.h: every step in scalar_t"


def need_places(torch, grid, paddingMode) -> None:
    """Refuse a nan coordinate with padding on a CPU: PyTorch casts it to an index, reads there and crashes."""
    if paddingMode != ZEROS and grid.device.type == "cpu" and not bool(torch.isfinite(grid).all()):
        raise NotSupported(
            problem(
                "PyTorch's border and reflection padding take finite coordinates",
                "nan or inf in grid, where it may end the process",
                "use padding by zeros",
            )
        )
