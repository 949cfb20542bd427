"""Exit status 0 only after a verdict was written, and a line instead of a traceback, whatever ends a command."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pytest
from machine import ROOT, SOAK
from test_cli_faults import command, gone, one_line, others

import aclnn_viz as av
from aclnn_viz import cli
from aclnn_viz.sweeps.recipes import source

ONE = '[{"operator": "hardswish", "shape": [4]}]'
ENDINGS = """
import atexit, os, posix, signal
def leave(**inputs): posix._exit(0)
def become(**inputs): os.execv("/bin/true", ["true"])
def kill(**inputs): os.kill(os.getpid(), signal.SIGKILL)
def close(**inputs): os.closerange(3, 256); posix._exit(0)
def fork(**inputs): os.fork() and posix._exit(0)
def later(**inputs): atexit.register(posix._exit, 0)
"""
RETURNS = """
import numpy as np
def exit_(*_, **__): raise SystemExit(0)
class Array: __array__ = exit_
class Tensor: __dlpack__ = exit_
class Property: __array__ = property(exit_)
class Key: __str__ = exit_
class Dict(dict): items = exit_
def array(**inputs): return Array()
def tensor(**inputs): return Tensor()
def attribute(**inputs): return Property()
def key(**inputs): return {Key(): 1}
def items(**inputs): return Dict(out=1)
"""


def run(*arguments, python=(), **options):
    """Return a command's status, output and complaint from a separate process."""
    done = subprocess.run(
        [sys.executable, *python, "-m", "aclnn_viz.cli", *map(str, arguments)],
        cwd=ROOT,
        timeout=100,
        **{"capture_output": True, **options},
    )
    return done.returncode, *((one or b"").decode() for one in (done.stdout, done.stderr))


@pytest.mark.parametrize("name", "leave become close kill fork".split()[:: 1 if SOAK else 2])
@pytest.mark.sampled(1)
def test_a_kernel_that_ends_the_process_gets_no_status_of_success(tmp_path, name):
    (tmp_path / "k.py").write_text(ENDINGS)
    status, out, err = run("check", "hardswish", f"{tmp_path}/k.py:{name}")
    assert (
        status == 2
        and "right" not in out
        and one_line(err, "ends with its verdict: got an end of its process before it, .*; look in")
    )


def test_what_ends_the_process_after_the_verdict_does_not_change_it(tmp_path):
    (tmp_path / "k.py").write_text(ENDINGS)
    status, out, _ = run("check", "hardswish", f"{tmp_path}/k.py:later", "--depth", "quick")
    assert status == 1 and "NOT ACCEPTED" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "hardswish"],
        pytest.param(["sweep", "--cases", ONE, "--device"], marks=pytest.mark.soak),
    ],
)
def test_a_kernel_that_ends_the_process_as_it_loads(tmp_path, arguments):
    (tmp_path / "k.py").write_text("import posix\nposix._exit(0)")
    assert run(*arguments, f"{tmp_path}/k.py:k")[0] == 2


@pytest.mark.soak
def test_a_sweep_records_the_case_that_ended_its_worker(tmp_path):
    (tmp_path / "k.py").write_text(ENDINGS)
    status, out, _ = run("sweep", "--cases", ONE, "--device", f"{tmp_path}/k.py:leave")
    assert status == 1 and "float32, the only mode: the case ended its worker process" in out


@pytest.mark.parametrize("name", "array tensor attribute key items".split())
def test_a_result_that_exits_as_it_is_read_is_wrong(tmp_path, capsys, name):
    (tmp_path / "k.py").write_text(RETURNS)
    assert cli.main(["check", "hardswish", f"{tmp_path}/k.py:{name}"]) == 1
    assert "SystemExit: 0" in capsys.readouterr().out


def test_a_sweep_of_a_result_that_exits_is_wrong(tmp_path):
    (tmp_path / "k.py").write_text(RETURNS)
    assert not av.sweep(
        [{"operator": "hardswish", "shape": (4,)}], f"{tmp_path}/k.py:array", store=":memory:"
    ).passed


def folder(place, text):
    """Write the folder of an operator with this declaration, under a new name, because imports stay."""
    (place / place.name).mkdir()
    for kind in ("page", "derivation", "reference", "declaration"):
        (place / place.name / f"{kind}.py").write_bytes(text if kind == "declaration" else b"")
    return f"{place}/{place.name}"


