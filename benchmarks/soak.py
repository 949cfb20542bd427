"""Write benchmarks/soak.md from the junit files of full-size test runs: `python benchmarks/soak.py FILE.xml ...`.

What is written by hand about sweeps that were run in part is in soak_in_part.md, which no script writes.
A run of another commit than the present one is named with it: `FILE.xml@COMMIT`. A test that a later file repeats
counts there alone. One row for each test function that recorded numbers, and for each `group` that it recorded: the
range of every number over its cases.
"""

import platform
import sys
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from datetime import datetime
from pathlib import Path

import numpy as np
from records import git, line

REPORT = Path(__file__).with_name("soak.md")


def failed(case: ElementTree.Element) -> bool:
    return case.find("failure") is not None or case.find("error") is not None


def identity(case: ElementTree.Element) -> tuple[str, str]:
    return case.get("classname"), case.get("name")


def name_of(case: ElementTree.Element) -> str:
    """The test function, with the group that its case recorded."""
    file, function = case.get("classname").removeprefix("tests."), case.get("name").split("[")[0]
    groups = [entry.get("value") for entry in case.iter("property") if entry.get("name") == "group"]
    return ": ".join([f"{file}.{function}", *groups])


def spread(values: list[float]) -> str:
    """
    >>> spread([1.04e7, 1e7]), spread([0.5, 0.5])
    ('10,000,000 to 10,400,000', '0.5')
    """
    low, high = (f"{v:,.0f}" if v >= 1000 else f"{v:.3g}" for v in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def cells(name: str, cases: list[ElementTree.Element]) -> list:
    """What the cases of one test function and group recorded."""
    numbers = defaultdict(list)
    for entry in (entry for case in cases for entry in case.iter("property") if entry.get("name") != "group"):
        numbers[entry.get("name")].append(float(entry.get("value")))
    return [name, *counts(cases), "; ".join(f"{key} {spread(values)}" for key, values in numbers.items()), seconds(cases)]


def counts(cases) -> tuple[int, int]:
    return len(cases), sum(map(failed, cases))


def seconds(cases) -> str:
    return f"{sum(float(case.get('time')) for case in cases):.0f} s"


def table(header: list[str], rows: list[list]) -> str:
    return "".join(line(*row) for row in [header, ["---"] * len(header), *rows])


def machine() -> str:
    cpu = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines()
                if line.startswith("model name")), "") if Path("/proc/cpuinfo").exists() else ""
    return f"{cpu or platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}"


def report(runs: list[tuple[ElementTree.Element, str]], where: str) -> tuple[str, int]:
    """The text, and how many tests failed, of (root of a junit file, commit) pairs from the machine `where`."""
    summary, rows, failures = [], defaultdict(list), []
    last = {identity(case): root for root, _ in runs for case in root.iter("testcase")}
    for root, commit in runs:
        cases = [case for case in root.iter("testcase") if last[identity(case)] is root]
        failures += [f"- {'.'.join(identity(case))}" for case in cases if failed(case)]
        started = datetime.fromisoformat(next(root.iter("testsuite")).get("timestamp"))
        summary.append([f"{started:%Y-%m-%d %H:%M}", commit, *counts(cases), seconds(cases)])
        for case in cases:
            if case.find(".//property") is not None:
                rows[name_of(case)].append(case)
    lines = ["# Full-size sweeps", "", f"Tests run with ACLNN_VIZ_SOAK=1 on {where}.", "",
             table(["started (UTC)", "commit", "tests", "failed", "time in tests"], summary),
             "Tests that recorded numbers, with the range of each number over the cases.", "",
             table(["test", "cases", "failed", "numbers", "time"], [cells(*row) for row in rows.items()])]
    if failures:
        lines += ["Failed:", "", *failures, ""]
    return "\n".join(lines), len(failures)


def main(*files: str) -> int:
    runs = []
    for file in files:
        path, _, commit = file.partition("@")
        runs.append((ElementTree.parse(path).getroot(), commit or git("describe", "--always", "--dirty", "--abbrev=12")))
    text, failures = report(runs, machine())
    REPORT.write_text(text, encoding="utf-8")
    tests = {identity(case) for root, _ in runs for case in root.iter("testcase")}
    print(f"{REPORT.name}: {len(tests)} tests, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
