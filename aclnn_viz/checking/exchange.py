"""Checking without Python: cases written as files, outputs of any program read back and judged."""

from pathlib import Path

from aclnn_viz.cases import files
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.diagnosis import Seen
from aclnn_viz.checking.examining import Evidence, conclude
from aclnn_viz.checking.judging import Prepared, judge, prepared, prepared_suite
from aclnn_viz.checking.result import CheckResult, dumped
from aclnn_viz.errors import problem
from aclnn_viz.operators import Operator, operator


def write_suite(op, folder, seed: int = 0, force: bool = False) -> Path:
    """Write the inputs of the whole suite of an operator into a new or empty folder, and return it.

    Raises FileExistsError where something is; with `force` a folder of cases is replaced, the outputs in it, too.

    >>> import tempfile
    >>> sorted(path.name for path in (write_suite("hardswish", tempfile.mkdtemp()) / "000").iterdir())
    ['in', 'out']
    """
    op = operator(op)
    return files.write_cases(folder, op, (dumped(one, {}) for one in prepared_suite(op, seed)), seed, force)


def read_and_check(op, folder) -> CheckResult:
    """Judge and diagnose the outputs that some program left in a folder of cases, or those that a capsule holds.

    `op` None: whichever operator these are of. A missing output is a fault of the kernel; cases without any output were
    not run and are not judged. Raises ValueError for what holds no cases, or those of other operators, and where no
    output is found.
    """
    found, seed, cases = files.read_cases(folder, op if op is None else operator(op))
    evidence, silent = Evidence(), 0
    for entry in cases:
        for complaint in entry.unreadable.values():
            evidence.misbehaviour.setdefault(f"wrote {complaint}", entry.folder)
        if entry.outputs:
            one = _prepared(found, entry)
            evidence.seen.append(Seen(one, entry.outputs, judge(one, entry.outputs)))
        silent += not entry.outputs and not entry.unreadable
    if silent:
        evidence.unrun = f"{silent} cases have no output: they were not run, and are not judged"
    if not evidence.seen and not evidence.misbehaviour:
        raise ValueError(problem("outputs are read from DIR/000/out/NAME.npy or NAME.bin", f"none in {folder}",
                                 f"write {', '.join(found.outputs)} of at least one case"))
    return conclude(found, evidence, seed)


def read_prepared(folder) -> tuple[Operator, list[Prepared]]:
    """Return the operator and the cases of a folder, ready to judge a kernel on them."""
    op, _, cases = files.read_cases(folder)
    return op, [_prepared(op, entry) for entry in cases]


def _prepared(op: Operator, entry: files.Entry) -> Prepared:
    return prepared(Recipe(op.name, {"folder": entry.folder}), entry.case)
