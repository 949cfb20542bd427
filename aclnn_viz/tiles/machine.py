"""Cores that run one kernel, each in a thread that goes on only when it is its turn."""

import threading
from collections.abc import Callable

import numpy as np

from aclnn_viz.tiles.core import Core, Instruction
from aclnn_viz.tiles.hazards import Hazards, Stop
from aclnn_viz.tiles.platforms import Platform


class Machine:
    """Cores that run one kernel. `without` holds lines of the program whose waits are taken out."""

    def __init__(self, platform: Platform, cores: int, schedule, sync: str = "auto", traced: bool = False,
                 without=frozenset()):
        self.platform, self.schedule, self.auto = platform, schedule, sync == "auto"
        self.hazards, self.trace, self.without = Hazards(), [] if traced else None, without
        self.landed: list[Instruction] | None = [] if traced else None
        self.hazardous: set[tuple[int, int, tuple[str, int]]] = set()
        self.waits: set[int] = set()  # the lines of the program that make something wait
        self.cores = [Core(self, index) for index in range(cores)]
        self._threads: dict[Core, _Thread] = {}

    def run(self, kernel: Callable, arguments):
        """Run the kernel on all cores, one at a time from SyncAll to SyncAll; raises what a program raises."""
        if len(self.cores) == 1:
            _Thread(self.cores[0], kernel, arguments).work()
        else:
            self._threads = {core: _Thread(core, kernel, arguments) for core in self.cores}
            try:
                self._phases()
            finally:
                for thread in self._threads.values():
                    thread.end()
        self.schedule.drain(self.cores)
        for core in self.cores:
            self._finish(core)

    def _phases(self):
        running = list(self.cores)
        while running:
            for core in self.schedule.order(running):
                self._threads[core].resume()
                if self._threads[core].error is not None:
                    raise self._threads[core].error
                if self._threads[core].stopped:
                    return
            waiting = [core for core in running if not self._threads[core].ended]
            if waiting and len(waiting) < len(self.cores):
                core = waiting[0]
                self.hazards.add("deadlock", f"SyncAll waits for {len(self.cores) - len(waiting)} of {len(self.cores)} "
                                 "cores that have ended", core.index, self._threads[core].where)
                return
            self.schedule.drain(self.cores)
            running = waiting
            for core in running:
                core.epoch += 1

    def meet(self, core: Core):
        """Let a core wait in SyncAll for all others."""
        if len(self.cores) == 1:
            self.schedule.drain(self.cores)
            core.epoch += 1
        else:
            self._threads[core].where = core.where()
            self._threads[core].pause()

    def _finish(self, core: Core):
        if core.ended_at is None:
            return
        for name in (name for pipe in core.pipes for name in pipe.held()):
            self.hazards.add("never freed", f"the kernel ends while {name} holds a tensor", core.index, core.ended_at)
        if core.atomic is not None:
            self.hazards.add("atomic mode left on", "the kernel ends while SetAtomicAdd is on", core.index,
                             core.ended_at)
        for event, number in core.flags:
            self.hazards.add("flag unpaired", f"the kernel ends while id {number} of {event.name} is set: the next "
                             "kernel on this core finds it", core.index, core.ended_at)


class _Thread:
    """A core's kernel in a thread that runs only when resumed."""

    def __init__(self, core: Core, kernel: Callable, arguments):
        self.core, self.kernel, self.arguments = core, kernel, arguments
        self.go, self.back = threading.Semaphore(0), threading.Semaphore(0)
        self.thread = None
        self.ended = self.stopped = self.abandoned = False
        self.error = self.where = None

    def work(self):
        """Run the kernel in this thread, to its end or to a hazard after which it cannot go on."""
        with self.core, np.errstate(all="ignore"):
            try:
                self.kernel(*self.arguments)
                self.core.ended_at = self.kernel.__code__.co_filename, self.kernel.__code__.co_firstlineno
            except Stop:
                self.stopped = True

    def resume(self):
        if self.thread is None:
            self.thread = threading.Thread(target=self._threaded, daemon=True)
            self.thread.start()
        else:
            self.go.release()
        self.back.acquire()

    def pause(self):
        self.back.release()
        self.go.acquire()
        if self.abandoned:
            raise Stop

    def end(self):
        """Let a thread that waits in SyncAll for ever end."""
        if self.thread is not None and not self.ended:
            self.abandoned = True
            self.resume()
        if self.thread is not None:
            self.thread.join()

    def _threaded(self):
        try:
            self.work()
        except BaseException as error:
            self.error = error
        self.ended = True
        self.back.release()
