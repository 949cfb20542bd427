"""What goes wrong on a device beside a status that the library reports: a trap that it does not, or no device at all."""

from aclnn_viz.acl.calls import AclError
from aclnn_viz.errors import NotSupported, problem

__all__ = ["AclError", "ConstraintWarning", "DeviceClosedError", "RefusedError", "UnsupportedError"]


class RefusedError(ValueError):
    """A call that the library would take in silence and answer wrongly; `constraint` names the rule."""

    def __init__(self, aclnn_name: str, constraint, fix: str):
        self.constraint, self.workaround = constraint.name, constraint.workaround
        super().__init__(problem(f"{aclnn_name}: {constraint.text}", f"a call against it ({constraint.source})", fix))


class UnsupportedError(RefusedError, NotSupported):
    """A call that a peer has no operator for, or would answer by a crash."""

    def __init__(self, text: str):
        self.constraint, self.workaround = None, None
        ValueError.__init__(self, text)


class ConstraintWarning(UserWarning):
    """A documented constraint that nobody enforces is violated."""


class DeviceClosedError(RuntimeError):
    """The device was closed, has died of an error, or belongs to another process or thread."""
