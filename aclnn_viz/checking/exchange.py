"""Checking without Python: cases written as files, outputs of any program read back and judged."""

from pathlib import Path

from aclnn_viz.arrays.plan import Plan
from aclnn_viz.cases import files, lists
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.examining import Evidence, conclude
from aclnn_viz.checking.judging import Prepared, judge, prepared
from aclnn_viz.checking.observing import Seen
from aclnn_viz.checking.result import CheckResult, dumped
from aclnn_viz.checking.scope import Scope, nothing_left
from aclnn_viz.errors import flag, problem
from aclnn_viz.operators import Operator, operator
from aclnn_viz.words.speech import message


def write_suite(op, folder, seed: int = 0, force: bool = False, **asked) -> Path:
    """Write the inputs of an operator's suite into a new or empty folder, and return it.

    Raises FileExistsError where something is; with `force` a folder of cases is replaced, the outputs in it, too.
    `asked` are the options of `check` that say what counts.

    >>> import tempfile
    >>> sorted(path.name for path in (write_suite("hardswish", tempfile.mkdtemp()) / "000").iterdir())
    ['in', 'out']
    """
    op = operator(op)
    cases = Scope.of(op, **asked).cases(seed)
    return files.write_cases(folder, op, (dumped(one.prepare(), {}) for one in cases), seed, force)


def write_list(op, path, seed: int = 0, force: bool = False, **asked) -> list[str]:
    """Write an operator's suite as a test list, a .json file as ATK has it or a .csv file as TTK has it; return in words
    what these forms cannot express.

    `asked` are the options of `check` that say what counts. Raises FileExistsError where something is, unless `force`.
    """
    op = operator(op)
    return lists.write(path, [one.case for one in Scope.of(op, **asked).cases(seed)], seed, force)


def read_and_check(op, folder, *, allow_unsupported: bool = False, **asked) -> CheckResult:
    """Judge and diagnose the outputs that some program left in a folder of cases, or those that a capsule holds.

    `op` None: whichever operator these are of. A missing output is a fault of the kernel; cases without any output were
    not run and are not judged, or are those that it does not support, if that is allowed. Of what lies there, that
    counts for which `asked`, the options of `check`, ask. Raises ValueError for what holds no cases, or those of other
    operators, and where no output is found.
    """
    flag("allow_unsupported", allow_unsupported)
    found, seed, cases = files.read_cases(folder, op if op is None else operator(op))
    scope = Scope.of(found, **asked | {"beyond": asked.get("beyond") or not (asked.get("soc") or asked.get("cann"))})
    evidence, silent, counted = Evidence(), 0, False
    for entry in cases:
        if not scope.admits(entry.case):
            continue
        counted = True
        for complaint in entry.unreadable.values():
            evidence.misbehaviour.setdefault(message("wrote {complaint}", complaint=complaint), entry.folder)
        if allow_unsupported and not entry.outputs and not entry.unreadable:
            evidence.refused.append(_prepared(found, entry, scope.judged_by))
            continue
        if entry.outputs:
            one = _prepared(found, entry, scope.judged_by)
            evidence.seen.append(Seen(one, entry.outputs, judge(one, entry.outputs)))
            evidence.tried.add(entry.case)
        silent += not entry.outputs and not entry.unreadable
    if silent:
        evidence.unrun = message("{n} cases have no output: they were not run, and are not judged", n=silent)
    if not counted:
        raise nothing_left(scope)
    if not evidence.seen and not evidence.misbehaviour:
        raise ValueError(problem("outputs are read from DIR/000/out/NAME.npy or NAME.bin", f"none in {folder}",
                                 f"write {', '.join(found.outputs)} of at least one case"))
    return conclude(found, evidence, seed, scope, allowed=allow_unsupported)


def _prepared(op: Operator, entry: files.Entry, plan: Plan | None) -> Prepared:
    return prepared(Recipe(op.name, {"folder": entry.folder}), entry.case, plan)
