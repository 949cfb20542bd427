"""A recording is complete or absent, and never touches other files."""

import os
import zipfile

import numpy as np
import pytest

import aclnn_viz as av
from aclnn_viz.devices import record

CASES = [("hardswish", av.case("hardswish", shape=(n,)).inputs) for n in (3, 4)]


class Counting:
    """A device that counts its runs, and is interrupted in the k-th."""

    def __init__(self, device, k=None):
        self._device, self._k, self.runs = device, k, 0

    def __getattr__(self, name):
        return getattr(self._device, name)

    def run(self, op, /, **inputs):
        self.runs += 1
        if self.runs == self._k:
            raise KeyboardInterrupt
        return self._device.run(op, **inputs)


def recorded(path, soc="Ascend910B2", **options):
    """Record all cases, use each, and return the number of runs."""
    with av.open_device("host", soc=soc) as device:
        counting = Counting(device)
        record(counting, CASES, path, **options)
    with av.open_device(path) as capsule:
        assert capsule.soc == soc and len(capsule) == 2
        for op, inputs in CASES:
            assert (
                capsule.run(op, **inputs)["out"].tobytes()
                == av.operator(op).backward(**inputs)["out"].tobytes()
            )
    return counting.runs


def test_an_interrupt_leaves_nothing(tmp_path):
    with av.open_device("host") as device, pytest.raises(KeyboardInterrupt):
        record(Counting(device, 2), CASES, tmp_path / "x")
    assert os.listdir(tmp_path) == [] and recorded(tmp_path / "x") == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_text("thesis"),
        lambda path: path.mkdir() or (path / "x").touch(),
        os.mkfifo,
        lambda path: path.symlink_to("/dev/null"),
        lambda path: path.symlink_to("nowhere"),
        lambda path: path.write_bytes(b"PK\3\4"),
    ],
    ids=["text", "folder", "pipe", "device", "dangling", "torn archive"],
)
def test_a_place_that_is_taken_is_reported_before_anything_is_run(tmp_path, make):
    make(tmp_path / "x")
    for force in (False, True):
        with (
            av.open_device("host") as device,
            pytest.raises(
                FileExistsError,
                match="result .*: got .*x, (which this kit did not make; name another|a folder; name a file)",
            ),
        ):
            counting = Counting(device)
            record(counting, CASES, tmp_path / "x", force=force)
        assert counting.runs == 0 and os.listdir(tmp_path) == ["x"]


def test_a_capsule_is_replaced_only_on_request(tmp_path):
    path = tmp_path / "x"
    recorded(path)
    before = path.read_bytes()
    with (
        av.open_device("host") as device,
        pytest.raises(FileExistsError, match="which exists; .*--force"),
    ):
        record(device, CASES, path)
    assert path.read_bytes() == before and recorded(path, force=True) == 2


def test_byte_order_is_no_part_of_a_case(tmp_path):
    x, grad = np.array([1, 2, -1], ">f4"), np.ones(3, ">f4")
    with av.open_device("host") as device:
        record(device, [("hardswish", {"gradOutput": grad, "self": x})], tmp_path / "big")
    with av.open_device(tmp_path / "big") as capsule:
        assert [inputs["self"].tolist() for _, inputs in capsule.cases()] == [[1, 2, -1]]
        assert capsule.run("hardswish", gradOutput=grad.astype("<f4"), self=x.astype("<f4"))[
            "out"
        ].dtype.isnative
        with pytest.raises(ValueError, match="answers only the cases"):
            capsule.run("hardswish", gradOutput=grad.view("<f4"), self=x.view("<f4"))


def test_an_interrupt_inside_the_archive_stays_an_interrupt(tmp_path, monkeypatch):
    def interrupted(archive, name, content):
        # an archive with an open writing handle refuses to close with a ValueError
        archive.open(name, "w")
        raise KeyboardInterrupt

    monkeypatch.setattr(zipfile.ZipFile, "writestr", interrupted)
    with av.open_device("host") as device, pytest.raises(KeyboardInterrupt):
        record(device, CASES, tmp_path / "cut.capsule")
    assert list(tmp_path.iterdir()) == []
