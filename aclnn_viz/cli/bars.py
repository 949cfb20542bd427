"""Progress bars."""

import sys


def progress(items, unit: str, total: int | None = None):
    """Show a progress bar where tqdm is installed and somebody watches."""
    try:
        from tqdm import tqdm
    except ImportError:
        return items
    return tqdm(items, disable=not sys.stderr.isatty(), leave=False, unit=unit, total=total)
