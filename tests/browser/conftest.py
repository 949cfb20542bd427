"""One JupyterLab and one Chromium for all browser tests, in light and dark."""

import pytest
from laboratory import chromium, laboratory


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
def dark_lab(tmp_path_factory):
    with laboratory(tmp_path_factory.mktemp("dark"), "JupyterLab Dark") as server:
        yield server
