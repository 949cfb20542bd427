"""Refuse images without a pixel, which no grid sampler takes."""

from aclnn_viz.errors import problem


def has_pixels(bound: dict) -> None:
    if 0 in bound["input"].shape[2:]:
        raise ValueError(
            problem(
                "input must have at least one pixel",
                f"shape {bound['input'].shape}",
                "give it H, W >= 1",
            )
        )
