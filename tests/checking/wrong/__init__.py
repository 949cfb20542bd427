"""Right kernels by hand, and wrong ones as edits of them: each is written out as a file without a switch or the name of its slip.

slips.toml says for each what is wrong, after which public thread it was written, and what it reads in place of the right text;
ordinary.toml has kernels that are wrong on some value, relation or row alone, with inputs that show it, and arrangements.toml right ones.
"""

import tomllib
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from aclnn_viz.checking.kernel import load_kernel

FOLDER = Path(__file__).parent
SLIPS, ORDINARY, ARRANGEMENTS = (
    tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))
    for name in ("slips", "ordinary", "arrangements")
)
WRITTEN = TemporaryDirectory()


def source(operator, name="right"):
    """Return the text of a kernel's file."""
    text = (FOLDER / operator / "right.py").read_text("utf-8")
    return text if name == "right" else with_edits(text, *SLIPS[operator][name]["edits"])


def with_edits(text, *edits):
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def loaded(name, text):
    """Return the kernel of a text, in a new file."""
    path = Path(WRITTEN.name, f"{name}.py")
    path.write_text(text, "utf-8")
    return load_kernel(f"{path}:kernel")


@cache
def kernel(operator, name="right"):
    return loaded(f"{operator}_{name}", source(operator, name))


def edited(operator, *edits):
    """Return the right kernel of an operator with some texts replaced."""
    text = with_edits(source(operator), *edits)
    return loaded(f"{operator}_{abs(hash(text))}", text)


def opaque(kernel):
    """Return the kernel without its source."""
    return lambda **inputs: kernel(**inputs)


def wrong():
    """Return (operator, number, slip) of every wrong kernel."""
    return [
        (operator, number, entry["slip"])
        for operator, entries in SLIPS.items()
        for number, entry in entries.items()
    ]
