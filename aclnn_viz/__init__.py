"""Learn, see and verify the backward operators of Huawei's CANN aclnn library."""

from aclnn_viz import acl, operators
from aclnn_viz.accuracy import compare, predict
from aclnn_viz.cases import Case, case
from aclnn_viz.checking import check
from aclnn_viz.devices import AclError, DeviceUnavailable, open_device
from aclnn_viz.errors import NotSupported
from aclnn_viz.explorers import explore
from aclnn_viz.export import cpp_sample
from aclnn_viz.operators import operator
from aclnn_viz.pictures import judge
from aclnn_viz.storage.own import load

__all__ = ["AclError", "Case", "DeviceUnavailable", "NotSupported", "acl", "case", "check", "compare", "cpp_sample",
           "explore", "judge", "load", "open_device", "operator", "operators", "predict",
           "tiles"]


def __getattr__(name):
    if name == "tiles":  # loaded when first needed
        from importlib import import_module
        return import_module("aclnn_viz.tiles")
    if name == "__version__":
        from importlib.metadata import version
        return version("aclnn-viz")
    raise AttributeError(f"module 'aclnn_viz' has no attribute {name!r}")
