"""Any message from the browser: nothing raises, nothing is overwritten, no long reply."""

import random

import pytest
from machine import SOAK

from aclnn_viz.explorers import explore

NAMES = ("hardswish", "grid_sampler_2d", "group_norm_swish", "two_phase")
ROUNDS = 5000 // len(NAMES) + 1 if SOAK else 60
STRANGE = (
    None,
    True,
    False,
    0,
    1,
    -1,
    2.5,
    10**400,
    float("nan"),
    float("inf"),
    "",
    "x" * 10**6,
    [],
    [[]],
    {},
    {"x": {}},
    "1",
    ["a"],
    "host",
    "atlas:9",
    "Ascend960",
)
OTHERS = "controls colours initial picture words problem _esm _css layout tooltip nothing".split()


@pytest.fixture(params=NAMES)
def explorer(request):
    made = explore(request.param)
    made.sent = []
    made.send = lambda content, buffers=None: made.sent.append(content)
    yield made
    made.close()


def tell(explorer, method, **what):
    explorer._handle_msg({"content": {"data": {"method": method, **what}}, "buffers": []})


def update(explorer, state):
    tell(explorer, "update", state=state, buffer_paths=[])


def move(explorer, values):
    update(explorer, {"values": explorer.initial | values})


def known(explorer):
    return {name: getattr(explorer, name) for name in "controls colours initial _esm _css".split()}


def test_strange_messages(explorer, record_property):
    record_property("messages", ROUNDS)
    draw, before = random.Random(explorer.subject.name), known(explorer)
    for _ in range(ROUNDS):
        picture = explorer.picture
        match draw.choice("value value values name other lift".split()):
            case "value":
                move(explorer, {draw.choice(list(explorer.initial)): draw.choice(STRANGE)})
            case "values":
                update(explorer, {"values": draw.choice(STRANGE)})
            case "name":
                move(explorer, {draw.choice(("nope", "", "x" * 10**6)): 1})
                assert explorer.picture is picture and "takes" in explorer.problem[""]
            case "other":
                update(explorer, {draw.choice(OTHERS): draw.choice(STRANGE)})
                assert explorer.picture is picture
            case "lift":
                lift = {"lift": draw.choice(STRANGE)}
                tell(explorer, "custom", content=draw.choice([lift, *STRANGE]))
        assert (
            explorer.values.keys() == explorer.initial.keys() and len(str(explorer.problem)) < 3000
        )
        assert len(str(explorer.sent)) < 3000
        explorer.sent.clear()
        assert known(explorer) == before
    move(explorer, {})
    assert explorer.problem == {}


def test_one_is_no_true(explorer):
    flags = [name for name, value in explorer.initial.items() if isinstance(value, bool)]
    for name in flags:
        move(explorer, {name: 1})
        assert "must be True or False: got 1" in explorer.problem[name]
        move(explorer, {})
        assert explorer.problem == {}
