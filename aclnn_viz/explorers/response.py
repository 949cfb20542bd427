"""Choose the interactive picture (explorer) that suits an operator by its declaration, and compute its data.

The kit's page computes all of it in float64, whatever computes the gradient of the tensors.
"""

from aclnn_viz.explorers import attention, losses, norms, planes, slopes, softmax, volume
from aclnn_viz.explorers.arrays import double, paged
from aclnn_viz.words.messages import message

STAGES = (
    (norms, norms.is_norm, norms.norm),
    (softmax, softmax.is_softmax, softmax.softmax),
    (losses, losses.parts, losses.loss),
    (slopes, slopes.is_slope, slopes.slope),
    (attention, attention.is_attention, attention.attention),
    (volume, volume.is_volume, volume.volume),
    (planes, lambda op: True, planes.plane),
)


def stage_of(op):
    """Return the module of an operator's stage, by its declaration, and the function of its data."""
    return next((stage, answer) for stage, fits, answer in STAGES if fits(op))


def response(xp, op, given: dict, state, run=None):
    """Return the data of an operator's stage, as arrays of `xp`, or a sentence on why there are none.

    `run(page, values)` calls a page; by default over `xp`.
    """
    arranged = op.arrange_backward(**given)
    if op.main not in arranged.results:
        return message(
            "The picture of one element's effect is missing, because {output} is switched off.",
            output=op.main,
        )
    arrays = {
        name: array if array is None or array.dtype.kind in "iub" else double(xp, array)
        for name, array in paged(xp, arranged).items()
    }
    _, answer = stage_of(getattr(op, "_op", op))  # a traced operator wraps the operator itself
    run = run or (lambda page, values: page(xp, **values))
    return answer(xp, op, run, arrays, arranged, given, state)
