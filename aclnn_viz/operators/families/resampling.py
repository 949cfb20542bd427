"""What operators share whose outputs show one element each of planes (planes, H, W): the element's row and column for each output."""

from aclnn_viz.errors import problem
from aclnn_viz.operators.operator import Attribute, Operator, Tensor
from aclnn_viz.operators.products import ATLAS_INFERENCE_TRAINING, WITH_BFLOAT16

LENGTHS = {letter: f"inputSize[{k}]" for k, letter in enumerate("NCHW")} | {"Ho": "outputSize[0]", "Wo": "outputSize[1]"}
COUNTS = {"height": "H", "width": "W", "rows": "Ho", "columns": "Wo"}


def places(xp, rows, columns, width):
    """The place in the flattened plane of the element that each output shows."""
    return xp.reshape(rows[:, None] * width + columns[None, :], (-1,))


def gathered(xp, planes, rows, columns):
    """The outputs (planes, Ho, Wo)."""
    count, height, width = planes.shape
    shown = xp.take(xp.reshape(planes, (count, height * width)), places(xp, rows, columns, width), axis=1)
    return xp.reshape(shown, (count, rows.shape[0], columns.shape[0]))


def scattered(xp, grad, rows, columns, height, width):
    """The gradients of the planes: each element adds up the gradients of the outputs that show it."""
    flat = xp.reshape(grad, (grad.shape[0], grad.shape[1] * grad.shape[2]))
    total = xp.zeros((grad.shape[0], height * width), dtype=grad.dtype)
    return xp.reshape(xp.scatter_add(total, places(xp, rows, columns, width), flat), (grad.shape[0], height, width))


def padded(xp, length, before, after):
    """The places along an axis with padding, counted from the first that is no padding."""
    return xp.arange(length + before + after, dtype=xp.int64) - before


def padding_fits(bound):
    """The rule that bfloat16 is padded by at most 7."""
    if bound["self"].dtype.name == "bfloat16" and max(bound["padding"]) > 7:
        raise ValueError(problem("padding of bfloat16 must be at most 7", str(bound["padding"]), "pad less, or in float32"))


def padding_2d(page, prototype) -> Operator:
    """The declaration of a padding of the last two axes, (left, right, top, bottom), by what the planes hold."""
    planes, wide = Tensor("(*N C) H W", ranks=(3, 4)), Tensor("(*N C) Ho Wo")
    return Operator(
        name=page.__name__.split(".")[-2], page=page, prototype=prototype, header="aclnn_pad2d_backward.h", library="ops-math",
        formats={WITH_BFLOAT16: "float32 float16 bfloat16 float64", ATLAS_INFERENCE_TRAINING: "float32 float16 float64"},
        tensors={"self": planes, "out": wide, "gradOutput": wide, "gradInput": Tensor("(*N C) H W")},
        attributes={"padding": Attribute("const aclIntArray *", (1, 0, 2, 1), length=4, low=0, high="(W - 1, W - 1, H - 1, H - 1)",
                                         tries=((0, 2, 1, 1),))},
        sizes={"Ho": "H + padding[2] + padding[3]", "Wo": "W + padding[0] + padding[1]"},
        takes=("self", "padding"), gives=("out",), upstream={"gradOutput": "out"}, gradient_of={"gradInput": "self"}, like="self",
        rules=(padding_fits,), shapes=({"shape": (2, 2, 5, 4)}, {"shape": (3, 4, 7), "padding": (6, 3, 0, 2)}))
