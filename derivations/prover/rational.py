"""Zero test by rational identities: compares as fractions of polynomials what the normal form leaves."""

from functools import lru_cache
from math import lcm, prod

from sympy import (
    Add,
    Dummy,
    Indexed,
    Integer,
    Mul,
    Poly,
    Pow,
    Rational,
    Sum,
    Tuple,
    exp,
    expand,
    fraction,
    prime,
    together,
)

from derivations.prover.expressions import NotUnderstood
from derivations.prover.ranges import is_nonnegative

MAX_ATOMS = 60
MAX_OPS = 6000
MODULUS = 2**61 - 1  # a prime that is 3 modulo 4


def is_rationally_zero(e):
    """Return True if `e`, in normal form, is 0 as a fraction of polynomials in its atoms.

    Atoms (entries, sums, exponentials, roots, other functions) are replaced by plain symbols without assumptions, so only
    identities of fractions count, together with root**q = radicand and exp(a + b) = exp(a) exp(b). Sums over the same limits
    are also compared term by term.
    """
    if operations(e) > MAX_OPS:
        raise NotUnderstood("too large for a rational identity")
    return _is_zero_fraction(e) or _is_zero_termwise(e)


@lru_cache(maxsize=64)
def operations(e):
    """Return the number of operations of an expression: additions, products and function calls, without array entries."""
    count, todo = 0, [e]
    while todo:
        node = todo.pop()
        if node.args and not isinstance(node, (Indexed, Tuple)):
            count += len(node.args) - 1 if isinstance(node, (Add, Mul)) else 1
            todo += node.args
    return count


def terms(e):
    """Return an upper bound for the terms of a fraction's numerator when multiplied out."""
    if isinstance(e, Add):
        return sum(map(terms, e.args))
    if isinstance(e, Mul):
        return prod(map(terms, e.args))
    return terms(e.base) ** abs(int(e.exp)) if isinstance(e, Pow) and e.exp.is_Integer else 1


def _is_zero_fraction(e):
    atoms = _Atoms(e)
    in_atoms = atoms.rational(e)
    if atoms.refute(in_atoms):
        return False
    numerator, denominator = fraction(together(in_atoms))
    if len(atoms.symbols) > MAX_ATOMS:
        raise NotUnderstood("too many different atoms for a rational identity")
    return atoms.vanishes(numerator) and not atoms.vanishes(denominator)


def _is_zero_termwise(e):
    """Collect the terms under common limits: sum f + sum g is 0 when f + g is 0 for every index."""
    groups, loose = {}, []
    for term in Add.make_args(e):
        sums = [f for f in Mul.make_args(term) if isinstance(f, Sum)]
        if sums:
            groups.setdefault(sums[0].limits, []).append(term / sums[0] * sums[0].function)
        else:
            loose.append(term)
    if len(groups) == 1 and loose:  # a constant c becomes the sum of c / length
        limits = next(iter(groups))
        lengths = [last + 1 for _, _, last in limits]
        if all(is_nonnegative(length - 1) for length in lengths):
            groups[limits].append(Add(*loose) / Mul(*lengths))
            loose = []
    return (
        bool(groups)
        and not loose
        and all(_is_zero_fraction(Add(*bodies)) for bodies in groups.values())
    )


class _Atoms:
    """Symbols for the atoms of an expression, and the relations root**q = radicand among them."""

    def __init__(self, e):
        self.symbols, self.roots, self.fractions = {}, [], {}
        for exponential in e.atoms(exp):
            for coefficient, rest in map(_split, Add.make_args(expand(exponential.args[0]))):
                self.fractions[rest] = lcm(self.fractions.get(rest, 1), coefficient.q)

    def rational(self, e):
        if e.is_Rational:
            return e
        if isinstance(e, (Add, Mul)):
            return e.func(*[self.rational(arg) for arg in e.args])
        if isinstance(e, exp):
            return Mul(
                *[self._exponential(*_split(term)) for term in Add.make_args(expand(e.args[0]))]
            )
        if isinstance(e, Pow) and e.exp.is_Integer:
            return Pow(self.rational(e.base), e.exp)
        if isinstance(e, Pow) and e.exp.is_Rational:
            return self._root(e.base, e.exp.q) ** e.exp.p
        return self._symbol(e)

    def _symbol(self, e):
        return self.symbols.setdefault(e, Dummy(f"a{len(self.symbols)}"))

    def _exponential(self, coefficient, rest):
        # exp(t/2) and exp(t/3) are powers of the symbol for exp(t/6)
        unit = self.fractions[rest]
        return self._symbol(exp(rest / unit)) ** (coefficient * unit)

    def _root(self, base, degree):
        root = Pow(base, Rational(1, degree))
        if root not in self.symbols:
            radicand = self.rational(base)  # list the roots inside the radicand first
            self.roots.append((self._symbol(root), degree, radicand))
        return self.symbols[root]

    def refute(self, e):
        """Return True if `e` is not 0 at some point modulo a prime, where about half of all numbers have a square root."""
        if any(degree != 2 for _, degree, _ in self.roots):
            return False
        atoms = [a for a in self.symbols.values() if all(a != root for root, _, _ in self.roots)]
        for attempt in range(4 << len(self.roots)) if len(self.roots) < 5 else ():
            values = {a: prime(k + 5 + attempt) for k, a in enumerate(atoms)}
            try:
                for root, _, radicand in self.roots:  # roots inside a radicand come first
                    values[root] = _square_root(_modulo(radicand, values))
                return _modulo(e, values) != 0
            except ValueError:  # a root does not exist, or a division by 0
                continue
        return False

    def vanishes(self, polynomial):
        for root, degree, radicand in reversed(self.roots):
            terms = Poly(polynomial, root).all_coeffs()[::-1]
            reduced = [
                c * root ** (k % degree) * radicand ** (k // degree) for k, c in enumerate(terms)
            ]
            polynomial = fraction(together(Add(*reduced)))[0]
        return expand(polynomial) == 0


def _modulo(e, values):
    """Return a fraction of polynomials modulo `MODULUS`; raise ValueError if it divides by 0."""
    if e in values:
        return values[e]
    if e.is_Rational:
        return e.p * pow(e.q, -1, MODULUS) % MODULUS
    parts = [_modulo(arg, values) for arg in (e.args if not e.is_Pow else e.args[:1])]
    if e.is_Pow:
        return pow(parts[0], int(e.exp), MODULUS)
    return (sum(parts) if e.is_Add else prod(parts)) % MODULUS


def _square_root(number):
    root = pow(number, (MODULUS + 1) // 4, MODULUS)
    if root * root % MODULUS != number:
        raise ValueError(f"a number with a square root: got {number}; try others")
    return root


def _split(term):
    coefficient, rest = term.as_coeff_Mul()
    return (coefficient, rest) if coefficient.is_Rational else (Integer(1), term)
