"""Tile programs that are right on the suite, and wrong on a check's further cases: each is named, and right ones pass."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from machine import SOAK

import aclnn_viz as av
from aclnn_viz.checking.scope import DEPTHS
from aclnn_viz.operators import registry
from aclnn_viz.operators.faults.fault import page_from


def edited(op, old, new, which=0):
    right = registry.module("tiles", op)
    text = Path(right.__file__).read_text("utf-8")
    assert text.count(old) == 1
    return page_from(text.replace(old, new), right, f"{right.__name__}_{abs(hash(new))}").PROGRAMS[
        which
    ]


def test_a_pass_says_for_which_rows_cores_buffers_and_orders():
    program = av.tiles.programs("hardswish")[0]
    result = av.check("hardswish", program, dtypes="float32")
    found = result.trials
    assert (
        result.passed
        and "run as a tile program: rows" not in str(result)
        and {33, 35, 39} <= set(found.lengths["float32"])
        and {1, 2, 7, 48} == set(found.cores)
    )
    assert (
        min(found.buffers) < max(found.buffers)
        and "late" in found.orders
        and all(whole for *_, whole in found.explored)
    )
    assert "all orders agree" in str(result) and "4097" in result._repr_html_()
    assert json.loads(result.to_json())["trials"]["runs"] == found.runs > 16


def test_a_quick_check_and_other_kernels_try_none_of_it():
    op = av.operator("hardswish")
    quick = av.check(op, av.tiles.programs(op)[0], depth="quick")
    assert (
        quick.trials is None
        and "run as a tile program: rows with tails, other numbers of cores"
        in str(quick).splitlines()[-1]
    )
    assert json.loads(quick.to_json())["not_tried"][-1].startswith("run as a tile program")
    result = av.check(op, lambda **inputs: op.backward(**inputs))
    assert (
        result.trials is None and "run as a tile program" not in str(result) + result._repr_html_()
    )
    given = av.check(op, av.tiles.programs(op)[0], cases=[av.case(op, shape=(40,))])
    assert given.passed and "run as a tile program: rows" in str(given)


def test_a_hazard_is_no_line_of_the_kit():
    wrong = next(
        one for one in av.tiles.faults("hardswish") if one.name == "queue not freed"
    ).broken("hardswish")
    result = av.check("hardswish", wrong, dtypes="float32", depth="quick")
    assert "never freed" in str(result) and "tiles/program.py" not in str(result)


@pytest.mark.parametrize(
    ("what", "old", "new"),
    [
        (
            "output not written",
            "range(0, self.length, self.tile)",
            "range(0, min(self.length, 512), self.tile)",
        ),
        (
            "with 32768 bytes",
            "tile = int(available / bytes_of_element) // 256 * 256",
            "tile = int(available / bytes_of_element) // 256 * 256 + 8",
        ),
        (
            "run as a tile program on 7 cores",
            "first = core * tiling.blockLength",
            "first = core * (tiling.blockLength + 8 * (GetBlockNum() == 7 < tiling.blockLength // 8))",
        ),
    ],
)
def test_what_the_suite_does_not_show_is_named(what, old, new):
    program = edited("hardswish", old, new)
    assert av.check("hardswish", program, dtypes="float32", depth="quick").passed
    result = av.check("hardswish", program, dtypes="float32", shapes=[(40,)])
    assert not result.passed and any(what in did for did in result.misbehaviour), result


def test_a_sum_in_the_order_of_arrival_is_not_deterministic(monkeypatch):
    """The orders of a short run show it; long rows run in the soak."""
    monkeypatch.setitem(
        DEPTHS, "normal", replace(DEPTHS["normal"], trials=DEPTHS["normal"].trials if SOAK else 1)
    )
    program = next(one for one in av.tiles.programs("rms_norm") if not one.deterministic)
    asked = {"dtypes": "float32", "shapes": [(4, 6)]}
    assert av.check("rms_norm", program, **asked).passed
    result = av.check("rms_norm", replace(program, deterministic=True), **asked)
    assert not result.passed and any("different results" in did for did in result.misbehaviour)
