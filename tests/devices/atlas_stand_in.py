"""Work with `open_device("atlas")` on the stand-in for CANN's libraries, always in a child."""

import numpy as np
import pytest
from in_child import StandIn, in_child, stand_in

import aclnn_viz as av
from aclnn_viz.cases.default import matrix_shape

LAYOUTS = pytest.mark.parametrize("layout", ["8.x", "9.x"])
SMALL = {"grid_sampler_2d": (1, 2, 4, 4), "group_norm_swish": (2, 4, 3)}
#: CE on CANN 8 reads the weight of every target, so ignored targets below 0 are refused.
GIVEN = {"cross_entropy_loss": {"weightOptional": None}}


def case_of(op, **given):
    return av.case(
        op, **{"shape": SMALL.get(op.name, matrix_shape(op, 3, 4))} | GIVEN.get(op.name, {}) | given
    )


def tiny(op, **given):
    """Return the inputs of the smallest case that computes something."""
    shape = {"grid_sampler_2d": (1, 1, 2, 2), "group_norm_swish": (1, 2, 3)}.get(op.name)
    return case_of(op, **{"shape": shape or matrix_shape(op, 2, 2)} | given).inputs


def on_stand_in(work, layout="9.x", environment=None):
    """Run `work(root)` in a child; return its result, after a check of the stand-in's notes."""
    root = stand_in(layout)

    def watched():
        answer = work(root)
        assert StandIn(root).misuse == []
        return answer

    return in_child(watched, environment)


def close_to(actual, expected, units):
    """Assert that outputs are within a few last places of their format, at the scale of the output."""
    assert actual.keys() == expected.keys()
    for name, value in expected.items():
        found = actual[name]
        assert found.dtype == value.dtype and found.shape == value.shape, name
        scale = np.abs(value.astype(np.float64)).max(initial=1)
        np.testing.assert_allclose(
            found.astype(np.float64),
            value.astype(np.float64),
            rtol=0,
            atol=units * scale * {2: 2**-8, 4: 2**-24}[found.dtype.itemsize],
            err_msg=name,
        )
