"""Known mistakes: named wrong kernels, each a small change to the right page, with a sentence on what goes wrong.

An operator's own are in the file of its name. In their place stand mechanical edits of its page, and what can go wrong
with any operator.
"""

from functools import cache

from aclnn_viz.operators import registry
from aclnn_viz.operators.faults.edits import slips
from aclnn_viz.operators.faults.fault import STRIDES, TRUNCATED, Fault
from aclnn_viz.words.messages import message

__all__ = ["Fault", "faults"]

# Stories of mechanical edits, by their kind.
STORIES = {
    "operator": message("one operator of the page written otherwise"),
    "factor": message("one factor of the page written otherwise"),
    "comparison": message("one comparison of the page written otherwise"),
    "axis": message("one axis of the page written otherwise"),
    "function": message("one function of the page written otherwise"),
}


def faults(op) -> tuple[Fault, ...]:
    """Return the faults of an operator or its name: the named ones, or else mechanical edits of its page.

    >>> faults("rms_norm")[0].name
    'missing 1/n'
    """
    name = registry.name_of(op)
    return registry.own("faults", name, "FAULTS") or _mechanical(name)


@cache
def _mechanical(name: str) -> tuple[Fault, ...]:
    found = {}
    for edit in slips(registry.module("page", name)):
        found.setdefault(str(edit), Fault(str(edit), STORIES[edit.kind], message("what reaches line {line}", line=edit.line),
                                          edit=edit))
    return (*found.values(), STRIDES, TRUNCATED)
