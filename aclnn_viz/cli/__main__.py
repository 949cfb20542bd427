"""`python -m aclnn_viz.cli`: the command line without its script."""

import sys

from aclnn_viz.command import command

sys.exit(command())
