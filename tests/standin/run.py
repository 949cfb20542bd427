"""`python -m standin.run ROOT` in tests/: every case against the libraries of ROOT, one JSON line each."""

import json
import sys
from pathlib import Path

from standin import cases_launches, cases_runtime, cases_silence, statuses  # noqa: F401 - the cases register
from standin.driver import (
    CASES, CE, GN, GRID, HARDSWISH, RMS, Failed, Library, Session, ce_arguments, gn_arguments, grid_arguments,
    hardswish_arguments, in_child, rms_arguments,
)

SWEPT = {HARDSWISH: hardswish_arguments, RMS: rms_arguments, GRID: grid_arguments, CE: ce_arguments, GN: gn_arguments}


def with_misuse(function, root):
    result = function(root)
    return {"result": result, "misuse": Library(root).misuse()}


def one_run(s, op):
    arguments = SWEPT[op](s)
    s.run(op, *arguments)
    if op == GRID:
        s.ok("aclDestroyBoolArray", arguments[6])
    s.close()


def faults(root, op):
    """Fail each call of a run once: pairs of the call that was told to fail and what the run said."""
    def record():
        s = Session(root)
        one_run(s, op)
        return s.calls()

    def fail(name, k, status):
        try:
            one_run(Session(root), op)
        except Failed as failed:
            return [failed.call, failed.status]

    answers, seen = [], {}
    for name in in_child(record):
        k = seen[name] = seen.get(name, 0) + 1
        answer = in_child(lambda: fail(name, k, 507000), {"STANDIN_FAIL": f"{name}:{k}:507000"})
        answers.append([name, answer])
    return answers


def main(root):
    Library(root)  # loaded once; every child initialises what it inherits

    def show(kind, name, answer):
        print(json.dumps([kind, name, answer]))

    for name, case in CASES.items():
        show("case", name, in_child(lambda: with_misuse(case["run"], root), case["environment"]))
    by_environment = {}
    for k, entry in enumerate(statuses.STATUSES):
        by_environment.setdefault(tuple(entry["environment"].items()), []).append(k)
    for environment, places in by_environment.items():
        found = in_child(lambda: statuses.answers(root, [statuses.STATUSES[k] for k in places]), environment)
        for n, k in enumerate(places):
            show("status", k, found[n] if isinstance(found, list) else found)  # a text tells what broke
    for op in SWEPT:
        show("faults", op, in_child(lambda: faults(root, op)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
