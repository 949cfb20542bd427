"""Choose the order in which instructions of a simulated run take effect: as issued, as late as waits allow, at random by a
seed, or all relevant orders.

All are legal. A program with right waits gives the same bits under each, except for the order of atomic sums.

A search covers all relevant orders of a small run: two instructions that may land in either order and do not commute are tried
both ways. Two commute when neither writes a byte that the other reads or writes; two atomic sums onto one element do not
commute, because floating sums depend on order. Orders that differ only by exchanging commuting neighbours count once. The
search runs the program again and again (dynamic partial-order reduction with source sets and sleep sets: Abdulla, Aronsson,
Jonsson, Sagonas, POPL 2014): after each run, every pair whose order no wait enforces is tried in reverse.

The scalar unit's reads take part on their core; between cores within a phase only the rule for races between cores applies to
them.
"""

import heapq
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from operator import ge

from aclnn_viz.errors import invalid, shown, whole
from aclnn_viz.tiles.hazards import Hazard
from aclnn_viz.tiles.machine import Instruction
from aclnn_viz.tiles.memory import PIPES


class Eager:
    """Every instruction lands when issued, in the order of the program."""

    def issue(self, instruction: Instruction):
        instruction.land()

    def reach(self, core, instruction: Instruction):
        pass

    def drain(self, cores):
        pass

    def order(self, cores: list) -> list:
        return cores


class Late(Eager):
    """Nothing lands before something waits for it; the youngest lands first."""

    def __init__(self):
        self.ready: list = []  # heap of landable instructions: (priority, number, instruction)
        self.waiting: dict = defaultdict(list)  # instructions that wait, by (core, pipe, position)
        self.landed: dict = defaultdict(
            lambda: [0] * 4
        )  # for each core, the position up to which each pipe has landed
        self.number = 0

    def priority(self, instruction: Instruction) -> float:
        return -self.number

    def issue(self, instruction: Instruction):
        self.number += 1
        core, horizon, landed = (
            instruction.core,
            instruction.horizon,
            self.landed[instruction.core],
        )
        for pipe in PIPES:
            if horizon[pipe] > landed[pipe]:
                instruction.missing += 1
                self.waiting[core, pipe, horizon[pipe]].append(instruction)
        instruction.entry = self.priority(instruction), self.number, instruction
        if not instruction.missing:
            heapq.heappush(self.ready, instruction.entry)

    def land(self, instruction: Instruction):
        instruction.land()
        instruction.landed, instruction.entry = True, None
        core, pipe = instruction.core, instruction.pipe
        landed, issued = self.landed[core], core.issued[pipe]
        while landed[pipe] < len(issued) and issued[landed[pipe]].landed:
            landed[pipe] += 1
            for freed in self.waiting.pop((core, pipe, landed[pipe]), ()):
                freed.missing -= 1
                if not freed.missing:
                    heapq.heappush(self.ready, freed.entry)

    def needed(self, core, horizon) -> list[int]:
        """Return the positions that must land for a horizon: those in the horizon, and those for which they wait."""
        reached, before = list(horizon), None
        while reached != before:
            before = list(reached)
            for pipe in PIPES:
                if reached[pipe]:
                    further = core.issued[pipe][reached[pipe] - 1].horizon
                    reached = list(map(max, reached, further))
        return reached

    def reach(self, core, instruction: Instruction):
        """Land the instructions that the scalar unit waits for, and no more."""
        landed = self.landed[core]
        if all(map(ge, landed, instruction.horizon)):
            return  # in the usual case everything has landed already
        needed, aside = self.needed(core, instruction.horizon), []
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

    def priority(self, instruction: Instruction) -> float:
        return self.random.random()

    def reach(self, core, instruction: Instruction):
        super().reach(core, instruction)
        # let some instructions land for which nobody waits
        while self.ready and self.random.random() < 0.5:
            self.land(heapq.heappop(self.ready)[2])


def schedule_of(name):
    """Return the schedule for "eager", "late" or a seed; raise ValueError for anything else."""
    if isinstance(name, Eager):
        return name
    named = {"eager": Eager, "late": Late}
    if isinstance(name, str) and name in named:
        return named[name]()
    if isinstance(name, int) and not isinstance(name, bool) and name >= 0:
        return Seeded(name)
    raise invalid("schedule must be 'eager', 'late' or a seed", shown(name), "choose one")


STEPS_AT_MOST = 2000


@dataclass(frozen=True)
class Orders:
    """The results of all orders of a run: their number, all hazards, and the different outputs as bytes."""

    count: int
    hazards: tuple[Hazard, ...]
    outcomes: tuple[tuple[bytes, ...], ...]
    complete: bool

    @property
    def proved(self) -> bool:
        """Return whether no order shows a hazard and all give the same bits."""
        return self.complete and not self.hazards and len(self.outcomes) == 1


def explored(run: Callable, limit: int = STEPS_AT_MOST, search: "Search | None" = None) -> Orders:
    """Run the search of `explore` on any `run(schedule)` that returns an object with `outputs` and `hazards`."""
    limit = whole("limit", limit, 1)
    search, hazards, outcomes, count = search or Search(), {}, {}, 0
    more = True
    while more and count < limit:
        try:
            result = run(Chosen(search))
        except Redundant:
            pass
        else:
            count += 1
            outcomes.setdefault(tuple(output.tobytes() for output in result.outputs.values()))
            for hazard in result.hazards:
                hazards.setdefault((hazard.kind, hazard.file, hazard.line), hazard)
        more = search.turn()
    return Orders(count, tuple(hazards.values()), tuple(outcomes), not more)


