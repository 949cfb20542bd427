"""The implementations that the conformance suite runs on, and a check behind every test that misuse is asserted.

A test on the stand-in for CANN's libraries runs in a forked child, for its libraries hold the state of one process.
"""

import pickle
from collections import Counter

import pytest
from _pytest.runner import runtestprotocol
from acl_program import Program
from in_child import Crashed, StandIn, in_child, stand_in
from machine import SOAK, missing

from aclnn_viz.acl import CannAcl, HostAcl

IMPLEMENTATIONS = {
    "host": HostAcl,
    "stand-in 8.x": lambda: CannAcl(stand_in("8.x")),
    "stand-in 9.x": lambda: CannAcl(stand_in("9.x")),
}
EVERY_CALL = "test_every_call_takes_nulls_and_returns_one_value_for_each_out_pointer"
#: Missing parts of an installation: CANN 8.1 has no counted finalize, and counts no device.
ABSENT = {"stand-in 8.x": {"test_finalize_reference_is_counted", EVERY_CALL}}

#: Programs on which only the stand-in comments: the null mask, and a shape without a status.
REMARKED = {EVERY_CALL, "test_a_shape_that_the_tiling_ignores_fails_at_launch"}


@pytest.fixture(
    params=[
        pytest.param(name, marks=() if name == "host" else pytest.mark.needs("g++"))
        for name in IMPLEMENTATIONS
    ]
)
def acl(request):
    """Yield one process without earlier calls; a test that ends in misuse fails."""
    implementation = IMPLEMENTATIONS[request.param]()
    yield implementation
    assert implementation.misuse == []
    if request.param != "host" and request.node.originalname not in REMARKED:
        assert StandIn(implementation.installation.root).misuse == []


@pytest.fixture
def program(acl):
    """Yield a started program, which releases everything at the end."""
    running = Program(acl).start()
    yield running
    running.finish()


def _implementation(item):
    return getattr(item, "callspec", None) and item.callspec.params.get("acl", "host")


def pytest_collection_modifyitems(items):
    seen = Counter()

    def asked_for(item):
        """Return whether a stand-in runs this item; of other parameters each takes every second value."""
        name, implementation = getattr(item, "originalname", ""), _implementation(item)
        if name in ABSENT.get(implementation, ()):
            return False
        if (
            SOAK
            or implementation not in ("stand-in 8.x", "stand-in 9.x")
            or len(item.callspec.params) == 1
            or "script" in item.callspec.params
        ):
            return True
        seen[item.path, name, implementation] += 1
        return seen[item.path, name, implementation] % 2 == (implementation == "stand-in 9.x")

    items[:] = filter(asked_for, items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    """Run the whole test in a child and report its reports, or its crash."""
    implementation = _implementation(item)
    if not implementation or implementation == "host" or missing("g++"):
        return None
    stand_in(implementation.removeprefix("stand-in "))  # built here, once, and not in every child
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    serialise = item.config.hook.pytest_report_to_serializable
    try:
        # Objects of the session, such as a browser, belong to the parent, and no child closes them.
        found = in_child(
            lambda: pickle.dumps(
                [
                    serialise(config=item.config, report=report)
                    for report in runtestprotocol(item, log=False, nextitem=item.session)
                ]
            )
        )
        reports = [
            item.config.hook.pytest_report_from_serializable(config=item.config, data=data)
            for data in pickle.loads(found)
        ]
    except (Crashed, AssertionError) as error:
        reports = [pytest.TestReport(item.nodeid, item.location, {}, "failed", str(error), "call")]
    # the child did this; earlier tests may have left a set-up here
    item.session._setupstate.teardown_exact(nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
