"""
Layer normalisation: out = weight x-hat + bias, x-hat = (x - mean) rstd, rstd = (variance + eps)^(-1/2) of each row.

Documented backward (aclnnLayerNormBackward, CANN documentation; ops-nn norm/layer_norm_grad_v3). Rows r = 0..m-1 are
the leading axes together, columns j = 0..n-1 the normalised ones, as for RMS norm.
"""

from sympy import IndexedBase, KroneckerDelta, Rational, Sum, Symbol

from derivations.prover.gradient import gradient
from derivations.prover.notation import index_symbols
from derivations.prover.theorem import Book, Equation
from derivations.rms_norm import COLUMN, ENTRY, ROW, i, j, k, l, m, n, p, r

eps = Symbol("eps", positive=True)
u, t = index_symbols("u t")
x, weight, bias, dy, mean, rstd = (
    IndexedBase(name, real=True)
    for name in ("input", "weightOptional", "biasOptional", "gradOut", "mean", "rstd")
)
CHAPTER, book = 6, Book("layer_norm")


def x_hat(row, column):
    return (x[row, column] - mean[row]) * rstd[row]


def documented_input(row, column, factor=1 / n, shift=1, along=1):
    scaled = dy[row, l] * weight[l]
    taken = shift * Sum(scaled, COLUMN) + along * x_hat(row, column) * Sum(
        scaled * x_hat(row, l), COLUMN
    )
    return (dy[row, column] * weight[column] - factor * taken) * rstd[row]


def documented_weight(column):
    return Sum(dy[k, column] * x_hat(k, column), ROW)


def documented_bias(column):
    return Sum(dy[k, column], ROW)


def from_input(row, column, e=eps, at=lambda row, column: x[row, column]):
    """x-hat in terms of the input alone."""
    centred = [at(row, c) - Sum(at(row, l), COLUMN) / n for c in (column, k)]
    return centred[0] * (Sum(centred[1] ** 2, (k, 0, n - 1)) / n + e) ** Rational(-1, 2)


def inlined(e):
    """Insert the mean and rstd of a row, in terms of the input alone."""

    def statistic(entry):
        (row,) = entry.indices
        average = Sum(x[row, u], (u, 0, n - 1)) / n
        if entry.base == mean:
            return average
        return (Sum((x[row, t] - average) ** 2, (t, 0, n - 1)) / n + eps) ** Rational(-1, 2)

    return e.replace(lambda e: e.is_Indexed and e.base in (mean, rstd), statistic)


@book.theorem(
    "gradInputOut sums to 0 over each row: a constant added to a row changes nothing.",
    **{"sums instead of means": {"factor": 1}, "mean of dy w forgotten": {"shift": 0}},
)
def input_gradient_sums_to_zero(**change):
    total = Sum(documented_input(p, j, **change), (j, 0, n - 1))
    return [Equation(inlined(total), 0, ENTRY, shown=total)]


@book.theorem(
    "x-hat and gradInputOut are almost orthogonal: their product over a row is eps rstd^3 sum dy w x-hat.",
    **{"exactly orthogonal": {"factor": 0}, "rstd squared": {"power": 2}},
)
def input_gradient_is_almost_orthogonal_to_xhat(factor=eps, power=3):
    inner = Sum(x_hat(p, j) * documented_input(p, j), (j, 0, n - 1))
    along = factor * rstd[p] ** power * Sum(dy[p, l] * weight[l] * x_hat(p, l), COLUMN)
    return [Equation(inlined(inner), inlined(along), ENTRY, shown=inner)]


@book.theorem(
    "The Jacobian of x-hat within a row is rstd (identity - 1/n - x-hat x-hat^T / n).",
    **{"as of RMS norm, without 1/n": {"shift": 0}, "identity forgotten": {"one": 0}},
)
def jacobian(shift=1, one=1):
    expected = rstd[p] * (one * KroneckerDelta(i, j) - (shift + x_hat(p, i) * x_hat(p, j)) / n)
    return [
        Equation(
            gradient(from_input(p, i), x[p, j]),
            inlined(expected),
            {**ENTRY, j: (0, n - 1)},
        )
    ]


@book.theorem(
    "Without eps, a row scaled by a > 0 and moved by b has the same x-hat.",
    **{
        "with eps": {"e": eps},
        "a row that is moved entry by entry": {"moved": lambda column: bias[column]},
    },
)
def xhat_ignores_scale_and_shift(e=0, moved=lambda column: Symbol("b", real=True)):
    a = Symbol("a", positive=True)
    return [
        Equation(
            from_input(p, i, e, lambda *ix: a * x[ix] + moved(ix[1])), from_input(p, i, e), ENTRY
        )
    ]


@book.theorem(
    "weight . gradWeightOut + bias . gradBiasOut = sum of gradOut out: out is linear in its parameters.",
    **{"weight alone": {"with_bias": 0}, "bias twice": {"with_bias": 2}},
)
def parameters_enter_linearly(with_bias=1):
    left = Sum(
        weight[j] * documented_weight(j) + with_bias * bias[j] * documented_bias(j), (j, 0, n - 1)
    )
    return [
        Equation(
            left, Sum(dy[r, j] * (weight[j] * x_hat(r, j) + bias[j]), (j, 0, n - 1), (r, 0, m - 1))
        )
    ]
