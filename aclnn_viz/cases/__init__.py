"""Inputs for kernels: values that a network can reach, boundary values and kinks among them, drawn from a seed."""

from aclnn_viz.cases.case import Case, case
from aclnn_viz.cases.lists import read, write

__all__ = ["Case", "case", "read", "write"]
