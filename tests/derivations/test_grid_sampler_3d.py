"""The formulas of the 3D grid sampler in numbers, against the scalar reference, in every mode."""

import itertools

import pytest
from machine import SOAK
from reference import grid_sampler_3d as reference
from reference.judging import agree, uniform

from derivations import evaluate, grid_sampler_3d

SIZES = dict(zip("NCDHWOPQ", (1, 1, 2, 3, 2, 1, 1, 2)))


@pytest.mark.parametrize(
    "mode",
    [
        mode
        for mode in itertools.product((0, 1), (0, 1, 2), (False, True))
        if SOAK or sum(mode) % 2 == 0
    ],
    ids=str,
)
@pytest.mark.sampled(3)
def test_formulas_agree_with_the_reference(mode):
    inputs = dict(
        gradOutput=uniform(1, 1, 1, 1, 1, 2),
        input=uniform(2, 1, 1, 2, 3, 2),
        grid=uniform(3, 1, 1, 1, 2, 3, low=-2.6, high=2.6),
    )
    options = dict(zip(("interpolationMode", "paddingMode", "alignCorners"), mode))
    expected = reference.backward(**inputs, **options)
    for name, formula in grid_sampler_3d.derive(*mode).formulas().items():
        # 3 coordinates
        axes = {index: int(SIZES.get(str(size), 3)) for index, size in formula.indices.items()}
        agree(evaluate(formula.expression, inputs | SIZES, axes, digits=50), expected[name])
