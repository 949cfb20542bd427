"""The vendor's checks of a call of each operator, as data: data types, checks with their status codes, constraints."""

from functools import cache

from aclnn_viz.operators import operator, registry
from aclnn_viz.operators.contract.model import (
    Call,
    Check,
    Constraint,
    Contract,
    DtypeRow,
    EarlySuccess,
    KernelFault,
    Outcome,
    TensorDescriptor,
    contiguous_strides,
)
from aclnn_viz.operators.contract.rules import plain_contract

__all__ = [
    "Call",
    "Check",
    "Constraint",
    "Contract",
    "DtypeRow",
    "EarlySuccess",
    "KernelFault",
    "Outcome",
    "TensorDescriptor",
    "contiguous_strides",
    "contract",
]


@cache
def contract(name) -> Contract:
    """Return the contract of an operator: its own, else one derived from its declaration.

    Raise ValueError for an unknown name.

    >>> contract("rms_norm").aclnn_name
    'aclnnRmsNormGrad'
    >>> from aclnn_viz.operators.products import A2, Version
    >>> call = Call(A2, Version.parse("9.1"), dict.fromkeys(["gradOutput", "self", "out"]))
    >>> contract("hardswish").evaluate(call).status
    161001
    """
    op = operator(name)
    return registry.own("contract", op.name, "CONTRACT") or plain_contract(op)
