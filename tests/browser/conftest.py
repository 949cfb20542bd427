"""One JupyterLab and one Chromium for all browser tests."""

import pytest

pytest.register_assert_rewrite("opened", "panel_picture")

from laboratory import chromium, laboratory  # noqa: E402


@pytest.fixture(scope="session")
def browser():
    pytest.importorskip("playwright", reason="needs playwright: pip install playwright")
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    with laboratory(tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture(scope="session")
def shelf(browser, lab):
    """Returns the explorer of a name in a notebook; the last one stays open, for opening costs seconds."""
    from opened import Opened
    held = {}

    def take(name):
        if name not in held:
            for other in held.values():
                other.close()
            held.clear()
            held[name] = Opened(browser, lab, name)
        return held[name]

    yield take
    for other in held.values():
        other.close()


@pytest.fixture
def explorer(request, shelf):
    """The explorer that the test is parametrized by, in its default state; no fault on either side may remain."""
    found = shelf(request.param)
    found.reset()
    yield found
    faults = found.all_faults()
    found.forget()  # a fault fails one test, that of its opening the first
    assert faults == []
