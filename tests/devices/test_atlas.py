"""`open_device("atlas")` on the stand-in for CANN's libraries: values, transfers, options. Every test in a child."""

import tracemalloc

import numpy as np
import pytest
from atlas_stand_in import LAYOUTS, case_of, close_to, on_stand_in
from in_child import StandIn, in_child, stand_in
from machine import taught
from standin.generic import without_their_own

import aclnn_viz as av
from aclnn_viz.cases.default import matrix_shape
from aclnn_viz.devices import AclError, DeviceUnavailable, RefusedError, open_device

pytestmark = pytest.mark.needs("g++")
ALL = pytest.mark.parametrize("op", taught(), ids=lambda op: op.name)
COMPUTED = pytest.mark.parametrize(
    "op", [op for op in taught() if op not in without_their_own()], ids=lambda op: op.name
)


# Values


@LAYOUTS
@COMPUTED
@pytest.mark.sampled(2)
def test_values_are_those_of_the_page(op, layout):
    def work(root):
        with open_device("atlas", root=root) as device:
            return {
                dtype: device.run(op, **case_of(op, dtype=dtype).inputs)
                for dtype in ("float16", "bfloat16", "float32")
            }

    # each sums a few products of size 1 in another order
    for dtype, found in on_stand_in(work, layout).items():
        close_to(found, op.backward(**case_of(op, dtype=dtype).inputs), units=16)


def test_the_comparison_rejects_a_wrong_value():
    op = av.operator("hardswish")
    expected = op.backward(**case_of(op).inputs)
    with pytest.raises(AssertionError):
        close_to({"out": expected["out"] * np.float32(1.00001)}, expected, units=16)


def test_the_same_cell_on_host_and_atlas_gives_the_same_keys_and_dtypes():
    def work(root):
        case = av.case("grid_sampler_2d", outputMask=(False, True))
        return [
            {
                name: (value.shape, value.dtype.name)
                for name, value in device.run("grid_sampler_2d", **case.inputs).items()
            }
            for device in (open_device("host"), open_device("atlas", root=root))
        ]

    host, found = in_child(lambda: work(stand_in()))
    assert host == found and list(found) == ["gridGrad"]


@pytest.mark.parametrize("shape", [(0, 3), (), (1,)])
def test_shapes_at_the_edge(shape):
    def work(root):
        with open_device("atlas", root=root) as device:
            return device.run("hardswish", **case_of(av.operator("hardswish"), shape=shape).inputs)[
                "out"
            ].shape

    assert on_stand_in(work) == shape


VIEWS = {
    "fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(a[..., None], 3, -1)[..., 1],
    "reversed": lambda a: a[::-1].copy()[::-1],
    "foreign bytes": lambda a: a.astype(a.dtype.newbyteorder(">")) if a.dtype.kind == "f" else a,
}


@ALL
@pytest.mark.sampled(3)
def test_views_give_the_same_values(op):
    inputs = case_of(op).inputs
    viewed = {
        kind: {
            name: view(value) if isinstance(value, np.ndarray) and value.ndim else value
            for name, value in inputs.items()
        }
        for kind, view in VIEWS.items()
    }

    def work(root):
        with open_device("atlas", root=root) as device:
            return device.run(op, **inputs), {
                kind: device.run(op, **views) for kind, views in viewed.items()
            }

    dense, found = on_stand_in(work)
    assert [
        (kind, name)
        for kind, out in found.items()
        for name, value in dense.items()
        if not np.array_equal(out[name], value)
    ] == []


def test_an_older_product_refuses_what_it_lacks():
    def work(root):
        with open_device("atlas", root=root) as device, pytest.raises(AclError) as caught:
            device.run("rms_norm", **case_of(av.operator("rms_norm")).inputs)
        return caught.value.call, caught.value.code, device.soc

    assert on_stand_in(work, environment={"STANDIN_SOC": "Ascend310B1"}) == (
        "aclnnRmsNormGradGetWorkspaceSize",
        161002,
        "Ascend310B1",
    )


# Transfers

LARGE = {"grid_sampler_2d": (1, 8, 128, 128), "group_norm_swish": (4, 64, 256)}


