"""Cases as files: written files equal the cases of `check`, and outputs of any program are judged."""

import hashlib
import json
import re
import zipfile

import numpy as np
import pytest
from checking.wrong_kernels import SWISH, fault, scaled
from machine import SOAK, sampled

from aclnn_viz import case, open_device, operator
from aclnn_viz.checking import check
from aclnn_viz.checking.check import read_and_check, write_suite
from aclnn_viz.devices import record
from aclnn_viz.dtypes import float_format
from aclnn_viz.storage.readers import AlteredError

pytestmark = pytest.mark.usefixtures("unexplained", "unshrunken")


def tensors(place, described):
    """Return the tensors of a folder from their raw bytes and cases.json alone."""

    def dtype(name):
        return (
            np.dtype(name) if name.startswith(("int", "uint", "bool")) else float_format(name).numpy
        )

    return {
        name: np.frombuffer((place / f"{name}.bin").read_bytes(), dtype(one["dtype"])).reshape(
            one["shape"]
        )
        for name, one in described.items()
    }


def run_outside(folder, kernel, suffix=".bin", only=None):
    """Act as a program that reads and writes files."""
    for entry in json.loads((folder / "cases.json").read_text())["cases"][:only]:
        attributes = {
            k: tuple(v) if isinstance(v, list) else v for k, v in entry["attributes"].items()
        }
        for name, value in kernel(
            **attributes, **tensors(folder / entry["folder"] / "in", entry["inputs"])
        ).items():
            path = folder / entry["folder"] / "out" / f"{name}{suffix}"
            if suffix == ".bin":
                path.write_bytes(value.tobytes())
            else:
                np.save(path, value.view(np.uint16) if value.dtype.name == "bfloat16" else value)


@pytest.mark.parametrize(
    ("op", "suffix"),
    [
        pytest.param(op, suffix, id=f"{op.name}{suffix}")
        for k, op in enumerate(sampled(__name__))
        for n, suffix in enumerate((".bin", ".npy"))
        if SOAK or n == k % 2 and op.name != "grid_sampler_3d"
    ],
)  # these have the slowest cases
@pytest.mark.sampled(1)
def test_a_right_program_passes(op, suffix, tmp_path):
    # twenty of fifty slow cases
    where = {"paddingMode": 0} if op.name == "grid_sampler_2d" and not SOAK else None
    run_outside(write_suite(op, tmp_path, where=where), op.backward, suffix)
    result = read_and_check(op, tmp_path)
    assert result.passed and not result.stopped and result.cases > 15


def test_a_wrong_program_is_diagnosed(tmp_path):
    title = "16-bit outputs truncated"
    run_outside(
        write_suite("rms_norm", tmp_path, dtypes="float16", limits={"x": 64}),
        fault("rms_norm", title),
    )
    result = read_and_check("rms_norm", tmp_path)
    assert not result.passed and result.diagnosis.name == title and result.counterexample


def test_both_forms_of_an_input_hold_the_same(tmp_path):
    write_suite("rms_norm", tmp_path, limits={"x": 100})
    for entry in json.loads((tmp_path / "cases.json").read_text())["cases"]:
        for name, value in tensors(tmp_path / entry["folder"] / "in", entry["inputs"]).items():
            assert (
                np.load(tmp_path / entry["folder"] / "in" / f"{name}.npy").tobytes()
                == value.tobytes()
            )


def test_cases_that_were_not_run_are_reported(tmp_path):
    run_outside(write_suite("hardswish", tmp_path), SWISH.backward, only=3)
    result = read_and_check("hardswish", tmp_path)
    assert result.passed and result.stopped and result.cases == 3
    assert re.search(r"\d\d cases have no output", str(result)) and "time limit" not in str(result)


def test_a_file_of_the_wrong_size_is_reported(tmp_path):
    run_outside(write_suite("hardswish", tmp_path), SWISH.backward)
    (tmp_path / "000" / "out" / "out.bin").write_bytes(b"123")
    result = read_and_check("hardswish", tmp_path)
    assert not result.passed and not result.stopped and "3 bytes instead of" in str(result)


@pytest.mark.parametrize(
    "prepare",
    [
        lambda folder: None,
        lambda folder: write_suite("rms_norm", folder, shapes=[(4, 6)]),
        lambda folder: write_suite("hardswish", folder, shapes=[(4, 6)]),
    ],
    ids=["no cases", "another operator", "no outputs"],
)
def test_a_folder_that_cannot_be_judged_is_refused(prepare, tmp_path):
    prepare(tmp_path)
    with pytest.raises(ValueError, match=": got "):
        read_and_check("hardswish", tmp_path)


def test_the_dump_of_a_failing_case_is_judged_again(tmp_path):
    check(SWISH, scaled(SWISH, 2), depth="quick").counterexample.write(tmp_path)
    result = read_and_check("hardswish", tmp_path)
    assert result.cases == result.failed == 1


def test_a_capsule_is_judged_as_a_folder_is(tmp_path):
    cases = [(op, case(op, shape=(3, 4)).inputs) for op in ("hardswish", "rms_norm")]
    with open_device("host") as device:
        path = record(device, cases, tmp_path / "x.capsule")
    for op, _ in cases:
        result = read_and_check(op, path)
        assert result.passed and result.operator == op and result.cases == 1 and not result.stopped
    with pytest.raises(
        ValueError, match="cases of one operator .* got those of hardswish, rms_norm; name one"
    ):
        read_and_check(None, path)
    with pytest.raises(ValueError, match="must be those of grid_sampler_2d: got those of"):
        read_and_check("grid_sampler_2d", path)


def test_an_unzipped_capsule_is_a_folder_of_cases(tmp_path):
    inputs = case("rms_norm", dtype="bfloat16", shape=(3, 4)).inputs
    with open_device("host") as device:
        path = record(device, [("rms_norm", inputs)], tmp_path / "x.capsule")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "x")
    assert read_and_check("rms_norm", tmp_path / "x").passed
    assert (
        check(tmp_path / "x", operator("rms_norm").backward).passed and check(path, "host").passed
    )
    wrong = next((tmp_path / "x").glob("*/out/dxOut.npy"))
    np.save(wrong, np.load(wrong) ^ 64)
    with pytest.raises(AlteredError, match="dxOut.npy does not have its checksum"):
        read_and_check("rms_norm", tmp_path / "x")


def test_the_checksum_is_what_sha256sum_checks(tmp_path):
    folder = write_suite("hardswish", tmp_path / "x")
    name = (folder / "cases.json.sha256").read_text().split("  ")[1].strip()
    assert name == "cases.json" and (folder / "cases.json.sha256").read_text().startswith(
        hashlib.sha256((folder / name).read_bytes()).hexdigest()
    )


def test_only_cases_and_their_outputs_are_replaced(tmp_path):
    folder = write_suite("hardswish", tmp_path / "x")
    run_outside(folder, SWISH.backward, only=2)
    with pytest.raises(FileExistsError, match="which exists"):
        write_suite("rms_norm", folder, shapes=[(4, 6)])
    assert read_and_check(None, folder).cases == 2
    notes = folder / "000" / "notes.txt"
    notes.touch()
    with pytest.raises(FileExistsError, match="did not make"):
        write_suite("rms_norm", folder, force=True, shapes=[(4, 6)])
    assert notes.exists() and (folder / "001" / "out" / "out.bin").exists()
    notes.unlink()
    write_suite("rms_norm", folder, force=True, shapes=[(4, 6)])
    assert "rms_norm" in (folder / "cases.json").read_text()
