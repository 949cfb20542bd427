"""State what aclnnLayerNormBackward's phase 1 (GetWorkspaceSize) checks, in which order, with which status codes, for the emulated C API.

Sources: ops-nn norm/layer_norm_grad_v3/op_host/op_api/aclnn_layer_norm_backward.cpp; its documentation.
"""

from math import prod

from aclnn_viz.operators.codes import (
    ACL_FLOAT,
    ACL_FLOAT16,
    ACLNN_ERR_PARAM_INVALID,
    ACLNN_ERR_PARAM_NULLPTR,
)
from aclnn_viz.operators.contract.model import Check, Constraint, Contract, EarlySuccess
from aclnn_viz.operators.contract.rules import (
    HAND_WRITTEN,
    SYSTEM_WORKSPACE,
    by_architecture,
    checks,
    contiguous_copies,
    declared_rows,
    out_pointers,
)

from .declaration import OPERATOR

SOURCE = "ops-nn norm/layer_norm_grad_v3/op_host/op_api/aclnn_layer_norm_backward.cpp"
DOCUMENT = "aclnnLayerNormBackward, CANN documentation"
INPUTS, OUTPUTS = ("gradOut", "input", "mean", "rstd"), OPERATOR.outputs
supported = by_architecture(ACL_FLOAT, ACL_FLOAT16)


def lead(call) -> int:
    return call["input"].rank - len(call["normalizedShape"] or ())


def seen_to_differ(call) -> bool:
    """Return whether the library finds that input's shape differs from normalizedShape; it compares only the axes of
    input from `lead` to the number of normalised axes.
    """
    return any(
        call["input"].shape[at] != call["normalizedShape"][at - lead(call)]
        for at in range(lead(call), len(call["normalizedShape"]))
    )


def check(name: str, text: str, fails, status: int = ACLNN_ERR_PARAM_INVALID) -> Check:
    """Return a check of one parameter, skipped for a null optional tensor or an output that is not requested."""
    return Check(
        f"{name} {text}",
        lambda call: (
            OPERATOR.tensors.get(name, OPERATOR.tensors["input"]).asked is None
            and call[name] is not None
            and fails(call, call[name])
            or name in OUTPUTS
            and OPERATOR.asks_for(name, call.arguments)
            and fails(call, call[name])
        ),
        status,
        f"{name} {text}",
        SOURCE,
        (name, "input", "normalizedShape"),
    )


CONTRACT = Contract(
    operator=OPERATOR,
    generated=False,
    dtype_rows=declared_rows(OPERATOR),
    steps=checks(
        OPERATOR,
        SOURCE,
        *out_pointers(HAND_WRITTEN),
        "gradOut, input, normalizedShape, mean, rstd, outputMask is a null pointer",
        "outputMask must have 3 entries",
        *(
            check(name, "is a null pointer", lambda call, t: t is None, ACLNN_ERR_PARAM_NULLPTR)
            for name in OUTPUTS
        ),
        "the data type of gradOut, input, mean, rstd is not supported on this product",
        "gradOut must have the data type of input",
        check(
            "weightOptional",
            "must be FLOAT or of the data type of input",
            lambda call, t: (
                t.dtype not in supported(call) or t.dtype not in (ACL_FLOAT, call["input"].dtype)
            ),
        ),
        *(
            check(
                name,
                "has a data type that is not supported",
                lambda call, t: t.dtype not in supported(call),
            )
            for name in ("biasOptional", *OUTPUTS)
        ),
        "gradOut, input, mean, rstd must have 0 to 8 axes",
        check(
            "normalizedShape",
            "must have 1 to 8 entries",
            lambda call, shape: not 1 <= len(shape) <= 8,
        ),
        *(check(name, "must have at most 8 axes", lambda call, t: t.rank > 8) for name in OUTPUTS),
        check(
            "input",
            "must have at least as many axes as normalizedShape",
            lambda call, t: lead(call) < 0,
        ),
        check(
            "normalizedShape",
            "must be the last axes of input",
            lambda call, shape: seen_to_differ(call),
        ),
        *(
            check(
                name,
                "must have the shape normalizedShape",
                lambda call, t: t.shape != call["normalizedShape"],
            )
            for name in ("weightOptional", "biasOptional")
        ),
        "gradOut must have the shape of input",
        "mean must have the shape of rstd",
        check(
            "mean",
            "must have one element a row",
            lambda call, t: t.size != prod(call["input"].shape[: lead(call)]),
        ),
        check(
            "gradInputOut",
            "must have the shape of input",
            lambda call, t: t.shape != call["input"].shape,
        ),
        *(
            check(
                name,
                "must have one element a column",
                lambda call, t: t.size != prod(call["normalizedShape"]),
            )
            for name in OUTPUTS[1:]
        ),
        EarlySuccess("nothing asked for", lambda call: not any(call["outputMask"]), SOURCE),
        accepted=supported,
    ),
    constraints=(
        Constraint(
            "normalizedShape",
            "input must end with normalizedShape: the library compares few of the axes or none",
            "device.run",
            lambda call, arrays: call["input"].shape[lead(call) :] != call["normalizedShape"],
            SOURCE,
        ),
        Constraint(
            "mean and rstd",
            "mean and rstd must have one data type at least as wide as that of input; the "
            "library does not compare them",
            "device.run",
            lambda call, arrays: (
                call["mean"].dtype != call["rstd"].dtype
                or call["mean"].dtype not in (ACL_FLOAT, call["input"].dtype)
            ),
            DOCUMENT,
        ),
        Constraint(
            "empty tensors",
            "the document does not support empty tensors; the library fills the sums with 0",
            "nobody",
            lambda call, arrays: call["input"].size == 0,
            DOCUMENT,
        ),
    ),
    # inferred, not read in the vendor's sources
    workspace_size=lambda call: SYSTEM_WORKSPACE + contiguous_copies(call, INPUTS),
    fills=lambda call: (
        {}
        if call["input"].size
        else {name: 0.0 for name in OUTPUTS[1:] if OPERATOR.asks_for(name, call.arguments)}
    ),
)
