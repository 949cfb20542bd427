"""Measure `check` on kernels that no rule was written for: `python benchmarks/unseen.py`.

By hand: kernels written after public threads (`tests/checking/wrong`, with a table of slips and threads), each a file of its own in
which neither the right line nor a word of its slip stands.

An explanation counts as right if it gives the kernel's numbers (one of the reader's own line: if the changed kernel is right) on
FRESH cases that the check did not see, half of them with the options of the suite mixed. Each kernel is checked twice: with its source, and
as numbers alone. Rows go to build/unseen.jsonl, the report to benchmarks/reports/unseen.md.
"""

import re
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
from checking.wrong import kernel as by_hand  # noqa: E402
from checking.wrong import wrong  # noqa: E402

from aclnn_viz.checking import check  # noqa: E402
from aclnn_viz.checking.candidates import slots  # noqa: E402
from aclnn_viz.checking.case_run import CaseRun  # noqa: E402
from aclnn_viz.checking.judge import judge  # noqa: E402
from aclnn_viz.checking.kernel_call import run  # noqa: E402
from aclnn_viz.checking.scope import Scope  # noqa: E402
from aclnn_viz.checking.wrong_outputs import convention  # noqa: E402
from aclnn_viz.operators.faults.edits import anywhere, edits  # noqa: E402

FRESH, ROWS = 50, ROOT / "build" / "unseen.jsonl"
NAMES = {False: "with source", True: "numbers alone"}
READ = """Each answer was read beside its slip. With source 62 answers name the slip or give the same formula: two in a roundabout way
(cross_entropy_loss 01, silu 03), one tells exchanged halves as places (ge_glu 01). None is wrong; the mend of tanh 01 is the right
formula multiplied out. By numbers alone 51 do: one by what follows of it (layer_norm 01), three tell exchanged halves as places
(ge_glu 01, glu 01, swi_glu 01). Wrong by numbers alone is smooth_l1_loss 01: it takes beta for 1, as the kernel does, but for 0 where it is 0. Of the laws counted as false, that of softmax 04
is: other negative dims are wrong, too. Beside the others all is right, as they say, and within them some cases are right by chance.

A report before this one counted 50 of 50 mistakes by hand as explained, but their sources held the right branch behind a condition. The
same 50, written out without it, are all caught, 47 explained with source and 38 by numbers alone, none wrongly. Of the 47 answers 13 undo a
line that follows the right one (`x = x * s` becomes `x = x`); no kernel of this table has such a line."""


@lru_cache(maxsize=1)
def fresh(name: str) -> tuple:
    """Return prepared cases that a check with seed 0 does not use."""
    scope, found = Scope.of(name), []
    for cases in scope.unseen(100, 4 * FRESH):
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
            ):  # the operator refuses the case
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
        outputs = run(kernel, one.case, None).outputs
        if outputs is not None:
            found.append(CaseRun(one, outputs, tuple(judge(one, outputs))))
    return found


def measured(operator: str, tested, opaque: bool) -> dict:
    """Return the findings of `check` on a wrong kernel, with its source or without."""
    kernel = (lambda **inputs: tested(**inputs)) if opaque else tested
    for remembered in (
        edits,
        anywhere,
        slots,
    ):  # measured in a fresh process, as for a user who checks a kernel
        remembered.cache_clear()
    start = time.process_time()
    result = check(operator, kernel)
    seconds = time.process_time() - start
    row = {
        "opaque": opaque,
        "seconds": round(seconds, 3),
        "text": "",
        "laws": [],
        "false": [],
    }
    if result.passed:
        return row | {"outcome": "missed"}
    if not result.failed:
        return row | {"outcome": "raises"}
    explanation = result.explanation
    others = ran(tested, operator)
    laws = [law for law in (explanation and explanation.law, result.diagnosis.law) if law]
    row["laws"] = [law.text for law in laws]
    row["false"] = [
        law.text
        for law in laws
        if any(law.holds(one.case) not in (None, bool(one.misses)) for one in others)
    ]
    if not explanation:
        return row | {"outcome": "unexplained", "text": str(result.diagnosis)}
    others = [one for one in others if not (one.misses and convention(one))]
    wrongly = [
        str(one.prepared.recipe)
        for one in others
        if explanation.yours
        and not explanation.yours.right(one)
        or (explanation.mends or explanation.kind == "form" or one.usable)
        and not explanation.holds(one)
    ]
    return row | {
        "outcome": "wrongly" if wrongly else "explained",
        "text": str(explanation),
        "wrongly": wrongly[:3],
    }


def main() -> int:
    with kept(ROWS) as (rows, add), np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = {(row["slip"], row["opaque"]) for row in rows}
        for (name, number, slip), opaque in product(wrong(), NAMES):
            known = f"{name} {number}: {slip}"
            if (known, opaque) not in done:
                add({"slip": known} | measured(name, by_hand(name, number), opaque))
    publish(REPORTS / "unseen.md", report(rows), True)
    return 0


def summary(label: str, rows: list[dict]) -> str:
    tally = Counter(row["outcome"] for row in rows)
    seconds = [row["seconds"] for row in rows]
    return line(
        label,
        len(rows),
        len(rows) - tally["missed"],
        tally["explained"],
        tally["wrongly"],
        sum(len(row["laws"]) for row in rows),
        sum(len(row["false"]) for row in rows),
        f"{statistics.median(seconds):.2f} s",
        f"{max(seconds):.1f} s",
    )


HEAD = """
| kernels | wrong | caught | rightly explained | wrongly | laws printed | false | median | slowest |
| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def report(rows: list[dict]) -> str:
    hand = [row for row in rows if row["outcome"] != "raises"]
    text = f"# Kernels that no rule was written for\n\n{__doc__.partition(chr(10) * 2)[2]}{HEAD}"
    for opaque in NAMES:
        text += summary(NAMES[opaque], [row for row in hand if row["opaque"] == opaque])
    text += f"\n{READ}\n\n| kernel and slip | with source | numbers alone |\n| --- | --- | --- |\n"
    for slip in dict.fromkeys(row["slip"] for row in hand):
        answers = [
            row
            for opaque in NAMES
            for row in hand
            if row["slip"] == slip and row["opaque"] == opaque
        ]
        text += line(slip, *(answer(row) for row in answers))
    return text


def answer(row: dict) -> str:
    """Return the head of an explanation on one line, or the outcome without one."""
    if row["outcome"] not in ("explained", "wrongly"):
        return row["outcome"]
    head = re.split(
        r"\n  (?:this change gives|with it your|these edits|each of these)", row["text"]
    )[0]
    return "WRONG: " * (row["outcome"] == "wrongly") + " ".join(head.replace("|", "\\|").split())


if __name__ == "__main__":
    sys.exit(main())
