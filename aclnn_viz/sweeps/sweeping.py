"""`sweep`: many cases on a device or a kernel, here or on many machines, each recorded once.

Recipes that are in the ledger are skipped, the rest is cut into units of work, of which a limited number is with the workers at
a time, so memory does not grow with the sweep. When a worker dies, its unit is run again one case at a time: so the case that
ended it is found.
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
from aclnn_viz.sweeps.ledger import MEMORY, Ledger, Run
from aclnn_viz.sweeps.place import Place, device_text, recorded_at
from aclnn_viz.sweeps.recipes import Source, draw, given, source
from aclnn_viz.sweeps.findings import counted
from aclnn_viz.sweeps.work import DIED, WRONG, Row, died, identity, work
from aclnn_viz.sweeps.workers import Crew, crew
from aclnn_viz.tables import GREEN, RED, as_html
from aclnn_viz.words.messages import kept, linked, message, tr

SECONDS = 0.5  # a unit of work should take about so long
MOST, FIRST = 64, 4  # cases of a unit: at most, and before it is known how long a case takes
LOOKED_UP = 256  # recipes that are looked up in the ledger by one query
DEATH = message("it ended its worker")


class Drive:
    """One sweep under way; `known` counts the recipes that were done before."""

    def __init__(self, place: Place, crew: Crew, ledger: Ledger, run: Run, recorded: Mapping):
        self.place, self.crew, self.ledger, self.run, self.recorded = (
            place,
            crew,
            ledger,
            run,
            recorded,
        )
        self.known = 0
        self._out: dict[Future, list[str]] = {}
        self._per_case = SECONDS / FIRST

    def rows(self, recipes: Iterator[str]) -> Iterator[Row]:
        """Yield the rows of all recipes that are not done, each when it is in the ledger."""
        todo = self._todo(recipes)
        try:
            while True:
                while len(self._out) < self.crew.window() and (
                    unit := list(islice(todo, self._size()))
                ):
                    self._out[self._submit(unit)] = unit
                if not self._out:
                    return
                for future in wait(self._out, return_when=FIRST_COMPLETED).done:
                    if future in self._out:  # it may have been run again with others
                        yield from self._kept(future, self._out.pop(future))
        finally:
            for future in self._out:
                future.cancel()

    def _todo(self, recipes: Iterator[str]) -> Iterator[str]:
        """The recipes that are neither done nor out."""
        while some := dict.fromkeys(islice(recipes, LOOKED_UP)):
            keys = {self.run.key(recipe): recipe for recipe in some}
            done = self.ledger.known(keys)
            self.known += len(done)
            for key, recipe in keys.items():
                if key not in done and not any(recipe in unit for unit in self._out.values()):
                    yield recipe

    def _size(self) -> int:
        return max(1, min(MOST, int(SECONDS / self._per_case)))

    def _submit(self, unit: list[str]) -> Future:
        try:
            return self.crew.executor.submit(work, self.place, unit)
        except BrokenExecutor as error:
            failed = Future()
            failed.set_exception(error)
            return failed

    def _kept(self, future: Future, unit: list[str]) -> Iterator[Row]:
        try:
            rows = future.result()
        except BrokenExecutor as error:  # all that is out is lost with it
            units = [unit, *self._out.values()]
            self._out.clear()
            yield from self._one_by_one([recipe for one in units for recipe in one], error)
        except (CancelledError, OSError) as error:
            raise RuntimeError(
                problem(
                    "the workers must stay until the sweep ends",
                    f"{type(error).__name__} {error}",
                    "sweep again: it goes on where it stopped",
                )
            ) from error
        except Exception as error:
            if not _killed_worker(error):
                raise
            yield from self._one_by_one(unit, error)
        else:
            yield from self._added(rows)

    def _one_by_one(self, recipes: list[str], error: BaseException) -> Iterator[Row]:
        """Run cases alone that were out when a worker died: one that ends its worker again is the one that did."""
        broken = isinstance(error, BrokenExecutor)
        if broken and self.crew.renew is None:
            raise RuntimeError(
                problem(
                    "the workers must stay until the sweep ends",
                    f"{type(error).__name__} {error}",
                    "sweep again with another executor: it goes on where it stopped",
                )
            ) from error
        if broken:
            self.crew.renewed()
        for recipe in recipes:
            try:
                rows = self._submit([recipe]).result()
            except Exception as again:
                if not isinstance(again, BrokenExecutor) and not _killed_worker(again):
                    raise
                if isinstance(again, BrokenExecutor):
                    self.crew.renewed()
                rows = [died(recipe, self.recorded, DEATH)]
            yield from self._added(rows)

    def _added(self, rows: list[Row]) -> Iterator[Row]:
        self.ledger.add(self.run, rows)
        if rows:
            self._per_case += 0.3 * (sum(row.seconds for row in rows) / len(rows) - self._per_case)
            self._per_case = max(self._per_case, 1e-4)
        yield from rows


def _killed_worker(error: BaseException) -> bool:
    """Whether dask gave a unit up because worker after worker died of it; asked by name, dask may not be there."""
    return type(error).__name__ == "KilledWorker"


DUMPS = 20  # wrong cases of an operator that are written
LISTED = 10  # of them that are named


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
        return bool(self.outcomes["right"]) and not self.outcomes[WRONG] and not self.outcomes[DIED]

    def __str__(self) -> str:
        about = {
            "counts": counted(self.outcomes) or message("no case"),
            "device": device_text(self.run.device),
        }
        lines = [
            tr("{counts} on {device}", **about)
            if self.store == MEMORY
            else tr("{store}: {counts} on {device}", store=self.store, **about),
            tr(
                "{ran:,} cases ran, {known:,} were known; kit {kit}",
                ran=self.ran,
                known=self.known,
                kit=self.run.kit,
            ),
            *map(tr, self.wrong),
        ]
        lines += [tr("dumps of wrong cases: {folder}", folder=self.dumps)] * bool(self.dumps)
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
    """Run and judge many cases, and record each once in a store; an interrupted sweep goes on when it is called again.

    `cases` are "suite", "deep", "exhaustive" (all numbers of the 16-bit formats, for elementwise operators),
    "recorded:FILE" (those of a capsule), a file (a JSON list of recipes, ATK's .json, TTK's .csv), or an iterable of
    recipes, which are dicts with the keywords of `av.case` and the "operator"; nothing is drawn before a worker does.
    `ops` chooses operators, `seeds` says how often each case of a suite is drawn anew.

    `device` is "host", "atlas" (each worker takes a card that is free), "atlas:1", the path of a capsule, or a kernel
    as FILE.py:FUNCTION. `soc`, `cann` and `plan` are those of `av.open_device` for the host, and whose operator counts
    for a kernel; `root` and `custom` are those of an Atlas.

    `executor` is None for this process, a number of processes, any Executor of concurrent.futures, or a Client of
    dask.distributed. `store` is an SQLite file on a local disk, keyed by recipe, kit and device; a wrong case leaves a
    dump in the folder of its name with ".dumps". `progress(iterable, total)` may show a bar.

    Raises ValueError for what names no cases or device and for a file that is no store, TypeError for other kinds,
    OSError where the store cannot be written, RuntimeError when workers are lost or have another kit.

    >>> result = sweep([{"operator": "rms_norm", "shape": (4, 6), "seed": 3}], store=":memory:")
    >>> result.passed, result.ran
    (True, 1)
    """
    cases = _source(cases, ops, whole("seeds", seeds, 1))
    place = Place.of(device, soc=soc, cann=cann, plan=plan, root=root, custom=custom)
    progress = noted if progress is None else function("progress", progress)
    with Ledger(store) as ledger:
        who = crew(executor)
        try:
            run = ledger.run(place.kit, who.executor.submit(identity, place).result())
            recorded = recorded_at(place)
            drive = Drive(place, who, ledger, run, recorded)
            result, dumps = Swept(str(store), run), _Dumps(store, recorded)
            rows = drive.rows(iter(cases))
            for row in progress(rows, cases.count):
                result.ran += 1
                dumps.add(run, row)
        finally:
            who.close()
        result.known, result.dumps = drive.known, dumps.folder
        result.outcomes = Counter(
            dict(
                ledger.rows(
                    "SELECT outcome, count(*) FROM cases WHERE run = ? GROUP BY outcome",
                    (run.number,),
                )
            )
        )
        result.wrong = [
            message(
                "{outcome}: {case}: {note}",
                outcome=kept(outcome),
                case=linked("{some}, {more}", filter(None, (name, dtype, mode))),
                note=ledger.note(note),
            )
            for name, dtype, mode, outcome, note in ledger.rows(
                "SELECT operator, dtype, mode, outcome, note FROM cases WHERE run = ? AND outcome "
                "IN (?, ?) ORDER BY key LIMIT ?",
                (run.number, WRONG, DIED, LISTED),
            )
        ]
    return result


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
    return given(cases, ops)


class _Dumps:
    """The first wrong cases of each operator as folders that `aclnn-viz check FOLDER` reads, with what was computed."""

    def __init__(self, store, recorded: Mapping):
        self._under = None if str(store) == MEMORY else Path(f"{store}.dumps")
        self._recorded, self._written, self.folder = recorded, Counter(), None

    def add(self, run: Run, row: Row) -> None:
        if row.actual is None or self._under is None or self._written[row.operator] >= DUMPS:
            return
        self._written[row.operator] += 1
        ready = prepared(*draw(row.recipe, self._recorded))
        write_cases(
            dump_of(self._under, run.key(row.recipe)),
            ready.case.operator,
            [dumped(ready, row.actual)],
            force=True,
        )
        self.folder = self._under


def dump_of(under: Path, key: str) -> Path:
    """Where the dump of a case is, if it has one."""
    return under / key[:16]
