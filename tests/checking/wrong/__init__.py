"""Wrong kernels, each a file without a switch and without the name of its slip, beside the right kernel of its operator.

slips.toml says for each what is wrong, and after which public thread it was written.
"""

import tomllib
from functools import cache
from importlib import import_module
from pathlib import Path

FOLDER = Path(__file__).parent
SLIPS = tomllib.loads((FOLDER / "slips.toml").read_text("utf-8"))


@cache
def kernel(operator, name="right"):
    return import_module(f"checking.wrong.{operator}.{name}").kernel


def wrong():
    """(operator, number, slip) of every wrong kernel."""
    return [
        (operator, number, entry["slip"])
        for operator, entries in SLIPS.items()
        for number, entry in entries.items()
    ]
