"""Declare activations and losses of single elements by what is special to each; what they have in common is filled in."""

import re

from aclnn_viz.operators.families.losses import REDUCTION, UPSTREAM
from aclnn_viz.operators.operator import Operator, Tensor
from aclnn_viz.operators.products import WITH_BFLOAT16

FLOAT32_MAX = 3.4028234663852886e38  # of float32, in which the library keeps scalars


def _named(page, prototype, older, more="") -> dict:
    """What follows from the names of the page and of the function; `older` products take no bfloat16, all take `more` formats."""
    vendor = re.search(r"aclnn(\w+)GetWorkspaceSize", prototype)[1]
    return {
        "name": page.__name__.split(".")[-2],
        "page": page,
        "prototype": prototype,
        "library": "ops-nn",
        "header": f"aclnn{re.sub('(?=[A-Z])', '_', vendor).lower()}.h",
        "formats": {
            WITH_BFLOAT16: f"float32 float16 bfloat16 {more}".strip(),
            older: f"float32 float16 {more}".strip(),
        },
    }


def loss(
    page, prototype, older, tensors, *, upstream=UPSTREAM, attributes=None, **fields
) -> Operator:
    """The declaration of a loss of `tensors`, self first, reduced as asked: the gradient, the last tensor, is that by self.

    `upstream` is the first tensor of the prototype; `attributes` are those beside reduction. `older` is as for an activation.
    """
    given, *_, gradient = re.findall(r"aclTensor \*(\w+)", prototype)
    attributes = {"reduction": REDUCTION} | (attributes or {})
    return Operator(
        **_named(page, prototype, older)
        | {
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
        | fields
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
    """The declaration of an activation: `gradient` is gradOutput times the slope of y at each element of the input `of`.

    `older` products take what the others do, but no bfloat16; `more` formats are taken everywhere. `x` is the input, `shape` its
    pattern and that of gradOutput: "~*P" where they are broadcast. `saved` maps what backward is given beside or in the place of
    the input to an output of the forward pass.
    """
    x, saved = x or Tensor(shape), saved or {}
    tensors = {of: x, "gradOutput": Tensor(shape)} | dict.fromkeys(
        saved, Tensor(shape, ranks=x.ranks, empty=x.empty)
    )
    outputs = dict.fromkeys(("y", *saved.values()))
    return Operator(
        **_named(page, prototype, older, more)
        | {
            "tensors": tensors | dict.fromkeys((*outputs, gradient), Tensor("*P")),
            "takes": (of, *fields.get("attributes", ())),
            "gives": tuple(outputs),
            "upstream": {"gradOutput": "y"},
            "saved": saved,
            "gradient_of": {gradient: of},
            "like": of if f" *{of}," in prototype else next(iter(saved)),
            "shapes": ({"shape": (4, 6)}, {"shape": (257,)}, *([] if x.ranks else [{"shape": ()}])),
        }
        | fields
    )
