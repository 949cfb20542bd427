"""How wrong an output is: error measures, the acceptance standards that judge them, and what rounding explains."""

from aclnn_viz.accuracy import standards
from aclnn_viz.accuracy.envelopes import (
    Attribution,
    Envelope,
    Explanation,
    attribute_errors,
    envelope,
    explain,
)
from aclnn_viz.accuracy.measures import Measures, measure
from aclnn_viz.accuracy.predictions import Prediction, Predictions, predict
from aclnn_viz.accuracy.report import Report, compare, disagreements
from aclnn_viz.accuracy.sweeps import Sweep, sweep, sweep_factor
from aclnn_viz.arrays.plan import Plan

__all__ = [
    "Attribution",
    "Envelope",
    "Explanation",
    "Measures",
    "Plan",
    "Prediction",
    "Predictions",
    "Report",
    "Sweep",
    "attribute_errors",
    "compare",
    "disagreements",
    "envelope",
    "explain",
    "measure",
    "predict",
    "standards",
    "sweep",
    "sweep_factor",
]
