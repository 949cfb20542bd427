"""Right kernels, whoever arranged them, pass in three formats: one set, with the formulas of other libraries restated."""

import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from checking import arrangements, rewritings
from checking.arrangements import kernels
from checking.rewritings import planned
from checking.wrong import SLIPS, kernel
from checking.wrong.common import asked, wide
from machine import taught

from aclnn_viz.arrays.plan import BLOCKED, SEQUENTIAL, SHUFFLED, Plan
from aclnn_viz.checking import check

FORMATS = ("float16", "bfloat16", "float32")
PLANS = (
    Plan("one after another", order=SEQUENTIAL),
    Plan(
        "tiles on three cores",
        order=BLOCKED,
        tile=8,
        cores=3,
        leading=SHUFFLED,
        scatter=SHUFFLED,
        reciprocal_mean=True,
    ),
)


def layer_norm_as_aten(
    gradOut, input, normalizedShape, mean, rstd, weightOptional, biasOptional, outputMask
):
    """layer_norm_kernel.cpp of PyTorch: two sums of a row, of which a and b follow, and x - mean in place of x-hat."""
    n = int(np.prod(normalizedShape))
    x, dy, w = (
        wide(input).reshape(-1, n),
        wide(gradOut).reshape(-1, n),
        1 if weightOptional is None else wide(weightOptional).reshape(n),
    )
    m, r = (wide(part).reshape(-1, 1).astype(x.dtype) for part in (mean, rstd))
    centred = x - m
    ds, db = np.sum(dy * w * centred, axis=1, keepdims=True), np.sum(dy * w, axis=1, keepdims=True)
    dx = r * (dy * w) - ds * r * r * r / max(n, 1) * centred - r * db / max(n, 1)
    kind = input.dtype if weightOptional is None else weightOptional.dtype
    outputs = {
        "gradInputOut": dx.astype(input.dtype).reshape(input.shape),
        "gradWeightOut": (dy * (centred * r)).sum(0).astype(kind).reshape(normalizedShape),
        "gradBiasOut": dy.sum(0).astype(kind).reshape(normalizedShape),
    }
    return asked(outputs, outputMask)


def all_right():
    """(operator, arrangement, kernel) of those in NumPy alone."""
    ours = [op.name for op in taught()]
    yield from ((name, "by hand", kernel(name)) for name in SLIPS)
    yield from (
        (name, plan.name, planned(name, plan))
        for name in SLIPS
        if name not in ours
        for plan in PLANS
    )
    yield from (
        (op.name, how, kernel)
        for op in taught()
        for how, kernel in rewritings.rewritings(op.name)
        if how not in ("the kit's own", "by hand")
    )
    yield "layer_norm", "as aten", layer_norm_as_aten


def of_library(library):
    text = (Path(arrangements.__file__).parent / f"{library}_kernels.py").read_text("utf-8")
    for name in re.findall(r"^def (\w+)\(\w+, ", text, re.MULTILINE):
        yield pytest.param(
            name,
            partial(lambda name: kernels(library)[name], name),
            marks=pytest.mark.needs(library),
            id=name,
        )


ALL = [*all_right()]


def test_there_are_sixty_right_kernels_and_three_arrangements_of_most_operators():
    names = [name for name, _, _ in ALL]
    assert len({(name, how) for name, how, _ in ALL}) == len(ALL) >= 60
    assert sum(names.count(name) >= 3 for name in {*names}) >= 16


@pytest.mark.parametrize(
    ("name", "how", "kernel"), ALL, ids=[f"{name}-{how}" for name, how, _ in ALL]
)
@pytest.mark.sampled(4)
def test_a_right_kernel_passes(name, how, kernel):
    with np.errstate(all="ignore"):
        check(name, kernel, dtypes=FORMATS).raise_if_failed()


@pytest.mark.parametrize(("name", "kernel"), [*of_library("torch")])
def test_a_right_kernel_in_pytorch_passes(name, kernel):
    check(name, kernel(), dtypes=FORMATS).raise_if_failed()


@pytest.mark.parametrize(("name", "kernel"), [*of_library("jax")])
@pytest.mark.sampled(2)
def test_a_right_kernel_in_jax_passes(name, kernel):
    test_a_right_kernel_in_pytorch_passes(name, kernel)
