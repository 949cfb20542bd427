"""A long cell of a notebook shows its progress; a long table filters its rows."""

import re

import pytest
from laboratory import Notebook

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.soak]
LONG = """for _ in noted(range(200), 200):
    time.sleep(0.1)"""
TABLE = """from IPython.display import HTML
from aclnn_viz.tables import as_html
HTML(as_html("t", ("n",), [(f"row {n}",) for n in range(30)]))"""


def test_a_long_cell_says_how_far_it_is_and_a_table_is_filtered(browser, lab):
    book = Notebook(
        browser,
        lab,
        "long.ipynb",
        "import aclnn_viz, time\nfrom aclnn_viz.notebook import noted",
        TABLE,
        "time.sleep(1)",
        LONG,
    )
    bar = book.page.locator(".jp-OutputArea .widget-hbox, .jp-OutputArea .jupyter-widget-hbox")
    bar.wait_for(timeout=60_000)
    assert 1 <= int(re.search(r"(\d+)/200", bar.inner_text())[1]) <= 200
    assert bar.count() == 1  # the cell of one second has none
    bar.wait_for(state="detached", timeout=60_000)
    book.page.locator("input.filter").fill("row 2")
    assert book.page.locator("tr:visible").count() == 13  # the head, 2, 12, and 20 to 29
    book.close()
