"""
Layer normalisation: out = weight x-hat + bias, x-hat = (x - mean) rstd, rstd = (variance + eps)^(-1/2) of each row.

Documented backward (aclnnLayerNormBackward, CANN documentation; ops-nn norm/layer_norm_grad_v3). Rows r = 0..m-1 are
the leading axes together, columns j = 0..n-1 the normalised ones, as for RMS norm.
"""

from functools import cache

from sympy import IndexedBase, KroneckerDelta, Rational, Sum, Symbol

from derivations.prover.formulas import Derivation, Formula
from derivations.prover.gradient import gradient
from derivations.prover.tape import Tape
from derivations.prover.theorem import Book, Equation
from derivations.rms_norm import COLUMN, ENTRY, ROW, i, j, k, l, m, n, p, r

eps = Symbol("eps", positive=True)
INPUTS = {"input": {r: m, j: n}, "weightOptional": {j: n}, "biasOptional": {j: n}}
x, weight, bias, dy, mean, rstd = (
    IndexedBase(name, real=True) for name in (*INPUTS, "gradOut", "mean", "rstd")
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


@cache
def derive():
    """
    Derive the gradients by input, weight and bias from the forward definition, for any number and length of rows.

    >>> sorted(derive().formulas())
    ['gradBiasOut', 'gradInputOut', 'gradWeightOut']
    """
    tape = Tape({n: [j, i, l], m: [r, p, k]})
    for name, indices in INPUTS.items():
        tape.input(name, indices)
    tape.define("mean", {r: m}, Sum(x[r, l], COLUMN) / n, "One for each row.", "Mean of a row")
    tape.define(
        "rstd",
        {r: m},
        (Sum((x[r, l] - mean[r]) ** 2, COLUMN) / n + eps) ** Rational(-1, 2),
        "The variance divides by n, not by n - 1.",
        "Reciprocal standard deviation",
        lambda e: e.replace(
            lambda e: e.is_Pow and e.exp == Rational(-3, 2), lambda _: rstd[r] ** 3
        ),
    )
    xhat = tape.define("xhat", INPUTS["input"], x_hat(r, j), "The normalised row.", "Normalise")
    tape.define(
        "out", INPUTS["input"], weight[j] * xhat[r, j] + bias[j], "By column.", "Scale and shift"
    )
    tape.backward(
        "out",
        dy[r, j],
        list(INPUTS),
        {
            "out": "gradOut is given.",
            "xhat": "Each xhat enters one out, with the factor weight.",
            "weightOptional": "The weight of a column serves all rows: sum over them.",
            "biasOptional": "The bias of a column serves all rows, too.",
            "rstd": "rstd multiplies every entry of its row.",
            "mean": "mean enters every xhat of its row, and rstd; the second part is 0, as x - mean sums to 0.",
            "input": "x enters xhat directly, and through rstd and mean, each of which holds 1/n.",
        },
    )
    outputs = {
        "gradInputOut": documented_input(r, j),
        "gradWeightOut": documented_weight(j),
        "gradBiasOut": documented_bias(j),
    }
    for (name, e), (node, indices) in zip(outputs.items(), INPUTS.items()):
        tape.conclude(
            name, indices, e, node, "As derived, with the adjoints of mean and rstd inserted."
        )
    leaves = {
        "gradOut": (m, n),
        "input": (m, n),
        "mean": (m,),
        "rstd": (m,),
        "weightOptional": (n,),
    }
    return Derivation(
        tuple(tape.steps),
        tape,
        lambda: [
            Formula(name, e, indices, leaves)
            for (name, e), indices in zip(outputs.items(), INPUTS.values())
        ],
    )


@book.theorem(
    "gradInputOut sums to 0 over each row: a constant added to a row changes nothing.",
    **{"sums instead of means": {"factor": 1}, "mean of dy w forgotten": {"shift": 0}},
)
def input_gradient_sums_to_zero(**change):
    total = Sum(documented_input(p, j, **change), (j, 0, n - 1))
    return [Equation(derive().tape.inline(total), 0, ENTRY, shown=total)]


@book.theorem(
    "x-hat and gradInputOut are almost orthogonal: their product over a row is eps rstd^3 sum dy w x-hat.",
    **{"exactly orthogonal": {"factor": 0}, "rstd squared": {"power": 2}},
)
def input_gradient_is_almost_orthogonal_to_xhat(factor=eps, power=3):
    inner = Sum(x_hat(p, j) * documented_input(p, j), (j, 0, n - 1))
    along = factor * rstd[p] ** power * Sum(dy[p, l] * weight[l] * x_hat(p, l), COLUMN)
    return [Equation(derive().tape.inline(inner), derive().tape.inline(along), ENTRY, shown=inner)]


@book.theorem(
    "The Jacobian of x-hat within a row is rstd (identity - 1/n - x-hat x-hat^T / n).",
    **{"as of RMS norm, without 1/n": {"shift": 0}, "identity forgotten": {"one": 0}},
)
def jacobian(shift=1, one=1):
    expected = rstd[p] * (one * KroneckerDelta(i, j) - (shift + x_hat(p, i) * x_hat(p, j)) / n)
    return [
        Equation(
            gradient(from_input(p, i), x[p, j]),
            derive().tape.inline(expected),
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
