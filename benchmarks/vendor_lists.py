"""Run the vendor's own lists of test cases on the host device, and write the counts into docs/verifying.md:

python benchmarks/vendor_lists.py ops-nn=CLONE ops-cv=CLONE ops-math=CLONE

Each clone is a git directory of the public repository. A list names shapes, formats and ranges; values are drawn from them. An output
passes by the rule that the case names, and by the bound of `check`: what float32 arithmetic may add, whatever its order. Nothing of
the lists is kept but counts. Needs PyTorch, the baseline of lists with two benchmarks.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from math import prod
from pathlib import Path

import numpy as np

import aclnn_viz as av
from aclnn_viz.acl.program import AclError
from aclnn_viz.cases.lists import CaseList, drawn, entries
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.judge import judge, prepared
from aclnn_viz.devices import UnsupportedError
from aclnn_viz.dtypes import round_to
from aclnn_viz.errors import NotSupported

REPORT = Path(__file__).resolve().parents[1] / "docs" / "verifying.md"
LARGEST = 2**16  # elements of all tensors of a case
RULES = {"single_bm": "single benchmark", "double_benchmark": "dual benchmark L1", "default": "mixed tolerance"}
PATH = re.compile(r"tests/st/(aclnn\w+)/(?:atk|all)_\w+\.json$")
HEAD = f"""
## The vendor's own test lists

Lists of system tests in the vendor's public repositories, run on the host device (its emulation of Atlas A2; nothing ran on Atlas
hardware): cases of up to {LARGEST:,} elements, values drawn from the ranges that a list gives. *passed*: all outputs pass the rule that
the case names (single benchmark; dual benchmark L1 against PyTorch; for "default" mixed tolerance; for md5 the nearest number of
the format); *bounded*: all lie within the bound that `check` sets, which is no wider
than what float32 arithmetic may add. Where a rule refuses the nearest numbers of the format, no kernel can pass it: small 16-bit results. `python benchmarks/vendor_lists.py` writes this section.

| operator | list | commit | rule | run | passed | bounded | notes: left out, and failed |
| --- | --- | --- | --- | ---: | ---: | ---: | --- |
"""


def git(clone, *arguments):
    return subprocess.run(["git", "-C", clone, *arguments], capture_output=True, check=True).stdout


def rule_of(entry):
    rule = entry.get("standard", {}).get("acc", "default")
    return next(iter(rule)) if isinstance(rule, dict) else rule


def holds(rule, actual, truth, baseline):
    """Whether an output passes; None where a rule with two benchmarks has no baseline."""
    if rule == "md5":
        return bool(((actual == round_to(truth, actual.dtype)) | (actual != actual) & np.isnan(truth)).all())
    standard = RULES.get(rule, RULES["double_benchmark"])
    if actual.size == 0:
        return True
    outcome = av.compare(actual, truth, baseline=baseline).verdicts[standard].outcome
    return None if outcome not in ("pass", "fail") else outcome == "pass"


def tried(device, peer, made, rule):
    """Whether a case passes its rule, lies within the bound, and has the nearest numbers of its format."""
    outputs, truth, baselines = device.run(made.operator, **made.inputs), made.operator.truth(**made.inputs), {}
    if "double" in rule:
        try:
            baselines = peer.run(made.operator, **made.inputs)
        except (UnsupportedError, NotSupported):
            pass
    found = [holds(rule, value, truth[name], baselines.get(name)) for name, value in outputs.items()]
    bounded = not judge(prepared(Recipe(made.operator.name, {}), made), outputs)
    nearest = all(holds("md5", value, truth[name], None) for name, value in outputs.items())
    return None if None in found else all(found), bounded, nearest


def run(path, text, commit, device, peer):
    found, left, counts, rules = CaseList(), Counter(), Counter(), Counter()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "list.json"
        file.write_bytes(text)
        try:
            listed = list(entries(file, None, found))
        except ValueError as error:
            return Counter(), Counter({f"the list: {str(error)[:80]}": 1}), rules, None
    op = None
    for number, op, one in listed:
        rule = rule_of(json.loads(text)[number]) if not rules else rules.most_common(1)[0][0]
        rules[rule] += 1
        if sum(prod(part.shape) for part in one.tensors if part.shape) > LARGEST:
            left["larger"] += 1
            continue
        try:
            passed, bounded, nearest = tried(device, peer, drawn(op, one, 0, number, found.notes), rule)
        except (ValueError, TypeError, OverflowError) as error:
            left["what the operator does not take" if "judged" not in str(error) else str(error)[:60]] += 1
        except AclError:
            left["refused on Atlas A2"] += 1
        else:
            counts["run"] += 1
            counts["passed"] += passed is True
            counts["unjudged"] += passed is None
            counts["bounded"] += bounded
            counts["nearest"] += passed is False and nearest
    left += Counter({"run, but the rule does not apply": counts["unjudged"], "fail with the nearest numbers of the format": counts["nearest"]})
    left.update({"unknown operator": sum(found.left_out.values())} if found.left_out else {})
    return counts, left, rules, op


def main(arguments):
    rows = []
    with av.open_device("host") as device, av.open_device("torch") as peer:
        known = {op.aclnn_name for op in av.operators()}
        for repository, clone in (argument.split("=", 1) for argument in arguments):
            commit = git(clone, "rev-parse", "--short=7", "HEAD").decode().strip()
            for path in git(clone, "ls-tree", "-r", "--name-only", "HEAD").decode().splitlines():
                place = PATH.search(path)
                if place and place[1] in known:
                    counts, left, rules, op = run(path, git(clone, "show", f"HEAD:{path}"), commit, device, peer)
                    why = ", ".join(f"{count} {what}" for what, count in left.most_common())
                    rows.append((place[1], f"{repository} {path.rpartition('/')[0]}", commit, next(iter(rules), ""), counts["run"], counts["passed"],
                                 counts["bounded"], why))
                    print(rows[-1], flush=True)
    text = REPORT.read_text("utf-8").partition("\n## The vendor's own test lists")[0]
    lines = "".join("| " + " | ".join(map(str, row)) + " |\n" for row in sorted(rows))
    total = [sum(row[k] for row in rows) for k in (4, 5, 6)]
    lines += f"\n{len({row[0] for row in rows if row[4]})} operators: {total[0]:,} cases run, {total[1]:,} passed, {total[2]:,} bounded.\n"
    REPORT.write_text(text + HEAD + lines, "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
