"""`open_device("atlas")` on the stand-in for CANN's libraries: values, transfers, lifetimes. Every test in a child."""

import gc
import os
import subprocess
import sys
import threading
import tracemalloc

import numpy as np
import pytest
from in_child import StandIn, in_child, stand_in
from machine import ROOT

import aclnn_viz as av
from aclnn_viz.devices import AclError, DeviceClosedError, DeviceUnavailable, RefusedError, open_device

pytestmark = pytest.mark.needs("g++")
ALL = pytest.mark.parametrize("op", av.operators(), ids=lambda op: op.name)
LAYOUTS = pytest.mark.parametrize("layout", ["8.x", "9.x"])
SMALL = {"grid_sampler_2d": (1, 2, 4, 4), "group_norm_swish": (2, 4, 3)}
#: CE on CANN 8 reads the weight of every target, so that ignored ones below 0 are refused.
GIVEN = {"cross_entropy_loss": {"weightOptional": None}}


def case_of(op, **given):
    return av.case(op, **{"shape": SMALL.get(op.name, (3, 4))} | GIVEN.get(op.name, {}) | given)


def atlas(layout="9.x", **options):
    return open_device("atlas", root=stand_in(layout), **options)


def on_stand_in(work, layout="9.x", environment=None):
    """Run `work(root)` in a child; what it returns, after a look at what the stand-in noted."""
    root = stand_in(layout)

    def watched():
        answer = work(root)
        assert StandIn(root).misuse == []
        return answer

    return in_child(watched, environment)


def close_to(actual, expected, units):
    """Within a few units in the last place of the output's format, at the scale of the output."""
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        found = actual[name]
        assert found.dtype == value.dtype and found.shape == value.shape, name
        scale = np.abs(value.astype(np.float64)).max(initial=1)
        np.testing.assert_allclose(found.astype(np.float64), value.astype(np.float64), rtol=0,
                                   atol=units * scale * {2: 2**-8, 4: 2**-24}[found.dtype.itemsize], err_msg=name)


# Values

@LAYOUTS
@ALL
def test_values_are_those_of_the_page(op, layout):
    def work(root):
        with open_device("atlas", root=root) as device:
            return {dtype: device.run(op, **case_of(op, dtype=dtype).inputs)
                    for dtype in ("float16", "bfloat16", "float32")}

    for dtype, found in on_stand_in(work, layout).items():  # both sum a few products of size 1 in their own order
        close_to(found, op.backward(**case_of(op, dtype=dtype).inputs), units=16)


def test_the_comparison_rejects_a_wrong_value():
    op = av.operator("hardswish")
    expected = op.backward(**case_of(op).inputs)
    with pytest.raises(AssertionError):
        close_to({"out": expected["out"] * np.float32(1.00001)}, expected, units=16)


def test_the_same_cell_on_host_and_atlas_gives_the_same_keys_and_dtypes():
    def work(root):
        case = av.case("grid_sampler_2d", outputMask=(False, True))
        return [{name: (value.shape, value.dtype.name)
                 for name, value in device.run("grid_sampler_2d", **case.inputs).items()}
                for device in (open_device("host"), open_device("atlas", root=root))]

    host, found = in_child(lambda: work(stand_in()))
    assert host == found and list(found) == ["gridGrad"]


@pytest.mark.parametrize("shape", [(0, 3), (), (1,)])
def test_shapes_at_the_edge(shape):
    def work(root):
        with open_device("atlas", root=root) as device:
            return device.run("hardswish", **case_of(av.operator("hardswish"), shape=shape).inputs)["out"].shape

    assert on_stand_in(work) == shape


@pytest.mark.parametrize("view", [lambda a: np.asfortranarray(a), lambda a: np.repeat(a[..., None], 3, -1)[..., 1],
                                  lambda a: a[::-1].copy()[::-1],
                                  lambda a: a.astype(a.dtype.newbyteorder(">")) if a.dtype.kind == "f" else a],
                         ids=["fortran", "strided", "reversed", "foreign bytes"])
@ALL
def test_views_give_the_same_values(op, view):
    inputs = case_of(op).inputs
    views = {name: view(value) if isinstance(value, np.ndarray) and value.ndim else value
             for name, value in inputs.items()}

    def work(root):
        with open_device("atlas", root=root) as device:
            return device.run(op, **views), device.run(op, **inputs)

    strided, dense = on_stand_in(work)
    assert all(np.array_equal(strided[name], dense[name]) for name in dense)


def test_an_older_product_refuses_what_it_lacks():
    def work(root):
        with open_device("atlas", root=root) as device, pytest.raises(AclError) as caught:
            device.run("rms_norm", **case_of(av.operator("rms_norm")).inputs)
        return caught.value.call, caught.value.code, device.soc

    assert on_stand_in(work, environment={"STANDIN_SOC": "Ascend310B1"}) == ("aclnnRmsNormGradGetWorkspaceSize", 161002,
                                                                             "Ascend310B1")


