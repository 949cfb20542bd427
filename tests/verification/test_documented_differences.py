"""Peers differ from the page exactly as documented; one more difference fails, and so does one less."""

import numpy as np
import pytest
from machine import ROOT, sampled
from together import in_one

import aclnn_viz as av
from aclnn_viz.checking import judge
from aclnn_viz.devices import Peer, UnsupportedError
from aclnn_viz.devices.peers import PEERS, computed_by
from aclnn_viz.operators import registry
from aclnn_viz.operators.peers import NARROW
from aclnn_viz.verification import peers
from aclnn_viz.verification.conventions import conventions
from aclnn_viz.verification.conventions.model import Row, as_text

OPERATORS = [op.name for op in av.operators() if registry.file("peer", op.name)]
SOME = [op.name for op in sampled(__name__)]  # JAX compiles for each shape
#: Compiling every shape of a sampler takes most of a minute; their derivatives and loops are also elsewhere, on fewer shapes.
ALL = {
    library: [
        pytest.param(
            name,
            library,
            marks=[pytest.mark.needs(library)]
            + [pytest.mark.soak] * (name.startswith("grid_sampler") and library != "torch"),
        )
        for name in OPERATORS
        if computed_by(library, name) and (library != "jax" or name in SOME)
    ]
    for library in PEERS
}


class Fake(Peer):
    """A fake PyTorch: the kit's kernel, changed."""

    library = "torch"

    def __init__(self, change):
        super().__init__("torch (imagined)")
        self.change = change

    def _compute(self, op, bound, arranged):
        return self.change(op.backward(**bound), bound)

    def _library(self):
        return {"library": self.name}


def open_interval(out, bound, at_3=1.0):
    x, grad = bound["self"], bound["gradOutput"]
    slope = np.where(
        x == -3, np.zeros_like(x), np.where(x == 3, np.full_like(x, at_3), np.full_like(x, np.nan))
    )
    return {"out": np.where(np.isnan(slope), out["out"], slope * grad).astype(out["out"].dtype)}


def refusing(out, bound):
    raise UnsupportedError("PyTorch is tired: got work; let it rest")


def failures(name, change):
    return [
        failure for _, failure in peers.found(av.operator(name), "torch", Fake(change)) if failure
    ]


def differs_exactly_as_documented(name, library):
    rows = peers.found(av.operator(name), library)
    assert len(rows) >= 15 and [failure for _, failure in rows if failure] == []


@pytest.mark.parametrize(("name", "library"), ALL["torch"])
def test_pytorch_differs_exactly_as_documented(name, library):
    differs_exactly_as_documented(name, library)


@pytest.mark.parametrize(("name", "library"), ALL["jax"])
@pytest.mark.sampled(4)
def test_jax_differs_exactly_as_documented(name, library):
    differs_exactly_as_documented(name, library)


@pytest.mark.parametrize(("name", "library"), ALL["numba"])
@pytest.mark.sampled(2)
def test_numba_differs_exactly_as_documented(name, library):
    differs_exactly_as_documented(name, library)


def test_documented_differences_pass_and_are_reported():
    rows = peers.found(av.operator("hardswish"), "torch", Fake(open_interval))
    found = "the interval is open at -3: slope 0; the interval is open at 3: slope 1; below -3 an infinite gradient"
    assert all(text.startswith(found) for text, _ in rows)
    assert not any(failure for _, failure in rows)


def test_a_documented_difference_that_is_gone_fails():
    text = failures("hardswish", lambda out, bound: out)
    assert len(text) == 2 and all(
        "documented to differ, but differs on none of the cases: the interval" in t for t in text
    )


def test_another_value_than_the_documented_one_fails():
    text = failures("hardswish", lambda out, bound: open_interval(out, bound, at_3=1.25))
    assert (
        "no documented difference explains it" in text[0]
        and "differs on none of the cases: the interval is open at 3" in text[-1]
    )


