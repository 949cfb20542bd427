"""The cases of an operator without a file for them: reachable, reproducible, and complete."""

import numpy as np
import pytest
from machine import sampled

from aclnn_viz import case
from aclnn_viz.cases.suites import recipes
from aclnn_viz.operators import registry

# If lengths depend on each other beyond the declaration, a file of cases completes them.
DRAWN = [op for op in sampled(__name__) if not registry.own("cases", op.name, "completed", None)]
EVERY = pytest.mark.parametrize("op", DRAWN, ids=lambda op: op.name)


@pytest.fixture(autouse=True)
def no_file_of_cases(monkeypatch):
    find = registry._path
    monkeypatch.setattr(
        registry, "_path", lambda kind, *at: find("nothing" if kind == "cases" else kind, *at)
    )
    registry.module.cache_clear()
    yield
    registry.module.cache_clear()


@EVERY
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_saved_tensors_come_from_the_forward_pass(op, dtype):
    made = case(op, dtype=dtype, seed=3)
    assert all(value is not None for value in made.inputs.values())
    if set(op.takes) - set(made.inputs) - set(op.attributes):
        return  # an input of the forward pass, such as logits, does not reach backward
    forward = {
        name: made.inputs.get(name, op.attributes.get(name) and op.attributes[name].default)
        for name in op.takes
    }
    saved = op.forward(**forward)
    assert all(np.array_equal(made.inputs[name], saved[of]) for name, of in op.saved.items())


@EVERY
def test_the_same_arguments_give_the_same_case_and_another_seed_another(op):
    first, again, other = (case(op, seed=seed).inputs for seed in (1, 1, 2))
    tensors = [name for name, value in first.items() if isinstance(value, np.ndarray)]
    assert all(np.array_equal(first[name], again[name]) for name in tensors)
    assert any(not np.array_equal(first[name], other[name]) for name in tensors)


@EVERY
def test_the_default_suite_has_modes_formats_strides_and_sizes(op):
    listed = list(recipes(op))
    assert {recipe.options.get("dtype") for recipe in listed} >= {
        None,
        "float16",
        "bfloat16",
        "float64",
    }
    assert any(recipe.strided for recipe in listed) and len(listed) >= len(op.modes) + 10
    shapes = [recipe.options.get("shape") for recipe in listed]
    assert any(min(shape, default=0) == 1 for shape in shapes)
    # only where the operator takes no tensor without elements
    if not any(0 in shape for shape in shapes):
        with pytest.raises(ValueError, match=": got .*; "):
            case(op, shape=(0, *shapes[0][1:]))


def test_sizes_that_the_shape_does_not_tell_are_options():
    assert case("rms_norm", shape=(2, 3, 4), gamma_ndim=2).inputs["gamma"].shape == (3, 4)
    assert case("grid_sampler_2d", grid_shape=(7, 9)).inputs["gradOutput"].shape == (2, 2, 7, 9)
    assert case("grid_sampler_2d", grid_shape=(2, 7, 9, 2)).inputs["gradOutput"].shape == (
        2,
        2,
        7,
        9,
    )
    assert case("grid_sampler_2d", grid=np.zeros((2, 1, 4, 2), np.float32)).inputs[
        "gradOutput"
    ].shape == (2, 2, 1, 4)
    assert case("group_norm_swish", shape=(2, 9, 4)).inputs["numGroups"] == 3
    assert case("cross_entropy_loss", reduction="none", shape=(4, 3)).inputs["gradLoss"].shape == (
        4,
    )
    assert case("rms_norm", rstd=0.5).inputs["rstd"].tolist() == [[0.5]] * 4


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        ("grid_sampler_2d", {"shape": (2, 3)}, r"shape must be that of input, \(N C H W\): got"),
        (
            "grid_sampler_2d",
            {"grid_shape": (1, 2, 3)},
            r"grid_shape must be \(Hout, Wout\): got .1, 2, 3.; give 2 lengths",
        ),
        (
            "rms_norm",
            {"shape": (2, 3), "gamma_ndim": 3},
            "gamma_ndim must lie in 1 to 2, the rank of x: got 3",
        ),
        (
            "group_norm_swish",
            {"shape": (2, 6, 3), "numGroups": 4},
            "shape must be that of x, .*: got .* and numGroups 4",
        ),
    ],
)
def test_what_does_not_fit_is_refused(name, given, text):
    with pytest.raises(ValueError, match=text):
        case(name, **given)
