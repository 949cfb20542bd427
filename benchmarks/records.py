"""Shared parts of the benchmarks: rows saved as they are made, tables in Markdown, and facts from git."""

import json
import subprocess
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "benchmarks" / "reports"


@contextmanager
def kept(path: Path):
    """Yield the rows that an earlier run saved, and a function that adds a row, so that a run can continue."""
    rows = (
        [json.loads(line) for line in path.read_text("utf-8").splitlines()] if path.exists() else []
    )
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8") as file:

        def add(made):
            rows.append(made)
            print(json.dumps(made), file=file, flush=True)

        yield rows, add


def publish(path: Path, text: str, whole: bool) -> None:
    """Write a complete report over the committed one; print a partial report."""
    if whole:
        path.write_text(text, encoding="utf-8")
    else:
        print(text, f"\nThis is a part: {path.name} stays as it is.")


def line(*cells) -> str:
    return "| " + " | ".join(map(str, cells)) + " |\n"


def git(*words) -> str:
    return subprocess.run(
        ["git", "-C", ROOT, *words], capture_output=True, encoding="utf-8", check=True
    ).stdout.strip()
