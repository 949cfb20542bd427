"""PyTorch's and JAX's derivatives, called as users call them, are right except for documented differences."""

from functools import partial
from itertools import product

import numpy as np
import pytest
from checking.wrong_kernels import scaled

import aclnn_viz as av
from aclnn_viz.cases import files
from aclnn_viz.checking.judge import judge, prepared_at, suite_recipes
from aclnn_viz.operators import registry
from aclnn_viz.operators.peers import NARROW
from aclnn_viz.storage.foreign_arrays import as_array

TORCH, JAX = (pytest.mark.needs(name) for name in ("torch", "jax"))
GRIDS = "grid_sampler_2d", "grid_sampler_3d"
SAMPLER = av.operator("grid_sampler_3d")
MASKED = {"where": {"outputMask": [(True, False), (False, True)]}}


def both(**inputs):
    return SAMPLER.backward(**inputs | {"outputMask": (True, True)})


def with_none(**inputs):
    return tuple(
        value if asked else None
        for value, asked in zip(both(**inputs).values(), inputs["outputMask"])
    )


@pytest.mark.parametrize(
    "kernel", [both, lambda **inputs: tuple(both(**inputs).values()), with_none]
)
@pytest.mark.sampled(1)
def test_an_output_that_was_masked_out_may_be_there_and_is_not_judged(kernel):
    result = av.check(SAMPLER, kernel, dtypes=("float32",), depth="quick", **MASKED)
    assert result.passed, str(result)


@pytest.mark.usefixtures("unexplained", "unshrunken")
def test_the_output_that_was_asked_for_is_judged_beside_it():
    result = av.check(
        SAMPLER,
        lambda **inputs: scaled(SAMPLER, 2)(**inputs | {"outputMask": (True, True)}),
        dtypes="float32",
        depth="quick",
    )
    assert not result.passed and "not asked for" not in str(result)


def test_a_program_may_leave_an_output_that_was_masked_out(tmp_path):
    case = av.case(SAMPLER, outputMask=(True, False))
    files.write_cases(tmp_path / "cases", SAMPLER, [files.Dumped(case, "one", {}, {})])
    for name, value in both(**SAMPLER.bind(case.inputs)).items():
        np.save(tmp_path / "cases" / "000" / "out" / f"{name}.npy", value)
    result = av.check(tmp_path / "cases")
    assert result.passed, str(result)


def test_a_judgement_leaves_out_what_was_masked_out():
    case = av.case(SAMPLER, outputMask=(True, False))
    assert set(av.judge(SAMPLER, case, {"mine": both(**SAMPLER.bind(case.inputs))})) == {
        "inputGrad"
    }


def tensors(torch, inputs):
    return {
        name: torch.from_dlpack(value.copy()) if isinstance(value, np.ndarray) else value
        for name, value in inputs.items()
    }


@TORCH
@pytest.mark.parametrize("name", GRIDS)
def test_functions_of_aten_return_every_gradient_and_are_right(name):
    import torch

    def kernel(outputMask, **inputs):
        return getattr(torch.ops.aten, f"{name}_backward")(
            *tensors(torch, inputs).values(), list(outputMask)
        )

    result = av.check(name, kernel, dtypes=("float32",))
    assert result.passed, str(result)


@TORCH
@pytest.mark.parametrize("name", GRIDS)
def test_autograd_of_grid_sample_is_right(name):
    import torch

    modes = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")

    def kernel(interpolationMode, paddingMode, alignCorners, outputMask, **inputs):
        grad, *leaves = tensors(torch, inputs).values()
        leaves = [leaf.requires_grad_() for leaf in leaves]
        out = torch.nn.functional.grid_sample(
            *leaves, modes[0][interpolationMode], modes[1][paddingMode], alignCorners
        )
        return torch.autograd.grad(out, leaves, grad)

    result = av.check(name, kernel, dtypes=("float32",))
    assert result.passed, str(result)


