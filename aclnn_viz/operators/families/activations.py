"""What activations share: how they are declared, and the functions that several are made of."""

import re
from math import pi, sqrt

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


def sigmoid(xp, x):
    """1 / (1 + exp(-x)): where exp(-x) overflows it is the 0 that it should be."""
    return 1.0 / (1.0 + xp.exp(-x))


ROOT_HALF, ERF_SLOPE, ROOT, CUBIC = sqrt(0.5), 2.0 / sqrt(pi), sqrt(2.0 / pi), 0.044715


def gaussian(xp, x, approximate):
    """GELU: x * (1 + erf(x / sqrt(2))) / 2, and by "tanh" x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2."""
    inner = xp.erf(ROOT_HALF * x) if approximate == "none" else xp.tanh(ROOT * (x + CUBIC * x * x * x))
    return 0.5 * x * (1.0 + inner)


def gaussian_slope(xp, x, approximate):
    """The derivative of GELU."""
    if approximate == "none":
        z = ROOT_HALF * x
        return 0.5 * (1.0 + xp.erf(z)) + 0.5 * z * (ERF_SLOPE * xp.exp(-z * z))
    t = xp.tanh(ROOT * (x + CUBIC * x * x * x))
    return 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * (ROOT * (1.0 + 3.0 * (CUBIC * x * x)))
