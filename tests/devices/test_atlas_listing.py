"""Results of `list_devices`: without CANN, on the stand-in, and with libraries that fail, crash or hang."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from children import forked
from in_child import stand_in
from standin.generic import there

from aclnn_viz.devices.inventory import device_text, list_devices

needs_compiler = pytest.mark.needs("g++")
OPERATORS = [op.name for op in there()]


@pytest.fixture(autouse=True)
def bare(monkeypatch):
    for name in ("ASCEND_OPP_PATH", "ASCEND_CUSTOM_OPP_PATH"):
        monkeypatch.delenv(name, raising=False)


def listed(root, **options):
    """Return the devices found, unchanged by JSON."""
    found = list_devices(root=root, **options)
    assert json.loads(json.dumps(found)) == found
    return found


def test_without_an_installation_nothing_is_loaded_and_nothing_started(tmp_path, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", lambda *a, **k: pytest.fail("a process was started"))
    found = listed(tmp_path / "none")
    assert found["devices"] == [] and found["problem"].startswith(
        "an Atlas device needs CANN's libraries: got "
    )
    assert device_text(found).splitlines()[0] == "host: the emulator, always there; it runs"


@needs_compiler
@pytest.mark.parametrize(
    "wrong",
    [
        {"timeout": "x"},
        {"timeout": float("nan")},
        {"timeout": 10**30},
        {"custom": 3},
        {"root": b"x"},
    ],
)
def test_arguments_of_another_kind_are_reported_whether_or_not_there_is_cann(wrong):
    with pytest.raises((TypeError, ValueError), match=": got .*; pass"):
        list_devices(**wrong)


@needs_compiler
def test_a_stand_in_is_shown_as_what_it_is():
    root, opened = stand_in("9.x", custom=True), os.listdir("/proc/self/fd")
    found = listed(root)
    assert os.listdir("/proc/self/fd") == opened  # nothing is left of the child that asked
    (device,) = found["devices"]
    assert (found["problem"], found["cann"], found["origin"]) == (None, "9.1.0", "root=")
    assert found["stand_in"] == "stand-in for CANN 9.1.0, no device"
    assert (device["name"], device["soc"]) == ("atlas:0", "Ascend910B2")
    assert device["product"] == "Atlas A2 training and inference"
    assert device["memory_total"] == 64 << 30 and 0 < device["memory_free"] <= 64 << 30
    assert [name for name, state in device["operators"].items() if state["usable"]] == OPERATORS
    assert [Path(path).name for path in found["libraries"]] == [
        "libacl_rt.so",
        "libnnopbase.so",
        "libopapi_nn.so",
        "libopapi_cv.so",
    ]
    assert found["custom_installed"] == [
        str(root / "opp/vendors/customize/op_api/lib/libcust_opapi.so")
    ]
    text = device_text(found)
    assert (
        "NOT CANN: stand-in for CANN 9.1.0, no device" in text
        and "hardswish: usable, from " in text
    )
    assert "atlas:0: Ascend910B2 (Atlas A2 training and inference), 64.0 of 64.0 GiB free" in text


@needs_compiler
def test_custom_operators_are_shown():
    root = stand_in("9.x", custom=True)
    found = listed(root, custom=root / "opp")
    assert [
        name for name, state in found["devices"][0]["operators"].items() if state["custom"]
    ] == ["hardswish"]
    assert "hardswish: usable, custom from " in device_text(found)


@needs_compiler
def test_every_device_is_asked(monkeypatch):
    monkeypatch.setenv("STANDIN_DEVICES", "3")
    assert [device["name"] for device in listed(stand_in())["devices"]] == [
        "atlas:0",
        "atlas:1",
        "atlas:2",
    ]


@needs_compiler
def test_what_the_product_lacks_is_reported(monkeypatch):
    monkeypatch.setenv("STANDIN_SOC", "Ascend310P3")
    found = listed(stand_in())
    states = found["devices"][0]["operators"]
    assert not states["cross_entropy_loss"]["usable"] and states["cross_entropy_loss"][
        "reason"
    ] == ("aclnnCrossEntropyLossGrad does not support Atlas inference series with CANN 9.1.0")
    assert (
        "  cross_entropy_loss: not usable: aclnnCrossEntropyLossGrad does not support"
        in device_text(found)
    )


@needs_compiler
def test_an_unknown_product_is_reported(monkeypatch):
    monkeypatch.setenv("STANDIN_SOC", "Ascend1")
    assert "got 'Ascend1'" in listed(stand_in())["devices"][0]["problem"]


@needs_compiler
@pytest.mark.parametrize(
    ("variant", "problem"),
    [
        (
            {"stubs": True},
            "aclInit must succeed: got 100039 (ACL_ERROR_COMPILING_STUB_MODE); the library is a build-time ",
        ),
        ({"missing_driver": True}, "the Ascend driver is missing"),
    ],
)
@pytest.mark.sampled(1)
def test_no_device_has_its_reason(variant, problem):
    found = listed(stand_in("9.x", **variant))
    assert found["devices"] == [] and problem in found["problem"] and problem in device_text(found)


@needs_compiler
def test_no_device_in_the_machine(monkeypatch):
    monkeypatch.setenv("STANDIN_DEVICES", "0")
    found = listed(stand_in())
    assert found["devices"] == [] and "the runtime counts no device" in found["problem"]
    assert [name for name, state in found["operators"].items() if state["usable"]] == OPERATORS


@needs_compiler
def test_a_missing_operator_is_reported():
    found = listed(stand_in("9.x", missing=("aclnnRmsNormGrad",)))
    assert found["operators"]["rms_norm"]["reason"] == "no library exports aclnnRmsNormGrad"


@needs_compiler
def test_a_device_that_does_not_start_is_reported_and_the_others_are_listed(monkeypatch):
    monkeypatch.setenv("STANDIN_DEVICES", "2")
    monkeypatch.setenv("STANDIN_FAIL", "aclrtSetDevice:1:507000")
    first, second = listed(stand_in())["devices"]
    assert (
        first["problem"].startswith("aclrtSetDevice must succeed: got 507000")
        and second["problem"] is None
    )


BROKEN = """
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int aclrtSetDevice(int device) {{ puts("noise of a driver"); {} }}
int aclInit(const char *path) {{ return 0; }}
int aclrtGetDeviceCount(unsigned *count) {{ *count = 1; return 0; }}
"""


def broken_root(tmp_path, behaviour):
    """Return a runtime that answers just enough, and then fails."""
    root = tmp_path / "root"
    (root / "lib64").mkdir(parents=True)
    source, runtime = tmp_path / "runtime.c", root / "lib64/libacl_rt.so"
    source.write_text(BROKEN.format(behaviour))
    subprocess.run(
        [shutil.which("g++"), "-x", "c", "-shared", "-fPIC", source, "-o", runtime], check=True
    )
    shutil.copy(runtime, root / "lib64/libnnopbase.so")
    return root


@needs_compiler
@pytest.mark.parametrize(
    ("behaviour", "problem"),
    [
        (
            "abort();",
            "the process that asked died of SIGABRT, while reading device 0: the driver or a library is broken",
        ),
        (
            "*(volatile int *)0 = 1; return 0;",
            "the process that asked died of SIGSEGV, while reading device 0",
        ),
        ("_exit(3);", "the process that asked ended with 3: no text, while reading device 0"),
    ],
)
@pytest.mark.sampled(1)
def test_a_crash_is_reported_and_takes_nobody_along(tmp_path, behaviour, problem):
    found = listed(broken_root(tmp_path, behaviour))
    assert (
        problem in found["problem"]
        and found["cann"] == "9.0.0"
        and found["cann_source"].startswith("inferred")
    )
    assert found["operators"]["hardswish"]["reason"].startswith(
        "no library exports aclnnHardswishBackward"
    )


@pytest.fixture(scope="module")
def hanging(tmp_path_factory):
    """Return a runtime whose driver does not return, and the file that it writes before, named by `HANGS`."""
    return broken_root(
        tmp_path_factory.mktemp("hanging"),
        'fclose(fopen(getenv("HANGS"), "w")); for (;;) sleep(1);',
    )


@needs_compiler
def test_a_hang_ends_with_the_time_limit(hanging, tmp_path, monkeypatch):
    monkeypatch.setenv("HANGS", str(tmp_path / "hangs"))
    for seconds in (2, 8, 32):  # a busy machine takes longer than two seconds to start Python
        found = listed(hanging, timeout=seconds)
        if (tmp_path / "hangs").exists():
            break
    assert (
        f"the process that asked did not answer within {seconds} s, while reading device 0"
        in found["problem"]
    )
    assert found["libraries"]  # reports from before the hang are kept


@needs_compiler
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
@pytest.mark.sampled(1)
def test_a_hanging_driver_does_not_outlive_who_asked(hanging, tmp_path, monkeypatch, how):
    monkeypatch.setenv("HANGS", str(tmp_path / "hangs"))
    parent = forked(lambda: list_devices(hanging, timeout=60))
    while not (tmp_path / "hangs").exists():
        time.sleep(0.02)
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    os.kill(parent, how)
    # a KeyboardInterrupt, or the signal itself
    assert os.waitpid(parent, 0)[1] == {signal.SIGINT: 256}.get(how, how)
    until = time.monotonic() + 20
    while any(map(lives, children)) and time.monotonic() < until:
        time.sleep(0.05)
    assert len(children) == 1 and not any(map(lives, children))


def lives(process):
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
