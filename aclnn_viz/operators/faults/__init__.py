"""Known mistakes: named wrong kernels, each a small change to the right page, with a sentence on what goes wrong.

An operator's folder lists its mistakes in faults.toml; without that table, mechanical edits of its page replace them.
Mistakes of any operator come in addition. museum.toml has mistakes of published kernels, with their public threads.
"""

from ast import literal_eval
from dataclasses import replace
from functools import cache, partial

from aclnn_viz.arrays.plan import Plan
from aclnn_viz.operators import registry
from aclnn_viz.operators.faults.edits import slips
from aclnn_viz.operators.faults.fault import HALF_SUMS, STRIDES, TRUNCATED, Fault
from aclnn_viz.tables import table_beside
from aclnn_viz.words.messages import message

__all__ = ["Fault", "faults"]

# Descriptions of mechanical edits, by kind.
STORIES = {
    "operator": message("one operator of the page written otherwise"),
    "factor": message("one factor of the page written otherwise"),
    "comparison": message("one comparison of the page written otherwise"),
    "axis": message("one axis of the page written otherwise"),
    "function": message("one function of the page written otherwise"),
}


def faults(op) -> tuple[Fault, ...]:
    """Return an operator's faults: the named faults or else mechanical edits of its page, and published faults.

    >>> faults("rms_norm")[0].name
    'missing 1/n'
    """
    return _of(registry.name_of(op))


@cache
def published() -> list[dict]:
    """Return the mistakes of published kernels from museum.toml."""
    return table_beside(__file__, "museum.toml")["piece"]


@cache
def _of(name: str) -> tuple[Fault, ...]:
    found = {
        fault.name: fault
        for fault in registry.table("faults", name, partial(_stated, name)) or _mechanical(name)
    }
    for one in (one for one in published() if one["operator"] == name):
        if one["name"] in found:
            found[one["name"]] = replace(found[one["name"]], thread=one["thread"])
        elif "story" in one:
            found[one["name"]] = Fault(
                one["name"],
                one["story"],
                one["exposed"],
                [*map(tuple, one.get("changes", ()))],
                Plan(**one["plan"]) if "plan" in one else None,
                thread=one["thread"],
            )
    return tuple(found.values())


def _stated(name: str, table: dict) -> tuple[Fault, ...]:
    """Return the faults of an operator's table: a plan is given by its fields, an `alters` by a function of faults.py."""
    made = {
        "plan": lambda given: Plan(**given),
        "alters": lambda given: registry.own("faults", name, given),
        "hidden": lambda given: (given[0], literal_eval(given[1])),
    }
    found = [
        Fault(**one | {key: make(one[key]) for key, make in made.items() if key in one})
        for one in table.get("fault", ())
    ]
    return (
        (*found, *([HALF_SUMS] if "half_sums" in table else []), STRIDES, TRUNCATED)
        if found
        else ()
    )


@cache
def _mechanical(name: str) -> tuple[Fault, ...]:
    found = {}
    for edit in slips(registry.module("page", name)):
        found.setdefault(
            str(edit),
            Fault(
                str(edit),
                STORIES[edit.kind],
                message("all inputs that reach line {line}", line=edit.line),
                edit=edit,
            ),
        )
    return (*found.values(), STRIDES, TRUNCATED)
