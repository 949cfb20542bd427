"""Try every operator through every part of the kit, and write docs/operators.md: `python benchmarks/operators.py [OPERATOR ...]`.

Each number counts what was tried and held. Rows go to build/operators.jsonl as they are made; a run that is begun again
goes on there (remove the file when pages have changed). The page is written once all operators have a row. Needs PyTorch, as `make .venv/.has-peers` installs it.
"""

import sys
import time
from pathlib import Path

from records import ROOT, kept, line, publish

import aclnn_viz as av
from aclnn_viz.checking.score import EQUIVALENT, EXPLAINED, NUMBERS, score_mutants
from aclnn_viz.explorers import subject_of
from aclnn_viz.operators import registry
from aclnn_viz.operators.document import documented
from aclnn_viz.verification import numeric

ROWS, REPORT = ROOT / "build" / "operators.jsonl", ROOT / "docs" / "operators.md"
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "verification")]
CASES, MUTANTS = 2000, 10

HEAD = f"""# The vendor's backward operators

The vendor documents {{documents}} backward operators; {{made}} of them are in the kit. Each number says how many were tried and
held, "3 of 4" where one did not. `python benchmarks/operators.py` writes this page; nothing here ran on Atlas hardware.

- *lines*: of page and declaration;
- *proved*: outputs that are the derivative of forward, for all sizes, under each combination of options;
- *verified*: checks of `aclnn-viz verify`: rounding against truth in each format, Taylor rates, kinks, the two phases on each product of
  the emulator and its status codes;
- *PyTorch*: random cases in float64 in which the gradients are those of PyTorch to 1e-10 of their terms ({CASES:,}; "-": it has no such function;
  where layer norm differs in one, a row has one element, its gradient of the weight is 0, and PyTorch's a rounding error of 1e-13);
- *caught*, *explained*: of {MUTANTS} drawn edits of the page, run as kernels in float32 and in float64, those that `check` refuses, and of
  those of them that give numbers the ones that it explains by that edit or an equal one; edits that change no number are left out;
- *passed*: cases of `check` in which the page's own kernel is right, as it must be;
- *explorer*: panels of the picture, each with its twin in words.

| operator | kit | lines | proved | verified | PyTorch | caught | explained | passed | explorer |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""
TAIL = """
## Not in the kit yet

`aclnn-viz new --doc FILE.md` makes a folder from each of these documents of the vendor's public repositories
([adding_an_operator.md](adding_an_operator.md) goes on from there):

| family | documents |
| --- | --- |
"""


def of_pytorch(op):
    from test_against_pytorch import CLOSE, apart, drawn

    from aclnn_viz.devices import UnsupportedError
    held = seen = number = 0
    with av.open_device("torch") as peer:
        while seen < CASES and (number := number + 1) < 5 * CASES:
            if (made := drawn(op, number)) is not None:
                try:
                    held += apart(op, peer, made.inputs) <= CLOSE
                    seen += 1
                except UnsupportedError:
                    pass
    return int(held), seen


def row(op):
    start = time.process_time()
    theorems = av.prove(op).theorems
    checks = [check() for check in numeric.checks([op])]
    mutants = score_mutants([op], each=MUTANTS)
    wrong = len(mutants.rows) - mutants.count(*EQUIVALENT)
    right = av.check(op, op.backward)
    subject = subject_of(op.name)
    panels = subject.show(subject.compute(subject.state())).panels
    return {"operator": op.aclnn_name, "kit": op.name,
            "lines": sum(len(Path(module.__file__).read_text("utf-8").splitlines()) for module in (op.page, registry.module("declaration", op.name))),
            "proved": (sum(t.holds for t in theorems), len(theorems)), "verified": (sum(c.passed for c in checks), len(checks)),
            "pytorch": of_pytorch(op) if registry.own("peer", op.name, "in_torch") else None,
            "caught": (wrong - mutants.count("missed"), wrong), "explained": (mutants.count(*EXPLAINED), mutants.count(*NUMBERS)),
            "passed": (right.cases - right.failed - right.refused, right.cases), "explorer": len(panels), "seconds": round(time.process_time() - start, 1)}


def text(count):
    return "-" if count is None else str(count) if isinstance(count, int) else str(count[1]) if count[0] == count[1] else f"{count[0]} of {count[1]}"


def report(rows):
    columns = "lines", "proved", "verified", "pytorch", "caught", "explained", "passed", "explorer"
    made = {row["operator"]: row for row in rows}
    out = [HEAD.format(documents=len(documented()), made=len(made))]
    listed = [made[each.aclnn_name] for each in documented() if each.aclnn_name in made]
    out += [line(row["operator"], row["kit"], *(text(row[c]) for c in columns)) for row in listed]
    out.append(TAIL)
    for family in dict.fromkeys(each.family for each in documented()):
        rest = [each.document for each in documented() if each.family == family and each.aclnn_name not in made]
        out += [line(family, ", ".join(rest))] if rest else []
    return "".join(out)


def main(names):
    with kept(ROWS) as (rows, add):
        for op in av.operators():
            if op.name not in {row["kit"] for row in rows} and (not names or op.name in names):
                add(row(op))
                print(rows[-1], flush=True)
    publish(REPORT, report(rows), {row["kit"] for row in rows} >= {op.name for op in av.operators()})


if __name__ == "__main__":
    main(sys.argv[1:])
