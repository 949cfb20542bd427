"""Mechanical mutants of the pages: the suite kills each, or the list gives the reason of equivalence."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from checking.mutation import mutants
from machine import SOAK
from tables import table

from aclnn_viz import operators
from aclnn_viz.checking.judge import judge, prepared_suite
from aclnn_viz.operators import registry

WITH_FAULTS = [op for op in operators() if registry.file("faults", op.name)]
# Function, change without its place, text of the line: why the mutant computes the same. remote: it differs only for
# coordinates beyond 2^31 or that are no numbers, which no document defines, and products differ. clipped: the coordinate is
# then clipped to the one pixel there is, with slope 0. mirror: it differs only at a mirror, where the coordinate is the same
# and the clip makes the slope 0. ones: multiplying with ones only broadcasts.
EQUIVALENT = table("""
fold           | Sub          | round(x / 4.0)                                   | adds a multiple of the period instead of subtracting it
fold           | 4.0          | round(x / 4.0)                                   | still takes off a multiple of the period
reflect        | left factor  | return xp.zeros_like(u) * u                      | clipped
reflect        | right factor | return xp.zeros_like(u) * u                      | clipped
reflect        | zeros_like   | return xp.zeros_like(u) * u                      | clipped
reflect        | Lt           | forth = phase < span                             | mirror
reflect        | GtE          | (offset >= 0.0)                                  | mirror
source         | Mult         | slope * xp.ones_like(u)                          | ones
source         | left factor  | slope * xp.ones_like(u)                          | ones
source         | LtE          | <= HUGE                                          | remote
source         | abs          | <= HUGE                                          | remote
bicubic_source | NotEq        | if paddingMode != REFLECTION                     | remote
bicubic_source | LtE          | <= HUGE                                          | remote
bicubic_source | abs          | <= HUGE                                          | remote
bicubic_source | Mult         | slope * xp.ones_like(u)                          | ones
bicubic_source | left factor  | slope * xp.ones_like(u)                          | ones
taps           | zeros_like   | (xp.round(u), xp.ones_like(u), xp.zeros_like(u)) | backward skips gridGrad of nearest
backward       | float64      | grad_x = grad_y                                  | zeros, to which float64 is added
backward       | 1            | pixels + 1                                       | one more element that is cut off
divisors       | 0            | wide = xp.zeros(0                                | only the dtype of the array is used
target_weight  | 0 at         | if weight.shape[0] == 0                          | one class: softmax and one-hot cancel, whatever the weight
sigmoids       | Lt           | return xp.where                                  | both sides are 1/2 at t = 0
swish_slope    | 20000.0      | xp.guard(s * z                                   | beyond, the slope is 0 or 1 in every format
""")


@cache
def of(op):
    return tuple(mutants(op.page))


def survivors(op, some=None):
    """Return the mutants, some or all, that no case of the suite tells from the page."""
    cases, alive = list(prepared_suite(op, 0)), []
    for mutant in of(op) if some is None else some:
        kernel = replace(op, page=mutant.page).backward
        at = next((at for at, prepared in enumerate(cases) if killed(prepared, kernel)), None)
        if at is None:
            alive.append(mutant)
        else:
            cases.insert(0, cases.pop(at))  # it often kills the next mutant, too
    return alive


def killed(prepared, kernel):
    try:
        with np.errstate(all="ignore"):
            outputs = kernel(**prepared.case.inputs)
    except Exception:  # a broken page may raise anything
        return True
    return bool(judge(prepared, outputs))


def reason(mutant, equivalent=EQUIVALENT):
    return next(
        (
            why
            for function, change, line, why in equivalent
            if mutant.function == function
            and line in mutant.line
            and mutant.change.startswith(change)
        ),
        None,
    )


@pytest.mark.parametrize("op", WITH_FAULTS, ids=lambda op: op.name)
@pytest.mark.sampled(1)
def test_every_mutant_is_killed_or_equivalent(op, record_property):
    # no case kills an equivalent mutant
    some = of(op) if SOAK else [mutant for mutant in of(op) if reason(mutant) is None]
    alive = survivors(op, some)
    record_property("survivors, all equivalent", len(alive))
    assert [str(mutant) for mutant in alive if reason(mutant) is None] == []


def test_there_are_enough_mutants_of_every_kind():
    every = [mutant for op in WITH_FAULTS for mutant in of(op)]
    assert len({(mutant.page.__name__, str(mutant)) for mutant in every}) >= 200
    assert {"sign", "factor", "comparison", "index", "axis", "dtype"} <= {
        mutant.kind for mutant in every
    }


def test_a_mutant_that_changes_nothing_survives():
    op = operators()[0]
    assert not any(
        killed(prepared, replace(op, page=op.page).backward) for prepared in prepared_suite(op, 0)
    )
