"""Inputs that nobody thought of, for each place where input comes in: valid ones that are spoiled, and new ones by a grammar.

A surface makes one input from a random generator and hands it in. Input number k is drawn from the seed "SURFACE k", so that each is
made again alone: `once("recipes", 1234)`. An input is taken, or refused by a documented error of three parts. All else is a
finding: another exception, a crash of the process, no end within LIMIT seconds, an answer that the oracle of the surface contradicts.
"""

import asyncio
import contextlib
import hashlib
import inspect
import io
import json
import os
import random
import re
import resource
import shutil
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
import zipfile
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import ml_dtypes
import numpy as np
import pytest
import sympy
from acl.acl_program import PARAMETERS, Program, inputs_of
from cases.test_lists import ATK, TTK
from checking.test_triage import Written, pt
from in_child import in_child
from machine import ROOT, SOAK
from operators.test_document import DOCUMENT

import aclnn_viz as av
from aclnn_viz.acl import HostAcl
from aclnn_viz.acl.why import CODES, why
from aclnn_viz.cases import lists
from aclnn_viz.checking.signatures import as_kernel
from aclnn_viz.checking.triage import BAD, triage
from aclnn_viz.cli import COMMANDS, agents, main
from aclnn_viz.devices import Capsule, record
from aclnn_viz.explorers import explorers, subject_of
from aclnn_viz.explorers.state import build, controls, read_state, state_text
from aclnn_viz.operators import operators, registry
from aclnn_viz.operators.document import read
from aclnn_viz.operators.faults.fault import page_from
from aclnn_viz.operators.prototype import parse
from aclnn_viz.operators.skeleton import gaps, new_operator
from aclnn_viz.storage.cases import CHECKSUM, INDEX
from aclnn_viz.storage.dumps import from_pt, read_dumps, tensors
from aclnn_viz.storage.own import load
from aclnn_viz.sweeps.ledger import MEASURES, Ledger
from aclnn_viz.sweeps.recipes import draw as drawn, recipe, source
from aclnn_viz.sweeps.reporting import report
from aclnn_viz.sweeps.work import Judged, Row
from aclnn_viz.tiles.cpp import cpp
from derivations import proves_equal

sys.path.append(str(ROOT / "tests" / "derivations"))
from test_random_expressions import FREE, agree, changed as edited, random_expression, rewritten  # noqa: E402

LIMIT = 20.0  # seconds of one input
MEMORY = 6 << 30  # bytes of a process
THREE = re.compile(r".*: got .*; \S.*", re.DOTALL)
NUMBERS = (0, 1, -1, 2, 3, 7, 255, 2**15, 2**31 - 1, 2**31, 2**63 - 1, 2**63, -2**63, 2**64, 10**30, 0.0, -0.0, 0.5, 1e-45, 1e308, 1e39,
           float("nan"), float("inf"), -float("inf"))
TEXTS = ("", " ", "\0", "\n", "é", "核", "\ud800", "\x1b[2J", "../..", "/dev/null", "nan", "None", "1e999", "%s", "{}", "-1", "--", "\u202e", "a" * 300,
         "float16", "float32", "bfloat16", "rms_norm", "hardswish", "self", "__class__", "'", '"', "\\", "$(x)", "0x10", "1_000", "١")


class Surface(NamedTuple):
    """`make(folder)` gives the function that tries one input; `count` are tried in full, `oracle` says what is asked of an answer, `tools` what it needs."""

    name: str
    count: int
    oracle: str
    make: Callable
    refusals: tuple
    tools: tuple


class Endless(BaseException):
    """An input has not ended within its limit."""


SURFACES: dict[str, Surface] = {}


def surface(count: int, oracle: str, *refusals, tools=()):
    def added(make):
        name = make.__name__.replace("_", " ")
        SURFACES[name] = Surface(name, count, oracle, make, (ValueError, TypeError, *refusals), tools)
        return make
    return added


def tried(name: str, seeds) -> dict:
    """Try inputs of a surface; return how many were taken and refused, the seconds, and the findings by seed."""
    one, counts, findings, start = SURFACES[name], Counter(), {}, time.process_time()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    signal.signal(signal.SIGALRM, _endless)
    with tempfile.TemporaryDirectory() as folder:
        attempt = one.make(Path(folder))
        for seed in seeds:
            counts[_outcome(one, attempt, seed, findings)] += 1
    return {"inputs": counts.total(), "taken": counts["taken"], "refused": counts["refused"], "seconds": time.process_time() - start,
            "findings": findings}


def once(name: str, seed: int):
    """Try one input again, and let its error through."""
    with tempfile.TemporaryDirectory() as folder:
        return SURFACES[name].make(Path(folder))(random.Random(f"{name} {seed}"))


def _endless(*_):
    raise Endless


