"""Small runs in all relevant orders; each wait removed alone; and the search itself against all orders."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from machine import SOAK
from small_kernels import gm

import aclnn_viz as av
from aclnn_viz.tiles.ascendc import *  # noqa: F403
from aclnn_viz.tiles.by_operator import hardswish, rms_norm
from aclnn_viz.tiles.machine import Machine
from aclnn_viz.tiles.memory import GlobalMemory
from aclnn_viz.tiles.platforms import Platform
from aclnn_viz.tiles.program import explore
from aclnn_viz.tiles.schedules import Search, explored

DTYPES = ("float32", "float16")


def short_tiles(platform, gradOutput, self):
    """Return the program's own tiling, with tiles of 64 elements."""
    tiling = hardswish.tiling(platform, gradOutput, self)
    tiling.tileLength = 64
    return tiling


def rms(tile, atomic):
    return Program(
        "rms_norm",
        "small",
        partial(rms_norm.tiling, tileLength=tile, atomic=atomic),
        rms_norm.kernel,
        deterministic=not atomic,
        sync="strict",
    )


HARDSWISH = Program("hardswish", "small", short_tiles, hardswish.kernel, sync="strict")
INSTANCES = {  # at most 3 tiles a core and 2 cores
    "hardswish": [(HARDSWISH, {"shape": (360,), "dtype": dtype}) for dtype in DTYPES],
    "rms_norm": [
        (rms(tile, atomic), {"shape": shape, "dtype": dtype})
        for atomic in (False, True)
        for dtype in DTYPES
        for tile, shape in ((64, (6, 5)), (64, (4, 130)), (64, (0, 4)))
    ],
}
# Waits that no instance needs, by a part of their line, and their reasons.
REDUNDANT = {
    "dy, x = self.dyQue.AllocTensor": "the sum of a row stalls until the vector unit has read the tiles before",
    "WaitFlag(HardEvent.V_MTE2, eventID)": "the sum of a row stalls until gamma has been read",
}


def launched(program, options, **how):
    return av.tiles.launch(program, cores=2, **how, **av.case(program.operator, **options).inputs)


def lines_of(program):
    with open(program.kernel.__code__.co_filename) as file:
        return ["", *file.read().splitlines()]


@pytest.mark.parametrize("name", INSTANCES)
def test_each_wait_is_necessary_or_said_to_be_redundant(name):
    needed: dict[int, bool] = {}
    for program, options in INSTANCES[name]:
        right = launched(program, options)
        assert not right.hazards
        for line in right.waits:
            needed[line] = needed.get(line, False) or bool(
                launched(program, options, without={line}).hazards
            )
    source = lines_of(INSTANCES[name][0][0])
    idle = [source[line].strip() for line, need in sorted(needed.items()) if not need]
    assert [text for text in idle if not any(known in text for known in REDUNDANT)] == []
    assert len(needed) >= 12 and (name == "hardswish") == (not idle)


@pytest.mark.parametrize(
    ("program", "options", "orders"),
    [
        (HARDSWISH, {"shape": (360,)}, 1),
        (HARDSWISH, {"shape": (200,), "dtype": "bfloat16"}, 1),
        (rms(64, False), {"shape": (4, 5)}, 1),
        (rms(64, False), {"shape": (2, 130)}, 1),
        (rms(64, True), {"shape": (4, 5)}, 2),  # the two cores' sums, in either order
    ],
)
def test_all_orders_are_right(program, options, orders):
    found = explore(program, cores=2, **av.case(program.operator, **options).inputs)
    assert found.proved and found.count == orders


@pytest.mark.parametrize(
    "text", ["self.xQue.DeQue", "self.outQue.DeQue", "out = self.outQue.AllocTensor"]
)
def test_without_a_wait_some_order_gives_another_number(text):
    case = av.case("hardswish", shape=(180,))
    (line,) = (k for k, source in enumerate(lines_of(HARDSWISH)) if text in source)
    found = explore(HARDSWISH, limit=40, cores=1, without={line}, **case.inputs)
    assert "missing wait" in {hazard.kind for hazard in found.hazards} and len(found.outcomes) > 1
    assert not found.proved


