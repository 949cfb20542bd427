"""The two commands on a fresh machine, with a fake Python that only records its calls."""

import os
import re
import shutil
import subprocess

import pytest
from machine import ROOT

pytestmark = pytest.mark.needs("make")

# Answers as an interpreter that is fine, unless a variable says otherwise; `-m venv` puts itself into .venv/bin.
STAND_IN = """#!/bin/sh
echo "$*" >> calls
case "$*" in
  *version_info*) exit ${TOO_OLD:-0} ;;
  *ensurepip*) exit ${NO_VENV:-0} ;;
  *"pip install"*) exit ${NO_NETWORK:-0} ;;
  "-m venv"*) mkdir -p .venv/bin && cp "$0" .venv/bin/python && cp "$0" .venv/bin/aclnn-viz ;;
esac
"""


@pytest.fixture(params=["clone", "a clone with spaces"])
def clone(tmp_path, request):
    """Return a directory with make's files, whose method make(...) runs it."""
    folder = tmp_path / request.param
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    (folder / "bin").mkdir()
    for name in ("python3", "python3.12"):
        (folder / "bin" / name).write_text(STAND_IN)
        (folder / "bin" / name).chmod(0o755)
    return Clone(folder)


class Clone:
    def __init__(self, folder):
        self.folder = folder

    def make(self, *arguments, **variables):
        """Return the finished process; `called` are its calls of Python."""
        (self.folder / "calls").write_text("")
        environment = {"PATH": "bin:/usr/bin:/bin", **variables}
        done = subprocess.run(
            ["make", *arguments], cwd=self.folder, env=environment, capture_output=True, text=True
        )
        done.called = (self.folder / "calls").read_text()
        return done

    def stops(self, text, *arguments, **variables):
        """Return whether make fails with only this line."""
        done = self.make(*arguments, **variables)
        lines = (done.stdout + done.stderr).splitlines()
        return (
            done.returncode != 0
            and len(lines) == 1
            and text in lines[0]
            and "-m" not in done.called
        )


def test_a_fresh_clone_is_installed_under_constraints_and_tested(clone):
    done = clone.make("test")
    assert done.returncode == 0
    assert (
        "-m venv" in done.called
        and "--constraint constraints.txt --editable .[test]" in done.called
    )
    assert "-m pytest" in done.called.splitlines()[-1] and "-m compileall" in done.called


def test_the_lab_opens_the_clone(clone):
    done = clone.make("lab")
    assert "--editable .[symbols,lab]" in done.called
    # aclnn-viz was called; tests/browser/test_lab_links.py follows its links
    assert done.called.splitlines()[-1] == "lab ."


def test_verify_soak_and_gallery_call_what_they_name(clone):
    assert "ACLNN_VIZ_FAST=1" in clone.make("--dry-run", "check").stdout
    assert clone.make("verify").called.splitlines()[-1] == "verify"
    assert "\nbenchmarks/soak.py" in clone.make("soak").called
    assert "ACLNN_VIZ_SOAK=1" in clone.make("--dry-run", "soak").stdout
    assert "ACLNN_VIZ_PEERS=1" in clone.make("--dry-run", "peers").stdout
    assert "benchmarks/bench.py" in clone.make("--dry-run", "bench").stdout
    site = clone.make("site").called.splitlines()
    # side by side
    assert {line.split()[-1] for line in site[-3:-1]} == {"build/site", "build/site/zh"}
    assert site[-1].endswith("tests/site/check_site.py")
    assert clone.make("gallery").called.splitlines()[-1] == "-m notebooks.gallery"
    assert (
        clone.make("lessons", "ONLY=04").called.splitlines()[-1]
        == "-m notebooks.gallery.outputs 04"
    )


def test_a_second_call_installs_nothing(clone):
    clone.make("test")
    assert clone.make("test").called.count("-m") == 1
    assert "pip install" not in clone.make("verify").called  # tests need more packages


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_a_changed_list_of_packages_is_installed_into_the_same_environment(clone, name):
    clone.make("test")
    stamp = clone.folder / ".venv" / ".has-test"
    newer = stamp.stat().st_mtime + 10
    os.utime(clone.folder / name, (newer, newer))
    done = clone.make("test")
    assert "pip install" in done.called and "-m venv" not in done.called


def test_engines_are_installed_once_and_their_size_is_said_before(clone):
    before, made = clone.make("test", NO_NETWORK="1"), clone.make("peers")
    assert "MB" in made.stdout and "MB" not in before.stdout
    assert "--editable .[test,torch,jax,numba,mcp]" in made.called
    assert not any(
        "pip install" in clone.make(target).called for target in ("test", "lab", "peers")
    )


# A make whose parts print and end as they would with pytest.
PARTS = """#!/bin/sh
case $1 in
  test) echo "a line"; echo "1 passed in a test of a test"; echo "== 1 failed, 5 passed, 1 skipped, 66 deselected in 9s =="; exit 1 ;;
  peers) echo "66 passed, 2 errors in 60.11s (0:01:00)"; exit ${PEERS_END:-0} ;;
esac
"""


@pytest.mark.parametrize("end", ["0", "3"])
def test_ci_runs_each_part_and_ends_with_the_sum_of_their_counts(tmp_path, end):
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci")
    (tmp_path / "bin").mkdir()
    for name in "make git g++ chromium apt-get".split():
        (tmp_path / "bin" / name).write_text(PARTS)
        (tmp_path / "bin" / name).chmod(0o755)
    done = subprocess.run(
        ["bash", tmp_path / ".ci" / "run"],
        env={"PATH": f"{tmp_path}/bin:/usr/bin:/bin", "PEERS_END": end},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1] == "71 passed, 3 failed, 1 skipped"
    assert done.returncode == (int(end) or 1)
    assert (
        re.findall(r"^make (\S+): \d+ s, ", done.stderr, re.M)
        == ".venv/.has-test lint test bare verify site peers".split()
    )


def test_a_failed_installation_is_tried_again(clone):
    assert clone.make("test", NO_NETWORK="1").returncode != 0
    assert "pip install" in clone.make("test").called


def test_a_python_that_is_asked_for_is_used_and_then_kept(clone):
    clone.make("test")
    assert "-m venv" in clone.make("test", "PYTHON=python3.12").called
    assert "-m venv" not in clone.make("test", "PYTHON=python3.12").called
    assert "-m venv" not in clone.make("test").called


def test_what_is_missing_is_said_in_one_line(clone):
    assert clone.stops(
        "nowhere does not run: install Python 3.11, 3.12 or 3.13", "test", "PYTHON=nowhere"
    )
    assert clone.stops("python3 is too old: install Python 3.11, 3.12 or 3.13", "lab", TOO_OLD="1")
    assert clone.stops("apt-get install python3-venv", "verify", NO_VENV="1")
    assert not clone.stops("", "test")
