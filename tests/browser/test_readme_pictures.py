"""The explorers that README shows look as they do there, in a real JupyterLab."""

import pytest
from opened import SET, SETTLED

from notebooks.gallery import pictures

pytestmark = pytest.mark.needs("chromium")


@pytest.mark.parametrize("name", pictures.EXPLORERS)
def test_the_explorer_is_the_one_that_readme_shows_and_another_state_is_noticed(browser, lab, name):
    committed = (pictures.PICTURES / f"{name}.png").read_bytes()
    with pictures.shown(browser, lab, name) as notebook:
        assert pictures.distance(pictures.screenshot(notebook), committed) < pictures.SAME, "make gallery draws it anew"
        notebook.page.evaluate(SET, [("rotate", 0)])
        notebook.page.evaluate(SETTLED)
        assert pictures.distance(pictures.screenshot(notebook), committed) > pictures.SAME
