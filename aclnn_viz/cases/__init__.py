"""What is fed: inputs that a network can reach, with boundary values and kinks among them, one file an operator."""

from aclnn_viz.cases.case import Case, case
from aclnn_viz.cases.lists import read, write

__all__ = ["Case", "case", "read", "write"]
