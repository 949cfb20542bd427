"""Which failing cases tell candidates apart for the least time: thousands are tried, and nearly all of them fall at the first."""

from collections.abc import Sequence

from aclnn_viz.checking.observing import Seen

SOME = 8  # elements, of which two candidates seldom agree by chance


def sieves_first(failing: Sequence[Seen]) -> list[Seen]:
    """The failing cases, at first the few that tell most for what they cost: each with some elements, the one on which the
    page does least, the smallest and one in the middle."""
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
