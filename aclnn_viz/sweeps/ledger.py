"""The ledger: an SQLite file with one row for each recipe, kit and device; a row that is there is never written again.

A key is the hash of the recipe's canonical text, the kit and the device. Rows that say how a case went, and nothing of
when and where, are in `cases` and `outputs`; when, where and how long in `provenance`. Several processes of one machine
may write at once; the file must lie on a local disk, as SQLite's write-ahead log needs it.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import NoneType

from aclnn_viz.errors import place_of, printable, problem
from aclnn_viz.storage.reading import AlteredError, ForeignError, StoredError
from aclnn_viz.sweeps.recipes import hashed
from aclnn_viz.sweeps.work import MEASURES, Row
from aclnn_viz.words.messages import restored, stored

MARK, VERSION = 0x41434C4E, 3  # of the file: "ACLN"
MEMORY = ":memory:"
WAIT = 60.0  # seconds for another writer
ASKED = "a store is a ledger of this kit, whole and unaltered"
TABLES = f"""
CREATE TABLE runs (run INTEGER PRIMARY KEY, kit TEXT NOT NULL, device TEXT NOT NULL, started TEXT NOT NULL,
                   UNIQUE (kit, device));
CREATE TABLE cases (key TEXT PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs, recipe TEXT NOT NULL,
                    same TEXT NOT NULL, operator TEXT NOT NULL, dtype TEXT NOT NULL, mode TEXT NOT NULL,
                    seed INTEGER NOT NULL, outcome TEXT NOT NULL, note TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX same_cases ON cases (run, same);
CREATE TABLE outputs (key TEXT NOT NULL REFERENCES cases, output TEXT NOT NULL, verdict TEXT NOT NULL,
                      elements INTEGER NOT NULL, wrong INTEGER, undecided INTEGER NOT NULL,
                      {", ".join(f"{name} REAL" for name in MEASURES)}, standards TEXT NOT NULL, bits TEXT NOT NULL,
                      PRIMARY KEY (key, output)) WITHOUT ROWID;
CREATE TABLE provenance (key TEXT PRIMARY KEY REFERENCES cases, at TEXT NOT NULL, seconds REAL NOT NULL,
                         worker TEXT NOT NULL, software TEXT NOT NULL) WITHOUT ROWID;
PRAGMA application_id = {MARK};
PRAGMA user_version = {VERSION};
"""


@dataclass(frozen=True)
class Run:
    """Which kit ran on which device: what the rows of a ledger have in common."""

    number: int
    kit: str
    device: str
    started: str

    def key(self, recipe: str) -> str:
        return hashed(recipe, self.kit, self.device)


class Ledger:
    """An opened ledger; made where there is none, unless it is only to be read. Use it in a `with` block.

    Raises ForeignError for another file, AlteredError for a damaged ledger, FileNotFoundError where one is to be read,
    and OSError where it cannot be written. MEMORY is a ledger that nobody keeps.
    """

    def __init__(self, path, reading: bool = False):
        self.path, self._reading = MEMORY if str(path) == MEMORY else place_of(path), reading
        if reading and not Path(self.path).is_file():
            raise FileNotFoundError(
                problem(
                    "a report is made of a store",
                    f"{path}, where none is",
                    "sweep with --store, or name another file",
                )
            )
        with self._with_advice():
            self._base = self._connected()
        try:
            with self._with_advice():
                self._need_own()
        except BaseException:
            self._base.close()
            raise

    def _connected(self) -> sqlite3.Connection:
        if not self._reading:
            return sqlite3.connect(self.path, timeout=WAIT, isolation_level=None)
        return sqlite3.connect(
            f"{Path(self.path).absolute().as_uri()}?mode=ro",
            uri=True,
            timeout=WAIT,
            isolation_level=None,
        )

    def _need_own(self) -> None:
        one = self._one
        if (
            not one("SELECT count(*) FROM sqlite_master")
            and not one("PRAGMA application_id")
            and not self._reading
        ):
            # of two who make it at once the second waits, and finds it made
            self._base.execute("BEGIN IMMEDIATE")
            if not one("SELECT count(*) FROM sqlite_master"):
                for statement in filter(str.strip, TABLES.split(";")):
                    self._base.execute(statement)
            self._base.execute("COMMIT")
        if one("PRAGMA application_id") != MARK:
            raise ForeignError(
                problem(
                    ASKED, f"{self.path}, an SQLite file of another program", "name another file"
                )
            )
        if (version := one("PRAGMA user_version")) != VERSION:
            raise ForeignError(
                problem(
                    ASKED,
                    f"{self.path} of version {version}, where {VERSION} is known",
                    "use the kit that wrote it, or name another file",
                )
            )
        # which may run without end, or delete
        added = one("SELECT count(*) FROM sqlite_master WHERE type IN ('view', 'trigger')")
        if (text := "a view or a trigger in it" if added else one("PRAGMA quick_check(1)")) != "ok":
            raise AlteredError(
                problem(
                    ASKED, f"{self.path}: {text}", "take a copy of it, or sweep into another file"
                )
            )
        if not self._reading:
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute("PRAGMA synchronous = NORMAL")

    def _one(self, statement: str):
        return self._base.execute(statement).fetchone()[0]

    @contextmanager
    def _with_advice(self):
        """SQLite's errors as errors of this kit, in three parts."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise OSError(
                problem(
                    f"the store {self.path} must be readable, and writable to sweep into it",
                    str(error),
                    "mend the folder, its rights or the room on its disk, and start again: what is done "
                    "stays done",
                )
            ) from error
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            # the latter where the message of the former holds bytes of the file
            kind = ForeignError if "not a database" in str(error) else AlteredError
            raise kind(
                problem(ASKED, f"{self.path}: {error}", "name another file, or take a copy of it")
            ) from error

    def run(self, kit: str, device: str) -> Run:
        """The run of a kit on a device, made when it is asked for the first time."""
        with self._with_advice():
            self._base.execute(
                "INSERT OR IGNORE INTO runs (kit, device, started) VALUES (?, ?, ?)",
                (kit, device, datetime.now(UTC).isoformat(timespec="seconds")),
            )
        return next(one for one in self.runs() if (one.kit, one.device) == (kit, device))

    def runs(self) -> list[Run]:
        """All runs, the one that was begun last at the end."""
        return [
            Run(*row)
            for row in self.rows("SELECT run, kit, device, started FROM runs ORDER BY run")
        ]

    def known(self, keys: Iterable[str]) -> set[str]:
        """Which of some keys are done."""
        keys, found = list(keys), set()
        for start in range(0, len(keys), 500):
            some = keys[start : start + 500]
            found |= {
                key
                for (key,) in self.rows(
                    f"SELECT key FROM cases WHERE key IN ({','.join('?' * len(some))})", some
                )
            }
        return found

    def add(self, run: Run, rows: Iterable[Row]) -> None:
        """Add rows in one step; one whose key is there stays as it is."""
        with self._with_advice():
            self._base.execute("BEGIN IMMEDIATE")
            try:
                for row in rows:
                    self._add(run, row)
                self._base.execute("COMMIT")
            except BaseException:
                if self._base.in_transaction:
                    self._base.execute("ROLLBACK")
                raise

    def _add(self, run: Run, row: Row) -> None:
        key = run.key(row.recipe)
        added = self._base.execute(
            "INSERT OR IGNORE INTO cases VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                key,
                run.number,
                row.recipe,
                hashed(row.recipe),
                row.operator,
                row.dtype,
                row.mode,
                row.seed,
                row.outcome,
                stored(row.note),
            ),
        )
        if not added.rowcount:
            return
        self._base.executemany(
            f"INSERT INTO outputs VALUES ({', '.join('?' * (8 + len(MEASURES)))})",
            [
                (
                    key,
                    one.output,
                    one.verdict,
                    one.elements,
                    one.wrong,
                    one.undecided,
                    *one.measures,
                    one.standards,
                    one.bits,
                )
                for one in row.outputs
            ],
        )
        self._base.execute(
            "INSERT INTO provenance VALUES (?, ?, ?, ?, ?)",
            (key, row.at, row.seconds, row.worker, row.software),
        )

    def rows(self, statement: str, values=()) -> Iterator[tuple]:
        with self._with_advice():
            # of texts only what can be printed gets out
            for row in self._base.execute(statement, values):
                yield tuple(
                    one if isinstance(one, (int, float, NoneType)) else printable(str(one))
                    for one in row
                )

    @contextmanager
    def unaltered(self) -> Iterator[None]:
        """While its rows are understood: AlteredError for what no ledger has written."""
        try:
            yield
        except StoredError:
            raise
        except (
            TypeError,
            ValueError,
            LookupError,
            AttributeError,
            ArithmeticError,
            RecursionError,
        ) as error:
            raise AlteredError(
                problem(
                    ASKED,
                    f"{self.path}: {error!r:.200}",
                    "take a copy of it, or sweep into another file",
                )
            ) from error

    def note(self, kept: str) -> str:
        """The message that a row keeps as its note; AlteredError for what no ledger has written."""
        with self.unaltered():
            return restored(kept)

    def attach(self, path) -> None:
        """Make another ledger readable beside this one, under the name "other"."""
        with self._with_advice():
            self._base.execute(
                "ATTACH DATABASE ? AS other", [f"{Path(path).absolute().as_uri()}?mode=ro"]
            )

    def close(self) -> None:
        self._base.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
