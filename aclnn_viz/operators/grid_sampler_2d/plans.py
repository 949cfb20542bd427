"""State how device kernels of the grid sampler compute (formats, order of sums, rounding), to predict their outputs.

Sources: ops-cv image/grid_sampler2_d_grad/op_kernel (Atlas A2 and A3) and its arch35 (Ascend 950).
"""

from aclnn_viz.arrays.plan import AWAY, EVEN, SEQUENTIAL, SHUFFLED, STORAGE, Note
from aclnn_viz.operators.families.sampling import BICUBIC, NEAREST, channels_first
from aclnn_viz.operators.families.sampling_plans import taps_and_slope
from aclnn_viz.operators.products import ATLAS_A2_A3, WITH_ARCH35, Version
from aclnn_viz.words.messages import message

from .page import pixel


def preset(product, version):
    """Return the settings of the plan that differ from the general ones, and its notes."""
    if product in WITH_ARCH35:
        return {
            "page": simt_page,
            "leading": SEQUENTIAL,
            "atomics": STORAGE,
            "scatter": SHUFFLED,
        }, (
            Note(
                message(
                    "coordinates, multipliers and weights rounded to the format of the inputs; inputGrad by atomic "
                    "additions in that format"
                ),
                "ops-cv image/grid_sampler2_d_grad/op_kernel/arch35/grid_sampler2_d_grad_simt.h",
            ),
            Note(
                message("the seeded order of the atomic additions"),
                message("the real order varies from run to run"),
                inferred=True,
            ),
        )
    early = (
        ()
        if version >= Version(8, 5)
        else (
            Note(
                message(
                    "reflection ran on the AI CPU before CANN 8.5; it is taken to round as the later kernel does"
                ),
                message("the AI CPU kernel is not published"),
                inferred=True,
            ),
        )
    )
    return {
        "page": vector_page,
        "rounding": {"inputGrad": AWAY, "gridGrad": EVEN},
        "scatter": {"float32": SHUFFLED},
    }, (
        Note(
            message(
                "float32 coordinates; mirrors counted by a reciprocal; inputGrad atomic in float32, for 16-bit formats "
                "in a float32 workspace and cast with ties away; gridGrad to nearest even"
            ),
            "ops-cv image/grid_sampler2_d_grad/op_kernel/grid_sampler2_d_grad.h",
            inferred=product not in ATLAS_A2_A3,
        ),
        Note(
            message("order of the factors of a product, and of bicubic sums"),
            message("conclusion from the order of the loops"),
            inferred=True,
        ),
        *early,
    )


def vector_page(xp, **inputs):
    """Return the steps of Atlas A2 and A3: float32 coordinates; the corners of a channel first, then the channels."""
    return _backward(xp, False, **inputs)


def simt_page(xp, **inputs):
    """Return the steps of Ascend 950: coordinates, multipliers, weights and products in the input format; channel by
    channel.
    """
    return _backward(xp, True, **inputs)


def _backward(
    xp, simt, gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask
):
    size = input.shape[2:]
    pixels = input.shape[0] * size[0] * size[1]
    grad, planes = channels_first(xp, gradOutput), channels_first(xp, input)
    modes = interpolationMode, paddingMode, alignCorners
    (x_taps, x_slope), (y_taps, y_slope) = (
        taps_and_slope(xp, grid[..., k], size[1 - k], *modes, simt) for k in (0, 1)
    )
    if simt and interpolationMode == BICUBIC:
        pairs = [(y, x) for x in x_taps for y in y_taps]
    else:
        pairs = [(y, x) for y in y_taps for x in x_taps]
    places, spread, along_x, along_y = [], [], [], []
    for (row, wy, dy), (column, wx, dx) in pairs:
        index, inside = pixel(xp, row, column, size)
        places.append(xp.where(inside, index, xp.full_like(index, pixels)))
        weight = _kept(xp, wx * wy, simt)
        spread.append(_kept(xp, grad * xp.reshape(weight, (-1,)), simt))
        if interpolationMode == NEAREST:
            continue
        value = xp.take(planes, index, axis=1)
        for terms, factor in ((along_x, wy * dx), (along_y, wx * dy)):
            term = value * xp.reshape(factor, (-1,)) * grad
            terms.append(xp.where(inside, term, xp.zeros_like(term)))
    grads = {}
    if outputMask[0]:
        image = xp.zeros((planes.shape[0], pixels + 1), dtype=grad.dtype)
        # Add point by point, each point's taps in order.
        image = xp.scatter_add(
            image,
            xp.reshape(xp.stack(places, axis=-1), (-1,)),
            xp.reshape(xp.stack(spread, axis=-1), (grad.shape[0], -1)),
        )
        grads["inputGrad"] = xp.moveaxis(
            xp.reshape(image[:, :pixels], (-1, input.shape[0], *size)), 0, 1
        )
    if outputMask[1]:
        slopes = [xp.reshape(slope, (-1,)) for slope in (x_slope, y_slope)]
        sums = [
            _over_taps(xp, terms, simt) * slope if terms else xp.zeros_like(slope)
            for terms, slope in zip((along_x, along_y), slopes)
        ]
        grads["gridGrad"] = xp.reshape(xp.stack(sums, axis=-1), grid.shape)
    return grads


def _kept(xp, x, simt):
    return xp.to_storage(x) if simt else x


def _over_taps(xp, terms, simt):
    """Return the sum over taps and channels for each point; on Ascend 950 it is one chain, with taps innermost."""
    if simt:
        return xp.sum(xp.reshape(xp.stack(terms, axis=1), (-1, terms[0].shape[1])), axis=0)
    per_channel = terms[0]
    for term in terms[1:]:
        per_channel = per_channel + term
    return xp.sum(per_channel, axis=0)
