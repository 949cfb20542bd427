"""Declare activations and losses of single elements by their differences; the common parts are filled in."""

import re

from aclnn_viz.operators.families.losses import REDUCTION, UPSTREAM
from aclnn_viz.operators.operator import Operator, Tensor, declared

FLOAT32_MAX = 3.4028234663852886e38  # largest float32; the library stores scalars in float32


def loss(
    page, prototype, older, tensors, *, upstream=UPSTREAM, attributes=None, **fields
) -> Operator:
    """Return the declaration of a reduced loss of `tensors`, self first; the last tensor is the gradient for self.

    `upstream` is the first tensor of the prototype; `attributes` excludes reduction. `older` is as for an activation.
    """
    given, *_, gradient = re.findall(r"aclTensor \*(\w+)", prototype)
    attributes = {"reduction": REDUCTION} | (attributes or {})
    return declared(
        page,
        prototype,
        older,
        **{
            "tensors": tensors
            | {
                "loss": Tensor("*P if reduction = 0 else ()"),
                given: upstream,
                gradient: Tensor("*P"),
            },
            "attributes": attributes,
            "counts": {"count": "self"},
            "takes": (*tensors, *attributes),
            "gives": ("loss",),
            "upstream": {given: "loss"},
            "gradient_of": {gradient: "self"},
            "like": "self",
            "shapes": ({"shape": (4, 6)}, {"shape": (257,)}),
        }
        | fields,
    )


def activation(
    page,
    prototype,
    older,
    *,
    more="",
    shape="*P",
    x=None,
    of="self",
    saved=None,
    gradient="gradInput",
    **fields,
) -> Operator:
    """Return the declaration of an activation: `gradient` is gradOutput times the slope of y at each element of `of`.

    `older` products lack bfloat16; all products support the formats `more`. `x` is the input, `shape`
    its
    pattern and that of gradOutput: "~*P" where they are broadcast. `saved` maps tensors that backward takes beside or instead
    of the input to forward outputs.
    """
    x, saved = x or Tensor(shape), saved or {}
    tensors = {of: x, "gradOutput": Tensor(shape)} | dict.fromkeys(
        saved, Tensor(shape, ranks=x.ranks, empty=x.empty)
    )
    outputs = dict.fromkeys(("y", *saved.values()))
    return declared(
        page,
        prototype,
        older,
        more,
        **{
            "tensors": tensors | dict.fromkeys((*outputs, gradient), Tensor("*P")),
            "takes": (of, *fields.get("attributes", ())),
            "gives": tuple(outputs),
            "upstream": {"gradOutput": "y"},
            "saved": saved,
            "gradient_of": {gradient: of},
            "like": of if f" *{of}," in prototype else next(iter(saved)),
            "shapes": ({"shape": (4, 6)}, {"shape": (257,)}, *([] if x.ranks else [{"shape": ()}])),
        }
        | fields,
    )
