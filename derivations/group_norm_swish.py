"""Group normalisation, then swish, out = y sigma(s y), y = gamma x-hat + beta, x-hat = (x - mean) rstd: derivation and proof of
its gradients.

A channel of the tensor is (g, c): group g = 0..G-1, channel c = 0..D-1 of the group (D = C/G); a = 0..N-1 counts samples and q
= 0..P-1 positions (P = H W). One group holds M = D P elements. Documented backward: aclnnGroupNormSwishGrad, CANN
documentation; ops-nn norm/group_norm_swish_grad.
"""

from functools import cache

from sympy import KroneckerDelta, Rational, S, Sum, Symbol, exp

from derivations.prover.formulas import Derivation
from derivations.prover.notation import array_symbols, index_symbols, size_symbols
from derivations.prover.tape import Tape
from derivations.prover.theorem import Book, Equation

N, G, D, P = size_symbols("N G D P")
M = D * P
a, g, c, q, b, d, u, t = index_symbols("a g c q b d u t")
eps, scale = Symbol("eps", positive=True), Symbol("swishScale", real=True)
x, dy, gamma, beta, mean, rstd, dYNew = array_symbols("x dy gamma beta mean rstd dYNew")
FULL = {a: N, g: G, c: D, q: P}
ENTRY = {index: (0, length - 1) for index, length in FULL.items()}
GROUP = {index: ENTRY[index] for index in (a, g)}
CHANNELS, POSITIONS, SAMPLES = (d, 0, D - 1), (u, 0, P - 1), (b, 0, N - 1)

CHAPTER = 5
book = Book("group_norm_swish")


def swish(y, s=scale):
    return y / (1 + exp(-s * y))


def documented_slope(y, s=scale, in_slope=None):
    """Return the documented factor T / (exp(-s y) + 1); `in_slope` is the scale inside T."""
    t, e = s if in_slope is None else in_slope, exp(-s * y) + 1
    return (t * y - t * y / e + 1) / e


def x_hat(sample, group, channel, position):
    return (x[sample, group, channel, position] - mean[sample, group]) * rstd[sample, group]


REASONS = {
    "out": "dy is the given derivative of the loss with respect to the output.",
    "y": "Swish acts entry by entry. The documents call this adjoint dYNew.",
    "xhat": "Each xhat enters one y only, with the factor gamma.",
    "gamma": "gamma of a channel serves all samples and positions: sum over both.",
    "beta": "beta of a channel serves all samples and positions: sum over both.",
    "rstd": "rstd multiplies every element of its group: sum over the group.",
    "mean": "mean enters every xhat of its group, and rstd; its gradient through rstd is 0, because x - mean sums to 0.",
    "x": "x enters xhat directly, and through rstd and mean, each of which holds 1/M.",
}


def _forward():
    tape = Tape({D: [c, d], P: [q, u], N: [a, b], G: [g]})
    tape.input("x", FULL)
    tape.input("gamma", {g: G, c: D})
    tape.input("beta", {g: G, c: D})
    tape.define(
        "mean",
        {a: N, g: G},
        Sum(x[a, g, d, u], CHANNELS, POSITIONS) / M,
        "Each sample has one mean for each group.",
        "Mean of a group",
    )
    variance = Sum((x[a, g, d, u] - mean[a, g]) ** 2, CHANNELS, POSITIONS) / M
    tape.define(
        "rstd",
        {a: N, g: G},
        (variance + eps) ** Rational(-1, 2),
        "Each sample has one such number for each group.",
        "Reciprocal standard deviation",
        lambda e: e.replace(
            lambda p: p.is_Pow and p.exp == Rational(-3, 2), lambda _: rstd[a, g] ** 3
        ),
    )
    xhat = tape.define("xhat", FULL, x_hat(a, g, c, q), "The normalised group.", "Normalise")
    y = tape.define(
        "y",
        FULL,
        gamma[g, c] * xhat[a, g, c, q] + beta[g, c],
        "Scale and shift by channel.",
        "Affine map",
    )
    tape.define("out", FULL, swish(y[a, g, c, q]), "Swish with slope parameter s.", "Activate")
    return tape


