"""The dump of one failing case: `compare` measures it, `check` judges it and what repairs it; damage is told."""

import json
import shutil

import numpy as np
import pytest

import aclnn_viz as av
from aclnn_viz.cases import files
from aclnn_viz.checking.faulty import faulty_kernel
from aclnn_viz.faults import faults


def fault(operator, title):
    return faulty_kernel(operator, next(one for one in faults(operator) if one.name == title))


@pytest.fixture(scope="module")
def dumped(tmp_path_factory):
    """The path of a case on which dxOut is wrong and dgammaOut right, and the counterexample."""
    found = av.check("rms_norm", fault("rms_norm", "missing 1/n")).counterexample
    return found.write(tmp_path_factory.mktemp("dump")), found


@pytest.fixture
def copy(dumped, tmp_path):
    return shutil.copytree(dumped[0], tmp_path / "copy")


def test_compare_reports_each_output_against_the_truth(dumped):
    path, found = dumped
    reports = av.compare(path)
    assert list(reports) == ["dxOut", "dgammaOut"]
    assert reports["dxOut"].max_abs == np.abs(found.actual["dxOut"] - found.truth["dxOut"]).max() > 0.01
    assert reports["dgammaOut"].max_ulp <= 1 and "dy" in reports["dxOut"].worst.inputs
    assert "dxOut: float32 output" in str(reports) and str(reports).count("decided by") == 2


def test_compare_takes_the_path_as_text(dumped):
    assert av.compare(str(dumped[0]))["dxOut"].max_abs > 0.01


def test_bfloat16_outputs_are_read_as_such(tmp_path):
    found = av.check("hardswish", fault("hardswish", "computed in 16 bits")).counterexample
    report = av.compare(found.write(tmp_path))["out"]
    assert report.dtype == str(found.actual["out"].dtype) and report.max_abs > 0


def test_check_judges_the_outputs_of_a_dump(dumped):
    result = av.check(dumped[0])
    assert result.operator == "rms_norm" and result.cases == result.failed == 1 and list(result.outputs) == ["dxOut"]


def test_check_runs_a_kernel_on_the_case_of_a_dump(dumped):
    right, wrong = av.operator("rms_norm").backward, fault("rms_norm", "missing 1/n")
    assert av.check(str(dumped[0]), right).passed and av.check(dumped[0], right).cases == 1
    assert not av.check(dumped[0], wrong).passed


def test_a_device_is_checked_on_the_case_of_a_dump(dumped):
    assert av.check(dumped[0], "host").passed


def rewrite(path, change):
    content = json.loads((path / "cases.json").read_text())
    change(content)
    (path / "cases.json").write_text(json.dumps(content))


def archive(path):
    with open(path, "wb") as file:
        np.savez(file, a=1)


DAMAGE = {
    "no folder": (shutil.rmtree, "cases.json"),
    "no index": (lambda path: (path / "cases.json").unlink(), "No such file"),
    "half an index": (lambda path: (path / "cases.json").write_text('{"operator": "rms'), "column"),
    "a list for an index": (lambda path: (path / "cases.json").write_text("[]"), "indices"),
    "no cases in the index": (lambda path: rewrite(path, lambda c: c.pop("cases")), "no 'cases'"),
    "an unknown operator": (lambda path: rewrite(path, lambda c: c.update(operator="softmax")), "softmax"),
    "a case that is no case": (lambda path: rewrite(path, lambda c: c.update(cases=["x"])), "a case"),
    "an unknown format": (lambda path: rewrite(path, lambda c: c["cases"][0].update(dtype="float8")), "float8"),
    "a missing input": (lambda path: [one.unlink() for one in (path / "000" / "in").glob("rstd.*")], "no rstd.npy"),
    "a cut input": (lambda path: (path / "000" / "in" / "x.npy").write_bytes(b"\x93NUMPY"), "x.npy"),
    "an empty input": (lambda path: (path / "000" / "in" / "x.npy").write_bytes(b""), "x.npy"),
    "a list without cases": (lambda path: rewrite(path, lambda c: c.update(cases=[])), "no cases"),
    "brackets without end": (lambda path: (path / "cases.json").write_text("[" * 10**5), "recursion"),
    "outputs that are no outputs": (lambda path: rewrite(path, lambda c: c["cases"][0].update(outputs=[])), "list"),
    "an output of an unknown format": (lambda path: rewrite(path, lambda c: c["cases"][0]["outputs"]["dxOut"].update(
        dtype="float8")), "float8"),
    "an archive for an input": (lambda path: archive(path / "000" / "in" / "x.npy"), "x.npy, which NumPy cannot"),
    "words for an input": (lambda path: np.save(path / "000" / "in" / "x.npy", np.array(["a"])), "no number"),
    "an input of another shape": (lambda path: np.save(path / "000" / "in" / "x.npy", np.ones(3)), r"x of shape \[3\]"),
}


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("reader", [av.compare, av.check, lambda path: av.check(path, lambda **inputs: None)],
                         ids=["compare", "check", "check with a kernel"])
