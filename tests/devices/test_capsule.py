"""Capsules: recorded outputs come back bit by bit, and nothing else does."""

import numpy as np
import pytest
from machine import taught
from small_capsule import SMALL, same

import aclnn_viz as av
from aclnn_viz.devices import CapsuleError, DeviceClosedError, record
from aclnn_viz.devices.capsule import digest
from aclnn_viz.sweeps.recipes import draw, source


def test_what_was_recorded_comes_back_bit_by_bit(capsule):
    with av.open_device(capsule) as device:
        assert len(device) == len(SMALL)
        for op, inputs in SMALL:
            same(device.run(op, **inputs), op.backward(**inputs))
        held = list(device.cases())
        assert {digest(op, inputs) for op, inputs in held} == {
            digest(op, op.bind(inputs)) for op, inputs in SMALL
        }


def test_views_and_defaults_are_the_same_case(capsule):
    op, inputs = SMALL[0]
    strided = {k: np.repeat(v[..., None], 2, -1)[..., 1] for k, v in inputs.items()}
    with av.open_device(capsule) as device:
        same(device.run(op.aclnn_name, **strided), op.backward(**inputs))
        grid, inputs = next((op, i) for op, i in SMALL if op.name == "grid_sampler_2d")
        same(
            device.run(grid, **{k: v for k, v in inputs.items() if isinstance(v, np.ndarray)}),
            grid.backward(**inputs),
        )


@pytest.mark.parametrize(
    "change",
    [
        lambda i: i | {"self": np.nextafter(i["self"], np.float32(9))},
        lambda i: i | {"self": -i["self"]},
        lambda i: {k: v.reshape(-1) for k, v in i.items()},
        lambda i: {k: v.astype(np.float64) for k, v in i.items()},
    ],
)
def test_another_case_is_refused(capsule, change):
    op, inputs = SMALL[0]
    with (
        av.open_device(capsule) as device,
        pytest.raises(
            CapsuleError,
            match="answers only the cases that were recorded: got other inputs of hardswish .2 of",
        ),
    ):
        device.run(op, **change(inputs))


def test_a_replay_is_never_mistaken_for_a_live_result(capsule):
    with av.open_device(capsule) as device:
        assert device.name.startswith("capsule small.capsule, recorded on host at 20")
        assert (device.soc, device.cann) == ("Ascend910B1", "9.0.1") and "capsule" in repr(device)
        assert {
            "runtime",
            "driver",
            "custom",
            "deterministic",
            "kit",
            "numpy",
            "host",
        } <= device.provenance.keys()
    with pytest.raises(DeviceClosedError, match="a closed capsule"):
        device.run(*SMALL[0][:1], **SMALL[0][1])


def test_the_standard_list_covers_every_operator_and_format(tmp_path):
    cases = [draw(text)[1] for text in source("standard")]
    listed = {(c.operator.name, c.dtype) for c in cases}
    assert listed >= {
        (op.name, dtype) for op in taught() for dtype in ("float32", "float16", "bfloat16")
    }
    assert {name for name, _ in listed} == {op.name for op in av.operators()}
    assert ("max_pool_with_indices", "float16") not in listed  # Atlas A2 takes only float32
    listed = tmp_path / "cases.json"
    listed.write_text('[{"operator": "rms_norm", "shape": [2, 8], "dtype": "float16", "seed": 3}]')
    ((_, case),) = map(draw, source(listed))
    assert case.inputs["x"].shape == (2, 8) and case.dtype == "float16" and case.seed == 3


def test_the_driver_is_recorded(tmp_path, monkeypatch):
    version = tmp_path / "version.info"
    version.write_text("Version=25.0.rc1\nascendhal_version=7.35\n")
    monkeypatch.setattr("aclnn_viz.acl.installation.DRIVER_VERSION", version)
    with av.open_device("host") as device:
        path = record(device, SMALL[:1], tmp_path / "driven.capsule")
    assert av.open_device(path).provenance["driver"] == "25.0.rc1"
