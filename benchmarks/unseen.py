"""Measure `check` on kernels that no rule was written for: `python benchmarks/unseen.py [COUNT [ONLY]]` with torch and jax at hand.

Wrong kernels are slips in the source of right kernels of other arrangements (`tests/checking/arrangements`), drawn by a seed. An
explanation counts as right if it gives the kernel's numbers (one of the reader's own line: if the mended kernel is right) on
FRESH cases that the check did not see, half of them with the options of the suite mixed. Each is checked twice: with its source, and as numbers alone. Rows go to
build/unseen.jsonl, the report to benchmarks/reports/unseen.md; that of a run with another COUNT or with ONLY is only shown.
"""

import statistics
import sys
import time
import warnings
from collections import Counter
from functools import lru_cache
from itertools import islice, product

from records import REPORTS, ROOT, kept, line, publish

sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import numpy as np  # noqa: E402
from checking.arrangements.slips import LIBRARIES, kernels, slips  # noqa: E402

from aclnn_viz.checking import check  # noqa: E402
from aclnn_viz.checking.candidates import slots  # noqa: E402
from aclnn_viz.checking.case_run import CaseRun  # noqa: E402
from aclnn_viz.checking.judge import judge, suite_recipes  # noqa: E402
from aclnn_viz.checking.kernel_call import run  # noqa: E402
from aclnn_viz.checking.scope import Ready, Scope  # noqa: E402
from aclnn_viz.checking.wrong_outputs import convention  # noqa: E402
from aclnn_viz.operators.faults.edits import edits, rarer  # noqa: E402
from aclnn_viz.operators.faults.written_out import written_out  # noqa: E402

SEED, FRESH, ROWS = 11, 50, ROOT / "build" / "unseen.jsonl"
BEFORE = "Commit 6667d31, before kernels were mended: of 168 kernels of seed 7 57 % explained rightly, 1 wrongly, 71 not at all.\n"


@lru_cache(maxsize=1)
def fresh(name: str) -> tuple:
    """Prepared cases that a check with seed 0 does not see."""
    scope, found = Scope.of(name), []
    for cases in (
        (
            Ready(scope, recipe, None, 101_000 + number)
            for number, recipe in enumerate(suite_recipes(name))
        ),
        scope.mixed(102),
    ):
        kept = 0
        for ready in islice(cases, 4 * FRESH):
            try:
                if scope.reason(ready.case) or any(
                    np.size(value) > 20_000 for value in ready.case.inputs.values()
                ):
                    continue
                one = ready.prepare()
            except (
                ValueError,
                TypeError,
                ZeroDivisionError,
                IndexError,
            ):  # the operator does not take the case
                continue
            if all(part.truth.size for part in one.expected.values()):
                found.append(one)
                kept += 1
            if kept == FRESH // 2:
                break
    return tuple(found)


def ran(kernel, name: str) -> list[CaseRun]:
    found = []
    for one in fresh(name):
        outputs = run(kernel, one.case, list(one.expected), None).outputs
        if outputs is not None:
            found.append(CaseRun(one, outputs, tuple(judge(one, outputs))))
    return found


def measured(slip, opaque: bool) -> dict:
    """What `check` makes of a wrong kernel."""
    kernel = (lambda **inputs: slip.kernel(**inputs)) if opaque else slip.kernel
    for remembered in (
        edits,
        rarer,
        slots,
        written_out,
    ):  # as in the process of whoever checks a kernel
        remembered.cache_clear()
    start = time.process_time()
    result = check(slip.operator, kernel)
    seconds = time.process_time() - start
    row = {
        "library": slip.library,
        "operator": slip.operator,
        "computed": slip.computed,
        "kinds": slip.kinds,
        "slip": str(slip),
        "opaque": opaque,
        "seconds": round(seconds, 3),
        "outcome": "passed",
        "text": "",
        "laws": [],
        "false": [],
    }
    if result.passed:
        wrong = any(one.misses for one in ran(slip.kernel, slip.operator))
        return row | {"outcome": "missed" if wrong else "right"}
    if not result.failed:
        return row | {"outcome": "raises"}
    explanation = result.explanation
    others = ran(slip.kernel, slip.operator)
    laws = [law for law in (explanation and explanation.law, result.diagnosis.law) if law]
    row["laws"] = [law.text for law in laws]
    row["false"] = [
        law.text
        for law in laws
        if any(law.holds(one.prepared.case) not in (None, bool(one.misses)) for one in others)
    ]
    if not explanation:
        return row | {"outcome": "unexplained", "text": str(result.diagnosis)}
    others = [one for one in others if not (one.misses and convention(one))]
    wrongly = [
        str(one.prepared.recipe)
        for one in others
        if explanation.yours
        and not explanation.yours.right(one)
        or not (
            explanation.holds(one)
            if explanation.mends or explanation.kind == "form" or one.usable
            else True
        )
    ]
    return row | {
        "outcome": "wrongly" if wrongly else "explained",
        "text": str(explanation),
        "wrongly": wrongly[:3],
    }


