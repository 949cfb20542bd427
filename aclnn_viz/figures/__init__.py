"""Pictures: pure functions from data to a matplotlib Figure, each with a text twin made from the same data."""

from aclnn_viz.figures.error_plot import error_plot
from aclnn_viz.figures.errors import errors
from aclnn_viz.figures.provenance import Provenance

__all__ = ["Provenance", "error_plot", "errors"]
