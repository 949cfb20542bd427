"""The implementations that the conformance suite runs on, and a check behind every test that misuse is asserted."""

import pytest
from acl_program import Program

from aclnn_viz.acl import HostAcl

IMPLEMENTATIONS = {"host": HostAcl}


@pytest.fixture(params=IMPLEMENTATIONS)
def acl(request):
    """One process, in which nothing was called yet; a test that ends in misuse fails."""
    implementation = IMPLEMENTATIONS[request.param]()
    yield implementation
    assert implementation.misuse == []


@pytest.fixture
def program(acl):
    """A program that has started, and that gives everything back at the end."""
    running = Program(acl).start()
    yield running
    running.finish()