# Transfers

LARGE = {"hardswish": (512, 512), "rms_norm": (512, 512), "grid_sampler_2d": (1, 8, 128, 128),
         "cross_entropy_loss": (256, 512), "group_norm_swish": (4, 64, 512)}


def extra_memory(root, op, view=lambda array: array):
    """Bytes that a run allocates on the host at its peak, the outputs not counted, and the copies that it makes."""
    inputs = {name: view(value) if isinstance(value, np.ndarray) else value
              for name, value in case_of(op, shape=LARGE[op.name]).inputs.items()}
    notes = StandIn(root)
    with open_device("atlas", root=root) as device:
        device.run(op, **inputs)  # loads what is loaded once
        notes.standin_reset()
        tracemalloc.start()
        outputs = device.run(op, **inputs)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    tensors = sum(isinstance(value, np.ndarray) for value in inputs.values()) + len(outputs)
    return peak - sum(value.nbytes for value in outputs.values()), notes.calls.count("aclrtMemcpy"), tensors


@ALL
def test_a_transfer_is_one_copy_and_nothing_else_is_copied_on_the_host(op):
    extra, copies, tensors = on_stand_in(lambda root: extra_memory(root, op))
    assert copies == tensors and extra < 64 << 10  # the smallest large tensor has 256 kB


def test_a_host_copy_would_be_seen():
    extra, _, _ = on_stand_in(lambda root: extra_memory(root, av.operator("hardswish"), view=lambda array: array[::-1]))
    assert extra >= 2 * 4 * 512 * 512


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
    assert on_stand_in(work, environment={"STANDIN_DEVICES": 2}) == (f"{name})", f"{name}, closed)", True)


@pytest.mark.parametrize(("name", "options", "text"), [
    ("cuda", {}, "no such device: got 'cuda'; open \"host\""),
    ("atlas:x", {}, "no such device: got 'atlas:x'"),
    ("host", {"custom": "x"}, "root and custom are no options of host: got custom; the emulator has no installation"),
    ("atlas", {"soc": "Ascend910B2", "cann": "9.1"},
     "soc and cann and plan are no options of atlas: got soc, cann; the device says"),
])
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
        with pytest.raises(RefusedError, match=r"got a call against it .*; .* workarounds=True: with s = swishScale"):
            swish(root, 1.7)
        with pytest.raises(RefusedError) as caught:  # nothing to scale by
            swish(root, 0.0, workarounds=True)
        return str(caught.value)

    assert "workarounds" not in on_stand_in(work, environment={"STANDIN_CANN": "9.0.1"})


@pytest.mark.parametrize("scale", [1.7, -0.4, 2.0])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_workaround_gives_the_right_values(scale, dtype):
    found = on_stand_in(lambda root: swish(root, scale, dtype, workarounds=True), environment={"STANDIN_CANN": "9.0.1"})
    op = av.operator("group_norm_swish")
    expected = op.backward(**case_of(op, swishScale=scale, dtype=dtype).inputs)
    close_to(found, expected, units=32)  # the scaled inputs and two outputs are rounded once more


def test_the_workaround_is_exact_for_powers_of_two():
    old = on_stand_in(lambda root: swish(root, 2.0, workarounds=True), environment={"STANDIN_CANN": "9.0.1"})
    new = on_stand_in(lambda root: swish(root, 2.0))
    assert all(np.array_equal(old[name], new[name]) for name in new)


def test_the_workaround_serves_the_emulator_too():
    op = av.operator("group_norm_swish")
    inputs = case_of(op, swishScale=1.7).inputs
    with open_device("host", cann="9.0.1", workarounds=True) as device:
        close_to(device.run(op, **inputs), op.backward(**inputs), units=32)


# Lifetimes

@LAYOUTS
def test_devices_open_again_and_side_by_side(layout):
    op = av.operator("hardswish")

    def work(root):
        inputs = case_of(op).inputs
        for _ in range(3):
            with open_device("atlas", root=root) as first:
                second = open_device("atlas", root=root)
                second.run(op, **inputs)
                second.close()
                first.run(op, **inputs)
        return StandIn(root).live

    assert on_stand_in(work, layout) == ""


@LAYOUTS
def test_acl_that_another_library_initialised_stays_up(layout):
    def work(root):
        other = StandIn(root)
        assert (other.aclInit(None), other.aclrtSetDevice(0)) == (0, 0)
        for _ in range(2):
            with open_device("atlas", root=root) as device:
                device.run("hardswish", **case_of(av.operator("hardswish")).inputs)
        undone = {"aclFinalize", "aclFinalizeReference", "aclrtResetDevice"} & set(other.calls)
        return undone, other.live, other.aclrtSynchronizeStream(None), other.aclFinalize()

    assert on_stand_in(work, layout) == (set(), "", 0, 0)


