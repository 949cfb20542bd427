"""Normal form of expressions with sums over indices.

Rules, each valid for sums of any length: linearity; a product of sums is a sum of products over fresh indices; order of sums is
free (Fubini) unless a limit depends on another index; bound indices have no names; lower limits are moved to 0; factors that do
not contain an index leave its sum; a delta selects an entry if the index is proved to lie within the limits; a sum of a
constant is constant times length if the length is proved to be nonnegative.
"""

from functools import lru_cache
from itertools import product

from sympy import (
    Add,
    Indexed,
    KroneckerDelta,
    Mul,
    Piecewise,
    Pow,
    S,
    Sum,
    Symbol,
    default_sort_key,
    exp,
    expand_power_base,
)

from derivations.prover.canonical import closed, common_monomial, exponential_parts, positive_factor
from derivations.prover.expressions import (
    Names,
    NotUnderstood,
    TooLarge,
    expanded,
    freshen,
    insert,
    is_function,
    is_index,
    multiplied,
)
from derivations.prover.ranges import Ranges

MAX_TERMS = 4000  # a larger expansion is given up: not proved
MAX_POWER = 8
MAX_DELTAS = 40


@lru_cache(maxsize=2048)
def normal_form(e, ranges=Ranges()):
    """
    Rewrite `e` so that expressions equal by the rules of this module become the same expression.

    >>> from sympy import IndexedBase, Sum, symbols
    >>> i, j, n = symbols("i j n", integer=True)
    >>> x = IndexedBase("x")
    >>> normal_form(Sum(x[i], (i, 0, n - 1)) - Sum(x[j + 2], (j, -2, n - 3)))
    0
    """
    return NormalForm(ranges, Names(e))(e)


