"""What goes wrong: named wrong kernels, one file an operator, each a small change to the right page, with its story."""

from importlib import import_module

from aclnn_viz.faults.fault import Fault

__all__ = ["Fault", "faults"]


def faults(name: str) -> tuple[Fault, ...]:
    """Return the named faults of an operator by its short name.

    >>> faults("rms_norm")[0].name
    'missing 1/n'
    """
    return import_module(f"aclnn_viz.faults.{name}").FAULTS
