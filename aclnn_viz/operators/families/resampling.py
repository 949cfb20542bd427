"""Formulas and declarations that paddings and interpolations of planes (planes, H, W) share: an output is a weighted sum of a
few elements, called taps.

Taps along rows and columns hold for each output place the index of an element on that axis, and its weight (None for 1).
"""

import inspect
from fractions import Fraction
from numbers import Real

import numpy as np

from aclnn_viz.errors import invalid
from aclnn_viz.operators.operator import Attribute, Operator, Tensor, declared
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING

LENGTHS = {
    **{letter: f"inputSize[{k}]" for k, letter in enumerate("NCHW")},
    "Ho": "outputSize[0]",
    "Wo": "outputSize[1]",
}


def pairs(xp, rows, columns, width):
    """Yield for each pair of a row tap and a column tap the places in
    the flattened plane, and the product of both weights.
    """
    for row, of_row in rows:
        for column, of_column in columns:
            weight = (
                None if of_row is None else xp.reshape(of_row[:, None] * of_column[None, :], (-1,))
            )
            yield xp.reshape(row[:, None] * width + column[None, :], (-1,)), weight


def gathered(xp, planes, rows, columns):
    """Return the outputs (planes, Ho, Wo): the weighted sum of each place's taps."""
    count, height, width = planes.shape
    flat, total = xp.reshape(planes, (count, height * width)), 0.0
    for place, weight in pairs(xp, rows, columns, width):
        found = xp.take(flat, place, axis=1)
        total = total + (found if weight is None else found * xp.astype(weight, planes.dtype))
    return xp.reshape(total, (count, rows[0][0].shape[0], columns[0][0].shape[0]))


def scattered(xp, grad, rows, columns, height, width):
    """Return the gradients of the planes: each element sums the weighted gradients of the outputs that use it."""
    flat = xp.reshape(grad, (grad.shape[0], grad.shape[1] * grad.shape[2]))
    total = xp.zeros((grad.shape[0], height * width), dtype=grad.dtype)
    for place, weight in pairs(xp, rows, columns, width):
        total = xp.scatter_add(
            total, place, flat if weight is None else flat * xp.astype(weight, grad.dtype)
        )
    return xp.reshape(total, (grad.shape[0], height, width))


def ratio(length, places, scale):
    """Return elements per place as (numerator, denominator), whole numbers; (None, scale)
    if the scale is no such quotient.
    """
    if not scale > 0.0:
        return length, places
    # the arrays of a proof have no data
    has_data = inspect.getattr_static(scale, "data", None) is not None
    number = scale if isinstance(scale, Real) else scale.data if has_data else None
    if not isinstance(number, (Real, np.ndarray)) or not number < 2**32:
        return None, scale
    given = Fraction(float(number))  # an attribute is an exact array while truth is computed
    near = given.limit_denominator(2**20)
    whole = near > 0 and abs(near - given) <= given / 2**50
    return (near.denominator, near.numerator) if whole else (None, scale)


def coordinates(xp, length, places, scale, alignCorners, least=None):
    """Return the position, at least `least`, of each output place on the input axis: the element at or before the
    position, and the distance from that element.

    Either the first and last places lie at the first and last elements, or places span edge to edge. Whole numbers choose
    between elements exactly; a rounded quotient would not.
    """
    at = xp.arange(places, dtype=xp.int64)
    if alignCorners:
        count, parts = at * (length - 1), places - 1 if places > 1 else 1
    else:
        under, over = ratio(length, places, scale)
        if under is None:
            at = (xp.astype(at, xp.float64) + 0.5) / over - 0.5
            at = at if least is None else xp.maximum(at, least)
            whole = xp.floor(at)
            return xp.astype(whole, xp.int64), at - whole
        count, parts = (2 * at + 1) * under - over, 2 * over
    count = count if least is None else xp.maximum(count, int(least))
    whole = count // parts
    return whole, xp.astype(count - whole * parts, xp.float64) / parts


def weighted(xp, first, weights, length, before):
    """Return taps (element, weight) for the weights of consecutive elements, of which `before` lie before `first`; an
    element outside is replaced by that at the edge.
    """
    return [
        (xp.clip(first + (k - before), 0, length - 1), weight) for k, weight in enumerate(weights)
    ]


