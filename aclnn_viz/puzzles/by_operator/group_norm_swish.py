"""Functions that puzzles on the gradient of group norm and swish ask a learner to write, each with a loop that defines the
result. A smooth slope, groups of channels, their means, and all fused.
"""

import math

import numpy as np


def swish_slope(z, swishScale):
    """The slope of z sigmoid(s z) with s = swishScale, for z (n,) of any size and either sign."""
    slope = np.zeros_like(z)
    for i in range(z.size):
        s = (
            1.0 / (1.0 + math.exp(-min(swishScale * z[i], 700.0)))
            if swishScale * z[i] > -700.0
            else 0.0
        )
        slope[i] = s + z[i] * swishScale * s * (1.0 - s)
    return slope


def gn_xhat(x, mean, rstd, numGroups):
    """x-hat of x (N, C, P): neighbouring channels form a group, and mean and rstd (N, numGroups) hold one number for
    each."""
    xhat = np.zeros_like(x)
    for n in range(x.shape[0]):
        for c in range(x.shape[1]):
            group = c // (x.shape[1] // numGroups)
            for p in range(x.shape[2]):
                xhat[n, c, p] = (x[n, c, p] - mean[n, group]) * rstd[n, group]
    return xhat


def gn_means(dxhat, xhat, numGroups):
    """Two means over every group of every sample, each (N, numGroups): the mean of dxhat x-hat, and the mean of
    dxhat."""
    N, C, P = xhat.shape
    along, shift = np.zeros((N, numGroups)), np.zeros((N, numGroups))
    for n in range(N):
        for c in range(C):
            for p in range(P):
                group = c // (C // numGroups)
                along[n, group] += dxhat[n, c, p] * xhat[n, c, p] / (C // numGroups * P)
                shift[n, group] += dxhat[n, c, p] / (C // numGroups * P)
    return along, shift


def gn_dx(dxhat, xhat, rstd):
    """dx (groups, n) through the whole Jacobian of the normalisation of each group, given rstd (groups, 1); write it
    without the loop over pairs."""
    groups, n = xhat.shape
    dx = np.zeros_like(xhat)
    for g in range(groups):
        for i in range(n):
            for j in range(n):
                direct = 1.0 if i == j else 0.0
                through_mean = -1.0 / n
                through_rstd = -xhat[g, i] * xhat[g, j] / n
                dx[g, i] += dxhat[g, j] * (direct + through_mean + through_rstd) * rstd[g, 0]
    return dx


def gn_parameters(dz, xhat):
    """dgamma and dbeta (C,) of z = gamma x-hat + beta, from dz and x-hat (N, C, P)."""
    dgamma, dbeta = np.zeros_like(xhat[0, :, 0]), np.zeros_like(xhat[0, :, 0])
    for n in range(xhat.shape[0]):
        for c in range(xhat.shape[1]):
            for p in range(xhat.shape[2]):
                dgamma[c] += dz[n, c, p] * xhat[n, c, p]
                dbeta[c] += dz[n, c, p]
    return dgamma, dbeta