def _outcome(one: Surface, attempt, seed: int, findings: dict) -> str:
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        attempt(random.Random(f"{one.name} {seed}"))
        return "taken"
    except one.refusals as error:
        if THREE.fullmatch(str(error)) or isinstance(error, OSError) and error.errno:  # in the words of the system
            return "refused"
        findings[seed] = f"not in three parts: {type(error).__name__}: {error}"[:300] + _place(error)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        findings[seed] = f"{type(error).__name__}: {error}"[:300] + _place(error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return "found"


def _place(error) -> str:
    last = traceback.extract_tb(error.__traceback__)[-3:]
    return " < ".join(f" {Path(frame.filename).name}:{frame.lineno}" for frame in reversed(last))


# Spoiling and making

def odd(draw: random.Random, depth: int = 2):
    """A value of JSON, or nearly."""
    kind = draw.randrange(9 if depth else 6)
    if kind < 3:
        return draw.choice(NUMBERS)
    if kind < 5:
        return draw.choice(TEXTS)
    if kind == 5:
        return draw.choice((None, True, False))
    if kind < 8:
        return [odd(draw, depth - 1) for _ in range(draw.randrange(4))]
    return {draw.choice(TEXTS): odd(draw, depth - 1) for _ in range(draw.randrange(3))}


def changed(draw: random.Random, value, make=odd):
    """A value of JSON in which one place is another value, is missing, is there twice, or has another name."""
    if not isinstance(value, (dict, list)) or not value or draw.random() < 0.1:
        return make(draw)
    if isinstance(value, dict):
        name = draw.choice(list(value))
        match draw.randrange(8):
            case 0:
                return {key: one for key, one in value.items() if key != name}
            case 1:
                return {draw.choice(TEXTS) if key == name else key: one for key, one in value.items()}
            case 2:
                return value | {draw.choice(TEXTS): make(draw)}
        return value | {name: changed(draw, value[name], make)}
    at = draw.randrange(len(value))
    return value[:at] + draw.choice(([], [value[at]] * 2, *[[changed(draw, value[at], make)]] * 6)) + value[at + 1:]


def spoiled(draw: random.Random, content, words=()):
    """Bytes or a text, changed in one to three places."""
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        at, more = draw.randrange(len(content) + 1), draw.randrange(1, 1 + draw.choice((1, 4, 64)))
        match draw.randrange(7):
            case 0:
                new = content[:0]
            case 1:
                new = content[at:at + more] * 2
            case 2 if words:
                new = draw.choice(words)
            case 3 if draw.random() < 0.2:
                return content[:at]
            case 4:
                other = draw.randrange(len(content) + 1)
                new = content[other:other + more]
            case _:
                new = bytes(draw.randrange(256) for _ in range(more)) if isinstance(content, bytes) else draw.choice(
                    (*TEXTS, *map(str, NUMBERS), chr(draw.randrange(1, 256))))
        content = content[:at] + new + content[at + more * (draw.random() < 0.8):]
    return content


def text_of(value) -> str:
    """JSON, also of halves of characters, which no file can hold."""
    return json.dumps(value)


# Files

def small_capsule(folder: Path) -> Path:
    cases = [av.case("hardswish", dtype=dtype, seed=1, shape=(3,)) for dtype in ("float32", "bfloat16")]
    return record(av.open_device("host"), cases, folder / "whole.capsule")


@surface(60_000, "what is taken is bit for bit what was recorded, unless the index was changed and sealed again; the file stays as it is")
def capsules(folder):
    whole, place = small_capsule(folder).read_bytes(), folder / "spoiled.capsule"
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}

    def replayed(path):
        with Capsule(path) as found:
            return [(op.name, {k: (v.dtype.name, v.shape, v.tobytes()) for k, v in (*inputs.items(), *found.run(op, **inputs).items())})
                    for op, inputs in found.cases()]
    place.write_bytes(whole)
    right = replayed(place)

    def attempt(draw):
        sealed = draw.random() < 0.5
        if sealed:
            index = json.dumps(changed(draw, json.loads(members[INDEX]))).encode()
            made, stream = members | {INDEX: index, CHECKSUM: f"{hashlib.sha256(index).hexdigest()}  {INDEX}\n".encode()}, io.BytesIO()
            with zipfile.ZipFile(stream, "w") as archive:
                for name, content in made.items():
                    archive.writestr(name, content)
            content = stream.getvalue()
        else:
            content = spoiled(draw, whole)
        place.write_bytes(content)
        try:
            found = replayed(place)
            assert sealed or found == right, "other numbers than those recorded"
        finally:
            assert place.read_bytes() == content, "the file was changed"
    return attempt


@surface(60_000, "what is taken has the length that its header says; the file stays as it is", FileNotFoundError)
def dumps(folder):
    array, place, written = np.arange(6, dtype=np.float32).reshape(2, 3), folder / "files", Written(folder / "dump")
    place.mkdir()
    np.save(place / "a.npy", array)
    np.savez(place / "a.npz", x=array, y=array)
    (place / "a.bin").write_bytes(array.tobytes())
    pt(place / "a.pt", array)
    files = [(path, path.read_bytes()) for path in sorted(place.iterdir())]
    written.silu(0)
    run = written.done()
    index = run / "step0" / "rank0" / "dump.json"
    text = index.read_text()

    def attempt(draw):
        if draw.random() < 0.3:
            index.write_text(text_of(changed(draw, json.loads(text))) if draw.random() < 0.6 else spoiled(draw, text), "utf-8", "surrogatepass")
            for dump in read_dumps(run):
                dump.lines()
                for described in (one for entry in dump.entries.values() for one in tensors(entry)):
                    found = dump.tensor(described)
                    assert [*found.shape] == described["shape"]
            return
        path, content = draw.choice(files)
        path.write_bytes(content := spoiled(draw, content))
        try:
            if path.suffix == ".pt":
                found = from_pt(path)
            else:
                found = load(path, draw.choice((None, "float32", "bfloat16", odd(draw))), draw.choice((None, (2, 3), odd(draw))),
                             "x" if path.suffix == ".npz" else None)
            assert found.nbytes <= max(len(content), 4096) * 64 and np.asarray(found).tobytes() is not None
        finally:
            assert path.read_bytes() == content, "the file was changed"
    return attempt


