"""Operators: the vendor's documented facts of each (its declaration), and its outputs as numbers (its page)."""

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from aclnn_viz.errors import invalid, shown
from aclnn_viz.operators import registry
from aclnn_viz.operators.declaration_check import check
from aclnn_viz.operators.operator import Attribute, Operator, Tensor, Truth

__all__ = ["Attribute", "Operator", "Tensor", "Truth", "operator", "operators"]


def operators() -> tuple[Operator, ...]:
    """Return all operators: those that have a lesson in its order, then the others by name.

    Returns
    -------
    tuple of Operator
        Those of the kit, and those opened from folders outside.

    Examples
    --------
    >>> operators()[0].name
    'hardswish'
    """
    found = [registry.own("declaration", name, "OPERATOR") for name in registry.names()]
    return tuple(
        sorted(
            (one for one in found if one is not None),
            key=lambda one: (one.chapter is None, one.chapter or 0, one.name),
        )
    )


class _Package(ModuleType):
    """This package, which users call as the function `av.operators()` and imports use as a package."""

    def __call__(self) -> tuple[Operator, ...]:
        return operators()


sys.modules[__name__].__class__ = _Package


def operator(name: "str | Path | Operator") -> Operator:
    """Return the operator of a name, or open the one in a folder.

    Parameters
    ----------
    name : str, path or Operator
        A short name, a vendor's name, or the path of a folder with a page and a declaration.

    Returns
    -------
    Operator
        The same object at each call with the same name.

    Raises
    ------
    ValueError
        For any other name, and for a folder whose declaration is wrong.

    Examples
    --------
    >>> operator("aclnnRmsNormGrad").name
    'rms_norm'
    """
    if isinstance(name, Operator):
        return name
    if isinstance(name, Path) or isinstance(name, str) and ("/" in name or "\\" in name):
        found = registry.open_folder(name)
        try:
            check(
                op := registry.own("declaration", found, "OPERATOR"),
                registry.file("declaration", found),
            )
        except ValueError:
            registry.forget(found)
            raise
        return op
    return known(name)


def known(name: str | Operator) -> Operator:
    """Return a known operator by name, without opening a folder.

    Raise ValueError for any other name.
    """
    if isinstance(name, Operator):
        return name
    if (
        isinstance(name, str)
        and name in registry.names()
        and (one := registry.own("declaration", name, "OPERATOR")) is not None
    ):
        return one  # found without importing the folders of other operators
    found = operators()
    for one in found:
        if isinstance(name, str) and name in (one.name, one.aclnn_name):
            return one
    from difflib import get_close_matches

    every = {text: one for one in found for text in (one.name, one.aclnn_name)}
    near = {every[text].name for text in get_close_matches(str(name), every, n=6, cutoff=0.5)}
    named = [one for one in found if one.name in near or one.chapter and not near]
    names = (
        ", ".join(f"{one.name} ({one.aclnn_name})" for one in named)
        + f" or another of the {len(found)} that aclnn-viz operators lists"
    )
    here = isinstance(name, str) and not {"/", "\\"} & {*name} and registry.holds_operator(name)
    folder = f"write ./{name} for the folder; or " if here else ""
    raise invalid(
        "no such operator",
        shown(name),
        f"{folder}use one of {names}, or open its folder first: --operator "
        "FOLDER, or av.operator(FOLDER)",
    )


def recorded(entry: Mapping) -> Operator:
    """Return the operator of a stored case; raise ValueError if it is unknown or its sources have changed."""
    op, text = known(entry["operator"]), entry.get("sources")
    if text is not None and text != (now := registry.sources(op.name)):
        raise invalid(
            f"the case was recorded with {op.name} of the sources {shown(text)}",
            f"those of {shown(now)}",
            f"open the folder {op.name} with these sources: --operator FOLDER, or av.operator(FOLDER)",
        )
    return op
