"""The sample programs print the numbers of the vendor's formulas, and say which call failed when one does."""

import importlib
import re

import ml_dtypes
import numpy as np
import pytest
import reference.grid_sampler_2d
import reference.group_norm_swish

import aclnn_viz as av
from aclnn_viz.operators import registry

NAMES = [op.name for op in av.operators() if registry.file("sample", op.name)]


def lines(name, capsys, acl=None):
    """Run a sample and return its status and what it printed."""
    acl = acl or av.acl.HostAcl()
    status = importlib.import_module(f"aclnn_viz.acl.by_operator.{name}").main(acl)
    assert acl.misuse == []
    return status, capsys.readouterr().out.splitlines()


def printed(label, values):
    return [f"{label}[{i}] is: {v:f}" for i, v in enumerate(np.asarray(values, np.float32).ravel())]


def close(got, expected):
    """Same labels, and numbers that differ in the last printed digit at most, or by one float32 step."""
    assert len(got) == len(expected)
    for line, wanted in zip(got, expected):
        (label, number), (name, value) = (
            re.fullmatch(r"(.*) is: (.*)", text).groups() for text in (line, wanted)
        )
        assert label == name and abs(float(number) - float(value)) <= 1.01e-6 + 2.0**-23 * abs(
            float(value)
        ), line


def test_hardswish(capsys):
    x = np.arange(8.0)
    status, out = lines("hardswish", capsys)
    assert status == 0
    close(out, printed("result", x * np.where(x < -3, 0, np.where(x <= 3, x / 3 + 0.5, 1))))
    assert out[3] == "result[3] is: 4.500000"  # the closed interval: 3 * 1.5


def test_rms_norm(capsys):
    dy = x = np.arange(1.0, 33).reshape(2, 16)
    gamma, rstd = np.arange(1.0, 17), np.array([[1.0], [2.0]])
    dx = rstd * (dy * gamma - x * rstd * np.mean(dy * gamma * x * rstd, axis=1, keepdims=True))
    status, out = lines("rms_norm", capsys)
    assert status == 0
    close(out, printed("result", dx) + printed("result", np.sum(dy * x * rstd, axis=0)))


def test_grid_sampler_2d(capsys):
    grid = [[[[x, y] for x in (-1, 0, 1)] for y in (-1, 0, 1)]]
    made = reference.grid_sampler_2d.backward(
        gradOutput=np.ones((1, 1, 3, 3)), input=np.arange(1.0, 41).reshape(1, 1, 5, 8), grid=grid
    )
    status, out = lines("grid_sampler_2d", capsys)
    assert status == 0
    wanted = printed("inputGradResultData", made["inputGrad"])
    close(out, wanted + printed("gridGradResultData", made["gridGrad"]))


def test_cross_entropy_loss_in_correctly_made_bfloat16(capsys):
    grad, log_prob = (float(ml_dtypes.bfloat16(v)) for v in (0.1, -0.2))
    softmax_grad = np.exp(log_prob) * grad / 2
    expected = np.array([softmax_grad - grad / 2, softmax_grad, softmax_grad] * 2)
    status, out = lines("cross_entropy_loss", capsys)
    assert status == 0 and out == printed(
        "result", expected.astype(np.float32).astype(ml_dtypes.bfloat16)
    )


def test_group_norm_swish(capsys):
    dy, x = np.arange(24.0, 0, -1).reshape(2, 4, 3) / 8, (np.arange(24.0) % 7 - 2).reshape(2, 4, 3)
    given = {"x": x, "gamma": [1, 0.5, -1, 2], "beta": [0, 0.25, -0.5, 1], "numGroups": 2}
    saved = reference.group_norm_swish.forward(**given, eps=1e-5)
    made = reference.group_norm_swish.backward(
        dy=dy, mean=saved["mean"], rstd=saved["rstd"], **given
    )
    status, out = lines("group_norm_swish", capsys)
    assert status == 0
    close(out, sum((printed(name, made[f"{name}Out"]) for name in ("dx", "dgamma", "dbeta")), []))


@pytest.mark.parametrize("name", NAMES)
def test_a_failure_is_reported_as_the_program_tells_it(name, capsys):
    status = importlib.import_module(f"aclnn_viz.acl.by_operator.{name}").main(
        av.acl.HostAcl(memory=64)
    )
    assert status == 207001 and capsys.readouterr().out == "aclrtMalloc failed. ERROR: 207001\n"


def test_a_product_without_the_operator_fails_in_phase_1(capsys):
    status = importlib.import_module("aclnn_viz.acl.by_operator.cross_entropy_loss").main(
        av.acl.HostAcl(soc="Ascend310P3")
    )
    assert status == 161002
    assert (
        capsys.readouterr().out
        == "aclnnCrossEntropyLossGradGetWorkspaceSize failed. ERROR: 161002\n"
    )


def test_the_comparison_rejects_a_wrong_number():
    with pytest.raises(AssertionError):
        close(["result[0] is: 1.000003"], ["result[0] is: 1.000000"])
