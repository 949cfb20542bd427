"""A kernel named on the command line."""

import importlib.util
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from aclnn_viz.errors import loaded, need, problem


def load_kernel(name: str) -> Callable:
    """Return the function that "path/to/file.py:function" or "package.module:function" names.

    Raises ValueError when there is no such file, module or function, or when its code fails as it is loaded.

    >>> load_kernel("math:sqrt")(4.0)
    2.0
    """
    asked = "a kernel is named as FILE.py:FUNCTION or MODULE:FUNCTION"
    place, _, function = need(name, str, asked, "pass such as 'kernel.py:norm'").rpartition(":")
    if not place:
        raise ValueError(problem(asked, repr(name), "name the function as well"))
    if place.endswith(".py") and not Path(place).is_file():
        raise ValueError(problem(asked, f"{name!r}: no file {place}", "mend the name"))
    try:
        module = loaded(place, lambda: _module_of_file(Path(place)) if place.endswith(".py") else import_module(place))
    except ValueError as error:
        missing = error.__cause__
        if isinstance(missing, ModuleNotFoundError) and missing.name and f"{place}.".startswith(f"{missing.name}."):
            raise ValueError(problem(asked, f"{name!r}: {missing}", "mend the name")) from missing
        raise
    kernel = getattr(module, function, None)
    if kernel is None:
        there = ", ".join(key for key, value in vars(module).items() if callable(value) and key[0] != "_") or "none"
        raise ValueError(problem(asked, f"{name!r}, where {place} has no {function!r}", f"name one of its functions: {there}"))
    if not callable(kernel):
        raise ValueError(problem(asked, f"{name!r}, a {type(kernel).__name__}", "name a function"))
    return kernel


def _module_of_file(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