@cache
def derive():
    """
    Derive dx, dgamma and dbeta from the forward definition, for any N, G, C/G and H W.

    >>> derive().steps[0].title
    'Mean of a group'
    """
    tape = _forward()
    tape.backward("out", dy[a, g, c, q], ["x", "gamma", "beta"], REASONS)
    xhat, y = (tape.nodes[name].base for name in ("xhat", "y"))
    z = dYNew[a, g, d, u] * gamma[g, d]
    tape.conclude(
        "dYNew",
        FULL,
        documented_slope(y[a, g, c, q]) * dy[a, g, c, q],
        "y",
        "The slope of swish once more, with T = s y - s y / (exp(-s y) + 1) + 1.",
    )
    A = tape.define(
        "A",
        {a: N, g: G},
        Sum(z * xhat[a, g, d, u], CHANNELS, POSITIONS),
        "The sum of gamma dGamma over one sample and group; the output dgammaOut sums over samples, too.",
        "Sum A",
    )
    B = tape.define(
        "B", {a: N, g: G}, Sum(z, CHANNELS, POSITIONS), "The sum of gamma dBeta, likewise.", "Sum B"
    )
    own = dYNew[a, g, c, q] * gamma[g, c]
    tape.conclude(
        "dxOut",
        FULL,
        rstd[a, g] * (own - (xhat[a, g, c, q] * A[a, g] + B[a, g]) / M),
        "x",
        "Insert the adjoints of mean and rstd. In print the factor 1/M is missing.",
    )
    tape.conclude(
        "dgammaOut",
        {g: G, c: D},
        Sum(dYNew[b, g, c, u] * xhat[b, g, c, u], SAMPLES, POSITIONS),
        "gamma",
        "dYNew times xhat, summed over samples and positions.",
    )
    tape.conclude(
        "dbetaOut",
        {g: G, c: D},
        Sum(dYNew[b, g, c, u], SAMPLES, POSITIONS),
        "beta",
        "dYNew, summed over samples and positions.",
    )
    return Derivation(tuple(tape.steps), tape)


def group_sums(sample, group):
    """Return A = sum of gamma dGamma and B = sum of gamma dBeta over one sample and group."""
    e = gamma[group, d] * dYNew[sample, group, d, u]
    return Sum(e * x_hat(sample, group, d, u), CHANNELS, POSITIONS), Sum(e, CHANNELS, POSITIONS)


def documented_dx(sample, group, channel, position, factor=1 / M, sign=-1, sums=None):
    first, second = sums or group_sums(sample, group)
    hat = x_hat(sample, group, channel, position)
    own = dYNew[sample, group, channel, position] * gamma[group, channel]
    return rstd[sample, group] * (own + sign * factor * (hat * first + second))


def documented_dgamma(group, channel):
    return Sum(dYNew[b, group, channel, u] * x_hat(b, group, channel, u), SAMPLES, POSITIONS)


def documented_dbeta(group, channel):
    return Sum(dYNew[b, group, channel, u], SAMPLES, POSITIONS)


@cache
def inlined(e):
    return derive().tape.inline(e)


@cache
def derived(name):
    """Return the adjoint from the tape in terms of dYNew."""
    e = derive().tape.adjoint(name, keep=("y",))
    ybar = derive().tape.nodes["y"].adjoint.base
    return inlined(e.replace(lambda e: e.is_Indexed and e.base == ybar, lambda e: dYNew[e.indices]))


@book.theorem(
    "dx is the documented formula with the factor 1/M and sums over its own sample and group.",
    {
        "as printed, without 1/M": {"factor": 1},
        "mean over positions only": {"factor": 1 / P},
        "sign flipped": {"sign": 1},
        "sums over the whole batch": {"whole_batch": True},
    },
)
def dx_needs_one_over_m(factor=1 / M, sign=-1, whole_batch=False):
    sums = [Sum(s, SAMPLES) for s in group_sums(b, g)] if whole_batch else None
    documented = inlined(documented_dx(a, g, c, q, factor, sign, sums))
    return [Equation(derived("x"), documented, ENTRY, shown=Symbol("dxOut"))]


@book.theorem(
    "dx as printed, without 1/M, is wrong by -(1 - 1/M) rstd (x-hat A + B).",
    {"there is no error": {"factor": 0}, "dx is wrong by the full sums": {"factor": 1}},
)
def printed_dx_is_wrong(factor=1 - 1 / M):
    first, second = group_sums(a, g)
    error = -factor * rstd[a, g] * (x_hat(a, g, c, q) * first + second)
    return [Equation(documented_dx(a, g, c, q, factor=1) - documented_dx(a, g, c, q), error, ENTRY)]


