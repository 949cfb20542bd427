"""What the vendor's library checks of a call of each operator, as data: data types, checks with their status codes, constraints."""

from collections.abc import Mapping
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
    "constraints",
    "contiguous_strides",
    "contract",
    "evaluate",
    "evaluate_launch",
]


@cache
def contract(name) -> Contract:
    """Return the contract of an operator: its own, else what follows from its declaration.

    Raises ValueError for the name of no operator.

    >>> contract("rms_norm").aclnn_name
    'aclnnRmsNormGrad'
    """
    op = operator(name)
    return registry.own("contract", op.name, "CONTRACT") or plain_contract(op)


def evaluate(operator: str, call: Call) -> Outcome:
    """Answer phase 1 of an operator as the vendor's library does on the product and CANN version of the call.

    >>> from aclnn_viz.operators.products import A2, Version
    >>> arguments = dict.fromkeys(["gradOutput", "self", "out"])
    >>> evaluate("hardswish", Call(A2, Version.parse("9.1"), arguments)).status
    161001
    """
    return contract(operator).evaluate(call)


def evaluate_launch(
    operator: str, *, workspace: bool, workspace_size: int, executor: bool, required: int
) -> tuple[int, str | None]:
    """Answer the argument checks of phase 2 with a status and a message (None on success).

    `workspace` and `executor` say whether the pointers were given; `required` is the size that phase 1 asked for.

    >>> evaluate_launch("rms_norm", workspace=True, workspace_size=8, executor=True, required=16)[0]
    161002
    """
    return contract(operator).evaluate_launch(
        workspace=workspace, workspace_size=workspace_size, executor=executor, required=required
    )


def constraints(operator: str, call: Call, arrays: Mapping | None = None) -> list[Constraint]:
    """Return the constraints without a status code that a call violates.

    `arrays` maps parameter names to the values of their tensors; constraints on values are judged only where given.

    >>> from aclnn_viz.operators.products import A2, Version
    >>> tensor = TensorDescriptor((2,), 0, (1,), 0, 2, (2,))
    >>> constraints("hardswish", Call(A2, Version.parse("9.1"), dict.fromkeys(["gradOutput", "self", "out"], tensor)))
    []
    """
    return contract(operator).violations(call, arrays)
