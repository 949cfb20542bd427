"""Bugs of the field in public Ascend C sources: each is named at its line, and the right source has none in any order.

usage: python benchmarks/ascendc_bugs.py FOLDER > benchmarks/reports/ascendc_bugs.md

FOLDER holds checkouts of repositories, called OWNER+NAME, at the commits that ascendc_sources.md names. The sources are not kept: ascendc_bugs.toml
has for each bug the file, its SHA-256, the lines to edit, and the hazard with its line ("check" where any hazard or the numbers show it).
"""

import hashlib
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path

from ascendc_sources import tried
from records import line

HEAD = """# Bugs of the field in public Ascend C sources

Written by `python benchmarks/ascendc_bugs.py FOLDER` from the rules in `ascendc_bugs.toml`: in each source one bug is made, and the machine (Atlas
A2 as it is emulated) must name it at its line: that of the edit, or where what it spoilt is first used; "check": it fails, by hazards or by
numbers. Line numbers are those of the edited file. Two hosts grant no workspace, and the edit lets the kernel use one.

| bug | source | edited lines | shown | line | named |
| --- | --- | --- | --- | ---: | --- |"""
ORDERS = "eager", "late", *range(20)


def ran(rule: dict, root: Path, edits=(), order="eager") -> tuple[str, str]:
    """The verdict on a copy of a source, with edits of its file, and its hazards."""
    place = root / rule["repository"].replace("/", "+") / rule["path"]
    folder = place if place.is_dir() else place.parent
    with tempfile.TemporaryDirectory() as temporary:
        copy = Path(shutil.copytree(folder, Path(temporary, folder.name)))
        file = copy / rule["file"]
        if not hashlib.sha256(file.read_bytes()).hexdigest().startswith(rule["sha256"]):
            return "another file", ""
        lines = file.read_text("utf-8").split("\n")
        for number, old, new in edits:
            lines[number - 1] = lines[number - 1].replace(old, new)
        file.write_text("\n".join(lines), "utf-8")
        return tried(
            *(("project", copy) if place.is_dir() else ("program", copy / place.name)),
            120,
            order,
            rule.get("inputs"),
        )


def main():
    root = Path(sys.argv[1]).resolve()
    rules = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["bug"]
    print(HEAD)
    for rule in rules:
        verdict, hazards = ran(rule, root, rule["edits"])
        found = (
            verdict == "differs" or "(line" in hazards
            if rule["shows"] == "check"
            else f"{rule['shows']} (line {rule['at']})" in hazards.split("; ")
        )
        print(
            line(
                rule["kind"],
                f"{rule['repository']} {rule['path']}",
                " ".join(str(number) for number, *_ in rule["edits"]),
                rule["shows"],
                rule.get("at", ""),
                "yes" if found else f"no: {verdict}, {hazards}",
            ),
            end="",
            flush=True,
        )
    print(
        "\n## The right sources\n\nEach without an edit, under eager, late and 20 random orders: its verdict, and hazards if it has any.\n"
    )
    for rule in {(rule["repository"], rule["path"]): rule for rule in rules}.values():
        found = {ran(rule, root, (), order) for order in ORDERS}
        print(
            "-",
            rule["repository"],
            rule["path"] + ":",
            "; ".join(sorted(f"{verdict} {hazards}".strip() for verdict, hazards in found)),
            flush=True,
        )


if __name__ == "__main__":
    main()
