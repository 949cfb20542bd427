"""How wrong an output is: error measures, the acceptance standards that judge them, and what rounding explains."""

from importlib import import_module

# The names of each module, which is loaded when the first of them is needed.
_NAMES = {
    "envelopes": "Attribution Envelope Explanation Plan attribute_errors envelope explain",
    "measures": "Measures measure",
    "predictions": "Prediction Predictions predict",
    "report": "Report compare disagreements",
    "standards": "standards",
    "sweeps": "Sweep sweep sweep_factor",
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = list(_MODULES)


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f".{_MODULES[name]}", __name__)
    return module if name == _MODULES[name] else getattr(module, name)
