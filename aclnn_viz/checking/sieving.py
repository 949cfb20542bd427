"""The order in which failing cases are tried on candidate explanations, so that wrong candidates are rejected soon.

Thousands of candidates are tried, and the first case rejects nearly all of them: it should be fast and show much.
"""

from collections.abc import Sequence

from aclnn_viz.checking.observing import Seen

SOME = 8  # so many elements seldom agree by chance


def sieves_first(failing: Sequence[Seen]) -> list[Seen]:
    """Return the failing cases with three in front that have at least `SOME` elements: the one on which the page takes the
    fewest steps, the smallest, and one of middle size."""
    usable = [one for one in failing if one.usable]
    if not usable:
        return list(failing)
    some = [one for one in usable if one.size >= SOME] or usable
    first = dict.fromkeys((min(leaders(some), key=lambda one: one.steps), some[0], some[len(some) // 2]))
    return [*first, *(one for one in failing if one not in first)]


def leaders(failing: Sequence[Seen]) -> list[Seen]:
    """Of failing cases in an order the first of each mode: what the page executes depends on little else."""
    found: dict[str, Seen] = {}
    for one in failing:
        found.setdefault(repr({name: value for name, value in one.facts.choices.items() if name != "dtype"}), one)
    return list(found.values())
