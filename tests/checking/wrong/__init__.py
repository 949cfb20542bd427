"""Right kernels by hand, and wrong ones as edits of them: each is written out as a file without a switch or the name of its slip.

slips.toml says for each what is wrong, after which public thread it was written, and what it reads in place of the right text.
"""

import tomllib
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from aclnn_viz.checking.kernel import load_kernel

FOLDER = Path(__file__).parent
SLIPS = tomllib.loads((FOLDER / "slips.toml").read_text("utf-8"))
WRITTEN = TemporaryDirectory()


def source(operator, name="right"):
    """The text of a kernel's file."""
    text = (FOLDER / operator / "right.py").read_text("utf-8")
    for old, new in SLIPS[operator][name]["edits"] if name != "right" else ():
        assert text.count(old) == 1, (operator, name, old)
        text = text.replace(old, new)
    return text


@cache
def kernel(operator, name="right"):
    path = Path(WRITTEN.name, f"{operator}_{name}.py")
    path.write_text(source(operator, name), "utf-8")
    return load_kernel(f"{path}:kernel")


def wrong():
    """(operator, number, slip) of every wrong kernel."""
    return [
        (operator, number, entry["slip"])
        for operator, entries in SLIPS.items()
        for number, entry in entries.items()
    ]
