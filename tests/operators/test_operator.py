"""The surface of an operator: names, documented shapes and dtypes, and the text of every refusal."""

import inspect

import ml_dtypes
import numpy as np
import pytest
from tables import table
from together import in_one

import aclnn_viz as av

F32 = np.float32
RMS = av.case("rms_norm", shape=(4, 6)).inputs
GRID = av.case("grid_sampler_2d", shape=(1, 2, 3, 4), grid_shape=(2, 2)).inputs
CE = av.case("cross_entropy_loss", shape=(4, 3)).inputs
LN64 = av.case("layer_norm", shape=(2, 3), dtype="float64").inputs
GN = av.case("group_norm_swish", shape=(2, 4, 3), numGroups=2).inputs
HS = av.case("hardswish", shape=(2, 3)).inputs
GOOD = {
    "rms_norm": RMS,
    "grid_sampler_2d": GRID,
    "cross_entropy_loss": CE,
    "layer_norm": LN64,
    "group_norm_swish": GN,
    "hardswish": HS,
}


def test_operators_in_the_order_of_the_documents():
    assert [op.name for op in av.operators()][:5] == [
        "hardswish",
        "rms_norm",
        "grid_sampler_2d",
        "cross_entropy_loss",
        "group_norm_swish",
    ]
    assert all(
        av.operator(op.aclnn_name) is av.operator(op.name) is av.operator(op) is op
        for op in av.operators()
    )


def test_unknown_operator():
    with pytest.raises(
        ValueError,
        match=r"no such operator: got 'no_operator'; use one of hardswish \(aclnnHardswish",
    ):
        av.operator("no_operator")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_outputs_have_the_documented_dtypes(dtype):
    wide = "float64" if dtype == "float64" else "float32"
    expected = dict.fromkeys(
        ("dgammaOut of rms_norm", "dgammaOut of deep_norm", "dbetaOut of deep_norm"), wide
    )
    for op in av.operators():
        for output, value in op.backward(**av.case(op, dtype=dtype).inputs).items():
            assert value.dtype.name == expected.get(f"{output} of {op.name}", dtype), (
                op.name,
                output,
            )


def test_parameters_of_a_norm_may_stay_float32():
    rms = av.case("rms_norm", dtype="bfloat16", gamma=np.ones(64, F32)).inputs
    assert av.operator("rms_norm").backward(**rms)["dxOut"].dtype == ml_dtypes.bfloat16
    x = av.case("group_norm_swish", dtype="float16").inputs
    wide = {k: x[k].astype(F32) for k in ("mean", "rstd", "gamma", "beta")}
    out = av.operator("group_norm_swish").backward(**x | wide)
    assert [out[k].dtype.name for k in ("dxOut", "dgammaOut", "dbetaOut")] == [
        "float16",
        "float32",
        "float32",
    ]


