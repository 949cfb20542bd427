"""What is verified of an operator whose own file of verification leaves it open: it follows from the declaration."""

from aclnn_viz.operators import Operator

INVALID = 161002


def plain(op: Operator):
    """What a case in a format must be given so that no rule beside the format refuses it on any product."""
    return lambda fmt: {}


def refusal(op: Operator):
    """The status with which a product refuses a format."""
    return lambda fmt, product: INVALID