@LAYOUTS
def test_what_we_initialised_we_finalise_where_it_is_counted(layout):
    def work(root):
        with open_device("atlas", root=root):
            pass
        return [name for name in StandIn(root).calls if name in ("aclInit", "aclrtResetDevice", "aclFinalize",
                                                                 "aclFinalizeReference")]

    counted = ["aclFinalizeReference"] if layout == "9.x" else []  # CANN 8 allows one aclInit in a process
    assert on_stand_in(work, layout) == ["aclInit", "aclrtResetDevice", *counted]


def test_a_forked_child_may_not_use_the_device_and_does_no_harm():
    op = av.operator("hardswish")

    def child(device, root):
        for use in (lambda: device.run(op, **case_of(op).inputs), lambda: open_device("atlas", root=root)):
            with pytest.raises(DeviceClosedError, match="spawn"):
                use()
        device.close()
        return True

    def work(root):
        with open_device("atlas", root=root) as device:
            assert in_child(lambda: child(device, root))
            device.run(op, **case_of(op).inputs)
        return StandIn(root).live

    assert on_stand_in(work) == ""


def test_a_thread_opens_its_own_device():
    op = av.operator("hardswish")

    def use(root, device, told):
        for forbidden in (lambda: device.run(op, **case_of(op).inputs), device.close):
            with pytest.raises(DeviceClosedError, match="a device belongs to the thread that opened it"):
                forbidden()
        with open_device("atlas", root=root) as own:
            told.append(own.run(op, **case_of(op).inputs)["out"].shape)

    def work(root):
        told = []
        with open_device("atlas", root=root) as device:
            threads = [threading.Thread(target=use, args=(root, device, told)) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            device.run(op, **case_of(op).inputs)
        return told, StandIn(root).live

    assert on_stand_in(work) == ([(3, 4)] * 3, "")


def test_after_work_that_failed_the_device_is_dead_and_nothing_is_left():
    op = av.operator("hardswish")

    def work(root):
        device = open_device("atlas", root=root)
        with pytest.raises(AclError, match="aclrtSynchronizeStream must succeed: got 507015"):
            device.run(op, **case_of(op).inputs)
        closed = device.closed
        with pytest.raises(DeviceClosedError, match="got work on the device failed: aclrtSynchronizeStream"):
            device.run(op, **case_of(op).inputs)
        device.close()
        device.close()
        return closed, StandIn(root).live

    assert on_stand_in(work, environment={"STANDIN_FAIL": "task@aclnnHardswishBackward:1:507015"}) == (True, "")


def test_an_interrupt_waits_for_queued_work_before_its_memory_goes():
    op = av.operator("hardswish")

    def work(root):
        with open_device("atlas", root=root) as device:
            synchronise = device.acl.aclrtSynchronizeStream

            def interrupted(stream):
                device.acl.aclrtSynchronizeStream = synchronise
                raise KeyboardInterrupt

            device.acl.aclrtSynchronizeStream = interrupted
            with pytest.raises(KeyboardInterrupt):
                device.run(op, **case_of(op).inputs)
            device.run(op, **case_of(op).inputs)
        return StandIn(root).live

    assert on_stand_in(work) == ""


PROGRAM = """
import atexit, sys
import aclnn_viz as av
device = av.open_device("atlas", root=sys.argv[1])
device.run("hardswish", **av.case("hardswish").inputs)
"""


@LAYOUTS
@pytest.mark.parametrize("ending", ["", "device.close(); device.close()", "atexit.register(device.close)",
                                    "device.itself = device; sys.exit(0)", "del device"])
def test_the_end_of_the_interpreter_is_harmless(tmp_path, layout, ending):
    notes = tmp_path / "notes"
    done = subprocess.run([sys.executable, "-c", PROGRAM + ending, stand_in(layout)], cwd=ROOT, text=True, timeout=60,
                          capture_output=True, env=os.environ | {"STANDIN_REPORT": str(notes)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    if "close" in ending:
        assert not notes.exists()
    else:  # the stand-in does tell of what was not closed
        assert notes.read_text() == "left: 1 stream\n"


def test_a_thousand_runs_leave_nothing():
    def work(root):
        inputs = {op.name: case_of(op).inputs for op in av.operators()}
        notes = StandIn(root)
        with open_device("atlas", root=root) as device:
            def runs(count):
                for _ in range(count):
                    for op in av.operators():
                        device.run(op, **inputs[op.name])
                gc.collect()
                return tracemalloc.get_traced_memory()[0], notes.live

            tracemalloc.start()
            before, after = runs(100), runs(100)  # caches fill during the first runs
        return after[0] - before[0], before[1], after[1], notes.live

    grown, before, after, left = on_stand_in(work)
    assert (before, after, left) == ("1 stream", "1 stream", "")
    assert grown < 20_000  # 40 bytes a run: less than an object