@surface(60_000, "a canonical text is its own canonical text, and a case has the shape that was asked for")
def recipes(folder):
    valid = [{"operator": "hardswish", "shape": [3], "seed": 3}, {"operator": "rms_norm", "shape": [2, 4], "dtype": "float16", "strided": True, "gamma": 1.0},
             {"operator": "grid_sampler_2d", "paddingMode": 1, "inputShape": [1, 1, 2, 2], "outputMask": [True, False]},
             {"operator": "cross_entropy_loss", "reduction": "sum", "ignoreIndex": 0, "shape": [2, 3]},
             {"operator": "silu", "listed": ["a", [["gradOutput", [2], "float32", -1, 1, False], ["self", [2], "float32", -1, 1, True]], {}, 0]},
             {"operator": "tanh", "gradOutput": {"array": "float32", "shape": [2], "base64": "AACAPwAAgD8="}, "shape": [2]}]

    def small(draw):
        value = odd(draw)
        return 2**10 if isinstance(value, (int, float)) and 2**10 < abs(value) < 2**62 else value

    def attempt(draw):
        given = changed(draw, draw.choice(valid), small)
        if draw.random() < 0.3:
            text = text_of([given]) if draw.random() < 0.5 else spoiled(draw, text_of([given]))
            if not (found := [*source("[" + text.lstrip("["))]):
                return
            given = json.loads(found[0])
        text = recipe(given)
        assert recipe(json.loads(text)) == text
        _, case = drawn(text)
        if isinstance(given.get("shape"), list) and case.operator.name == "hardswish":
            assert case.inputs["self"].shape == tuple(given["shape"])
    return attempt


@surface(20_000, "a store that is refused stays byte for byte as it was; what a report says is whole", OSError)
def stores(folder):
    whole, place = folder / "whole.sqlite", folder / "spoiled.sqlite"
    with Ledger(whole) as ledger:
        ledger.add(ledger.run("1.0", "{}"), [Row(recipe({"operator": "hardswish", "seed": seed}), "hardswish", "float32", "", seed, "right", "", (
            Judged("out", "right", 3, 0, 0, (1.0,) * len(MEASURES), "{}", "ab"),), "2026-01-01", 0.5, "here", "{}") for seed in range(3)])
        ledger.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    content = whole.read_bytes()
    columns = [(table, column) for table, names in {"runs": "kit device started", "cases": "recipe operator dtype mode seed outcome note",
                                                    "outputs": "output verdict elements wrong undecided standards bits", "provenance": "at seconds"}.items()
               for column in names.split()]

    def attempt(draw):
        for path in folder.glob("spoiled*"):
            path.unlink()
        if draw.random() < 0.5:
            place.write_bytes(spoiled(draw, content))
        else:  # a whole file of other values
            place.write_bytes(content)
            (table, column), value = draw.choice(columns), odd(draw, 0)
            with contextlib.suppress(sqlite3.Error, OverflowError, UnicodeEncodeError), contextlib.closing(sqlite3.connect(place)) as base, base:
                base.execute(f"UPDATE {table} SET {column} = ?", [value])
        before = place.read_bytes()
        if draw.random() < 0.8:
            found = report(place)
            assert str(found) and found.to_json()["headline"] and found.html.endswith("\n")
            assert place.read_bytes() == before, "reading changed the file"
        else:
            try:
                with Ledger(place) as ledger:
                    ledger.known(["a"])
            except ValueError:
                assert place.read_bytes() == before, "a file of somebody else was changed"
                raise
    return attempt


@surface(40_000, "a case that is taken is one that the operator takes")
def lists_of_cases(folder):

    def small(draw):
        value = odd(draw)
        return 64 if isinstance(value, (int, float)) and 64 < abs(value) < 2**62 else value

    def attempt(draw):
        if draw.random() < 0.5:
            made = changed(draw, ATK, small)
            text = text_of(made) if draw.random() < 0.7 else spoiled(draw, text_of(made))
            place = folder / "list.json"
        else:
            text, place = spoiled(draw, TTK), folder / "list.csv"
        place.write_text(text, "utf-8", "surrogatepass")
        found = lists.read(place, seed=draw.randrange(9))
        for one in found[:2]:
            one.operator.bind(one.inputs)
    return attempt


# Texts

@surface(40_000, "what is read of a document names its parameters; a folder that was made has gaps and no other file", OSError)
def documents_of_the_vendor(folder):
    words = ("<td>", "</td>", "<tr>", "\n## ", "(", ")", ",", "aclTensor *", "int64_t ", "输出", "可选输入", "shape与self一致。", "BFLOAT16", "支持0(none)|1(mean)。",
             "```Cpp\n", "161002", "[", "](", "<!--", "仅支持", "数据类型不支持", "：", *TEXTS)

    def attempt(draw):
        text = spoiled(draw, DOCUMENT, words)
        found = read(text)
        assert found.rows and all(name in found.prototype for name in found.rows)
        if draw.random() < 0.1:
            shutil.rmtree(folder / "made", ignore_errors=True)
            place = new_operator(draw.choice(("", "mine", *TEXTS)), text, folder / "made")
            assert gaps(place) and place.parent == folder / "made"
    return attempt


