"""What the tests catch: mechanical edits of the kit, each run through the tests that execute its line.

`python benchmarks/test_mutants.py COVERAGE MUTANTS.json OUTCOME.json [JOBS [EARLIER.json]]`. COVERAGE is the data of one run
of the suite with one context a test, or a folder of such data (`pip install pytest-cov`, then
`pytest --cov=aclnn_viz --cov=derivations --cov-context=test`). Where MUTANTS.json does not exist, it is drawn from all lines in
functions, of each kind of edit as many; else the same mutants are tried again: each is found by the text of its line, in
whichever file that stands now. The first failure ends a mutant, if the test passes without it; what caught it EARLIER comes
first. A run that is begun again goes on, and tries again what no test executed.
"""

import ast
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SEED, COUNT = 28, 200
SECONDS, MOST = 150, 40  # of one mutant, on the clock, and how many tests it meets
PACKAGES = ("aclnn_viz", "derivations")
OTHER = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not", ast.IsNot: "is",
         ast.In: "not in", ast.NotIn: "in", ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "*", ast.Pow: "*",
         ast.Mod: "*", ast.And: "or", ast.Or: "and", ast.BitAnd: "|", ast.BitOr: "&", ast.LShift: ">>", ast.RShift: "<<"}


def edits(node, line):
    """Each mechanical edit of one node on one line: its kind, and what replaces the node's source."""
    def of(part):
        return line[part.col_offset:part.end_col_offset]

    match node:
        case ast.Compare(left, [op], [right]):
            yield "compare", f"{of(left)} {OTHER[type(op)]} {of(right)}"
        case ast.BinOp(left, op, right) if type(op) in OTHER and not any(isinstance(at, ast.Constant | ast.JoinedStr) and
                                                                        not isinstance(getattr(at, "value", ""), int | float)
                                                                        for at in (left, right)):
            yield "operator", f"({of(left)} {OTHER[type(op)]} {of(right)})"
        case ast.BoolOp(op, values):
            yield "operator", f"({f' {OTHER[type(op)]} '.join(f'({of(at)})' for at in values)})"
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            yield "operator", f"({of(operand)})"
        case ast.Constant(bool() as value):
            yield "constant", str(not value)
        case ast.Constant(int() | float() as value):
            yield "constant", f"({value!r} + 1)"
        case ast.Call(args=args, keywords=keywords) if args or keywords:
            parts = [of(at) for at in args] + [of(at) for at in keywords]
            yield "argument", f"{of(node.func)}({', '.join(parts[:-1])})"
        case ast.Return(value) if value is not None and not isinstance(value, ast.Constant):
            yield "return", "return None"
        case ast.If(test) | ast.IfExp(test):
            yield "condition", (test, f"(not ({of(test)}))")
        case ast.Expr(ast.Call()) | ast.AugAssign():
            yield "statement", "pass"


