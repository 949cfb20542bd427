"""Run the command line as `python -m aclnn_viz.cli`, where the script `aclnn-viz` is not installed."""

import sys

from aclnn_viz.command import command

sys.exit(command())
