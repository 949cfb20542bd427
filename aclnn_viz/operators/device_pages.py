"""Backward pages in the expression order of the device kernels, where it differs from that of the textbook pages.

They run over a planned namespace (`aclnn_viz.arrays.planned`), whose `to_storage` and `anchored` round to the format
of the inputs.
Sources: ops-nn activation/hard_swish_grad and norm/group_norm_swish_grad/op_kernel/group_norm_swish_grad.h;
ops-cv image/grid_sampler2_d_grad/op_kernel (Atlas A2 and A3) and its arch35 (Ascend 950); the TBE kernels of CANN 8.1.
"""

from aclnn_viz.kernels import grid_sampler_2d as grid_page
from aclnn_viz.kernels.grid_sampler_2d import BICUBIC, HUGE, NEAREST, NOWHERE, REFLECTION, ZEROS


def hardswish(xp, gradOutput, self):
    """x times a rounded 1/3; the selections leave a nan the slope 1."""
    inside = self * (1.0 / 3.0) + 0.5
    slope = xp.where(self >= -3.0, inside, xp.zeros_like(self))
    return {"out": gradOutput * xp.where(self <= 3.0, slope, xp.ones_like(self))}


def hardswish_tbe(xp, gradOutput, self):
    """As above, but a nan in self gives nan in float16, and in the other formats 1, whatever gradOutput is."""
    inside = self * (1.0 / 3.0) + 0.5
    slope = xp.where(self < -3.0, xp.zeros_like(self), xp.where(self > 3.0, xp.ones_like(self), inside))
    out = gradOutput * slope
    return {"out": out if xp.storage.name == "float16" else xp.where(xp.isnan(self), xp.ones_like(out), out)}


def group_norm_swish(xp, dy, mean, rstd, x, gamma, beta, swishScale, scaled=True):
    """x-hat as x * rstd + (-mean * rstd), which cancels where |mean| * rstd is large, and the swish slope as T / e."""
    xhat = x * rstd + -mean * rstd
    y = xhat * gamma + beta
    e = xp.exp(y * -swishScale) + 1.0
    inner = y - y / e
    dz = ((inner * swishScale if scaled else inner) + 1.0) / e * dy
    shift, along = (xp.sum(terms, axis=3, keepdims=True) for terms in (dz, dz * xhat))  # one number a channel
    count = x.shape[2] * x.shape[3]
    c1, c2 = (_divided(xp, xp.sum(gamma * sums, axis=2, keepdims=True), count) for sums in (shift, along))
    return {
        "dxOut": dz * (rstd * gamma) - (xhat * (rstd * c2) + rstd * c1),
        "dgammaOut": xp.sum(along, axis=0),
        "dbetaOut": xp.sum(shift, axis=0),
    }


def group_norm_swish_unscaled(xp, dy, mean, rstd, x, gamma, beta, swishScale):
    """Before CANN 9.1.0: one factor swishScale of the derivative is missing."""
    return group_norm_swish(xp, dy, mean, rstd, x, gamma, beta, swishScale, scaled=False)


def _divided(xp, total, count):
    return total * (1.0 / count) if xp.plan.reciprocal_mean else total / count


def grid_sampler_2d_vector(xp, **inputs):
    """Atlas A2 and A3: float32 coordinates; the corners of a channel first, then the channels."""
    return _grid_sampler_2d(xp, False, **inputs)


def grid_sampler_2d_simt(xp, **inputs):
    """Ascend 950: coordinates, multipliers, weights and products in the format of the inputs; channel by channel."""
    return _grid_sampler_2d(xp, True, **inputs)


