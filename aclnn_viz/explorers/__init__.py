"""Interaction: `explore` opens an explorer, which holds a state, computes its data and lets the browser draw it."""

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from aclnn_viz.errors import invalid, problem
from aclnn_viz.operators import operator, operators, registry

if TYPE_CHECKING:
    from aclnn_viz.explorers.widget import Explorer


def explorers() -> tuple[str, ...]:
    """Return the names that `explore` opens: every operator, and the other subjects of this package.

    >>> explorers()[-4:]
    ('numeric_error', 'tiles', 'two_phase', 'zoom')
    """
    names = tuple(op.name for op in operators())
    return names + tuple(name for name in _subjects() if name not in names)


def _subjects() -> list[str]:
    """Return the modules of this package that declare themselves a subject."""
    modules = sorted(Path(__file__).parent.glob("*.py"))
    return [
        path.stem
        for path in modules
        if re.search(r"^def subject\(\)", path.read_text("utf-8"), re.MULTILINE)
    ]


def subject_of(name):
    """Return the subject of an explorer: from a module of this package, else from an operator by any of its names.

    Raise ValueError for any other name.
    """
    from aclnn_viz.explorers import default  # imported late: `default` loads the drawing of cases

    try:
        op = operator(name)
    except ValueError:
        if isinstance(name, str) and name in explorers():
            return import_module(f"aclnn_viz.explorers.{name}").subject()
        if not str(name).isidentifier():  # folders have a more precise error
            raise
        raise invalid(
            "no such explorer", repr(name), f"open one of {', '.join(explorers())}"
        ) from None
    own = registry.module("explorer", op.name)
    return own.subject() if own else default.of(op)


def explore(name, /, state: str = "", **values) -> "Explorer":
    """Return an explorer as a Jupyter widget.

    Parameters
    ----------
    name : str or Operator
        An operator, its short name or its vendor's name, or "numeric_error", "tiles" or
        "two_phase". An operator without a separate explorer gets one made from its declaration.
    state : str
        The text of a link, with values of the state.
    **values : value
        Values of the state by name; others have defaults.

    Returns
    -------
    Explorer
        The widget; `.data` are its numbers, `.save(path)` writes it as a page.

    Raises
    ------
    ValueError
        For an unknown name, a text that is no state, or a value that does not fit.
    TypeError
        For a name that the state lacks.
    ModuleNotFoundError
        Without the packages of the extra `lab`.

    Examples
    --------
    >>> explorer = explore("grid_sampler_2d", rotate=30.0)
    >>> explorer.data.out.shape
    (16, 16)
    >>> explorer.close()
    """
    try:
        from aclnn_viz.explorers.widget import Explorer
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            problem(
                "explorers need the lab packages",
                f"no module {error.name!r}",
                'pip install "aclnn-viz[lab]"',
            ),
            name=error.name,
        ) from None
    from aclnn_viz.explorers.state import read_state

    return Explorer(subject_of(name), **read_state(state) | values)
