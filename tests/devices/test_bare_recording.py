"""Recording on a bare machine: Python, NumPy and ml_dtypes are enough."""

import json
import subprocess
import sys

from machine import ROOT, SOAK

import aclnn_viz as av

BARE = """
import sys
class Bare:
    def find_spec(self, name, path=None, target=None):
        root = name.partition(".")[0]
        if root in {"sympy", "mpmath", "matplotlib", "ipywidgets", "anywidget", "tqdm", "jupyterlab", "pytest"}:
            raise ImportError(f"{name} is not on this machine")
sys.meta_path.insert(0, Bare())
"""
RECORD = (
    BARE
    + f"""
from aclnn_viz import cli
from aclnn_viz.sweeps import recipes
whole = recipes.source
recipes.source = lambda name: [*{{(recipes.named(text), k if {SOAK} else 0): text for k, text in enumerate(whole(name))}}.values()]  # else one of each operator
sys.exit(cli.main(["run", "--device", "host", "--out", sys.argv[1], "--json"]))
"""
)


def child(code, path):
    return subprocess.run(
        [sys.executable, "-c", code, str(path)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=120,
    )


def test_the_block_is_tight(tmp_path):
    assert "sympy is not on this machine" in child(BARE + "import sympy", tmp_path).stderr


def test_nothing_but_numpy_and_ml_dtypes_is_needed(tmp_path):
    done = child(RECORD, tmp_path / "bare.capsule")
    assert done.returncode == 0, done.stderr
    with av.open_device(tmp_path / "bare.capsule") as capsule:
        assert len(capsule) == json.loads(done.stdout)["cases"] >= len(av.operators())
