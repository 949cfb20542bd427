"""Derivatives with respect to array entries, in index notation."""

from functools import lru_cache

from sympy import Add, Indexed, KroneckerDelta, Mul, Pow, S, Sum, erf, exp, log, pi, sqrt, tanh

from derivations.prover.expressions import NotUnderstood, freshen

SLOPES = {
    exp: exp,
    log: lambda u: 1 / u,
    tanh: lambda u: 1 - tanh(u) ** 2,
    erf: lambda u: 2 * exp(-(u**2)) / sqrt(pi),
}


@lru_cache(maxsize=1 << 14)
def gradient(e, leaf):
    """Return the derivative of `e` by `leaf`, a symbol or an array entry x[p, i] with its own indices.

    Bound indices of `e` are renamed first, so they never meet the indices of `leaf`. Raises NotUnderstood for functions whose
    derivative is not defined everywhere, such as Piecewise or floor.

    >>> from sympy import IndexedBase, Sum, symbols
    >>> i, j, n = symbols("i j n", integer=True)
    >>> x = IndexedBase("x")
    >>> gradient(Sum(x[j] ** 2, (j, 0, n - 1)), x[j]).function.has(x[j])
    False
    """
    return _gradient(freshen(e), leaf)


def _gradient(e, leaf):
    if e == leaf:
        return S.One
    if isinstance(e, Indexed):
        if isinstance(leaf, Indexed) and e.base == leaf.base:
            return Mul(*[KroneckerDelta(a, b) for a, b in zip(e.indices, leaf.indices)])
        return S.Zero
    if not _depends(e, leaf):
        return S.Zero
    if (
        getattr(type(e), "step", False)
        or isinstance(e, KroneckerDelta)
        and all(arg.is_integer for arg in e.args)
    ):
        return S.Zero  # step functions and deltas are constant except for jumps
    if isinstance(e, Add):
        return Add(*[_gradient(arg, leaf) for arg in e.args])
    if isinstance(e, Mul):
        return Add(
            *[
                Mul(*e.args[:k], _gradient(arg, leaf), *e.args[k + 1 :])
                for k, arg in enumerate(e.args)
            ]
        )
    if isinstance(e, Sum):
        return Sum(_gradient(e.function, leaf), *e.limits)
    if type(e) in SLOPES:
        return SLOPES[type(e)](e.args[0]) * _gradient(e.args[0], leaf)
    if isinstance(e, Pow) and not _depends(e.exp, leaf):
        return e.exp * Pow(e.base, e.exp - 1) * _gradient(e.base, leaf)
    if hasattr(e, "slope"):  # the derivative by the first argument
        return e.slope * _gradient(e.args[0], leaf)
    raise NotUnderstood(f"the derivative of {type(e).__name__}")


def _depends(e, leaf):
    return e.has(leaf.base) if isinstance(leaf, Indexed) else e.has(leaf)
