"""
Group norm and swish without a tape: the documented outputs are direct derivatives, for any sizes.

The derivative is taken through mean and variance, as they occur in every place where x does. The theorems belong to
the chapter of the operator.
"""

from sympy import Rational, Sum, Symbol

from derivations.group_norm_swish import (
    CHANNEL, CHANNELS, ENTRY, POSITIONS, SAMPLES, D, M, N, P, a, b, beta, book, c, d, documented_dbeta,
    documented_dgamma, documented_dx, dy, dYNew, eps, g, gamma, h, inlined, mean, q, r, swish, t, u, w, with_slope, x, x_hat)
from derivations.prover.gradient import gradient
from derivations.prover.theorem import Equation


def before_swish(moving=True, count=M):
    """y at (b, g, h, w) in terms of x alone, unless its mean does not move; the variance is divided by `count`."""
    average = Sum(x[b, g, d, u], CHANNELS, POSITIONS) / M if moving else mean[b, g]
    variance = Sum((x[b, g, r, t] - average) ** 2, (r, 0, D - 1), (t, 0, P - 1)) / count
    return gamma[g, h] * (x[b, g, h, w] - average) * (variance + eps) ** Rational(-1, 2) + beta[g, h]


@book.theorem("Without a tape: dx is the direct derivative of the sum of dYNew y, mean and variance and all.",
              **{"variance with M - 1": {"count": M - 1}, "mean taken as given": {"moving": False}})
def dx_is_the_direct_derivative(**change):
    total = Sum(dYNew[b, g, h, w] * before_swish(**change), (w, 0, P - 1), (h, 0, D - 1), SAMPLES)
    return [Equation(gradient(total, x[a, g, c, q]), inlined(documented_dx(a, g, c, q)), ENTRY, shown=Symbol("dxOut"))]


@book.theorem("Without a tape: dx is the direct derivative of the scalar loss, through mean, variance and swish.",
              **{"scale forgotten in T": {"in_slope": 1}, "as printed, without 1/M": {"factor": 1}})
def dx_is_the_direct_derivative_of_the_loss(in_slope=None, factor=1 / M):
    loss = Sum(dy[b, g, h, w] * swish(before_swish()), (w, 0, P - 1), (h, 0, D - 1), SAMPLES)
    documented = with_slope(documented_dx(a, g, c, q, factor), in_slope)
    return [Equation(gradient(loss, x[a, g, c, q]), inlined(documented), ENTRY, shown=Symbol("dxOut"))]


@book.theorem("Without a tape: dgamma and dbeta are the direct derivatives of the scalar loss.",
              **{"one sample": {"samples": 1}, "scale forgotten in T": {"in_slope": 1}})
def parameters_by_the_direct_derivative(samples=N, in_slope=None):
    y = gamma[g, h] * x_hat(b, g, h, w) + beta[g, h]
    loss = Sum(dy[b, g, h, w] * swish(y), (w, 0, P - 1), (h, 0, D - 1), (b, 0, samples - 1))
    return [Equation(gradient(loss, parameter[g, c]), with_slope(documented, in_slope), CHANNEL)
            for parameter, documented in ((gamma, documented_dgamma(g, c)), (beta, documented_dbeta(g, c)))]
