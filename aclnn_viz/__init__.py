"""Learn, see and verify the backward operators of Huawei's CANN aclnn library."""

from aclnn_viz.cases import Case, case
from aclnn_viz.operators import operator, operators

__all__ = ["Case", "case", "operator", "operators"]
