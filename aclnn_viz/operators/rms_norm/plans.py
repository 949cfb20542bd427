"""State how device kernels of RMS norm compute (formats, order of sums, rounding), to predict their outputs.

Source: ops-nn norm/rms_norm_grad/op_kernel.
"""

from aclnn_viz.arrays.plan import BLOCKED, SHUFFLED, Note
from aclnn_viz.operators.products import ATLAS_A2_A3, INFERENCE, WITH_ARCH35
from aclnn_viz.words.messages import message


def preset(product, version):
    """Return the settings of the plan that differ from the general ones, and its notes."""
    regular = product in WITH_ARCH35
    return {"reciprocal_mean": True, "leading": BLOCKED if regular else SHUFFLED, "tile": 1}, (
        Note(
            message(
                "x * rstd first, row mean as a tree times a rounded 1/n, output to nearest even"
            ),
            "ops-nn norm/rms_norm_grad/op_kernel/rms_norm_grad_split_n_high_precision.h",
            inferred=product not in (*ATLAS_A2_A3, INFERENCE),
        ),
        Note(
            message("dgamma: rows in turn in a core, cores in a fixed order")
            if regular
            else message("dgamma: rows in turn in a core, then atomic additions"),
            message(
                "ops-nn norm/rms_norm_grad/op_kernel; determinism table of docs/zh/op_api_list.md"
            ),
        ),
        Note(
            message("rows are dealt to the cores in equal spans"),
            message("no source; the tiling may differ"),
            inferred=True,
        ),
    )