@surface(60_000, "a code that the headers name has a meaning, and what is unknown is said to be unknown")
def logs(folder):
    pieces = ("EZ9999", "ret = ", "failed, ERROR: ", "aclnnHardswishBackwardGetWorkspaceSize", "aclnnRmsNormGrad", "self [4, 16], float32", "gradOutput: float16 [4,16]",
              "dy shape [2, 3] dtype DT_BF16", "561103", "161002", "507015", "Ascend910B2", "CANN 9.1", "CANN 12345678901234567890.1", "error code 999999", "\\n", "\n", "x ",
              "rstd [2]", "gamma float32 [3]", "[" * 50, "9" * 40, "reduction: 1e400", "epsilon 1e-5", *TEXTS[2:])

    def attempt(draw):
        text = "".join(draw.choice((*pieces, draw.choice(list(map(str, CODES))))) + draw.choice((" ", "", "\n", ", ")) for _ in range(draw.randrange(1, 9)))
        code = draw.random() < 0.2 and draw.choice(list(CODES))
        given = code or (odd(draw, 0) if draw.random() < 0.05 else text)
        found = why(given, draw.choice((None, None, "A3", odd(draw, 0))), draw.choice((None, None, "8.5", odd(draw, 0))))
        assert not code or str(code) in found.meanings[0].name or found.meanings
        assert str(found) or not found.meanings
        json.dumps(found.to_json())
    return attempt


@surface(60_000, "a signature of names that a kernel takes gives the kernel's own numbers")
def signatures(folder):
    op = av.operator("hardswish")
    inputs = av.case(op, shape=(3,)).inputs
    pieces = ("void ", "int ", "fn", "fn(", "const float *", "self", "gradOutput", "out", ", ", "int64_t n", ")", ";", "float *", "...", "(*f)(int)", "&", "const", "*", "[3]",
              "void", "std::vector<int> ", "\n", "/* c */", *TEXTS)

    def kernel(g, x):
        return op.backward(gradOutput=g, self=x)

    def attempt(draw):
        if draw.random() < 0.6:
            text = draw.choice(("void fn(const float *gradOutput, const float *self, float *out, int64_t n);", "".join(draw.choice(pieces) for _ in range(draw.randrange(12)))))
            text = spoiled(draw, text, pieces)
            if draw.random() < 0.5:
                assert all(one.name and all(p.name.isidentifier() for p in one.parameters) for one in parse(text))
                return
            as_kernel(op, draw.choice(("nowhere.so:fn", "libc.so.6:abs", kernel, odd(draw, 0))), text)
            return
        names = {"g": "gradOutput", "x": "self"}
        given = changed(draw, names) if draw.random() < 0.9 else names
        adapted = as_kernel(op, kernel, given)
        if given == names:
            assert adapted(**inputs)["out"].tobytes() == op.backward(**inputs)["out"].tobytes()
    return attempt


@surface(20_000, "a pair that is given is the tightest: no smaller than the bound, and not negative")
def tolerances(folder):
    names = ("hardswish", "silu", "tanh", "elu", "rms_norm", "softplus")

    def attempt(draw):
        valid = {"op": draw.choice(names), "shape": [draw.choice((0, 1, 3))], "dtype": draw.choice(("float32", "float16")), "seed": 1, "plan": draw.choice((None, "A2", "pairwise"))}
        given = {key: odd(draw) if draw.random() < 0.3 else value for key, value in valid.items()}
        if isinstance(given["shape"], list) and any(isinstance(n, (int, float)) and abs(n) > 64 for n in given["shape"]):
            given["shape"] = [2, 2]
        if draw.random() < 0.3:
            given["let_through"] = odd(draw)
        found = av.tolerance(given.pop("op"), **given)
        assert found.rtol >= 0 and found.atol >= 0
    return attempt


def _line(draw) -> list[str]:
    """A command line by the grammar of the commands: a name, its arguments, its options, each at times another."""
    costly = {"verify", "prove", "errata", "conventions", "lab", "mcp", "sweep", "run", "cpp", "operators", "device"}
    name = draw.choice(list(COMMANDS))
    words = [name] if draw.random() < 0.95 else [draw.choice(TEXTS)]
    values = ("hardswish", "silu", "aclnnRmsNormGrad", "nowhere", "561103", "stride", "tie", "1", "0", "-1", "3,4", "(2,)", "float16", "a=b", "self=x.npy", "gelu", *TEXTS)
    options = COMMANDS[name][1] if name != "cpp" else {}
    for flag, settings in options.items():
        for one in flag if isinstance(flag, tuple) else (flag,):
            if not one.startswith("-"):
                if draw.random() < 0.9:
                    words.append(draw.choice(values))
            elif draw.random() < 0.12 and one not in ("--self", "--workers", "--scheduler"):
                words += [one] if (settings if isinstance(flag, str) else settings[one]).get("action") == "store_true" else [one, draw.choice(values)]
    if name in costly:  # only lines that end before the work begins
        words += draw.choice((["--help"], ["--nothing"], ["--json", "--json", "x", "y", "z"]))
    if draw.random() < 0.1:
        words.insert(draw.randrange(len(words) + 1), draw.choice(("--json", "--lang", "zh", "--help", "--", "-", "--version", "--no")))
    if draw.random() < 0.3 and name not in costly:
        words.append("--json")
    return words


