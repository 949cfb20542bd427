"""The explorers in README look as in a real JupyterLab."""

import pytest
from laboratory import SIZE
from opened import on

from notebooks.gallery import pictures

pytestmark = pytest.mark.needs("chromium")


@on(*pictures.EXPLORERS)
@pytest.mark.parametrize(
    "suffix, cell", [("", pictures.CELL), (".zh", pictures.CHINESE)], ids=["en", "zh"]
)
@pytest.mark.sampled(1)
def test_the_explorer_is_the_one_that_readme_shows_and_another_state_is_noticed(
    explorer, suffix, cell
):
    committed = (pictures.PICTURES / f"{explorer.name}{suffix}.png").read_bytes()
    explorer.page.set_viewport_size(pictures.SIZE)
    try:
        explorer.open_again(cell.format(name=explorer.name))
        explorer.page.evaluate("document.querySelector('.aclnn-explorer .more').open = false")
        assert pictures.distance(pictures.screenshot(explorer), committed) < pictures.SAME, (
            "make gallery draws it anew"
        )
        explorer.set(("rotate", 0))
        explorer.settle()
        assert pictures.distance(pictures.screenshot(explorer), committed) > pictures.SAME
    finally:
        explorer.page.set_viewport_size(SIZE)
        explorer.run('av.language("en")')
        explorer.open_again()
