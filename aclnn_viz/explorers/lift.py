"""Lift-out: a state as a cell that shows it again, as a pytest case for a kernel of one's own, as a C++ program."""

from aclnn_viz.cases import Case
from aclnn_viz.dtypes import FLOAT32, float_format
from aclnn_viz.explorers.state import changed
from aclnn_viz.export import cpp_sample

TEST = '''"""{aclnn_name} in one state of its explorer: put your kernel in the place of `kernel`."""

import numpy as np

import aclnn_viz as av
from {module} import State, inputs

STATE = State({arguments})


def kernel(**given):
    return av.operator("{name}").backward(**given)


def test_kernel_in_this_state():
    given = inputs(STATE)
    outputs, truth = kernel(**given), av.operator("{name}").truth(**given)
    for name, expected in truth.items():
        largest = np.abs(expected).max()
        # Sums of a few thousand terms, in float32 at least: 256 roundings leave room for any order. The result is then
        # rounded once, to either neighbour.
        room = 256 * {inside!r} * max(largest, 1.0) + 2 * {roundoff!r} * largest
        np.testing.assert_allclose(np.float64(outputs[name]), expected, rtol=0, atol=room, err_msg=name)
'''


def arguments(state) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in changed(state).items())


def call(subject, state) -> str:
    """Return the call that opens the explorer in this state."""
    given = arguments(state)
    return f'av.explore("{subject.name}"{", " + given if given else ""})'


def cell(subject, state) -> str:
    """Return the notebook cell that opens the explorer in this state."""
    return f"import aclnn_viz as av\n\n{call(subject, state)}\n"


def case(subject, state) -> Case:
    return Case(subject.operator(state), subject.inputs(state), state.dtype, state.seed)


def pytest_case(subject, state) -> str:
    """Return a test module that runs a kernel on the inputs of this state."""
    op, roundoff = subject.operator(state), float_format(state.dtype).unit_roundoff
    return TEST.format(aclnn_name=op.aclnn_name, name=op.name, module=subject.inputs.__module__,
                       arguments=arguments(state), roundoff=roundoff, inside=min(roundoff, FLOAT32.unit_roundoff))


def cpp(subject, state) -> str:
    """Return the two-phase C++ program with the inputs of this state."""
    return cpp_sample(subject.operator(state), case(subject, state))


TEXTS = {"cell": cell, "test": lambda subject, state: subject.test(subject, state), "cpp": cpp}
