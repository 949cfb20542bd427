"""Export the state of an interactive picture (explorer): as a cell that shows it again, as a pytest test for a user's kernel,
as a C++ program.
"""

import numpy as np

from aclnn_viz.cases import Case
from aclnn_viz.devices.cpp import cpp_sample
from aclnn_viz.dtypes import FLOAT32, float_format
from aclnn_viz.explorers.state import changed, state_text
from aclnn_viz.operators import registry

TEST = '''"""{aclnn_name} in one state of its explorer: put your kernel in the place of `kernel`."""

import numpy as np

import aclnn_viz as av{imports}

OPERATOR = av.operator({name!r})


def kernel(**given):
    return OPERATOR.backward(**given)


def test_kernel_in_this_state():
    given = {given}
    outputs, truth = kernel(**given), OPERATOR.truth(**given)
    for name, expected in truth.items():
        largest = np.abs(expected).max()
        # Sums of a few thousand terms, in float32 at least: 256 roundings allow any order. The result is then
        # rounded once, to either neighbour.
        allowed = 256 * {inside!r} * max(largest, 1.0) + 2 * {roundoff!r} * largest
        np.testing.assert_allclose(np.float64(outputs[name]), expected, rtol=0, atol=allowed, err_msg=name)
'''


def arguments(state) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in changed(state).items())


def opened(op) -> str:
    """Return the name by which `av.operator` and `av.explore` open an operator, or its folder."""
    page = registry.file("page", op.name)
    return op.name if page is None or page.is_relative_to(registry.ROOT) else str(page.parent)


def call(subject, state) -> str:
    """Return the call that opens the explorer in this state."""
    op, given = subject.operator(state), arguments(state)
    name = opened(op) if op.name == subject.name else subject.name
    passed = ", ".join(filter(None, (f'"{name}"' if name.isidentifier() else repr(name), given)))
    return f"av.explore({passed})"


def cell(subject, state) -> str:
    """Return the notebook cell that opens the explorer in this state."""
    return f"import aclnn_viz as av\n\n{call(subject, state)}\n"


def pytest_case(subject, state) -> str:
    """Return a test module that runs a kernel on the inputs of this state."""
    imports = f"\nfrom {type(state).__module__} import State, inputs"
    return _test(
        subject.operator(state), state.dtype, imports, f"inputs(State({arguments(state)}))"
    )


def pytest_of_case(op, options: dict) -> str:
    """Return a test module that runs a kernel on the case that `av.case` draws with these options."""
    text = ", ".join(
        f"{name}=np.array({value.tolist()}, {value.dtype.name!r})"
        if isinstance(value, np.ndarray)
        else f"{name}={value!r}"
        for name, value in options.items()
    )
    return _test(op, options["dtype"], "", f"av.case(OPERATOR, {text}).inputs")


def _test(op, dtype: str, imports: str, given: str) -> str:
    roundoff = float_format(dtype).unit_roundoff
    return TEST.format(
        aclnn_name=op.aclnn_name,
        name=opened(op),
        imports=imports,
        given=given,
        roundoff=roundoff,
        inside=min(roundoff, FLOAT32.unit_roundoff),
    )


def cpp(subject, state) -> str:
    """Return the two-phase C++ program with the inputs of this state."""
    op = subject.operator(state)
    return cpp_sample(op, Case(op, subject.inputs(state), state.dtype, state.seed))


def link(subject, state) -> str:
    """Return a state as `av.explore(name, state=...)` takes it, and as in the address of a saved page."""
    return "#" + state_text(state)


TEXTS = {
    "link": link,
    "cell": cell,
    "test": lambda subject, state: subject.test(subject, state),
    "cpp": cpp,
}
