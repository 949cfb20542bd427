"""The tools and modes of this machine for tests, read in one place: `from machine import SOAK`."""

import importlib.util
import os
import re
import shutil
from pathlib import Path
from zlib import crc32

SOAK = os.environ.get("ACLNN_VIZ_SOAK") == "1"  # full-size sweeps instead of a sample of them
FAST = os.environ.get("ACLNN_VIZ_FAST") == "1"  # only the half of the suite that takes a minute
# only the tests that need another engine
PEERS = os.environ.get("ACLNN_VIZ_PEERS") == "1"
CI = os.environ.get("CI") == "true"  # no skips except ALLOWED_SKIPS
ROOT = Path(__file__).resolve().parent.parent


def _has_cann() -> bool:
    return bool({"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"} & os.environ.keys())


def _chinese_font() -> str:
    from aclnn_viz.pictures import fonts

    return fonts.chinese()


TOOLS = {  # name: (availability, remedy)
    "g++": (lambda: shutil.which("g++"), "install a C++ compiler (Debian: apt-get install g++)"),
    "chromium": (
        lambda: shutil.which("chromium"),
        "install Chromium (Debian: apt-get install chromium)",
    ),
    "node": (lambda: shutil.which("node"), "install Node.js (Debian: apt-get install nodejs)"),
    "git": (
        lambda: shutil.which("git") and (ROOT / ".git").exists(),
        "install git and work in a clone",
    ),
    "make": (lambda: shutil.which("make"), "install make (Debian: apt-get install make)"),
    "chinese font": (
        _chinese_font,
        "install a font with Chinese glyphs (Debian: apt-get install fonts-wqy-microhei)",
    ),
    "dask": (lambda: importlib.util.find_spec("distributed"), "pip install 'dask[distributed]'"),
    "torch": (
        lambda: importlib.util.find_spec("torch"),
        "make peers installs it and runs what needs it",
    ),
    "jax": (
        lambda: importlib.util.find_spec("jax"),
        "make peers installs it and runs what needs it",
    ),
    "numba": (
        lambda: importlib.util.find_spec("numba"),
        "make peers installs it and runs what needs it",
    ),
    "mcp": (
        lambda: importlib.util.find_spec("mcp"),
        "make peers installs it and runs what needs it",
    ),
    "cann": (_has_cann, "install CANN, source its set_env.sh and run on an Atlas machine"),
}
# fetched for a comparison or a client, not for every `make test`
ENGINES = {"torch", "jax", "numba", "mcp"}
# a CI machine cannot be expected to have the vendor's hardware
ALLOWED_SKIPS = re.compile(r"(Skipped: )?needs cann:")


def taught() -> tuple:
    """Return the operators with a lesson, and files of every kind, which tests try in full."""
    from aclnn_viz.operators import operators

    return tuple(op for op in operators() if op.chapter)


def sampled(module: str) -> tuple:
    """Return the operators for a module of tests: those with a lesson, and an eighth of the others in turn; with SOAK all."""
    from aclnn_viz.operators import operators

    return tuple(
        op
        for op in operators()
        if op.chapter or SOAK or crc32(f"{module} {op.name}".encode()) % 8 == 0
    )


def sampled_explorers(module: str) -> tuple:
    """Return the explorers for a module of tests: as `sampled`, and those without an operator."""
    from aclnn_viz.explorers import explorers
    from aclnn_viz.operators import operators

    left = {op.name for op in operators()} - {op.name for op in sampled(module)}
    return tuple(name for name in explorers() if name not in left)


def missing(*tools: str) -> str:
    """Return one line about the first missing tool, or an empty text."""
    for tool in tools:
        present, fix = TOOLS[tool]
        if not present():
            return f"needs {tool}: {fix}"
    return ""


def forbidden_skip(reason: str, ci: bool = CI) -> str:
    """Return the objection to a skip for this reason, or an empty text."""
    if not ci or ALLOWED_SKIPS.match(reason):
        return ""
    return f"skipped although CI=true: {reason.removeprefix('Skipped: ')}"
