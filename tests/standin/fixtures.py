"""Roots of the stand-in, each built once a process: `from standin.fixtures import roots`."""

import pytest
from in_child import stand_in


@pytest.fixture(scope="session")
def roots():
    """Return build() without its first argument: `roots("8.x")`, `roots(stubs=True)`; one layout is "9.x"."""
    return stand_in
