"""An Ascend C machine in Python, in which tile programs run without CANN.

Cores with a Unified Buffer, queues and pipes run a program written with Ascend C's names; its mistakes are reported as hazards.
Nothing here was measured: the order of instructions is modelled, and times come from numbers that the vendor published.
"""

from aclnn_viz.operators import operator, registry
from aclnn_viz.tiles import default
from aclnn_viz.tiles.compiler import CompileError
from aclnn_viz.tiles.costs import Costs
from aclnn_viz.tiles.cpp import CppKernel, Source, cpp
from aclnn_viz.tiles.fault import TileFault, faults
from aclnn_viz.tiles.hazards import KINDS, Hazard
from aclnn_viz.tiles.platforms import Platform
from aclnn_viz.tiles.program import HazardError, Program, Run, Tiling, explore, launch, run
from aclnn_viz.tiles.projects import Project
from aclnn_viz.tiles.schedules import Orders
from aclnn_viz.tiles.timing import Times, timeline

__all__ = [
    "KINDS",
    "CompileError",
    "Costs",
    "CppKernel",
    "Hazard",
    "HazardError",
    "Orders",
    "Platform",
    "Program",
    "Project",
    "Run",
    "Source",
    "TileFault",
    "Tiling",
    "Times",
    "cpp",
    "explore",
    "faults",
    "launch",
    "programs",
    "run",
    "timeline",
]


def programs(op) -> tuple[Program, ...]:
    """Return the tile programs of an operator: the kit's own, else one written from its page.

    Parameters
    ----------
    op : Operator or str
        An operator, or its name.

    Returns
    -------
    tuple of Program
        Each is also a kernel for `av.check`; the tuple is empty if neither exists.

    Raises
    ------
    ValueError
        For an unknown operator.

    Examples
    --------
    >>> [program.name for program in programs("hardswish")], programs("tanh")[0].text
    (['hardswish'], 'written from the page; each row, or each element, by itself')
    """
    op = operator(op)
    return registry.own("tiles", op.name, "PROGRAMS", None) or default.programs(op)
