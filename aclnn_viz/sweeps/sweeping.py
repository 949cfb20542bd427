"""`sweep`: many cases on a device or a kernel, here or on many machines, each recorded once.

Recipes that are in the store are skipped. Of the rest a limited number is with the workers at a time, so memory does not grow
with the sweep. When a process dies, the cases that were out are run again one by one: so the case that ended it is found.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from aclnn_viz.cases import suites
from aclnn_viz.cases.files import write_cases
from aclnn_viz.checking.counterexample import dumped
from aclnn_viz.checking.judge import prepared
from aclnn_viz.errors import function, problem, shown, whole
from aclnn_viz.notebook import noted
from aclnn_viz.sweeps.place import Place, device_text, recorded_at
from aclnn_viz.sweeps.recipes import Source, draw, of_operators, source
from aclnn_viz.sweeps.reporting import counted
from aclnn_viz.sweeps.store import MEMORY, Run, Store
from aclnn_viz.sweeps.work import DIED, RIGHT, WRONG, Row, died, identity, work
from aclnn_viz.sweeps.workers import count_of, executor_of
from aclnn_viz.tables import GREEN, RED, as_html
from aclnn_viz.words.messages import kept, linked, message, tr

AHEAD = 4  # cases that wait for each worker: none is idle, and no more lie in memory
DUMPS = 20  # wrong cases of an operator that are written
LISTED = 10  # wrong cases that are named


class Drive:
    """One sweep under way; `known` counts the recipes that were done before."""

    def __init__(self, place: Place, executor, store: Store):
        self.place, self.store, self.known, self.recorded = place, store, 0, recorded_at(place)
        self.executor, self.renew = executor_of(executor)
        self._out: dict[Future, str] = {}

    def begin(self) -> Run:
        """The run in the store: what computes is found out by a worker."""
        text = self.executor.submit(identity, self.place).result()
        self.run = self.store.run(self.place.kit, text)
        return self.run

    def rows(self, recipes: Iterable[str]) -> Iterator[Row]:
        """Yield the rows of all recipes that are not done, each when it is in the store."""
        todo = self._todo(recipes)
        try:
            while True:
                free = AHEAD * count_of(self.executor) - len(self._out)
                for recipe in islice(todo, max(0, free)):
                    self._out[self._submit(recipe)] = recipe
                if not self._out:
                    return
                for future in wait(self._out, return_when=FIRST_COMPLETED).done:
                    if future in self._out:  # it may have been run again with others
                        for row in self._results(future, self._out.pop(future)):
                            self.store.add(self.run, row)
                            yield row
        finally:
            for future in self._out:
                future.cancel()

    def _todo(self, recipes: Iterable[str]) -> Iterator[str]:
        """The recipes that are neither done nor out."""
        for recipe in recipes:
            if self.store.known(self.run.key(recipe)):
                self.known += 1
            elif recipe not in self._out.values():
                yield recipe

    def _submit(self, recipe: str) -> Future:
        try:
            return self.executor.submit(work, self.place, recipe)
        except BrokenExecutor as error:
            failed = Future()
            failed.set_exception(error)
            return failed

    def _results(self, future: Future, recipe: str) -> Iterator[Row]:
        """The row of a case; where a worker died, those of all cases that were out, run one by one."""
        try:
            yield future.result()
        except (BrokenExecutor, CancelledError, OSError) as error:
            if not isinstance(error, BrokenExecutor) or not self.renew:
                raise RuntimeError(
                    problem(
                        "the workers must stay until the sweep ends",
                        f"{type(error).__name__} {error}",
                        "sweep again, perhaps with another executor: it goes on where it stopped",
                    )
                ) from error
            recipes = [recipe, *self._out.values()]
            self._out.clear()
            self._renewed()
            for lost in recipes:
                try:
                    yield self._submit(lost).result()
                except BrokenExecutor:  # it ends its worker again: it is the one that did
                    self._renewed()
                    yield died(lost, self.recorded)
        except Exception as error:
            # dask gives a case up of which worker after worker died; by name, for dask may not be there
            if type(error).__name__ != "KilledWorker":
                raise
            yield died(recipe, self.recorded)

    def _renewed(self) -> None:
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor = self.renew()

    def close(self) -> None:
        if self.renew:
            self.executor.shutdown(cancel_futures=True)


@dataclass(eq=False)
class Swept:
    """What a sweep did: how many cases `ran` now and were `known`, and how all of the run's store went, by outcome."""

    store: str
    run: Run
    ran: int = 0
    known: int = 0
    outcomes: Counter = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    dumps: Path | None = None

    @property
    def passed(self) -> bool:
        """Whether cases were judged and none is wrong."""
        return bool(self.outcomes[RIGHT]) and not self.outcomes[WRONG] and not self.outcomes[DIED]

    def __str__(self) -> str:
        counts = counted(self.outcomes) or message("no case")
        lines = [
            tr(
                "{store}: {counts} on {device}",
                store=self.store,
                counts=counts,
                device=device_text(self.run.device),
            ),
            tr(
                "{ran:,} cases ran, {known:,} were known; kit {kit}",
                ran=self.ran,
                known=self.known,
                kit=self.run.kit,
            ),
            *map(tr, self.wrong),
        ]
        if self.dumps:
            lines.append(tr("dumps of wrong cases: {folder}", folder=self.dumps))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        title, about, *more = str(self).splitlines()
        return as_html(title, (), [], [about, *more], mark=GREEN if self.passed else RED)

    def to_json(self) -> dict:
        return {
            "passed": self.passed,
            "store": self.store,
            "kit": self.run.kit,
            "device": self.run.device,
            "ran": self.ran,
            "known": self.known,
            "outcomes": dict(self.outcomes),
        }


