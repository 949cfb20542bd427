"""What the device kernels make of inputs that phase 1 let pass although no formula covers them.

One function an operator where its kernels differ from the documented call: it returns the inputs for the formula.
Sources: ops-nn loss/cross_entropy_loss_grad/op_kernel, norm/rms_norm_grad/op_kernel, norm/group_norm_swish_grad;
ops-cv image/grid_sampler2_d_grad.
"""

import numpy as np

from aclnn_viz.codes import ACL_FLOAT
from aclnn_viz.operators.contract.call import Call, TensorDescriptor
from aclnn_viz.products import ASCEND_950


class KernelFault(Exception):
    """The kernel stops on the device; the message says at what."""


def kernel_inputs(launch, operator: str, call: Call, arrays: dict, outputs: list[str]) -> dict:
    """Return the inputs of the formula, by the vendor's names; raises KernelFault where the kernel stops.

    `outputs` are those that the kernel is to compute; `launch.read_dense` reads an input as bare memory.
    """
    attributes = {name: value for name, value in call.arguments.items()
                  if value is not None and not isinstance(value, TensorDescriptor)}
    return _KERNELS.get(operator, _as_called)(launch, call, arrays, attributes, outputs)


def _as_called(launch, call: Call, arrays: dict, attributes: dict, outputs: list[str]) -> dict:
    return arrays | attributes


def _rms_norm(launch, call: Call, arrays: dict, attributes: dict, outputs: list[str]) -> dict:
    """rstd is read as one number a row; axes of length 1 may be missing, and axes behind the rows are not compared."""
    rows = call["x"].shape[:call["x"].rank - call["gamma"].rank]
    return arrays | {"rstd": arrays["rstd"].reshape(rows)}


def _grid_sampler_2d(launch, call: Call, arrays: dict, attributes: dict, outputs: list[str]) -> dict:
    """Old libraries take a mask of another length than 2 and look at two entries."""
    return arrays | attributes | {"outputMask": tuple(name in outputs for name in ("inputGrad", "gridGrad"))}


def _group_norm_swish(launch, call: Call, arrays: dict, attributes: dict, outputs: list[str]) -> dict:
    """numGroups is read as int32_t, dataFormatOptional never."""
    groups = int(np.int64(call["numGroups"]).astype(np.int32))
    return arrays | attributes | {"numGroups": groups, "dataFormatOptional": "NCHW"}


def _cross_entropy_loss(launch, call: Call, arrays: dict, attributes: dict, outputs: list[str]) -> dict:
    """The z-loss is never computed. A2 reads its tensors as bare memory; 950 asserts that targets are classes."""
    known = {"logProb": arrays["logProb"], "ignoreIndex": call["ignoreIndex"], "labelSmoothing": call["labelSmoothing"]}
    reduction = attributes.get("reduction", "mean")
    if call.product is ASCEND_950:
        target = arrays["target"]
        kept = target != call["ignoreIndex"] if call["ignoreIndex"] >= 0 else np.full(target.shape, True)
        if (kept & ((target < 0) | (target >= call["logProb"].shape[1]))).any():
            raise KernelFault("a target is no class")
        weight = {"weightOptional": arrays["weightOptional"]} if "weightOptional" in arrays else {}
        return known | weight | {"gradLoss": arrays["gradLoss"], "target": target, "reduction": reduction}
    reduction = reduction if reduction in ("mean", "sum") else "none"
    rows, classes = (*call["logProb"].shape, 1, 1)[:2]
    known["reduction"] = reduction
    known["gradLoss"] = launch.read_dense("gradLoss", rows if reduction == "none" else 1, call["gradLoss"].dtype)
    known["target"] = launch.read_dense("target", rows, call["target"].dtype)
    if "weightOptional" in arrays:
        known["weightOptional"] = launch.read_dense("weightOptional", classes, ACL_FLOAT)
    return known


_KERNELS = {"rms_norm": _rms_norm, "grid_sampler_2d": _grid_sampler_2d, "group_norm_swish": _group_norm_swish,
            "cross_entropy_loss": _cross_entropy_loss}
