"""Cross entropy of row logits against class labels, with class weights, ignored labels, label smoothing and z-loss: derivation
and proof of its gradient.

Rows r = 0..N-1, classes c = 0..C-1. Labels are read with one-hot deltas, so a label outside 0..C-1 reads weight 0. Documented
backward: aclnnCrossEntropyLossGrad, CANN documentation; ops-nn loss/cross_entropy_loss_grad.
"""

from functools import cache

from sympy import IndexedBase, KroneckerDelta, S, Sum, Symbol, exp, log

from derivations.prover.expressions import substitute
from derivations.prover.formulas import Derivation
from derivations.prover.gradient import gradient
from derivations.prover.notation import array_symbols, index_symbols, size_symbols
from derivations.prover.tape import Tape
from derivations.prover.theorem import Book, Equation

N, C = size_symbols("N C")
r, c, p, i, k, l, q = index_symbols("r c p i k l q")
ignore = Symbol("ignoreIndex", integer=True)
alpha, lam = Symbol("labelSmoothing", real=True), Symbol("lseSquareScaleForZloss", real=True)
x, logProb, weight, lse = array_symbols("x logProb weightOptional lseForZlossOptional")
target = IndexedBase("target", integer=True)
CLASSES, ROWS = (k, 0, C - 1), (l, 0, N - 1)
ENTRY = {p: (0, N - 1), i: (0, C - 1)}
LABELS = {target: (0, C - 1)}

CHAPTER = 4
book = Book("cross_entropy_loss")


def given(name, reduction, row):
    """Return the symbol of a given derivative: one per row without reduction, else one number."""
    return IndexedBase(name, real=True)[row] if reduction == "none" else Symbol(name, real=True)


def kept(row):
    """Return 1 for rows that count, 0 for rows with an ignored label."""
    return 1 - KroneckerDelta(target[row], ignore)


def weight_of(row):
    return Sum(weight[k] * KroneckerDelta(k, target[row]), CLASSES)


def log_sum_exp(row):
    return log(Sum(exp(x[row, k]), CLASSES))


def log_softmax(row, column):
    return x[row, column] - log_sum_exp(row)


REASONS = {
    "L": "Start.",
    "row": "Each row counts with the given derivative, and with the divisor of its reduction.",
    "zrow": "The z-loss is part of loss and an output of its own: both derivatives reach it.",
    "logp": "The label's entry, and by smoothing every entry; ignored rows are masked out.",
    "lse": "lse is subtracted from every logp of its row, and enters the z-loss squared.",
    "x": "x enters its own logp and lse, whose derivative is exp(x - lse) = exp(logp): the softmax.",
}


def _rows():
    """Return the tape of both losses of each row."""
    tape = Tape({C: [c, i, k], N: [r, p, l]})
    tape.input("x", {r: N, c: C})
    tape.input("weightOptional", {c: C})
    row_lse = tape.define(
        "lse",
        {r: N},
        log_sum_exp(r),
        "Each row has one such number.",
        "Log-sum-exp",
        lambda e: e.replace(_is_reciprocal_sum, lambda _: exp(-row_lse[r])),
    )
    logp = tape.define(
        "logp", {r: N, c: C}, x[r, c] - row_lse[r], "The logarithm of the softmax.", "Log-softmax"
    )
    m = tape.define("mask", {r: N}, kept(r), "0 where the label is to be ignored.", "Mask")
    wt = tape.define(
        "wt",
        {r: N},
        weight_of(r),
        "The weight of the label, picked by a delta.",
        "Weight of the label",
    )
    picked = Sum(KroneckerDelta(k, target[r]) * logp[r, k], CLASSES)
    smooth = Sum(weight[k] * logp[r, k], CLASSES)
    tape.define(
        "row",
        {r: N},
        -m[r] * ((1 - alpha) * wt[r] * picked + alpha / C * smooth),
        "The label has weight 1 - alpha, the rest is spread over all classes.",
        "Loss of a row",
    )
    tape.define(
        "zrow",
        {r: N},
        lam * m[r] * row_lse[r] ** 2,
        "A penalty on large log-sum-exp.",
        "z-loss of a row",
    )
    return tape


