"""The store keeps a row once, whoever writes at the same time, and replaces no other file."""

import resource
import signal
import sqlite3
from dataclasses import replace

import pytest
from in_child import in_child
from machine import SOAK
from swept import held, in_children

from aclnn_viz.storage.readers import AlteredError, ForeignError, StoredError
from aclnn_viz.sweeps.recipes import recipe
from aclnn_viz.sweeps.store import Store
from aclnn_viz.sweeps.work import Judged, Row


def row(seed, outcome="right", note=""):
    return Row(
        recipe({"operator": "hardswish", "seed": seed}),
        "hardswish",
        "float32",
        "",
        outcome,
        note,
        (Judged("out", outcome, 1.0, 1.0, 1.0, "ab"),),
    )


def written(path, seeds, **more):
    with Store(path) as store:
        run = store.run("1.0", "host")
        for seed in seeds:
            store.add(run, row(seed, **more))
    return path


def test_a_row_that_is_there_is_not_written_again(tmp_path):
    path = written(tmp_path / "s.sqlite", range(3))
    before = held(path)
    written(path, range(2, 5), outcome="wrong")
    after = held(path)
    assert [len(table) for table in after] == [5, 5] and all(line in after[0] for line in before[0])
    assert sum(line["outcome"] == "wrong" for line in after[0]) == 2


def test_processes_that_open_a_new_store_at_once_share_it(tmp_path):
    """Rarely do two of them meet in the making of the file or in the turn to its log, hence so many."""

    for number in range(1000 if SOAK else 150):
        works = [lambda path=tmp_path / f"{number}.sqlite": written(path, [0])] * 3
        assert in_children(*works) == [0, 0, 0]


def test_rows_go_in_together_or_not_at_all(tmp_path):
    with Store(tmp_path / "s.sqlite") as store:
        run = store.run("1", "host")
        with pytest.raises(TypeError):
            store.add(run, replace(row(0), outputs=(None,)))
        assert list(store.rows("SELECT * FROM cases")) == []
        store.add(run, row(0))
    assert len(held(tmp_path / "s.sqlite")[0]) == 1


def other_program(path):
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE mine (x)")


def newer(path):
    written(path, [0])
    with sqlite3.connect(path) as base:
        base.execute("PRAGMA user_version = 99")


def endless(path):
    written(path, [0])
    with sqlite3.connect(path) as base:
        base.executescript(
            "ALTER TABLE runs RENAME TO r; CREATE VIEW runs AS WITH RECURSIVE c(run, kit, device) AS "
            "(SELECT * FROM r UNION ALL SELECT run + 1, kit, device FROM c) SELECT * FROM c"
        )


def deleting(path):
    written(path, [0])
    with sqlite3.connect(path) as base:
        base.execute("CREATE TRIGGER t AFTER INSERT ON cases BEGIN DELETE FROM cases; END")


def cut(path):
    written(path, range(200))
    path.write_bytes(path.read_bytes()[:-5000])


def scratched(path):
    written(path, range(200))
    held_ = path.read_bytes()
    path.write_bytes(held_[:12000] + bytes(8000) + held_[20000:])


OTHER = "of another program or of another version"


@pytest.mark.parametrize(
    ("spoil", "kind", "text"),
    [
        (lambda path: path.write_text("a text " * 300), ForeignError, "file is not a database"),
        (lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(40)), StoredError, "s.sqlite"),
        (other_program, ForeignError, OTHER),
        (newer, ForeignError, OTHER),
        (endless, AlteredError, "a view or a trigger"),
        (deleting, AlteredError, "a view or a trigger"),
        (cut, AlteredError, "s.sqlite"),
        (scratched, AlteredError, "s.sqlite"),
    ],
    ids=["text", "head", "other program", "newer", "endless", "deleting", "cut", "scratched"],
)
@pytest.mark.parametrize("reading", [True, False])
def test_another_or_a_damaged_file_is_refused_and_left_as_it_is(
    tmp_path, spoil, kind, text, reading
):
    path = tmp_path / "s.sqlite"
    spoil(path)
    before = path.read_bytes()
    with pytest.raises(kind) as error:
        Store(path, reading=reading)
    assert str(error.value).startswith(
        "a store is an SQLite file of this kit, whole and unaltered: got "
    )
    assert text in str(error.value) and "; " in str(error.value) and path.read_bytes() == before


def test_where_nothing_is_a_report_makes_nothing(tmp_path):
    with pytest.raises(
        FileNotFoundError, match="a report is made of a store: got .*none is; sweep with --store"
    ):
        Store(tmp_path / "none.sqlite", reading=True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["/proc/s.sqlite", "/dev/null/s.sqlite", "."])
def test_a_place_that_cannot_be_written_is_reported(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        OSError,
        match="must be readable, and writable to sweep into it: got unable to open .*; mend",
    ):
        Store(place)


def test_a_full_disk_loses_nothing_that_was_done(tmp_path):
    """The disk is full for a child when no file may become longer."""
    path = written(tmp_path / "s.sqlite", range(10))

    def fill():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
        try:
            for seed in range(10, 1000):
                written(path, [seed], note="x" * 1000)
        except OSError as error:
            return seed, str(error)

    seed, text = in_child(fill)
    assert "writable to sweep into it: got" in text and "what is done stays done" in text
    assert len(held(path)[0]) in (seed, seed - 1)
    assert len(held(written(path, range(seed + 10)))[0]) == seed + 10
