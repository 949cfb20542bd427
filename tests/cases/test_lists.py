"""Test lists of ATK: read and judged; missing entries are reported, and damage too."""

import json

import numpy as np
import pytest
from machine import sampled

import aclnn_viz as av
from aclnn_viz.cases.suites import suite
from aclnn_viz.cli import main


def entry(name, shape, values, dtype="fp32", **more):
    """Return one tensor of a list of ATK; without a shape an attribute."""
    kind = "attr" if shape is None else "tensor"
    return {
        "name": name,
        "type": kind,
        "dtype": dtype,
        "shape": shape,
        "range_values": values,
    } | more


# Made by hand from the described formats, as authors of such lists would.
NORMAL = {"name": "nd", "mean": [-1, 1], "std": [1, 3]}
ATK = [
    {
        "id": 900,
        "name": "RmsNormGrad",
        "aclnn_name": "RmsNormGrad",
        "standard": {"acc": "single_bm", "perf": "not_key"},
        "inputs": [
            entry("dy", [6, 75], [-1, 1], "bf16", required=True),
            entry("input", [6, 75], NORMAL, "bf16", required=True, align_32B=True),
            entry("rstd", [6, 1], [0.5, 2]),
            entry("gamma", [75], [-1, 1]),
        ],
    },
    {
        "id": 901,
        "aclnn_name": "GridSampler2DBackward",
        "inputs": [
            entry("gradOutput", [1, 2, 3, 4], [-1, 1]),
            entry("input", [1, 2, 5, 6], [-1, 1]),
            entry("grid", [1, 3, 4, 2], [-1, 1]),
            entry("interpolation_mode", None, 1, "int"),
            entry("padding_mode", None, 2, "int"),
            entry("align_corners", None, True, "bool"),
            entry("output_mask", None, [True, False], "bool", type="attr_tuple"),
        ],
    },
]


def atk(folder, content=ATK):
    (folder / "atk.json").write_text(content if isinstance(content, str) else json.dumps(content))
    return folder / "atk.json"


def test_a_list_of_atk_is_read(tmp_path):
    found = av.cases.read(atk(tmp_path))
    rms, grid = found
    assert [one.operator.name for one in found] == ["rms_norm", "grid_sampler_2d"] and found.names[
        0
    ] == "RmsNormGrad 900"
    assert (
        rms.dtype == "bfloat16"
        and rms.inputs["x"].shape == (6, 75)
        and rms.inputs["gamma"].dtype == np.float32
    )
    assert (
        0.5 <= rms.inputs["rstd"].min()
        and rms.inputs["rstd"].max() <= 2
        and np.unique(rms.inputs["rstd"]).size == 6
    )
    # normal
    assert (
        np.abs(rms.inputs["dy"].astype(float)).max()
        <= 1
        < np.abs(rms.inputs["x"].astype(float)).max()
    )
    assert {
        name: value for name, value in grid.inputs.items() if not isinstance(value, np.ndarray)
    } == {
        "interpolationMode": 1,
        "paddingMode": 2,
        "alignCorners": True,
        "outputMask": (True, False),
    }
    text = "; ".join(found.notes)
    assert (
        "rstd is drawn on its own" in text
        and "standard of accuracy is not used" in text
        and "align_32B" in text
    )
    again = av.cases.read(atk(tmp_path), "rms_norm")
    assert len(again) == 1 and again[0].inputs["dy"].tobytes() == rms.inputs["dy"].tobytes()
    assert again.left_out == {"operator grid_sampler_2d": 1}


def test_a_list_that_is_not_there_is_reported(tmp_path):
    with pytest.raises(
        FileNotFoundError,
        match="cases are read from .*: got .*none.json, where no file is; name one",
    ):
        av.cases.read(tmp_path / "none.json")


def test_a_list_is_a_json_file(tmp_path):
    (tmp_path / "a.csv").write_text("op_name")
    with pytest.raises(
        ValueError, match="a list of cases is a .json file .*: got a.csv; name such a file"
    ):
        av.cases.read(tmp_path / "a.csv")


