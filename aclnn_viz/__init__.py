"""Learn, see and verify the backward operators of Huawei's CANN aclnn library."""

from aclnn_viz import acl
from aclnn_viz.accuracy import compare
from aclnn_viz.cases import Case, case
from aclnn_viz.devices import AclError, DeviceUnavailable, open_device
from aclnn_viz.export import cpp_sample
from aclnn_viz.operators import operator, operators

__all__ = ["AclError", "Case", "DeviceUnavailable", "acl", "case", "compare", "cpp_sample", "open_device", "operator",
           "operators"]
