"""Pages are proved under all options, mutants are not, and wrong pages get numbers that show it."""

import pytest
from together import in_one

import aclnn_viz as av
from aclnn_viz.operators.faults.fault import changed
from aclnn_viz.proving.counterexample import search, tried
from aclnn_viz.proving.proofs import _theorems
from aclnn_viz.proving.subjects import of_operator

SMALL = ("hardswish", "rms_norm", "layer_norm", "group_norm_swish", "upsample_bilinear_2d")
WRONG = {  # text of a page, and a wrong text
    "factor": ("rms_norm", "(dy * gamma - xhat", "(dy * gamma - 2.0 * xhat"),
    "axis": ("rms_norm", "xp.sum(dy * xhat, axis=0)", "xp.sum(dy * xhat, axis=1)"),
    "kink": ("hardswish", "x <= 3.0", "x <= 4.0"),
    "sum for mean": (
        "layer_norm",
        "xhat * row_mean(xp, grad * xhat)",
        "xhat * xp.sum(grad * xhat, axis=-1, keepdims=True)",
    ),
    "sign of a slope": ("grid_sampler_2d", "(first, 1.0 - t, -slope)", "(first, 1.0 - t, slope)"),
    "a tap outside": (
        "grid_sampler_2d",
        "xp.where(inside, index, xp.full_like(index, pixels))",
        "index",
    ),
}


def proved(name, page=None, only="", n=None):
    subjects = [s for s in of_operator(av.operator(name), page) if only in str(s)][:n]
    return subjects, [theorem for subject in subjects for theorem in _theorems(subject)]


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.sampled(1)
def test_pages_are_proved_under_all_options(name):
    result = av.prove(name)
    assert result.holds, result
    assert {t.output for t in result.theorems} == set(av.operator(name).gradient_of)


LARGE = [
    ("cross_entropy_loss", "reduction=mean, weightOptional=None"),
    *(
        (f"grid_sampler_{d}d", f"interpolationMode={i}, paddingMode={p}, alignCorners={a}")
        for d, i, p, a in ((2, 0, 1, True), (2, 0, 2, False), (2, 1, 2, False), (3, 1, 2, False))
    ),
]


@pytest.mark.soak  # `make verify` also proves all modes
@pytest.mark.parametrize("name, only", LARGE)
def test_a_sample_of_larger_pages_is_proved(name, only):
    subjects, theorems = proved(name, only=only, n=1)
    assert subjects and theorems and all(t.holds and t.cases for t in theorems), [
        t for t in theorems if not t.holds
    ]


@pytest.mark.parametrize("name, old, new", WRONG.values(), ids=WRONG)
@pytest.mark.sampled(1)
def test_a_wrong_page_is_not_proved(name, old, new):
    subjects, theorems = proved(name, changed(av.operator(name).page, ((old, new),)), n=1)
    assert not all(t.holds for t in theorems)
    assert search(subjects) or name == "grid_sampler_2d"


AXES = {  # (options of the 2D sampler, text of a page, wrong text)
    "axes mixed": (
        "interpolationMode=0, paddingMode=0, alignCorners=False",
        "wy * dx, dy * wx",
        "wy * dx, dx * wy",
    ),
    "one cell wrong": (
        "interpolationMode=0, paddingMode=1, alignCorners=False",
        "(u < size - 1)\n",
        "(u < size)\n",
    ),
    "mirrored slope": (
        "interpolationMode=0, paddingMode=2, alignCorners=False",
        "xp.ones_like(u), -xp.ones_like(u)",
        "xp.ones_like(u), xp.ones_like(u)",
    ),
    "far tap": ("interpolationMode=2, paddingMode=2, alignCorners=False", "(w3, -d3)", "(w3, -d2)"),
}


