"""Every page against formulas at 50 digits, in every mode, with kinks, specials and off-manifold saved tensors."""

import random
from importlib import import_module
from itertools import product

import numpy as np
import pytest
from machine import SOAK, taught
from together import in_one

from aclnn_viz import case, operator

REFERENCES = {op.name: import_module(f"reference.{op.name}") for op in taught()}
U = 2.0**-24
TINY = 2.0**-126  # below it a float32 rounding is absolute, not relative


def judged(name, inputs, kernel=None):
    """Assert that float32 outputs lie within 8 u S of the reference, and special values match it."""
    reference = REFERENCES[name]
    with np.errstate(invalid="ignore"):
        actual = (kernel or operator(name).backward)(**inputs)
        expected, size = reference.backward(**inputs), reference.terms(**inputs)
    assert actual.keys() == expected.keys()
    for output, value in actual.items():
        assert value.dtype == np.float32 and value.shape == expected[output].shape
        for index in np.ndindex(value.shape):
            a, e, s = value[index], expected[output][index], size[output][index]
            special = not np.isfinite(a) or not np.isfinite(float(e))
            near = (
                str(float(a)) == str(float(e))
                if special
                else abs(float(a - e)) <= 8 * U * float(s) + 8 * TINY
            )
            assert near, f"{name} {output}{list(index)}: {a} instead of {float(e)}, S = {float(s)}"


def forward_judged(name, inputs):
    """Assert that the float64 forward pass agrees to 12 digits of the largest value of each output."""
    with np.errstate(invalid="ignore"):
        actual, expected = operator(name).forward(**inputs), REFERENCES[name].forward(**inputs)
    assert actual.keys() == expected.keys()
    for output, value in actual.items():
        reference = expected[output].astype(np.float64).reshape(value.shape)
        scale = np.nanmax(np.abs(reference), initial=1.0)
        np.testing.assert_allclose(
            value, reference, rtol=0, atol=1e-12 * scale, err_msg=f"{name} {output}"
        )


