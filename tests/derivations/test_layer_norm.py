"""The derivation of layer norm, line by line in numbers, and its formulas against the steps."""

import mpmath
import numpy as np
import pytest
from test_derivations import (
    BAD,
    CLOSE,
    DIGITS,
    OTHER,
    SIZES,
    draw,
    each_step_holds,
    index_lengths,
    length,
    run,
)

from derivations import evaluate, layer_norm

INPUTS = {"input", "weightOptional", "biasOptional"}


@pytest.mark.parametrize("sizes", [SIZES, OTHER], ids=["sizes", "other sizes"])
def test_each_step_against_differences(sizes):
    assert INPUTS <= each_step_holds(layer_norm.derive(), "out", "gradOut", sizes)


def test_formulas_agree_with_the_steps():
    derivation = layer_norm.derive()
    with mpmath.workdps(DIGITS):
        values = draw(
            derivation.tape, {"gradOut": derivation.tape.nodes["out"].indices}, SIZES, seed=9
        )
        result = run(derivation.steps, values, SIZES, index_lengths(derivation.tape, SIZES))
        for name, formula in derivation.formulas().items():
            axes = {index: length(size, SIZES) for index, size in formula.indices.items()}
            value = evaluate(
                formula.expression,
                {leaf: result[leaf] for leaf in formula.leaves} | SIZES,
                axes,
                digits=DIGITS,
            )
            assert np.all(np.abs(value - result[name]) < CLOSE), name


def test_steps_render_as_latex():
    assert not [step for step in layer_norm.derive().steps if any(bad in step.latex for bad in BAD)]
