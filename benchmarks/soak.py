"""Write benchmarks/reports/soak.md from the junit files of full-size test runs: `python benchmarks/soak.py FILE.xml ...`.

Notes on partial sweeps are in soak_in_part.md beside it, which no script writes. A run of another commit is given as
`FILE.xml@COMMIT`. A test repeated in a later file counts only there. Each test function that recorded numbers, and each
`group` that it recorded, has a row: the range of every number over its cases. Inputs made to find faults have a separate
table, with a row per surface, the checks of its answers, and a sum. A table without data in the files stays unchanged.
"""

import platform
import sys
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from datetime import datetime

import numpy as np
from records import REPORTS, git, line

REPORT = REPORTS / "soak.md"
COUNTED = "inputs", "taken", "refused", "findings"
INPUTS = """Valid inputs that were spoiled, and new ones by a grammar (tests/fuzzing). Each is named by its surface and its number, which are
the seed that makes it: input 1234 of recipes is that of the seed "recipes 1234". Everywhere is asked that an input is taken, or refused
by a documented error in three parts, within 20 seconds, and that no process ends; the second column is what is asked beside that. The
processor time is without that of compilers and of programs that are started."""


def failed(case: ElementTree.Element) -> bool:
    return case.find("failure") is not None or case.find("error") is not None


def identity(case: ElementTree.Element) -> tuple[str, str]:
    return case.get("classname"), case.get("name")


def name_of(case: ElementTree.Element) -> str:
    """Return the test function, with the group that its case recorded."""
    file, function = case.get("classname").removeprefix("tests."), case.get("name").split("[")[0]
    return ": ".join(filter(None, (f"{file}.{function}", properties(case).get("group"))))


def spread(values: list[float]) -> str:
    """
    >>> spread([1.04e7, 1e7]), spread([0.5, 0.5])
    ('10,000,000 to 10,400,000', '0.5')
    """
    low, high = (f"{v:,.0f}" if v >= 1000 else f"{v:.3g}" for v in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def cells(name: str, cases: list[ElementTree.Element]) -> list:
    """Return the recorded numbers of one test function and group."""
    numbers = defaultdict(list)
    for case in cases:
        for entry in case.iter("property"):  # a case may record a number several times
            if (key := entry.get("name")) != "group":
                numbers[key].append(float(entry.get("value")))
    return [
        name,
        *counts(cases),
        "; ".join(f"{key} {spread(values)}" for key, values in numbers.items()),
        seconds(cases),
    ]


def counts(cases) -> tuple[int, int]:
    return len(cases), sum(map(failed, cases))


def seconds(cases) -> str:
    return f"{sum(float(case.get('time')) for case in cases):.0f} s"


def table(header: list[str], rows: list[list]) -> str:
    return "".join(line(*row) for row in [header, ["---"] * len(header), *rows])


def properties(case: ElementTree.Element) -> dict[str, str]:
    return {entry.get("name"): entry.get("value") for entry in case.iter("property")}


def inputs(runs: list[tuple[ElementTree.Element, str]]) -> str:
    """Return the text on inputs, from (root, commit) pairs; empty without such inputs."""
    last = {
        found["surface"]: (found, commit)
        for root, commit in runs
        for case in root.iter("testcase")
        if "surface" in (found := properties(case))
    }
    if not last:
        return ""

    def row(words: list[str], *some: dict) -> list[str]:
        sums = [sum(int(found.get(name, 0)) for found in some) for name in COUNTED]
        spent = sum(float(found["seconds"]) for found in some)
        return [*words, *(f"{n:,}" for n in sums), f"{spent:.0f} s"]

    rows = [
        *(row([found["surface"], found["oracle"], at], found) for found, at in last.values()),
        row(["all", "", ""], *(found for found, _ in last.values())),
    ]
    return "\n".join(
        [
            "# Inputs that were made to find faults",
            "",
            INPUTS,
            "",
            table(
                ["surface", "what is asked of an answer", "commit", *COUNTED, "processor time"],
                rows,
            ),
        ]
    )


def report(runs: list[tuple[ElementTree.Element, str]], where: str) -> tuple[str, int]:
    """Return the text and the number of failed tests, from (root of a junit file, commit) pairs of the machine `where`."""
    summary, rows, failures = [], defaultdict(list), []
    last = {identity(case): root for root, _ in runs for case in root.iter("testcase")}
    for root, commit in runs:
        cases = [case for case in root.iter("testcase") if last[identity(case)] is root]
        failures += [f"- {'.'.join(identity(case))}" for case in cases if failed(case)]
        # the table of inputs lists these cases
        if all("surface" in properties(case) for case in cases):
            continue
        started = datetime.fromisoformat(next(root.iter("testsuite")).get("timestamp"))
        summary.append([f"{started:%Y-%m-%d %H:%M}", commit, *counts(cases), seconds(cases)])
        for case in cases:
            if "surface" not in (found := properties(case)) and found:
                rows[name_of(case)].append(case)
    if not summary:
        return "", len(failures)
    lines = [
        "# Full-size sweeps",
        "",
        f"Tests run with ACLNN_VIZ_SOAK=1 on {where}.",
        "",
        table(["started (UTC)", "commit", "tests", "failed", "time in tests"], summary),
        "Tests that recorded numbers, with the range of each number over the cases.",
        "",
        table(
            ["test", "cases", "failed", "numbers", "time"], [cells(*row) for row in rows.items()]
        ),
    ]
    if failures:
        lines += ["Failed:", "", *failures, ""]
    return "\n".join(lines), len(failures)


def renewed(old: str, sweeps: str, made: str) -> str:
    """Return the report with new parts; a part without new data stays unchanged.

    >>> renewed("a\\n# Inputs that b", "", "# Inputs that c"), renewed("a", "d", "")
    ('a\\n# Inputs that c', 'd')
    """
    before, mark, behind = old.partition("# Inputs that")
    return (sweeps or before) + (made or mark + behind)


def main(*files: str) -> int:
    runs = []
    for file in files:
        path, _, commit = file.partition("@")
        runs.append(
            (
                ElementTree.parse(path).getroot(),
                commit or git("describe", "--always", "--dirty", "--abbrev=12"),
            )
        )
    text, failures = report(
        runs, f"{platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}"
    )
    REPORT.write_text(
        renewed(REPORT.read_text(encoding="utf-8"), text, inputs(runs)), encoding="utf-8"
    )
    tests = {identity(case) for root, _ in runs for case in root.iter("testcase")}
    print(f"{REPORT.name}: {len(tests)} tests, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