class Redundant(BaseException):
    """Stops a run whose order equals that of an earlier run."""


class Chosen(Late):
    """The schedule that asks the search which instruction lands next."""

    def __init__(self, search: "Search"):
        super().__init__()
        self.search, self.reads = search, 0
        search.depth = 0

    def reach(self, core, instruction: Instruction):
        self.reads += 1
        self.number += 1
        landed = self.landed[core]
        while True:
            free = all(map(ge, landed, instruction.horizon))
            chosen = self.search.choose(
                [Step(entry[2], entry[1]) for entry in self.ready]
                + [Step(instruction, self.number, self.reads)] * free
            )
            if chosen.read:
                return
            self._land(chosen.number)

    def drain(self, cores):
        while self.ready:
            self._land(
                self.search.choose([Step(entry[2], entry[1]) for entry in self.ready]).number
            )

    def _land(self, number: int):
        entry = next(entry for entry in self.ready if entry[1] == number)
        self.ready.remove(entry)
        heapq.heapify(self.ready)
        self.land(entry[2])


class Step:
    """One instruction in the search: a key, the same in every run, its place in the order, and its bytes."""

    def __init__(self, instruction: Instruction, number: int, read: int = 0):
        self.number, self.read, self.core = number, read, instruction.core.index
        self.pipe, self.position = instruction.pipe, instruction.position
        self.key = self.core, self.pipe, self.position, read
        self.horizon, self.epoch, self.atomic = (
            instruction.horizon,
            instruction.core.epoch if read else instruction.epoch,
            instruction.atomic,
        )
        self.reads, self.writes = (
            tuple(
                (getattr(memory, "name", self.core), span.start, span.end)
                for memory, span in touched
            )
            for touched in (instruction.reads, instruction.writes)
        )

    def commutes(self, other: "Step") -> bool:
        return not (
            _meet(self.writes, other.reads + other.writes) or _meet(self.reads, other.writes)
        )

    def ordered_before(self, other: "Step") -> bool:
        """Return whether waits enforce this order, or the scalar unit read before it issued the other."""
        if self.epoch != other.epoch:
            return self.epoch < other.epoch
        if self.core != other.core:
            return False
        if self.read:
            return self.number < other.number
        return other.horizon[self.pipe] >= self.position


def _meet(spans, others) -> bool:
    return any(
        a == b and start < last and first < end
        for a, start, end in spans
        for b, first, last in others
    )


@dataclass
class Node:
    """A state of the search: instructions that may land, the chosen one, those to try, those tried or not needed."""

    enabled: dict
    chosen: Step
    to_try: set
    asleep: dict


class Search:
    """A depth-first search over the choices; each run asks `choose`, and `turn` prepares the next run."""

    def __init__(self):
        self.nodes: list[Node] = []
        self.depth = 0

    def choose(self, steps: list[Step]) -> Step:
        enabled = {step.key: step for step in steps}
        self.depth += 1
        if self.depth <= len(self.nodes):
            node = self.nodes[self.depth - 1]
            node.enabled, node.chosen = enabled, enabled[node.chosen.key]
            return node.chosen
        asleep = {}
        if self.nodes:
            before = self.nodes[-1]
            asleep = {
                key: step for key, step in before.asleep.items() if step.commutes(before.chosen)
            }
        awake = [step for key, step in enabled.items() if key not in asleep]
        if not awake:
            raise Redundant
        chosen = min(awake, key=lambda step: step.number)
        self.nodes.append(Node(enabled, chosen, {chosen.key}, asleep))
        return chosen

    def turn(self) -> bool:
        """Record the choices that the last run adds, and return to the last state with an untried choice."""
        self._races()
        while self.nodes:
            node = self.nodes[-1]
            node.asleep[node.chosen.key] = node.chosen
            left = [key for key in node.to_try if key not in node.asleep]
            if left:
                node.chosen = node.enabled[min(left)]
                return True
            self.nodes.pop()
        return False

    def _races(self):
        """Plan a run in reverse order for each pair of conflicting steps that no wait orders; both runs begin alike."""
        steps = [node.chosen for node in self.nodes]
        before: list[set[int]] = []  # for each step, the steps that must precede it
        for j, later in enumerate(steps):
            earlier: set[int] = set()
            for i in range(j - 1, -1, -1):
                if i in earlier:
                    continue
                ordered, commute = steps[i].ordered_before(later), steps[i].commutes(later)
                if not ordered and not commute:
                    self._reverse(i, j, steps, [*before, earlier])
                if ordered or not commute:
                    earlier = earlier | {i} | before[i]
            before.append(earlier)

    def _reverse(self, i: int, j: int, steps: list[Step], before: list[set[int]]):
        """Choose the first step of a run that reverses the pair i, j: a step between them that does not need i, or j."""
        free = [k for k in range(i + 1, j) if i not in before[k]] + [j]
        first = [steps[k].key for k in free if not before[k] & set(free)]
        if not self.nodes[i].to_try & set(first):
            self.nodes[i].to_try.add(first[0])