@surface(20_000, "a status of 0, 1, 2 or 130, and with 2 one line of an error and no traceback; with --json and 0 or 1 what is printed is JSON")
def command_lines(folder):
    (home := folder / "a" / "b").mkdir(parents=True)
    os.chdir(home)

    def attempt(draw):
        words = _line(draw)
        out, err, before = io.StringIO(), io.StringIO(), dict(os.environ)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            stdin, os.sys.stdin = os.sys.stdin, io.StringIO("ret = 561103")
            try:
                status = main(words)
            except SystemExit as ended:
                status = ended.code
            finally:
                os.sys.stdin = stdin
                os.environ.clear()
                os.environ.update(before)
        assert status in (0, 1, 2, 130) and "Traceback" not in err.getvalue(), (words, status, err.getvalue()[-300:])
        if status == 2:
            raise ValueError("a line: got an error; " + err.getvalue() if err.getvalue() else f"{words}: 2 and nothing is said")
        if "--json" in words and not {"--help", "--version", "-h"} & {*words} and out.getvalue():
            json.loads(out.getvalue())
    return attempt


# Calls

@surface(120_000, "statuses are numbers that the headers name; where all are 0 without misuse, the output is that of the page")
def calls_of_the_C_API(folder):
    names, dtypes = list(PARAMETERS), (np.float32, np.float16)
    made = {name: inputs_of(name) for name in names}
    right = {name: av.operator(name).backward(**{key: value for key, value in given.items() if value is not None}) for name, (given, _) in made.items()}

    def attempt(draw):
        acl, name = HostAcl(), draw.choice(names)
        program = Program(acl).start()
        arguments, outputs = program.arguments(name, *made[name])
        wrong = draw.random() < 0.9
        for _ in range(draw.choice((1, 1, 2, 4)) if wrong else 0):
            at = draw.randrange(len(arguments))
            match draw.randrange(5):
                case 0:
                    arguments[at] = draw.choice((None, 0, 1, -1, 2**63, 0.5, float("nan"), "mean", "\0", "x"))
                case 1:
                    shape = tuple(draw.choice((0, 1, 2, 3, 5, -1, 2**31)) for _ in range(draw.randrange(5)))
                    strides = draw.choice((None, None, tuple(draw.choice((0, 1, 7, -1)) for _ in shape)))
                    arguments[at] = acl.aclCreateTensor(shape, draw.choice((0, 1, 3, 9, 11, 27, 99, -1)), strides, draw.choice((0, 0, 1, -1)),
                                                        draw.choice((2, 2, 0, -1)), draw.choice((shape, (3,), None)), draw.choice((None, 1, program.blocks[0])))
                case 2:
                    arguments[at] = arguments[draw.randrange(len(arguments))]
                case 3:
                    acl.aclDestroyTensor(arguments[at]) if "Tensor" in type(arguments[at]).__name__ else None
                case 4:
                    arguments = arguments[:at] + arguments[at + 1:] + [None]
        status, size, executor = program.phase_1(name, arguments)
        workspace, stream, odd_one = acl.aclrtMalloc(size, 0)[1] if size else None, program.stream, wrong and draw.random() < 0.5
        if status == 0 or odd_one:
            four = [workspace, size, executor, stream]
            if odd_one:
                four[draw.randrange(4)] = draw.choice((None, 0, 1, 2**40))
            statuses = [status, getattr(acl, name)(*four), acl.aclrtSynchronizeStream(program.stream)]
            if not wrong:
                assert statuses == [0, 0, 0] and all(program.fetch(tensor).tobytes() == right[name][key].tobytes() for key, tensor in outputs.items()), statuses
            assert all(one == 0 or one in CODES for one in statuses), statuses
        assert status == 0 or status in CODES, status
        acl.aclrtResetDevice(0), acl.aclFinalize()
        assert all(map(str, acl.misuse))
    return attempt


def odd_array(draw: random.Random, dtype=None) -> np.ndarray:
    """An array of few elements: any dtype, rank, order and numbers, those at the ends of formats among them."""
    dtype = dtype or draw.choice((np.float32, np.float16, ml_dtypes.bfloat16, np.float64, np.int64, bool, np.uint8, np.complex64, ">f4", "U2", object))
    shape = tuple(draw.choice((0, 1, 2, 3, 4)) for _ in range(draw.choice((0, 1, 1, 2, 2, 3, 9))))
    shape = tuple(min(n, 1) for n in shape) if len(shape) == 9 else shape
    special = (0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 1e-45, 1e38, -1e38, 65504.0, 1e300, float("nan"), float("inf"), -float("inf"), 2.0**-24)
    with np.errstate(all="ignore"):
        values = np.array([draw.choice(special) if draw.random() < 0.3 else draw.uniform(-5, 5) for _ in range(int(np.prod(shape)))], np.float64)
        values = np.nan_to_num(values).astype(np.int64) if np.dtype(dtype).kind in "iu" and np.abs(np.nan_to_num(values)).max(initial=0) < 2**60 else values
        found = values.astype(dtype).reshape(shape)
    return draw.choice((found, found, found.T, found[..., ::-1] if found.ndim else found, np.asfortranarray(found)))


