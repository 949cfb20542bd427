"""What the tests catch: mechanical edits of the kit, each run through the tests that execute its line.

`python benchmarks/test_mutants.py COVERAGE [COUNT]`, on one core. COVERAGE is the data of one run of the suite with one context a test
(`pip install pytest-cov`, then `pytest --cov=aclnn_viz --cov=derivations --cov-context=test`). Mutants are drawn by a seed from all
lines in functions, of each kind of edit as many. The first failure ends a mutant, if the test passes without it. Rows go to
build/test_mutants.jsonl as they are made; a run that is begun again goes on there.
"""

import ast
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from itertools import chain
from pathlib import Path

from coverage import CoverageData
from records import ROOT, git, kept

SEED, COUNT = 28, 200
SECONDS, MOST = 150, 40  # of one mutant, on the clock, and how many tests it meets
PACKAGES = ("aclnn_viz", "derivations")
OTHER = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


def edits(node):
    """Each mechanical edit of a node: its kind, the part that goes, and the source that stands there instead."""

    def changed(**fields):
        return f"({ast.unparse(type(node)(**dict(ast.iter_fields(node)) | fields))})"

    match node:
        case ast.Compare(ops=[op]):
            yield "compare", node, changed(ops=[OTHER[type(op)]()])
        case (
            ast.BinOp(left=ast.JoinedStr() | ast.Constant(str()))
            | ast.BinOp(right=ast.JoinedStr() | ast.Constant(str()))
        ):
            pass  # any other operator raises at once
        case ast.BinOp(op=op) | ast.BoolOp(op=op):
            yield "operator", node, changed(op=OTHER.get(type(op), ast.Mult)())
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield "operator", node, f"({ast.unparse(operand)})"
        case ast.Constant(bool() as value):
            yield "constant", node, str(not value)
        case ast.Constant(int() | float() as value):
            yield "constant", node, f"({value!r} + 1)"
        case ast.Call(keywords=[*_, _]):
            yield "argument", node, changed(keywords=node.keywords[:-1])
        case ast.Call(args=[*_, _]):
            yield "argument", node, changed(args=node.args[:-1])
        case ast.Return(value) if value is not None and not isinstance(value, ast.Constant):
            yield "return", node, "return None"
        case ast.If(test) | ast.IfExp(test):
            yield "condition", test, f"(not ({ast.unparse(test)}))"
        case ast.Expr(ast.Call()) | ast.AugAssign():
            yield "statement", node, "pass"


def candidates(path):
    """Each edit of a whole part of one line in a function: (line, kind, old line, new line)."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for function in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(function, ast.FunctionDef):
            for kind, at, new in (
                edit for part in function.body for node in ast.walk(part) for edit in edits(node)
            ):
                line = lines[at.lineno - 1]
                if at.lineno == at.end_lineno and line.isascii():
                    yield (
                        at.lineno,
                        kind,
                        line,
                        line[: at.col_offset] + new + line[at.end_col_offset :],
                    )


def covered(path):
    """{(file, line): tests that execute it}."""
    data = CoverageData(path)
    data.read()
    return {
        (file.relative_to(ROOT).as_posix(), line): {
            name.rpartition("|")[0] for name in names if name
        }
        for file in map(Path, data.measured_files())
        for line, names in data.contexts_by_lineno(str(file)).items()
    }


def draw():
    """Edits of all lines in functions, in one order: (file, line, kind, old, new)."""
    files = [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]
    rows = sorted(
        {(path.relative_to(ROOT).as_posix(), *row) for path in files for row in candidates(path)}
    )
    random.Random(SEED).shuffle(rows)
    kinds = [
        [row for row in rows if row[2] == kind] for kind in sorted({row[2] for row in rows})
    ]  # of each as many
    return chain.from_iterable(zip(*kinds))


def order(names, wide):
    """One test of each function first, those that execute little first; some of many."""
    rounds, turn = Counter(), {}
    for name in sorted(names, key=lambda name: (wide[name], name)):
        rounds[function := name.split("[")[0]] += 1
        turn[name] = rounds[function]
    return sorted(turn, key=turn.get)[:MOST]


def run(folder, tests):
    """The status of pytest in a copy of the tree, "time" where it takes too long, and the test that fails first."""
    process = subprocess.Popen(
        [sys.executable, "-m", "pytest", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *tests],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
        encoding="utf-8",
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        text = process.communicate(timeout=SECONDS)[0]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        return "time", None
    failed = re.findall(
        r"^(?:FAILED|ERROR) (.*)", text, re.MULTILINE
    )  # a file that cannot be imported stands for its tests
    return process.returncode, next(
        (
            name
            for name in tests
            for one in failed
            if f"{one} - ".startswith((f"{name} - ", f"{name.partition('::')[0]} - "))
        ),
        None,
    )


def tried(folder, mutant, tests):
    """What becomes of one mutant in a copy of the tree; a test that fails without it, too, does not count."""
    file, line, kind, old, new = mutant
    path, start = folder / file, time.perf_counter()
    before = path.read_text(encoding="utf-8")
    lines = before.splitlines()
    lines[line - 1] = new
    while True:
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        try:
            status, by = run(folder, tests)
        finally:
            path.write_text(before, encoding="utf-8")
        if not by or run(folder, [by])[0] == 0:
            break
        tests = [name for name in tests if name != by]
    outcome = (
        "caught"
        if by
        else {0: "survived", 4: "no such test", 5: "no such test", "time": "time"}.get(
            status, "caught"
        )
    )
    return {
        "mutant": mutant,
        "outcome": outcome,
        "by": by,
        "tests": len(tests),
        "seconds": round(time.perf_counter() - start, 1),
    }


def main(coverage, count=COUNT):
    tests = covered(coverage)
    wide = Counter(chain.from_iterable(tests.values()))
    with (
        tempfile.TemporaryDirectory() as folder,
        kept(ROOT / "build" / "test_mutants.jsonl") as (rows, add),
    ):
        for name in git("ls-files").splitlines():
            (copy := Path(folder, name)).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy, follow_symlinks=False)
        for mutant in map(list, draw()):
            if sum(row["outcome"] != "not executed" for row in rows) >= int(count):
                break
            if all(row["mutant"] != mutant for row in rows):
                names = tests.get((mutant[0], mutant[1]))
                add(
                    tried(Path(folder), mutant, order(names, wide))
                    if names
                    else {"mutant": mutant, "outcome": "not executed"}
                )
                print(rows[-1], flush=True)
        print(Counter(row["outcome"] for row in rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
