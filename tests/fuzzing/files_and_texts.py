"""Surfaces that read files and people's texts."""

import contextlib
import hashlib
import io
import json
import os
import shutil
import sqlite3
import zipfile
from pathlib import Path

import numpy as np
from cases.test_lists import ATK
from checking.test_triage import Written, pt
from trying import TEXTS, WORDS, changed, odd, spoiled, surface, text_of

import aclnn_viz as av
from aclnn_viz.acl.why import CODES, why
from aclnn_viz.cases import lists
from aclnn_viz.cli import COMMANDS, main
from aclnn_viz.devices import Capsule, record
from aclnn_viz.devices.signatures import adapted
from aclnn_viz.operators.prototype import parse
from aclnn_viz.operators.skeleton import gaps, new_operator
from aclnn_viz.storage.cases import CHECKSUM, INDEX
from aclnn_viz.storage.dumps import from_pt, read_dumps, tensors
from aclnn_viz.storage.foreign_arrays import load
from aclnn_viz.sweeps.recipes import draw as drawn
from aclnn_viz.sweeps.recipes import recipe, source
from aclnn_viz.sweeps.reports import report
from aclnn_viz.sweeps.store import Store
from aclnn_viz.sweeps.work import Judged, Row


def small_capsule(folder: Path) -> Path:
    cases = [
        av.case("hardswish", dtype=dtype, seed=1, shape=(3,)) for dtype in ("float32", "bfloat16")
    ]
    return record(av.open_device("host"), cases, folder / "whole.capsule")


@surface(
    60_000,
    "what is taken is bit for bit what was recorded, unless the index was changed and sealed again; the file stays as it is",
)
def capsules(folder):
    whole, place = small_capsule(folder).read_bytes(), folder / "spoiled.capsule"
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}

    def replayed(path):
        with Capsule(path) as found:
            return [
                (
                    op.name,
                    {
                        k: (v.dtype.name, v.shape, v.tobytes())
                        for k, v in (*inputs.items(), *found.run(op, **inputs).items())
                    },
                )
                for op, inputs in found.cases()
            ]

    place.write_bytes(whole)
    right = replayed(place)

    def attempt(draw):
        sealed = draw.random() < 0.5
        if sealed:
            index = json.dumps(changed(draw, json.loads(members[INDEX]))).encode()
            made, stream = (
                members
                | {
                    INDEX: index,
                    CHECKSUM: f"{hashlib.sha256(index).hexdigest()}  {INDEX}\n".encode(),
                },
                io.BytesIO(),
            )
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


@surface(
    60_000,
    "what is taken has the length that its header says; the file stays as it is",
    FileNotFoundError,
)
def dumps(folder):
    array, place, written = (
        np.arange(6, dtype=np.float32).reshape(2, 3),
        folder / "files",
        Written(folder / "dump"),
    )
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
            index.write_text(
                text_of(changed(draw, json.loads(text)))
                if draw.random() < 0.6
                else spoiled(draw, text),
                "utf-8",
                "surrogatepass",
            )
            for dump in read_dumps(run):
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
                found = load(
                    path,
                    draw.choice((None, "float32", "bfloat16", odd(draw))),
                    draw.choice((None, (2, 3), odd(draw))),
                    "x" if path.suffix == ".npz" else None,
                )
            assert (
                found.nbytes <= max(len(content), 4096) * 64
                and np.asarray(found).tobytes() is not None
            )
        finally:
            assert path.read_bytes() == content, "the file was changed"

    return attempt


@surface(60_000, "a folder of cases that is taken has its inputs as they were written")
def folders_of_cases(folder):
    wrong = av.check("hardswish", lambda **inputs: {"out": inputs["self"]}).counterexample
    right = wrong.write(folder / "right")
    out = av.operator("hardswish").backward(**wrong.inputs)["out"]
    np.save(right / "000/out/out.npy", out)
    (right / "000/out/out.bin").write_bytes(out.tobytes())
    files = {path: path.read_bytes() for path in sorted(right.rglob("*.*"))}
    assert av.check(right).passed and len(files) > 6

    def attempt(draw):
        path = draw.choice(list(files))
        path.write_bytes(content := spoiled(draw, files[path]))
        try:
            passed = av.check(right).passed
            assert content == files[path] or path.parent.name == "out" and not passed, path
        finally:
            path.write_bytes(files[path])

    return attempt


