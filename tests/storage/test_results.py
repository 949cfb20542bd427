"""Results are complete or absent, and never replace files that the kit did not make."""

import os
import subprocess
import sys

import pytest
from machine import ROOT

from aclnn_viz.storage.results import new_file, new_folder


def ours(path):
    return path.is_file() and path.read_bytes().startswith(b"mine")


def test_a_file_is_there_when_the_block_has_ended(tmp_path):
    with new_file(tmp_path / "deep" / "x") as file:
        file.write(b"mine")
        assert not (tmp_path / "deep" / "x").exists()
    assert (
        os.listdir(tmp_path / "deep") == ["x"] and (tmp_path / "deep" / "x").read_bytes() == b"mine"
    )
    assert (tmp_path / "deep" / "x").stat().st_mode & 0o777 == 0o666 & ~_umask()


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_what_was_there(tmp_path, error):
    (tmp_path / "x").write_bytes(b"mine, old")
    with pytest.raises(error), new_file(tmp_path / "x", True, ours) as file:
        file.write(b"mine, new")
        raise error
    with pytest.raises(error), new_folder(tmp_path / "y") as own:
        (own / "part").touch()
        raise error
    assert os.listdir(tmp_path) == ["x"] and (tmp_path / "x").read_bytes() == b"mine, old"


def test_what_came_meanwhile_stays(tmp_path):
    with (
        pytest.raises(FileExistsError, match="which somebody made meanwhile"),
        new_file(tmp_path / "x") as file,
    ):
        file.write(b"mine")
        (tmp_path / "x").write_text("theirs")
    with pytest.raises(FileExistsError, match="did not make"), new_folder(tmp_path / "y") as own:
        (own / "part").touch()
        (tmp_path / "y").mkdir()
        (tmp_path / "y" / "theirs").touch()
    assert sorted(os.listdir(tmp_path)) == ["x", "y"] and (tmp_path / "x").read_text() == "theirs"
    assert os.listdir(tmp_path / "y") == ["theirs"]


@pytest.mark.parametrize(
    "content,force,text",
    [
        (b"theirs", False, "did not make"),
        (b"theirs", True, "did not make"),
        (b"mine", False, "exists; .*--force"),
    ],
)
def test_a_file_that_is_there_is_kept(tmp_path, content, force, text):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(FileExistsError, match=text), new_file(tmp_path / "x", force, ours):
        pytest.fail("something was written")
    assert (tmp_path / "x").read_bytes() == content


def test_a_file_of_the_kit_is_replaced_on_request(tmp_path):
    (tmp_path / "x").write_bytes(b"mine, old")
    with new_file(tmp_path / "x", True, ours) as file:
        file.write(b"new")
    assert (tmp_path / "x").read_bytes() == b"new" and os.listdir(tmp_path) == ["x"]


def test_a_folder_is_filled_when_empty_and_replaced_on_request(tmp_path):
    place = tmp_path / "x"
    place.mkdir()
    for content, force in (("old", False), ("new", True)):
        with new_folder(place, force, lambda path: path.name == "x") as own:
            (own / content).touch()
    assert os.listdir(place) == ["new"] and os.listdir(tmp_path) == ["x"]


KILLED = """
import os, sys, time
from aclnn_viz.storage.results import new_file, new_folder
with new_file(sys.argv[1] + "/x") as file, new_folder(sys.argv[1] + "/y") as own:
    (own / "part").touch()
    print("writing", flush=True)
    time.sleep(60)
"""


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_writes_is_not(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, tmp_path], cwd=ROOT, stdout=subprocess.PIPE
    ) as child:
        child.stdout.readline()
        unfinished = sorted(os.listdir(tmp_path))
        write_both(tmp_path)
        assert (
            sorted(os.listdir(tmp_path)) == sorted([*unfinished, "x", "y"]) and len(unfinished) == 2
        )
        child.kill()
    write_both(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["x", "y"]


def test_what_was_left_beside_a_finished_result_is_removed_though_it_is_kept(tmp_path):
    (tmp_path / "x").write_bytes(b"mine")
    # a kill between its name and its end
    (tmp_path / ".x.0123456789abcdef.aclnn-viz-unfinished").write_bytes(b"mine")
    with (
        pytest.raises(FileExistsError, match="which exists"),
        new_file(tmp_path / "x", False, ours),
    ):
        pass
    assert os.listdir(tmp_path) == ["x"]


def write_both(folder):
    with (
        new_file(folder / "x", True, lambda path: True),
        new_folder(folder / "y", True, lambda path: True) as own,
    ):
        (own / "part").touch()