def test_a_kernel_is_judged_on_a_list(tmp_path):
    op = av.operator("rms_norm")
    result = av.check(op, op.backward, cases=atk(tmp_path))
    assert result.passed and result.cases == 1 and "rstd is drawn on its own" in str(result)
    assert result.left_out == {"operator grid_sampler_2d": 1}
    wrong = av.check(
        op,
        lambda **inputs: {name: value * 2 for name, value in op.backward(**inputs).items()},
        cases=atk(tmp_path),
        depth="quick",
    )
    assert (
        not wrong.passed
        and wrong.failed == 1
        and "case='RmsNormGrad 900'" in wrong.counterexample.recipe
    )
    assert av.check(op, op.backward, cases=[av.case(op), av.case(op, shape=(3, 3))]).cases == 2
    with pytest.raises(TypeError, match="cases are those of rms_norm: got Case"):
        av.check(op, op.backward, cases=[av.case("hardswish")])
    with pytest.raises(
        ValueError, match="some case must remain to be judged: got all left out: 1 \\("
    ):
        av.check(op, op.backward, cases=[av.case(op, dtype="float64")])


def test_the_command_line_takes_lists(tmp_path, capsys):
    assert main(["check", "rms_norm", "host", "--cases", str(atk(tmp_path))]) == 0
    assert "right on " in capsys.readouterr().out
    assert main(["check", "hardswish", "host", "--cases", str(atk(tmp_path))]) == 2
    assert "must hold cases of hardswish: got" in capsys.readouterr().err


def changed(path, value):
    """Return the list of ATK with a value at a path."""
    content = json.loads(json.dumps(ATK))
    at = content
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return content


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "a list of ATK is JSON"),
        ("{", "a list of ATK is JSON.*: got 'Expecting property name"),
        ("[" * 100_000, "cases are read from|is JSON"),
        ("{}", "a list of cases: got {}"),
        ("[1]", "case 0: an object with a list of inputs: got 1"),
        ("[]", "must hold cases of a known operator: got no case"),
        (changed([0, "inputs"], None), "case 0: an object with a list of inputs"),
        (changed([0, "aclnn_name"], 7), "case 900: aclnn_name is a text: got 7"),
        (changed([0, "inputs", 0, "type"], "thing"), "an input has a name and the type tensor"),
        (
            changed([0, "inputs", 0, "shape"], "6, 75"),
            "case 900, dy: a shape is a list of lengths: got '6, 75'",
        ),
        (changed([0, "inputs", 0, "shape"], [6.5, 75]), "a shape is a list of lengths"),
        (changed([0, "inputs", 0, "dtype"], 3), "a dtype is a name such as fp32: got 3"),
        (
            changed([0, "inputs", 0, "range_values"], [1, "2", 3]),
            r"a range is \[low, high\], or one value: got \[1, '2', 3\]",
        ),
        (
            changed(
                [0, "inputs", 2], {"name": "a", "type": "attr", "range_values": {"name": "xx"}}
            ),
            "an attribute is a value, a list, or a distribution",
        ),
        (changed([0, "inputs", 0, "range_values"], {"name": "xx"}), "a distribution is"),
        (changed([0, "inputs", 0, "range_values"], [10**400, 1]), "a range is"),
    ],
)
def test_damaged_lists_of_atk_are_refused_in_three_parts(tmp_path, content, words):
    with pytest.raises(ValueError, match=words) as text:
        av.cases.read(atk(tmp_path, content))
    assert ": got " in str(text.value) and "; " in str(text.value)


@pytest.mark.parametrize(
    "change",
    [
        ([0, "inputs", 0, "shape"], [10**9, 10**9]),
        ([0, "inputs", 0, "shape"], [-1, 75]),
        ([0, "inputs", 0, "shape"], [6, 74]),
        ([0, "inputs", 0, "dtype"], "complex64"),
        ([0, "inputs", 0, "range_values"], [2, 1]),
        ([0, "aclnn_name"], "FooGrad"),
    ],
)
def test_cases_that_do_not_fit_are_left_out_and_counted(tmp_path, change):
    found = av.cases.read(atk(tmp_path, changed(*change)))
    assert len(found) == 1 and sum(found.left_out.values()) == 1
    with pytest.raises(ValueError, match="must hold cases of rms_norm: got .*; known are"):
        av.cases.read(atk(tmp_path, changed(*change)), "rms_norm")


def read_inputs(folder, name, *inputs, count=1):
    """Return the cases of a list of ATK with as many of these inputs."""
    return av.cases.read(atk(folder, [{"aclnn_name": name, "inputs": inputs}] * count))


def several(name, *values, kind="attrs"):
    return [entry(name, None, value, "int", type=kind) for value in values]


