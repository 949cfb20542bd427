"""Bugs of the field in public Ascend C sources: each is named at its line, and the right source has none in any order.

usage: python benchmarks/ascendc_bugs.py FOLDER > benchmarks/ascendc_bugs.md

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

HEAD = """# Bugs of the field in public Ascend C sources

Written by `python benchmarks/ascendc_bugs.py FOLDER` from the rules in `ascendc_bugs.toml`: in each source one bug is made, and the machine (Atlas
A2 as it is emulated) must name it at its line; "check": it fails, by hazards or by numbers. Line numbers are those of the edited file.

| bug | source | edited lines | shown | line | named |
| --- | --- | --- | --- | ---: | --- |"""
ORDERS = "eager", "late", *range(20)


def edited(rule: dict, root: Path) -> tuple[str, str]:
    """The verdict on a source with its bug, in a copy of its folder."""
    place = root / rule["repository"].replace("/", "+") / rule["path"]
    folder = place if place.is_dir() else place.parent
    with tempfile.TemporaryDirectory() as temporary:
        shutil.copytree(folder, copy := Path(temporary, folder.name))
        lines = (file := copy / rule["file"]).read_text("utf-8").split("\n")
        if hashlib.sha256(file.read_bytes()).hexdigest()[:16] != rule["sha256"]:
            return "another file", ""
        for line, old, new in rule["edits"]:
            assert lines[line - 1].count(old) == 1, (rule, lines[line - 1])
            lines[line - 1] = lines[line - 1].replace(old, new)
        file.write_text("\n".join(lines), "utf-8")
        return tried("project" if place.is_dir() else "program", copy if place.is_dir() else copy / place.name, 120, inputs=rule.get("inputs"))


def main():
    root = Path(sys.argv[1]).resolve()
    rules = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["bug"]
    print(HEAD)
    named = 0
    for rule in rules:
        verdict, hazards = edited(rule, root)
        wanted = f"{rule['shows']} (line {rule.get('at')})"
        found = verdict == "differs" or "(line" in hazards if rule["shows"] == "check" else wanted in hazards.split("; ")
        named += found
        cells = (rule["kind"], f"{rule['repository']} {rule['path']}", ", ".join(str(line) for line, *_ in rule["edits"]), rule["shows"],
                 rule.get("at", ""), "yes" if found else f"no: {verdict}, {hazards}")
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    print(f"\n{named} of {len(rules)} bugs are named.\n\n## The right sources\n\nUnder eager, late and 20 random orders:\n")
    for (repository, path), inputs in {(rule["repository"], rule["path"]): rule.get("inputs") for rule in rules}.items():
        place = root / repository.replace("/", "+") / path
        found = {order: tried("project" if place.is_dir() else "program", place, 120, order, inputs) for order in ORDERS}
        wrong = {order: one for order, one in found.items() if "(line" in one[1] or one[0].startswith(("differs", "not", "no "))}
        print(f"- {repository} {path}: {'no hazard in any order, ' + found['eager'][0] if not wrong else wrong}", flush=True)


if __name__ == "__main__":
    main()
