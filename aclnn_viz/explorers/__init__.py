"""Interaction: `explore` opens an explorer, which owns a state, computes its data and lets the browser draw it."""

from importlib import import_module

from aclnn_viz.errors import problem
from aclnn_viz.operators import operators

# The modules of this room that hold a subject, in learning order.
EXPLORERS = ("hardswish", "rms_norm", "grid_sampler_2d", "cross_entropy_loss", "group_norm_swish", "numeric_error",
             "two_phase")


def explore(name, /, **state):
    """Return the explorer of an operator, of "numeric_error" or of "two_phase", as a Jupyter widget.

    Its state is the default one but for the values given. An operator may also be called by its vendor's name.
    Raises ValueError for an unknown name or a value that does not fit, TypeError for a name that the state has not,
    ModuleNotFoundError without the packages of the extra `lab`.

    >>> explorer = explore("grid_sampler_2d", rotate=30.0)
    >>> explorer.data.outs.shape
    (3, 16, 16)
    >>> explorer.close()
    """
    if name not in EXPLORERS:
        name = next((op.name for op in operators() if name in (op, op.aclnn_name)), name)
    if name not in EXPLORERS:
        raise ValueError(problem("no such explorer", repr(name), f"open one of {', '.join(EXPLORERS)}"))
    try:
        from aclnn_viz.explorers.widget import Explorer
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(problem("explorers need the lab packages", f"no module {error.name!r}",
                                          'pip install "aclnn-viz[lab]"'), name=error.name) from None
    return Explorer(import_module(f"aclnn_viz.explorers.{name}").subject(), **state)