@pytest.mark.soak  # seconds each
@pytest.mark.parametrize("only, old, new", AXES.values(), ids=AXES)
def test_a_sampler_that_is_wrong_along_one_axis_is_not_proved(only, old, new):
    _, theorems = proved(
        "grid_sampler_2d", changed(av.operator("grid_sampler_2d").page, ((old, new),)), only=only
    )
    assert {t.output: t.holds for t in theorems} == {"inputGrad": True, "gridGrad": False}, theorems


def test_a_kink_says_which_side_it_takes():
    page = changed(av.operator("hardswish").page, (("x <= 3.0", "x < 3.0"),))
    (right,), (other,) = (proved("hardswish", p)[1] for p in (None, page))
    assert (
        right.holds
        and other.holds
        and dict(right.kinks)["3 - self[i0]"] == "above" != dict(other.kinks)["3 - self[i0]"]
    )


RELU, RELU_AT = "xp.maximum(x, 0.0)", "xp.where(x > 0.0, dy, xp.where(x < 0.0, 0.0 * x, {} * dy))"


@pytest.mark.parametrize(
    "y, dx, right",
    [
        ("x * x", "xp.where(x == 1.0, 5.0 * dy, 2.0 * x * dy)", False),
        ("x * x", "xp.where((x >= 1.0) & (x <= 1.0), dy, 2.0 * x * dy)", False),
        ("x * x", "2.0 * x * dy + xp.where(x == 0.5, 1.0, 0.0)", False),
        ("x * x", "xp.where(x == xp.floor(x), dy, 2.0 * x * dy)", False),
        ("x * x * x", "xp.where(x == dy, 0.0 * x, 3.0 * x * x * dy)", False),
        ("x * x", "xp.where(x == 0.0, 0.0 * x, 2.0 * x * dy)", True),
        ("xp.abs(x)", "dy * xp.sign(x)", True),
        (
            "xp.clip(x, -1.0, 3.0) * xp.clip(x, -1.0, 3.0)",
            "xp.where(x == -1.0, 6.0 * dy, xp.where((x > -1.0) & (x < 3.0), 2.0 * x * dy, 0.0 * x))",
            False,
        ),
        ("xp.where(xp.abs(x) > 0.5, x, 0.0 * x)", "xp.where(xp.abs(x) > 0.5, dy, 0.0 * x)", True),
        (RELU, RELU_AT.format(7.0), False),
        (RELU, RELU_AT.format(-1.0), False),
        (RELU, RELU_AT.format(0.5), True),
        (RELU, RELU_AT.format(1.0), True),
    ],
)
def test_a_value_where_numbers_are_equal_is_one_of_those_beside_or_between_them(y, dx, right):
    result = av.prove(
        (eval(f"lambda xp, x: {{'y': {y}}}"), eval(f"lambda xp, dy, x: {{'dx': {dx}}}")),
        shapes={"x": ("n",)},
    )
    assert result.holds == right and (right or " = 0, which is neither " in result.reason), result


@pytest.mark.parametrize(
    "y, dx, part",
    [
        ("x * x", "xp.where(x * x == 1.0, dy, 2.0 * x * dy)", "x[i0]**2"),  # the place is not found
        # forward compares there, too
        (
            "xp.where(xp.abs(x) > 0.0, x, 0.0 * x)",
            "xp.where(xp.abs(x) > 0.0, dy, 0.0 * x)",
            "x[i0]",
        ),
    ],
)
def test_a_value_that_is_not_known_or_a_convention_is_said_to_be_open(y, dx, part):
    result = av.prove(
        (eval(f"lambda xp, x: {{'y': {y}}}"), eval(f"lambda xp, dy, x: {{'dx': {dx}}}")),
        shapes={"x": ("n",)},
    )
    assert result.holds and any(
        text.endswith("is not 0") and part in text for text in result.assumptions
    ), result


