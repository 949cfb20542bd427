"""Mechanical edits of pages: proved equal only where numbers agree, and otherwise refuted by numbers."""

import sys
from pathlib import Path

import pytest

import aclnn_viz as av
from aclnn_viz.operators.faults.fault import changed
from aclnn_viz.proving.subjects import of_operator

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import edits  # noqa: E402

FEW = {"hardswish": 8, "rms_norm": 8, "layer_norm": 8, "group_norm_swish": 6}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.soak if name != "hardswish" else ()) for name in FEW],
)
def test_a_sample_of_edits_is_decided_rightly(name):
    op = av.operator(name)
    rows = [edits.tried(op, edit) for edit in edits.drawn(op, FEW[name], seed=1)]
    assert [row for row in rows if row.wrongly or row.outcome == edits.UNDECIDED] == []


@pytest.mark.soak
@pytest.mark.parametrize("name", edits.EACH)
def test_all_edits_are_decided_rightly_and_the_rest_is_caught(name):
    op = av.operator(name)
    rows = [edits.tried(op, edit) for edit in edits.drawn(op, edits.EACH[name])]
    undecided = [row for row in rows if row.outcome == edits.UNDECIDED]
    assert (
        not any(row.wrongly for row in rows)
        and len(undecided) <= 0.05 * len(rows)
        and all(row.caught is not False for row in undecided)
    )


@pytest.mark.parametrize(
    "name, old, new, differ",
    [
        ("hardswish", "x <= 3.0", "x < 3.0", True),
        ("hardswish", "x / 3.0 + 0.5", "(x + 1.5) / 3.0", False),
        ("rms_norm", "(dy * gamma - xhat", "(dy * gamma + 1e-6 - xhat", True),
        ("layer_norm", "row_mean(xp, grad * xhat)", "row_mean(xp, (grad - 1) * xhat)", False),
        *(
            pytest.param("cross_entropy_loss", *one, marks=pytest.mark.soak)
            for one in (
                ("labelSmoothing != 0.0:\n        grad", "True:\n        grad", False),
                ("gradLoss / weightSum * counted", "gradLoss / weightSum", True),
            )
        ),
    ],
)
@pytest.mark.sampled(1)
def test_the_judge_of_edits_tells_pages_apart(name, old, new, differ):
    op = av.operator(name)
    pairs = zip(of_operator(op), of_operator(op, changed(op.page, ((old, new),))), strict=True)
    assert any(edits.differs(*pair, draws=20) for pair in pairs) == differ