@surface(110_000, "the largest absolute error is the one that plain subtraction gives; a page refuses or gives outputs of the shapes of its inputs")
def arrays(folder):
    ops = [av.operator(name) for name in ("hardswish", "rms_norm", "cross_entropy_loss", "grid_sampler_2d", "silu", "elu", "threshold", "glu", "embedding", "softmax")]

    def attempt(draw):
        if draw.random() < 0.5:
            actual = odd_array(draw, draw.choice((np.float32, np.float16, None)))
            truth = odd_array(draw) if draw.random() < 0.2 else actual.astype(np.float64) if actual.dtype.kind == "f" else actual
            if truth.size and truth.dtype == np.float64 and draw.random() < 0.8:
                truth = truth * draw.choice((1.0, 1.001, 0.5, -1.0, 2.0))
            baseline = draw.choice((None, None, None, actual, odd_array(draw)))
            found = av.compare(actual, truth, baseline=baseline)
            with np.errstate(all="ignore"):
                apart = np.abs(actual.astype(np.float64) - truth)
                finite = np.isfinite(actual.astype(np.float64)) & np.isfinite(truth)
            if actual.dtype == np.float32 and finite.all() and actual.size and np.abs(truth).max() < 3e38:
                assert np.isclose(found.max_abs, apart.max(), rtol=1e-6, atol=1e-45), (found.max_abs, apart.max())
            assert str(found) and found.to_json()
            return
        op = draw.choice(ops)
        valid = av.case(op, seed=draw.randrange(3)).inputs
        given = dict(valid)
        for name in draw.sample(list(given), draw.choice((1, 1, 2)) if len(given) > 1 else 1):
            given[name] = draw.choice((odd_array(draw), odd_array(draw, getattr(given[name], "dtype", None)), odd(draw, 1), given[draw.choice(list(given))]))
        if draw.random() < 0.1:
            given.pop(draw.choice(list(given)))
        with np.errstate(all="ignore"):
            outputs = op.backward(**given)
        wanted = op.arrange_backward(**op.bind(given)).results
        assert {name: tuple(value.shape) for name, value in outputs.items()} == {name: one.documented_shape for name, one in wanted.items()}
    return attempt


@surface(2_000, "a kernel that is wrong in one number, one factor or one element does not pass")
def wrong_kernels(folder):
    ops = {op.name: op for op in (av.operator(name) for name in ("hardswish", "silu", "elu", "softplus", "threshold", "l1_loss", "mse_loss", "tanh", "leaky_relu"))}

    def attempt(draw):
        op = ops[draw.choice(list(ops))]
        case = av.case(op, shape=(draw.randrange(1, 9),), dtype=draw.choice(("float32", "float16")), seed=draw.randrange(1000))
        kind, factor, right = draw.randrange(4), draw.choice((0.5, -1.0, 2.0, 1.1, 0.0)), {}

        def kernel(**inputs):
            outputs = {name: value.copy() for name, value in op.backward(**inputs).items()}
            name = draw.choice(list(outputs))
            value = outputs[name].reshape(-1)
            size = np.abs(value[np.isfinite(value)].astype(np.float64)).max(initial=0.0)
            with np.errstate(all="ignore"):
                match kind:
                    case 0:
                        value *= value.dtype.type(factor)
                    case 1:
                        value[np.abs(value).argmax()] += value.dtype.type(0.5 * size + 1)
                    case 2:
                        value[draw.randrange(value.size)] = draw.choice((np.nan, np.inf))
                    case 3:
                        value[:] = np.roll(value, 1)
            right[name] = op.backward(**inputs)[name].reshape(-1)
            right["same"] = np.allclose(right[name].astype(float), value.astype(float), rtol=0.05, atol=0.05 * size, equal_nan=True)
            return outputs
        found = av.check(op, kernel, cases=[case], depth="quick", soc="Ascend910B2", beyond=True)
        assert not found.passed or right.get("same"), (op.name, case, kind, factor)
    return attempt


@surface(20_000, "a folder that loads describes itself; one that does not leaves no operator behind")
def declarations(folder):
    source = Path(__file__).parent / "elsewhere" / "my_silu"
    shutil.copytree(source, place := folder / "my_silu", ignore=shutil.ignore_patterns("__pycache__"))
    texts = {name: (place / name).read_text() for name in ("declaration.py", "page.py")}
    words = ('"', "'", "(", ")", "{", "}", "None", "0", "page", "Tensor(", '"*P"', '"N,M"', "WITH_BFLOAT16", ",", "=", "self", "out", "float32 ", "1e400", "lambda", "\t", "\ud800",
             "shapes=(", "like=", "attributes=", "*P", "P*", "N N", "{}", "[]", "const aclTensor *", "uint64_t ", ")", "#")
    os.sys.dont_write_bytecode = True

    def attempt(draw):
        for name, text in texts.items():
            (place / name).write_text(text)
        name = draw.choice(("declaration.py", "declaration.py", "page.py"))
        text = spoiled(draw, texts[name], words)
        (place / name).write_text(text, "utf-8", "surrogatepass")
        registry._outside.pop("my_silu", None)
        registry.module.cache_clear()
        for module in [one for one in os.sys.modules if "my_silu" in one]:
            del os.sys.modules[module]
        try:
            found = av.operator(place)
        except ValueError:
            assert "my_silu" not in [one.name for one in operators()], "what did not load is an operator"
            raise
        assert str(found.describe())
        if name == "declaration.py":  # else what a page raises is its own
            found.backward(**av.case(found, shape=(2, 2)).inputs)
    return attempt


