"""All of it, on many machines: lazy recipes, a ledger that is never written twice, reports of what changed."""

from aclnn_viz.sweeps.reporting import Report, report
from aclnn_viz.sweeps.sweeping import Swept, sweep

__all__ = ["Report", "Swept", "report", "sweep"]
