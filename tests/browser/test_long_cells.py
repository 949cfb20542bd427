"""A cell of a notebook that runs long says how far it is, and its button stops it; a long table filters its rows."""

import re

import pytest
from laboratory import Notebook

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.soak]
LONG = """for _ in noted(range(200), 200):
    time.sleep(0.1)"""
TABLE = """from IPython.display import HTML
from aclnn_viz.tables import as_html
HTML(as_html("t", ("n",), [(f"row {n}",) for n in range(30)]))"""


def test_a_long_cell_says_how_far_it_is_and_is_stopped_by_its_button_and_a_table_is_filtered(
    browser, lab
):
    book = Notebook(
        browser,
        lab,
        "long.ipynb",
        "import aclnn_viz, time\nfrom aclnn_viz.notebook import noted",
        TABLE,
        "time.sleep(1)",
        LONG,
    )
    stop = book.page.locator(".jp-OutputArea button")
    stop.wait_for(timeout=60_000)
    seconds, rounds = map(
        int, re.search(r"(\d+) s: (\d+) of 200", stop.locator("..").inner_text()).groups()
    )
    # one takes a tenth of a second, on a busy machine more
    assert seconds >= 2 and 1 <= rounds <= 10 * (seconds + 1)
    assert stop.count() == 1  # the cell of one second has none
    stop.click()
    book.page.get_by_text("KeyboardInterrupt").first.wait_for()
    stop.wait_for(state="detached")
    book.page.locator("input.filter").fill("row 2")
    assert book.page.locator("tr:visible").count() == 13  # the head, 2, 12, and 20 to 29
    book.close()
