"""RMS normalisation, y = gamma * x * rstd with rstd = (mean of x^2 + epsilon)^(-1/2), one row at a time: derivation and proof
of its gradients.

Documented backward (aclnnRmsNormGrad, CANN documentation; ops-nn norm/rms_norm_grad). Rows r = 0..m-1 have one rstd each,
columns j = 0..n-1 one gamma each, for tensors of any rank.
"""

from functools import cache

from sympy import KroneckerDelta, Rational, Sum, Symbol

from derivations.prover.expressions import substitute
from derivations.prover.formulas import Derivation
from derivations.prover.notation import array_symbols, index_symbols, size_symbols
from derivations.prover.tape import Tape
from derivations.prover.theorem import Book, Equation

m, n = size_symbols("m n")
r, j, p, i, l, k = index_symbols("r j p i l k")
epsilon = Symbol("epsilon", positive=True)
x, gamma, dy, rstd, mean = array_symbols("x gamma dy rstd mean")
COLUMN, ROW = (l, 0, n - 1), (k, 0, m - 1)
ENTRY = {p: (0, m - 1), i: (0, n - 1)}

CHAPTER = 2
book = Book("rms_norm")


def rstd_of_rows(row, eps=epsilon):
    return (Sum(x[row, l] ** 2, COLUMN) / n + eps) ** Rational(-1, 2)


@cache
def derive():
    """
    Derive dx and dgamma from the forward definition, for any number of rows m and any length n.

    >>> derive().steps[0].title
    'Reciprocal root mean square'
    """
    tape = Tape({n: [j, i, l], m: [r, p, k]})
    tape.input("x", {r: m, j: n})
    tape.input("gamma", {j: n})
    tape.define(
        "rstd",
        {r: m},
        rstd_of_rows(r),
        "Each row has one factor: the reciprocal root of its mean square.",
        "Reciprocal root mean square",
        lambda e: e.replace(_is_cubed, lambda _: rstd[r] ** 3),
    )
    xhat = tape.define("xhat", {r: m, j: n}, x[r, j] * rstd[r], "The normalised row.", "Normalise")
    tape.define("y", {r: m, j: n}, gamma[j] * xhat[r, j], "Each column has its own scale.", "Scale")
    tape.backward(
        "y",
        dy[r, j],
        ["x", "gamma"],
        {
            "y": "dy is the given derivative of the loss with respect to y.",
            "xhat": "Each xhat enters one y only, with the factor gamma.",
            "gamma": "One gamma of a column is used in every row: its derivative sums over the rows.",
            "rstd": "rstd of a row multiplies all its entries: sum over the columns.",
            "x": "x enters directly, and through rstd, whose derivative by x is -rstd^3 x / n.",
        },
    )
    tape.define(
        "mean",
        {r: m},
        Sum(dy[r, l] * gamma[l] * xhat[r, l], COLUMN) / n,
        "The documents use this name.",
        "Mean",
    )
    tape.conclude(
        "dxOut",
        {r: m, j: n},
        (dy[r, j] * gamma[j] - rstd[r] * x[r, j] * mean[r]) * rstd[r],
        "x",
        "Insert the adjoints of xhat and rstd, and pull out rstd.",
    )
    tape.conclude(
        "dgammaOut",
        {j: n},
        Sum(rstd[k] * x[k, j] * dy[k, j], ROW),
        "gamma",
        "The sum over rows is missing in print, but not in the kernels.",
    )
    return Derivation(tuple(tape.steps), tape)


def _is_cubed(e):
    return e.is_Pow and e.exp == Rational(-3, 2)


def documented_dx(row, column, factor=1 / n, power=1, sign=-1):
    mean = factor * Sum(dy[row, l] * gamma[l] * x[row, l] * rstd[row] ** power, COLUMN)
    return (dy[row, column] * gamma[column] + sign * rstd[row] * x[row, column] * mean) * rstd[row]


def documented_dgamma(column, power=1):
    return Sum(rstd[k] ** power * x[k, column] * dy[k, column], ROW)


@cache
def inlined(e):
    return derive().tape.inline(e)


@cache
def derived(name, *indices):
    node = derive().tape.nodes[name]
    return inlined(substitute(derive().tape.adjoint(name), dict(zip(node.indices, indices))))


@book.theorem(
    "The documented dx is the derivative of the forward pass.",
    {
        "1/n dropped": {"factor": 1},
        "rstd squared in the mean": {"power": 2},
        "sign flipped": {"sign": 1},
    },
)
def dx_is_the_derivative(factor=1 / n, power=1, sign=-1):
    return [
        Equation(
            derived("x", p, i),
            inlined(documented_dx(p, i, factor, power, sign)),
            ENTRY,
            shown=Symbol("dxOut"),
        )
    ]


@book.theorem(
    "dgamma is x-hat times dy summed over the rows.",
    {"rstd squared": {"power": 2}, "rstd forgotten": {"power": 0}},
)
def dgamma_sums_over_rows(power=1):
    documented = inlined(documented_dgamma(i, power))
    return [Equation(derived("gamma", i), documented, {i: (0, n - 1)}, shown=Symbol("dgammaOut"))]


@book.theorem(
    "The printed dgamma has no sum, and misses exactly the other rows.",
    {
        "difference has the other sign": {"sign": 1},
        "the row's own share is missed, too": {"own": 0},
    },
)
def printed_dgamma_misses_rows(sign=-1, own=1):
    printed = rstd[p] * x[p, i] * dy[p, i]
    missing = Sum((1 - own * KroneckerDelta(k, p)) * rstd[k] * x[k, i] * dy[k, i], ROW)
    return [Equation(printed - documented_dgamma(i), sign * missing, ENTRY)]


@book.theorem(
    "x and dx are almost orthogonal: in a row, x . dx = epsilon rstd^3 (dy gamma . x).",
    {"exactly orthogonal": {"eps": 0}, "rstd squared": {"power": 2}},
)
def dx_is_almost_orthogonal_to_x(eps=epsilon, power=3):
    inner = Sum(x[p, j] * documented_dx(p, j), (j, 0, n - 1))
    return [
        Equation(
            inlined(inner),
            inlined(eps * rstd[p] ** power * Sum(dy[p, l] * gamma[l] * x[p, l], COLUMN)),
            {p: (0, m - 1)},
            shown=inner,
        )
    ]


@book.theorem(
    "Without epsilon, scaling a row by a > 0 leaves x-hat unchanged.",
    {"with epsilon": {"eps": epsilon}, "scaling multiplies x-hat": {"power": 1}},
)
def scale_invariance_without_epsilon(eps=0, power=0):
    a = Symbol("a", positive=True)
    scaled = a * x[p, i] * (Sum((a * x[p, l]) ** 2, COLUMN) / n + eps) ** Rational(-1, 2)
    return [Equation(scaled, a**power * x[p, i] * rstd_of_rows(p, eps), ENTRY)]


@book.theorem(
    "The form of dx with rstd cubed, which reference codes use, equals the documented form.",
    {"rstd squared": {"power": 2}, "mean over n - 1": {"count": n - 1}},
)
def cubed_form(power=3, count=n):
    projection = x[p, i] * Sum(dy[p, l] * gamma[l] * x[p, l], COLUMN) / count
    return [
        Equation(
            documented_dx(p, i),
            rstd[p] * gamma[i] * dy[p, i] - rstd[p] ** power * projection,
            ENTRY,
        )
    ]
