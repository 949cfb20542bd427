"""Peers as devices: their inputs and outputs, their refusals, and that a replay distinguishes them."""

import dataclasses
import sys
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

import aclnn_viz as av
from aclnn_viz.devices import (
    DeviceClosedError,
    DeviceUnavailable,
    Peer,
    RefusedError,
    UnsupportedError,
    list_devices,
    record,
)
from aclnn_viz.devices.peers import PEERS, installed, is_peer
from aclnn_viz.dtypes import BFLOAT16
from aclnn_viz.explorers.numeric_error_data import State
from aclnn_viz.pictures import Provenance

BFLOAT = BFLOAT16.numpy
CASE = av.case("hardswish", dtype="bfloat16", shape=(4, 5))
HERE = [pytest.param(name, marks=pytest.mark.needs(name)) for name in PEERS]


class Tensor:
    """The kit's view of a torch tensor: its bits, and its place."""

    def __init__(self, array, dtype=None):
        self.array, self.dtype = array, dtype or f"torch.{array.dtype}"

    def view(self, dtype):
        return Tensor(self.array, dtype)

    def to(self, place):
        return self

    detach = cpu = contiguous = lambda self: self

    def numpy(self):
        if self.dtype == "torch.bfloat16":
            raise TypeError("Got unsupported ScalarType BFloat16")
        return self.array

    reshape = None


def fake_torch(backward):
    return SimpleNamespace(
        __version__="9.9",
        device=lambda text: SimpleNamespace(type=text.partition(":")[0]),
        from_numpy=Tensor,
        Tensor=Tensor,
        bfloat16="torch.bfloat16",
        int16="torch.int16",
        get_num_threads=lambda: 3,
        inference_mode=lambda on: nullcontext(),
        enable_grad=nullcontext,
        cuda=SimpleNamespace(is_available=lambda: False),
        get_float32_matmul_precision=lambda: "highest",
        backends=SimpleNamespace(cpu=SimpleNamespace(get_cpu_capability=lambda: "AVX2")),
        ops=SimpleNamespace(aten=SimpleNamespace(hardswish_backward=backward)),
    )


@pytest.fixture
def torch(monkeypatch):
    """Replace PyTorch as far as the kit needs it, for machines without it: its hardswish is the kit's."""

    def backward(grad, x):
        assert (grad.dtype, x.dtype, x.array.dtype) == (
            "torch.bfloat16",
            "torch.bfloat16",
            np.int16,
        )
        out = av.operator("hardswish").backward(
            gradOutput=grad.array.view(BFLOAT), self=x.array.view(BFLOAT)
        )["out"]
        x.array[...] = 0  # it may change its own copy
        return Tensor(out.view(np.int16), "torch.bfloat16")

    module = fake_torch(backward)
    monkeypatch.setitem(sys.modules, "torch", module)
    return module


def raising(error):
    def backward(grad, x):
        raise error

    return backward


@pytest.mark.parametrize("name", PEERS)
def test_without_the_library_it_is_said_what_to_install(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        DeviceUnavailable,
        match=rf'the device "{name}" needs {name} .*: got .*; pip install '
        rf"'aclnn-viz\[{name}\]', or open \"host\"",
    ):
        av.open_device(name)


def test_a_library_that_lacks_a_part_names_the_part(torch):
    with pytest.raises(
        DeviceUnavailable, match="needs torch .*: got .*torch_npu.*; pip install 'torch_npu'"
    ):
        av.open_device("torch:npu")
    with pytest.raises(
        DeviceUnavailable,
        match='"torch:cuda" needs PyTorch with a device of that kind: got PyTorch 9.9',
    ):
        av.open_device("torch:cuda")


@pytest.mark.parametrize("name", ["torch:tpu", "jax:cuda", "jax:npu:0"])
def test_another_kind_of_place_is_refused(name):
    with pytest.raises(ValueError, match=r"is opened on cpu, .*: got '.*'; open such as"):
        av.open_device(name)


def test_an_option_of_another_kind_of_device_is_refused():
    with pytest.raises(
        ValueError, match="are no options of a peer: got soc; it is no Atlas: leave them out"
    ):
        av.open_device("torch", soc="Ascend910B2")


def test_names_of_peers_are_distinguished_from_files_and_functions():
    assert all(map(is_peer, ("torch", "torch:cuda", "torch:npu:1", "jax:gpu", "torch:tpu")))
    assert not any(map(is_peer, ("torch.py:kernel", "torch:My", "jaxx", "host", "torch:", 3)))


def test_tensors_cross_bit_by_bit_and_inputs_stay_as_they_are(torch):
    before = CASE.inputs["self"].copy()
    with av.open_device("torch") as device:
        out = device.run("hardswish", **CASE.inputs)["out"]
    assert (
        out.dtype == BFLOAT
        and out.tobytes() == CASE.operator.backward(**CASE.inputs)["out"].tobytes()
    )
    assert np.array_equal(CASE.inputs["self"], before)


def test_a_closed_peer_and_wrong_inputs_are_refused_as_on_any_device(torch):
    with av.open_device("torch") as device, pytest.raises(ValueError, match="gradOutput"):
        device.run("hardswish", gradOutput=np.ones(2, np.float32), self=np.ones(3, np.float32))
    with pytest.raises(DeviceClosedError, match=r"got a closed torch \(9.9\); open it again"):
        device.run("hardswish", **CASE.inputs)


