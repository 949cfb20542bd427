"""Five mistakes by hand in each of ten operators, against `check`: `python benchmarks/field_bugs.py`.

Kernels by hand are those of tests/checking/by_hand.py, run on float16, bfloat16 and float32. Writes benchmarks/reports/field_bugs.md.
"""

import sys
import time

from records import REPORTS, ROOT, git, line

sys.path.insert(0, str(ROOT / "tests"))

import aclnn_viz as av  # noqa: E402
from aclnn_viz.checking.evidence import KernelUnderTest, examine  # noqa: E402
from aclnn_viz.checking.scope import Scope  # noqa: E402
from checking.by_hand import SLIPS, right, wrong  # noqa: E402

FORMATS = ("float16", "bfloat16", "float32")
HEAD = """# Mistakes by hand

Ten operators, five mistakes each, after threads about backward kernels (tests/checking/by_hand.py). Written by `python benchmarks/field_bugs.py` at commit {commit}, seed 0, normal depth, on a
machine that others used as well.

- *caught*: by `check` on float16, bfloat16 and float32; *explained*: of those caught, by an explanation that gives the kernel's numbers on
  a suite with other numbers, too; both in each format;
- *right*: kernels that are right, by hand and with sums in two other orders, each on the three formats, and how many pass.

| operator | caught | explained | right: pass | seconds |
| --- | ---: | ---: | ---: | ---: |
"""


def explained(name, kernel, result):
    """Whether the explanation gives the kernel's numbers on other numbers."""
    if not result.explanation:
        return False
    others = [
        one
        for one in examine(
            KernelUnderTest(kernel, Scope.of(name)), Scope.of(name).cases(seed=11), 60.0
        ).seen
        if one.usable
    ]
    return all(result.explanation.holds(one) for one in others)


def row(name):
    start, missed, unknown = time.process_time(), [], []
    for _, slip, kernel in (one for one in wrong() if one[0] == name):
        result = av.check(name, kernel, dtypes=FORMATS)
        if result.passed:
            missed.append(slip)
        elif not explained(name, kernel, result):
            unknown.append(slip)
    passed = [
        av.check(name, kernel, dtypes=(dtype,)).passed
        for of, _, kernel in right()
        if of == name
        for dtype in FORMATS
    ]
    by_hand = 5 - len(missed)
    counts = (
        (by_hand, 5),
        (by_hand - len(unknown), by_hand),
        (sum(passed), len(passed)),
    )
    return counts, round(time.process_time() - start), missed, unknown


def main():
    text, notes, rows = HEAD.format(commit=git("rev-parse", "--short=7", "HEAD")), [], []
    for kernel in SLIPS:
        counts, seconds, missed, unknown = row(name := kernel.__name__)
        rows.append((*counts, (seconds,)))
        text += line(name, *(" of ".join(map(str, count)) for count in rows[-1]))
        print(name, rows[-1], missed, unknown, flush=True)
        notes += [
            f"- {name}: {what} {', '.join(slips)}\n"
            for what, slips in (("not caught:", missed), ("not explained:", unknown))
            if slips
        ]
    text += line(
        "all", *(" of ".join(str(sum(one)) for one in zip(*column)) for column in zip(*rows))
    )
    (REPORTS / "field_bugs.md").write_text(text + "\n" + "".join(notes), "utf-8")


if __name__ == "__main__":
    main()
