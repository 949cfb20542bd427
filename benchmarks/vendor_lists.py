"""Run the vendor's own lists of test cases on the host device, and write the counts into docs/verifying.md:

python benchmarks/vendor_lists.py ops-nn=CLONE ops-cv=CLONE ops-math=CLONE

Each clone is a git directory of the public repository. A list names shapes, formats and ranges; values are drawn from them. An output
passes by the rule that the case names, and by the bound of `check`: what float32 arithmetic may add, whatever its order. Nothing of
the lists is kept but counts. Needs PyTorch, the baseline of lists with two benchmarks.
"""

import json
import re
import sys
from collections import Counter
from math import prod

import numpy as np
from records import ROOT, git, line

import aclnn_viz as av
from aclnn_viz.acl.program import AclError
from aclnn_viz.cases.lists import CaseList, drawn, entries
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.judge import judge, prepared
from aclnn_viz.devices import UnsupportedError
from aclnn_viz.dtypes import round_to
from aclnn_viz.errors import NotSupported

REPORT, LIST = ROOT / "docs" / "verifying.md", ROOT / "build" / "list.json"
LARGEST = 2**16  # elements of all tensors of a case
RULES = {
    "single_bm": "single benchmark",
    "double_benchmark": "dual benchmark L1",
    "default": "mixed tolerance",
}
PATH = re.compile(r"tests/st/(aclnn\w+)/(?:atk|all)_\w+\.json$")
HEAD = f"""
## The vendor's own test lists

Lists of system tests in the vendor's public repositories, run on the host device (its emulation of Atlas A2; nothing ran on Atlas
hardware): cases of up to {LARGEST:,} elements, values drawn from the ranges that a list gives. *passed*: all outputs pass the rule that
the case names (single benchmark; dual benchmark L1 against PyTorch; for "default" mixed tolerance); *bounded*: all lie within the bound
that `check` sets, of what float32 arithmetic may add. A rule that refuses the nearest numbers of the format refuses every kernel: that
happens to 16-bit results next to 0, of which rounding takes a large part. `python benchmarks/vendor_lists.py` writes this section.

| operator | list | commit | rule | run | passed | bounded | notes: left out, and failed |
| --- | --- | --- | --- | ---: | ---: | ---: | --- |
"""


def rule_of(entry):
    rule = entry.get("standard", {}).get("acc", "default")
    return next(iter(rule)) if isinstance(rule, dict) else rule


def tried(device, peer, made, rule):
    """Of the outputs of a case: whether all pass the rule (None where it does not apply), are bounded, and are the nearest numbers."""
    outputs, truth, baselines = (
        device.run(made.operator, **made.inputs),
        made.operator.truth(**made.inputs),
        {},
    )
    if "double" in rule:
        try:
            baselines = peer.run(made.operator, **made.inputs)
        except (UnsupportedError, NotSupported):
            pass
    standard = RULES.get(rule, RULES["double_benchmark"])
    found = {
        av.compare(value, truth[name], baseline=baselines.get(name)).verdicts[standard].outcome
        for name, value in outputs.items()
        if value.size
    }
    nearest = all(
        np.array_equal(value, round_to(truth[name], value.dtype)) for name, value in outputs.items()
    )
    return (
        None if found - {"pass", "fail"} else "fail" not in found,
        not judge(prepared(Recipe("", {}), made), outputs),
        nearest,
    )


def run(text, device, peer):
    cases, notes, rules = json.loads(text), Counter(), set()
    run = passing = inside = 0
    LIST.write_text(text, "utf-8")
    try:
        listed = list(entries(LIST, None, CaseList()))
    except ValueError as error:
        return "", 0, 0, 0, f"the list: {str(error)[:80]}"
    for number, op, one in listed:
        rules.add(rule := rule_of(cases[number]))
        if sum(prod(part.shape) for part in one.tensors if part.shape) > LARGEST:
            notes["larger"] += 1
            continue
        try:
            passed, bounded, nearest = tried(device, peer, drawn(op, one, 0, number, []), rule)
        except (ValueError, TypeError, OverflowError, AclError):
            notes["what the operator does not take"] += 1
            continue
        run, passing, inside = run + 1, passing + bool(passed), inside + bounded
        if not passed:
            notes[
                "run, but the rule does not apply"
                if passed is None
                else "fail with the nearest numbers of the format"
                if nearest
                else "fail"
            ] += 1
    return (
        ", ".join(rules),
        run,
        passing,
        inside,
        ", ".join(f"{count} {what}" for what, count in notes.most_common()),
    )


def main(arguments):
    rows = []
    with av.open_device("host") as device, av.open_device("torch") as peer:
        known = {op.aclnn_name for op in av.operators()}
        for repository, clone in (argument.split("=", 1) for argument in arguments):
            commit = git("rev-parse", "--short=7", "HEAD", folder=clone)
            for path in git("ls-tree", "-r", "--name-only", "HEAD", folder=clone).splitlines():
                place = PATH.search(path)
                if place and place[1] in known:
                    rows.append(
                        (
                            place[1],
                            f"{repository} {path.rpartition('/')[0]}",
                            commit,
                            *run(git("show", f"HEAD:{path}", folder=clone), device, peer),
                        )
                    )
                    print(rows[-1], flush=True)
    text = REPORT.read_text("utf-8").partition("\n## The vendor's own test lists")[0]
    lines = "".join(line(*row) for row in sorted(rows))
    every, passed, bounded = (sum(row[k] for row in rows) for k in (4, 5, 6))
    lines += f"\n{len({row[0] for row in rows if row[4]})} operators: {every:,} cases run, {passed:,} passed, {bounded:,} bounded.\n"
    REPORT.write_text(text + HEAD + lines, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
