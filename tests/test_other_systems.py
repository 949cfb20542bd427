"""Missing features of another system or a bare installation: the kit works without them."""

import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest
from test_cli_faults import gone

from aclnn_viz import notebook
from aclnn_viz.children import Child


@pytest.mark.parametrize("there", [True, False])
def test_loops_say_how_far_they_are_only_where_widgets_are_installed(there, monkeypatch):
    shell = SimpleNamespace(kernel=None)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "tqdm.auto", SimpleNamespace(tqdm=lambda items, **_: "cd"))
    monkeypatch.setattr(notebook, "find_spec", lambda name: there and name == "ipywidgets" or None)
    assert "".join(notebook.noted("ab")) == ("cd" if there else "ab")
    assert "".join(notebook.noted("ab", watched=True)) == "cd"
    assert "".join(notebook.noted("ab", watched=False)) == "ab"


def test_a_child_ends_on_a_system_without_a_list_of_processes(monkeypatch):
    def missing(path):
        raise FileNotFoundError(path)

    found = os.path.isdir
    monkeypatch.setattr(os.path, "isdir", lambda path: path != "/proc" and found(path))
    monkeypatch.setattr(os, "listdir", missing)
    child = Child([sys.executable, "-c", "while True: pass"])
    child.end()
    assert child.returncode == -signal.SIGKILL


def test_a_process_that_was_started_while_processes_were_listed_is_ended(monkeypatch):
    found, scans = Child._left, []

    def left(self):
        scans.append(0)
        # as if its parent had started it after the list was made
        return [] if len(scans) == 1 else found(self)

    monkeypatch.setattr(Child, "_left", left)
    # one write per line, so that two processes do not mix
    program = (
        "import os, time; late = os.fork() or os.setsid() or os.getpid(); "
        "os.write(1, b'%d\\n' % late); time.sleep(60)"
    )
    with Child([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
        late = int(child.stdout.readline())
        assert int(child.stdout.readline()) == late  # in a new session by now
    assert gone(late)
