"""Right kernels of other arrangements than the pages, in PyTorch and JAX."""

import inspect
from importlib import import_module


def kernels(library):
    """Return the right kernels of a library by operator."""
    module = import_module(f"checking.arrangements.{library}_kernels")
    return {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value) and len(inspect.signature(value).parameters) > 1
    }
