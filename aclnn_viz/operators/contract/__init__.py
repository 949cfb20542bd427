"""What the vendor promises for each operator, as data: parameters, dtypes, checks with their codes, constraints."""

from collections.abc import Mapping
from importlib import import_module

from aclnn_viz.errors import problem
from aclnn_viz.operators.contract.call import Call, Outcome, TensorDescriptor, contiguous_strides
from aclnn_viz.operators.contract.model import Check, Constraint, Contract, DtypeRow, EarlySuccess, Parameter

OPERATORS = ("hardswish", "rms_norm", "grid_sampler_2d", "cross_entropy_loss", "group_norm_swish")

__all__ = ["OPERATORS", "Call", "Check", "Constraint", "Contract", "DtypeRow", "EarlySuccess", "Outcome", "Parameter",
           "TensorDescriptor", "constraints", "contiguous_strides", "contract", "evaluate", "evaluate_launch"]


def contract(operator: str) -> Contract:
    """Return the contract of an operator by its short name.

    Raises ValueError for a name that is none of the five.

    >>> contract("rms_norm").aclnn_name
    'aclnnRmsNormGrad'
    """
    if operator not in OPERATORS:
        raise ValueError(problem("operator must be a short name", repr(operator), f"use one of {', '.join(OPERATORS)}"))
    return import_module(f"{__name__}.{operator}").CONTRACT


def evaluate(operator: str, call: Call) -> Outcome:
    """Answer phase 1 of an operator as the vendor's library does on the product and CANN version of the call.

    >>> from aclnn_viz.products import A2, Version
    >>> arguments = dict.fromkeys(["gradOutput", "self", "out"])
    >>> evaluate("hardswish", Call(A2, Version.parse("9.1"), arguments)).status
    161001
    """
    return contract(operator).evaluate(call)


def evaluate_launch(operator: str, *, workspace: bool, workspace_size: int, executor: bool,
                    required: int) -> tuple[int, str | None]:
    """Answer the argument checks of phase 2 with a status and a message (None on success).

    `workspace` and `executor` tell whether the pointers were given; `required` is the size that phase 1 asked for.

    >>> evaluate_launch("rms_norm", workspace=True, workspace_size=8, executor=True, required=16)[0]
    161002
    """
    return contract(operator).evaluate_launch(workspace=workspace, workspace_size=workspace_size, executor=executor,
                                              required=required)


def constraints(operator: str, call: Call, arrays: Mapping | None = None) -> list[Constraint]:
    """Return the constraints without a status code that a call violates.

    `arrays` maps parameter names to the values of their tensors; constraints on values are judged only where given.

    >>> from aclnn_viz.products import A2, Version
    >>> tensor = TensorDescriptor((2,), 0, (1,), 0, 2, (2,))
    >>> constraints("hardswish", Call(A2, Version.parse("9.1"), dict.fromkeys(["gradOutput", "self", "out"], tensor)))
    []
    """
    return contract(operator).violations(call, arrays)
