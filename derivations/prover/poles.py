"""Poles inside sums: a sum over 1/i must not run through i = 0."""

from sympy import Dummy, Indexed, Mod, Mul, Pow, Sum, expand, factor_terms, fraction, log, together

from derivations.prover.expressions import NotUnderstood, has_sum
from derivations.prover.ranges import is_nonnegative


def require_no_poles(e, ranges):
    """Raise NotUnderstood if a sum may divide by 0 at one of its indices.

    Only divisors of indices and sizes are checked. That entries, parameters and their sums differ from 0 below a fraction line
    is an assumption of the equation, which its proof lists.
    """
    _require_no_poles(e, ranges, {})


def _require_no_poles(e, ranges, bounds):
    if (
        bounds
        and isinstance(e, (Pow, log, Mod))
        and not (isinstance(e, Pow) and e.exp.is_nonnegative)
    ):
        _require_nonzero(e, e.base if isinstance(e, Pow) else e.args[-1], ranges, bounds)
    if isinstance(e, Sum):
        inner = dict(bounds)
        for v, low, high in reversed(e.limits):
            inner[v] = (low, high)
        _require_no_poles(e.function, ranges, inner)
    elif bounds or has_sum(e):
        for arg in e.args:
            _require_no_poles(arg, ranges, bounds)


def _require_nonzero(e, base, ranges, bounds):
    if base.is_nonzero or not base.has(*bounds) or base.has(Indexed, Sum):
        return
    for factor in Mul.make_args(factor_terms(fraction(together(base))[0])):
        of_indices = all(
            s in bounds or s.is_integer or s in ranges.granted for s in factor.free_symbols
        )
        if of_indices and not factor.is_number and not _is_nonzero(factor, ranges, bounds):
            raise NotUnderstood(f"a possible pole: {e} for {', '.join(map(str, bounds))}")


def _is_nonzero(base, ranges, bounds):
    rising = {
        v: low + Dummy(v.name, integer=True, nonnegative=True) for v, (low, _) in bounds.items()
    }
    base = base.base if isinstance(base, Pow) else base
    return (
        base.is_nonzero
        or ranges.contains(1, None, base, bounds)
        or ranges.contains(None, -1, base, bounds)
        or is_nonnegative(expand(base.xreplace(rising)) - 1)
    )
