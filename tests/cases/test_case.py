"""Cases are reachable, reproducible, and touch the kinks; given inputs are used."""

import re
import warnings

import numpy as np
import pytest
from machine import sampled
from together import in_one

import aclnn_viz as av
from aclnn_viz.cases import default
from aclnn_viz.cases.by_operator import rms_norm
from aclnn_viz.devices import AclError, ConstraintWarning

DTYPES = pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])


@DTYPES
def test_saved_tensors_are_those_of_the_forward_pass(dtype):
    rms = av.case("rms_norm", dtype=dtype, shape=(5, 32)).inputs
    exact = 1 / np.sqrt(np.mean(rms["x"].astype(float) ** 2, axis=1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(rms["rstd"].astype(float), exact, rtol=1e-6)
    norm = av.case("group_norm_swish", dtype=dtype, shape=(3, 4, 50), numGroups=2).inputs
    x = norm["x"].astype(float).reshape(3, 2, -1)
    # the statistics are saved in the format
    tolerance = {"float16": 2e-3, "bfloat16": 2e-2}.get(dtype, 1e-5)
    np.testing.assert_allclose(norm["mean"].astype(float), x.mean(-1), rtol=tolerance)
    np.testing.assert_allclose(
        norm["rstd"].astype(float), 1 / np.sqrt(x.var(-1) + 1e-5), rtol=tolerance
    )
    log_prob = (
        av.case("cross_entropy_loss", dtype=dtype, shape=(6, 9)).inputs["logProb"].astype(float)
    )
    np.testing.assert_allclose(np.exp(log_prob).sum(1), 1, rtol=10 * tolerance)


def test_convenient_inputs_are_avoided():
    rms, norm = av.case("rms_norm").inputs, av.case("group_norm_swish").inputs
    for tensor in (rms["dy"], rms["gamma"], norm["dy"], norm["gamma"]):
        assert np.unique(tensor).size > tensor.size // 2
    assert norm["x"][0].size // norm["numGroups"] > 1
    row = np.mean(rms["x"].astype(float) ** 2, axis=1)
    assert np.any(row < 1e-5) and np.any(row > 0.1)  # epsilon matters in some row, not in all


def test_kinks_borders_and_ignored_rows_occur():
    x = av.case("hardswish", shape=(500,)).inputs["self"]
    assert np.any(x == -3) and np.any(x == 3)
    grid = av.case("grid_sampler_2d", shape=(1, 1, 4, 4), grid_shape=(20, 20)).inputs["grid"]
    assert np.any(grid == -1) and np.any(grid == 1) and np.any(np.abs(grid) > 2)
    case = av.case("cross_entropy_loss").inputs
    assert 0 < np.mean(case["target"] == case["ignoreIndex"]) < 0.5


def test_any_parameter_can_be_given():
    assert av.case("rms_norm", dy=1.0, shape=(2, 3)).inputs["dy"].tolist() == [[1.0] * 3] * 2
    assert av.case("rms_norm", shape=(2, 3, 4), gamma_ndim=2).inputs["gamma"].shape == (3, 4)
    assert av.case("rms_norm", shape=(2, 3, 4), gamma_ndim=np.int64(2)).inputs["gamma"].shape == (
        3,
        4,
    )
    assert av.case("grid_sampler_2d", grid_shape=(7, 9)).inputs["gradOutput"].shape == (2, 3, 7, 9)
    assert av.case("grid_sampler_2d", grid_shape=(2, 7, 9, 2)).inputs["gradOutput"].shape == (
        2,
        3,
        7,
        9,
    )
    assert av.case("cross_entropy_loss", reduction="none", shape=(4, 3)).inputs[
        "gradLoss"
    ].shape == (4,)
    assert av.case("cross_entropy_loss", weightOptional=None).inputs["weightOptional"] is None
    assert (
        av.case("cross_entropy_loss", lseSquareScaleForZloss=0.5).inputs["lseForZlossOptional"]
        is not None
    )
    given = np.full((2, 2), 7, np.float32)
    assert av.case("group_norm_swish", shape=(2, 4, 3), mean=given).inputs["mean"] is given
    assert av.case("group_norm_swish", shape=(2, 4, 3), rstd=-1.0).inputs["rstd"].tolist() == [
        [-1, -1],
        [-1, -1],
    ]


@in_one
@pytest.mark.parametrize("value", [-1.0, -5e-324, np.inf, 1e39])
@pytest.mark.parametrize(
    "name,epsilon", [("rms_norm", "epsilon"), ("layer_norm", "eps"), ("group_norm_swish", "eps")]
)
def test_an_epsilon_is_a_float_and_not_negative(name, epsilon, value):
    with pytest.raises(
        ValueError,
        match=rf"{epsilon} must lie in \[0, 3.40282e\+38\]: got {re.escape(str(value))}; pass",
    ):
        av.case(name, **{epsilon: value})
    assert av.case(name, **{epsilon: 0.0}).operator.name == name


@in_one
@pytest.mark.parametrize(
    "arguments,error,text",
    [
        (
            dict(shape=(2, 3), width=3),
            TypeError,
            "a case of rms_norm takes shape, .*: got 'width'; use the vendor's names",
        ),
        (dict(epsilon="x"), TypeError, "epsilon is of type float: got str 'x'; pass one float"),
        (dict(dy="a"), ValueError, r"dy must have shape \(8, 64\): got"),
        (dict(rstd=[1, 2]), ValueError, "rstd must be an array, or one value: got"),
        (dict(shape=(2, -1)), ValueError, "every length of shape must be at least 0: got"),
        (
            dict(shape=(2, 3), dy=np.ones((3, 2), np.float32)),
            ValueError,
            r"dy must have shape \(2, 3\): got shape \(3, 2\)",
        ),
        (dict(dtype="int8"), ValueError, "dtype must be a floating format: got 'int8'"),
        *(
            (dict(shape=shape), TypeError, f"shape is a tuple of lengths: got {got}")
            for shape, got in (
                ((2.5, 3), ""),
                ((True, 3), ""),
                ("ab", "'ab'"),
                (5, "5; pass such as"),
            )
        ),
        *(
            (dict(seed=seed), ValueError, f"seed is a number from 0 on: got {seed}")
            for seed in (True, -1, 1.5)
        ),
        *(
            (
                dict(shape=(2, 3), gamma_ndim=axes),
                ValueError,
                f"in 1 to 2, the rank of x: got {axes}",
            )
            for axes in (3, True)
        ),
    ],
)
def test_what_does_not_fit_is_refused(arguments, error, text):
    with pytest.raises(error, match=text):
        av.case("rms_norm", **arguments)


WRONG_SHAPES = [
    ("grid_sampler_2d", (2, 3)),
    ("cross_entropy_loss", (2,)),
    ("group_norm_swish", (3,)),
]


def test_shapes_of_a_wrong_rank_are_refused():
    for name, shape in WRONG_SHAPES:
        with pytest.raises(ValueError, match="shape must be that of .*: got .*; give"):
            av.case(name, shape=shape)
    for wrong in (5, None, (1.5, 2), (2, -1), "ab", (1, 2, 3)):
        with pytest.raises(ValueError, match="grid_shape must be .Hout, Wout.: got .*; give two"):
            av.case("grid_sampler_2d", grid_shape=wrong)


def test_numpy_numbers_are_numbers():
    assert (
        av.case("hardswish", seed=np.int64(3), dtype=np.float32).inputs["self"].dtype == np.float32
    )


def test_a_case_describes_itself():
    assert repr(av.case("rms_norm", shape=(2, 3), dtype="float16")) == (
        "Case(rms_norm, seed=0: dy float16[2, 3], x float16[2, 3], rstd float32[2, 1], gamma float16[3])"
    )


@pytest.mark.parametrize(
    "soc", ["Ascend910B2", "Ascend910_9391", "Ascend950PR_9579", "Ascend910A", "Ascend310P3"]
)
@pytest.mark.parametrize("cann", ["8.1", "8.5", "9.0", "9.1"])
@pytest.mark.sampled(5)
def test_default_cases_run_wherever_the_operator_does(soc, cann):
    """A refusal in Python would be the case's fault, not the product's."""
    with av.open_device("host", soc=soc, cann=cann) as device, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstraintWarning)
        ran = 0
        for op in sampled(__name__):
            for dtype in ("float16", "float32"):
                try:
                    device.run(op, **av.case(op, dtype=dtype).inputs)
                    ran += 1
                except AclError as error:  # the product or the version has no kernel for the format
                    assert error.code in (161002, 561002, 561003, 561103)
    assert ran >= 2


def test_a_number_of_numpy_is_taken_as_the_number_that_it_is():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for number in (np.float32(0.25), np.float16(0.25), np.float64(0.25), np.longdouble(0.25)):
            case = av.case("cross_entropy_loss", shape=(4, 3), labelSmoothing=number)
            assert case.operator.backward(**case.inputs | {"labelSmoothing": number})[
                "xGradOut"
            ].shape == (4, 3)


def test_without_classes_and_with_an_empty_weight_nothing_is_looked_up():
    op = av.operator("cross_entropy_loss")
    for rows in (0, 3):
        inputs = dict(
            gradLoss=np.float32(1),
            logProb=np.zeros((rows, 0), np.float32),
            target=np.full(rows, -100),
            weightOptional=np.zeros(0, np.float32),
        )
        assert (
            op.backward(**inputs)["xGradOut"].shape
            == op.truth(**inputs)["xGradOut"].shape
            == (rows, 0)
        )


def test_a_list_in_the_place_of_a_tensor_is_reported():
    with pytest.raises(
        ValueError,
        match=r"self must have shape \(2,\): got list \[1, 2\]; give an array of that shape",
    ):
        av.case("hardswish", shape=(2,), self=[1, 2])


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("hardswish", (3, 30001)),
        ("rms_norm", (3, 30001)),
        ("rms_norm", (30001, 3)),
        ("layer_norm", (300, 301)),
        ("group_norm_swish", (1, 4, 30001)),
        ("cross_entropy_loss", (300, 301)),
    ],
)
def test_a_case_of_several_stretches_holds_the_numbers_of_one_call_of_the_generator(
    name, shape, monkeypatch
):
    """A seed gives the same case to everybody."""
    made = av.case(name, dtype="bfloat16", seed=4, shape=shape).inputs
    monkeypatch.setattr(default, "STRETCH", 1 << 20)
    monkeypatch.setattr(rms_norm, "STRETCH", 1 << 20)
    once = av.case(name, dtype="bfloat16", seed=4, shape=shape).inputs
    assert all(np.array_equal(made[key], once[key]) for key in made)
