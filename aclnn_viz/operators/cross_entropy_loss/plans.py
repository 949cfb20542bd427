"""State how device kernels of cross entropy compute (formats, order of sums, rounding), to predict their outputs.

Source: ops-nn loss/cross_entropy_loss_grad/op_kernel.
"""

from aclnn_viz.arrays.plan import BLOCKED, Note
from aclnn_viz.operators.products import ATLAS_A2_A3
from aclnn_viz.words.messages import message


def preset(product, version):
    """Return the settings of the plan that differ from the general ones, and its notes."""
    return {"order": BLOCKED, "tile": 2048}, (
        Note(
            message(
                "float32 inside, output to nearest even, W summed per core and then over the cores"
            ),
            "ops-nn loss/cross_entropy_loss_grad/op_kernel/cross_entropy_loss_grad_base.h",
            inferred=product not in ATLAS_A2_A3,
        ),
        Note(
            message("order of the factors of a product; tiles of 2048 rows"),
            message("conclusion from the documented formula"),
            inferred=True,
        ),
    )