@surface(20_000, "what is proved equal has equal values, exactly, at four shapes")
def formulas(folder):
    strange = (sympy.Float(0.5), sympy.nan, sympy.oo, sympy.zoo, sympy.Matrix([1]), sympy.Symbol("f", commutative=False), "x", None, 1.5, sympy.Function("g")(1), True,
               sympy.Product(FREE[0], (FREE[0], 1, 3)), sympy.I, sympy.Piecewise((1, FREE[0] > 0), (2, True)), sympy.S.EmptySet, [1], sympy.Integer(10)**400)

    def attempt(draw):
        a = random_expression(draw, draw.choice((1, 2, 2, 3)))
        b = draw.choice((edited, rewritten, rewritten))(draw, a)
        ranges = draw.choice((None, None, None, {FREE[0]: (0, 3)}, odd(draw)))
        if draw.random() < 0.15:
            one = draw.choice(strange)
            with contextlib.suppress(TypeError, sympy.SympifyError, AttributeError):
                one = a + one if draw.random() < 0.5 else one
            equal = proves_equal(one, b, in_range=ranges)
            assert not equal or one == b or str(one) == str(b), (one, b)
            return
        equal = proves_equal(a, b, in_range=ranges)
        assert equal or equal.reason
        assert not equal or ranges or agree(a, b, draw), (a, b)
    return attempt


@surface(1_000, "a page whose backward is changed is not proved unless its numbers are the same")
def pages_read_by_the_prover(folder):
    ops = [av.operator(name) for name in ("hardswish", "silu", "mse_loss", "leaky_relu", "softplus")]
    pieces = ("0.5", "2.0", "-", "+", "*", "/", "(", ")", "xp.exp(", "xp.sum(", "self", "<", "<=", "xp.where(", "1", "0.0", "== ", "xp.abs(")

    def attempt(draw):
        op = draw.choice(ops)
        head, backward, rest = inspect.getsource(op.page).rpartition("\ndef backward")
        text = head + backward + spoiled(draw, rest, pieces)
        try:
            wrong = replace(op, page=page_from(text, op.page))
            case = av.case(op, shape=(6,), seed=draw.randrange(9))
            same = all(np.allclose(value, op.backward(**case.inputs)[name], rtol=1e-4, atol=1e-4) for name, value in wrong.backward(**case.inputs).items())
        except Exception as error:
            raise ValueError("a page computes: got an error; mend it") from error
        found = av.prove(wrong)
        assert str(found) and (same or not found.holds), text
    return attempt


# What is looked at, and what others send

@surface(270_000, "a state that is taken gives the same state again by the text of its own link")
def links_of_explorers(folder):
    subjects = [subject_of(name) for name in explorers()]
    described = [(one, controls(one.state)) for one in subjects]

    def value(draw, control):
        if draw.random() < 0.4:
            return odd(draw)
        if control["kind"] == "choice":
            return draw.choice(control["options"])[0]
        if control["kind"] == "flag":
            return draw.choice((True, False))
        return draw.choice((control["low"], control["high"], draw.randint(int(control["low"]), int(control["high"]) + 1), control["low"] - 1))

    def attempt(draw):
        subject, known = draw.choice(described)
        given = {control["field"]: value(draw, control) for control in draw.sample(known, draw.randrange(min(4, len(known)) + 1))}
        if draw.random() < 0.1:
            given[draw.choice((*TEXTS, "moved", "lang"))] = odd(draw)
        text = "#" + "&".join(f"{quote(name, errors='ignore')}={quote(text_of(one))}" for name, one in given.items())
        if draw.random() < 0.3:
            text = spoiled(draw, text, ("&", "=", "#", "%", "%22", "+", ";"))
        state = build(subject.state, read_state(text))
        assert build(subject.state, read_state(state_text(state))) == state
        if draw.random() < 0.002:
            with np.errstate(all="ignore"):
                subject.drawn(subject.compute(state, lambda state, inputs: (subject.operator(state).backward(**inputs), ())))
    return attempt


@surface(20_000, "a run whose gradient is far off is not explained; the files stay as they are", FileNotFoundError)
def folders_for_triage(folder):
    written = Written(folder / "dump")
    written.silu(0)
    run = written.done()
    index = run / "step0" / "rank0" / "dump.json"
    text, tensors = index.read_text(), {path: path.read_bytes() for path in (index.parent / "dump_tensor_data").iterdir()}
    gradient = next(path for path in tensors if "backward.output" in path.name)
    numbers = tensors[gradient].index(np.float32(0).tobytes()[:0] + zipfile.ZipFile(gradient).read(f"{gradient.stem}/data/0"))

    def attempt(draw):
        index.write_text(text)
        for path, content in tensors.items():
            path.write_bytes(content)
        far = draw.random() < 0.3
        if far:  # one number is another, and no checksum or extreme says so
            place, content = gradient, bytearray(tensors[gradient])
            at = numbers + 4 * draw.randrange(12)
            content[at:at + 4] = np.float32(draw.choice((17.0, -9.0, float("nan"), float("inf")))).tobytes()
            content = bytes(content)
            index.write_text(re.sub(r'"(Max|Min|Mean|Norm)": [-\d.e]+', r'"\1": null', text))
        elif draw.random() < 0.5:
            place, content = index, (text_of(changed(draw, json.loads(text))) if draw.random() < 0.6 else spoiled(draw, text)).encode("utf-8", "surrogatepass")
        else:
            place = draw.choice(list(tensors))
            content = spoiled(draw, tensors[place])
        place.write_bytes(content)
        found = triage(run, draw.choice((None, None, None, "Functional.silu.0", odd(draw, 0))), draw.choice((True, False)))
        assert not far or found.calls[0].verdict in BAD, found.calls[0]
        assert str(found) and found.to_json() and found.to_html() and place.read_bytes() == content
    return attempt


