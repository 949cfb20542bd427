"""A newcomer's tasks of the first hour, each at first try with public names alone."""

import contextlib
import io
import json

import numpy as np
import pytest

import aclnn_viz as av


def test_check_a_kernel_for_one_product():
    def mine(dy, x, rstd, gamma):
        if x.dtype == np.float32:
            return av.operator("rms_norm").backward(dy=dy, x=x, rstd=rstd, gamma=gamma)
        raise av.NotSupported("float32 only")

    result = av.check(
        "rms_norm", mine, soc="Atlas inference series", dtypes="float32", shapes=[(2, 8)]
    )
    assert result.passed and result.scope.startswith("what Ascend310P3")
    assert not av.check(
        "rms_norm", lambda **inputs: 0, soc="310p", dtypes="float32", shapes=[(2, 8)]
    ).passed


def test_compare_two_implementations_on_one_picture():
    op, case = av.operator("rms_norm"), av.case("rms_norm", dtype="float16", shape=(8, 32))
    mine = {
        name: (value * np.float32(1.01)).astype(value.dtype)
        for name, value in op.backward(**case.inputs).items()
    }
    with av.open_device("host") as device:
        found = av.judge(op, case, {"mine": mine, "device": device})
    assert (
        "by mine" in found.picture.title
        and "mine: median" in found.picture.text
        and "device" in found.picture.text
    )
    assert (
        found["dxOut"].errors["device"].counts()["not explained"]
        == 0
        < found["dxOut"].errors["mine"].counts()["not explained"]
    )
    assert found["dgammaOut"].picture.png("dark").startswith(b"\x89PNG")


def test_predict_all_products():
    found = av.predict(
        "group_norm_swish", av.case("group_norm_swish", shape=(2, 4, 3), numGroups=2)
    )
    assert {one.product for one in found} == {
        one.product for one in found if one.refused or one.max_ulp
    }
    assert len({one.product for one in found}) == 6 and any(one.refused for one in found)
    assert {version for one in found for version in one.versions} == {"8.1", "9.0", "9.1"}


def test_predictions_are_those_of_the_predicting_device():
    case = av.case("rms_norm", dtype="float16", shape=(4, 16))
    one = next(one for one in av.predict("rms_norm", case, "9.1") if one.soc == "Ascend910B2")
    with av.open_device("host", soc="A2", plan="device") as device:
        out = device.run("rms_norm", **case.inputs)
    assert all((one.outputs[name] == out[name]).all() for name in out)


def test_list_what_the_emulator_supports():
    from aclnn_viz.cli import main

    with contextlib.redirect_stdout(io.StringIO()) as printed:
        main(["device", "--json"])
    found = json.loads(printed.getvalue())["host"]
    assert list(found["operators"]) == [op.name for op in av.operators()]
    assert "Ascend310P3" in found["operators"]["rms_norm"]["socs"]
    assert "Ascend310P3" not in found["operators"]["group_norm_swish"]["socs"]


def test_tab_completion_offers_what_there_is_and_nothing_else():
    offered = [name for name in dir(av) if not name.startswith("_")]
    assert {*av.__all__, "accuracy", "cases", "devices", "pictures"} <= {
        *offered
    } and "__version__" in dir(av)
    assert all(getattr(av, name) is not None for name in offered) and not {
        "import_module",
        "TYPE_CHECKING",
    } & {*offered}


def test_implementations_are_judged_by_the_names_of_their_devices(tmp_path):
    op, case = av.operator("hardswish"), av.case("hardswish", shape=(3,))
    with av.open_device("host") as device:
        path = av.devices.record(device, [case], tmp_path / "a.capsule")
    found = av.judge(op, case, {"mine": op.backward, "emulated": "host", "recorded": str(path)})
    assert (
        list(found["out"].errors) == ["mine", "emulated", "recorded"]
        and "Ascend910B2" in found.picture.text
    )
    with pytest.raises(ValueError, match="no such device: got 'hots'; open"):
        av.judge(op, case, {"mine": "hots"})


@pytest.mark.parametrize(
    ("outputs", "part"),
    [
        ({}, "one implementation at least"),
        ({"mine": np.zeros(3)}, "'mine' has the outputs dxOut, dgammaOut: got"),
        ({"mine": {"dxOut": np.zeros((2, 4), np.float32)}}, "add the others"),
        ({"mine": {}}, "got none; add the others"),
        (
            {"mine": (np.zeros(4, np.float32), np.zeros(4, np.float32))},
            "dxOut by 'mine' is float32[2, 4]",
        ),
        (
            {"mine": (np.zeros((2, 4)), np.zeros(4, np.float32))},
            "got an array float64[2, 4]; return the documented",
        ),
    ],
)
def test_outputs_that_do_not_fit_are_named(outputs, part):
    with pytest.raises((TypeError, ValueError)) as error:
        av.judge("rms_norm", av.case("rms_norm", shape=(2, 4)), outputs)
    assert part in str(error.value)
