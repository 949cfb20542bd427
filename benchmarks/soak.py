"""Write benchmarks/soak.md from the junit file of a full-size test run: `python benchmarks/soak.py FILE.xml`.

One row for each test function: how many cases, how many failed, the largest array, the worst number that was recorded.
"""

import platform
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

REPORT = Path(__file__).with_name("soak.md")


def machine() -> str:
    cpu = next((line.split(":", 1)[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                if line.startswith("model name")), platform.processor()) if Path("/proc/cpuinfo").exists() else ""
    return f"{cpu or platform.machine()}, Python {platform.python_version()}, NumPy {np.__version__}"


def commit() -> str:
    return subprocess.run(["git", "describe", "--always", "--dirty", "--abbrev=12"], capture_output=True, text=True,
                          check=True).stdout.strip()


def rows(path: str):
    """(test, cases, failed, properties, seconds) for each test function that recorded a number."""
    found = defaultdict(list)
    for case in ElementTree.parse(path).iter("testcase"):
        found[case.get("classname").removeprefix("tests."), case.get("name").split("[")[0]].append(case)
    for (file, name), cases in found.items():
        properties = defaultdict(list)
        for case in cases:
            for entry in case.iter("property"):
                properties[entry.get("name")].append(float(entry.get("value")))
        failed = sum(case.find("failure") is not None or case.find("error") is not None for case in cases)
        yield f"{file}.{name}", len(cases), failed, properties, sum(float(case.get("time")) for case in cases)


def main(path: str) -> int:
    table = list(rows(path))
    failed = sum(row[2] for row in table)
    when = f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC"
    lines = ["# Full-size sweeps", "",
             f"From tests run with ACLNN_VIZ_SOAK=1, {when}, commit {commit()}, on",
             f"{machine()}.",
             f"{sum(row[1] for row in table)} tests, {failed} failed, {sum(row[4] for row in table):.0f} s of test time.",
             "",
             "Tests that recorded numbers; the number is the worst of all cases.", "",
             "| test | cases | failed | numbers | time |", "| --- | --- | --- | --- | --- |"]
    for name, cases, failures, properties, seconds in table:
        if properties:
            numbers = ", ".join(f"{key} {max(values):g}" for key, values in properties.items())
            lines.append(f"| {name} | {cases} | {failures} | {numbers} | {seconds:.0f} s |")
    REPORT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{REPORT.name}: {len(table)} test functions, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