class NormalForm:
    """A rewriting to normal form with a cache; `names` gives names that do not occur in its input."""

    def __init__(self, ranges, names):
        self.ranges, self.names, self.memo, self.inserted = ranges, names, {}, {}

    def __call__(self, e):
        if not e.args or is_index(e):
            return e
        if e not in self.memo:
            terms = self._merged(self._terms(e))
            self.memo[e] = multiplied(
                Add(*[closed(factors, bounds, self) for factors, bounds in terms])
            )
        return self.memo[e]

    # Opening: an expression becomes a list of terms (factors, {index: last}), with indices from
    # 0.

    def _terms(self, e):
        if isinstance(e, Add):
            return [term for arg in e.args for term in self._terms(arg)]
        if isinstance(e, Mul):
            return self._product(e.args)
        if _is_expandable(e):
            return self._product([e.base] * int(e.exp))
        if isinstance(e, Sum):
            return self._opened(e)
        return self._factor(e)

    def _product(self, args):
        terms = [((), {})]
        for arg in args:
            factors = self._terms(arg)
            if len(terms) * len(factors) > MAX_TERMS:
                raise TooLarge("a product with too many terms")
            terms = [(f + g, {**b, **c}) for (f, b), (g, c) in product(terms, factors)]
        return terms

    def _opened(self, e):
        e = freshen(e, self.names)  # a product may contain the same sum several times
        if any(low.has(*e.variables) for _, low, _ in e.limits):
            raise NotUnderstood(f"a lower limit that depends on another index: {e}")
        shift = {v: v + low for v, low, _ in e.limits if low != 0}
        bounds = {v: expanded(self((high - low).xreplace(shift))) for v, low, high in e.limits}
        return [(f, {**b, **bounds}) for f, b in self._terms(e.function.xreplace(shift))]

    def _factor(self, e):
        """Return the terms of an expression that is not a sum, product or power to open: mostly itself, as one term.

        Its arguments are normalised first. If it then evaluates to another kind, as the square root of a square does, that is
        opened.
        """
        if not e.args or is_index(e) or isinstance(e, Piecewise):
            return [((e,), {})]
        if isinstance(e, Indexed):
            return [((Indexed(e.base, *[expanded(self(index)) for index in e.indices]),), {})]
        if isinstance(e, KroneckerDelta):
            return [((_delta(self(e.args[0] - e.args[1])),), {})]
        if isinstance(e, Pow):
            rebuilt = self._power(e)
        elif isinstance(e, exp) or is_function(e):
            rebuilt = e.func(*[self(arg) for arg in e.args])
        else:
            raise NotUnderstood(f"{type(e).__name__}: {e}")
        if isinstance(rebuilt, (Add, Sum)) or _is_expandable(rebuilt):
            return self._terms(rebuilt)
        return [(exponential_parts(rebuilt), {})]

    def _power(self, e):
        """Return base**exponent with a normalised base whose terms have no common factor and no denominators."""
        base, exponent = self(e.base), self(e.exp)
        if base.is_zero and not exponent.is_nonnegative:
            raise NotUnderstood(f"a pole: {e} divides by 0")
        if not base.is_Add:
            return expand_power_base(Pow(base, exponent))
        content, base = base.primitive()
        monomial = common_monomial(base)
        if not (exponent.is_Integer or monomial.is_positive):
            monomial = S.One
        # divide term by term, so that powers cancel
        base = multiplied(Add(*[term / monomial for term in base.args]))
        factor, base = (S.One, base) if exponent.is_Integer else positive_factor(base)
        return (
            Pow(content, exponent)
            * Pow(factor, exponent)
            * Pow(base, exponent)
            * Pow(monomial, exponent)
        )

    # One term: equal bases merge, deltas select entries.

    def _merged(self, terms, applied=frozenset()):
        todo, done = list(terms), []
        while todo:
            factors, bounds = todo.pop()
            merged = _divided(Mul(*factors))
            if merged.is_Add or any(
                isinstance(f, (Add, Sum)) or _is_expandable(f) for f in Mul.make_args(merged)
            ):
                todo += [(f, {**bounds, **b}) for f, b in self._terms(merged)]
            else:
                done += self._with_deltas(Mul.make_args(merged), bounds, applied)
            if len(todo) + len(done) > MAX_TERMS:
                raise TooLarge("a sum with too many terms")
        return done

    def _with_deltas(self, factors, bounds, applied):
        factors = [_single_delta(f) for f in factors]
        if S.Zero in factors:
            return []
        deltas, limits = (
            [f for f in factors if isinstance(f, KroneckerDelta)],
            tuple(bounds.items()),
        )
        for delta in deltas:
            index, value = _selected(delta, limits, self.ranges)
            if index is not None:
                others = [f for f in factors if f != delta]
                bounds = {v: last for v, last in bounds.items() if v != index}
                return self._merged(self._replaced(others, index, value, bounds), applied)
        for delta in deltas:
            index, value = _identified(delta, limits)
            if (
                delta not in applied
                and index is not None
                and any(f != delta and f.has(index) for f in factors)
            ):
                if len(applied) > MAX_DELTAS:
                    raise NotUnderstood("too many deltas")
                others = [f for f in factors if f != delta]
                terms = [((delta, *f), b) for f, b in self._replaced(others, index, value, bounds)]
                return self._merged(terms, applied | {delta})
        return [(tuple(factors), bounds)]

    def _replaced(self, factors, index, value, bounds):
        """Return the terms of the product of `factors` with `index` replaced; unchanged factors are not normalised again."""
        same = tuple(f for f in factors if not f.has(index))
        changed = self._product([self._inserted(f, index, value) for f in factors if f.has(index)])
        return [(same + f, {**bounds, **b}) for f, b in changed]

    def _inserted(self, f, index, value):
        """Return `f` with `index` replaced, cached, because one delta acts on many terms with the same factors."""
        key = f, index, value
        if key not in self.inserted:
            self.inserted[key] = insert(f, {index: value}, self.names)
        return self.inserted[key]


