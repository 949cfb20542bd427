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
def opened(browser, lab):
    """Yield a function that opens the explorer of a name in one shared notebook, because opening costs seconds."""
    from opened import Opened

    held = []

    def take(name):
        if not held:
            held.append(Opened(browser, lab))
        if held[0].name != name:
            held[0].show(name)
        return held[0]

    yield take
    for notebook in held:
        notebook.close()


@pytest.fixture
def explorer(request, opened):
    """Yield the explorer of the test's parameter in its default state; neither side may leave a fault."""
    found = opened(request.param)
    found.reset()
    yield found
    faults = found.all_faults()
    found.forget()  # a fault fails one test; a fault of the opening fails the first
    assert faults == []
