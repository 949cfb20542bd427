"""Run the command line as `python -m aclnn_viz.cli` if the script `aclnn-viz` is not installed."""

import sys

from aclnn_viz.command import command

sys.exit(command())
