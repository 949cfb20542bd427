"""What the benchmarks share: rows that are kept as they are made, tables in Markdown, and what git says."""

import json
import subprocess
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
REPORTS = ROOT / "benchmarks" / "reports"


@contextmanager
def kept(path: Path):
    """The rows that a run before has left in a file, and a function that adds one, so that a run begun again goes on."""
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
    """Write a report that counts as much as the one that is committed; one of a part is only shown."""
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