def test_a_search_that_stops_early_proves_nothing():
    (line,) = (k for k, source in enumerate(lines_of(HARDSWISH)) if "self.xQue.DeQue" in source)
    case = av.case("hardswish", shape=(180,))
    found = explore(HARDSWISH, limit=2, cores=1, without={line}, **case.inputs)
    assert found.count == 2 and not found.complete and not found.proved


class Everything(Search):
    """All orders of everything, commuting or not."""

    def choose(self, steps):
        chosen = super().choose(steps)
        self.nodes[self.depth - 1].asleep.clear()
        return chosen

    def turn(self):
        while self.nodes:
            node = self.nodes[-1]
            node.tried = getattr(node, "tried", set()) | {node.chosen.key}
            if left := set(node.enabled) - node.tried:
                node.chosen = node.enabled[min(left)]
                return True
            self.nodes.pop()
        return False


def random_kernel(seed, length=4):
    """Return a few loads, sums, fills, stores and scalar reads over two tensors, with or without waits."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, 9, length).tolist()
    places = rng.integers(0, 2, (length, 2)).tolist()

    def kernel(x, y):
        pipe = TPipe()
        buf = TBuf(VECCALC)
        pipe.InitBuffer(buf, 64)
        tensors = [buf.Get(float32), buf.Get(float32)[8]]
        for step, (a, b) in zip(steps, places):
            if step == 0:
                DataCopy(tensors[a], gm(x)[8 * b], 8)
            elif step == 1:
                Add(tensors[a], tensors[a], tensors[b], 8)
            elif step == 2:
                Duplicate(tensors[a], float(b), 8)
            elif step == 3:
                DataCopy(gm(y)[8 * b], tensors[a], 8)
            elif step == 4:
                SetFlag(HardEvent.MTE2_V, 0)
                WaitFlag(HardEvent.MTE2_V, 0)
            elif step == 5:
                PipeBarrier(PIPE_V)
            elif step == 6:
                SetFlag(HardEvent.V_MTE3, 0)
                WaitFlag(HardEvent.V_MTE3, 0)
            elif step == 7:
                Duplicate(tensors[a], tensors[b].GetValue(0), 8)
            else:
                SetAtomicAdd(float32)
                DataCopy(gm(y)[8 * b], tensors[a], 8)
                SetAtomicNone()
        DataCopy(gm(y), tensors[0], 8)

    return kernel


def orders_of(kernel, search):
    x = np.arange(1, 17, dtype=np.float32)

    def run(schedule):
        y = np.zeros(16, np.float32)
        machine = Machine(Platform.of("Ascend910B2"), 1, schedule, "strict")
        machine.run(kernel, (GlobalMemory("x", x, True), GlobalMemory("y", y, False)))
        return SimpleNamespace(outputs={"y": y}, hazards=list(machine.hazards))

    return explored(run, 5000, search)


def test_the_search_finds_what_trying_everything_finds():
    counts = []
    for seed, length in [
        *((seed, 4) for seed in range(40 if SOAK else 20)),
        *((seed, 5) for seed in range(25, 33 if SOAK else 26)),
    ]:
        kernel = random_kernel(seed, length)
        found, every = orders_of(kernel, Search()), orders_of(kernel, Everything())
        assert found.complete and every.complete
        assert set(found.outcomes) == set(every.outcomes), seed
        counts.append((found.count, every.count, len(found.outcomes)))
    # the reduction reduces
    assert sum(few for few, *_ in counts) < sum(all_ for _, all_, _ in counts) / 2
    assert sum(outcomes > 1 for *_, outcomes in counts) >= 5  # and there is something to find


def test_order_alone_decides_whether_hazards_are_named():
    """Without a missing wait, no order of everything gives another outcome; the judge knows no horizons."""
    silent = [
        seed
        for seed in range(60)
        if {"missing wait", "missing barrier", "missing scalar wait"}.isdisjoint(
            hazard.kind for hazard in orders_of(random_kernel(seed), Search()).hazards
        )
    ]
    for seed in silent:
        kinds = {hazard.kind for hazard in orders_of(random_kernel(seed), Search()).hazards}
        every = orders_of(random_kernel(seed), Everything())
        assert len(every.outcomes) == 1 or "dirty atomics" in kinds, seed
    assert len(silent) > 5
