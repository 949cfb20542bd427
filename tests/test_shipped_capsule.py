"""The capsule that ships with the lessons: small, labelled as a prediction, and equal to the emulator's."""

import importlib.util

import numpy as np
import pytest
from machine import ROOT

import aclnn_viz as av
from aclnn_viz.dtypes import float_format
from aclnn_viz.pictures.provenance import Provenance, warning

CAPSULE = ROOT / "notebooks" / "capsules" / "predicted_a2.capsule"


@pytest.fixture
def capsule():
    with av.open_device(CAPSULE) as device:
        yield device


@pytest.fixture(scope="module")
def recorder():
    spec = importlib.util.spec_from_file_location("record_capsule", CAPSULE.with_name("record.py"))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def agree(a, b):
    """Return whether outputs are equal except for exp's differences between processors: an ulp, and a few later roundings."""
    if a.dtype != b.dtype or a.dtype.kind == "i":
        return bool(np.array_equal(a, b))
    a, b, roundoff = np.float64(a), np.float64(b), float_format(a.dtype).unit_roundoff
    return bool((abs(a - b) <= 4 * roundoff * (abs(b).max() + 1)).all())


def test_it_holds_every_operator_in_several_formats_and_is_small(capsule):
    held = {(op.name, next(iter(inputs.values())).dtype.name) for op, inputs in capsule.cases()}
    taught = [op.name for op in av.operators()][:5]
    assert all(sum(name == one for name, _ in held) >= 2 for one in taught)
    assert CAPSULE.stat().st_size < 200_000


def test_it_is_labelled_as_a_prediction_in_its_name_and_in_pictures(capsule):
    assert (
        capsule.provenance["device"] == "host (prediction)" and "host (prediction)" in capsule.name
    )
    source = Provenance("out", capsule.name, capsule.soc, capsule.cann)
    assert "not measured on hardware" in warning({"": source}) and "prediction" in warning(
        {"": source}
    )


def test_it_replays_what_the_emulator_predicts_now(capsule):
    with av.open_device("host", soc=capsule.soc, cann=capsule.cann, plan="device") as predicting:
        for op, inputs in capsule.cases():
            now, then = predicting.run(op, **inputs), capsule.run(op, **inputs)
            assert {name: agree(then[name], now[name]) for name in now} == dict.fromkeys(
                now, True
            ), op


def test_the_values_of_the_plain_host_are_noticed():
    """The comparison above distinguishes the prediction from the kit's documented values."""
    with av.open_device(CAPSULE) as capsule, av.open_device("host") as host:
        op, inputs = next(case for case in capsule.cases() if case[0].name == "grid_sampler_2d")
        assert not agree(capsule.run(op, **inputs)["gridGrad"], host.run(op, **inputs)["gridGrad"])


def test_its_script_makes_the_same_cases_again(capsule, recorder, tmp_path):
    with av.open_device(recorder.main(tmp_path / "again.capsule")) as again:
        assert (again.soc, again.cann, again.provenance["device"]) == (
            capsule.soc,
            capsule.cann,
            capsule.provenance["device"],
        )
        for (op, inputs), (new, fresh) in zip(capsule.cases(), again.cases(), strict=True):
            assert op is new and inputs.keys() == fresh.keys()
            assert all(
                agree(inputs[name], fresh[name])
                for name in inputs
                if isinstance(inputs[name], np.ndarray)
            )
