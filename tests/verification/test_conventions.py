"""The table of conventions: complete, executed, and changed by any kernel that changes one of its rows."""

import json
from dataclasses import replace

import numpy as np
import pytest

from aclnn_viz import cli, operator, operators, rooms
from aclnn_viz.verification import conventions, kinks
from aclnn_viz.verification.conventions.model import TOPICS, recomputed

WRITTEN = [op.name for op in operators() if rooms.file("conventions", op.name)]
ROWS = [pytest.param(name, row, id=f"{name}-{row.topic}-{number}") for name in WRITTEN
        for number, row in enumerate(conventions.conventions(operator(name)))]


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_the_kernel_does_what_is_written_down(name, row):
    found = recomputed(name, row)
    assert found.holds, (found.kit, found.recorded)
    assert all((row.where, row.document, row.published, row.why, found.pytorch)) and row.topic in TOPICS


def test_every_operator_says_what_its_places_ask_for():
    topics = {name: {row.topic for row in conventions.conventions(operator(name))} for name in WRITTEN}
    assert len(WRITTEN) >= 5 and all(found >= {"not finite", "empty"} for found in topics.values())
    assert {name for name in WRITTEN if "zero divisor" not in topics[name]} == {"hardswish"}  # which divides by nothing
    samplers = {"grid_sampler_2d", "grid_sampler_3d"}
    assert {name for name in WRITTEN if "kink" in topics[name]} >= {"hardswish", *samplers}
    assert all("tie" in topics[name] for name in samplers)
    assert len(WRITTEN) == len(operators())  # none is only measured


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_a_kernel_that_changes_a_row_is_noticed(name, row, monkeypatch):
    """Other numbers everywhere, in other shapes, from whatever inputs."""
    op = operator(name)
    monkeypatch.setattr(type(op), "backward", lambda self, /, **inputs: {
        f"other {output}": np.full((4, 4), 99.0) for output in op.outputs} | {
        output: np.full((4, 4), 99.0) for output in op.outputs})
    assert not recomputed(name, row).holds


def test_a_changed_kink_changes_its_rows_and_no_other(monkeypatch, capsys):
    page = operator("hardswish").page
    right = page.backward
    monkeypatch.setattr(page, "backward", lambda xp, gradOutput, self: {
        "out": np.where(np.abs(self) == 3, gradOutput * (self > 0), right(xp, gradOutput, self)["out"])})
    rows = conventions.recompute([operator("hardswish")])
    assert {row.topic for row in rows if not row.holds} == {"kink"}
    assert cli.main(["conventions", "hardswish"]) == 1
    assert "[0], BUT [-0.5] IS WRITTEN DOWN" in capsys.readouterr().out


def test_a_changed_tie_of_the_taps_changes_the_rows_of_the_3d_sampler(monkeypatch):
    """The one page that both samplers read: ties of nearest away from 0, as a device with another rounding has them."""
    page = operator("grid_sampler_2d").page
    right = page.taps

    def taps(xp, x, size, interpolationMode, *modes):
        tapped = right(xp, x, size, interpolationMode, *modes)
        if interpolationMode != page.NEAREST:
            return tapped
        u, _ = page.source(xp, x, size, *modes)
        return [(xp.floor(u + 0.5), *tapped[0][1:])]

    monkeypatch.setattr(operator("grid_sampler_3d").page, "taps", taps)
    rows = conventions.recompute([operator("grid_sampler_3d")])
    assert [(row.topic, row.holds) for row in rows if row.topic == "tie"] == [("tie", False), ("tie", True)]
    assert all(row.holds for row in rows if row.topic != "tie")


def test_the_text_and_the_data_hold_the_same(capsys):
    assert cli.main(["conventions", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["passed"] and len(content["conventions"]) >= len(ROWS)
    text = " ".join(conventions.text_table(conventions.recompute()).split())
    for row in content["conventions"]:
        assert all(" ".join(row[key].split()) in text for key in ("where", "kit", "published", "why"))
    assert not conventions.to_json([])["passed"]


class Torch:
    __version__ = "9.9"


@pytest.mark.parametrize(("there", "told"), [
    ([0.0], "[0] (9.9, run here)"), ([7.0], "[7] (9.9, run here), but [0] (2.13.0)")])
def test_pytorch_is_run_where_it_is_installed_and_another_value_is_told(there, told, monkeypatch):
    kinks.torch_here.cache_clear()
    row = replace(conventions.conventions(operator("hardswish"))[0], peer=lambda torch: there)
    monkeypatch.setattr("aclnn_viz.verification.conventions.model.torch_here", lambda: Torch)
    assert recomputed("hardswish", row).pytorch == told


def test_without_pytorch_its_values_are_cited_with_the_version(monkeypatch):
    monkeypatch.setattr("aclnn_viz.verification.conventions.model.torch_here", lambda: None)
    rows = conventions.recompute([operator("hardswish")])
    assert all(row.pytorch.endswith("(2.13.0)") for row in rows)


@pytest.mark.parametrize("op", operators(), ids=lambda op: op.name)
def test_an_operator_without_a_file_has_measured_rows(op, monkeypatch):
    find = rooms.module
    monkeypatch.setattr(rooms, "module", lambda kind, name: None if kind == "conventions" else find(kind, name))
    rows = conventions.recompute([op])
    assert {row.topic for row in rows} == {"not finite", "empty"} and all(row.holds for row in rows)
    assert any("not finite" in row.kit for row in rows) and any("refused" in row.kit or "[0" in row.kit for row in rows)