@in_one
@pytest.mark.parametrize(
    "dx",
    [
        "2.0 * xp.exp(xp.log(x)) * dy",
        "2.0 * xp.sqrt(x) * xp.sqrt(x) * dy",  # where x < 0
        "2.0 * x ** 1.5 / x ** 0.5 * dy",
        "2.0 * xp.guard(x, 1e-30) * dy",
        # NumPy refuses this
        "xp.moveaxis(2.0 * x * dy, 5, 5)",
        "2.0 * x * dy + 0.0 * xp.sum(dy, axis=(0, 0), keepdims=True)",
    ],
)
def test_what_does_not_hold_in_numbers_is_not_proved(dx):
    result = av.prove(
        (lambda xp, x: {"y": x * x}, eval(f"lambda xp, dy, x: {{'dx': {dx}}}", globals())),
        shapes={"x": ("n",)},
    )
    assert (
        not result.holds
        and result.counterexample
        and result.reason == "numbers show that it is not the derivative"
    ), result


def test_a_page_that_cancels_in_numbers_is_proved():
    forward = lambda xp, x: {"y": (x + 1e6) * (x + 1e6) - 1e12}
    assert av.prove(
        (forward, lambda xp, dy, x: {"dx": 2.0 * dy * (x + 1e6)}), shapes={"x": ("n",)}
    ).holds


def test_a_label_that_is_called_as_an_index_is_another_number():
    forward = lambda xp, x, i0: {"y": xp.where(xp.arange(x.shape[0]) == i0, x, 0.0 * x)}
    result = av.prove(
        (forward, lambda xp, dy, x, i0: {"dx": dy}),
        shapes={"x": ("n",), "i0": ()},
        labels={"i0": "n"},
    )
    assert not result.holds


@pytest.mark.parametrize(
    "name", ["embedding", "avg_pool", "upsample_nearest_2d", "reflection_pad_2d"]
)
def test_attributes_fit_the_sizes_of_a_draw(name):
    # without this, NumPy refused right pages
    assert tried(of_operator(av.operator(name))) is None


def soft(xp, x, s):
    z = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return {"y": s * z / xp.sum(z, axis=-1, keepdims=True)}


def soft_back(xp, dy, y):
    return {"dx": y * dy}


def test_two_functions_get_a_counterexample_of_the_smallest_size():
    result = av.prove((soft, soft_back), shapes={"x": ("r", "n")})
    assert (
        not result.holds
        and result.counterexample.sizes == {"n": 1, "r": 1}
        and result.counterexample.output == "dx"
    )


def test_two_functions_are_proved():
    def back(xp, dy, y, s):
        return {"dx": y * (dy - xp.sum(dy * y, axis=-1, keepdims=True) / s)}

    assert av.prove((soft, back), shapes={"x": ("r", "n")}).holds


@pytest.mark.parametrize("factor", [2.0, 3.0])
def test_a_number_gives_a_filled_array(factor):
    def forward(xp, x):
        return {"y": x * xp.full_like(1.0, 2.0)}

    back = lambda xp, dy: {"dx": factor * dy}
    assert av.prove((forward, back), shapes={"x": ("n",)}).holds == (factor == 2.0)


def test_two_powers_of_one_array_are_two():
    def forward(xp, x):
        return {"y": x**2 + x**3}

    assert av.prove(
        (forward, lambda xp, dy, x: {"dx": dy * (2.0 * x + 3.0 * x * x)}), shapes={"x": ("n",)}
    ).holds
    assert not av.prove(
        (forward, lambda xp, dy, x: {"dx": 4.0 * dy * x}), shapes={"x": ("n",)}
    ).holds


def test_what_is_not_known_is_refused_with_its_line():
    def sorted_rows(xp, x):
        return {"y": xp.sort(x)}

    def back(xp, dy):
        return {"dx": xp.sort(dy)}

    with pytest.raises(Exception, match="xp.sort is not known"):
        av.prove((sorted_rows, back), shapes={"x": ("r", "n")})
    refused = av.prove((soft, lambda xp, dy: {"dx": xp.sort(dy)}), shapes={"x": ("r", "n")})
    assert not refused.holds and "xp.sort is not known (line" in refused.reason


