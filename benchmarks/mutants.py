"""Score the search on mechanical mutants of every page: `python benchmarks/mutants.py [MINUTES]`, on one core.

Rows go to build/mutants.jsonl as they are made, of all operators in one order drawn by a seed, so that those of a run that is
stopped are a fair sample; a run that is begun again goes on there (remove the file when pages or the search have changed). The
report, benchmarks/reports/mutants.md, says how many of all mutants it counts; one that counts fewer than it does is only shown.
"""

import random
import re
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from records import REPORTS, ROOT, git, kept, publish

from aclnn_viz import operators
from aclnn_viz.checking.score import COMPUTED, MutantScore, MutantTable, drawn, score_mutant

ROWS, REPORT = ROOT / "build" / "mutants.jsonl", REPORTS / "mutants.md"
SEED, ORDER = 0, 12345

HEAD = """# Mutants of the pages

Every mutant is one mechanical edit of an operator's page ({kinds}), run as a kernel in float32 (coordinates
too) or in float64, through the suite of `check`, and then through its search. They come from the generator
(`aclnn_viz/operators/faults/edits.py`) whose edits the search tries, so the table does not show that the search knows an
edit, but that it finds it among all others from numbers alone, and takes none for another. Wrong kernels that are no
edits of a page are in `tests/checking/engineers`.

`aclnn-viz check --self` runs a sample of this table, `python benchmarks/mutants.py` all of it, in one order drawn by a seed:
those that were run are a fair sample of all. Here: {done}.
Written {day}, at commit {commit}, Python {python}.

- *fail*: caught by an error that the mutant raises; it gives no wrong number to be explained. *By numbers*: all others
  that the suite catches; *explained* is their share, *so* by the very edit, *as equal* by another that gives the same
  numbers, up to the rounding of float64, on the whole suite in float64 with other numbers; *wrongly*: one that does not.
- *median*: seconds of one core from the wrong numbers to the explanation, nothing being prepared but the cases; they
  grow by half and more where other processes share the core.
- Not caught are *same bits*: as the right page on the suite in float64 twice and on 60 cases of a deep check; *never
  called*: no case calls the edited function; *within rounding*: other bits, but right on all of these; *missed*: right on
  the suite, wrong on the suite with other numbers or on a case of the deep check.

"""


def run(path: Path, minutes: float) -> list[MutantScore]:
    """Go on with those that are not known, until the minutes of a core are over."""
    end = time.process_time() + 60 * minutes
    every = [
        (op, edit, computed)
        for op in operators()
        for edit in drawn(op, SEED)
        for computed in COMPUTED
    ]
    random.Random(ORDER).shuffle(every)
    with kept(path, MutantScore) as (rows, add):
        done = {(one.operator, one.mutant, one.computed) for one in rows}
        for op, edit, computed in every:
            if (op.name, str(edit), computed) in done:
                continue
            if time.process_time() >= end:
                break
            add(score_mutant(op, edit, computed, SEED))
    return rows


def report(rows: list[MutantScore]) -> str:
    totals = {op.name: len(drawn(op, SEED)) for op in operators()}
    table, every = MutantTable(tuple(rows), totals), len(COMPUTED) * sum(totals.values())
    return (
        HEAD.format(
            kinds=", ".join(sorted({one.kind for one in rows})),
            commit=git("describe", "--always", "--abbrev=12"),
            done=f"{len(rows):,} of {every:,}" if len(rows) < every else f"all {every:,}",
            day=f"{datetime.now(UTC):%Y-%m-%d}",
            python=sys.version.split()[0],
        )
        + f"{table}\n"
    )


def main(minutes: str = "inf") -> int:
    rows = run(ROWS, float(minutes))
    before = re.search(r"Here: (?:all )?([\d,]+)", REPORT.read_text("utf-8"))
    publish(REPORT, report(rows), len(rows) >= int(before[1].replace(",", "")))
    print(f"{REPORT.name}: {len(rows)} rows")
    return 0 if MutantTable(tuple(rows), {}).passed else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
