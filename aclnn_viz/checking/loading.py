"""A kernel named on the command line."""

import importlib.util
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from aclnn_viz.errors import problem


def load_kernel(name: str) -> Callable:
    """Return the function that "path/to/file.py:function" or "package.module:function" names.

    Raises ValueError when there is no such file, module or function.

    >>> load_kernel("math:sqrt")(4.0)
    2.0
    """
    place, _, function = name.rpartition(":")
    asked = "a kernel is named as FILE.py:FUNCTION or MODULE:FUNCTION"
    if not place:
        raise ValueError(problem(asked, repr(name), "name the function as well"))
    try:
        module = _module_of_file(Path(place)) if place.endswith(".py") else import_module(place)
        kernel = getattr(module, function)
    except (ImportError, OSError, AttributeError) as error:
        raise ValueError(problem(asked, f"{name!r}: {error}", "mend the name")) from error
    if not callable(kernel):
        raise ValueError(problem(asked, f"{name!r}, a {type(kernel).__name__}", "name a function"))
    return kernel


def _module_of_file(path: Path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