def _is_expandable(e):
    return (
        isinstance(e, Pow)
        and e.exp.is_Integer
        and 0 < e.exp <= MAX_POWER
        and isinstance(e.base, (Add, Mul, Sum))
    )


@lru_cache(maxsize=4096)
def _divided(term):
    """Rewrite s/(s + rest) as 1 - rest/(s + rest), so that no term has the s of its divisor in the numerator."""
    factors = Mul.make_args(term)
    for divisor in factors:
        if (
            isinstance(divisor, Pow)
            and divisor.base.is_Add
            and divisor.exp.is_Rational
            and divisor.exp.is_negative
        ):
            s, rest = _leading(divisor.base)
            if s and all(
                any(
                    f == part
                    or isinstance(f, Pow)
                    and f.base == part
                    and f.exp.is_Integer
                    and f.exp > 0
                    for f in factors
                )
                for part in Mul.make_args(s)
            ):
                return Add(term / s * divisor.base, -term / s * rest, evaluate=False)
    return term


@lru_cache(maxsize=4096)
def _leading(total):
    """Return (s, rest) with total = s + rest, where s is its first symbol, or else its only exponential; else (None, None)."""
    s = min(total.free_symbols, key=default_sort_key, default=None)
    if s in total.args and not (total - s).has(s):
        return s, total - s
    exponentials = [term for term in total.args if term.has(exp)]
    if len(exponentials) == 1 and all(isinstance(f, exp) for f in Mul.make_args(exponentials[0])):
        return exponentials[0], total - exponentials[0]
    return None, None


@lru_cache(maxsize=4096)
def _single_delta(f):
    """Reduce a power of a delta to the delta, and write equal deltas alike."""
    if (
        isinstance(f, Pow)
        and isinstance(f.base, KroneckerDelta)
        and f.exp.is_Integer
        and f.exp.is_positive
    ):
        f = f.base
    return _delta(f.args[0] - f.args[1]) if isinstance(f, KroneckerDelta) else f


@lru_cache(maxsize=4096)
def _delta(difference):
    """Return the delta that is 1 where `difference` is 0."""
    terms = Add.make_args(expanded(difference))
    positive = Add(*[term for term in terms if not term.could_extract_minus_sign()])
    return KroneckerDelta(positive, positive - expanded(difference))


@lru_cache(maxsize=4096)
def _selected(delta, limits, ranges):
    """Return (index, value) if the delta selects the entry `value` from the sum over `index`; `limits` are (index, last)."""
    bounds = dict(limits)
    from_zero = {v: (S.Zero, last) for v, last in limits}
    for index, value in _equations(delta, bounds):
        if (
            index in bounds
            and not bounds[index].has(*bounds)
            and ranges.contains(S.Zero, bounds[index], value, from_zero)
        ):
            return index, value
    return None, None


@lru_cache(maxsize=4096)
def _identified(delta, limits):
    """Return (index, value) such that `value` may replace `index` where the delta is 1; bound indices stay."""
    bounds = dict(limits)
    candidates = _equations(delta, bounds)
    if not candidates:
        return None, None
    return max(
        candidates,
        key=lambda c: (c[0] not in bounds, isinstance(c[0], Indexed), default_sort_key(c[0])),
    )


def _equations(delta, bounds):
    """Return all (index, value) that the delta equates, without indices on which a limit depends."""
    return [
        (atom, value)
        for atom, value in _solved(delta)
        if not any(b.has(atom) for b in bounds.values())
    ]


@lru_cache(maxsize=4096)
def _solved(delta):
    """Return all (index, value) that the delta equates."""
    difference, solved = expanded(delta.args[0] - delta.args[1]), []
    for term in Add.make_args(difference):
        coefficient, atom = term.as_coeff_Mul()
        rest = difference - term
        is_atom = isinstance(atom, (Symbol, Indexed)) or is_index(atom)
        if is_atom and abs(coefficient) == 1 and not rest.has(atom):
            solved.append((atom, expanded(-rest / coefficient)))
    return tuple(solved)
