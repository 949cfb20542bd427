"""What the vendor promises, one file an operator, and the numbers of each operator."""

from aclnn_viz.errors import problem
from aclnn_viz.operators import cross_entropy_loss, grid_sampler_2d, group_norm_swish, hardswish, rms_norm
from aclnn_viz.operators.operator import Operator

OPERATORS = tuple(module.OPERATOR for module in
                  (hardswish, rms_norm, grid_sampler_2d, cross_entropy_loss, group_norm_swish))


def operators() -> tuple[Operator, ...]:
    """Return the five operators."""
    return OPERATORS


def operator(name: str | Operator) -> Operator:
    """Return the operator of a short or vendor name; ValueError for any other.

    >>> operator("aclnnRmsNormGrad").name
    'rms_norm'
    """
    for found in OPERATORS:
        if name is found or isinstance(name, str) and name in (found.name, found.aclnn_name):
            return found
    names = ", ".join(f"{o.name} ({o.aclnn_name})" for o in OPERATORS)
    raise ValueError(problem("no such operator", repr(name), f"use one of {names}"))
