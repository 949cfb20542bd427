"""Replace entries of symbolic arrays by names, so that a proof need not examine their formulas."""

from functools import lru_cache

from sympy import Indexed, KroneckerDelta, Pow, Sum, Symbol, exp, log

from aclnn_viz.proving.steps import BOOL, REAL, TRUTHS, Magnitude, Step, Whether

SMALL_SUM = 7  # operations of the largest sum without a name


def named(array, e, index):
    """Return a name for an entry, the same in equal arrays; a small polynomial of entries and names stays as it is."""
    # a formula of indices alone stays as it is
    of_sizes = not array.deps and not e.has(*((Step, Indexed) if array.kind == REAL else TRUTHS))
    if array.leaf or array.cases or array.kind == BOOL or of_sizes or not _is_large(e):
        return e
    # equal entries of different arrays get one name
    return _numbered(array, array.key if e.has(Sum) else _placed(e, index), index, array.kind)


@lru_cache(maxsize=1 << 14)
def _is_large(e):
    return (
        e.has(Sum, Step, Magnitude, exp, log)
        or e.is_Add
        and e.count_ops() > SMALL_SUM
        or any(p.exp.is_Integer is not True for p in e.atoms(Pow))
    )


@lru_cache(maxsize=1 << 14)
def _placed(e, index):
    """Return an entry as a key, with its indices renamed by position."""
    return e.xreplace({i: Symbol(f"_{k}", integer=True) for k, i in enumerate(index)})


def _numbered(array, key, index, kind):
    return array.xp.named(f"#{array.xp.names.setdefault(key, len(array.xp.names))}", index, kind)


def truth_named(array, e, index):
    """Name an entry as `named` does; an indicator built from several comparisons gets one name."""
    if array.kind == BOOL and not e.has(Sum, KroneckerDelta) and len(e.atoms(*TRUTHS)) > 1:
        return Whether(_numbered(array, _placed(e, index), index, REAL))
    return named(array, e, index)


def by_key(array, e, index):
    """Name an entry without examining it: arrays that were computed alike get the same name."""
    name = array.xp.named(f"@{array.key}", index, REAL if array.kind == BOOL else array.kind)
    return Whether(name) if array.kind == BOOL else name
