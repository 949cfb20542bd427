"""Many cases on many machines: recipes drawn by the worker, a store with one row per case, reports of changes."""

from aclnn_viz.sweeps.reports import Report, report
from aclnn_viz.sweeps.scheduler import sweep

__all__ = ["Report", "report", "sweep"]
