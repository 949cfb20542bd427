"""When what a pipe does lands: as issued, as late as the waits allow, or in an order drawn from a seed.

All three are legal. A program whose waits are right gives the same bits under each, but for the order of atomic sums.
"""

import heapq
import random
from collections import defaultdict
from operator import ge

from aclnn_viz.errors import problem, shown
from aclnn_viz.tiles.core import Instruction
from aclnn_viz.tiles.memory import PIPES


class Eager:
    """Every instruction lands when it is issued: the order in which the program is written."""

    def issue(self, one: Instruction):
        one.land()

    def reach(self, core, one: Instruction):
        pass

    def drain(self, cores):
        pass

    def order(self, cores: list) -> list:
        return cores


class Late:
    """Nothing lands before something waits for it, and of what may land the youngest lands first."""

    def __init__(self):
        self.ready: list = []  # a heap of (priority, number, instruction)
        self.waiting: dict = defaultdict(list)  # (core, pipe, position) -> instructions
        self.landed: dict = {}  # core -> positions up to which each pipe has landed
        self.number = 0

    def order(self, cores: list) -> list:
        return cores

    def priority(self, one: Instruction) -> float:
        return -self.number

    def issue(self, one: Instruction):
        self.number += 1
        core, horizon, landed = one.core, one.horizon, self.landed.setdefault(one.core, [0] * 4)
        for pipe in PIPES:
            if horizon[pipe] > landed[pipe]:
                one.missing += 1
                self.waiting[core, pipe, horizon[pipe]].append(one)
        one.entry = self.priority(one), self.number, one
        if not one.missing:
            heapq.heappush(self.ready, one.entry)

    def land(self, one: Instruction):
        one.land()
        one.landed, one.entry = True, None
        landed, issued = self.landed[one.core], one.core.issued[one.pipe]
        core, pipe = one.core, one.pipe
        while landed[pipe] < len(issued) and issued[landed[pipe]].landed:
            landed[pipe] += 1
            for freed in self.waiting.pop((core, pipe, landed[pipe]), ()):
                freed.missing -= 1
                if not freed.missing:
                    heapq.heappush(self.ready, freed.entry)

    def needed(self, core, horizon) -> list[int]:
        """The positions that must land for a horizon: what it names, and what that waits for."""
        reached, before = list(horizon), None
        while reached != before:
            before = list(reached)
            for pipe in PIPES:
                if reached[pipe]:
                    further = core.issued[pipe][reached[pipe] - 1].horizon
                    reached = list(map(max, reached, further))
        return reached

    def reach(self, core, one: Instruction):
        """Land what the scalar unit waits for, and no more."""
        landed = self.landed.setdefault(core, [0] * 4)
        if all(map(ge, landed, one.horizon)):
            return  # the usual case: all of it has landed
        needed, aside = self.needed(core, one.horizon), []
        while any(landed[pipe] < needed[pipe] for pipe in PIPES):
            entry = heapq.heappop(self.ready)
            if entry[2].core is core and entry[2].position <= needed[entry[2].pipe]:
                self.land(entry[2])
            else:
                aside.append(entry)
        for entry in aside:
            heapq.heappush(self.ready, entry)

    def drain(self, cores):
        while self.ready:
            self.land(heapq.heappop(self.ready)[2])


class Seeded(Late):
    """Any legal order of the instructions, cores and atomic sums, drawn from a seed."""

    def __init__(self, seed: int):
        super().__init__()
        self.random = random.Random(seed)

    def order(self, cores: list) -> list:
        return self.random.sample(cores, len(cores))

    def priority(self, one: Instruction) -> float:
        return self.random.random()

    def reach(self, core, one: Instruction):
        super().reach(core, one)
        while self.ready and self.random.random() < 0.5:  # what nobody waits for may land as well
            self.land(heapq.heappop(self.ready)[2])


def schedule_of(name):
    """The schedule of "eager", "late" or a seed; ValueError for anything else."""
    if isinstance(name, (Eager, Late)):
        return name
    seed = isinstance(name, int) and not isinstance(name, bool) and name >= 0
    if not seed and (not isinstance(name, str) or name not in ("eager", "late")):
        raise ValueError(problem("schedule must be 'eager', 'late' or a seed", shown(name), "choose one"))
    return Eager() if name == "eager" else Late() if name == "late" else Seeded(name)
