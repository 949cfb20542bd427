"""Show a progress bar for loops that run longer than two seconds, where tqdm is installed and somebody watches."""

import os
import sys
from collections.abc import Iterable
from importlib.util import find_spec

AFTER = 2.0  # seconds, until it is said


def noted(
    items: Iterable, total: int | None = None, unit: str = "it", watched: bool | None = None
) -> Iterable:
    """Return the items of a loop that says how far it is; whether somebody is `watched` is known of a notebook.

    >>> list(noted("ab", 2))
    ['a', 'b']
    """
    if os.environ.get("TQDM_DISABLE") or not (_in_a_notebook() if watched is None else watched):
        return items
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return items
    return tqdm(items, total=total, unit=unit, delay=AFTER, leave=False)


def _in_a_notebook() -> bool:
    """Whether a notebook runs this, and widgets are installed."""
    shell = "IPython" in sys.modules and sys.modules["IPython"].get_ipython()
    return bool(shell) and hasattr(shell, "kernel") and find_spec("ipywidgets") is not None
