"""State how device kernels of hardswish compute (formats, rounded constants, kinks), to predict their outputs.

Sources: ops-nn activation/hard_swish_grad/op_kernel/arch35 (Ascend 950); the TBE kernels of CANN 8.1.
"""

from aclnn_viz.arrays.plan import Note
from aclnn_viz.operators.products import WITH_ARCH35
from aclnn_viz.words.messages import message


def preset(product, version):
    """Return the settings of the plan that differ from the general ones, and its notes."""
    if product in WITH_ARCH35:
        return {"page": page}, (
            Note(
                message("x times a rounded 1/3, closed interval, nan has slope 1"),
                "ops-nn activation/hard_swish_grad/op_kernel/arch35/hard_swish_grad.h",
            ),
        )
    return {"page": tbe_page}, (
        Note(
            message(
                "x times 0.33333334; nan in self gives 1 in float32 and bfloat16, nan in float16"
            ),
            message("hard_swish_grad.py among the TBE kernels of CANN 8.1"),
        ),
        Note(
            message("the TBE kernel is unchanged in later versions"),
            message("no newer source is published"),
            inferred=True,
        ),
    )


def page(xp, gradOutput, self):
    """Return the gradient with the slope x times a rounded 1/3, plus 0.5; the
    selections give a nan in self the slope 1.
    """
    inside = self * (1.0 / 3.0) + 0.5
    slope = xp.where(self >= -3.0, inside, xp.zeros_like(self))
    return {"out": gradOutput * xp.where(self <= 3.0, slope, xp.ones_like(self))}


def tbe_page(xp, gradOutput, self):
    """Return what `page` returns, but for a nan in self nan in float16
    and 1 in other formats, whatever gradOutput is.
    """
    inside = self * (1.0 / 3.0) + 0.5
    slope = xp.where(
        self < -3.0, xp.zeros_like(self), xp.where(self > 3.0, xp.ones_like(self), inside)
    )
    out = gradOutput * slope
    return {
        "out": out
        if xp.storage.name == "float16"
        else xp.where(xp.isnan(self), xp.ones_like(out), out)
    }
