"""How wrong an output is: error measures, and the acceptance standards that judge them."""

from aclnn_viz.accuracy import standards
from aclnn_viz.accuracy.conditioning import Attribution, attribute_errors
from aclnn_viz.accuracy.measures import Measures, measure
from aclnn_viz.accuracy.report import Report, compare, disagreements
from aclnn_viz.accuracy.sweeps import Sweep, sweep

__all__ = ["Attribution", "Measures", "Report", "Sweep", "attribute_errors", "compare", "disagreements", "measure",
           "standards", "sweep"]
