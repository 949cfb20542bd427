"""A recording that ends at the worst moment is never continued with what another device computed, nor stuck."""

import shutil
import zipfile

import numpy as np
import pytest

import aclnn_viz as av
from aclnn_viz.devices import record, recording
from aclnn_viz.devices.capsule import write

CASES = [("hardswish", av.case("hardswish", shape=(n,)).inputs) for n in (3, 4)]


def interrupted(path, monkeypatch, before):
    """Record, with an interrupt while the folder of finished cases is removed, after `before(folder)`."""
    def removal(folder):
        before(folder)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, av.open_device("host") as device, pytest.raises(KeyboardInterrupt):
        patch.setattr(recording.shutil, "rmtree", removal)
        record(device, CASES, path)


@pytest.mark.parametrize("before", [
    lambda folder: None,
    lambda folder: next(folder.glob("*/outputs.out.npy")).unlink(),
    lambda folder: shutil.copy(next(folder.glob("*/case.json")), folder / "provenance.json.writing")])
def test_an_interrupt_at_the_end_leaves_nothing_that_is_taken_over(tmp_path, monkeypatch, before):
    path = tmp_path / "x.capsule"
    interrupted(path, monkeypatch, before)
    with av.open_device("host", soc="Ascend910_9391") as device:
        runs = []
        run = device.run
        monkeypatch.setattr(device, "run", lambda op, /, **inputs: runs.append(op) or run(op, **inputs))
        record(device, CASES, path)
    assert len(runs) == 2
    with av.open_device(path) as capsule:
        assert capsule.soc == "Ascend910_9391" and len(capsule) == 2


def test_an_origin_that_was_never_finished_starts_anew(tmp_path):
    path = tmp_path / "x.capsule"
    (tmp_path / "x.capsule.part").mkdir()
    (tmp_path / "x.capsule.part" / "provenance.json.writing").touch()
    with av.open_device("host") as device:
        record(device, CASES, path)
    assert path.exists()


def test_byte_order_is_no_part_of_a_case(tmp_path):
    x, grad = np.array([1, 2, -1], ">f4"), np.ones(3, ">f4")
    with av.open_device("host") as device:
        record(device, [("hardswish", {"gradOutput": grad, "self": x})], tmp_path / "big")
    with av.open_device(tmp_path / "big") as capsule:
        assert [inputs["self"].tolist() for _, inputs in capsule.cases()] == [[1, 2, -1]]
        assert capsule.run("hardswish", gradOutput=grad.astype("<f4"), self=x.astype("<f4"))["out"].dtype.isnative
        with pytest.raises(ValueError, match="answers only the cases"):
            capsule.run("hardswish", gradOutput=grad.view("<f4"), self=x.view("<f4"))


def test_an_interrupt_inside_the_archive_stays_an_interrupt(tmp_path, monkeypatch):
    def interrupted(archive, name, content):
        archive.open(name, "w")  # an archive with an open writing handle refuses to close with a ValueError
        raise KeyboardInterrupt
    monkeypatch.setattr(zipfile.ZipFile, "writestr", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "cut.capsule", {}, [], None)
    assert list(tmp_path.iterdir()) == []
