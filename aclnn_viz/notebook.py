"""Show a progress bar for loops longer than two seconds, if tqdm is installed and a person watches."""

import os
import sys
from collections.abc import Iterable
from importlib.util import find_spec

AFTER = 2.0  # seconds until a progress bar appears


def noted(
    items: Iterable, total: int | None = None, unit: str = "it", watched: bool | None = None
) -> Iterable:
    """Return the items, with a progress bar if `watched`, by default in a notebook.

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
    """Return whether a notebook runs this, and widgets are installed."""
    shell = "IPython" in sys.modules and sys.modules["IPython"].get_ipython()
    return bool(shell) and hasattr(shell, "kernel") and find_spec("ipywidgets") is not None
