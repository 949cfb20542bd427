"""Any early end of a command gives one line, with the right exit status."""

import io
import os
import re
import resource
import signal
import subprocess
import sys
import time
from ast import literal_eval
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from in_child import in_child
from machine import ROOT
from tables import table

from aclnn_viz import cli
from aclnn_viz.children import environment

BARE = """
import sys
class Bare:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"sympy", "mpmath", "tqdm"}:
            raise ImportError(f"{name} is not on this machine")
sys.meta_path.insert(0, Bare())
"""


CASES = str(ROOT / "notebooks/capsules/cases.json")  # a few, so that no suite is drawn


def command(*arguments, before="", **options):
    """Start a command in a separate process, without waiting for it."""
    program = before + "import sys; from aclnn_viz.command import command; sys.exit(command())"
    return subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # ignored in the background
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **options,
    )


def one_line(err, text):
    """Return whether a complaint is one line of the kit with this text."""
    return re.fullmatch(rf"aclnn-viz: .*{text}.*\n", err) is not None


KERNELS = {
    "syntax": ("def f(:", "k.py must load .* got .*SyntaxError.*; mend that file", 2),
    "exit": ("raise SystemExit(7)", "k.py must load .* got SystemExit: 7; mend", 2),
    "error": ("1 / 0", "k.py must load .* got ZeroDivisionError", 2),
    "import": (
        "import no_such_package",
        "k.py must load .* got ModuleNotFoundError: No module named 'no_such_package'; "
        "mend that file",
        2,
    ),
    "missing": ("def g(**inputs): pass", "has no 'f'; name one of its functions: g", 2),
    "number": ("f = 3", "an? int; name a function", 2),
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_file_that_does_not_load(tmp_path, capsys, kernel):
    text, complaint, status = KERNELS[kernel]
    (tmp_path / "k.py").write_text(text)
    assert cli.main(["check", "hardswish", f"{tmp_path}/k.py:f"]) == status
    assert one_line(capsys.readouterr().err, complaint)


@pytest.mark.parametrize(
    "arguments,complaint",
    [
        *table("""
check hardswish k.py                              | named as FILE.py:FUNCTION.* got 'k.py'; name the function as well
check hardswish nowhere.py:f                      | no file nowhere.py; mend the name
check hardswish lib.so:f                          | got 'lib.so:f'; say how .* --signature, with its prototype
check hardswish --read /dev/null                  | holds cases.json
museum nowhere                                    | of the museum: got 'nowhere'; call it without a name
tolerance layer_norm --shape 260000,260000        | elements on this machine: got .*; draw a smaller one
cpp run nowhere.cpp                               | file or folder can be opened or made: got .*nowhere.cpp: No such file or directory; name another
run --cases /dev/zero --device host --out x       | cases are .* zero, which is no regular file
new mine --prototype /dev/zero                    | zero, which is no regular file
check hardswish --write /dev/null                 | a place of its own: got /dev/null
check hardswish --write {here}/x                  | file or folder can be opened or made: got .*test_cli_faults.py: File exists; name another
run --cases {cases} --device host --out /dev/null | a place of its own: got /dev/null, which this kit
run --cases {cases} --device host --out /         | this result is a file: got /, a folder; name
"""),
        pytest.param(
            "cpp run {root}/notebooks/cpp/whole.cpp -I nowhere",
            "headers are in a folder: got nowhere, which is none; mend",
            marks=pytest.mark.needs("g++"),
        ),
    ],
)
def test_what_cannot_be_done_is_reported_at_once(capsys, arguments, complaint):
    arguments = arguments.format(here=__file__, cases=CASES, root=ROOT).split()
    start = time.process_time()  # a busy machine does not count
    assert cli.main(arguments) == 2 and one_line(capsys.readouterr().err, complaint)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("seed", ["-3", "x", "1.5"])
def test_a_seed_is_shown_as_it_was_given(capsys, seed):
    with pytest.raises(SystemExit) as end:
        cli.main(["check", "hardswish", "host", "--seed", seed])
    assert (
        end.value.code == 2
        and f"a seed is a number from 0 on: got {seed}; pass" in capsys.readouterr().err
    )


ENDING = """
import os, sys
def exit_(**inputs): sys.exit(0)
def leave(**inputs): os._exit(0)
def fork(gradOutput, self):
    if os.fork() == 0:
        os._exit(0)
    os.wait()
    import aclnn_viz
    return aclnn_viz.operator("hardswish").backward(gradOutput=gradOutput, self=self)
"""


def test_a_kernel_that_ends_the_process_is_no_success(tmp_path, capsys):
    (tmp_path / "k.py").write_text(ENDING)
    assert cli.main(["check", "hardswish", f"{tmp_path}/k.py:exit_"]) == 1
    assert "raises SystemExit: 0" in capsys.readouterr().out
    with command("check", "hardswish", f"{tmp_path}/k.py:leave") as child:
        _, err = child.communicate(timeout=60)
    assert child.returncode == 2 and one_line(
        err, "got an end of its process before it, with status 0"
    )


def test_a_child_of_a_kernel_may_end(tmp_path):
    (tmp_path / "k.py").write_text(ENDING)
    assert cli.main(["check", "hardswish", f"{tmp_path}/k.py:fork", "--depth", "quick"]) == 0


@pytest.mark.parametrize(
    ("words", "status"),
    [("glossary", 0), ("operators --json", 0), ("why 424242", 1), ("describe nowhere", 2)],
)
def test_a_reader_that_stops_early_changes_no_exit_status(words, status):
    with command(*words.split()) as child:
        child.stdout.close()
        assert child.wait(60) == status and child.stderr.read().count("\n") == (status == 2)


def called(*arguments):
    """Return a function that gives a command's exit status, output and complaint in this process."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        status = cli.main([*map(str, arguments)])
    return status, out.getvalue(), err.getvalue()


def test_without_sympy_one_line_is_printed_and_numbers_are_verified():
    """One process without SymPy is asked everything."""
    lines = (
        ["verify"],
        ["errata"],
        ["verify", "--symbolic"],
        ["verify", "hardswish", "--numeric", "--json"],
    )
    program = (
        BARE.replace('"tqdm"', '"tqdm", "torch"')  # PyTorch needs SymPy itself
        + "from aclnn_viz.verification import peers\npeers.installed = dict\n"
        + (
            f"sys.path.insert(0, 'tests')\nfrom test_cli_faults import called\nprint([called(*o) for o in {lines}])"
        )
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, text=True, capture_output=True)
    *without, (status, _, err) = literal_eval(done.stdout)
    assert (status, err, done.stderr) == (0, "", "") and len(without) == 3
    for status, out, err in without:
        assert (status, out) == (2, "") and one_line(
            err, "(sympy|mpmath) is not on this machine; pip install .*verify --numeric"
        )


def test_a_size_limit_names_the_file(tmp_path):
    def limited(*arguments):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
        return called(*arguments)

    status, _, err = in_child(lambda: limited("check", "hardswish", "--write", tmp_path / "x"))
    assert (
        status == 2
        and one_line(err, "got .*gradOutput.npy: File too large; name another file or folder")
        and list(tmp_path.iterdir()) == []
    )
    status, _, err = in_child(
        lambda: limited("run", "--cases", CASES, "--device", "host", "--out", tmp_path / "y")
    )
    assert status == 2 and one_line(err, "got .*/y: File too large; name another file or folder")


READY = "import aclnn_viz.cli\nprint('ready', flush=True)\n"


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("verify", "--numeric"), marks=pytest.mark.soak),
        ("verify", "--symbolic"),
        ("check", "rms_norm", "host", "--depth", "deep"),
    ],
    ids=" ".join,
)
def test_an_interrupt_is_one_line(arguments):
    with command(*arguments, before=READY, start_new_session=True) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.8)
        os.killpg(child.pid, signal.SIGINT)
        _, err = child.communicate(timeout=60)
        assert (child.returncode, err) == (130, "aclnn-viz: interrupted\n") and gone(child.pid)


def test_an_interrupt_while_a_class_is_made(monkeypatch):
    def errata(_):
        """Make a class."""

        class Interrupted:
            def __set_name__(self, *_):  # Python 3.11 wraps its exceptions
                raise KeyboardInterrupt

        class _Slot:
            page = Interrupted()

    monkeypatch.setitem(cli.COMMANDS, "errata", (errata, {}))
    assert called("errata") == (130, "", "aclnn-viz: interrupted\n")


def others(session):
    """Return the processes of a session that still live."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                state, _, _, its = (place / "stat").read_text().rpartition(")")[2].split()[:4]
            except (FileNotFoundError, ProcessLookupError):
                continue
            found += [int(place.name)] * (int(its) == session and state != "Z")
    return found


def gone(session):
    """Return whether all processes of a session end within 20 seconds."""
    until = time.monotonic() + 20
    while others(session) and time.monotonic() < until:
        time.sleep(0.1)
    return not others(session)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_proof_that_is_killed_leaves_no_process(how):
    with command("verify", "--symbolic", start_new_session=True) as child:
        while len(others(child.pid)) < 3:
            time.sleep(0.1)
        child.send_signal(how)
        child.communicate(timeout=60)
        assert gone(child.pid)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_command_ends_with_the_server_that_started_it(how, tmp_path):
    (tmp_path / "k.py").write_text("import time; time.sleep(1000)")
    started = [sys.executable, "-m", "aclnn_viz.cli", "check", "silu", "k.py:k"]
    program = f"from aclnn_viz.children import *\nprint(Child({started}, environment()).pid, flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment(),
    ) as server:
        session = int(server.stdout.readline())
        while len(others(session)) < 2:
            time.sleep(0.1)
        server.send_signal(how)
        assert gone(session)