def candidates(path):
    """Each edit of a whole part of one line in a function: (line, kind, old line, new line)."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in (at for part in function.body for at in ast.walk(part)):
            top = getattr(node, "test", node)  # of an if, which goes over several lines
            if getattr(top, "lineno", 0) != getattr(top, "end_lineno", 1) or not (line := lines[top.lineno - 1]).isascii():
                continue
            for kind, new in edits(node, line):
                at, new = new if isinstance(new, tuple) else (node, new)
                if at.lineno == at.end_lineno == top.lineno:
                    yield at.lineno, kind, line, line[:at.col_offset] + new + line[at.end_col_offset:]


def covered(path):
    """{(file, line): tests that execute it}."""
    found = defaultdict(set)
    for part in sorted(Path(path).iterdir()) if Path(path).is_dir() else [Path(path)]:
        try:
            base = sqlite3.connect(f"{part.resolve().as_uri()}?mode=ro", uri=True)
            files = {k: short[1] for k, name in base.execute("SELECT id, path FROM file")
                     if (short := re.search(rf".*/((?:{'|'.join(PACKAGES)})/.*)", name)) and (ROOT / short[1]).exists()}
            contexts = {k: re.sub(r"( \((call|setup|teardown)\)|\|(run|setup|teardown))$", "", name.strip("|"))
                        for k, name in base.execute("SELECT id, context FROM context")}
            rows = base.execute("SELECT file_id, context_id, numbits FROM line_bits").fetchall()
        except sqlite3.Error:
            continue  # is being written
        for file, context, bits in rows:
            if file in files and contexts[context].startswith("tests/"):
                for at, byte in enumerate(bits):  # bit k of byte n is line 8 n + k
                    for k in range(8):
                        if byte >> k & 1:
                            found[files[file], 8 * at + k].add(contexts[context])
    return found


def draw():
    """Edits of all lines in functions, in one order; the first COUNT that tests execute count."""
    files = sorted(at.relative_to(ROOT).as_posix() for package in PACKAGES for at in (ROOT / package).rglob("*.py"))
    rows = sorted({(file, *row) for file in files for row in candidates(ROOT / file)})
    random.Random(SEED).shuffle(rows)
    kinds = [[row for row in rows if row[2] == kind] for kind in sorted({row[2] for row in rows})]  # of each as many
    chosen = [row for turn in zip(*kinds) for row in turn][:2 * COUNT]
    return [{"file": file, "kind": kind, "old": old, "new": new,
             "nth": (ROOT / file).read_text(encoding="utf-8").splitlines()[:line].count(old) - 1} for file, line, kind, old, new in chosen]


def place(mutant):
    """The file and the number of the mutant's line as the tree is now, or None."""
    files = [mutant["file"], *sorted(at.relative_to(ROOT).as_posix() for package in PACKAGES for at in (ROOT / package).rglob("*.py"))]
    for indented in (lambda line: line, str.strip):  # a function that became a method stands further to the right
        for file in files:
            if (ROOT / file).exists():
                lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
                at = [k for k, line in enumerate(lines, 1) if indented(line) == indented(mutant["old"])]
                if at:
                    return file, at[min(mutant["nth"], len(at) - 1)]
    return None


def order(names, wide, first):
    """First those that caught it before, then one test of each function, those that execute little first; some of many."""
    rounds = Counter()
    names = sorted(names, key=lambda at: (wide[at], at))
    turn = {at: (rounds.update([at.split("[")[0]]), rounds[at.split("[")[0]])[1] for at in names}
    return sorted(names, key=lambda at: (at not in first, turn[at]))[:MOST]


CHILD = """
import json, os, sys, time
import numpy, sympy, pytest
class Chosen:
    def __init__(self, names): self.names, self.failed, self.done = {n: k for k, n in enumerate(names)}, None, 0
    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = sorted((i for i in items if i.nodeid in self.names), key=lambda i: self.names[i.nodeid])
    def pytest_runtest_logreport(self, report):
        self.done += report.when == "call"
        if report.failed and not self.failed: self.failed = report.nodeid
    def pytest_collectreport(self, report):
        if report.failed and not self.failed: self.failed = report.nodeid
for line in sys.stdin:
    job, child = json.loads(line), os.fork()
    if not child:
        os.setsid()
        sink = os.open(os.devnull, os.O_RDWR)
        out = os.dup(1)
        for k in (0, 1, 2): os.dup2(sink, k)
        chosen, status = Chosen(job["tests"]), None
        try:
            status = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *job["files"]], plugins=[chosen]))
        finally:
            os.write(out, (json.dumps([status, chosen.failed, chosen.done]) + "\\n").encode())
            os._exit(0)
    import signal, threading
    def stop(): os.killpg(child, signal.SIGKILL)
    clock = threading.Timer(job["seconds"], stop); clock.start()
    _, status = os.waitpid(child, 0); clock.cancel()
    try: os.killpg(child, signal.SIGKILL)
    except ProcessLookupError: pass
    late = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    if status: os.write(1, (json.dumps(["time" if late else "died", None, 0]) + "\\n").encode())
"""


