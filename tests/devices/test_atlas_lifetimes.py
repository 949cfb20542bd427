"""Lifetimes of a device on the stand-in: opened again, shared, forked, interrupted, at the end of Python."""

import gc
import os
import subprocess
import sys
import threading
import tracemalloc
from itertools import pairwise

import pytest
from atlas_stand_in import LAYOUTS, case_of, on_stand_in
from in_child import StandIn, in_child, stand_in
from machine import ROOT, SOAK, taught

import aclnn_viz as av
from aclnn_viz.devices import AclError, DeviceClosedError, open_device

pytestmark = pytest.mark.needs("g++")


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
        return [
            name
            for name in StandIn(root).calls
            if name in ("aclInit", "aclrtResetDevice", "aclFinalize", "aclFinalizeReference")
        ]

    # CANN 8 allows one aclInit in a process
    counted = ["aclFinalizeReference"] if layout == "9.x" else []
    assert on_stand_in(work, layout) == ["aclInit", "aclrtResetDevice", *counted]


def test_a_forked_child_may_not_use_the_device_and_does_no_harm():
    op = av.operator("hardswish")

    def child(device, root):
        for use in (
            lambda: device.run(op, **case_of(op).inputs),
            lambda: open_device("atlas", root=root),
        ):
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

    def use(root, device, shapes):
        for forbidden in (lambda: device.run(op, **case_of(op).inputs), device.close):
            with pytest.raises(
                DeviceClosedError, match="a device belongs to the thread that opened it"
            ):
                forbidden()
        with open_device("atlas", root=root) as own:
            shapes.append(own.run(op, **case_of(op).inputs)["out"].shape)

    def work(root):
        shapes = []
        with open_device("atlas", root=root) as device:
            threads = [threading.Thread(target=use, args=(root, device, shapes)) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            device.run(op, **case_of(op).inputs)
        return shapes, StandIn(root).live

    assert on_stand_in(work) == ([(3, 4)] * 3, "")


def test_after_work_that_failed_the_device_is_dead_and_nothing_is_left():
    op = av.operator("hardswish")

    def work(root):
        device = open_device("atlas", root=root)
        with pytest.raises(AclError, match="aclrtSynchronizeStream must succeed: got 507015"):
            device.run(op, **case_of(op).inputs)
        closed = device.closed
        with pytest.raises(
            DeviceClosedError, match="got work on the device failed: aclrtSynchronizeStream"
        ):
            device.run(op, **case_of(op).inputs)
        device.close()
        device.close()
        return closed, StandIn(root).live

    assert on_stand_in(
        work, environment={"STANDIN_FAIL": "task@aclnnHardswishBackward:1:507015"}
    ) == (True, "")


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


INTERRUPTED = """
import os, signal, sys, threading, time
import aclnn_viz as av
sys.path.insert(0, sys.argv[2])
from in_child import StandIn
op, case = av.operator("grid_sampler_2d"), av.case("grid_sampler_2d", shape=(1, 1, 4, 4))
reached, left = 0, []
# a process that a shell starts in the background ignores interrupts
signal.signal(signal.SIGINT, signal.default_int_handler)
with av.open_device("atlas", root=sys.argv[1]) as device:
    start = time.perf_counter()
    for _ in range(5):
        device.run(op, **case.inputs)
    length = (time.perf_counter() - start) / 5
    for k in range(int(sys.argv[3])):
        timer = threading.Timer(length * (k % 25) / 20, os.kill, (os.getpid(), signal.SIGINT))
        try:
            timer.start()
            device.run(op, **case.inputs)
            timer.join()
            time.sleep(0.01)
        except KeyboardInterrupt:
            reached += 1
        left.append(StandIn(sys.argv[1]).live)
print(reached, sorted(set(left)), StandIn(sys.argv[1]).misuse)
"""


def test_interrupts_at_many_moments_leave_nothing():
    count = 1000 if SOAK else 100
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, stand_in(), ROOT / "tests", str(count)],
        cwd=ROOT,
        text=True,
        timeout=300,
        capture_output=True,
    )
    assert (done.stdout, done.stderr) == (f"{count} ['1 stream'] []\n", "")


PROGRAM = """
import atexit, sys
import aclnn_viz as av
device = av.open_device("atlas", root=sys.argv[1])
device.run("hardswish", **av.case("hardswish").inputs)
"""


ENDINGS = (
    "",
    "device.close(); device.close()",
    "atexit.register(device.close)",
    "device.itself = device; sys.exit(0)",
    "del device",
)


@pytest.mark.parametrize(
    ("ending", "layout"),
    [
        (ending, layout)
        for k, ending in enumerate(ENDINGS)
        for n, layout in enumerate(("8.x", "9.x"))
        if SOAK or n == k % 2
    ],
)
@pytest.mark.sampled(1)
def test_the_end_of_the_interpreter_is_harmless(tmp_path, layout, ending):
    notes = tmp_path / "notes"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM + ending, stand_in(layout)],
        cwd=ROOT,
        text=True,
        timeout=60,
        capture_output=True,
        env=os.environ | {"STANDIN_REPORT": str(notes)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    if "close" in ending:
        assert not notes.exists()
    else:  # the stand-in reports unclosed objects
        assert notes.read_text() == "left: 1 stream\n"


@pytest.mark.soak
def test_hundreds_of_runs_leave_nothing():
    def work(root):
        inputs = {op.name: case_of(op).inputs for op in taught()}
        notes = StandIn(root)
        with open_device("atlas", root=root) as device:

            def runs(count):
                for _ in range(count):
                    for op in taught():
                        device.run(op, **inputs[op.name])
                gc.collect()
                return tracemalloc.get_traced_memory()[0], notes.live

            tracemalloc.start()
            seen = [runs(150 if SOAK else 20) for _ in range(4)]
        # Caches fill, and Python's tables double now and then; a leak grows every time.
        return (
            min(after[0] - before[0] for before, after in pairwise(seen)),
            {live for _, live in seen},
            notes.live,
        )

    grown, held, left = on_stand_in(work)
    assert (held, left) == ({"1 stream"}, "")
    assert grown < 5_000  # 40 bytes a run: less than an object
