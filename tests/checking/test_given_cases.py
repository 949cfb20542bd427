"""The scope of given cases: dumps, capsules, lists, and judgements without Python."""

import json

import pytest
from checking.test_exchange import run_outside
from checking.test_scope import GRID
from checking.wrong_kernels import RMS, watched

import aclnn_viz as av
from aclnn_viz.checking import read_and_check, write_suite
from aclnn_viz.cli import main
from aclnn_viz.devices import record


def test_only_what_counts_is_written_and_read(tmp_path):
    small = {"dtypes": ["float16", "float32"], "limits": {"x": 100}}
    folder = write_suite("rms_norm", tmp_path / "cases", **small)
    seen = []
    run_outside(
        folder, lambda **inputs: seen.append(inputs["x"].dtype.name) or RMS.backward(**inputs)
    )
    assert set(seen) == {"float16", "float32"}
    half = read_and_check("rms_norm", folder, dtypes=["float16"])
    assert half.passed and not half.stopped and half.cases == seen.count("float16")


def test_16_bit_outputs_alone_pass_where_they_are_asked_for(tmp_path, capsys):
    folder = write_suite("rms_norm", tmp_path / "cases", limits={"x": 100})
    listed = json.loads((folder / "cases.json").read_text())["cases"]
    run_outside(folder, RMS.backward)
    for entry in listed:
        if entry["dtype"] == "float32":
            for path in (folder / entry["folder"] / "out").iterdir():
                path.unlink()
    assert main(["check", "rms_norm", "--read", str(folder)]) == 1
    assert main(["check", "rms_norm", "--read", str(folder), "--dtypes", "float16,bfloat16"]) == 0
    assert main(["check", "rms_norm", "--read", str(folder), "--allow-unsupported"]) == 0
    assert "not supported: exactly the cases with dtype='float32'" in capsys.readouterr().out


def test_the_exit_status_of_what_is_not_supported(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(
        "import aclnn_viz as av\ndef run(**inputs):\n    if inputs['interpolationMode']:\n"
        "        raise av.NotSupported\n    return av.operator('grid_sampler_2d').backward(**inputs)\n"
    )
    kernel = f"{tmp_path}/mine.py:run"
    quick = ["check", "grid_sampler_2d", kernel, "--depth", "quick", "--dtypes", "float32"]
    assert main(quick) == 1
    assert main([*quick, "--allow-unsupported"]) == 0
    assert main([*quick, "--where", "interpolationMode=0"]) == 0
    assert main([*quick, "--where", "interpolationMode"]) == 2
    assert "a setting is NAME=VALUE" in capsys.readouterr().err


def test_the_options_say_what_counts_of_a_dump(tmp_path):
    folder = write_suite("rms_norm", tmp_path / "cases", limits={"x": 100})
    seen, kernel = watched(RMS)
    some = av.check(folder, kernel, dtypes="float16", limits={"x": 60})
    assert (
        some.passed
        and {inputs["x"].dtype.name for inputs in seen} == {"float16"}
        and max(inputs["x"].size for inputs in seen) <= 60
    )
    assert any("float32" in why for why in some.left_out)
    few = av.check(folder, kernel, shapes=[(4, 6)])
    assert (
        few.passed
        and few.cases < some.cases + sum(some.left_out.values())
        and any("shape" in why for why in few.left_out)
    )
    assert av.check(folder, kernel, plan="device").passed  # plan given by its name
    with pytest.raises(ValueError, match="some case must remain.*float16.*ask for less"):
        av.check(folder, kernel, dtypes="float16", limits={"x": 0, "gamma": 0})


def test_a_dump_counts_whole_unless_a_product_is_named(tmp_path):
    folder = write_suite(
        "rms_norm", tmp_path / "cases", dtypes="float64", beyond=True, shapes=[(4, 6)]
    )
    assert av.check(folder, RMS.backward).passed
    with pytest.raises(ValueError, match="some case must remain"):
        av.check(folder, RMS.backward, soc="Ascend910B2")


def test_the_options_say_what_counts_of_a_capsule(tmp_path):
    cases = [av.case("rms_norm", dtype=dtype, shape=(3, 8)) for dtype in ("float16", "float32")]
    with av.open_device("host") as device:
        path = record(device, [(RMS, one.inputs) for one in cases], tmp_path / "host.capsule")
    half = av.check("rms_norm", path, dtypes="float16")
    assert half.passed and half.cases == 1 and half.left_out == {"dtype='float32'": 1}
    assert av.check("rms_norm", av.open_device(path)).cases == 2
    with pytest.raises(ValueError, match="must hold cases of hardswish"):
        av.check("hardswish", path)


def test_masked_cases_of_a_capsule_are_judged(tmp_path):
    cases = [av.case(GRID, outputMask=mask) for mask in ((True, True), (False, True))]
    with av.open_device("host") as device:
        path = record(device, [(GRID, one.inputs) for one in cases], tmp_path / "host.capsule")
    assert av.check(GRID, path).cases == 2


def test_cases_are_given_once(tmp_path):
    folder = write_suite("rms_norm", tmp_path / "cases", shapes=[(4, 6)])
    with pytest.raises(ValueError, match="one set of cases: got .* leave out one of them"):
        av.check(folder, RMS.backward, cases=[av.case("rms_norm")])
    with pytest.raises(ValueError, match="some case must remain to be judged: got no case at all"):
        av.check("rms_norm", RMS.backward, cases=[])
    assert "right on 1 case (seed" in str(
        av.check("rms_norm", RMS.backward, cases=[av.case("rms_norm")])
    )
    with pytest.raises(TypeError, match="cases is a list of Case: got Case"):
        av.check("rms_norm", RMS.backward, cases=av.case("rms_norm"))


def test_what_is_read_back_is_of_the_shapes_that_are_asked_for(tmp_path):
    run_outside(write_suite("rms_norm", tmp_path / "cases", limits={"x": 100}), RMS.backward)
    found = read_and_check("rms_norm", tmp_path / "cases", shapes=[(4, 6)])
    assert found.passed and 0 < found.cases < len(list((tmp_path / "cases").iterdir())) - 1
    with pytest.raises(ValueError, match="some case must remain to be judged"):
        read_and_check("rms_norm", tmp_path / "cases", shapes=[(4, 7)])