class Copy:
    """The tracked tree in a folder of its own, and a process in it that has imported what mutants do not change."""

    def __init__(self, folder):
        self.folder = Path(folder)
        for name in subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, encoding="utf-8", check=True).stdout.splitlines():
            if (ROOT / name).is_symlink() or (ROOT / name).is_file():
                (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.folder / name, follow_symlinks=False)
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "OPENBLAS_NUM_THREADS": "1", "HYPOTHESIS_DATABASE_FILE": ""}
        self.known = {}
        self.process = subprocess.Popen([sys.executable, "-c", CHILD], cwd=self.folder, env=environment, encoding="utf-8",
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(self, tests):
        tests = [at for at in tests if (self.folder / at.split("::")[0]).exists()]
        job = {"tests": tests, "files": list(dict.fromkeys(at.split("::")[0] for at in tests)), "seconds": SECONDS}
        print(json.dumps(job), file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        assert answer[0] is not None, f"pytest itself fails: {job}"
        return answer

    def sound(self, test):
        """Whether a test passes here without any edit."""
        if test not in self.known:
            self.known[test] = self.run([test])[0] == 0
        return self.known[test]

    def tried(self, mutant, file, line, tests):
        path = self.folder / file
        before = path.read_text(encoding="utf-8")
        lines = before.split("\n")
        old, new = mutant["old"], mutant["new"]
        indent = lines[line - 1][:len(lines[line - 1]) - len(lines[line - 1].lstrip())]
        lines[line - 1] = indent + new.lstrip() if old.strip() == lines[line - 1].strip() else new
        path.write_text("\n".join(lines), encoding="utf-8")
        os.utime(path, (time.time(), time.time() + random.random() * 1000))  # never the second of the compiled file
        start = time.perf_counter()
        try:
            status, by, done = self.run(tests)
        finally:
            path.write_text(before, encoding="utf-8")
            os.utime(path, (time.time(), time.time() - 1000 * random.random()))
        caught = bool(by) or status not in (0, 5, "time")
        if caught and by and not self.sound(by):
            return self.tried(mutant, file, line, [at for at in tests if at != by])
        return {"outcome": "caught" if caught else "time" if status == "time" else "survived",
                "by": by or (str(status) if caught else None),
                "ran": done, "of": len(tests), "seconds": round(time.perf_counter() - start, 1)}


def main(data, mutants, outcome, jobs="1", earlier=""):
    tests = covered(data)
    if not Path(mutants).exists():
        Path(mutants).write_text(json.dumps({"seed": SEED, "mutants": draw()}, indent=1), encoding="utf-8")
    drawn = json.loads(Path(mutants).read_text(encoding="utf-8"))["mutants"]
    wide = Counter(name for names in tests.values() for name in names)
    rows = json.loads(Path(outcome).read_text(encoding="utf-8")) if Path(outcome).exists() else {}
    before = json.loads(Path(earlier).read_text(encoding="utf-8")) if earlier else {}

    def work(copy, left):
        while left and sum(row["outcome"] in ("caught", "survived", "time") for row in rows.values()) < COUNT:
            k = left.pop()
            mutant, at = drawn[k], place(drawn[k])
            row = {"outcome": "gone"}
            if at:
                file, line = at
                names = tests.get(at, ())
                row = {"outcome": "not executed"}
                if names:
                    row = copy.tried(mutant, file, line, order(names, wide, (before.get(str(k)) or {}).get("by") or ""))
                row |= {"tests": len(names), "at": f"{file}:{line}"}
            rows[str(k)] = {**{at: mutant[at] for at in ("file", "kind", "old", "new")}, **row}
            Path(outcome).write_text(json.dumps(rows, indent=1), encoding="utf-8")
            print(k, row["outcome"], row.get("at"), row.get("by"), row.get("seconds"), flush=True)

    left = [k for k in reversed(range(len(drawn))) if rows.get(str(k), {"outcome": "not executed"})["outcome"] == "not executed"]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        copies = [Copy(Path(folder, str(k))) for k in range(int(jobs))]
        for job in [pool.submit(work, copy, left) for copy in copies]:
            job.result()
        for copy in copies:
            copy.process.stdin.close()
    print(Counter(row["outcome"] for row in rows.values()))


if __name__ == "__main__":
    main(*sys.argv[1:])
