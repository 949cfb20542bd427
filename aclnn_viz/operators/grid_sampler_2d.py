"""aclnnGridSampler2DBackward: input (N, C, H, W), grid (N, Hout, Wout, 2), gradOutput (N, C, Hout, Wout)."""

from aclnn_viz.arrays.driver import Result
from aclnn_viz.errors import problem
from aclnn_viz.kernels import grid_sampler_2d as page
from aclnn_viz.operators.operator import Arranged, Operator
from aclnn_viz.operators.parameters import Parameter
from aclnn_viz.operators.shapes import compute_type, need_dtype, need_float, need_option, need_rank, need_shape

MODES = (Parameter("interpolationMode", "int", 0), Parameter("paddingMode", "int", 0),
         Parameter("alignCorners", "bool", False))


def _checked(input, grid, modes):
    need_rank("input", input, 4, 4)
    need_rank("grid", grid, 4, 4)
    fmt = need_float("input", input)
    need_dtype("grid", grid, [fmt], "that of input")
    if 0 in input.shape[2:]:
        raise ValueError(problem("input must have at least one pixel", f"shape {input.shape}", "give it H, W >= 1"))
    need_shape("grid", grid, (input.shape[0], *grid.shape[1:3], 2), "N of input, any points, and (x, y)")
    for name in ("interpolationMode", "paddingMode"):
        need_option(name, modes[name], (0, 1, 2))
    return fmt, grid.shape[1] * grid.shape[2]


def arrange_backward(gradOutput, input, grid, outputMask, **modes) -> Arranged:
    fmt, points = _checked(input, grid, modes)
    n, c = input.shape[:2]
    need_shape("gradOutput", gradOutput, (n, c, *grid.shape[1:3]), "N and C of input and the points of grid")
    need_dtype("gradOutput", gradOutput, [fmt], "that of input")
    results = {"inputGrad": Result(input.shape, fmt, input.shape), "gridGrad": Result((n, points, 2), fmt, grid.shape)}
    wanted = {name: result for (name, result), mask in zip(results.items(), outputMask) if mask}
    arrays = {"gradOutput": gradOutput.reshape(n, c, points), "input": input, "grid": grid.reshape(n, points, 2)}
    return Arranged(arrays, modes | {"outputMask": outputMask}, wanted, compute_type(fmt))


def arrange_forward(input, grid, **modes) -> Arranged:
    fmt, points = _checked(input, grid, modes)
    n, c = input.shape[:2]
    results = {"out": Result((n, c, points), fmt, (n, c, *grid.shape[1:3]))}
    return Arranged({"input": input, "grid": grid.reshape(n, points, 2)}, modes, results, compute_type(fmt))


OPERATOR = Operator(
    name="grid_sampler_2d",
    aclnn_name="aclnnGridSampler2DBackward",
    parameters=(Parameter("gradOutput"), Parameter("input"), Parameter("grid"), *MODES,
                Parameter("outputMask", "mask", (True, True))),
    outputs=("inputGrad", "gridGrad"),
    forward_parameters=(Parameter("input"), Parameter("grid"), *MODES),
    page=page,
    arrange_backward=arrange_backward,
    arrange_forward=arrange_forward,
    all_outputs={"outputMask": (True, True)},
)
