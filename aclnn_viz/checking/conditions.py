"""Find the simplest condition (an attribute's value, a format, a length, a remainder) that separates wrong from right test
cases, to say when a kernel fails.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import permutations
from math import comb
from typing import NamedTuple

import numpy as np

from aclnn_viz.cases import Case
from aclnn_viz.checking.judge import once_per_case
from aclnn_viz.words.messages import Message, commas, linked, meant, message

CHOICES_LISTED = 3  # most choices that a description lists
LISTED = 8  # choices listed for the options that a kernel supports
SHORTEST = (0, 1)  # short lengths that kernels treat as special cases
# a law stands if at most one in so many ways to draw the wrong cases at random would satisfy it
SELDOM = 20
REMAINDERS = (64, 32, 16, 8, 4, 2)
STRIDED = message("strided tensors")
# states of an optional tensor
GIVEN, ABSENT = meant("given", "that is given"), meant("none", "that is not given")


class Traits(NamedTuple):
    """A short description of a case, kept without its arrays: attributes and format by name, lengths by axis, relations."""

    choices: dict
    lengths: dict[str, int]
    relations: dict[str, bool]

    @staticmethod
    @once_per_case
    def of(case: Case) -> "Traits":
        return Traits(choices(case), lengths(case), relations(case))


class Condition(NamedTuple):
    """A condition on a case: its words, and whether it holds; None for lengths between those seen, which are open."""

    text: str
    holds: Callable[[Case], bool | None]


def choices(case: Case) -> dict:
    """Return the format of a case, whether a tensor is strided, its attributes, and its optional tensors."""
    chosen: dict = {"dtype": case.dtype}
    optional = {p.name for p in case.operator.parameters if p.kind == "tensor" and p.optional}
    lengths_of = {size.partition("[")[0] for size in case.operator.sizes.values()}
    for name, value in case.inputs.items():
        if isinstance(value, tuple) and (name in lengths_of or value and type(value[0]) is int):
            # attributes that are lengths, such as inputSize; `lengths` lists their entries
            continue
        if name in optional:
            chosen[name] = ABSENT if value is None else GIVEN
        elif not isinstance(value, np.ndarray):
            chosen[name] = value
    chosen[STRIDED] = not all(value.flags.c_contiguous for value in case.arrays.values())
    return chosen


def _repr(value) -> str:
    """Return a choice as program text; for an optional tensor as a message."""
    return meant(repr(value), value.key) if isinstance(value, Message) else repr(value)


def lengths(case: Case) -> dict[str, int]:
    """Return the lengths of a case: of each axis, counted from the end, and the size and rank of each tensor; entries of
    arrays.
    """
    known = {}
    for name, value in case.inputs.items():
        if isinstance(value, np.ndarray):
            known |= {f"{name}.shape[{axis - value.ndim}]": n for axis, n in enumerate(value.shape)}
            known[f"{name}.size"] = value.size
            known[f"{name}.ndim"] = value.ndim
        elif isinstance(value, tuple) and value and type(value[0]) is int:
            known |= {f"{name}[{at}]": n for at, n in enumerate(value)}
    return known


def relations(case: Case) -> dict[str, bool]:
    """Return for pairs of integer array attributes whether one exceeds the other in some entry."""
    arrays = {
        name: value
        for name, value in case.inputs.items()
        if isinstance(value, tuple) and value and type(value[0]) is int
    }
    return {
        message("{name} above {other}", name=a, other=b): bool(np.greater(x, y).any())
        for (a, x), (b, y) in permutations(arrays.items(), 2)
        if len(x) == len(y) or 1 in (len(x), len(y))
    }


def separating(some: Sequence[Traits], others: Sequence[Traits]) -> Condition | None:
    """Return the simplest condition that holds for all of some cases and for none of the others, or None.

    >>> import aclnn_viz as av
    >>> a, b, c, d = (Traits.of(av.case("rms_norm", shape=shape)) for shape in ((4, 1), (3, 1), (4, 6), (2, 5)))
    >>> separating([a, b], [c, d]).text
    'dy.shape[-1] = 1'
    """
    if not some or not others:
        return None
    # one case always differs in some length: a law needs two cases on each side
    return _by_choice(some, others) or (
        _by_relation(some, others) or _by_length(some, others)
        if min(len(some), len(others)) > 1
        else None
    )


def _by_choice(some, others) -> Condition | None:
    here, there = [traits.choices for traits in some], [traits.choices for traits in others]
    best = None
    for name in here[0]:
        values = list(dict.fromkeys(held.get(name) for held in here))
        rest = list(dict.fromkeys(held.get(name) for held in there))
        if {*map(_repr, values)} & {*map(_repr, rest)}:
            continue
        count = min(len(values), len(rest))
        if best is None or count < best[0]:
            best = count, name, values, rest
    if best is None or best[0] > CHOICES_LISTED:
        return None
    _, name, values, rest = best
    inside = len(values) <= len(rest)
    kept = dict.fromkeys(map(_repr, values if inside else rest))
    text = message(
        message("{name}={value}") if inside else message("{name} other than {value}"),
        name=name,
        value=linked("{some} or {more}", kept),
    )
    if name == STRIDED:
        text = STRIDED if ("True" in kept) == inside else message("no strided tensors")
    return Condition(text, lambda case: (_repr(choices(case).get(name)) in kept) == inside)


def _by_relation(some, others) -> Condition | None:
    for text in some[0].relations:
        if all(traits.relations.get(text) for traits in some) and not any(
            traits.relations.get(text) for traits in others
        ):
            return Condition(text, lambda case, text=text: relations(case).get(text, False))
    return None


def _by_length(some, others) -> Condition | None:
    here, there = [traits.lengths for traits in some], [traits.lengths for traits in others]
    names = [name for name in here[0] if all(name in held for held in [*here, *there])]

    def tests() -> Iterator[tuple[str, str, Callable[[int], bool | None]]]:
        # only the shortest lengths and ranks are worth a condition on a single value
        for name in names:
            value, other = here[0][name], there[0][name]
            if value in SHORTEST or name.endswith(".ndim"):
                yield name, f"{name} = {value}", lambda n: n == value
            if other in SHORTEST or name.endswith(".ndim"):
                yield (
                    name,
                    message("{name} other than {value}", name=name, value=other),
                    lambda n: n != other,
                )
        for name in names:
            for base in REMAINDERS:
                rest = here[0][name] % base
                if rest in (*SHORTEST, base - 1):
                    yield name, f"{name} % {base} = {rest}", lambda n: n % base == rest
                yield (
                    name,
                    message("{name} % {base} not 0", name=name, base=base),
                    lambda n: n % base != 0,
                )
        for name in names:
            sides = [held[name] for held in here], [held[name] for held in there]
            (least, most), (first, last) = ((min(side), max(side)) for side in sides)
            yield (
                name,
                message(
                    "{name} >= {least} (right up to {last})", name=name, least=least, last=last
                ),
                lambda n: None if last < n < least else n >= least,
            )
            yield (
                name,
                message(
                    "{name} <= {most} (right from {first} on)", name=name, most=most, first=first
                ),
                lambda n: None if most < n < first else n <= most,
            )

    # the first fitting test fixes the words and numbers of the condition
    for name, text, test in tests():
        if all(test(held[name]) for held in here) and not any(test(held[name]) for held in there):
            return Condition(
                text, lambda case: name in (known := lengths(case)) and test(known[name])
            )
    return None


def stands(law: Condition, runs: Iterable[tuple[Case, bool]]) -> bool:
    """Return whether a condition holds of every wrong case among `runs` (case, wrong), and hardly by chance."""
    said = [(holds, wrong) for case, wrong in runs if (holds := law.holds(case)) is not None]
    wrong = sum(bad for _, bad in said)
    return all(holds for holds, bad in said if bad) and comb(len(said), wrong) >= SELDOM * comb(
        sum(holds for holds, _ in said), wrong
    )


def remainder(some: Sequence[int], others: Sequence[int]) -> str:
    """Return the simplest law that holds for all of some numbers and for none of the others, or "".

    >>> remainder([17, 33, 1], [16, 2, 18, 32]), remainder([70, 65], [64, 3])
    ('% 2 = 1', '> 64')
    """
    if min(some) > max(others):
        return f"> {max(others)}"
    if max(some) < min(others):
        return f"< {min(others)}"
    for base in reversed(REMAINDERS):
        if len({n % base for n in some}) == 1 and not any(
            n % base == some[0] % base for n in others
        ):
            return f"% {base} = {some[0] % base}"
        if all(n % base for n in some) and not any(n % base for n in others):
            return message("% {base} is not 0", base=base)
        last = min(n % base for n in some)
        if last > 1 and all(n % base < last for n in others):
            return f"% {base} >= {last}"
    least = min(some)
    tail = [n for n in others if n >= least]
    for base in REMAINDERS:
        if all(n % base for n in some) and tail and not any(n % base for n in tail):
            return message("> {least} and % {base} is not 0", least=least - 1, base=base)
    return ""


def _either(
    some: Sequence[Traits], others: Sequence[Traits], most: int = CHOICES_LISTED
) -> dict[str, str]:
    """Return {choice: its values in `others`} of a few choices; each of `some` has another value in one of these.

    The result is empty if no few choices do this.
    """
    left, kept = list(some), {}
    while left and others:
        best = None
        for name in others[0].choices:
            values = dict.fromkeys(_repr(traits.choices.get(name)) for traits in others)
            rest = [traits for traits in left if _repr(traits.choices.get(name)) in values]
            if len(values) <= CHOICES_LISTED and len(rest) < len(left if best is None else best[0]):
                best = rest, name, linked("{some} or {more}", values)
        if best is None or len(kept) == most:
            return {}
        left, name, kept[name] = best
    return kept


def only(some: Sequence[Traits], others: Sequence[Traits]) -> str:
    """Return the values of a few choices that some cases share and others lack, or "".

    >>> import aclnn_viz as av
    >>> half, single = (Traits.of(av.case("hardswish", dtype=dtype)) for dtype in ("float16", "float32"))
    >>> only([half], [single])
    "dtype='float16'"
    """
    kept = _either(others, some, LISTED)
    if not kept and (condition := _by_length(some, others) if some and others else None):
        return condition.text
    return commas(
        (message("{name}={value}", name=name, value=value) for name, value in kept.items()),
    )


def common(some: Sequence[Traits], others: Sequence[Traits]) -> str:
    """Return the common property of cases: one that separates them from the others, or else one that they all share.

    >>> import aclnn_viz as av
    >>> half, single = (Traits.of(av.case("hardswish", dtype=dtype)) for dtype in ("float16", "float32"))
    >>> common([half], [single])
    "exactly the cases with dtype='float16'"
    """
    if condition := separating(some, others) or (
        _by_length(some, others) if some and others else None
    ):
        return message("exactly the cases with {condition}", condition=condition.text)
    if kept := _either(some, others):
        text = [
            message("{name} other than {value}", name=name, value=value)
            for name, value in kept.items()
        ]
        return message(
            "exactly the cases with {condition}", condition=linked("{some} or {more}", text)
        )
    shared = set.intersection(
        *(set((name, _repr(value)) for name, value in traits.choices.items()) for traits in some)
    )
    text = [
        message("{name}={value}", name=name, value=value)
        for name, value in sorted(shared)
        if any(_repr(traits.choices.get(name)) != value for traits in others)
    ]
    return message("all with {condition}", condition=commas(text)) if text else ""
