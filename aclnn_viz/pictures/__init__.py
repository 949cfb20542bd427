"""Pictures: panels with marks and words, described once, which Matplotlib and the browser draw alike."""

from aclnn_viz.pictures.error_plot import error_plot, error_runs
from aclnn_viz.pictures.errors import errors
from aclnn_viz.pictures.judgement import Judged, Judgement, judge
from aclnn_viz.pictures.picture import Picture
from aclnn_viz.pictures.provenance import Provenance

__all__ = [
    "Judged",
    "Judgement",
    "Picture",
    "Provenance",
    "error_plot",
    "error_runs",
    "errors",
    "judge",
]