@pytest.mark.parametrize(
    "words",
    [["verify"], ["describe"], ["conventions"], ["check", "host"], ["sweep"]],
    ids=lambda one: one[0],
)
@pytest.mark.parametrize(
    "text,complaint",
    [
        (b"", "defines OPERATOR, an Operator: got None"),
        (b"OPERATOR = 3", "defines OPERATOR, an Operator: got 3"),
        (b"def (", "must load .* got .*SyntaxError"),
        (b"1 / 0", "must load .* got ZeroDivisionError"),
        (b"{}['x']", "must load .* got KeyError: 'x'"),
        (b"raise SystemExit(0)", "must load .* got SystemExit: 0"),
    ],
)
def test_a_folder_that_is_no_operator(tmp_path, capsys, words, text, complaint):
    before = av.operators()
    assert cli.main([words[0], folder(tmp_path, text), *words[1:]]) == 2
    assert (
        one_line(capsys.readouterr().err, f"/declaration.py {complaint}.*; mend that file")
        and av.operators() == before
    )


def test_a_folder_that_ends_the_process(tmp_path):
    assert run("verify", folder(tmp_path, b"import posix\nposix._exit(0)"))[0] == 2


def test_an_exit_inside_of_a_command_is_no_success(monkeypatch, capsys):
    monkeypatch.setattr("aclnn_viz.verification.errata.errata", lambda: sys.exit(0))
    assert cli.main(["errata"]) == 2 and one_line(
        capsys.readouterr().err, r"SystemExit\(0\) before it"
    )


def test_without_docstrings():
    """Every module without them, and the texts of help as they are then."""
    program = "from aclnn_viz import cli; print(cli.errata.__doc__, cli.main(['operators'])); cli.main(['--help'])"
    done = subprocess.run(
        [sys.executable, "-OO", "-c", program], cwd=ROOT, capture_output=True, text=True
    )
    assert (
        "None 0\n" in done.stdout
        and "130 if it was" in done.stdout
        and (done.returncode, done.stderr) == (0, "")
    )


def test_a_log_in_another_encoding_is_read():
    status, out, _ = run(
        "why",
        input=b"\xcb\xe3 error code is 561103\n",
        env=os.environ | {"PYTHONIOENCODING": "utf-8:strict"},
    )
    assert status == 0 and "\n561103 " in out


def test_closed_streams(tmp_path):
    """No file takes the number of a closed stream, into which a library would write."""
    status, _, err = run(
        "operators", preexec_fn=lambda: os.close(1), capture_output=False, stderr=subprocess.PIPE
    )
    assert status == 2 and one_line(
        err, "writes its verdict: got a closed standard output; send it"
    )
    status, out, _ = run(
        "check",
        "hardswish",
        "host",
        "--depth",
        "quick",
        preexec_fn=lambda: (os.close(0), os.close(2)),
        capture_output=False,
        stdout=subprocess.PIPE,
    )
    assert status == 0 and out.startswith("hardswish: right")


ASCII = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.parametrize(
    "arguments", [["glossary", "tail"], ["--lang", "zh", "glossary", "tail"]], ids=len
)
@pytest.mark.sampled(1)
def test_what_a_terminal_cannot_show_is_replaced(arguments):
    status, out, err = run(*arguments, env=ASCII)
    assert (status, err) == (0, "") and "?" in out and out.isascii()


def test_files_are_read_as_utf_8_in_any_locale(tmp_path):
    described = folder(tmp_path, "# 中文".encode())
    text = "import sys, aclnn_viz as av; from aclnn_viz import cli; av.explore('hardswish'); " + (
        f"sys.exit(cli.main(['describe', {described!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=ROOT, env=ASCII, capture_output=True, text=True
    )
    assert done.returncode == 2 and one_line(
        done.stderr, "defines OPERATOR, an Operator: got None; mend that file"
    )


@pytest.mark.soak
def test_paths_that_are_no_utf_8(tmp_path):
    place = tmp_path / "k\udcff"
    place.mkdir()
    (place / "k.py").write_text("def k(gradOutput, self): return gradOutput * 2")
    status, out, _ = run(
        "sweep", "--cases", ONE, "--device", f"{place}/k.py:k", "--store", f"{place}/s.sqlite"
    )
    assert status == 1 and "k?/s.sqlite: 1 wrong" in out
    status, out, _ = run("report", f"{place}/s.sqlite", "--html", f"{place}/r.html")
    assert (
        status == 1
        and "k?/s.sqlite: 1 wrong" in out
        and "k?/s.sqlite" in (place / "r.html").read_text("utf-8")
    )


