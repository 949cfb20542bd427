"""Attention of one head, s = scale q k^T, a = softmax of its rows, y = a v: derivation and proof of its gradients, whole and in
blocks.

Documented backward (aclnnFlashAttentionScoreGrad, CANN operator documentation). Rows i = 0..m-1 are queries, columns j = 0..n-1
keys, c = 0..d-1 the elements of both, e = 0..w-1 those of values. In blocks, a row has a part A of columns and then a block B;
a maximum, a sum and an output are known of A. As A may be any number of blocks, a theorem about A and B holds for all blocks.
"""

from functools import cache

from sympy import IndexedBase, Sum, Symbol, exp, symbols

from derivations.prover.formulas import Derivation
from derivations.prover.gradient import gradient
from derivations.prover.notation import array_symbols, index_symbols, size_symbols
from derivations.prover.tape import Tape
from derivations.prover.theorem import Book, Equation

CHAPTER, book = 7, Book("flash_attention_score")
i, i1, j, j1, j2, c, c1, e, e1 = index_symbols("i i1 j j1 j2 c c1 e e1")
m, n, d, w = size_symbols("m n d w")
q, k, v, dy, y = array_symbols("query keyIn value dy y")
s, a = array_symbols("s a")
scale = Symbol("scaleValue", real=True)


@cache
def derive():
    """
    Derive the gradients by query, key and value from the forward definition, for any number of rows, columns and elements.

    >>> derive().steps[0].title
    'Scores'
    """
    tape = Tape({m: [i, i1], n: [j, j1, j2], d: [c, c1], w: [e, e1]})
    tape.input("query", {i: m, c: d})
    tape.input("keyIn", {j: n, c: d})
    tape.input("value", {j: n, e: w})
    tape.define(
        "s",
        {i: m, j: n},
        scale * Sum(q[i, c] * k[j, c], (c, 0, d - 1)),
        "Each query is multiplied by each key.",
        "Scores",
    )
    tape.define(
        "a",
        {i: m, j: n},
        exp(s[i, j]) / Sum(exp(s[i, j1]), (j1, 0, n - 1)),
        "The maximum of a row cancels.",
        "Softmax of a row",
    )
    tape.define(
        "y",
        {i: m, e: w},
        Sum(a[i, j] * v[j, e], (j, 0, n - 1)),
        "A mean of the values.",
        "Weigh the values",
    )
    tape.backward(
        "y",
        dy[i, e],
        ["query", "keyIn", "value"],
        {
            "y": "dy is given.",
            "a": "Each weight enters all elements of its row of y.",
            "value": "Each value enters all rows of y.",
            "s": "Each score enters its own weight directly, and all weights of its row through their sum.",
            "query": "Each query is multiplied by all keys.",
            "keyIn": "Each key is multiplied by all queries.",
        },
    )
    for (name, (formula, indices)), node in zip(documented().items(), ("query", "keyIn", "value")):
        tape.conclude(
            name,
            indices,
            formula,
            node,
            "As derived: the sum of a row needs only one number a row, the sum of dy y.",
        )
    return Derivation(tuple(tape.steps), tape)


def of_scores(row, column):
    """Return dS: the weight times the difference of its gradient and the row's weighted mean gradient."""
    gets = Sum(dy[row, e] * v[column, e], (e, 0, w - 1))
    return a[row, column] * (gets - Sum(dy[row, e1] * y[row, e1], (e1, 0, w - 1)))


def documented():
    """Return each output with its indices; dS, which the document leaves out, is written out."""
    return {
        "dqOut": (scale * Sum(of_scores(i, j) * k[j, c], (j, 0, n - 1)), {i: m, c: d}),
        "dkOut": (scale * Sum(of_scores(i, j) * q[i, c], (i, 0, m - 1)), {j: n, c: d}),
        "dvOut": (Sum(a[i, j] * dy[i, e], (i, 0, m - 1)), {j: n, e: w}),
    }


# In blocks, columns of A and columns of B have different names.

