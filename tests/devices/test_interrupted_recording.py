"""A recording that ends at the worst moment goes on with what is whole, and never touches what is not its own."""

import os
import zipfile

import numpy as np
import pytest

import aclnn_viz as av
from aclnn_viz.devices import capsule, record
from aclnn_viz.devices.capsule import write

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


@pytest.fixture
def begun(tmp_path):
    """The folder of a recording whose first case is finished, and the place of its capsule."""
    with av.open_device("host") as device, pytest.raises(KeyboardInterrupt):
        record(Counting(device, 2), CASES, tmp_path / "x.capsule")
    return tmp_path / "x.capsule.part", tmp_path / "x.capsule"


def recorded(path, soc="Ascend910B2", **options):
    """Record all cases, use each, and return how many were run for it."""
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


def flip(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def link(path):
    path.unlink()
    path.symlink_to("/dev/null")


HARM = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "flipped": flip,
    "link": link,
    "gone": lambda path: path.unlink(),
    "a pipe": lambda path: (path.unlink(), os.mkfifo(path)),
}


@pytest.mark.parametrize("harm", HARM)
@pytest.mark.parametrize("name", ["in/self.npy", "out/out.npy", "case.json"])
def test_what_was_damaged_meanwhile_is_run_again(begun, harm, name):
    folder, path = begun
    (victim,) = folder.glob(f"*/{name}")
    HARM[harm](victim)
    assert recorded(path) == 2 and not folder.exists()


def test_what_is_whole_is_not_run_again(begun):
    folder, path = begun
    assert recorded(path) == 1 and list(path.parent.iterdir()) == [path]


def test_what_another_device_left_is_begun_anew(begun):
    assert recorded(begun[1], "Ascend910_9391") == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda part: (part.mkdir(), (part / "thesis.txt").write_text("all of it")),
        lambda part: part.write_text("all of it"),
        lambda part: part.symlink_to("/"),
        lambda part: (part.mkdir(), (part / "recording.json").write_text('{"format": "mine"}')),
        lambda part: (part.mkdir(), (part / "recording.json").write_text("[" * 10**5)),
    ],
)
def test_a_folder_of_somebody_else_is_left_alone(tmp_path, make):
    part = tmp_path / "x.capsule.part"
    make(part)
    before = sorted(os.listdir(part)) if part.is_dir() else part.read_text()
    for force in (False, True):
        with (
            av.open_device("host") as device,
            pytest.raises(
                FileExistsError,
                match="goes on only with what it began: "
                "got .*part, which it did not; move that away",
            ),
        ):
            record(device, CASES, tmp_path / "x.capsule", force=force)
    assert (sorted(os.listdir(part)) if part.is_dir() else part.read_text()) == before
    assert os.listdir(tmp_path) == ["x.capsule.part"]


def test_files_of_somebody_else_in_the_folder_stay(begun):
    folder, path = begun
    (folder / "notes.txt").write_text("mine")
    next(folder.glob("*/in")).joinpath("notes.txt").write_text("mine")
    recorded(path)
    assert [file.name for file in folder.rglob("*") if file.is_file()] == ["notes.txt", "notes.txt"]


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
                match="a place of its own: got .*x, which this kit did not make; name another",
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


def test_an_interrupt_while_all_is_cleared_away_loses_nothing(begun, monkeypatch):
    folder, path = begun

    def removal(place, names):
        names = list(names)
        (place / names[0]).unlink()
        raise KeyboardInterrupt

    with (
        monkeypatch.context() as patch,
        av.open_device("host") as device,
        pytest.raises(KeyboardInterrupt),
    ):
        patch.setattr(capsule, "remove", removal)
        record(device, CASES, path)
    assert recorded(path, force=True) == 1 and list(path.parent.iterdir()) == [path]


def test_two_recordings_to_one_place_do_not_mix(begun):
    folder, path = begun
    with (
        capsule.alone(folder),
        av.open_device("host") as device,
        pytest.raises(BlockingIOError, match="in use by"),
    ):
        record(device, CASES, path)
    assert recorded(path) == 1


def test_an_origin_that_was_never_finished_starts_anew(tmp_path):
    (tmp_path / "x.part").mkdir()  # a kill between the last file and its folder
    (tmp_path / ".x.part.0123456789abcdef.aclnn-viz-unfinished").mkdir()  # a kill before its name
    (tmp_path / ".x.part.0123456789abcdeX.aclnn-viz-unfinished").touch()  # somebody's
    assert recorded(tmp_path / "x") == 2
    assert sorted(os.listdir(tmp_path)) == [".x.part.0123456789abcdeX.aclnn-viz-unfinished", "x"]


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
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "cut.capsule", {}, [], [])
    assert list(tmp_path.iterdir()) == []
