"""Declare grid samplers, of planes and of volumes, and refuse images without a pixel, which none of them takes."""

from aclnn_viz.errors import invalid
from aclnn_viz.operators.operator import Attribute, Operator, Tensor, declared


def has_pixels(bound: dict) -> None:
    if 0 in bound["input"].shape[2:]:
        raise invalid(
            "input must have at least one pixel",
            f"shape {bound['input'].shape}",
            "give it H, W >= 1",
        )


def sampler(page, prototype, axes, modes, point, layouts, **fields) -> Operator:
    """Return the declaration of the sampler of an image with these `axes`, in the order of its shape.

    `modes` are the interpolations, `layouts` those of the image and of grid. `point` says what a point of grid holds.
    """
    of_image, of_grid = layouts
    points = f"({' '.join(f'{axis}out' for axis in axes.split())})"
    grid = f"N {points} {len(axes.split())}"
    return declared(
        page,
        prototype,
        library="ops-cv",
        tensors={
            "input": Tensor(f"N C {axes}", layout=of_image),
            "grid": Tensor(grid, why=f"N of {{like}}, any points, and {point}", layout=of_grid),
            "gradOutput": Tensor(
                f"N C {points}", why="N and C of {like} and the points of grid", layout=of_image
            ),
            "out": Tensor(f"N C {points}"),
            "inputGrad": Tensor(f"N C {axes}", asked="outputMask[0]", layout=of_image),
            "gridGrad": Tensor(grid, asked="outputMask[1]", layout=of_grid),
        },
        attributes={
            "interpolationMode": Attribute("int64_t", 0, values=modes),
            "paddingMode": Attribute(
                "int64_t", 0, values={0: "zeros", 1: "border", 2: "reflection"}
            ),
            "alignCorners": Attribute("bool", False, tries=(True,)),
            "outputMask": Attribute("const aclBoolArray *", (True, True), length=2),
        },
        takes=("input", "grid", "interpolationMode", "paddingMode", "alignCorners"),
        gives=("out",),
        upstream={"gradOutput": "out"},
        gradient_of={"inputGrad": "input", "gridGrad": "grid"},
        like="input",
        rules=(has_pixels,),
        forward_rules=(has_pixels,),
        **fields,
    )