LEFT_OUT = object()
REFUSED = table(r"""
TypeError  | rms_norm           | {"rstd": LEFT_OUT}                                 | rms_norm needs rstd: got only dy, x, gamma; pass them by keyword
TypeError  | rms_norm           | {"eps": 1e-06}                                     | rms_norm takes dy, x, rstd, gamma: got 'eps'; use the vendor's names
TypeError  | rms_norm           | {"x": [[1.0]]}                                     | x is a tensor: got list \[\[1.0\]\]; pass a NumPy array
TypeError  | rms_norm           | {"x": RMS["x"].astype(int)}                        | x must be of dtype float16, bfloat16, float32, float64: got int64; convert it
TypeError  | rms_norm           | {"rstd": RMS["rstd"].astype(np.float16)}           | rstd must be float32, for x in float32: got float16; convert it with astype
TypeError  | hardswish          | {"gradOutput": HS["gradOutput"].astype(np.float16)} | gradOutput must be float32, that of self: got float16
TypeError  | grid_sampler_2d    | {"alignCorners": 1}                                | alignCorners is of type bool: got int 1; pass one bool
TypeError  | grid_sampler_2d    | {"outputMask": None}                               | outputMask is a pair of bools: got NoneType None
TypeError  | cross_entropy_loss | {"target": np.zeros(4, F32)}                       | target must be int64 or int32: got float32
TypeError  | cross_entropy_loss | {"weightOptional": np.ones(3, np.float16)}         | weightOptional must be float32
TypeError  | layer_norm         | {"weightOptional": np.ones(3, F32)}                | weightOptional must be float64, that of input: got float32
TypeError  | group_norm_swish   | {"numGroups": 2.0}                                 | numGroups is of type int: got float 2.0
ValueError | rms_norm           | {"dy": RMS["dy"][:, :5]}                           | dy must have shape \(4, 6\), that of x: got dy \(4, 5\), which differs in axis 1 \(5 against 6\); make
ValueError | rms_norm           | {"gamma": np.ones(5, F32)}                         | gamma must have shape \(6,\), the trailing axes of x: got gamma \(5,\), which differs in axis 0
ValueError | rms_norm           | {"gamma": np.ones((1, 4, 6), F32)}                 | gamma must have rank 1 to 2: got shape \(1, 4, 6\)
ValueError | rms_norm           | {"rstd": np.ones((6,), F32)}                       | rstd must have 4 elements, one for each row of x: got rstd \(6,\), x \(4, 6\); pass what the forward
ValueError | rms_norm           | {"x": F32(1)}                                      | x must have rank 1 to 8: got shape \(\); reshape it
ValueError | hardswish          | {"self": np.zeros((1,) * 9, F32)}                  | self must have rank 0 to 8
ValueError | hardswish          | {"gradOutput": HS["gradOutput"][0]}                | gradOutput must have shape \(2, 3\), that of self: got gradOutput \(3,\); make the shapes agree
ValueError | grid_sampler_2d    | {"interpolationMode": 3}                           | interpolationMode must be one of 0 \(bilinear\), 1 \(nearest\), 2 \(bicubic\): got 3; choose one
ValueError | grid_sampler_2d    | {"paddingMode": "borders"}                         | 0 \(zeros\), 1 \(border\), 2 \(reflection\): got 'borders'; choose one
ValueError | grid_sampler_2d    | {"grid": GRID["grid"][..., :1]}                    | grid must have shape \(1, 2, 2, 2\), N of input, any points, and \(x, y\): got grid \(1, 2, 2, 1\), which differs in axis 3
ValueError | grid_sampler_2d    | {"input": np.zeros((1, 2, 0, 4), F32)}             | at least one pixel: got shape
ValueError | grid_sampler_2d    | {"input": np.zeros((2, 3, 4), F32)}                | input must have rank 4: got shape
ValueError | grid_sampler_2d    | {"gradOutput": GRID["gradOutput"][:, :1]}          | N and C of input and the points
ValueError | cross_entropy_loss | {"reduction": "average"}                           | reduction must be one of 'none', 'mean', 'sum': got 'average'; choose one
ValueError | cross_entropy_loss | {"target": np.array([0, 1, 3, 2]), "ignoreIndex": -100} | every target must lie in \[0, 3\) or equal ignoreIndex -100: got target\[2\] = 3 \(1 such\); mend the targets
ValueError | cross_entropy_loss | {"target": np.array([0, -1, 2, 2])}                | got target\[1\] = -1
ValueError | cross_entropy_loss | {"weightOptional": np.ones(4, F32)}                | one weight for each column of logProb
ValueError | cross_entropy_loss | {"labelSmoothing": 1.5}                            | labelSmoothing must lie in \[0, 1\]: got 1.5; pass
ValueError | leaky_relu         | {"gradOutput": np.ones(4, F32), "self": np.ones(4, F32), "negativeSlope": -1.0, "selfIsResult": True} | negativeSlope must lie in \[0, inf\]: got -1.0; pass
ValueError | cross_entropy_loss | {"gradLoss": np.ones(4, F32)}                      | gradLoss must be one number for reduction "mean": got shape \(4,\); pass shape \(\), or use reduction "none"
ValueError | cross_entropy_loss | {"reduction": "none"}                              | one value a row for reduction "none"
ValueError | cross_entropy_loss | {"lseSquareScaleForZloss": 0.1}                    | lseForZlossOptional is needed when
ValueError | group_norm_swish   | {"numGroups": 3}                                   | numGroups must be positive and divide axis 1 of x, .*: got numGroups 3, x \(2, 4, 3\); choose a divisor
ValueError | group_norm_swish   | {"numGroups": 0}                                   | got numGroups 0
ValueError | group_norm_swish   | {"numGroups": 2 ** 63}                             | numGroups must fit the C type, int64_t or double: got
ValueError | group_norm_swish   | {"swishScale": 10 ** 400}                          | swishScale must fit the C type
ValueError | cross_entropy_loss | {"ignoreIndex": -2 ** 63 - 1}                      | ignoreIndex must fit the C type
ValueError | group_norm_swish   | {"mean": GN["mean"][:, :1]}                        | mean must have shape \(2, 2\), N of x and numGroups
ValueError | group_norm_swish   | {"x": GN["x"][:, 0, 0]}                            | x must have rank 2 to 8: got shape \(2,\)
""")


