"""Ten mistakes in each of ten operators, five by hand and five drawn edits, against `check`: `python benchmarks/field_bugs.py`.

Kernels by hand are those of tests/checking/by_hand.py, run on float16, bfloat16 and float32. Writes benchmarks/field_bugs.md.
"""

import sys
import time
from pathlib import Path

from records import ROOT, git, line

sys.path.insert(0, str(ROOT / "tests"))

import aclnn_viz as av  # noqa: E402
from aclnn_viz.checking.evidence import examine  # noqa: E402
from aclnn_viz.checking.scope import Scope  # noqa: E402
from aclnn_viz.checking.score import EQUIVALENT, EXPLAINED, NUMBERS, score_mutants  # noqa: E402
from checking.by_hand import SLIPS, right, wrong  # noqa: E402

FORMATS, EDITS = ("float16", "bfloat16", "float32"), 5
HEAD = """# Mistakes by hand and by edit

Ten operators, ten mistakes each: five by hand, after threads about backward kernels (tests/checking/by_hand.py), and five drawn edits of
the page. Written by `python benchmarks/field_bugs.py` at commit {commit}, seed 0, normal depth, on a machine that others used as well.

- *caught*: by `check` on float16, bfloat16 and float32; *explained*: of those caught, by an explanation that gives the kernel's numbers on
  a suite with other numbers, too; edits that change no number are left out, those that fail are not explained;
- *right*: kernels that are right, by hand and with sums in two other orders, each on the three formats, and how many pass.

| operator | by hand: caught | explained | edits: caught | explained | right: pass | seconds |
| --- | ---: | ---: | ---: | ---: | ---: | ---: |
"""


def explained(name, kernel, result):
    """Whether the explanation gives the kernel's numbers on other numbers."""
    if not result.explanation:
        return False
    others = [one for one in examine(kernel, Scope.of(name).cases(seed=11), 60.0).seen if one.usable]
    return all(result.explanation.holds(one) for one in others)


def row(name):
    start, missed, unknown = time.process_time(), [], []
    for _, slip, kernel in (one for one in wrong() if one[0] == name):
        result = av.check(name, kernel, dtypes=FORMATS)
        if result.passed:
            missed.append(slip)
        elif not explained(name, kernel, result):
            unknown.append(slip)
    edits = score_mutants([name], each=EDITS)
    edited = len(edits.rows) - edits.count(*EQUIVALENT)
    passed = [av.check(name, kernel, dtypes=(dtype,)).passed for of, _, kernel in right() if of == name for dtype in FORMATS]
    by_hand = 5 - len(missed)
    return (name, f"{by_hand} of 5", f"{by_hand - len(unknown)} of {by_hand}", f"{edited - edits.count('missed')} of {edited}",
            f"{edits.count(*EXPLAINED)} of {edits.count(*NUMBERS)}", f"{sum(passed)} of {len(passed)}",
            f"{time.process_time() - start:.0f}"), missed, unknown


def main():
    text, notes = HEAD.format(commit=git("rev-parse", "--short=7", "HEAD")), []
    for kernel in SLIPS:
        cells, missed, unknown = row(kernel.__name__)
        print(cells, missed, unknown, flush=True)
        text += line(*cells)
        notes += [f"- {cells[0]}: {what} {', '.join(slips)}\n" for what, slips in (("not caught:", missed), ("not explained:", unknown)) if slips]
    Path(__file__).with_suffix(".md").write_text(text + "\n" + "".join(notes), "utf-8")


if __name__ == "__main__":
    main()