p, b = size_symbols("p b")  # the numbers of columns of A and B
top, top_a, top_b = symbols("max maxA maxB", real=True)
A, B = (
    (IndexedBase(f"s{x}", real=True), IndexedBase(f"v{x}", real=True), length)
    for x, length in (("A", p), ("B", b))
)


def summed(part, shift, of=lambda value, column: 1, row=i):
    """Return the sum of exp(s - shift) over the columns of a part, each times `of` its column."""
    scores, values, length = part
    return Sum(exp(scores[row, j1] - shift) * of(values, j1), (j1, 0, length - 1))


def total(shift, row=i):
    return summed(A, shift, row=row) + summed(B, shift, row=row)


def output(element, shift=0, row=i):
    """Return y of a row over both parts."""
    of = lambda values, column: values[column, element]  # noqa: E731
    return (summed(A, shift, of, row) + summed(B, shift, of, row)) / total(shift, row)


def gets(row, column):
    return Sum(dy[row, e] * B[1][column, e], (e, 0, w - 1))


def saved(row):
    """Return D of a row, from the output over all blocks."""
    return Sum(dy[row, e1] * output(e1, row=row), (e1, 0, w - 1))


def loss():
    return Sum(dy[i, e] * output(e), (e, 0, w - 1), (i, 0, m - 1))


@book.theorem(
    "The sums of the exponentials of two parts, each with a number of its own subtracted, add up after rescaling to the sum of the row with a third number subtracted: for parts of any length.",
    {
        "part A is not rescaled": {"of_a": 0},
        "part A is rescaled by the inverse factor": {"of_a": top - top_a},
        "part B is not rescaled": {"of_b": 0},
    },
)
def running_sum(of_a=top_a - top, of_b=top_b - top):
    return [
        Equation(
            exp(of_a) * summed(A, top_a) + exp(of_b) * summed(B, top_b), total(top), {i: (0, m - 1)}
        )
    ]


@book.theorem(
    "Outputs of two parts, rescaled as their sums are, give the output of the row.",
    {
        "the output of part A is not rescaled": {"of_a": 0},
        "divided by the sum of part B alone": {"over": summed(B, top)},
    },
)
def running_output(of_a=top_a - top, over=None):
    of = lambda values, column: values[column, e]  # noqa: E731
    joined = exp(of_a) * summed(A, top_a, of) + exp(top_b - top) * summed(B, top_b, of)
    return [Equation(joined / (total(top) if over is None else over), output(e), {i: (0, m - 1)})]


@book.theorem(
    "Whatever number is subtracted in place of the maximum, the output is the same: the maximum only keeps exponentials small.",
    {
        "the number is subtracted from the scores in the numerator alone": {"under": 0},
        "the number is subtracted from the scores in the sum alone": {"over": 0},
    },
)
def any_maximum(over=top, under=top):
    of = lambda values, column: values[column, e]  # noqa: E731
    return [
        Equation(
            (summed(A, over, of) + summed(B, over, of)) / total(under), output(e), {i: (0, m - 1)}
        )
    ]


@book.theorem(
    "The gradient of a score of one block needs only that block and three numbers of its row: a maximum, a sum and D, the sum of dy y.",
    {
        "D left out": {"less": lambda row: 0},
        "the sum of the block alone": {"over": lambda shift, row: summed(B, shift, row=row)},
        "no maximum": {"shift": 0},
    },
)
def gradient_of_a_score(less=saved, over=total, shift=top):
    made = exp(B[0][i1, j] - shift) / over(top, i1) * (gets(i1, j) - less(i1))
    return [Equation(gradient(loss(), B[0][i1, j]), made, {i1: (0, m - 1), j: (0, b - 1)})]


@book.theorem(
    "The gradient of a value of one block adds up over the rows, with the weights computed again.",
    {
        "weights of the block alone": {"over": lambda shift, row: summed(B, shift, row=row)},
        "no maximum": {"shift": 0},
    },
)
def gradient_of_a_value(over=total, shift=top):
    made = Sum(exp(B[0][i, j] - shift) / over(top, i) * dy[i, e], (i, 0, m - 1))
    return [Equation(gradient(loss(), B[1][j, e]), made, {j: (0, b - 1), e: (0, w - 1)})]
