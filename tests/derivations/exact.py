"""An evaluator that shares nothing with the package: plain loops over exact fractions, sums from low to high."""

from fractions import Fraction

from sympy import Add, Indexed, KroneckerDelta, Mul, Pow, Rational, Sum, Symbol


def exact(e, values, arrays):
    """
    The value of `e` as a Fraction; `values` maps symbols to integers, `arrays` maps names to functions of the indices.

    Raises ZeroDivisionError where `e` is undefined.
    """
    if isinstance(e, Rational):
        return Fraction(int(e.p), int(e.q))
    if isinstance(e, Symbol):
        return Fraction(values[e])
    if isinstance(e, Indexed):
        return Fraction(arrays[e.base.name](*[int(exact(i, values, arrays)) for i in e.indices]))
    if isinstance(e, Add):
        return sum((exact(arg, values, arrays) for arg in e.args), Fraction(0))
    if isinstance(e, Mul):
        result = Fraction(1)
        for arg in e.args:
            result *= exact(arg, values, arrays)
        return result
    if isinstance(e, Pow):
        return exact(e.base, values, arrays) ** int(e.exp)
    if isinstance(e, KroneckerDelta):
        return Fraction(exact(e.args[0], values, arrays) == exact(e.args[1], values, arrays))
    assert isinstance(e, Sum), type(e)
    *inner, (v, low, high) = e.limits  # the last limit is the outermost
    body = Sum(e.function, *inner) if inner else e.function
    first, last = exact(low, values, arrays), exact(high, values, arrays)
    assert last >= first - 1, "a sum that runs backwards has no agreed value"
    return sum(
        (exact(body, {**values, v: k}, arrays) for k in range(int(first), int(last) + 1)),
        Fraction(0),
    )