def test_bad_input_is_refused_in_three_parts():
    for kind, name, changes, text in REFUSED:
        inputs = GOOD.get(name, {}) | eval(changes, globals())
        with pytest.raises((TypeError, ValueError), match=text) as caught:
            av.operator(name).backward(
                **{key: value for key, value in inputs.items() if value is not LEFT_OUT}
            )
        assert type(caught.value).__name__ == kind
        assert ": got " in str(caught.value) and "; " in str(caught.value)


def test_forward_names_its_parameters():
    with pytest.raises(
        TypeError, match="rms_norm forward needs gamma: got only x; pass them by keyword"
    ):
        av.operator("rms_norm").forward(x=RMS["x"])


def test_attributes_may_be_numpy_scalars():
    modes = {
        "interpolationMode": np.int64(1),
        "paddingMode": np.int32(2),
        "alignCorners": np.bool_(True),
    }
    assert av.operator("grid_sampler_2d").backward(**GRID | modes)["inputGrad"].shape == (
        1,
        2,
        3,
        4,
    )


def test_a_case_is_determined_by_its_arguments():
    for op in av.operators():
        first, again, other = (
            av.case(op, dtype="bfloat16", seed=seed).inputs for seed in (3, 3, 4)
        )
        arrays = [k for k, v in first.items() if isinstance(v, np.ndarray)]
        assert all(np.array_equal(first[k], again[k]) for k in arrays)
        assert any(not np.array_equal(first[k], other[k]) for k in arrays)


@in_one
@pytest.mark.parametrize("op", av.operators(), ids=lambda op: op.name)
def test_an_operator_describes_itself(op):
    text = str(op.describe())
    assert op.aclnn_name in text and op.header in text and max(map(len, text.splitlines())) < 170
    assert all(name in text for name in (*(p.name for p in op.parameters), *op.outputs))
    kinds = {p.name: p.kind for p in op.parameters}
    assert {
        row[0]: row[1].split(", ")[-1] for row in op.describe().rows if row[0] in kinds
    } == kinds
    assert "<table>" in op._repr_html_() and "<object" not in text


def test_help_and_completion_show_the_vendors_parameters():
    shown = inspect.signature(av.operator("rms_norm").forward)
    assert str(shown) == "(*, x, gamma, epsilon=1e-06)"
    assert list(inspect.signature(av.operator("hardswish").backward).parameters) == [
        "gradOutput",
        "self",
    ]
    assert "Return the gradients" in av.operator("hardswish").backward.__doc__