@TORCH
@pytest.mark.parametrize("name", ["rms_norm", *GRIDS, "group_norm_swish", "layer_norm"])
def test_pytorch_is_right_in_float32(name):
    result = av.check(name, "torch", dtypes=("float32",), beyond=True)
    assert result.passed, str(result)


@TORCH
@pytest.mark.parametrize(
    ("name", "dtype"), [*product([*GRIDS, "group_norm_swish", "layer_norm"], NARROW)]
)
def test_pytorch_is_right_in_the_precision_in_which_it_is_documented_to_compute(name, dtype):
    (plan,) = (one.plan for one in registry.own("peer", name, "DIFFERENCES")["torch"] if one.plan)
    result = av.check(name, "torch", dtypes=(dtype,), plan=plan)
    assert result.passed, str(result)


@TORCH
@pytest.mark.parametrize("name", ["upsample_bilinear_2d", "upsample_bicubic_2d"])
@pytest.mark.parametrize("aligned", [False, True])
def test_places_that_are_rounded_are_right_on_long_axes(name, aligned):
    case = av.case(name, shape=(1, 1, 65, 130), outputSize=(7, 100), alignCorners=aligned)
    result = av.check(name, "torch", cases=[case])
    assert result.passed, str(result)


@TORCH
def test_autograd_of_the_formula_of_hardswish_is_right():
    import torch

    def kernel(gradOutput, self):
        x, grad = (torch.from_numpy(value.astype(np.float32)) for value in (self, gradOutput))
        x.requires_grad_()
        (out,) = torch.autograd.grad(x * torch.clamp(x + 3, 0, 6) / 6, x, grad)
        return np.asarray(as_array(out)).astype(self.dtype)

    result = av.check("hardswish", kernel)
    assert result.passed, str(result)


def bicubic(jnp, input, grid, aligned):
    """Return a JAX user's version: zeros outside, the polynomials of the four distances along each axis."""

    def axis(x, size):
        u = (x + 1) / 2 * (size - 1) if aligned else ((x + 1) * size - 1) / 2
        first = jnp.floor(u)
        t = u - first
        far, near = (
            (lambda d: ((-0.75 * d + 3.75) * d - 6) * d + 3),
            (lambda d: (1.25 * d - 2.25) * d * d + 1),
        )
        return zip(
            [first + k for k in range(-1, 3)], (far(t + 1), near(t), near(1 - t), far(2 - t))
        )

    height, width = input.shape[2:]
    out, sample = 0, jnp.arange(input.shape[0])[:, None, None]
    for (row, wy), (column, wx) in product(
        axis(grid[..., 1], height), [*axis(grid[..., 0], width)]
    ):
        inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
        at = (
            jnp.clip(part, 0, size - 1).astype(int)
            for part, size in ((row, height), (column, width))
        )
        value = input[(sample, slice(None), *at)] * (wy * wx)[..., None]
        out += jnp.where(inside[..., None], value, 0)
    return jnp.moveaxis(out, -1, 1)


@JAX
def test_jax_grad_of_bicubic_polynomials_is_right():
    """Its products of unlike terms cancel: on even coordinates it rounds where the page does not."""
    import jax

    number = next(
        number
        for number, one in enumerate(suite_recipes("grid_sampler_2d"))
        if (2, 0, (13, 13))
        == tuple(
            one.options.get(name) for name in ("interpolationMode", "paddingMode", "grid_shape")
        )
    )
    one = prepared_at("grid_sampler_2d", number, 0)
    grad, *leaves = (
        jax.numpy.asarray(one.case.inputs[name]) for name in ("gradOutput", "input", "grid")
    )
    _, pull = jax.vjp(partial(bicubic, jax.numpy, aligned=one.case.inputs["alignCorners"]), *leaves)
    assert judge(one, dict(zip(("inputGrad", "gridGrad"), map(np.asarray, pull(grad))))) == []
