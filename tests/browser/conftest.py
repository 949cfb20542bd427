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


@pytest.fixture
def explorer(opened):
    """What the file's own `opened` holds, in its default state; no fault on either side may remain."""
    opened.reset()
    yield opened
    assert opened.all_faults() == []
