"""How it is built: an Ascend C machine in Python, in which tile programs run without CANN.

Cores with a Unified Buffer, queues and pipes run a program written with Ascend C's own names; what is wrong with it is
said as hazards. Nothing here was measured: the order of things is modelled, their time is not.
"""

import aclnn_viz.tiles.programs  # before the function of that name below, which is what the package offers
from aclnn_viz import rooms
from aclnn_viz.operators import operator
from aclnn_viz.tiles.hazards import KINDS, Hazard
from aclnn_viz.tiles.launching import HazardError, Program, Run, Tiling, launch
from aclnn_viz.tiles.platforms import Platform

__all__ = ["KINDS", "Hazard", "HazardError", "Platform", "Program", "Run", "Tiling", "launch", "programs"]


def programs(op) -> tuple[Program, ...]:
    """Return the kit's own tile programs of an operator, none where nobody has written one.

    >>> [program.name for program in programs("hardswish")]
    ['hardswish']
    """
    return rooms.own("tiles", operator(op).name, "PROGRAMS", ())
