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
    """Returns the explorer of a name, in one notebook for all of them: opening one and starting a kernel costs seconds."""
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
    """The explorer that the test is parametrized by, in its default state; no fault on either side may remain."""
    found = opened(request.param)
    found.reset()
    yield found
    faults = found.all_faults()
    found.forget()  # a fault fails one test, that of its opening the first
    assert faults == []
