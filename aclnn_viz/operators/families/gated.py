"""Declare a gated linear unit: x is cut in halves a and b along dim, and y is half as long."""

from aclnn_viz.operators.operator import Attribute, Operator, Tensor, declared


def gated(
    page, prototype, older, *, x, gradient, out, tensors=None, attributes=None, **fields
) -> Operator:
    """Return the declaration of a gated unit; `out` is the gradient of `x`, `gradient` that of y, half as long along dim."""
    taken = {"dim": Attribute("int64_t", -1, tries=(0, 1), seen=False)} | (attributes or {})
    return declared(
        page,
        prototype,
        older,
        **{
            "tensors": {
                x: Tensor("*A 2*H@dim *B"),
                gradient: Tensor("*A H *B"),
                out: Tensor("*A 2*H *B"),
                "y": Tensor("*A H *B"),
            }
            | (tensors or {}),
            "attributes": taken,
            "takes": (x, *taken),
            "gives": ("y",),
            "upstream": {gradient: "y"},
            "gradient_of": {out: x},
            "like": x,
            "shapes": ({"shape": (4, 6)}, {"shape": (3, 4, 2)}),
        }
        | fields,
    )