@surface(
    60_000,
    "a canonical text is its own canonical text, and a case has the shape that was asked for",
)
def recipes(folder):
    valid = WORDS["recipes"]

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


@surface(
    20_000,
    "a store that is refused stays byte for byte as it was; what a report says is whole",
    OSError,
)
def stores(folder):
    whole, place = folder / "whole.sqlite", folder / "spoiled.sqlite"
    with Store(whole) as store:
        run, output = store.run("1.0", "{}"), Judged("out", "right", 1.0, 1.0, 1.0, "ab")
        for seed in range(3):
            text = recipe({"operator": "hardswish", "seed": seed})
            store.add(run, Row(text, "hardswish", "float32", "", "right", "", (output,)))
        store.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    content = whole.read_bytes()
    columns = [
        (table, column)
        for table, names in {
            "runs": "kit device",
            "cases": "recipe operator dtype mode outcome note seconds",
            "outputs": "output verdict used max_ulp mere bits",
        }.items()
        for column in names.split()
    ]

    def attempt(draw):
        for path in folder.glob("spoiled*"):
            path.unlink()
        if draw.random() < 0.5:
            place.write_bytes(spoiled(draw, content))
        else:  # a whole file of other values
            place.write_bytes(content)
            (table, column), value = draw.choice(columns), odd(draw, 0)
            with (
                contextlib.suppress(sqlite3.Error, OverflowError, UnicodeEncodeError),
                contextlib.closing(sqlite3.connect(place)) as base,
                base,
            ):
                base.execute(f"UPDATE {table} SET {column} = ?", [value])
        before = place.read_bytes()
        if draw.random() < 0.8:
            found = report(place)
            assert str(found) and found.to_json()["headline"] and found.html.endswith("\n")
            assert place.read_bytes() == before, "reading changed the file"
        else:
            try:
                with Store(place) as store:
                    store.known("a")
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
        made, place = changed(draw, ATK, small), folder / "list.json"
        text = text_of(made) if draw.random() < 0.7 else spoiled(draw, text_of(made))
        place.write_text(text, "utf-8", "surrogatepass")
        found = lists.read(place, seed=draw.randrange(9))
        for one in found[:2]:
            one.operator.bind(one.inputs)

    return attempt


# Texts


@surface(
    40_000,
    "a folder that was made of a prototype has gaps and no other file",
    OSError,
)
def prototypes(folder):
    words = (*WORDS["prototypes"], *TEXTS)

    def attempt(draw):
        text = spoiled(draw, av.operator("layer_norm").prototype, words)
        shutil.rmtree(folder / "made", ignore_errors=True)
        place = new_operator(draw.choice(("", "mine", *TEXTS)), text, folder / "made")
        assert gaps(place) and place.parent == folder / "made"

    return attempt


@surface(
    60_000, "a code that the headers name has a meaning, and what is unknown is said to be unknown"
)
def logs(folder):
    pieces = (*WORDS["logs"], *TEXTS[2:])

    def attempt(draw):
        text = "".join(
            draw.choice((*pieces, draw.choice(list(map(str, CODES)))))
            + draw.choice((" ", "", "\n", ", "))
            for _ in range(draw.randrange(1, 9))
        )
        code = draw.random() < 0.2 and draw.choice(list(CODES))
        given = code or (odd(draw, 0) if draw.random() < 0.05 else text)
        found = why(
            given,
            draw.choice((None, None, "A3", odd(draw, 0))),
            draw.choice((None, None, "8.5", odd(draw, 0))),
        )
        assert not code or str(code) in found.meanings[0].name or found.meanings
        assert str(found) or not found.meanings
        json.dumps(found.to_json())

    return attempt


