"""The explorers that README shows look as they do there, in a real JupyterLab."""

import pytest

from notebooks.gallery import pictures

pytestmark = pytest.mark.needs("chromium")


def apart(browser, lab, name, arguments=""):
    return pictures.distance(pictures.screenshot(browser, lab, name, arguments),
                             (pictures.PICTURES / f"{name}.png").read_bytes())


@pytest.mark.parametrize("name", pictures.EXPLORERS)
def test_the_explorer_is_the_one_that_readme_shows(browser, lab, name):
    assert apart(browser, lab, name) < pictures.SAME, "make gallery draws it anew"


def test_another_state_is_noticed(browser, lab):
    assert apart(browser, lab, "grid_sampler_2d", ", rotate=0.0") > pictures.SAME
