"""`plan="device"` predicts an Atlas: other roundings, saturation, the missing scale; always labelled as a prediction."""

import numpy as np
import pytest
from machine import sampled
from ml_dtypes import bfloat16
from together import in_one

import aclnn_viz as av
from aclnn_viz.devices import ConstraintWarning
from aclnn_viz.operators import plans


def predicted(op, soc="Ascend910B2", cann="9.1", **inputs):
    with av.open_device("host", soc=soc, cann=cann, plan="device") as device:
        assert device.name == "host (prediction)"
        return device.run(op, **inputs)


@in_one
@pytest.mark.parametrize("op", sampled(__name__), ids=lambda op: op.name)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_prediction_is_the_preset_run_through_both_phases(op, dtype):
    inputs = av.case(op, dtype=dtype).inputs
    expected = plans.run(op, plans.preset(op, "Ascend910B2", "9.1"), **inputs)
    out = predicted(op, **inputs)
    assert all(np.array_equal(out[name], value, equal_nan=True) for name, value in expected.items())
    close = op.truth(**inputs)
    assert all(
        np.allclose(
            out[name].astype(float), close[name], rtol=0.05, atol=1e-2 * np.max(np.abs(close[name]))
        )
        for name in out
    )


def test_ties_go_away_from_zero_for_group_norm_swish():
    # with scale 0 the slope is 1/2, and dbeta = 1 + 2^-8 a tie
    dy = np.array([[[2.0, 2.0**-7]]]).astype(bfloat16)
    inputs = av.case(
        "group_norm_swish", dtype="bfloat16", shape=(1, 1, 2), dy=dy, swishScale=0.0
    ).inputs
    assert av.operator("group_norm_swish").backward(**inputs)["dbetaOut"] == 1.0
    assert predicted("group_norm_swish", **inputs)["dbetaOut"] == 1.0078125


def test_nan_on_a2_gives_one():
    inputs = {"gradOutput": np.float32([5]), "self": np.float32([np.nan])}
    assert predicted("hardswish", **inputs)["out"] == 1
    assert predicted("hardswish", soc="Ascend950PR_9579", **inputs)["out"] == 5


def test_the_missing_scale_is_predicted_with_a_warning():
    inputs = av.case("group_norm_swish", swishScale=2.0).inputs
    truth = av.operator("group_norm_swish").truth(**inputs)["dxOut"]
    with pytest.warns(ConstraintWarning, match="swishScale other than 1 needs CANN 9.1"):
        old = predicted("group_norm_swish", cann="9.0.1", **inputs)["dxOut"]
    new = predicted("group_norm_swish", cann="9.1", **inputs)["dxOut"]
    assert np.max(np.abs(old - truth)) > 1e3 * np.max(np.abs(new - truth))


def test_other_plans_are_refused():
    with pytest.raises(ValueError, match='plan must be "device" or None: got .fast.; leave it out'):
        av.open_device("host", plan="fast")
    with pytest.raises(ValueError, match="plan"):
        av.open_device("atlas", plan="device")
