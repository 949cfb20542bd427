"""Record solved puzzles in a file on this machine, to which each attempt adds a line of JSON.

Nothing is ever rewritten, so two notebooks can add at the same time, and a damaged line spoils no other. The file is
puzzles.jsonl in the folder that ACLNN_VIZ_DATA names, or else in the user's data folder of the platform.
"""

import json
import os
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from aclnn_viz.errors import problem
from aclnn_viz.tables import as_html, as_text
from aclnn_viz.words.messages import message, tr

VARIABLE = "ACLNN_VIZ_DATA"
FILE = "puzzles.jsonl"


def progress_file() -> Path:
    """Return the path of the file; raise ImportError if neither the variable nor platformdirs gives it."""
    if folder := os.environ.get(VARIABLE):
        return Path(folder).expanduser() / FILE
    try:
        from platformdirs import user_data_path
    except ImportError as error:
        raise ImportError(
            problem(
                "the folder of user data comes from platformdirs or from " + VARIABLE,
                "neither",
                "pip install 'aclnn-viz[lab]', or set the variable to a folder",
            )
        ) from error
    return user_data_path("aclnn-viz", appauthor=False) / FILE


def keep(name: str, solved: bool) -> str:
    """Record an attempt; return why that failed, or an empty text: a failed record does not spoil the verdict."""
    line = json.dumps(
        {"name": name, "solved": solved, "at": datetime.now(UTC).isoformat(timespec="seconds")}
    )
    try:
        path = progress_file()
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "ab+") as file:
            if file.seek(0, os.SEEK_END):
                file.seek(-1, os.SEEK_END)
                # the last line may be incomplete
                line = line if file.read() == b"\n" else "\n" + line
            # one write, so that no other process writes in between
            file.write(f"{line}\n".encode())
    except ImportError as error:
        return str(error)
    except OSError as error:
        return problem(
            f"progress is added to {path}",
            str(error),
            f"make it writable, or set {VARIABLE} to another folder; nothing there was changed",
        )
    return ""


@dataclass
class Kept:
    """The content of the file: attempts and successes by name, and a complaint about damaged lines."""

    attempts: dict[str, int] = field(default_factory=dict)
    solved: set[str] = field(default_factory=set)
    complaint: str = ""


def kept() -> Kept:
    """Read the file; a line that is no attempt gives a warning and is skipped, never removed."""
    found, unread = Kept(), 0
    try:
        path = progress_file()
        text = path.read_bytes().decode("utf-8", errors="replace") if path.exists() else ""
    except ImportError as error:
        return Kept(complaint=str(error))
    except OSError as error:
        return Kept(
            complaint=problem(
                f"progress is read from {path}",
                str(error),
                f"make it readable, or set {VARIABLE} to another folder",
            )
        )
    for line in filter(str.strip, text.split("\n")):
        try:
            attempt = json.loads(line)
            name, solved = str(attempt["name"]), attempt["solved"] is True
        except (ValueError, KeyError, TypeError, RecursionError):
            unread += 1
            continue
        found.attempts[name] = found.attempts.get(name, 0) + 1
        found.solved |= {name} if solved else set()
    if unread:
        found.complaint = problem(
            f"every line of {path} is an attempt",
            f"{unread} that cannot be read",
            "mend or delete them; they are left as they are, and all others count",
        )
    return found


@dataclass(frozen=True)
class Progress:
    """A row for every puzzle and detective case: operator, title, name, and status; prints as a table."""

    rows: tuple[tuple[str, str, str, str], ...]
    solved: int
    complaint: str = ""

    @property
    def next(self) -> str:
        """Return the title and the name of the first unsolved item, or an empty text."""
        return next(
            (
                tr("{title} ({name})", title=title, name=name)
                for _, title, name, state in self.rows
                if not state.startswith("solved")
            ),
            "",
        )

    @property
    def head(self) -> str:
        if not self.next:
            return tr("{n} of {all} solved", n=self.solved, all=len(self.rows))
        return tr(
            "{n} of {all} solved; next: {next}", n=self.solved, all=len(self.rows), next=self.next
        )

    def _lines(self) -> list[str]:
        header = [tr("operator"), tr("title"), tr("name"), tr("state")]
        return as_text(header, [[*map(tr, row)] for row in self.rows])

    def __str__(self) -> str:
        return "\n".join([self.head, *self._lines(), *filter(None, [self.complaint])])

    def _repr_html_(self) -> str:
        """Return HTML of the next item, with all others behind a click."""
        notes, every = filter(None, [self.complaint]), "\n".join(self._lines())
        return as_html(self.head, (), (), notes, every, opens=tr("all puzzles"))


def progress_of(items) -> Progress:
    """Return the status of puzzles and cases; `items` have an operator, a title and a name."""
    found = kept()

    def state(name):
        count = found.attempts.get(name, 0)
        tried = message("1 attempt") if count == 1 else message("{n} attempts", n=count)
        return (
            message("solved after {attempts}", attempts=tried)
            if name in found.solved
            else tried
            if count
            else "-"
        )

    return Progress(
        tuple((one.operator, one.title, one.name, state(one.name)) for one in items),
        sum(one.name in found.solved for one in items),
        found.complaint,
    )
