"""The table of conventions: complete, executed, and changed by any kernel that changes one of its rows."""

import inspect
import json
from dataclasses import replace

import numpy as np
import pytest
from machine import taught
from tables import table
from together import in_one

from aclnn_viz import cli, operator, operators
from aclnn_viz.operators import registry
from aclnn_viz.operators.families import sampling
from aclnn_viz.operators.faults.edits import sources
from aclnn_viz.verification import conventions
from aclnn_viz.verification.conventions.model import TOPICS, recomputed
from aclnn_viz.verification.errata import errata as register
from aclnn_viz.verification.errata.model import Contradiction

WRITTEN = [op.name for op in taught() if registry.file("conventions", op.name)]
ROWS = [
    pytest.param(name, row, id=f"{name}-{row.topic}-{number}")
    for name in WRITTEN
    for number, row in enumerate(conventions.conventions(operator(name)))
]


@in_one
@pytest.mark.parametrize(("name", "row"), ROWS)
def test_the_kernel_does_what_is_written_down(name, row):
    found = recomputed(name, row)
    assert found.holds, (found.kit, found.recorded)
    assert (
        all((row.where, row.document, row.published, row.why, found.pytorch))
        and row.topic in TOPICS
    )


def test_every_operator_says_what_its_places_ask_for():
    topics = {
        name: {row.topic for row in conventions.conventions(operator(name))} for name in WRITTEN
    }
    assert len(WRITTEN) >= 7 and all(found >= {"not finite", "empty"} for found in topics.values())
    # hardswish divides by nothing
    assert {name for name in WRITTEN if "zero divisor" not in topics[name]} == {"hardswish"}
    samplers = {"grid_sampler_2d", "grid_sampler_3d"}
    assert {name for name in WRITTEN if "kink" in topics[name]} >= {"hardswish", *samplers}
    assert all("tie" in topics[name] for name in samplers)


@pytest.mark.parametrize(("name", "row"), ROWS)
def test_a_kernel_that_changes_a_row_is_noticed(name, row, monkeypatch):
    """Other numbers everywhere, in other shapes, from any inputs."""
    op = operator(name)
    monkeypatch.setattr(
        type(op),
        "backward",
        lambda self, /, **inputs: (
            {f"other {output}": np.full((4, 4), 99.0) for output in op.outputs}
            | {output: np.full((4, 4), 99.0) for output in op.outputs}
        ),
    )
    assert not recomputed(name, row).holds


def test_a_changed_kink_changes_its_rows_and_no_other(monkeypatch, capsys):
    page = operator("hardswish").page
    right = page.backward
    monkeypatch.setattr(
        page,
        "backward",
        lambda xp, gradOutput, self: {
            "out": np.where(
                np.abs(self) == 3, gradOutput * (self > 0), right(xp, gradOutput, self)["out"]
            )
        },
    )
    rows = conventions.recompute([operator("hardswish")])
    assert {row.topic for row in rows if not row.holds} == {"kink"}
    assert cli.main(["conventions", "hardswish"]) == 1
    assert "[0], BUT THE VALUE WRITTEN DOWN IS [-0.5]" in capsys.readouterr().out


def test_a_changed_tie_of_the_taps_changes_the_rows_of_the_3d_sampler(monkeypatch):
    """The one page that both samplers read: ties of nearest away from 0, as a device with another rounding has them."""
    right = sampling.taps

    def taps(xp, x, size, interpolationMode, *modes):
        tapped = right(xp, x, size, interpolationMode, *modes)
        if interpolationMode != sampling.NEAREST:
            return tapped
        u, _ = sampling.source(xp, x, size, *modes)
        return [(xp.floor(u + 0.5), *tapped[0][1:])]

    monkeypatch.setattr(operator("grid_sampler_3d").page, "taps", taps)
    rows = conventions.recompute([operator("grid_sampler_3d")])
    assert [(row.topic, row.holds) for row in rows if row.topic == "tie"] == [
        ("tie", False),
        ("tie", True),
    ]
    assert all(row.holds for row in rows if row.topic != "tie")


