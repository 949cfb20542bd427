"""One sweep: skip recipes that are in the ledger, cut the rest into units of work, and yield their rows as they are done.

A limited number of units is with the workers at a time, and recipes are made when they are needed, so memory does not grow
with the sweep. When a worker dies, its unit is run again one case at a time: so the case that ended it is found.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from itertools import islice

from aclnn_viz.errors import problem
from aclnn_viz.sweeps.ledger import Ledger, Run
from aclnn_viz.sweeps.place import Place
from aclnn_viz.sweeps.work import Row, died, work
from aclnn_viz.sweeps.workers import Crew
from aclnn_viz.words.speech import message

SECONDS = 0.5  # a unit of work should take about so long
MOST, FIRST = 64, 4  # cases of a unit: at most, and before it is known how long a case takes
LOOKED_UP = 256  # recipes that are looked up in the ledger by one query
DEATH = message("it ended its worker")


class Drive:
    """One sweep under way; `known` counts the recipes that were done before."""

    def __init__(self, place: Place, crew: Crew, ledger: Ledger, run: Run, recorded: Mapping):
        self.place, self.crew, self.ledger, self.run, self.recorded = place, crew, ledger, run, recorded
        self.known = 0
        self._out: dict[Future, list[str]] = {}
        self._per_case = SECONDS / FIRST

    def rows(self, recipes: Iterator[str]) -> Iterator[Row]:
        """Yield the rows of all recipes that are not done, each when it is in the ledger."""
        todo = self._todo(recipes)
        try:
            while True:
                while len(self._out) < self.crew.window() and (unit := list(islice(todo, self._size()))):
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
            raise RuntimeError(problem("the workers must stay until the sweep ends", f"{type(error).__name__} {error}",
                                       "sweep again: it goes on where it stopped")) from error
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
            raise RuntimeError(problem("the workers must stay until the sweep ends", f"{type(error).__name__} {error}",
                                       "sweep again with another executor: it goes on where it stopped")) from error
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
