"""What is verified of an operator: what its own file of verification defines, else what `defaults` makes of it."""

from aclnn_viz import rooms
from aclnn_viz.operators import Operator
from aclnn_viz.verification import defaults


class Subject:
    """An operator under verification: its attributes are those that `defaults` names."""

    def __init__(self, op: Operator):
        self.op = op

    def __getattr__(self, name: str):
        own = rooms.own("verification", self.op.name, name)
        found = getattr(defaults, name)(self.op) if own is None else own
        setattr(self, name, found)  # a default is made once: shapes are drawn to see which of them the operator takes
        return found
