"""Learn, see and verify the backward operators of Huawei's CANN aclnn library."""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # for editors and type checkers, which do not see lazily loaded names
    from aclnn_viz import acl as acl
    from aclnn_viz import tiles as tiles
    from aclnn_viz.accuracy.predictions import predict as predict
    from aclnn_viz.accuracy.report import compare as compare
    from aclnn_viz.acl.why import why as why
    from aclnn_viz.cases import Case as Case
    from aclnn_viz.cases import case as case
    from aclnn_viz.checking import check as check
    from aclnn_viz.checking import museum as museum
    from aclnn_viz.checking import same_bits as same_bits
    from aclnn_viz.checking.tolerances import tolerance as tolerance
    from aclnn_viz.devices import (
        AclError as AclError,
    )
    from aclnn_viz.devices import (
        DeviceUnavailable as DeviceUnavailable,
    )
    from aclnn_viz.devices import (
        open_device as open_device,
    )
    from aclnn_viz.devices.cpp import cpp_sample as cpp_sample
    from aclnn_viz.errors import NotSupported as NotSupported
    from aclnn_viz.explorers import explore as explore
    from aclnn_viz.operators import operator as operator
    from aclnn_viz.operators import operators as operators
    from aclnn_viz.pictures import judge as judge
    from aclnn_viz.proving import derive as derive
    from aclnn_viz.proving import prove as prove
    from aclnn_viz.storage.foreign_arrays import load as load
    from aclnn_viz.sweeps import sweep as sweep
    from aclnn_viz.words import glossary as glossary
    from aclnn_viz.words import language as language

# The module of every public name, loaded at first use.
_MODULES = {
    "AclError": "devices",
    "Case": "cases",
    "DeviceUnavailable": "devices",
    "NotSupported": "errors",
    "acl": "",
    "case": "cases",
    "check": "checking",
    "compare": "accuracy.report",
    "cpp_sample": "devices.cpp",
    "derive": "proving",
    "explore": "explorers",
    "glossary": "words",
    "judge": "pictures",
    "language": "words",
    "load": "storage.foreign_arrays",
    "museum": "checking",
    "open_device": "devices",
    "operator": "operators",
    "operators": "",
    "predict": "accuracy.predictions",
    "prove": "proving",
    "same_bits": "checking",
    "sweep": "sweeps",
    "tiles": "",
    "tolerance": "checking.tolerances",
    "why": "acl.why",
}
__all__ = list(_MODULES)
# Further names for tab completion: packages for occasional use.
_OFFERED = (
    "accuracy",
    "arrays",
    "cases",
    "checking",
    "devices",
    "dtypes",
    "explorers",
    "pictures",
    "verification",
    "__version__",
)


def __getattr__(name):
    if name == "__version__":
        from importlib.metadata import version

        return version("aclnn-viz")
    if module := _MODULES.get(name):
        globals()[name] = found = getattr(import_module(f"aclnn_viz.{module}"), name)
        return found
    if name.isidentifier() and name[0] != "_" and find_spec(f"aclnn_viz.{name}"):
        return import_module(f"aclnn_viz.{name}")
    raise AttributeError(f"module 'aclnn_viz' has no attribute {name!r}")


def __dir__():
    return sorted({*__all__, *_OFFERED, *(name for name in globals() if name.startswith("__"))})