@pytest.mark.parametrize(
    "change",
    [
        lambda out, bound: open_interval({"out": out["out"] * out["out"].dtype.type(1.01)}, bound),
        lambda out, bound: {"out": open_interval(out, bound)["out"].astype(np.float16)},
    ],
)
def test_a_difference_that_nobody_documented_fails(change):
    text = failures("hardswish", change)
    assert text and all("no documented difference explains it" in one for one in text)


def test_a_refusal_that_nobody_documented_fails():
    assert "refuses shape=(6, 7): PyTorch is tired" in failures("hardswish", refusing)[0]


def test_rounding_beyond_the_documented_plan_fails(monkeypatch):
    """The plan grants rounding between two functions in 16 bits, and no more."""
    narrow = [
        n
        for n, one in enumerate(judge.suite_recipes("group_norm_swish"))
        if one.options.get("dtype") in NARROW
    ]
    monkeypatch.setattr(
        peers,
        "prepared_suite",
        lambda *_: [judge.prepared_at("group_norm_swish", n, 0) for n in narrow[:2]],
    )
    op, scaled = (
        av.operator("group_norm_swish"),
        lambda by: (
            lambda out, bound: {
                name: (value.astype(np.float64) * by).astype(value.dtype)
                for name, value in out.items()
            }
        ),
    )
    for by, right in ((1 + 2.0**-7, True), (1.2, False)):
        text = [failure for _, failure in peers.found(op, "torch", Fake(scaled(by))) if failure]
        assert (text == []) == right


def differs(row):
    """Return whether PyTorch has another value than the kernel; without a difference, none is documented."""
    return row.pytorch is not None and as_text(row.pytorch) != as_text(row.returns)


@in_one
@pytest.mark.parametrize("name", OPERATORS)
def test_a_difference_that_cites_a_convention_is_what_that_says(name):
    rows = {row.where: row for row in conventions(av.operator(name))}
    for difference in [
        one
        for documented in registry.own("peer", name, "DIFFERENCES", {}).values()
        for one in documented
    ]:
        assert (
            difference.text and difference.source and None in (difference.plan, difference.values)
        )
        assert difference.plan or difference.values or difference.convention
        if difference.convention:
            row = rows[difference.convention]
            assert differs(row)


def test_every_convention_that_pytorch_has_otherwise_is_documented():
    cited = {
        one.convention
        for name in OPERATORS
        for one in registry.own("peer", name, "DIFFERENCES", {}).get("torch", ())
    }
    differing = {
        row.where
        for name in OPERATORS
        for row in conventions(av.operator(name))
        if row.peer and differs(row)
    }
    assert differing and differing <= cited


def test_a_convention_in_which_pytorch_gives_another_value_fails(monkeypatch):
    monkeypatch.setattr(
        peers,
        "recomputed",
        lambda name, one: Row(
            name,
            one.topic,
            one.where,
            "",
            "",
            "7 (9.9, run here), but 0 (2.13.0)" if one.peer else "x",
            "nan",
            "",
            True,
            "",
        ),
    )
    assert (
        "the conventions say gradOutput = 1, self = -3: 7 (9.9"
        in failures("hardswish", open_interval)[0]
    )


@pytest.mark.needs("torch")
def test_a_check_of_a_peer_tells_what_is_documented():
    result = av.check("hardswish", "torch", depth="quick")
    assert (
        not result.passed
        and "is documented to differ: the interval is open at 3: slope 1" in str(result)
    )
    assert av.check("rms_norm", "torch").passed


@pytest.mark.needs("torch")
def test_an_operator_of_ones_own_declares_a_difference():
    rows = peers.found(av.operator(ROOT / "tests/elsewhere/my_adaptive_avg_pool"), "torch")
    assert "every step is rounded to 16 bits" in rows[0][0]
    assert [failure for _, failure in rows if failure] == []