def of_axes(xp, height, width, rows, columns, alignCorners, scalesH, scalesW, shares):
    """Return the taps of the rows and those of the columns; `shares` computes the taps of one axis."""
    return shares(xp, height, rows, scalesH, alignCorners), shares(
        xp, width, columns, scalesW, alignCorners
    )


def sides(xp, planes, padding, source):
    """Return the taps of the rows and those of the columns; `source` computes the
    taps of one axis from its length and padding.
    """
    left, right, top, bottom = padding
    return source(xp, planes.shape[1], top, bottom), source(xp, planes.shape[2], left, right)


def padded(xp, length, before, after):
    """Return the places along an axis with padding, counted from the first unpadded place."""
    return xp.arange(length + before + after, dtype=xp.int64) - before


def padding_fits(bound):
    """Refuse a padding of bfloat16 above 7."""
    if bound["self"].dtype.name == "bfloat16" and max(bound["padding"]) > 7:
        raise invalid(
            "padding of bfloat16 must be at most 7",
            str(bound["padding"]),
            "pad less, or in float32",
        )


def padding_2d(page, prototype) -> Operator:
    """Return the declaration of an operator that pads the last two axes (left,
    right, top, bottom) with elements of the planes.
    """
    planes, wide = Tensor("(*N C) H W", ranks=(3, 4)), Tensor("(*N C) Ho Wo")
    return declared(
        page,
        prototype,
        ATLAS_INFERENCE_TRAINING,
        "float64",
        header="aclnn_pad2d_backward.h",
        library="ops-math",
        tensors={
            "self": planes,
            "out": wide,
            "gradOutput": wide,
            "gradInput": Tensor("(*N C) H W"),
        },
        attributes={
            "padding": Attribute(
                "const aclIntArray *",
                (1, 0, 2, 1),
                length=4,
                low=0,
                high="(W - 1, W - 1, H - 1, H - 1)",
                tries=((0, 2, 1, 1),),
            )
        },
        sizes={"Ho": "H + padding[2] + padding[3]", "Wo": "W + padding[0] + padding[1]"},
        takes=("self", "padding"),
        gives=("out",),
        upstream={"gradOutput": "out"},
        gradient_of={"gradInput": "self"},
        like="self",
        rules=(padding_fits,),
        shapes=(
            {"shape": (2, 2, 5, 4)},
            {"shape": (1, 1, 5, 4)},
            {"shape": (3, 4, 7), "padding": (6, 3, 0, 2)},
        ),
    )


def upsampling_2d(
    page, prototype, formats, aligns="bool", empty=False, gradient="gradInput", made="out"
) -> Operator:
    """Return the declaration of an upsampling of the last two axes to outputSize; `aligns` is the type of alignCorners."""
    planes, wide = (
        Tensor(f"(N C) {axes}", empty=empty, layout="NCHW") for axes in ("H W", "Ho Wo")
    )
    corners = {"alignCorners": Attribute(aligns, False, tries=(True,))} if aligns else {}
    return declared(
        page,
        prototype,
        header=f"aclnn_{page.__name__.split('.')[-2]}_backward.h",
        library="ops-cv",
        formats=formats,
        tensors={
            "self": planes,
            made: Tensor("(N C) Ho Wo"),
            "gradOut": wide,
            gradient: Tensor("(N C) H W", layout="NCHW"),
        },
        attributes={
            "outputSize": Attribute("const aclIntArray *", length=2, low=1, seen=False),
            "inputSize": Attribute(
                "const aclIntArray *", length=4, low="(0, 0, 1, 1)" if empty else 1, seen=False
            ),
            **corners,
            # sqrt(3): no quotient of small whole numbers, unlike a ratio of two lengths
            "scalesH": Attribute("double", 0.0, tries=(1.7320508,)),
            "scalesW": Attribute("double", 0.0, tries=(0.8,)),
        },
        sizes=LENGTHS,
        counts={"height": "H", "width": "W", "rows": "Ho", "columns": "Wo"},
        takes=("self", "outputSize", *corners, "scalesH", "scalesW"),
        gives=(made,),
        upstream={"gradOut": made},
        gradient_of={gradient: "self"},
        like="gradOut",
        shapes=(
            {"shape": (2, 2, 5, 4), "outputSize": (8, 3)},
            {"shape": (1, 3, 2, 9), "outputSize": (7, 9)},
        ),
    )