def test_what_a_peer_does_not_compute_is_refused_in_three_parts(torch):
    missing = "PyTorch 9.9 computes this call of hardswish: got .*; give another"
    with av.open_device("torch") as device:
        for backward, kind, said in (
            (
                raising(NotImplementedError("Could not run 'aten::x' with the 'CPU' backend")),
                UnsupportedError,
                missing,
            ),
            (
                raising(RuntimeError("\"hardswish_backward\" not implemented for 'BFloat16'")),
                UnsupportedError,
                missing,
            ),
            # errors that are no refusals
            (raising(RuntimeError("the machine is on fire")), RuntimeError, "on fire"),
            (lambda *given: {}, TypeError, "tensors in the order of out: got dict {}; return one"),
        ):
            torch.ops.aten.hardswish_backward = backward
            with pytest.raises(kind, match=said):
                device.run("hardswish", **CASE.inputs)
    assert issubclass(UnsupportedError, RefusedError) and issubclass(
        UnsupportedError, NotImplementedError
    )


def test_an_operator_without_a_file_for_torch_is_refused(torch, monkeypatch):
    monkeypatch.setattr("aclnn_viz.devices.peers.in_torch", lambda op: None)
    with (
        av.open_device("torch") as device,
        pytest.raises(UnsupportedError, match='has none; open "jax"'),
    ):
        device.run(CASE.operator, **CASE.inputs)


def test_a_recording_tells_the_library_its_threads_and_flags(torch, tmp_path):
    with av.open_device("torch") as device:
        path = record(device, [CASE], tmp_path / "torch.capsule")
        out = device.run("hardswish", **CASE.inputs)["out"]
    with av.open_device(path) as capsule:
        assert capsule.run("hardswish", **CASE.inputs)["out"].tobytes() == out.tobytes()
        text = capsule.provenance
        assert (text["device"], text["library"], text["threads"]) == ("torch (9.9)", "torch 9.9", 3)
        assert text["flags"] == {"float32_matmul_precision": "highest"} and text["place"].endswith(
            "(AVX2)"
        )
        assert "recorded on torch (9.9) at 20" in capsule.name and "(AVX2)" in capsule._repr_html_()
        assert av.check("hardswish", capsule).passed


def test_a_picture_never_takes_a_peer_for_an_atlas():
    measured = {
        "atlas:0": True,
        "torch (2.13.0)": False,
        "torch:cuda:0 (2.13.0)": False,
        "torch:npu:0 (2.13.0)": True,
        "jax (0.10.2)": False,
        "capsule x, recorded on torch:npu:0 (2.13.0) at 2026": False,
    }
    assert {name: Provenance("out", name).measured for name in measured} == measured


def test_explorers_and_the_listing_show_the_peers_that_are_installed():
    (device,) = (one for one in dataclasses.fields(State) if one.name == "device")
    assert [*device.metadata["control"]["options"]] == ["host", "atlas", *installed()]
    assert list_devices(root="/nowhere")["peers"] == installed()


@pytest.mark.needs("torch")
@pytest.mark.parametrize("name", ["grid_sampler_2d", "grid_sampler_3d"])
def test_what_would_end_the_process_is_refused(name):
    shape = (1, 1, 3, 3, 3)[: 4 + (name[-2] == "3")]
    with av.open_device("torch") as device:
        for padding in (1, 2):
            inputs = av.case(name, shape=shape, paddingMode=padding).inputs
            for value in (np.nan, np.inf):
                with pytest.raises(
                    UnsupportedError, match="take finite coordinates: got nan or inf in grid"
                ):
                    device.run(name, **inputs | {"grid": np.full_like(inputs["grid"], value)})
        beside = av.case(name, shape=shape, paddingMode=0).inputs
        found = device.run(name, **beside | {"grid": np.full_like(beside["grid"], np.nan)})
        assert not found["inputGrad"].any()


@pytest.mark.needs("torch")
def test_it_computes_also_where_gradients_are_off():
    import torch

    case = av.case("rms_norm", shape=(2, 8))
    with av.open_device("torch") as device:
        usual = device.run("rms_norm", **case.inputs)
        for off in (torch.no_grad, torch.inference_mode):
            with off():
                assert np.array_equal(
                    device.run("rms_norm", **case.inputs)["dxOut"], usual["dxOut"]
                )


@pytest.mark.parametrize("name", HERE)
def test_a_peer_is_a_device_in_all_that_takes_one(name, tmp_path):
    case = av.case("rms_norm", dtype="bfloat16", shape=(4, 16))
    with av.open_device(name) as device:
        assert isinstance(device, Peer) and device.name.startswith(f"{name} (")
        judged = av.judge(case.operator, case, {"peer": device})
        path = record(device, [case], tmp_path / "peer.capsule")
        outputs = device.run(case.operator, **case.inputs)
        assert Provenance.of(case, "dxOut", device).origin == device.name
    assert "peer" in str(judged)
    with av.open_device(path) as capsule:
        assert all(
            capsule.run(case.operator, **case.inputs)[key].tobytes() == value.tobytes()
            for key, value in outputs.items()
        )
    assert av.check(case.operator, name, depth="quick").passed