def extra_memory(root, op, view=lambda array: array):
    """Return the peak of bytes that a run allocates on the host beyond the outputs, and its number of copies."""
    inputs = {
        name: view(value) if isinstance(value, np.ndarray) else value
        for name, value in case_of(
            op, shape=LARGE.get(op.name, matrix_shape(op, 256, 256))
        ).inputs.items()
    }
    notes = StandIn(root)
    with open_device("atlas", root=root) as device:
        device.run(op, **inputs)  # loads everything that is loaded once
        notes.standin_reset()
        tracemalloc.start()
        outputs = device.run(op, **inputs)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    tensors = sum(isinstance(value, np.ndarray) for value in inputs.values()) + len(outputs)
    return (
        peak - sum(value.nbytes for value in outputs.values()),
        notes.calls.count("aclrtMemcpy"),
        tensors,
    )


@ALL
@pytest.mark.sampled(1)
def test_a_transfer_is_one_copy_and_nothing_else_is_copied_on_the_host(op):
    extra, copies, tensors = on_stand_in(lambda root: extra_memory(root, op))
    assert copies == tensors and extra < 64 << 10  # the smallest large tensor has 256 kB


def test_a_host_copy_would_be_seen():
    extra, _, _ = on_stand_in(
        lambda root: extra_memory(root, av.operator("hardswish"), view=lambda array: array[::-1])
    )
    assert extra >= 2 * 4 * 256 * 256


# Options


@LAYOUTS
def test_determinism_is_asked_for_in_both_stores(layout):
    def work(root):
        with open_device("atlas", root=root) as device:
            return device.acl.aclrtGetSysParamOpt(0), device.acl.aclrtCtxGetSysParamOpt(0)

    assert on_stand_in(work, layout) == ((0, 1), (0, 1))


def test_a_device_describes_itself():
    def work(root):
        with open_device("atlas:1", root=root) as device:
            shown = repr(device)
        return shown, repr(device), device.closed

    name = "Device('atlas:1 (stand-in)', soc='Ascend910B2', cann='9.1.0'"
    assert on_stand_in(work, environment={"STANDIN_DEVICES": 2}) == (
        f"{name})",
        f"{name}, closed)",
        True,
    )


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("cuda", {}, "no such device: got 'cuda'; open \"host\""),
        ("atlas:x", {}, "no such device: got 'atlas:x'"),
        (
            "host",
            {"custom": "x"},
            "root and custom are no options of host: got custom; the emulator has no installation",
        ),
        (
            "atlas",
            {"soc": "Ascend910B2", "cann": "9.1"},
            "soc and cann and plan are no options of atlas: got soc, cann; the device says",
        ),
    ],
)
def test_wrong_names_and_options(name, options, text):
    with pytest.raises(ValueError, match=text):
        open_device(name, **options)


def test_a_device_that_is_not_there_says_how_many_there_are():
    def work(root):
        with pytest.raises(AclError) as caught:
            open_device("atlas:7", root=root)
        return caught.value.call, caught.value.code, caught.value.__notes__

    expected = ("aclrtSetDevice", 107001, ["this machine has 2 devices, numbered from 0"])
    assert on_stand_in(work, environment={"STANDIN_DEVICES": 2}) == expected


def test_a_machine_without_devices_has_none():
    def work(root):
        text = "an Atlas device must answer: got 107001 .*aclrtSetDevice.*npu-smi"
        with pytest.raises(DeviceUnavailable, match=text):
            open_device("atlas", root=root)
        return StandIn(root).live

    assert on_stand_in(work, environment={"STANDIN_DEVICES": 0}) == ""


# swishScale before CANN 9.1


def swish(root, scale, dtype="float32", **options):
    case = case_of(av.operator("group_norm_swish"), swishScale=scale, dtype=dtype)
    with open_device("atlas", root=root, **options) as device:
        return device.run("group_norm_swish", **case.inputs)


def test_swish_scale_before_9_1_is_refused_with_the_way_out():
    def work(root):
        with pytest.raises(
            RefusedError, match=r"got a call against it .*, or with s = swishScale, run on dy/s"
        ):
            swish(root, 1.7)
        return "refused"

    assert on_stand_in(work, environment={"STANDIN_CANN": "9.0.1"}) == "refused"