@surface(20_000, "what a client sends reaches the command as it was sent: no value becomes an option, and each tool refuses in words", tools=("mcp",))
def requests_of_agents(folder):
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    server, sent = MCPServer("fuzzed", log_level="CRITICAL"), []
    for tool in agents.TOOLS:
        server.add_tool(tool, structured_output=True)

    async def answer(words, given="", seconds=0.0, source=None):
        sent.append((words, given, source))
        return dict.fromkeys(agents.SHORT, 1)
    agents.answer = answer
    valid = {"describe": {"operator": "rms_norm"}, "operators": {}, "why": {"text": "561103", "soc": "A2"}, "tolerance": {"operator": "tanh", "shape": [8], "let_through": [1e-3, 1e-3]},
             "check": {"operator": "silu", "source": "x", "kernel": "k", "shapes": [[2]], "where": {"a": 1}}, "explain": {"operator": "silu", "kernel": "a.py:k", "dtypes": ["float16"]},
             "tiles": {"operator": "silu", "kernel": "k", "source": "x"}, "cpp_run": {"source": "x", "arguments": ["--x"], "defines": ["A=1"]}}

    def attempt(draw):
        name = draw.choice(list(valid))
        given = changed(draw, valid[name])
        sent.clear()
        try:
            asyncio.run(server.call_tool(name if draw.random() < 0.97 else draw.choice(TEXTS), given if isinstance(given, dict) else {"operator": given}))
        except ToolError as error:
            assert str(error)
            raise ValueError("a request: got an error; " + str(error)) from None
        (words, _, source), = sent
        at = words.index("--") if "--" in words else len(words)
        assert all(isinstance(word, str) for word in words) and all(not word.startswith("-") or word == "-" or word[:2] in ("--", "-D", "-I") for word in words[1:at]), (given, words)
        for one in given.values() if isinstance(given, dict) else ():
            assert not isinstance(one, str) or not one.startswith("--") or not any(word == one for word in words[1:at]), (given, words)
        assert source is None or "/" not in source[0] and source[0] not in ("", ".", "..")
    return attempt


@surface(500, "a source that is taken gives z = x + y, or a hazard, or other numbers; it never crashes the judge", RuntimeError, OSError, tools=("g++",))
def sources_in_C_plus_plus(folder):
    text = (Path(__file__).parent / "tiles" / "cpp" / "add_custom.cpp").read_text()
    pieces = ("tileLength", "blockLength", "xLocal", "zGm", "0", "1", "-1", "1u << 31", "GetBlockIdx()", "while (true) {}", "*(int *)0 = 1;", "return;", "exit(0);", "DataCopy(zGm, xLocal, tileLength);",
              "inQueueX.FreeTensor(xLocal);", "Muls(zLocal, xLocal, 2.0f, tileLength);", "BUFFER_NUM", "half", "throw 1;", "int a[1 << 28]; a[0] = total;")
    x, y = np.random.default_rng(0).standard_normal((2, 2048), np.float32)

    def attempt(draw):
        place, z = folder / "add_custom.cpp", np.zeros_like(x)
        lines = text.splitlines(keepends=True)
        at = draw.randrange(5, len(lines))
        match draw.randrange(4):
            case 0:
                lines[at] = ""
            case 1:
                lines[at] = draw.choice(lines[5:])
            case 2:
                lines[at] += f"        {draw.choice(pieces)};\n"
            case 3:
                words = re.split(r"(\W)", lines[at])
                words[draw.randrange(len(words))] = draw.choice(pieces)
                lines[at] = "".join(words)
        place.write_text("".join(lines))
        kernel = cpp(place)["add_custom"]
        kernel.seconds = 5
        found = av.tiles.run(kernel, x, y, z, x.size, cores=2, schedule=draw.choice(("eager", "late", 1)))
        assert all(map(str, found.hazards))
        if "".join(lines) == text:
            assert not found.hazards and np.array_equal(z, x + y)
    return attempt


PART = 5_000  # inputs that one process tries


def tried_in_parts(name: str, count: int) -> dict:
    """Try the first inputs of a surface in processes of their own, so that a crash is a finding as any other."""
    total = Counter()
    findings = {}
    for first in range(0, count, PART):
        try:
            part = in_child(lambda first=first: tried(name, range(first, min(first + PART, count))))
        except AssertionError as error:
            part = {"findings": {first: f"in the {PART} from here on: {error}"}}
        findings |= part.pop("findings")
        total.update(part)
    return dict(total) | {"findings": findings}


@pytest.mark.parametrize("name", [pytest.param(one.name, marks=[pytest.mark.needs(*one.tools)] * bool(one.tools)) for one in SURFACES.values()])
def test_no_input_is_more_than_taken_or_refused(name, record_property):
    one = SURFACES[name]
    found = tried_in_parts(name, one.count if SOAK else max(1, min(12, one.count // 1000)))
    findings = found.pop("findings")
    record_property("surface", name)
    record_property("oracle", one.oracle)
    for key, value in found.items():
        record_property(key, value)
    record_property("findings", len(findings))
    assert not findings, "\n".join(f"{name} {seed}: {text}" for seed, text in [*findings.items()][:20])