def test_damage_is_told_in_three_parts(copy, damage, reader):
    harm, told = DAMAGE[damage]
    harm(copy)
    with pytest.raises(ValueError, match=rf"(?s)(dump|cases.json).*: got .*{told}.*; write the cases again"):
        reader(copy)


def test_a_missing_and_a_damaged_output_are_told(copy):
    (copy / "000" / "out" / "dxOut.npy").write_bytes(b"not an array")
    with pytest.raises(ValueError, match="dxOut, dgammaOut in 000/out: got dxOut.npy, which NumPy cannot.*; write"):
        av.compare(copy)
    assert "wrote dxOut.npy" in str(av.check(copy))
    for one in (copy / "000" / "out").glob("dxOut.*"):
        one.unlink()
    with pytest.raises(ValueError, match="got no dxOut.npy and no dxOut.bin; write"):
        av.compare(copy)
    assert "dxOut is missing" in str(av.check(copy).counterexample)


def too_large(path):
    np.save(path, np.ones(1))
    path.write_bytes(path.read_bytes().replace(b"(1,), }" + 15 * b" ", b"(9999999999999999,), }"))


@pytest.mark.parametrize("harm", [
    archive, too_large, lambda path: path.write_bytes(b"PK\3\4"), lambda path: np.save(path, np.array(["a"])),
    lambda path: np.save(path, np.ones(1, complex)), lambda path: np.save(path, np.zeros(1, "f4, f4"))],
    ids=["archive", "too large", "half an archive", "words", "complex", "records"])
def test_an_output_that_holds_no_numbers_is_told(copy, harm):
    harm(copy / "000" / "out" / "dxOut.npy")
    with pytest.raises(ValueError, match="got dxOut.npy.* (NumPy cannot read|no number)"):
        av.compare(copy)
    assert "wrote dxOut.npy" in str(av.check(copy))


def repaired(path):
    entry, = files.read_cases(path)[2]
    return av.operator("rms_norm").backward(**entry.case.inputs)


def test_right_outputs_pass_in_the_byte_order_of_another_machine(copy):
    for name, value in repaired(copy).items():
        np.save(copy / "000" / "out" / f"{name}.npy", value.astype(">f4"))
        (copy / "000" / "out" / f"{name}.bin").unlink()
    assert av.check(copy).passed


def test_of_two_files_that_differ_none_is_taken(copy):
    for name, value in repaired(copy).items():
        (copy / "000" / "out" / f"{name}.bin").write_bytes(value.tobytes())  # beside the .npy of the wrong kernel
    with pytest.raises(ValueError, match="dxOut.npy and dxOut.bin, which hold different numbers: delete the older"):
        av.compare(copy)
    assert "dxOut.bin, which hold different numbers" in str(av.check(copy))
    (copy / "000" / "out" / "dxOut.npy").unlink()
    assert av.check(copy).passed


def test_outputs_that_a_kernel_invented_are_not_written(tmp_path):
    invented = {"../../out": np.ones(1), "out.x": np.ones(1)}
    result = av.check("hardswish", lambda **inputs: invented | {"out": inputs["self"]})
    folder = result.counterexample.write(tmp_path / "dump")
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == sorted(
        ["cases.json", "gradOutput.bin", "gradOutput.npy", "self.bin", "self.npy", "out.bin", "out.npy"])
    assert np.load(folder / "000" / "out" / "out.npy").shape == result.counterexample.actual["out"].shape


def test_a_folder_of_many_cases_is_left_to_check(tmp_path):
    from aclnn_viz.checking import write_suite
    with pytest.raises(ValueError, match="dump of one case: got 20 cases.*use check"):
        av.compare(write_suite("hardswish", tmp_path))


@pytest.mark.parametrize("arguments", [(np.ones(2),), ("x", None, np.ones(2))], ids=["array", "path and baseline"])
def test_a_comparison_without_truth_is_refused(arguments):
    with pytest.raises(TypeError, match="an output and its truth, or the path of a dump alone: got"):
        av.compare(arguments[0], baseline=arguments[2] if len(arguments) > 2 else None)


def test_a_check_without_kernel_needs_a_dump():
    with pytest.raises(TypeError, match="a kernel is a function"):
        av.check("rms_norm")
