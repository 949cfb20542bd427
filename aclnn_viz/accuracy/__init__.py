"""How wrong an output is: error measures, the acceptance standards that judge them, and what rounding explains."""

from importlib import import_module

# The names of each module, which is loaded when the first of them is needed.
_NAMES = {
    "accuracy.envelopes": "Attribution Envelope Explanation attribute_errors envelope explain",
    "accuracy.measures": "Measures measure",
    "accuracy.predictions": "Prediction Predictions predict",
    "accuracy.report": "Report compare disagreements",
    "accuracy.sweeps": "Sweep sweep sweep_factor",
    "arrays.plan": "Plan",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = sorted([*_MODULES, "standards"])


def __getattr__(name):
    if name == "standards":
        return import_module("aclnn_viz.accuracy.standards")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"aclnn_viz.{_MODULES[name]}"), name)
