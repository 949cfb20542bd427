"""Right kernels whose sums are ordered to err most: an attack on tolerances that are called sound."""

from dataclasses import replace

import numpy as np

import aclnn_viz as av
from aclnn_viz.arrays.plan import Plan
from aclnn_viz.arrays.plan_arrays import PlannedArray, PlannedArrays, is_float
from aclnn_viz.arrays.sums import along, sum_axes
from aclnn_viz.checking.judge import once_per_case, pages
from aclnn_viz.operators import plans

# Orders of the terms of a sum (count, ...), and the ways to add them.
COMES = {
    "as they are": lambda terms, rng: terms,
    "reversed": lambda terms, rng: terms[::-1],
    "shuffled": lambda terms, rng: rng.permutation(terms),
    "small first": lambda terms, rng: by_key(terms, np.abs(terms)),
    "large first": lambda terms, rng: by_key(terms, -np.abs(terms)),
    "negative first": lambda terms, rng: by_key(terms, terms),
    "signs in turn": lambda terms, rng: by_key(terms, in_turn(terms)),
    "worst first": lambda terms, rng: worst(terms, 1.0),
    "worst first, downwards": lambda terms, rng: worst(terms, -1.0),
}
ADDS = {
    "one by one": lambda terms, rng: np.add.accumulate(terms, axis=0)[-1],
    "by neighbours": lambda terms, rng: tree(terms),
    "by halves": lambda terms, rng: halves(terms),
    "in blocks": lambda terms, rng: blocks(terms, int(rng.integers(2, 9))),
    "in odd blocks": lambda terms, rng: blocks(terms, 2 * int(rng.integers(1, 20)) + 1),
    "with strides": lambda terms, rng: strides(terms, int(rng.integers(2, 9))),
    "by any pairs": lambda terms, rng: any_pairs(terms, rng),
    "compensated": lambda terms, rng: compensated(terms),
}


def by_key(terms, key):
    return np.take_along_axis(terms, np.argsort(key, axis=0, kind="stable"), axis=0)


def in_turn(terms):
    """Return a key that alternates the largest positive, the largest negative, the next positive ..."""
    rank = np.argsort(np.argsort(-terms, axis=0), axis=0)
    return np.minimum(rank, len(terms) - 1 - rank) * 2 + (terms < 0)


def lost(a, b):
    """Return the exact loss of rounding a + b, whichever of the two is larger."""
    total = a + b
    there = total - a
    return (a - (total - there)) + (b - there)


def worst(terms, sign):
    """Return a greedy order: the next term's addition errs most in one direction. Long sums stay unchanged."""
    if len(terms) > 400 or terms.size > 40_000:
        return terms[::-1]
    flat = terms.reshape(len(terms), -1).copy()
    first = np.argmax(np.abs(flat), axis=0)
    columns, total = np.arange(flat.shape[1]), np.zeros_like(flat[0])
    for k in range(len(flat)):
        taken = first if not k else k + np.argmax(sign * lost(flat[k:], total), axis=0)
        flat[[np.full_like(taken, k), taken], columns] = flat[
            [taken, np.full_like(taken, k)], columns
        ]
        total = total + flat[k]
    return flat.reshape(terms.shape)


