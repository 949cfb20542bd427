"""Skips that name what to install, no skips at all in CI, and the switch between samples and full-size sweeps."""

import pytest

from machine import SOAK, forbidden_skip, missing


@pytest.hookimpl(tryfirst=True)  # before the fixtures that use the tool
def pytest_runtest_setup(item):
    for mark in item.iter_markers("needs"):
        if reason := missing(*mark.args):
            pytest.skip(reason)


def pytest_collection_modifyitems(config, items):
    if not SOAK:
        soak = [item for item in items if item.get_closest_marker("soak")]
        config.hook.pytest_deselected(items=soak)
        items[:] = [item for item in items if item not in soak]


def _refuse_skip(report):
    if report.skipped and not hasattr(report, "wasxfail") and (fault := forbidden_skip(report.longrepr[2])):
        report.outcome, report.longrepr = "failed", fault
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport():
    return _refuse_skip((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report():
    return _refuse_skip((yield))