# Edits of pages that change results only at kinks, ties and special values, and the topic of a row
# that tells.
EDITS = table(r"""
hardswish                       | kink         | x < -3.0                                                         | x <= -3.0
hardswish                       | kink         | x <= 3.0                                                         | x < 3.0
hardswish                       | not finite   | xp.where(x <= 3.0, inside, xp.ones_like(x))                      | xp.where(x > 3.0, xp.ones_like(x), inside)
rms_norm                        | parameter    | return x * rstd                                                  | return x * abs(rstd)
cross_entropy_loss              | not finite   | gradLoss * counted if                                            | xp.where(counted > 0, gradLoss, 0 * counted) if
cross_entropy_loss              | zero divisor | gradLoss / weightSum                                             | gradLoss / xp.where(weightSum == 0, 1.0, weightSum)
cross_entropy_loss              | not finite   | nll + smooth * xp.sum(weight)                                    | nll
group_norm_swish                | not finite   | xp.guard(s * z, -2e4, 2e4)                                       | s * z
group_norm_swish                | zero divisor | (x - mean) * rstd\n    dz                                        | xp.where(x == mean, 0, (x - mean) * rstd)\n    dz
layer_norm                      | parameter    | return (input - mean) * rstd                                     | return (input - mean) * abs(rstd)
grid_sampler_2d grid_sampler_3d | kink         | u > 0.0                                                          | u >= 0.0
grid_sampler_2d grid_sampler_3d | kink         | u < size - 1)                                                    | u <= size - 1)
grid_sampler_2d grid_sampler_3d | kink         | first = xp.floor(u)\n    t =                                     | first = xp.ceil(u) - 1.0\n    t =
grid_sampler_2d grid_sampler_3d | tie          | xp.round(u), xp.ones                                             | xp.floor(u + 0.5), xp.ones
grid_sampler_2d grid_sampler_3d | tie          | xp.round(u), xp.ones                                             | xp.ceil(u - 0.5), xp.ones
grid_sampler_2d grid_sampler_3d | not finite   | NOWHERE = -100.0                                                 | NOWHERE = 0.0
grid_sampler_2d grid_sampler_3d | not finite   | xp.zeros_like(u) * u, xp                                         | xp.zeros_like(u), xp
grid_sampler_2d grid_sampler_3d | zero divisor | (size - 1) / 2\n                                                 | max(size - 1, 1) / 2\n
grid_sampler_2d                 | parameter    | HUGE = 2.0**31                                                   | HUGE = 2.0**50
grid_sampler_2d                 | not finite   | dot * xp.reshape(dx, (-1,)), dot)                                | dot * xp.reshape(dx, (-1,)), dot * dx.ravel())
grid_sampler_2d                 | not finite   | if paddingMode != REFLECTION:                                    | if True:
grid_sampler_2d                 | not finite   | dot = xp.where(inside, xp.astype(dot, xp.float64), xp.zeros_like(grad_x)) |
grid_sampler_2d                 | not finite   | interpolationMode != NEAREST:\n            dot                   | True:\n            dot
grid_sampler_2d                 | not finite   | xp.full_like(index, pixels)                                      | xp.zeros_like(index)
""")


@pytest.mark.parametrize(
    ("name", "topic", "old", "new"),
    [(name, *row) for names, *row in EDITS for name in names.split()],
)
@pytest.mark.sampled(6)
def test_a_small_change_of_a_page_at_a_special_value_changes_a_row(
    name, topic, old, new, monkeypatch
):
    page = operator(name).page
    edited, source = next(
        (module, inspect.getsource(module)) for module, text in sources(page) if old in text
    )
    assert source.count(old) == 1
    changed = {"__name__": "changed"}
    exec(compile(source.replace(old, new), edited.__file__, "exec"), changed)  # noqa: S102
    for each in {edited.__name__: edited, page.__name__: page}.values():
        for key in vars(each).keys() & changed.keys():
            if key == "taps" or each is edited and not key.startswith("__"):
                monkeypatch.setattr(each, key, changed[key])
    rows = conventions.recompute([operator(name)])
    assert topic in {row.topic for row in rows if not row.holds}


