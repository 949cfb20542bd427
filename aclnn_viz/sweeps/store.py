"""Store the results of a sweep (many test cases) in an SQLite file: one row for each case, version and device, never rewritten.

A key is the hash of the recipe's canonical text, the kit and the device. Several processes of one machine may write at once;
SQLite's write-ahead log needs a local disk.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from types import NoneType

from aclnn_viz.errors import place_of, printable, problem
from aclnn_viz.storage.readers import AlteredError, ForeignError, StoredError
from aclnn_viz.sweeps.recipes import hashed
from aclnn_viz.sweeps.work import Row

MARK, VERSION = 0x41434C4E, 5  # application id, "ACLN", and version of the file
MEMORY = ":memory:"
WAIT = 60.0  # seconds to wait for another writer
ASKED = "a store is an SQLite file of this kit, whole and unaltered"
COPY = "take a copy of it, or sweep into another file"
TABLES = f"""
CREATE TABLE runs (run INTEGER PRIMARY KEY, kit TEXT NOT NULL, device TEXT NOT NULL, UNIQUE (kit, device));
CREATE TABLE cases (key TEXT PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs, recipe TEXT NOT NULL,
                    operator TEXT NOT NULL, dtype TEXT NOT NULL, mode TEXT NOT NULL,
                    outcome TEXT NOT NULL, note TEXT NOT NULL, seconds REAL NOT NULL, software TEXT NOT NULL) WITHOUT ROWID;
CREATE INDEX recipes ON cases (run, recipe);
CREATE TABLE outputs (key TEXT NOT NULL REFERENCES cases, output TEXT NOT NULL, verdict TEXT NOT NULL,
                      used REAL, max_ulp REAL, mere REAL, bits TEXT NOT NULL, PRIMARY KEY (key, output)) WITHOUT ROWID;
PRAGMA application_id = {MARK};
PRAGMA user_version = {VERSION};
"""


@dataclass(frozen=True)
class Run:
    """A kit and a device, which rows of a store share."""

    number: int
    kit: str
    device: str

    def key(self, recipe: str) -> str:
        return hashed(recipe, self.kit, self.device)


class Store:
    """An open store, created if missing unless it is opened for reading. Use it in a `with` block.

    Raises ForeignError for another file, AlteredError for a damaged store, FileNotFoundError for a missing one to read, and
    OSError if it cannot be written. MEMORY is a store without a file.
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
        place = _read_only(self.path) if reading else self.path
        with self._with_advice():
            self._base = sqlite3.connect(place, uri=reading, timeout=WAIT, isolation_level=None)
        try:
            with self._with_advice():
                self._need_own()
        except BaseException:
            self._base.close()
            raise

    def _need_own(self) -> None:
        count = "SELECT count(*) FROM sqlite_master"
        if not self._reading and not self._one(count) and not self._one("PRAGMA application_id"):
            # a second process that creates the store waits here
            self._base.execute("BEGIN IMMEDIATE")
            if not self._one(count):
                for statement in filter(str.strip, TABLES.split(";")):
                    self._base.execute(statement)
            self._base.execute("COMMIT")
        # read last: another process may have made the store since the count
        version = self._one("PRAGMA user_version")
        if self._one("PRAGMA application_id") != MARK or version != VERSION:
            text = f"{self.path}, of another program or of another version ({version})"
            raise ForeignError(
                problem(ASKED, text, "use the kit that wrote it, or name another file")
            )
        # a view may never end, a trigger may delete rows
        if self._one(f"{count} WHERE type IN ('view', 'trigger')"):
            raise AlteredError(problem(ASKED, f"{self.path}: a view or a trigger in it", COPY))
        if (text := self._one("PRAGMA quick_check(1)")) != "ok":
            raise AlteredError(problem(ASKED, f"{self.path}: {text}", COPY))
        if not self._reading:
            self._log_ahead()
            self._base.execute("PRAGMA synchronous = NORMAL")

    def _log_ahead(self) -> None:
        """Turn to the write-ahead log, which SQLite refuses at once, without its wait, while another process turns to it."""
        end = monotonic() + WAIT
        while True:
            try:
                self._base.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or monotonic() > end:
                    raise
                sleep(0.01)

    def _one(self, statement: str):
        return self._base.execute(statement).fetchone()[0]

    @contextmanager
    def _with_advice(self):
        """Turn SQLite's errors into errors of this kit."""
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
        # stored text may hold invalid bytes
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            kind = ForeignError if "not a database" in str(error) else AlteredError
            raise kind(problem(ASKED, f"{self.path}: {error}", COPY)) from error

    def run(self, kit: str, device: str) -> Run:
        """Return the run of a kit on a device, created on first use."""
        with self._with_advice():
            self._base.execute(
                "INSERT OR IGNORE INTO runs (kit, device) VALUES (?, ?)", (kit, device)
            )
        return next(run for run in self.runs() if (run.kit, run.device) == (kit, device))

    def runs(self) -> list[Run]:
        """Return all runs, the latest last."""
        return [Run(*row) for row in self.rows("SELECT run, kit, device FROM runs ORDER BY run")]

    def known(self, key: str) -> bool:
        """Return whether the case of a key is stored."""
        return any(self.rows("SELECT 1 FROM cases WHERE key = ?", [key]))

    def add(self, run: Run, row: Row) -> None:
        """Add a row in one transaction, unless its key is stored."""
        key = run.key(row.recipe)
        about = row.recipe, row.operator, row.dtype, row.mode, row.outcome, row.note[:]
        case = key, run.number, *about, row.seconds, row.software
        with self._with_advice():
            self._base.execute("BEGIN IMMEDIATE")
            try:
                if self._insert("cases", *case):
                    for output in row.outputs:
                        self._insert("outputs", key, *vars(output).values())
                self._base.execute("COMMIT")
            except BaseException:
                if self._base.in_transaction:
                    self._base.execute("ROLLBACK")
                raise

    def _insert(self, table: str, *values) -> int:
        places = ", ".join("?" * len(values))
        return self._base.execute(
            f"INSERT OR IGNORE INTO {table} VALUES ({places})", values
        ).rowcount

    def rows(self, statement: str, values=()) -> Iterator[tuple]:
        """Yield the rows of a query, with their texts made printable."""
        with self._with_advice():
            for row in self._base.execute(statement, values):
                yield tuple(
                    value if isinstance(value, (int, float, NoneType)) else printable(str(value))
                    for value in row
                )

    @contextmanager
    def unaltered(self) -> Iterator[None]:
        """Turn errors in reading rows into AlteredError, because no sweep writes rows that cannot be read."""
        try:
            yield
        except StoredError:
            raise
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
            raise AlteredError(problem(ASKED, f"{self.path}: {error!r:.200}", COPY)) from error

    def attach(self, path) -> None:
        """Attach another store for reading under the name "other"."""
        with self._with_advice():
            self._base.execute("ATTACH DATABASE ? AS other", [_read_only(path)])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._base.close()


def _read_only(path) -> str:
    return f"{Path(path).absolute().as_uri()}?mode=ro"
