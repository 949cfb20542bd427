"""One JupyterLab and one Chromium for all browser tests."""

from functools import cache
from unittest.mock import patch

import pytest

from aclnn_viz.explorers import live, subject_of
from aclnn_viz.explorers.state import build

pytest.register_assert_rewrite("opened", "panel_picture")

from laboratory import chromium, laboratory  # noqa: E402

once = pytest.fixture(scope="session")


@once
def browser():
    pytest.importorskip("playwright", reason="needs playwright: pip install playwright")
    with chromium() as opened:
        yield opened


@once
def lab(tmp_path_factory):
    with laboratory(tmp_path_factory.mktemp("lab")) as server:
        yield server


@once
def saved(tmp_path_factory):
    """Return a function that saves a page of an explorer once, and returns its path and the data of its state."""

    @cache
    def save(name, held=live.COMBINATIONS_HELD, **values):
        subject, path = subject_of(name), tmp_path_factory.mktemp(name) / "page.html"
        state = build(subject.state, values)
        data = subject.compute(state)
        with patch.object(live, "COMBINATIONS_HELD", held):
            path.write_text(live.saved(subject, state, data), "utf-8")
        assert path.stat().st_size <= 3_000_000, name
        return path, data

    return save


@once
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
