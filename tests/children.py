"""Forked children of the tests, independent of the kit."""

import os
import sys
import warnings


def forked(work, *arguments):
    """Start `work(*arguments)` in a forked child, which ends with 0, or with 1 when it raises; return its number."""
    sys.stdout.flush()
    sys.stderr.flush()
    # Python 3.12 warns of threads; a test worker's threads only wait for messages
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        status = 1
        try:
            work(*arguments)
            status = 0
        finally:
            os._exit(status)
    return child