@cache
def derive(reduction="mean"):
    """
    Derive xGradOut for one of the reductions "none", "mean" and "sum", with every option present.

    >>> derive("sum").steps[-1].title
    'xGradOut as documented'
    """
    tape, is_scalar = _rows(), reduction != "none"
    names = "lse", "logp", "mask", "wt", "row", "zrow"
    row_lse, logp, m, wt, row, zrow = (tape.nodes[name].base for name in names)
    divisor = zdivisor = S.One
    if reduction == "mean":
        divisor = tape.define("W", (), Sum(wt[l] * m[l], ROWS), "The mean is weighted.", "Divisor")
        zdivisor = tape.define(
            "count",
            (),
            Sum(m[l], ROWS),
            "The mean of the z-loss divides by the number of rows that count.",
            "Divisor of the z-loss",
        )
    g, gz = given("gradLoss", reduction, r), given("gradZlossOptional", reduction, r)
    loss = g * row[r] / divisor + (g + gz) * zrow[r] / zdivisor
    tape.define(
        "L",
        {} if is_scalar else {r: N},
        Sum(loss.subs(r, l), ROWS) if is_scalar else loss,
        "The loss is the sum of the outputs, each weighted with its given derivative; loss contains the z-loss.",
        "Scalar loss",
    )
    tape.backward("L", S.One, ["x"], REASONS)
    nll = tape.define(
        "nll", {r: N}, g * (1 - alpha) / divisor * m[r] * wt[r], "Scale of the label's part.", "nll"
    )
    sm = tape.define(
        "smooth", {r: N}, g * alpha / C / divisor * m[r], "Scale of the smoothing part.", "smooth"
    )
    zg = tape.define(
        "zgrad",
        {r: N},
        2 * lam * (g + gz) / zdivisor * m[r] * row_lse[r],
        "Scale of the z-loss part.",
        "zgrad",
    )
    prob = exp(logp[r, c])
    tape.conclude(
        "xGradOut",
        {r: N, c: C},
        prob * nll[r]
        - KroneckerDelta(c, target[r]) * nll[r]
        + prob * Sum(sm[r] * weight[k], CLASSES)
        - sm[r] * weight[c]
        + prob * zg[r],
        "x",
        "Collect the terms of nll, of smooth and of zgrad.",
    )
    return Derivation(tuple(tape.steps), tape)


def _is_reciprocal_sum(e):
    return e.is_Pow and e.exp == -1 and isinstance(e.base, Sum)


def divisors(reduction):
    """Return the divisors of the loss and of the z-loss."""
    if reduction != "mean":
        return S.One, S.One
    return Sum(weight_of(l) * kept(l), ROWS), Sum(kept(l), ROWS)


def documented(
    row,
    column,
    reduction="none",
    *,
    spread=None,
    zmask=True,
    divisor=None,
    own_grad=1,
    plain=1,
):
    """Return the documented xGradOut; each keyword changes one part of it."""
    by, zby = divisors(reduction)
    g, gz = given("gradLoss", reduction, row), given("gradZlossOptional", reduction, row)
    by = by if divisor is None else divisor
    nll = g * (plain - alpha) / by * kept(row) * weight_of(row)
    smooth = g * alpha / C / by * kept(row)
    zgrad = 2 * lam * lse[row] * (kept(row) if zmask else 1) * (own_grad * g + gz) / zby
    total = Sum(smooth * weight[k], CLASSES) if spread is None else smooth * spread
    prob = exp(logProb[row, column])
    return (
        prob * nll
        - KroneckerDelta(column, target[row]) * nll
        + prob * total
        - smooth * weight[column]
        + prob * zgrad
    )


@cache
def from_logits(e):
    """Substitute log-softmax for logProb and log-sum-exp for lse."""
    e = e.replace(lambda a: a.is_Indexed and a.base == logProb, lambda a: log_softmax(*a.indices))
    return e.replace(lambda a: a.is_Indexed and a.base == lse, lambda a: log_sum_exp(*a.indices))


@cache
def derived(reduction):
    tape = derive(reduction).tape
    return substitute(tape.inline(tape.adjoint("x")), {r: p, c: i})


def is_documented(reduction, **change):
    return [
        Equation(
            derived(reduction),
            from_logits(documented(p, i, reduction, **change)),
            ENTRY,
            shown=Symbol("xGradOut"),
        )
    ]


@book.theorem(
    "The derivative of log-softmax: identity minus softmax.",
    {"plus": {"sign": 1}, "softmax of the other class": {"other": True}},
)
def log_softmax_jacobian(sign=-1, other=False):
    prob = exp(log_softmax(p, i if other else q))
    expected = KroneckerDelta(i, q) + sign * prob
    return [Equation(gradient(log_softmax(p, i), x[p, q]), expected, {**ENTRY, q: (0, C - 1)})]


