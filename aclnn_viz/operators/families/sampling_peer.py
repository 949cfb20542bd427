"""Call PyTorch's grid samplers; refuse the grids on which they may crash the process, before a gradient is compared."""

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


def of_aten(name: str):
    """Return an `in_torch` that calls the sampler of ATen with this name."""

    def in_torch(
        torch, gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask
    ):
        need_places(torch, grid, paddingMode)
        return getattr(torch.ops.aten, name)(
            gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, list(outputMask)
        )

    return in_torch