def wanted(count: int) -> list[tuple[str, str, str, int]]:
    """(library, operator, computed, how many), shared out evenly; kernels whose search takes long get half."""
    pairs = [(library, name) for library in LIBRARIES for name in kernels(library)]
    return [
        (library, name, computed, -(-count // (2 * len(pairs))))
        for library, name in pairs
        for computed in ("float32", "float64")
    ]


def draw(library: str, name: str, computed: str, count: int):
    """The first slips whose kernels return numbers that are wrong, tried on a few cases."""

    def wrong(slip) -> bool:
        seen = [
            run(slip.kernel, one.case, list(one.expected), None).outputs for one in fresh(name)[:12]
        ]
        judged = [
            judge(one, outputs) for one, outputs in zip(fresh(name), seen) if outputs is not None
        ]
        return len(judged) > 6 and any(judged)

    known = set()
    some = (
        slip
        for slip in islice(slips(library, name, computed, SEED), 400)
        if str(slip) not in known and not known.add(str(slip))
    )
    return list(islice(filter(wrong, some), count))


def main(count: str = "160", only: str = "") -> int:
    with kept(ROWS) as (rows, add), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = {(row["slip"], row["opaque"]) for row in rows}
        for library, name, computed, each in wanted(int(count)):
            if only not in f"{library} {name} {computed}":
                continue
            for slip in draw(library, name, computed, each):
                for opaque in (False, True):
                    if (str(slip), opaque) not in done:
                        add(measured(slip, opaque))
    publish(REPORTS / "unseen.md", report(rows), (count, only) == ("160", ""))
    return 0


def report(rows: list[dict]) -> str:
    head = (
        "# Kernels that no rule was written for\n\n" + __doc__.partition("\n\n")[2] + "\n"
        "| kernels | wrong | caught | explained | rightly | wrongly | laws printed | false | median | slowest |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    )
    some = [row for row in rows if row["outcome"] not in ("right", "raises")]
    for opaque, label in product(
        (False, True), (*LIBRARIES, "in float32", "in float64", "two slips", "all")
    ):
        part = [
            row
            for row in some
            if row["opaque"] == opaque
            and label
            in (
                row["library"],
                f"in {row['computed']}",
                "two slips" if len(row["kinds"]) > 1 else "",
                "all",
            )
        ]
        if part:
            tally = Counter(row["outcome"] for row in part)
            caught = [row for row in part if row["outcome"] != "missed"]
            seconds = [row["seconds"] for row in part]
            head += line(
                f"{'numbers alone' if opaque else 'with source'}, {label}",
                len(part),
                len(caught),
                f"{100 * (tally['explained'] + tally['wrongly']) / len(part):.0f} %",
                f"{100 * tally['explained'] / len(part):.0f} %",
                tally["wrongly"],
                sum(len(row["laws"]) for row in part),
                sum(len(row["false"]) for row in part),
                f"{statistics.median(seconds):.2f} s",
                f"{max(seconds):.1f} s",
            )
    lines = [
        f"- {row['outcome']} ({'numbers alone' if row['opaque'] else 'with source'}): `{row['slip']}`"
        for row in some
        if row["outcome"] != "explained"
    ]
    return (
        head
        + f"\n{BEFORE}\nSeed {SEED}; seconds of one core, on a machine with other work.\n\n"
        + "\n".join(lines)
        + "\n"
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
