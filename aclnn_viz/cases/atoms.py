"""List the facts about a test case that may matter to a kernel (modes, lengths, special numbers), so that a suite can show
each.

They follow from the declaration, the page and the numbers; no fact is written for one operator.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import combinations

import numpy as np

from aclnn_viz.cases.case import Case
from aclnn_viz.cases.ways import Ways
from aclnn_viz.operators import Operator
from aclnn_viz.operators.arrangement import asked
from aclnn_viz.operators.parameters import REQUIRED
from aclnn_viz.operators.patterns import chosen, value

# families of atoms, which are facts about a case; the most important family first
PAGE, ROWS, LENGTHS, GEOMETRY, PAIRS = "page", "rows", "lengths", "geometry", "pairs"
# An atom belongs in a suite if more than this share of random cases show it, by family.
OFTEN = {PAGE: 0.0, ROWS: 0.0, LENGTHS: 0.006, GEOMETRY: 0.013, PAIRS: 0.013}
# a length below EXACT is told exactly; a longer one by the power of two below it, at most LONGEST
EXACT, LONGEST = 17, 4096
FEWER = 4, 8  # factors of the relation "N times as large"
AXES = 6  # relations distinguish only the last AXES axes of a tensor

Atoms = dict[tuple[str, str], bool]


@lru_cache
def ways_of(op: Operator) -> Ways:
    return Ways(op)


@np.errstate(all="ignore")
def atoms(made: Case) -> Atoms:
    """Return {(family, words): whether it holds} of every fact (atom) about a case that may matter to a kernel.

    >>> import aclnn_viz as av
    >>> atoms(av.case("softplus", shape=(3, 4)))["rows", "self: all 0"]
    False
    """
    bound = made.operator.bind(made.inputs)
    sizes = made.operator.fitting(bound)[1]
    numbers = numbers_of(made.operator, bound, sizes)
    if not made.inputs[made.operator.like].size:  # an empty tensor has no numbers to compare
        numbers = {name: n for name, n in numbers.items() if n == 0}
    picked = choices(made)
    families = (
        (PAGE, ways_of(made.operator).of(made.inputs).items()),
        (ROWS, _rows(made, bound)),
        (LENGTHS, _lengths(made, numbers)),
        (GEOMETRY, _geometry(made, bound, sizes, numbers)),
        (
            PAIRS,
            ((f"{a}={x}, {b}={y}", True) for (a, x), (b, y) in combinations(picked.items(), 2)),
        ),
    )
    return {(family, text): bool(holds) for family, found in families for text, holds in found}


def choices(made: Case) -> dict:
    """Return the chosen value of each attribute and optional tensor as one word."""
    op, found = (
        made.operator,
        {
            "dtype": made.dtype,
            "strided": any(not x.flags.c_contiguous for x in made.arrays.values()),
        },
    )
    for p in op.parameters:
        x = made.inputs.get(p.name)
        if p.kind == "tensor":
            found |= {p.name: x is not None} if p.optional and not p.reserved else {}
            continue
        a = op.attributes[p.name]
        if a.follows or a.default is REQUIRED or p.name in op.sizes.values():
            continue
        usual = [a.default, *a.tries]
        if isinstance(x, tuple) and p.kind != "bools":
            found[p.name] = (len({*x}) > 1 and "unlike") or len(x)
        elif p.kind in ("int", "float") and not a.values and x not in usual:
            place = "above" if x > max(usual) else "below" if x < min(usual) else "between"
            place += " 1" * (x > 1 > max(usual))
            found[p.name] = f"{'negative, ' * (x < 0)}{place}"
        else:
            found[p.name] = x
    return found


def numbers_of(op: Operator, bound: dict, sizes: dict) -> dict[str, float]:
    """Return the numbers of a call: lengths by letter or by tensor and axis, the size of the first tensor, numeric attributes."""
    found, patterns = {k: n for k, n in sizes.items() if not isinstance(n, tuple)}, set()
    for name, array in bound.items():
        if not isinstance(array, np.ndarray):
            continue
        pattern = chosen(op.tensors[name].shape, bound)
        another = pattern.text not in patterns or pattern.stretched
        if another and (pattern.starred or pattern.stretched):
            last = array.shape[-AXES:]
            found |= {f"{name}[{at - len(last)}]": n for at, n in enumerate(last)}
        if name == op.like or another and pattern.starred:
            found[f"all {name}"] = array.size
        patterns.add(pattern.text)
    for name, a in op.attributes.items():
        entries, named = bound.get(name), {*op.sizes.values()}
        if isinstance(entries, tuple) and {*map(type, entries)} == {int}:
            listed = {f"{name}[{at}]": n for at, n in enumerate(entries)}
            found |= {entry: n for entry, n in listed.items() if entry not in named}
        elif type(entries) in (int, float) and not a.values and name not in named:
            found[name] = entries
    return found


def _relations(a: float, b: float) -> Iterator[tuple[str, bool]]:
    yield from (("<", a < b), ("=", a == b), (">", a > b))
    for k in (1, 2, 3):
        yield from ((f"{k} more than", a - b == k), (f"{k} less than", b - a == k))
    if a > 0 and b > 0:
        yield from (("= 2 *", a == 2 * b), ("= 1/2 *", b == 2 * a))
        yield from ((f">= {k} *", a >= k * b) for k in FEWER)
        yield from ((f"<= 1/{k} *", b >= k * a) for k in FEWER)
        whole = max(a, b) % min(a, b) == 0
        yield from (("a whole ratio to", whole and a != b), ("no whole ratio to", not whole))


def _lengths(made: Case, numbers: dict) -> Iterator[tuple[str, bool]]:
    op, shape = made.operator, made.inputs[made.operator.like].shape
    for name, array in made.arrays.items():
        yield f"{name} of rank {array.ndim}", True
        yield f"{name} strided", not array.flags.c_contiguous
    yield from ((f"{op.like}[{k}] > 1", shape[k] > 1) for k in range(-len(shape), -AXES))
    for name, n in numbers.items():
        if n == int(n):
            n = int(n)
            least = n if n <= EXACT else min(1 << n.bit_length() - 1, LONGEST)
            yield f"{name} {'=' if n < EXACT else '>='} {least}", True
            yield from ((f"{name} % {d} = {n % d}", True) for d in (3, 4, 5, 8) if n > d)


def _geometry(made: Case, bound: dict, sizes: dict, numbers: dict) -> Iterator[tuple[str, bool]]:
    op = made.operator
    for (one, a), (other, b) in combinations(numbers.items(), 2):
        for relation, holds in _relations(a, b):
            yield f"{one} {relation} {other}", holds
    axes = [chosen(op.tensors[t].shape, bound).axes[-2:] for t in (op.first, *op.upstream)][:2]
    both = [(a, b) for a, b in zip(*axes) if a != b and {a, b} <= numbers.keys()]
    if len(both) == 2:  # relations of two tensors' axes that hold for two axes at once
        told = [
            [f"{a} {way} {b}" for way, holds in _relations(numbers[a], numbers[b]) if holds]
            for a, b in both
        ]
        yield from ((f"{first} and {second}", True) for first in told[0] for second in told[1])
    for name, a in op.attributes.items():
        for end in () if a.follows or bound.get(name) is None else (a.low, a.high):
            if (limit := value(str(end), bound | sizes)) is not None:
                yield f"{name} at its end {end}", np.any(np.equal(bound[name], limit))


def _rows(made: Case, bound: dict) -> Iterator[tuple[str, bool]]:
    """Yield (words, whether true) on rows and numbers of each tensor; nothing if the call omits an output."""
    op, whole = made.operator, {k: v for k, v in made.inputs.items() if type(v) is int}
    flags = [tensor.asked for tensor in op.tensors.values() if tensor.asked]
    if not all(asked(flag, bound) for flag in flags):
        return
    for name, array in made.arrays.items():
        if not array.size or name in op.saved and op.first in made.inputs:
            continue
        rows = array.reshape(-1, array.shape[-1] if array.ndim else 1)
        if array.dtype.kind == "b" or array.dtype == np.uint8:
            found = _of_bits(rows.astype(bool))
        elif array.dtype.kind in "iu":
            found = _of_places(array, whole)
        else:
            found = _of_floats(rows.astype(np.float64))
        yield from ((f"{name}: {text}", holds) for text, holds in found)


def _of_bits(rows: np.ndarray) -> Iterator[tuple[str, bool]]:
    full = rows.all(1)
    yield "all set", full.all()
    yield "none set", not rows.any()
    yield "a row all set, not every", full.any() and not full.all()


def _of_places(array: np.ndarray, whole: dict) -> Iterator[tuple[str, bool]]:
    most = int(np.unique(array, return_counts=True)[1].max())
    yield from ((f"a number {n} times", most >= n) for n in (2, 4, 10, 17))
    yield "no number twice", most == 1
    for name, number in whole.items():
        same = array == number
        yield f"all {name}", same.all()
        yield f"{name} among others", same.any() and not same.all()
        yield f"no {name}", not same.any()


def _of_floats(rows: np.ndarray) -> Iterator[tuple[str, bool]]:
    zero, several = rows == 0, rows.shape[1] > 1
    same = (np.ptp(rows, axis=1) == 0) & several
    yield "all 0", zero.all()
    yield "0 among others", zero.any() and not zero.all()
    yield "-0", (zero & np.signbit(rows)).any()
    yield "a row of 0, not every", (zero.all(1) & several).any() and not zero.all()
    yield "a constant row, not every", same.any() and not same.all()
    yield "every row constant", same.all()
    yield "a one-hot row", ((~zero).sum(1) == 1).any() and several
    yield "0 and 1 alone", np.isin(rows, (0, 1)).all() and not zero.all()
    yield "equal neighbours in an unlike row", (np.diff(rows) == 0)[~same].any()
    yield from ((f"above {n}", (rows > n).any()) for n in (2, 10, 30, 90))
    yield from ((f"below -{n}", (rows < -n).any()) for n in (2, 10, 30, 104))