@pytest.mark.parametrize(
    "forward, shape, part",
    [
        (lambda xp, x: {"y": 1 // 0}, ("n",), "got ZeroDivisionError: "),
        (lambda xp, x: {"y": xp.isnan(x)}, ("n",), "got Refused: xp.isnan is not known; "),
        (lambda xp, x: {"y": 1.0}, ("n",), "got 1.0; "),
        (int, ("n",), "got no signature "),
        (lambda xp, x: x, ("n",), r"got an array real\[n\]; "),
        (lambda xp, x: {"y": x}, ("lambda",), "got 'lambda'; "),
        (lambda xp, x: {"y": x}, (1.5,), "got 1.5; "),
    ],
)
def test_a_forward_or_a_shape_that_cannot_be_used_is_refused_in_three_parts(forward, shape, part):
    with pytest.raises((TypeError, ValueError), match=f".*: {part}"):
        av.prove((forward, lambda xp, dy: {"dx": dy}), shapes={"x": shape})


def test_a_gradient_of_no_input_is_not_passed_over():
    result = av.prove(
        (lambda xp, x: {"y": x}, lambda xp, dy: {"dx": dy, "dq": dy}), shapes={"x": ("n",)}
    )
    assert not result.holds and result.reason == "backward gives dq, the gradient of no input"


def rows(xp, x, z, f0):
    k = xp.floor(z)
    near = (k >= 0.0) & (k < 1.0)
    return {"y": xp.where(near, x * xp.exp(f0), 2.0 * x)}


NEIGHBOURS = {  # gradients beside dx, which is the first alone
    "right": ("(k >= 0.0) & (k < 1.0)", "xp.floor(z)", "xp.exp(f0)"),
    "one truth of two": ("(k >= 0.0)", "xp.floor(z)", "xp.exp(f0)"),
    "or": ("(k >= 0.0) | (k < 1.0)", "xp.floor(z)", "xp.exp(f0)"),
    "not": ("~((k >= 0.0) & (k < 1.0))", "xp.floor(z)", "xp.exp(f0)"),
    "another end": ("(k >= 0.0) & (k <= 1.0)", "xp.floor(z)", "xp.exp(f0)"),
    "another rounding": ("(k >= 0.0) & (k < 1.0)", "xp.round(z)", "xp.exp(f0)"),
    "an input in the place of a name": ("(k >= 0.0) & (k < 1.0)", "xp.floor(z)", "f0"),
}


@pytest.mark.parametrize("near, k, factor", NEIGHBOURS.values(), ids=NEIGHBOURS)
def test_names_of_truths_and_of_steps_are_those_of_the_same_work(near, k, factor):
    made = {}
    exec(
        f"def back(xp, dy, x, z, f0):\n    k = {k}\n    c = {near}\n    ex = {factor}\n    one = xp.where(c, ex, 2.0 * xp.ones_like(x))\n"
        "    return {'dx': dy * one, 'dz': xp.zeros_like(x), 'df0': xp.where(c, dy * x * xp.exp(f0), xp.zeros_like(x))}",
        made,
    )
    result = av.prove(
        (rows, made["back"]), shapes={"x": ("r", "n"), "z": ("r", "n"), "f0": ("r", "n")}
    )
    assert result.holds == (factor != "f0" and (near, k) == NEIGHBOURS["right"][:2]), result.reason


def test_what_may_be_0_and_not_below_is_proved_at_0_and_above():
    result = av.prove("leaky_relu")  # it takes no slope below 0 if the result is given
    assert result.holds and [theorem.options for theorem in result.theorems] == [
        "selfIsResult=False",
        "selfIsResult=True",
        "selfIsResult=True, negativeSlope=0",
    ]
