"""What another system or a bare installation does not have, left out here: the kit does without it."""

import os
import signal
import sys
from types import SimpleNamespace

import pytest

from aclnn_viz import notebook
from aclnn_viz.children import Child


@pytest.mark.parametrize("there", [True, False])
def test_cells_are_watched_only_where_widgets_are_installed(there, monkeypatch):
    seen = []
    shell = SimpleNamespace(kernel=None, events=SimpleNamespace(register=lambda name, call: seen.append(name)))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    if not there:
        monkeypatch.setitem(sys.modules, "anywidget", None)
    notebook.watch()
    assert seen == ["pre_run_cell", "post_run_cell"] * there


def test_a_child_ends_on_a_system_without_a_list_of_processes(monkeypatch):
    def missing(path):
        raise FileNotFoundError(path)
    found = os.path.isdir
    monkeypatch.setattr(os.path, "isdir", lambda path: path != "/proc" and found(path))
    monkeypatch.setattr(os, "listdir", missing)
    child = Child([sys.executable, "-c", "while True: pass"])
    child.end()
    assert child.returncode == -signal.SIGKILL
