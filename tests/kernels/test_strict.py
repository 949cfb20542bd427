"""Every page runs on array-api-strict, which refuses whatever the Array API standard does not have."""

import array_api_strict
import numpy as np
import pytest
from machine import taught
from together import in_one

from aclnn_viz import case, operator
from aclnn_viz.arrays.functions import Guards
from kernels.test_rounding import SMALL


class StrictArrays(Guards):
    """array-api-strict with the functions that the kit adds."""

    def __getattr__(self, name):
        return getattr(array_api_strict, name)

    def scatter_add(self, target, index, values):
        out = np.asarray(target).copy()
        np.add.at(out, (slice(None), np.asarray(index)), np.asarray(values))
        return array_api_strict.asarray(out)


def run(op, kind, inputs):
    """Evaluate a page on strict arrays, whole, in float64."""
    xp = StrictArrays()
    arranged = getattr(op, f"arrange_{kind}")(**inputs)
    arrays = {
        name: None
        if array is None
        else array_api_strict.asarray(
            array if array.dtype.kind == "i" else array.astype(np.float64)
        )
        for name, array in arranged.arrays.items()
    }
    if arranged.prelude:
        arrays |= arranged.prelude(xp, arrays)
    with np.errstate(invalid="ignore"):
        outputs = getattr(op.page, kind)(xp, **arrays, **arranged.attributes)
    return {name: np.asarray(value).ravel() for name, value in outputs.items()}


def same(strict, numpy):
    assert strict.keys() == numpy.keys()
    for name, value in numpy.items():  # the order of summation differs, nothing else
        np.testing.assert_allclose(
            strict[name], value.ravel(), rtol=1e-12, atol=1e-12, err_msg=name
        )


@in_one
@pytest.mark.parametrize("name,options", SMALL)
def test_backward_is_array_api(name, options):
    inputs = case(name, dtype="float64", seed=2, **options).inputs
    same(run(operator(name), "backward", inputs), operator(name).backward(**inputs))


@pytest.mark.parametrize("inputs", [{"reduction": r} for r in ("none", "mean", "sum")], ids=str)
def test_cross_entropy_reductions_are_array_api(inputs):
    inputs = case("cross_entropy_loss", dtype="float64", labelSmoothing=0.2, **inputs).inputs
    same(
        run(operator("cross_entropy_loss"), "backward", inputs),
        operator("cross_entropy_loss").backward(**inputs),
    )


FORWARD = {
    "hardswish": ["self"],
    "rms_norm": ["x", "gamma"],
    "group_norm_swish": ["x", "gamma", "beta", "numGroups"],
    "grid_sampler_2d": ["input", "grid"],
}


@pytest.mark.parametrize(
    "op", [op for op in taught() if op.name in FORWARD], ids=lambda op: op.name
)
def test_forward_is_array_api(op):
    drawn = case(op, dtype="float64").inputs
    inputs = {p.name: p.default for p in op.forward_parameters if p.optional}
    inputs |= {name: drawn[name] for name in FORWARD[op.name]}
    same(run(op, "forward", inputs), op.forward(**inputs))


def test_forward_of_cross_entropy_is_array_api():
    op = operator("cross_entropy_loss")
    inputs = dict(
        input=np.random.default_rng(0).standard_normal((5, 3)),
        target=np.array([0, 1, 2, -100, 1]),
        weightOptional=np.array([0.5, 1, 2]),
        reduction="mean",
        ignoreIndex=-100,
        labelSmoothing=0.1,
        lseSquareScaleForZloss=0.3,
    )
    same(run(op, "forward", inputs), op.forward(**inputs))


def test_strict_refuses_what_is_not_in_the_standard():
    with pytest.raises(AttributeError):
        StrictArrays().square_root
