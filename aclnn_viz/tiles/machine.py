"""Cores that run one kernel, each in a thread that goes on only when it is its turn."""

import os
import threading
from collections.abc import Callable

import numpy as np

from aclnn_viz.tiles.core import Core, Instruction
from aclnn_viz.tiles.hazards import Hazards, Stop
from aclnn_viz.tiles.platforms import Platform
from aclnn_viz.words.speech import message


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
                told = message("SyncAll waits for {n} of {all} cores that have ended", n=len(self.cores) - len(waiting),
                               all=len(self.cores))
                self.hazards.add("deadlock", told, core.index, self._threads[core].where)
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

    def part(self):
        """Let go of what holds each other, so that memories are free at once and not when cycles are next looked for."""
        for core in self.cores:
            for pipe in core.pipes:
                pipe.queues.clear()
            core.pipes.clear()
            core.issued.clear()
            if self.trace is None:
                core.ub.give_back()
        self.cores.clear()
        self._threads.clear()
        self.schedule = self.trace = self.landed = None

    def _finish(self, core: Core):
        if core.ended_at is None:
            return
        for name in (name for pipe in core.pipes for name in pipe.held()):
            told = message("the kernel ends while {queue} holds a tensor", queue=name)
            self.hazards.add("never freed", told, core.index, core.ended_at)
        if core.atomic is not None:
            self.hazards.add("atomic mode left on", message("the kernel ends while SetAtomicAdd is on"), core.index,
                             core.ended_at)
        for event, number in core.flags:
            told = message("the kernel ends while id {id} of {event} is set: the next kernel on this core finds it", id=number,
                           event=event.name)
            self.hazards.add("flag unpaired", told, core.index, core.ended_at)


class _Worker:
    """A thread that runs one kernel after another, each only when it is told to go on; `back` says that it has paused."""

    def __init__(self):
        self.go, self.back, self.run = threading.Lock(), threading.Lock(), None
        self.go.acquire()
        self.back.acquire()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def step(self):
        self.go.release()
        self.back.acquire()

    def pause(self):
        self.back.release()
        self.go.acquire()

    def _work(self):
        going = True
        while going:
            self.go.acquire()
            going = self.run()
            self.back.release()


_idle: list[_Worker] = []  # to start a thread takes longer than many a kernel
if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_idle.clear)


class _Thread:
    """A core's kernel in a thread that runs only when resumed."""

    def __init__(self, core: Core, kernel: Callable, arguments):
        self.core, self.kernel, self.arguments = core, kernel, arguments
        self.ended = self.stopped = self.abandoned = False
        self.worker = self.error = self.where = None

    def work(self):
        """Run the kernel in this thread, to its end or to a hazard after which it cannot go on."""
        with self.core, np.errstate(all="ignore"):
            try:
                self.kernel(*self.arguments)
                self.core.ended_at = self.kernel.__code__.co_filename, self.kernel.__code__.co_firstlineno
            except Stop:
                self.stopped = True

    def resume(self):
        if self.worker is None:
            try:
                self.worker = _idle.pop()
            except IndexError:  # to ask before is too early: other threads launch as well
                self.worker = _Worker()
            self.worker.run = self._threaded
        self.worker.step()
        if self.ended and not self.abandoned:
            self.worker.run = None
            _idle.append(self.worker)

    def pause(self):
        self.worker.pause()
        if self.abandoned:
            raise Stop

    def end(self):
        """Let a thread that waits in SyncAll for ever end."""
        if self.worker is not None and not self.ended:
            self.abandoned = True
            self.resume()
            self.worker.thread.join()

    def _threaded(self) -> bool:
        """Whether the thread is left to another kernel."""
        try:
            self.work()
        except BaseException as error:
            self.error = error
        self.ended = True
        return not self.abandoned