@pytest.mark.parametrize(
    "arguments,complaint",
    [
        (
            ["new", "mine", "--prototype", "/bin/true"],
            "the prototype declares one function .*: got none",
        ),
        (
            "check hardswish host --shape {[]:1}".split(),
            "shape is a tuple of lengths: got '{..:1}'",
        ),
        (
            ["sweep", "--cases", ONE, "--workers", "99999999999"],
            "executor is a number from 1 to 1024: got 99999999999",
        ),
    ],
)
def test_what_cannot_be_taken(capsys, arguments, complaint):
    assert cli.main(arguments) == 2 and one_line(capsys.readouterr().err, complaint)


@pytest.mark.parametrize(
    "arguments",
    [
        ["report", "s", "--html"],
        ["check", "hardswish", "host", "--write"],
        ["verify"],
        ["sweep", "--operator"],
        ["check", "hardswish", "host", "--dtypes"],
    ],
    ids=" ".join,
)
def test_an_empty_text_is_not_taken_for_none(capsys, arguments):
    with pytest.raises(SystemExit) as end:
        cli.main([*arguments, ""])
    assert (
        end.value.code == 2 and "got an empty text; leave the option out" in capsys.readouterr().err
    )


def test_recipes_of_any_number_of_seeds_are_made_as_they_are_asked_for():
    found = source("suite", ["hardswish"], seeds=10**12)
    assert found.count % 10**12 == 0 and next(iter(found))


INTERRUPTED = (130, "aclnn-viz: interrupted\n")
# Ctrl-C during an import in a process, which may be the child, or while both end.
AT_IMPORT = """
import os, signal, sys
left = [{at}]
def hook(event, _):
    if event == "import":
        left[0] -= 1
        left[0] or os.killpg(0, signal.SIGINT)
from aclnn_viz import command
sys.addaudithook(hook)
"""
AT_END = "import atexit, os, signal, sys\natexit.register(lambda: os.killpg(0, signal.SIGINT))\n"


@pytest.mark.parametrize("at", [1, 30, 120, 179, 300][:: 1 if SOAK else 3])
@pytest.mark.parametrize("arguments", [("check", "hardswish", "host"), ("verify", "--symbolic")])
@pytest.mark.sampled(1)
def test_an_interrupt_as_a_command_begins(arguments, at):
    with command(*arguments, before=AT_IMPORT.format(at=at), start_new_session=True) as child:
        out, err = child.communicate(timeout=60)
        assert (child.returncode, err) == INTERRUPTED and out == ""


def test_an_interrupt_as_a_command_ends():
    with command("operators", before=AT_END, start_new_session=True) as child:
        out, err = child.communicate(timeout=60)
        assert (child.returncode, err) == (0, "") and out


@pytest.mark.parametrize("to", [os.kill, os.killpg])
@pytest.mark.sampled(1)
def test_an_interrupt_as_workers_start(tmp_path, to):
    sweep = "sweep", "rms_norm", "--seeds", "1000", "--workers", "2", "--store", tmp_path / "s"
    with command(*sweep, start_new_session=True) as child:
        while len(others(child.pid)) < 3:
            assert child.poll() is None, "it ended before its workers started"
            time.sleep(0.1)
        to(child.pid, signal.SIGINT)
        _, err = child.communicate(timeout=60)
        assert (child.returncode, err) == INTERRUPTED and gone(child.pid)


def test_a_second_interrupt_ends_a_kernel_that_keeps_the_first(tmp_path):
    (tmp_path / "k.py").write_text(
        "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('ready', flush=True)\ntime.sleep(60)"
    )
    with command("check", "hardswish", f"{tmp_path}/k.py:k", start_new_session=True) as child:
        assert child.stdout.readline() == "ready\n"
        while child.poll() is None:
            child.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                child.wait(0.3)
        assert (child.returncode, child.stderr.read()) == INTERRUPTED


@pytest.mark.parametrize("length", [300, 5000])
def test_a_long_text_is_no_path(length):
    """A file name has at most 255 characters: testing a longer one is an error of the system."""
    text = ("error code is 561103 " * length)[:length]
    assert cli.main(["why", text]) == 0
    for what in (
        lambda: av.open_device(text),
        lambda: av.check(text),
        lambda: av.check("tanh", text),
    ):
        with pytest.raises((ValueError, TypeError)):
            what()
