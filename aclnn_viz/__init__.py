"""Learn, see and verify the backward operators of Huawei's CANN aclnn library."""

from aclnn_viz import acl
from aclnn_viz.accuracy import compare
from aclnn_viz.cases import Case, case
from aclnn_viz.devices import AclError, open_device
from aclnn_viz.operators import operator, operators

__all__ = ["AclError", "Case", "acl", "case", "compare", "open_device", "operator", "operators"]