@book.theorem(
    "With mean, xGradOut is as documented: the divisor is the weight of the rows that count.",
    {
        "divided by the number of rows": {"divisor": N},
        "gradLoss not part of the z-loss": {"own_grad": 0},
        "1 - alpha forgotten": {"plain": 1 + alpha},
        "divided by the rows that count": {"divisor": Sum(kept(l), ROWS)},
    },
)
def xgrad_of_mean(**change):
    return is_documented("mean", **change)


@book.theorem(
    "Without z-loss, xGradOut of logits sums to 0 over each row.",
    {"with z-loss": {"scale": lam}, "smoothing without the weight sum": {"spread": C}},
)
def rows_sum_to_zero(scale=S.Zero, spread=None):
    total = Sum(substitute(documented(p, c, spread=spread), {lam: scale}), (c, 0, C - 1))
    return [Equation(from_logits(total), 0, {p: ENTRY[p]}, shown=total)]


@book.theorem(
    "Unnormalised log-probabilities show in the row sum: it is (nll + smooth sum w)(sum p - 1).",
    {"sum p": {"one": 0}, "only the term nll": {"smoothing": 0}},
)
def row_sum_of_unnormalised_input(one=1, smoothing=1):
    total = Sum(substitute(documented(p, c), {lam: S.Zero}), (c, 0, C - 1))
    scale = (
        given("gradLoss", "none", p)
        * kept(p)
        * ((1 - alpha) * weight_of(p) + smoothing * alpha / C * Sum(weight[k], CLASSES))
    )
    return [
        Equation(
            total, scale * (Sum(exp(logProb[p, c]), (c, 0, C - 1)) - one), {p: ENTRY[p], **LABELS}
        )
    ]


@book.theorem(
    "The plain mean (no weights, smoothing, ignored labels, z-loss) is (softmax - one-hot) / N.",
    {"divided by N twice": {"factor": 1 / N}, "sign flipped": {"factor": -1}},
)
def plain_mean(factor=1):
    plain = substitute(documented(p, i, "mean"), {lam: S.Zero, alpha: S.Zero}).replace(
        lambda e: e.is_Indexed and e.base == weight, lambda _: S.One
    )
    plain = plain.replace(
        lambda e: e.is_Function and e.has(ignore) and isinstance(e, KroneckerDelta),
        lambda _: S.Zero,
    )
    expected = (
        factor
        * given("gradLoss", "mean", p)
        * (exp(logProb[p, i]) - KroneckerDelta(i, target[p]))
        / N
    )
    return [Equation(plain, expected, {**ENTRY, **LABELS})]


@book.theorem(
    "A row whose label is ignored gets gradient 0, with or without a label among the classes.",
    {"z-loss not masked": {"zmask": False}, "another row ignored": {"row": q}},
)
def ignored_rows_get_zero(zmask=True, row=p):
    return [Equation(substitute(documented(p, i, zmask=zmask), {target[row]: ignore}), 0, ENTRY)]


@book.theorem(
    "When all rows are ignored, mean divides 0 by 0: nothing defines the gradient.",
    {"the divisor is 1": {"expected": S.One}, "gradient of a row that counts": {"masked": False}},
)
def all_rows_ignored(expected=S.Zero, masked=True):
    divisor = divisors("mean")[0].replace(
        lambda e: e.is_Indexed and e.base == target, lambda _: ignore
    )
    numerator = documented(p, i, "sum")
    if masked:
        numerator = substitute(numerator, {target[p]: ignore})
    return [Equation(divisor, expected), Equation(numerator, 0, ENTRY)]


@book.theorem(
    "The gradient of the weighted mean does not change when all weights are scaled by one factor.",
    {
        "the gradient of the weighted sum": {"reduction": "sum"},
        "the z-loss is scaled by 2, too": {"zscale": 2},
    },
)
def weighted_mean_ignores_scale(reduction="mean", zscale=1):
    kappa = Symbol("kappa", positive=True)
    e = documented(p, i, reduction)
    scaled = e.replace(lambda a: a.is_Indexed and a.base == weight, lambda a: kappa * a)
    return [Equation(substitute(scaled, {lam: zscale * lam}), e, ENTRY)]
