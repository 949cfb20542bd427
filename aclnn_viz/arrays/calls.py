"""Record each call during a function's run, with local variables and result, to find the named steps of a formula."""

import sys


def watched(function, mine) -> tuple:
    """Return the result of `function()` and a list of the inner calls with `mine(frame)` true, in the order in which
    they end: (name, locals, result) of each.
    """
    seen = []

    def watch(frame, event, result):
        if event == "return" and mine(frame):
            seen.append((frame.f_code.co_name, dict(frame.f_locals), result))

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        return function(), seen
    finally:
        sys.setprofile(before)