def test_the_text_and_the_data_hold_the_same(capsys, monkeypatch):
    rows = conventions.recompute()
    monkeypatch.setattr(conventions, "recompute", lambda _: rows)
    assert cli.main(["conventions", "--json"]) == 0
    content = json.loads(capsys.readouterr().out)
    assert content["passed"] and len(content["conventions"]) >= len(ROWS)
    text = " ".join(conventions.text_table(rows).split())
    for row in content["conventions"]:
        assert all(
            " ".join(row[key].split()) in text for key in ("where", "kit", "published", "why")
        )
    assert not conventions.to_json([])["passed"]


class Torch:
    __version__ = "9.9"


@pytest.mark.parametrize(
    ("there", "value"),
    [([0.0], "[0] (9.9, run here)"), ([7.0], "[7] (9.9, run here), but [0] (2.13.0)")],
)
def test_pytorch_is_run_where_it_is_installed_and_another_value_is_reported(
    there, value, monkeypatch
):
    row = replace(conventions.conventions(operator("hardswish"))[0], peer=lambda torch: there)
    monkeypatch.setattr("aclnn_viz.verification.conventions.model.torch_here", lambda: Torch)
    assert recomputed("hardswish", row).pytorch == value


def test_without_pytorch_its_values_are_cited_with_the_version(monkeypatch):
    monkeypatch.setattr("aclnn_viz.verification.conventions.model.torch_here", lambda: None)
    rows = conventions.recompute([operator("hardswish")])
    assert all(row.pytorch.endswith("(2.13.0)") for row in rows)


@pytest.mark.parametrize("op", taught(), ids=lambda op: op.name)
def test_an_operator_without_a_file_has_measured_rows(op, monkeypatch):
    find = registry.module
    monkeypatch.setattr(
        registry, "module", lambda kind, name: None if kind == "conventions" else find(kind, name)
    )
    monkeypatch.setattr(registry, "table", lambda kind, name, made=dict: made({}))
    rows = conventions.recompute([op])
    kinked = {"kink"} if op.name in DECLARED else set()
    assert {row.topic for row in rows} == {"not finite", "empty"} | kinked
    assert all(row.holds for row in rows)
    assert any("not finite" in row.kit for row in rows) and any(
        "refused" in row.kit or "[0" in row.kit for row in rows
    )


DECLARED = [op.name for op in operators() if any(tensor.kinks for tensor in op.tensors.values())]


@pytest.mark.needs("torch")
def test_page_errata_pytorch_and_conventions_agree_at_every_declared_kink():
    rows = [row for row in conventions.recompute(DECLARED) if row.topic == "kink"]
    assert len({row.operator for row in rows}) >= 10  # two have kinks where two tensors are equal
    assert [row for row in rows if not row.holds or ", but " in row.pytorch] == []
    assert all("run here" in row.pytorch for row in rows)


def test_an_erratum_about_a_kink_is_seen_on_the_page_and_told_by_the_conventions():
    """An erratum that only quotes two texts may say the opposite of the page's result."""
    errata = [one for one in register() if one.operator in DECLARED]
    quoted = [e for e in errata if all(isinstance(part, Contradiction) for part in e.evidence)]
    assert errata and quoted == []
    told = {row.document for row in conventions.recompute(DECLARED) if row.topic == "kink"}
    assert {e.id for e in errata if e.document in told} == {
        "hardtanh-bounds",
        "selu-zero",
        "threshold-zero",
    }


@pytest.mark.needs("torch")
def test_a_page_that_takes_the_other_slope_at_a_kink_differs_from_pytorch(monkeypatch):
    monkeypatch.setattr(
        operator("hardtanh").page,
        "backward",
        lambda xp, gradOutput, self, min, max: {
            "out": gradOutput * ((self >= min) & (self <= max))
        },
    )
    rows = [row for row in conventions.recompute(["hardtanh"]) if row.topic == "kink"]
    assert len(rows) == 2 and all(", but " in row.pytorch for row in rows)
