"""Many cases on many machines: recipes that are drawn when they are run, a store with one row for each case, reports of what changed."""

from aclnn_viz.sweeps.reports import Report, report
from aclnn_viz.sweeps.scheduler import sweep

__all__ = ["Report", "report", "sweep"]
