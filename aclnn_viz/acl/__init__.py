"""CANN's C API as Python methods of the same names, and its constants under their C names."""

from aclnn_viz.acl.cann import CannAcl, FunctionUnavailable
from aclnn_viz.acl.host import HostAcl
from aclnn_viz.acl.installation import DeviceUnavailable
from aclnn_viz.operators.codes import *  # noqa: F403

__all__ = ["CannAcl", "DeviceUnavailable", "FunctionUnavailable", "HostAcl"]