@surface(60_000, "a signature of names that a kernel takes gives the kernel's own numbers")
def signatures(folder):
    op = av.operator("hardswish")
    inputs = av.case(op, shape=(3,)).inputs
    pieces = (*WORDS["signatures"], *TEXTS)

    def kernel(g, x):
        return op.backward(gradOutput=g, self=x)

    def attempt(draw):
        if draw.random() < 0.6:
            text = draw.choice(
                (
                    "void fn(const float *gradOutput, const float *self, float *out, int64_t n);",
                    "".join(draw.choice(pieces) for _ in range(draw.randrange(12))),
                )
            )
            text = spoiled(draw, text, pieces)
            if draw.random() < 0.5:
                assert all(
                    one.name and all(p.name.isidentifier() for p in one.parameters)
                    for one in parse(text)
                )
                return
            adapted(op, draw.choice(("nowhere.so:fn", "libc.so.6:abs", kernel, odd(draw, 0))), text)
            return
        names = {"g": "gradOutput", "x": "self"}
        given = changed(draw, names) if draw.random() < 0.9 else names
        renamed = adapted(op, kernel, given)
        if given == names:
            assert renamed(**inputs)["out"].tobytes() == op.backward(**inputs)["out"].tobytes()

    return attempt


@surface(
    20_000, "a pair that is given is the tightest: no smaller than the bound, and not negative"
)
def tolerances(folder):
    names = ("hardswish", "silu", "tanh", "elu", "rms_norm", "softplus")

    def attempt(draw):
        valid = {
            "op": draw.choice(names),
            "shape": [draw.choice((0, 1, 3))],
            "dtype": draw.choice(("float32", "float16")),
            "seed": 1,
            "plan": draw.choice((None, "A2", "pairwise")),
        }
        given = {key: odd(draw) if draw.random() < 0.3 else value for key, value in valid.items()}
        if isinstance(given["shape"], list) and any(
            isinstance(n, (int, float)) and abs(n) > 64 for n in given["shape"]
        ):
            given["shape"] = [2, 2]
        if draw.random() < 0.3:
            given["let_through"] = odd(draw)
        found = av.tolerance(given.pop("op"), **given)
        assert found.rtol >= 0 and found.atol >= 0

    return attempt


def _line(draw) -> list[str]:
    """Return a command line by the grammar of the commands: a name, its arguments, its options, each sometimes another."""
    costly = set("verify prove errata conventions sweep run cpp operators device".split())
    # these become JupyterLab and a server
    name = draw.choice([name for name in COMMANDS if name not in ("lab", "mcp")])
    words = [name] if draw.random() < 0.95 else [draw.choice(TEXTS)]
    values = (*WORDS["line"], *TEXTS)
    options = COMMANDS[name][1] if name != "cpp" else {}
    for flag, settings in options.items():
        if not flag.startswith("-"):
            if draw.random() < 0.9:
                words.append(draw.choice(values))
        elif draw.random() < 0.12 and flag != "--workers":
            words += (
                [flag] if settings.get("action") == "store_true" else [flag, draw.choice(values)]
            )
    if name in costly:  # only lines that end before the work begins
        words += draw.choice((["--help"], ["--nothing"], "--json --json x y z".split()))
    if draw.random() < 0.1 and name not in costly:
        words.insert(
            draw.randrange(len(words) + 1),
            draw.choice("--json --lang zh --help -- - --version --no".split()),
        )
    if draw.random() < 0.3 and name not in costly:
        words.append("--json")
    return words


@surface(
    20_000,
    "a status of 0, 1, 2 or 130, and with 2 one line of an error and no traceback; with --json and 0 or 1 what is printed is JSON",
)
def command_lines(folder):
    (home := folder / "a" / "b").mkdir(parents=True)
    os.chdir(home)
    (thesis := home / "thesis").write_text("mine")

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
        assert thesis.read_text() == "mine", words
        assert status in (0, 1, 2, 130) and "Traceback" not in err.getvalue(), (
            words,
            status,
            err.getvalue()[-300:],
        )
        if status == 2:
            raise ValueError(
                "a line: got an error; " + err.getvalue()
                if err.getvalue()
                else f"{words}: 2 and nothing is said"
            )
        if "--json" in words and not {"--help", "--version", "-h"} & {*words} and out.getvalue():
            json.loads(out.getvalue())

    return attempt