def _grid_sampler_2d(xp, simt, gradOutput, input, grid, interpolationMode, paddingMode, alignCorners, outputMask):
    size = input.shape[2:]
    pixels = input.shape[0] * size[0] * size[1]
    grad, planes = grid_page.channels_first(xp, gradOutput), grid_page.channels_first(xp, input)
    modes = interpolationMode, paddingMode, alignCorners
    (x_taps, x_slope), (y_taps, y_slope) = (_taps(xp, grid[..., k], size[1 - k], *modes, simt) for k in (0, 1))
    if simt and interpolationMode == BICUBIC:
        pairs = [(y, x) for x in x_taps for y in y_taps]
    else:
        pairs = [(y, x) for y in y_taps for x in x_taps]
    places, spread, along_x, along_y = [], [], [], []
    for (row, wy, dy), (column, wx, dx) in pairs:
        index, inside = grid_page.pixel(xp, row, column, size)
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
        # One point after another, and its taps in their order.
        image = xp.scatter_add(image, xp.reshape(xp.stack(places, axis=-1), (-1,)),
                               xp.reshape(xp.stack(spread, axis=-1), (grad.shape[0], -1)))
        grads["inputGrad"] = xp.moveaxis(xp.reshape(image[:, :pixels], (-1, input.shape[0], *size)), 0, 1)
    if outputMask[1]:
        slopes = [xp.reshape(slope, (-1,)) for slope in (x_slope, y_slope)]
        sums = [_over_taps(xp, terms, simt) * slope if terms else xp.zeros_like(slope)
                for terms, slope in zip((along_x, along_y), slopes)]
        grads["gridGrad"] = xp.reshape(xp.stack(sums, axis=-1), grid.shape)
    return grads


def _kept(xp, x, simt):
    return xp.to_storage(x) if simt else x


def _over_taps(xp, terms, simt):
    """The sum of the taps (channels, points) over taps and channels: taps innermost, in one chain, on Ascend 950."""
    if simt:
        return xp.sum(xp.reshape(xp.stack(terms, axis=1), (-1, terms[0].shape[1])), axis=0)
    per_channel = terms[0]
    for term in terms[1:]:
        per_channel = per_channel + term
    return xp.sum(per_channel, axis=0)


def _taps(xp, x, size, interpolationMode, paddingMode, alignCorners, simt):
    """The taps along one axis, (index, weight, d weight / d coordinate) each, and the multiplier of the gradient."""
    if interpolationMode == BICUBIC:
        u, slope = grid_page.bicubic_source(xp, x, size, paddingMode, alignCorners)
    else:
        u, slope = _source(xp, x, size, paddingMode, alignCorners, simt)
    if simt:
        u, slope = xp.anchored(u), xp.to_storage(slope)
    if interpolationMode == NEAREST:
        return [(xp.round(u), xp.ones_like(u), xp.zeros_like(u))], slope
    first = xp.floor(u)
    if interpolationMode == BICUBIC:
        return [(grid_page.pad_index(xp, first + (k - 1), size, paddingMode, alignCorners), w, d)
                for k, (w, d) in enumerate(grid_page.bicubic_weights(u - first))], slope
    second, one = first + 1.0, xp.ones_like(u)
    return [(first, second - u, -one), (second, u - first, one)], slope


def _source(xp, x, size, paddingMode, alignCorners, simt):
    u, slope = grid_page.unnormalise(x, size, alignCorners)
    slope = slope * xp.ones_like(u)
    if paddingMode == REFLECTION:
        u, factor = _reflect(xp, u, size, alignCorners, simt)
        slope = slope * factor
    if paddingMode != ZEROS:
        u, factor = grid_page.clip(xp, u, size)
        slope = slope * factor
    return xp.where(xp.abs(u) < HUGE, u, xp.full_like(u, NOWHERE)), slope


def _reflect(xp, u, size, alignCorners, simt):
    """The mirrors counted by a reciprocal (A2, A3) or a division (950): at a mirror the count may be one off."""
    low, span = (0.0, float(size - 1)) if alignCorners else (-0.5, float(size))
    if span == 0.0:
        return xp.zeros_like(u) * u, xp.zeros_like(u)
    offset = xp.abs(u - low)
    flips = xp.floor(offset / span if simt else offset * (1.0 / span))
    extra = xp.remainder(offset, span) if simt else offset - flips * span
    even = xp.remainder(flips, 2.0) == 0.0
    one = xp.ones_like(u)
    return xp.where(even, extra, span - extra) + low, xp.where(even == (u >= low), one, -one)
