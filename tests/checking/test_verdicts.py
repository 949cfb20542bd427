"""Every operator, at every depth, with each value of its options ends in a verdict, of a right kernel and of a wrong one."""

import pytest
from checking.wrong_kernels import scaled
from machine import SOAK

import aclnn_viz as av
from aclnn_viz.checking.scope import DEPTHS, Scope

SECONDS = {"quick": 3.0, "normal": 3.0, "deep": 5.0}  # no case starts later
CASES = [
    pytest.param(op, depth, id=f"{op.name}-{depth}") for depth in DEPTHS for op in av.operators()
]


def options(op):
    """Return no option, and each value of each alone."""
    values = {(name, value) for mode in op.modes for name, value in mode.items()}
    return [{}, *({name: value} for name, value in sorted(values, key=repr))]


@pytest.mark.parametrize(("op", "depth"), CASES)
@pytest.mark.sampled(1)
def test_each_option_ends_in_a_verdict(op, depth, record_property):
    judged = cases = 0
    for where in options(op)[:: 1 if SOAK else 5]:
        for factor in (1, 1.5)[: 1 if where and depth == "deep" else 2]:
            result = av.check(
                op,
                scaled(op, factor),
                depth=depth,
                where=where,
                beyond=True,
                time_limit=SECONDS[depth],
            )
            assert str(result) and result.to_json() and result.passed == (factor == 1), where
            judged, cases = judged + 1, cases + result.cases
    record_property("group", depth)
    record_property("verdicts", judged)
    record_property("cases", cases)


def test_a_deep_check_has_the_layouts_of_attention_each_with_shapes_of_its_own():
    layouts = [mode["inputLayout"] for mode in Scope.of("flash_attention_score").modes]
    assert {*layouts} == {"BNSD", "BSND", "BSH", "SBH"}
    one = Scope.of("flash_attention_score", where={"inputLayout": "SBH"})
    assert {mode["inputLayout"] for mode in one.modes} == {"SBH"}


@pytest.mark.parametrize("mode", range(7))
def test_attention_of_no_batch_has_empty_gradients(mode):
    op = av.operator("flash_attention_score")
    inputs = av.case(op, shape=(0, 4, 3, 4), sparseMode=mode).inputs
    assert op.truth(**inputs)["dqOut"].shape == op.backward(**inputs)["dqOut"].shape == (0, 4, 3, 4)


@pytest.mark.parametrize("name", ["avg_pool", "max_pool_with_indices"])
@pytest.mark.parametrize("stride", [(4, 2), (1, 2)])
def test_a_shape_that_has_no_window_is_refused(name, stride):
    given = {"kernelSize": (4, 2), "stride": stride, "padding": (0, 0), "ceilMode": False}
    with pytest.raises(ValueError, match="must be at least 1: got .* for H 2.*; change one"):
        av.case(name, shape=(1, 2, 4), **given)
    if stride != (4, 2):  # ceilMode alone has a window there
        with pytest.raises(ValueError, match="must be at least 1: got -1 for H 2"):
            av.check(name, "host", shapes=[(1, 2, 4)], where=given)


def test_what_nothing_is_left_of_says_why():
    with pytest.raises(ValueError, match=r"1 \(labelSmoothing must be 0 on this product"):
        av.check("cross_entropy_loss", "host", where={"labelSmoothing": 0.1})
