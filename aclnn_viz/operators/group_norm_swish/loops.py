"""Fused loops for numba that run group norm + swish backward fast on a CPU: per group a pass for the sums of channels, then a
pass for dx.

The second pass uses values that the first kept of each element, or computes the slope of swish again for a large group.
"""

import numpy as np

from aclnn_viz.arrays.loops import (
    LANES,
    add_up,
    computed,
    cuts,
    exponential,
    over,
    read,
    real,
    step,
    write,
)
from aclnn_viz.arrays.plan import Plan

PLAN = Plan("group by group", accumulate="float64", division_ulps=2.0)
KEPT = 1 << 20  # most elements of a group whose dz a thread keeps: some megabytes


@step
def swish_slope(z, s, zero, one, most):
    """Return d/dz of z * sigmoid(s * z), with one division: sigmoid(-|t|) is exp(-|t|) times sigmoid(|t|)."""
    t = s * z
    # beyond these bounds the slope is 0 or 1, and t * sigmoid(-t) would be inf * 0
    t = -most if t < -most else (most if t > most else t)
    tail = exponential(-abs(t))
    large = one / (one + tail)
    small = tail * large
    sigmoid, complement = (small, large) if t < zero else (large, small)
    return sigmoid * (one + t * complement)


def groups(part, first, last, dy, x, mean, rstd, gamma, beta, swishScale, dx, shifts, alongs):
    channels, positions = gamma.shape[1], x.shape[2]
    zero, one, most, s = (
        real(gamma, 0.0),
        real(gamma, 1.0),
        real(gamma, 2e4),
        real(gamma, swishScale),
    )
    straight, along = np.empty(LANES), np.empty(LANES)
    keeps = channels * positions <= KEPT
    kept = np.empty((channels if keeps else 1, positions), gamma.dtype)
    for unit in range(first, last):
        group, centre, scale = unit % gamma.shape[0], mean[unit], rstd[unit]
        shift = projection = 0.0
        for channel in range(channels):
            factor, offset, grads, xs = (
                gamma[group, channel],
                beta[group, channel],
                dy[unit, channel],
                x[unit, channel],
            )
            dzs = kept[channel if keeps else 0]
            # A separate loop in float32: a vector holds twice as many numbers as in the float64
            # of the sums.
            for i in range(positions):
                dzs[i] = read(grads, i) * swish_slope(
                    (read(xs, i) - centre) * scale * factor + offset, s, zero, one, most
                )
            straight[:] = 0.0
            along[:] = 0.0
            for start in range(0, positions, LANES):
                for lane in range(min(LANES, positions - start)):
                    dz = np.float64(read(dzs, start + lane))
                    straight[lane] += dz
                    along[lane] += dz * ((read(xs, start + lane) - centre) * scale)
            shifts[unit, channel], alongs[unit, channel] = straight.sum(), along.sum()
            shift += factor * shifts[unit, channel]
            projection += factor * alongs[unit, channel]
        # Means that are subtracted, because x also changes the mean (shift) and rstd (projection).
        shift, projection = (
            real(gamma, shift / (channels * positions)),
            real(gamma, projection / (channels * positions)),
        )
        for channel in range(channels):
            factor, offset, grads, xs = (
                gamma[group, channel],
                beta[group, channel],
                dy[unit, channel],
                x[unit, channel],
            )
            results = dx[unit, channel]
            dzs = kept[channel if keeps else 0]
            for i in range(positions):
                xhat = (read(xs, i) - centre) * scale
                dz = (
                    dzs[i]
                    if keeps
                    else read(grads, i) * swish_slope(xhat * factor + offset, s, zero, one, most)
                )
                write(results, i, (dz * factor - xhat * projection - shift) * scale)


def backward(outputs, dy, mean, rstd, x, gamma, beta, swishScale):
    compute = computed(x)
    samples, group, channels, positions = x.shape
    units = samples * group, channels, positions
    shifts, alongs = np.zeros((2, *units[:2]))
    mean, rstd, gamma, beta = (
        array.astype(compute, copy=False) for array in (mean, rstd, gamma, beta)
    )
    over(
        cuts(units[0], x.size),
        groups,
        dy.reshape(units),
        x.reshape(units),
        mean.reshape(-1),
        rstd.reshape(-1),
        gamma[..., 0],
        beta[..., 0],
        swishScale,
        outputs["dxOut"].reshape(units),
        shifts,
        alongs,
    )
    for name, sums in (("dgammaOut", alongs), ("dbetaOut", shifts)):
        if name in outputs:
            add_up(sums.reshape(samples, -1), outputs[name])
