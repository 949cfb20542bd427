"""Try every operator through every part of the kit, and write docs/operators.md: `python benchmarks/operators.py [OPERATOR
...]`.

Each number counts attempts that held. Rows of named operators, and missing rows, are made anew; the page keeps the others.
Without names, cells go to build/operators.jsonl as they are made; a later run makes the missing ones (remove the file when
pages have changed). The page is written once complete. Needs PyTorch, JAX and numba, as `make .venv/.has-peers` installs
them.
"""

import contextlib
import re
import sys
from pathlib import Path

import numpy as np
from records import ROOT, kept, line

import aclnn_viz as av
from aclnn_viz.cases.suites import suite
from aclnn_viz.devices.peers import computed_by
from aclnn_viz.explorers import subject_of
from aclnn_viz.operators import registry
from aclnn_viz.operators.document import documented
from aclnn_viz.operators.peers import in_torch
from aclnn_viz.verification import conventions, errata, numeric, peers

ROWS, REPORT = ROOT / "build" / "operators.jsonl", ROOT / "docs" / "operators.md"
sys.path[:0] = [str(ROOT / "tests" / part) for part in ("", "verification", "tiles")]
CASES, SEEDS, SMALL = 2000, 4, 500

COLUMNS = (
    "lines proved verified PyTorch passed explorer engines tiles sweep conventions errata".split()
)
HEAD = f"""# The vendor's backward operators

The vendor documents {{documents}} backward operators; {{made}} of them are in the kit. Each number says how many were tried and
held, "3 of 4" where one did not. Nothing here ran on Atlas hardware.

- *lines*: of page and declaration;
- *proved*: outputs that are the derivative of forward, for all sizes and options;
- *verified*: checks of `aclnn-viz verify`;
- *PyTorch*: random cases in float64, of {CASES:,}, whose gradients are PyTorch's to 1e-10 of their terms. Layer norm differs where a row has one
  element. "-": PyTorch has no such function;
- *passed*: cases of `check` in which the page's own kernel is right;
- *explorer*: panels of the picture;
- *engines*: cases on which torch, jax and numba give the page's numbers within the bound, or their documented differences. XLA misses numbers
  below the least normal one;
- *tiles*: cases of up to {SMALL} elements that tile programs compute without a hazard and within the bound, in several orders, on 48, 7 and 1
  cores. "-": no program;
- *sweep*: cases of `aclnn-viz sweep` on the host that are right, {SEEDS} in each of three formats;
- *conventions*: kinks, ties, numbers that are not finite and empty tensors at which the kernel, and PyTorch, return what is recorded;
- *errata*: sentences of the vendor's documents that do not hold.

{line("operator", "kit", *COLUMNS)}{line("---", "---", *["---:"] * len(COLUMNS))}"""
TAIL = """
## Not in the kit yet

`aclnn-viz new` takes the C prototype of each document ([Adding an operator](adding_an_operator.md)):

| family | documents |
| --- | --- |
"""


def count(outcomes):
    """Return the number of outcomes that hold, and the total."""
    held = list(map(bool, outcomes))
    return sum(held), len(held)


def lines(op):
    return sum(
        len(Path(module.__file__).read_text("utf-8").splitlines())
        for module in (op.page, registry.module("declaration", op.name))
    )


def of_pytorch(op):
    from test_against_pytorch import CLOSE, apart, drawn

    from aclnn_viz.devices import UnsupportedError

    if not in_torch(op):
        return None
    seen, number = [], 0
    with av.open_device("torch") as peer:
        while len(seen) < CASES and (number := number + 1) < 5 * CASES:
            if (made := drawn(op, number)) is not None:
                with contextlib.suppress(UnsupportedError):
                    seen.append(apart(op, peer, made.inputs) <= CLOSE)
    return count(seen)


def passed(op):
    right = av.check(op, op.backward)
    return right.cases - right.failed - right.refused, right.cases


def panels(op):
    subject = subject_of(op.name)
    return len(subject.show(subject.compute(subject.state())).panels)


def engines(op):
    return count(
        failure is None
        for library in ("torch", "jax", "numba")
        if computed_by(library, op)
        for _, failure in peers.found(op, library)
    )


def tiles(op):
    from judged import SCHEDULES, judged

    held = []
    for program in av.tiles.programs(op):
        for number, (_, case) in enumerate(suite(op)):
            if case.dtype != "float64" and max(map(np.size, case.inputs.values())) <= SMALL:
                try:
                    held.append(
                        judged(
                            program,
                            case,
                            schedule=SCHEDULES[number % 4],
                            cores=(48, 7, 1)[number % 3],
                        )
                    )
                except AssertionError:
                    held.append(None)
                except NotImplementedError:
                    pass
    return count(held)


def swept(op):
    cases = [
        {"operator": op.name, "seed": seed, "dtype": dtype}
        for dtype in ("float32", "float16", "bfloat16")
        for seed in range(SEEDS)
    ]
    outcomes = av.sweep(cases, store=":memory:").outcomes
    return outcomes["right"], outcomes.total() - outcomes["left out"]


def of_conventions(op):
    return count(row.holds and ", but " not in row.pytorch for row in conventions.recompute([op]))


def of_errata(op):
    return count(
        found.evidence.holds
        for found in errata.recompute([one for one in errata.errata() if one.operator == op.name])
    )


PARTS = {
    "lines": lines,
    "proved": lambda op: count(t.holds for t in av.prove(op).theorems),
    "verified": lambda op: count(check().passed for check in numeric.checks([op])),
    "PyTorch": of_pytorch,
    "passed": passed,
    "explorer": panels,
    "engines": engines,
    "tiles": tiles,
    "sweep": swept,
    "conventions": of_conventions,
    "errata": of_errata,
}


def text(counted):
    """Return a cell's text: a number, or held "of" tried if they differ."""
    if counted in (None, (0, 0)):
        return "-"
    return " of ".join(
        map(str, dict.fromkeys(counted if isinstance(counted, tuple) else [counted]))
    )


def report(made):
    ops = {op.aclnn_name: op for op in av.operators()}
    listed = [ops[each.aclnn_name] for each in documented() if each.aclnn_name in ops]
    out = [HEAD.format(documents=len(documented()), made=len(listed))]
    out += [
        line(op.aclnn_name, op.name, *(made[op.name].get(column, "-") for column in COLUMNS))
        for op in listed
    ]
    rest = {}
    for each in documented():
        if each.aclnn_name not in ops:
            rest.setdefault(each.family, []).append(each.document)
    out += [TAIL, *(line(family, ", ".join(names)) for family, names in rest.items())]
    return "".join(out)


def committed():
    """Return the cells of each operator in the committed page."""
    rows = re.findall(r"^\| aclnn\w+ \| (\w+) \| (.*) \|$", REPORT.read_text("utf-8"), re.M)
    return {name: dict(zip(COLUMNS, cells.split(" | "))) for name, cells in rows}


def main(names):
    made = {op.name: {} for op in av.operators()}
    if names:
        made |= committed() | {name: {} for name in names}
    with kept(ROWS) as (rows, add):
        for row in [] if names else rows:
            made[row["kit"]] |= row
        for op in av.operators():
            for column, part in PARTS.items():
                if column not in made[op.name]:
                    add({"kit": op.name, column: text(part(op))})
                    made[op.name] |= rows[-1]
                    print(rows[-1], flush=True)
    REPORT.write_text(report(made), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