def sweep(
    cases,
    device="host",
    executor=None,
    store="runs.sqlite",
    *,
    ops=None,
    seeds: int = 1,
    soc=None,
    cann=None,
    plan=None,
    root=None,
    custom=None,
    progress: Callable | None = None,
) -> Swept:
    """Run and judge many cases, and record each once in a store.

    Parameters
    ----------
    cases : str, path or iterable of dict
        "suite", "deep", "exhaustive" (all numbers of the 16-bit formats, for elementwise
        operators), "recorded:FILE" (those of a capsule), a file (a JSON list of recipes, ATK's
        .json, TTK's .csv), or recipes, which are dicts with the keywords of `av.case` and the
        "operator". Nothing is drawn before a worker does.
    device : str or path
        "host", "atlas" (each worker takes a card that is free), "atlas:1", the path of a capsule,
        or a kernel as FILE.py:FUNCTION.
    executor : int, Executor or Client, optional
        A number of processes, any Executor of concurrent.futures, or a Client of dask.distributed;
        by default this process.
    store : str or path
        An SQLite file on a local disk, keyed by recipe, kit and device. A wrong case leaves a dump
        in the folder of its name with ".dumps".
    ops : str or sequence of str, optional
        The operators of a suite, by default all.
    seeds : int
        How often each case of a suite is drawn anew.
    soc, cann, plan : str, optional
        Those of `av.open_device` for the host; for a kernel, whose operator counts.
    root, custom : str or path, optional
        Those of `av.open_device` for an Atlas.
    progress : callable, optional
        `progress(iterable, total)` may show a bar.

    Returns
    -------
    Swept
        With `passed`, and how many cases `ran` in this call.

    Raises
    ------
    ValueError
        For what names no cases or device, and for a file that is no store.
    TypeError
        For other kinds of arguments.
    OSError
        Where the store cannot be written.
    RuntimeError
        When workers are lost or have another kit.

    Notes
    -----
    An interrupted sweep goes on when it is called again.

    Examples
    --------
    >>> result = sweep([{"operator": "rms_norm", "shape": (4, 6), "seed": 3}], store=":memory:")
    >>> result.passed, result.ran
    (True, 1)
    """
    cases = _source(cases, ops, whole("seeds", seeds, 1))
    place = Place.of(device, soc=soc, cann=cann, plan=plan, root=root, custom=custom)
    progress = noted if progress is None else function("progress", progress)
    with Store(store) as opened:
        drive = Drive(place, executor, opened)
        try:
            result = Swept(str(store), drive.begin())
            written: Counter = Counter()
            for row in progress(drive.rows(cases), cases.count):
                result.ran += 1
                if row.actual and result.store != MEMORY and written[row.operator] < DUMPS:
                    written[row.operator] += 1
                    result.dumps = _dump(Path(f"{store}.dumps"), row, drive)
        finally:
            drive.close()
        result.known = drive.known
        result.outcomes = _outcomes(opened, result.run)
        result.wrong = _wrong(opened, result.run)
    return result


def _outcomes(store: Store, run: Run) -> Counter:
    query = "SELECT outcome, count(*) FROM cases WHERE run = ? GROUP BY outcome"
    return Counter(dict(store.rows(query, [run.number])))


def _wrong(store: Store, run: Run) -> list[str]:
    query = (
        "SELECT outcome, operator, dtype, mode, note FROM cases WHERE run = ? AND outcome IN (?, ?) "
        "ORDER BY key LIMIT ?"
    )
    return [
        message(
            "{outcome}: {case}: {note}",
            outcome=kept(outcome),
            case=linked("{some}, {more}", filter(None, about)),
            note=store.note(note),
        )
        for outcome, *about, note in store.rows(query, [run.number, WRONG, DIED, LISTED])
    ]


def _source(cases, ops, seeds: int) -> Source:
    if isinstance(cases, (str, Path)):
        return source(cases, ops, seeds)
    if (
        isinstance(cases, (Mapping, suites.Recipe))
        or not isinstance(cases, Iterable)
        or getattr(cases, "ndim", 1) == 0
    ):
        raise TypeError(
            problem(
                'cases are "suite", "deep", "exhaustive", a file, or an iterable of recipes',
                shown(cases),
                'pass such as [{"operator": NAME, "shape": (4, 16), "seed": 3}]',
            )
        )
    return of_operators(cases, ops)


def _dump(folder: Path, row: Row, drive: Drive) -> Path:
    """Write a wrong case as a folder that `aclnn-viz check FOLDER` reads, with what was computed."""
    ready = prepared(*draw(row.recipe, drive.recorded))
    place = folder / drive.run.key(row.recipe)[:16]
    write_cases(place, ready.case.operator, [dumped(ready, row.actual)], force=True)
    return folder