@book.theorem(
    "dx sums to 0 over every group: adding a constant to a group changes nothing.",
    {
        "as printed, without 1/M": {"factor": 1},
        "the formula without the sum B": {"sums": lambda A, B: (A, S.Zero)},
    },
)
def dx_sums_to_zero(factor=1 / M, sums=lambda A, B: (A, B)):
    total = Sum(
        documented_dx(a, g, c, q, factor, sums=sums(*group_sums(a, g))),
        (c, 0, D - 1),
        (q, 0, P - 1),
    )
    return [Equation(inlined(total), 0, GROUP, shown=total)]


@book.theorem(
    "dx as printed sums over a group to -(M - 1) rstd B instead of 0.",
    {"dx sums to 0": {"factor": 0}, "dx sums to -M rstd B": {"factor": M}},
)
def printed_dx_sums_to_a_remainder(factor=M - 1):
    total = Sum(documented_dx(a, g, c, q, factor=1), (c, 0, D - 1), (q, 0, P - 1))
    return [
        Equation(
            inlined(total), inlined(-factor * rstd[a, g] * group_sums(a, g)[1]), GROUP, shown=total
        )
    ]


@book.theorem(
    "With the returned dgamma and dbeta as sums, dx is wrong by the other samples' share.",
    {
        "there is no error": {"factor": 0},
        "dx is wrong by the share of all samples": {"own": 0},
    },
)
def outputs_are_not_group_sums(factor=1, own=1):
    returned = [
        Sum(gamma[g, d] * output(g, d), CHANNELS)
        for output in (documented_dgamma, documented_dbeta)
    ]
    others = [Sum((1 - own * KroneckerDelta(b, a)) * s, SAMPLES) for s in group_sums(b, g)]
    error = -factor * rstd[a, g] / M * (x_hat(a, g, c, q) * others[0] + others[1])
    return [
        Equation(documented_dx(a, g, c, q, sums=returned) - documented_dx(a, g, c, q), error, ENTRY)
    ]


@book.theorem(
    "A kernel that forgets the scale s in T is wrong by (s - 1) y (1 - sigma) sigma.",
    {
        "there is no error": {"factor": 0},
        "the kernel is wrong by s y (1 - sigma) sigma": {"factor": scale},
    },
)
def missing_scale_in_t(factor=scale - 1):
    y = Symbol("y", real=True)
    sigma = 1 / (1 + exp(-scale * y))
    return [
        Equation(
            documented_slope(y) - documented_slope(y, in_slope=1), factor * y * (1 - sigma) * sigma
        )
    ]


@book.theorem(
    "A call that is exact on such a kernel: s = 1, dy/s, s gamma, s beta; then multiply dgamma, dbeta by s.",
    {
        "dy is not divided by s": {"of_dy": 1},
        "gamma is not multiplied by s": {"of_gamma": 1},
        "dgamma is not multiplied by s": {"of_dgamma": 1},
    },
)
def workaround_for_missing_scale(of_dy=1 / scale, of_gamma=scale, of_dgamma=scale):
    y = gamma[g, c] * x_hat(a, g, c, q) + beta[g, c]
    moved = of_gamma * gamma[g, c] * x_hat(a, g, c, q) + scale * beta[g, c]
    dz, dz_moved = documented_slope(y), of_dy * documented_slope(moved, 1)
    sums = [of_dy * of_gamma * s for s in group_sums(a, g)]
    own = of_dy * of_gamma * dYNew[a, g, c, q] * gamma[g, c]
    dx_moved = rstd[a, g] * (own - (x_hat(a, g, c, q) * sums[0] + sums[1]) / M)
    return [
        Equation(dz / scale, dz_moved, ENTRY),
        Equation(documented_dx(a, g, c, q), dx_moved, ENTRY),
        Equation(documented_dgamma(g, c), of_dgamma * of_dy * documented_dgamma(g, c), ENTRY),
        Equation(documented_dbeta(g, c), of_dgamma * of_dy * documented_dbeta(g, c), ENTRY),
    ]
