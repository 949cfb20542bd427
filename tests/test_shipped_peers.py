"""The capsules of the peers that ship with lesson 07: labelled with what recorded them, and right as documented."""

import pytest
from machine import ROOT

import aclnn_viz as av
from aclnn_viz.cases import Case
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.judge import judge, prepared
from aclnn_viz.devices import Capsule
from aclnn_viz.operators import registry
from aclnn_viz.pictures import Provenance
from aclnn_viz.verification.peers import explained

FOLDER = ROOT / "notebooks" / "capsules"
LIBRARIES = "torch", "jax"


def recorded(name):
    return Capsule(FOLDER / f"{name}.capsule")


@pytest.mark.parametrize("name", LIBRARIES)
def test_it_tells_library_place_threads_and_flags_and_is_no_atlas(name):
    capsule, path = recorded(name), FOLDER / f"{name}.capsule"
    assert capsule.name.startswith(f"capsule {name}.capsule, recorded on {name} (")
    assert (
        set("library place threads flags deterministic time kit numpy".split())
        <= capsule.provenance.keys()
    )
    assert not Provenance("dxOut", capsule.name).measured and path.stat().st_size < 100_000


def test_both_hold_the_same_cases_in_two_formats():
    held = [
        [
            (
                op.name,
                {
                    key: getattr(value, "tobytes", lambda value=value: value)()
                    for key, value in inputs.items()
                },
            )
            for op, inputs in recorded(name).cases()
        ]
        for name in LIBRARIES
    ]
    assert held[0] == held[1] and len(held[0]) == 2


@pytest.mark.parametrize("name", LIBRARIES)
def test_what_it_replays_differs_from_the_page_only_as_documented(name):
    capsule = recorded(name)
    for op, inputs in capsule.cases():
        dtype, outputs = inputs[op.like].dtype.name, capsule.run(op, **inputs)
        one = prepared(Recipe(op.name), Case(op, inputs, dtype, 0))
        known = [
            d
            for d in registry.own("peer", op.name, "DIFFERENCES").get(name, ())
            if dtype in d.dtypes and (d.plan or d.values)
        ]  # others need inputs that no suite has
        misses = judge(one, outputs)
        # as the lesson says: PyTorch in bfloat16, and nothing else
        assert bool(misses) == bool(known), (name, dtype)
        assert all(
            (miss.wrong <= explained(known[0], one, miss.output, outputs[miss.output])).all()
            for miss in misses
        )


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.needs(name)) for name in LIBRARIES]
)
def test_the_library_here_gives_about_the_same(name):
    capsule = recorded(name)
    with av.open_device(name) as device:
        for op, inputs in capsule.cases():
            now, then = device.run(op, **inputs), capsule.run(op, **inputs)
            for key in now:
                apart = abs(now[key].astype("float64") - then[key].astype("float64")).max()
                assert (
                    apart
                    <= (2.0**-6 if now[key].dtype.itemsize == 2 else 2.0**-17)
                    * abs(then[key].astype("float64")).max()
                )