def tree(terms):
    while len(terms) > 1:
        added = terms[: len(terms) // 2 * 2 : 2] + terms[1::2]
        terms = np.concatenate([added, terms[-1:]]) if len(terms) % 2 else added
    return terms[0]


def halves(terms):
    while len(terms) > 1:
        half = (len(terms) + 1) // 2
        added = terms[: len(terms) - half] + terms[half:]
        terms = np.concatenate([added, terms[len(terms) - half : half]])
    return terms[0]


def blocks(terms, size):
    return np.add.accumulate(
        np.stack([tree(terms[at : at + size]) for at in range(0, len(terms), size)]), axis=0
    )[-1]


def strides(terms, lanes):
    return tree(
        np.stack(
            [
                np.add.accumulate(terms[lane::lanes], axis=0)[-1]
                for lane in range(min(lanes, len(terms)))
            ]
        )
    )


def any_pairs(terms, rng):
    """Return the sum by a random tree: two items are added until one is left."""
    left = list(terms)
    while len(left) > 1:
        left.append(left.pop(rng.integers(len(left))) + left.pop(rng.integers(len(left))))
    return left[0]


def compensated(terms):
    """Return Kahan's sum."""
    total, carry = terms[0], np.zeros_like(terms[0])
    for term in terms[1:]:
        term = term - carry
        total, before = total + term, total
        carry = (total - before) - term
    return total


class Product(PlannedArray):
    """A product that remembers its factors, for a fused multiply-add."""

    exact = None

    def applied(self, ufunc, *inputs):
        found = super().applied(ufunc, *inputs)
        if isinstance(found, PlannedArray):
            found = Product(found.data, found.plan)
            if ufunc is np.multiply and found.dtype.itemsize <= 4:
                found.exact = np.multiply(
                    *(
                        one.wide
                        if isinstance(one, PlannedArray)
                        else np.float64(found.dtype.type(one))
                        for one in inputs
                    )
                )
        return found


def fused(terms, dtype):
    """Return exact products added one by one to a sum in `dtype`, each rounded once: through float64 with a
    sticky last bit.
    """
    total = terms[0].astype(dtype)
    for term in terms[1:]:
        before = total.astype(np.float64)
        wide, rest = before + term, lost(before, term)
        inexact = (rest != 0) & (wide.view(np.uint64) & 1 == 0)
        total = np.where(inexact, np.nextafter(wide, np.copysign(np.inf, rest)), wide).astype(dtype)
    return total


def kernel(op, comes, adds, seed=0, page=None, plan=Plan(coordinates="float32"), counted=None):
    """Return a right kernel with an order and a way of sums from these tables; `adds` is "fused" for fused
    multiply-adds.

    `counted` is a list whose number becomes the length of the longest sum.
    """
    op, rng, counted = av.operator(op), np.random.default_rng(seed), counted or [0]

    class Ordered(PlannedArrays):
        def _wrap(self, array):
            return Product(array, self.plan) if is_float(array) else array

        def _total(self, x, axis, keepdims):
            exact, inner = getattr(x, "exact", None), sum_axes(x.ndim, axis)[0]
            if adds != "fused" or exact is None or not inner or self.accumulate != x.dtype:
                return super()._total(x, axis, keepdims)
            one = along(
                np.broadcast_to(exact, x.shape),
                inner,
                lambda terms: fused(COMES[comes](terms, rng), x.dtype),
            )
            return super()._total(self._wrap(one), axis, keepdims)

        def _added(self, terms, order):
            counted[0] = max(counted[0], len(terms))
            return ADDS["one by one" if adds == "fused" else adds](COMES[comes](terms, rng), rng)

        def scatter_add(self, target, index, values):
            counted[0] = max(counted[0], index.size)
            return super().scatter_add(target, index, values)

    def run(**inputs):
        with np.errstate(all="ignore"):
            values, results, xp = plans.trace(
                op, replace(plan, scatter="shuffled", seed=seed), Ordered, page, inputs
            )
            return {
                name: xp.plan.output(name, values[name].data, fmt).reshape(shape)
                for name, (fmt, shape) in results.items()
            }

    return run


true = once_per_case(lambda case: case.operator.truth(**case.inputs))


def held(found, cases, outputs, overflows=False):
    """Return the largest used part of a tolerance over finite elements, without the outliers that it permits.

    With `overflows` infinite elements count as nothing: a sum may overflow in one order only.
    """
    parts = [np.zeros(1)]
    for case, actual in zip(cases, outputs):
        for name, exact in true(case).items():
            wide, exact = actual[name].astype(np.float64), np.asarray(exact)
            number = np.isfinite(exact) & (np.isfinite(wide) | (not overflows))
            with np.errstate(all="ignore"):
                part = np.abs(wide - exact) / (found.atol + found.rtol * np.abs(exact))
            parts.append(np.where(wide == exact, 0.0, part)[number])
    left_out = found.pairs[-1].undecided
    joined = np.sort(np.concatenate(parts))
    return float(joined[max(len(joined) - 1 - left_out, 0)])


def hard_cases(first, seed):
    """Yield inputs with inexact sums: as drawn, tiny, huge, of one sign, cancelling, of mixed sizes, one large
    and many small.
    """
    op = first.operator
    rng, upstream = (
        np.random.default_rng(seed),
        [one for one in op.upstream if isinstance(first.inputs.get(one), np.ndarray)],
    )
    yield first

    def one_large(dy):
        return np.where(
            np.arange(dy.size).reshape(dy.shape) % max(dy.size // 3, 2) == 1,
            2.0**10,
            2.0**-3 * (1.0 + 2.0**-5 * dy),
        )

    changes = [
        lambda dy: dy * 2.0**-12,
        lambda dy: dy * 2.0**10,
        np.abs,
        lambda dy: dy * 10.0 ** rng.integers(-3, 3, dy.shape),
        lambda dy: (
            np.where(np.arange(dy.size).reshape(dy.shape) % 2, -1.0, 1.0) * (1.0 + 2.0**-6 * dy)
        ),
        one_large,
    ]
    for change in changes:
        given = {
            one: np.asarray(change(first.inputs[one].astype(np.float64))).astype(
                first.inputs[one].dtype
            )
            for one in upstream
        }
        yield replace(first, inputs=first.inputs | given)


# Arithmetics of right kernels: the argument of `av.tolerance`, and an equal plan.
PLANS = {
    "any float32": (None, Plan(coordinates="float32")),
    "float16 sums": (
        Plan("float16 sums", accumulate="float16", order="sequential", coordinates="float32"),
    )
    * 2,
    "float16 throughout": (
        Plan(
            "float16 throughout",
            compute="float16",
            accumulate="float16",
            order="sequential",
            coordinates="float32",
        ),
    )
    * 2,
    "bfloat16 sums": (
        Plan("bfloat16 sums", accumulate="bfloat16", order="sequential", coordinates="float32"),
    )
    * 2,
}


def attack(first, seed, plan="any float32"):
    """Yield by case the largest used part of the tolerance over orders of right kernels, and the order."""
    op = first.operator
    asked, computed = PLANS[plan]
    arrangements = sorted(pages(op), key=str) if asked is None else [None]
    for number, case in enumerate(hard_cases(first, seed)):
        try:
            found = av.tolerance(op, cases=[case], plan=asked)
        except ValueError as refused:  # without finite values to compare
            assert "compares finite" in str(refused)
            continue
        tried, counted, page = {}, [0], arrangements[number % len(arrangements)]
        for comes in COMES:
            for adds in (*ADDS, "fused"):
                outputs = kernel(op, comes, adds, seed, page, computed, counted)(**case.inputs)
                tried[comes, adds] = held(found, [case], [outputs], overflows=asked is not None)
            if counted[0] < 3:  # no sum has an order
                break
        yield max(tried.items(), key=lambda one: one[1])