def test_a_list_of_atk_as_the_vendor_writes_it(tmp_path):
    """Arrays as lists of entries, one value in the place of a range, infinities as texts, attributes with a range."""
    made = read_inputs(
        tmp_path,
        "AvgPool2dBackward",
        entry("gradOutput", [2, 3, 4], "-inf"),
        entry("self", [2, 4, 6], 3),
        several("kernel_size", 2, [3]),
        several("stride", 1, 1),
        several("padding", 0, 0),
        entry("divisor_override", None, [2, 5], "int"),
        entry("ceil_mode", None, ["nan"], "bool"),
        count=3,
    )
    assert [one.inputs["divisorOverride"] for one in made] == [2, 3, 4]
    assert "a whole number gets each value in turn" in "".join(made.notes)
    assert made[0].inputs["kernelSize"] == (2, 3) and made[0].inputs["ceilMode"] is True
    assert (made[0].inputs["self"] == 3).all() and (made[0].inputs["gradOutput"] == -np.inf).all()


def test_a_tensor_of_the_forward_operator_alone_is_passed_over(tmp_path):
    shapes = {"dy": [3, 4], "x": [3, 4], "gx": [3, 4], "beta": [4], "gamma": [4], "mean": [3, 1]}
    tensors = (entry(name, shape, [0, 1]) for name, shape in {**shapes, "rstd": [3, 1]}.items())
    (made,) = read_inputs(tmp_path, "DeepNormGrad", *tensors)
    assert "beta" not in made.inputs and made.inputs["gamma"].shape == (4,)


def test_scalars_tuples_entry_by_entry_and_values_that_are_listed(tmp_path):
    """Softplus and reflection as in the vendor's lists: scalars with a distribution, a padding of four entries,
    listed values.
    """
    (made,) = read_inputs(
        tmp_path,
        "SoftplusBackward",
        *(entry(name, [2, 3], [1, 2, 3]) for name in ("gradOutput", "self")),
        entry("beta", None, {"name": "nd", "mean": [1, 3], "std": [1, 25]}, type="scalar"),
        entry("threshold", None, 20.0, type="scalar"),
    )
    assert (made.inputs["beta"], made.inputs["threshold"]) == (2.0, 20.0)
    assert 1 <= made.inputs["self"].min() <= made.inputs["self"].max() <= 3
    (made,) = read_inputs(
        tmp_path,
        "ReflectionPad2dBackward",
        entry("gradOutput", [1, 4, 6], [0, 1]),
        entry("self", [1, 3, 4], [0, 1]),
        several("padding", 1, 1, 0, 1, kind="attr_tuple"),
    )
    assert made.inputs["padding"] == (1, 1, 0, 1)


@pytest.mark.parametrize("op", sampled(__name__), ids=lambda op: op.name)
@pytest.mark.sampled(3)
def test_the_suite_goes_there_and_back(tmp_path, op):
    path = tmp_path / "suite.json"
    lost = av.cases.write(path, op)
    assert "only the ranges" in lost[0] and any("strided" in one for one in lost)
    assert bool(op.saved) == any("the forward pass saves" in one for one in lost)
    made, back = [one for _, one in suite(op)], av.cases.read(path)
    assert len(back) == len(made) and not back.left_out
    for one, other in zip(made, back):
        inputs, read = op.bind(one.inputs), other.inputs
        for name, value in inputs.items():
            if not isinstance(value, np.ndarray):
                assert read[name] == value
                continue
            assert read[name].shape == value.shape and read[name].dtype == value.dtype
            wide, its = (part.astype(float) for part in (read[name], value))
            if its[np.isfinite(its)].size:
                assert (its[np.isfinite(its)].min() <= wide).all() and (
                    wide <= its[np.isfinite(its)].max()
                ).all()


def test_a_list_is_not_written_over_what_is_there(tmp_path):
    (path := tmp_path / "a.json").write_text("mine")
    for force in (False, True):
        with pytest.raises(FileExistsError, match="; name another place"):
            av.cases.write(path, "hardswish", force=force)
    assert path.read_text() == "mine"
    path.unlink()
    av.cases.write(path, "hardswish")
    av.cases.write(path, "hardswish", force=True)
    with pytest.raises(
        ValueError, match="a list is written as ATK's .json: got a.txt; name such a file"
    ):
        av.cases.write(tmp_path / "a.txt", "hardswish")
