"""Errors of outputs: measures, the acceptance standards that judge them, and the errors that rounding explains."""

from importlib import import_module

# the module that defines each public name; it is loaded on first use
_MODULES = {
    "Attribution": "envelopes",
    "Envelope": "envelopes",
    "Explanation": "envelopes",
    "Measures": "measures",
    "Plan": "envelopes",
    "Prediction": "predictions",
    "Predictions": "predictions",
    "Report": "report",
    "Sweep": "sweeps",
    "attribute_errors": "envelopes",
    "compare": "report",
    "disagreements": "report",
    "envelope": "envelopes",
    "explain": "envelopes",
    "measure": "measures",
    "predict": "predictions",
    "standards": "standards",
    "sweep": "sweeps",
    "sweep_factor": "sweeps",
}
__all__ = list(_MODULES)


def __getattr__(name):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f".{_MODULES[name]}", __name__)
    return module if name == _MODULES[name] else getattr(module, name)
