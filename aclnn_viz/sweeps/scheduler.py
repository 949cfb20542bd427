"""`sweep`: run and judge many test cases on a device or a kernel, here or on many machines, and record each once.

Recipes in the store are skipped. Only a limited number of the others is submitted at a time, so memory does not grow with the
sweep. When a process dies, the submitted cases run again one by one, to find the case that killed it.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Future, wait
from itertools import islice

from aclnn_viz.errors import function, problem
from aclnn_viz.notebook import noted
from aclnn_viz.sweeps.place import Place
from aclnn_viz.sweeps.recipes import source
from aclnn_viz.sweeps.reports import Report, of_run
from aclnn_viz.sweeps.store import Store
from aclnn_viz.sweeps.work import Row, died, identity, work
from aclnn_viz.sweeps.workers import count_of, executor_of

AHEAD = 4  # cases submitted per worker: enough to keep it busy, few enough for memory


class Drive:
    """One running sweep; `ran` counts its cases, `known` those already in the store."""

    def __init__(self, place: Place, executor, store: Store):
        self.place, self.store, self.ran, self.known = place, store, 0, 0
        self.executor, self.renew = executor_of(executor)
        self._out: dict[Future, str] = {}

    def begin(self) -> None:
        """Begin or continue the run in the store; a worker reports the device."""
        text = self.executor.submit(identity, self.place).result()
        self.run = self.store.run(self.place.kit, text)

    def rows(self, recipes: Iterable[str]) -> Iterator[Row]:
        """Run the recipes that are not in the store, and yield the row of each as soon as the row is stored."""
        todo = self._todo(recipes)
        try:
            while True:
                free = AHEAD * count_of(self.executor) - len(self._out)
                for recipe in islice(todo, max(0, free)):
                    self._out[self._submit(recipe)] = recipe
                if not self._out:
                    return
                for future in wait(self._out, return_when=FIRST_COMPLETED).done:
                    # After the death of a worker, `_results` runs all submitted cases again and
                    # empties `_out`.
                    if future in self._out:
                        for row in self._results(future, self._out.pop(future)):
                            self.store.add(self.run, row)
                            self.ran += 1
                            yield row
        finally:
            for future in self._out:
                future.cancel()

    def _todo(self, recipes: Iterable[str]) -> Iterator[str]:
        """Yield the recipes that are neither stored nor submitted."""
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
        """Yield the row of a case; after the death of a worker the rows of all submitted cases, run one by one."""
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
                except BrokenExecutor:  # a case that kills its worker twice is the cause
                    self._renewed()
                    yield died(lost)
        except Exception as error:
            # dask gives up a case that killed several workers; compared by name, because dask is optional
            if type(error).__name__ != "KilledWorker":
                raise
            yield died(recipe)

    def _renewed(self) -> None:
        self.executor.shutdown(wait=False, cancel_futures=True)
        self.executor = self.renew()

    def close(self) -> None:
        if self.renew:
            self.executor.shutdown(cancel_futures=True)


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
) -> Report:
    """Run and judge many cases, and record each once in a store.

    Parameters
    ----------
    cases : str, path or iterable of dict
        "suite", "standard" (what `aclnn-viz run` records), a file with a JSON list of recipes, or recipes,
        which are dicts with the keywords of `av.case` and the "operator". Workers draw the cases.
    device : str or path
        "host", "atlas", "atlas:1", the path of a capsule, or a kernel as FILE.py:FUNCTION.
    executor : int, Executor or Client, optional
        A number of processes, any Executor of concurrent.futures, or a Client of dask.distributed;
        by default this process.
    store : str or path
        An SQLite file on a local disk, keyed by recipe, kit and device.
    ops : str or sequence of str, optional
        The operators of a suite, by default all.
    seeds : int
        The number of draws of each case of a suite.
    soc, cann, plan : str, optional
        Options of `av.open_device` for the host; for a kernel, the operator that judges it.
    root, custom : str or path, optional
        Options of `av.open_device` for an Atlas.
    progress : callable, optional
        `progress(iterable, total)` may show a bar.

    Returns
    -------
    Report
        It has `passed`, and the number of cases that `ran` in this call.

    Raises
    ------
    ValueError
        For unknown cases or devices, and for a file that is no store.
    TypeError
        For arguments of other types.
    OSError
        If the store cannot be written.
    RuntimeError
        When workers are lost or have another kit.

    Notes
    -----
    Calling an interrupted sweep again continues it.

    Examples
    --------
    >>> result = sweep([{"operator": "rms_norm", "shape": (4, 6), "seed": 3}], store=":memory:")
    >>> result.passed, result.ran
    (True, 1)
    """
    cases = source(cases, ops, seeds)
    place = Place.of(device, soc=soc, cann=cann, plan=plan, root=root, custom=custom)
    progress = noted if progress is None else function("progress", progress)
    with Store(store) as opened:
        drive = Drive(place, executor, opened)
        try:
            drive.begin()
            for _ in progress(drive.rows(cases), cases.count):
                pass
        finally:
            drive.close()
        result = of_run(opened, drive.run)
        result.ran, result.known = drive.ran, drive.known
        return result
