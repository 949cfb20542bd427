"""What this machine offers the tests, read in one place: `from machine import SOAK`."""

import importlib.util
import os
import re
import shutil
from pathlib import Path

SOAK = os.environ.get("ACLNN_VIZ_SOAK") == "1"  # full-size sweeps instead of a sample of them
FAST = os.environ.get("ACLNN_VIZ_FAST") == "1"  # only the half of the suite that takes a minute
CI = os.environ.get("CI") == "true"  # nothing may be skipped, but for ALLOWED_SKIPS
ROOT = Path(__file__).resolve().parent.parent


def _has_cann() -> bool:
    return bool({"ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"} & os.environ.keys())


def _chinese_font() -> str:
    from aclnn_viz.pictures import fonts
    return fonts.chinese()


TOOLS = {  # name: (is it here?, what to do when it is not)
    "g++": (lambda: shutil.which("g++"), "install a C++ compiler (Debian: apt-get install g++)"),
    "chromium": (lambda: shutil.which("chromium"), "install Chromium (Debian: apt-get install chromium)"),
    "git": (lambda: shutil.which("git") and (ROOT / ".git").exists(), "install git and work in a clone"),
    "make": (lambda: shutil.which("make"), "install make (Debian: apt-get install make)"),
    "chinese font": (_chinese_font, "install a font with Chinese glyphs (Debian: apt-get install fonts-wqy-microhei)"),
    "dask": (lambda: importlib.util.find_spec("distributed"), "pip install 'dask[distributed]'"),
    "torch": (lambda: importlib.util.find_spec("torch"), "pip install torch"),
    "jax": (lambda: importlib.util.find_spec("jax"), "pip install 'jax[cpu]'"),
    "numba": (lambda: importlib.util.find_spec("numba"), "pip install numba"),
    "cann": (_has_cann, "install CANN, source its set_env.sh and run on an Atlas machine"),
}
# What a CI machine cannot be expected to have: gigabytes for one comparison, and the vendor's hardware.
ALLOWED_SKIPS = re.compile(r"(Skipped: )?(needs (torch|jax|numba|cann):|could not import 'torch')")


def missing(*tools: str) -> str:
    """One line about the first of the tools that is not here, or an empty text."""
    for tool in tools:
        present, fix = TOOLS[tool]
        if not present():
            return f"needs {tool}: {fix}"
    return ""


def forbidden_skip(reason: str, ci: bool = CI) -> str:
    """What is wrong with a skip for this reason, or an empty text."""
    if not ci or ALLOWED_SKIPS.match(reason):
        return ""
    return f"skipped although CI=true: {reason.removeprefix('Skipped: ')}"
