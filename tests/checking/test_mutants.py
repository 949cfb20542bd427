"""Mechanical mutants of the pages: the suite kills each, or the list gives the reason of equivalence."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from checking.mutation import mutants
from machine import SOAK

from aclnn_viz import operators
from aclnn_viz.checking.judge import judge, prepared_suite
from aclnn_viz.operators import registry

REMOTE = "differs only for coordinates beyond 2^31 or that are no numbers: no document defines them, products differ"
CLIPPED = "the coordinate is then clipped to the one pixel there is, with slope 0"
ON_THE_BORDER = (
    "differs only at a mirror, where the coordinate is the same and the clip makes the slope 0"
)
ONES = "multiplying with ones only broadcasts"

# (function, text of the line, change without its place): why the mutant computes the same.
WITH_FAULTS = [op for op in operators() if registry.file("faults", op.name)]
EQUIVALENT = {
    ("fold", "round(x / 4.0)", "Sub"): "adds a multiple of the period instead of subtracting it",
    ("fold", "round(x / 4.0)", "4.0"): "still takes off a multiple of the period",
    ("reflect", "return xp.zeros_like(u) * u", "left factor"): CLIPPED,
    ("reflect", "return xp.zeros_like(u) * u", "right factor"): CLIPPED,
    ("reflect", "return xp.zeros_like(u) * u", "zeros_like"): CLIPPED,
    ("reflect", "forth = phase < span", "Lt"): ON_THE_BORDER,
    ("reflect", "(offset >= 0.0)", "GtE"): ON_THE_BORDER,
    ("source", "slope * xp.ones_like(u)", "Mult"): ONES,
    ("source", "slope * xp.ones_like(u)", "left factor"): ONES,
    ("source", "<= HUGE", "LtE"): REMOTE,
    ("source", "<= HUGE", "abs"): REMOTE,
    ("bicubic_source", "if paddingMode != REFLECTION", "NotEq"): REMOTE,
    ("bicubic_source", "<= HUGE", "LtE"): REMOTE,
    ("bicubic_source", "<= HUGE", "abs"): REMOTE,
    ("bicubic_source", "slope * xp.ones_like(u)", "Mult"): ONES,
    ("bicubic_source", "slope * xp.ones_like(u)", "left factor"): ONES,
    (
        "taps",
        "(xp.round(u), xp.ones_like(u), xp.zeros_like(u))",
        "zeros_like",
    ): "backward skips gridGrad of nearest",
    ("backward", "grad_x = grad_y", "float64"): "zeros, to which float64 is added",
    ("backward", "pixels + 1", "1"): "one more element that is cut off",
    ("divisors", "wide = xp.zeros(0", "0"): "only the dtype of the array is used",
    (
        "target_weight",
        "if weight.shape[0] == 0",
        "0 ",
    ): "one class: softmax and one-hot cancel, whatever the weight",
    ("sigmoids", "return xp.where", "Lt"): "both sides are 1/2 at t = 0",
    ("swish_slope", "xp.guard(s * z", "20000.0"): "beyond, the slope is 0 or 1 in every format",
}


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
            for (function, line, change), why in equivalent.items()
            if mutant.function == function
            and line in mutant.line
            and mutant.change.startswith(change)
        ),
        None,
    )


@pytest.mark.parametrize("op", WITH_FAULTS, ids=lambda op: op.name)
@pytest.mark.sampled(2)
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
