"""How activations are declared: one input, and one gradient of its shape."""

import re

from aclnn_viz.operators.operator import Operator, Tensor
from aclnn_viz.operators.products import WITH_BFLOAT16

MOST = 3.4028234663852886e38  # of float32, in which the library keeps scalars


def activation(page, prototype, older, *, more="", shape="*P", x=None, of="self", saved=None, gradient="gradInput", **fields) -> Operator:
    """The declaration of an activation: `gradient` is gradOutput times the slope of y at each element of the input `of`.

    `older` products take what the others do, but no bfloat16; `more` formats are taken everywhere. `x` is the input, `shape` its
    pattern and that of gradOutput: "~*P" where they are broadcast. `saved` maps what backward is given beside or in the place of
    the input to an output of the forward pass.
    """
    vendor, x, saved = re.search(r"aclnn(\w+)GetWorkspaceSize", prototype)[1], x or Tensor(shape), saved or {}
    tensors = {of: x, "gradOutput": Tensor(shape)} | dict.fromkeys(saved, Tensor(shape, ranks=x.ranks, empty=x.empty))
    outputs = dict.fromkeys(("y", *saved.values()))
    return Operator(**{
        "name": page.__name__.split(".")[-2], "page": page, "prototype": prototype, "library": "ops-nn",
        "header": f"aclnn{re.sub('(?=[A-Z])', '_', vendor).lower()}.h",
        "formats": {WITH_BFLOAT16: f"float32 float16 bfloat16 {more}".strip(), older: f"float32 float16 {more}".strip()},
        "tensors": tensors | dict.fromkeys((*outputs, gradient), Tensor("*P")), "takes": (of, *fields.get("attributes", ())),
        "gives": tuple(outputs), "upstream": {"gradOutput": "y"}, "saved": saved, "gradient_of": {gradient: of},
        "like": of if f" *{of}," in prototype else next(iter(saved)),
        "shapes": ({"shape": (4, 6)}, {"shape": (257,)}, *([] if x.ranks else [{"shape": ()}]))} | fields)
