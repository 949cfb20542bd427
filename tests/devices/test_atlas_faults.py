"""Every C call of a run on the stand-in fails once: the right error is raised, and nothing stays behind.

A sample fails every call of hardswish on CANN 9, and a twentieth of the calls of others and on CANN 8.
"""

from functools import cache

import pytest
from atlas_stand_in import tiny
from in_child import StandIn, in_child, stand_in
from machine import SOAK, taught

import aclnn_viz as av
from aclnn_viz.devices import AclError, DeviceClosedError, open_device

pytestmark = pytest.mark.needs("g++")
STATUS = 507000
HANDLES = {"aclrtGetSocName", "aclCreateTensor"} | {
    f"aclCreate{kind}Array" for kind in ("Bool", "Int", "Float")
}


inputs_of = cache(tiny)


def attempt(root, op):
    """Open, run and close; return the error with its notes, the stand-in's notes, the remains, and whether it is closed."""
    raised, device, inputs = None, None, inputs_of(op)
    try:
        with open_device("atlas", root=root) as device:
            device.run(op, **inputs)
    except AclError as error:
        raised = error.call, error.code, error.message, getattr(error, "__notes__", [])
    if device is not None:
        with pytest.raises(DeviceClosedError):
            device.run(op, **inputs)
    notes = StandIn(root)
    return raised, notes.misuse, notes.live, device is None or device.closed


def calls_of(root, op):
    def record():
        attempt(root, op)
        return StandIn(root).calls

    return in_child(record)


def places(names):
    """Yield each call with its number among those of its name; only an error requests its text."""
    seen = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        if name != "aclGetRecentErrMsg":
            yield name, seen[name]


@pytest.mark.parametrize("layout", ["8.x", "9.x"])
@pytest.mark.parametrize("op", taught(), ids=lambda op: op.name)
@pytest.mark.sampled(1)
def test_every_failing_call_is_reported_and_leaves_nothing(op, layout):
    root = stand_in(layout)
    inputs_of(op)  # drawn here, not in every child
    swept = list(places(calls_of(root, op)))
    assert len(swept) > 20 and (f"task@{op.aclnn_name}", 1) in swept
    for name, k in (
        swept
        if SOAK or (op.name, layout) == ("hardswish", "9.x")
        else swept[10 * (layout == "9.x") :: 20]
    ):
        raised, misuse, live, closed = in_child(
            lambda: attempt(root, op), {"STANDIN_FAIL": f"{name}:{k}:{STATUS}"}
        )
        call = "aclrtSynchronizeStream" if name.startswith("task@") else name
        assert raised is not None, f"call {k} of {name} failed and no error was raised"
        assert raised[:2] == (call, None if name in HANDLES else STATUS), (
            f"call {k} of {name}: {raised}"
        )
        assert raised[2] == f"{name}: failed by request, status {STATUS}", (
            f"call {k} of {name}: {raised}"
        )
        assert (misuse, live, closed) == ([], "", True), f"call {k} of {name}: {misuse} {live}"


def hardswish(environment=None):
    root = stand_in()
    return in_child(lambda: attempt(root, av.operator("hardswish")), environment)


def test_without_a_fault_nothing_is_raised():
    assert hardswish() == (None, [], "", True)


def test_the_first_error_is_raised_and_later_ones_are_notes():
    faults = f"aclnnHardswishBackward:1:{STATUS},aclrtFree:0:100000,aclrtResetDevice:1:107002"
    raised, misuse, live, closed = hardswish({"STANDIN_FAIL": faults})
    assert raised[:2] == ("aclnnHardswishBackward", STATUS) and (misuse, live, closed) == (
        [],
        "",
        True,
    )
    assert [note.partition(" must")[0] for note in raised[3]] == [
        "while releasing: aclrtFree"
    ] * 3 + ["while closing: aclrtResetDevice"]


def test_a_failed_start_takes_back_what_it_had_and_tells_what_that_failed():
    faults = f"aclrtCreateStream:1:{STATUS},aclrtResetDevice:1:107002"
    raised, misuse, live, _ = hardswish({"STANDIN_FAIL": faults})
    assert raised[:2] == ("aclrtCreateStream", STATUS) and (misuse, live) == ([], "")
    assert [note.partition(" must")[0] for note in raised[3]] == [
        "while releasing: aclrtResetDevice"
    ]


@pytest.mark.parametrize("keeps", ["clear", "keep"])
def test_a_text_of_an_earlier_error_is_not_shown_again(keeps):
    """The library may forget a text that was read or not; another library's error comes first."""
    root, op = stand_in(), av.operator("hardswish")

    def work():
        other = StandIn(root)
        other.aclInit(None), other.aclrtSetDevice(77)
        device, text = open_device("atlas", root=root), []
        for status in (0, STATUS):
            other.standin_fail(f"aclrtMalloc:1:{STATUS}".encode() if status else b"")
            try:
                device.run(op, **inputs_of(op) if status else av.case(op, dtype="float64").inputs)
            except AclError as error:
                text.append(error.message)
        device._session.recent_message()
        text.append(device._session.recent_message())
        device.close()
        other.aclFinalize()
        return text

    first, second, third = in_child(work, {"STANDIN_ERRMSG": keeps})
    assert "gradOutput" in first or "dtype" in first.lower() or "type" in first
    assert (second, third) == (f"aclrtMalloc: failed by request, status {STATUS}", None)


class Texts:
    """An ACL that keeps old text and prepends new text, as some releases of the runtime do."""

    def __init__(self):
        self.text = "old trouble of another library\n"

    def aclGetRecentErrMsg(self):
        return self.text


def test_new_text_before_old_text_is_distinguished():
    from aclnn_viz.devices.device import Session

    session = Session.__new__(Session)
    session.acl = Texts()
    session._seen_text = session.acl.aclGetRecentErrMsg()
    found = [session.recent_message()]
    for trouble in ("first\n", "second\n"):
        session.acl.text = trouble + session.acl.text
        found += [session.recent_message(), session.recent_message()]
    assert found == [None, "first", None, "second", None]
