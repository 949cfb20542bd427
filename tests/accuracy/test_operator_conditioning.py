"""Conditioning of whole operators: cancelling inputs are blamed on the input, a wrong kernel on the kernel."""

import numpy as np

import aclnn_viz as av
from aclnn_viz.accuracy import attribute_errors


def attributed(name, output, actual, inputs, compared=True):
    op = av.operator(name)
    return attribute_errors(
        actual,
        lambda **moved: op.truth(**moved)[output],
        inputs,
        baseline=op.backward(**inputs)[output] if compared else None,
    )


def test_the_right_kernel_is_never_blamed():
    for name, output in (
        ("rms_norm", "dxOut"),
        ("group_norm_swish", "dxOut"),
        ("cross_entropy_loss", "xGradOut"),
    ):
        inputs = av.case(name).inputs
        counts = attributed(
            name, output, av.operator(name).backward(**inputs)[output], inputs
        ).counts
        assert counts["kernel"] == 0 and counts["format"] > 0


def test_an_error_as_large_as_one_ulp_of_the_inputs_makes_is_the_inputs():
    # next to the zero of the slope: x/3 + 1/2 has few digits of x left
    x = np.float32([-1.5 + 2.0**-20])
    inputs = {"gradOutput": np.ones(1, np.float32), "self": x}
    slope = av.operator("hardswish").truth(**inputs)["out"]
    found = attributed(
        "hardswish", "out", (slope * (1 + 2.0**-5)).astype(np.float32), inputs, compared=False
    )
    assert found.counts["input"] == 1


def test_a_dropped_projection_is_the_kernels():
    inputs = av.case("rms_norm", shape=(4, 8)).inputs
    wrong = (inputs["dy"] * inputs["gamma"] * inputs["rstd"]).astype(np.float32)
    assert attributed("rms_norm", "dxOut", wrong, inputs).counts["kernel"] > 16
