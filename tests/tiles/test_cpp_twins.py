"""A kernel in C++ and its twin in Python have the same hazards, the same numbers and the same stated times."""

from pathlib import Path

import numpy as np
import pytest
import restated

import aclnn_viz as av
from aclnn_viz.tiles.ascendc import *  # noqa: F403
from aclnn_viz.tiles.cpp import cpp

pytestmark = pytest.mark.needs("g++")
SOURCES = Path(__file__).parent / "cpp"
A2 = av.tiles.Costs.published("A2")


def add_custom(x, y, z, total):
    """add_custom.cpp line by line."""
    block = total // GetBlockNum()
    xGm, yGm, zGm = (restated.named(one)[block * GetBlockIdx()] for one in (x, y, z))
    pipe, inA, inB, out, tile = (
        TPipe(),
        TQue(VECIN, 2),
        TQue(VECIN, 2),
        TQue(VECOUT, 2),
        block // 16,
    )
    for queue in (inA, inB, out):
        pipe.InitBuffer(queue, 2, tile * 4)
    for k in range(16):
        a, b = inA.AllocTensor(float32), inB.AllocTensor(float32)
        DataCopy(a, xGm[k * tile], tile)
        DataCopy(b, yGm[k * tile], tile)
        inA.EnQue(a), inB.EnQue(b)
        a, b, c = inA.DeQue(float32), inB.DeQue(float32), out.AllocTensor(float32)
        Add(c, a, b, tile)
        out.EnQue(c)
        inA.FreeTensor(a), inB.FreeTensor(b)
        c = out.DeQue(float32)
        DataCopy(zGm[k * tile], c, tile)
        out.FreeTensor(c)


def seen(kernel, arguments, **how):
    """Return kinds of hazards, numbers, and each instruction's pipe and stated times."""
    arguments = [one.copy() if isinstance(one, np.ndarray) else one for one in arguments]
    run = av.tiles.run(kernel, *arguments, **how)
    times = av.tiles.timeline(run, costs=A2)
    spans = [(one.core, one.pipe, one.name, one.start, one.end) for one in times.spans]
    return [hazard.kind for hazard in run.hazards], arguments[-2:], times.task, times.busy, spans


TWINS = {
    "add_custom": (add_custom, [*restated.arrays(4096, 4096, -4096), 4096], {"cores": 4}),
    "multiply_static": (restated.multiply_static, restated.arrays(2048, -2048), {"sync": "strict"}),
}


def same(one, other):
    assert one[0] == other[0] and one[2:] == other[2:]
    assert all(np.array_equal(a, b) for a, b in zip(one[1], other[1]))


@pytest.mark.parametrize("name", TWINS)
def test_twins_have_the_same_numbers_and_times(name):
    python, arguments, how = TWINS[name]
    same(
        *(seen(kernel, arguments, **how) for kernel in (python, cpp(SOURCES / f"{name}.cpp")[name]))
    )


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ("WaitFlag(HardEvent.MTE2_V, k % 2)", "pass", ("WaitFlag<HardEvent::MTE2_V>(k % 2);", "")),
        (
            "WaitFlag(HardEvent.MTE3_MTE2, k % 2)",
            "WaitFlag(HardEvent.MTE3_MTE2, 0)",
            (
                "if (k > 1) WaitFlag<HardEvent::MTE3_MTE2>(k % 2);",
                "if (k > 1) WaitFlag<HardEvent::MTE3_MTE2>(0);",
            ),
        ),
    ],
)
def test_twins_with_the_same_bug_have_the_same_hazards(old, new, wrong, tmp_path):
    text = (SOURCES / "multiply_static.cpp").read_text("utf-8")
    assert text.count(wrong[0]) == 1
    (tmp_path / "wrong.cpp").write_text(text.replace(*wrong), "utf-8")
    found = [
        seen(kernel, TWINS["multiply_static"][1], sync="strict")
        for kernel in (
            restated.edited("multiply_static", old, new),
            cpp(tmp_path / "wrong.cpp")["multiply_static"],
        )
    ]
    assert found[0][0] == found[1][0] != []