def some(cases):
    """Return all cases, or without the soak a quarter, always the same."""
    cases = [*cases]
    return cases if SOAK else random.Random(0).sample(cases, -(-len(cases) // 4))


@in_one
@pytest.mark.parametrize(
    "op,options,mode",
    [
        (op, options, mode)
        for op in taught()
        for options, mode in some(product(op.shapes, op.modes))
    ],
    ids=lambda part: getattr(part, "name", None) or " ".join(map(str, part.values())),
)
def test_every_page_in_every_mode_on_the_shapes_that_its_declaration_tries(op, options, mode):
    inputs = case(op, seed=4, **options | mode).inputs
    judged(op.name, inputs)


GRID_MODES = list(product(range(3), range(3), (False, True)))
GRID = pytest.mark.parametrize("interpolation,padding,align", GRID_MODES)


MODE = "interpolationMode", "paddingMode", "alignCorners"
#: Cases beside those of the declarations: saved tensors off the manifold, images of one pixel, no weight, other scales.
BESIDE = [
    *(
        ("rms_norm", {"shape": shape, "gamma_ndim": ndim, "seed": 1} | saved)
        for shape, ndim in (((7,), 1), ((3, 16), 1), ((2, 3, 5), 2), ((2, 3, 4), 3), ((5, 1), 1))
        for saved in ({}, {"rstd": -1.75, "seed": 2})
    ),
    *some(
        ("grid_sampler_2d", {"shape": (2, 2, *size), "grid_shape": (3, 4)} | dict(zip(MODE, mode)))
        for size in ((1, 6), (6, 1), (1, 1))
        for mode in GRID_MODES
    ),
    *(
        ("cross_entropy_loss", {"shape": (9, 5), "seed": 4} | mode | weight)
        for mode in operator("cross_entropy_loss").modes
        for weight in ({}, {"weightOptional": None})
    ),
    *some(
        ("group_norm_swish", {"shape": shape, "numGroups": groups, "swishScale": scale})
        for scale in (1.0, 1.7, -0.5, 0.0, 30.0)
        for shape, groups in (
            ((2, 6, 3), 2),
            ((1, 4), 2),
            ((2, 3), 3),
            ((3, 4, 2, 2), 1),
            ((1, 2, 9), 2),
        )
    ),
]


@in_one
@pytest.mark.parametrize("name,options", BESIDE)
def test_pages_on_cases_beside_those_of_their_declarations(name, options):
    judged(name, case(name, **options).inputs)


def test_hardswish_at_kinks_and_specials():
    x = np.float32(
        [
            -3,
            3,
            np.nextafter(np.float32(-3), -4),
            np.nextafter(np.float32(3), 4),
            -1.5,
            0,
            np.inf,
            -np.inf,
            np.nan,
            1e-45,
            3e38,
        ]
    )
    judged("hardswish", {"self": x, "gradOutput": np.float32(np.linspace(-2, 2, x.size))})
    judged("hardswish", case("hardswish", shape=(3, 4, 5), seed=3).inputs)


def test_rms_norm_takes_rstd_with_and_without_trailing_ones():
    inputs = case("rms_norm", shape=(2, 3, 4)).inputs
    outputs = [
        operator("rms_norm").backward(**inputs | {"rstd": inputs["rstd"].reshape(shape)})["dxOut"]
        for shape in ((2, 3), (2, 3, 1), (2, 3, 1, 1))
    ]
    assert all(np.array_equal(outputs[0], other) for other in outputs)


@GRID
@pytest.mark.sampled(3)
def test_grid_sampler_special_coordinates(interpolation, padding, align):
    xs = np.float32(
        [np.nan, np.inf, -np.inf, 1e20, -3e38, 5e9, -0.5, -1, 1, 2.5, -7.25, 1e5 + 0.375]
    )
    grid = np.stack(np.meshgrid(xs, np.float32([0.25, np.nan, -np.inf, 1, 17.5])), axis=-1)[None]
    rng = np.random.default_rng(0)
    image = rng.standard_normal((1, 2, 4, 5)).astype(np.float32)
    grad = rng.standard_normal((1, 2, *grid.shape[1:3])).astype(np.float32)
    judged(
        "grid_sampler_2d",
        dict(
            gradOutput=grad,
            input=image,
            grid=grid,
            interpolationMode=interpolation,
            paddingMode=padding,
            alignCorners=align,
        ),
    )


@pytest.mark.parametrize("mask", [(True, False), (False, True), (False, False)])
def test_grid_sampler_gives_either_output_alone(mask):
    inputs = case("grid_sampler_2d").inputs
    both, some = (
        operator("grid_sampler_2d").backward(**inputs | {"outputMask": m})
        for m in ((True, True), mask)
    )
    assert list(some) == [name for name, wanted in zip(both, mask) if wanted]
    assert all(np.array_equal(some[name], both[name]) for name in some)


def test_what_lies_outside_reaches_nothing():
    grid = np.float32([[[[-9, 0], [0, 0]]]])
    for bad in (np.nan, np.inf):
        out = operator("grid_sampler_2d").backward(
            gradOutput=np.float32([[[[bad, 1]]]]),
            grid=grid,
            input=np.ones((1, 1, 3, 3), np.float32),
        )
        assert np.isfinite(out["inputGrad"]).all() and out["gridGrad"][0, 0, 0].tolist() == [0, 0]


def test_cross_entropy_all_ignored_and_off_manifold():
    ignored = case("cross_entropy_loss", shape=(4, 3), target=-100).inputs
    with np.errstate(invalid="ignore"):
        assert np.isnan(operator("cross_entropy_loss").backward(**ignored)["xGradOut"]).all()
    for reduction in ("sum", "none"):
        none = case("cross_entropy_loss", shape=(4, 3), target=-100, reduction=reduction).inputs
        assert not operator("cross_entropy_loss").backward(**none)["xGradOut"].any()
    judged("cross_entropy_loss", ignored)
    judged(
        "cross_entropy_loss",
        case("cross_entropy_loss", shape=(6, 4), logProb=-0.2, ignoreIndex=2).inputs,
    )


def test_group_norm_swish_off_manifold_and_flags():
    inputs = case("group_norm_swish", shape=(2, 4, 3), rstd=-2.0, mean=0.5).inputs
    judged("group_norm_swish", inputs)
    judged("group_norm_swish", inputs | {"dgammaIsRequire": False})
    judged("group_norm_swish", inputs | {"dbetaIsRequire": False})


def test_group_norm_swish_overflows_nowhere():
    inputs = case("group_norm_swish", shape=(1, 2, 8), beta=3e4, swishScale=1e36).inputs
    with np.errstate(all="raise"):
        out = operator("group_norm_swish").backward(**inputs)
    assert all(np.isfinite(value).all() for value in out.values())


@pytest.mark.parametrize(
    "name,inputs",
    [
        ("hardswish", {"self": np.linspace(-4, 4, 17)}),
        (
            "rms_norm",
            {
                "x": np.linspace(-1, 2, 24).reshape(2, 3, 4),
                "gamma": np.linspace(0, 1, 12).reshape(3, 4),
            },
        ),
        (
            "group_norm_swish",
            {
                "x": np.linspace(-1, 2, 24).reshape(2, 4, 3) ** 3,
                "gamma": np.linspace(-1, 1, 4),
                "beta": np.linspace(0, 1, 4),
                "numGroups": 2,
                "swishScale": 1.5,
            },
        ),
    ],
)
def test_forward(name, inputs):
    forward_judged(name, inputs)


@in_one
@GRID
def test_forward_of_grid_sampler(interpolation, padding, align):
    inputs = case("grid_sampler_2d", dtype="float64", shape=(2, 2, 4, 5)).inputs
    forward_judged(
        "grid_sampler_2d",
        {
            "input": inputs["input"],
            "grid": inputs["grid"],
            "paddingMode": padding,
            "interpolationMode": interpolation,
            "alignCorners": align,
        },
    )


@in_one
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("smoothing,zloss", list(product((0.0, 0.2), (0.0, 0.5))))
def test_forward_of_cross_entropy(reduction, smoothing, zloss):
    logits = 30 * np.random.default_rng(0).standard_normal((5, 4))
    forward_judged(
        "cross_entropy_loss",
        {
            "input": logits,
            "target": np.array([0, 3, -100, 1, 2]),
            "reduction": reduction,
            "labelSmoothing": smoothing,
            "lseSquareScaleForZloss": zloss,
            "weightOptional": np.array([1.0, 0.5, 2.0, 1.5]),
        },
    )


@pytest.mark.parametrize("op", taught(), ids=str)
@pytest.mark.sampled(1)
def test_the_judge_rejects_wrong_answers(op):
    """S is no wide measure: two hundred-thousandths of the largest element are seen, and so is an output in another order."""
    inputs = case(op, seed=1).inputs
    right = op.backward(**inputs)
    for output, value in right.items():
        place = np.unravel_index(abs(value).argmax(), value.shape)
        off = np.zeros_like(value)
        off[place] = 2e-5 * value[place]
        for wrong in (value + off, value[..., ::-1]):
            with pytest.raises(AssertionError, match=f"{op.name} {output}"):
                judged(op.name, inputs, lambda **_: right | {output: wrong})
