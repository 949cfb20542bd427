"""The links that `make lab` prints, in a browser: a moving picture, then the first lesson, the whole folder, no
question before.
"""

import json
import os
import re
import subprocess
import sys
import time

import pytest
from machine import ROOT

pytestmark = [pytest.mark.needs("chromium"), pytest.mark.soak]
# The number of characters in the longest line of Markdown cells, by the places of characters.
LONGEST = """() => Math.max(...[...document.querySelectorAll(".jp-MarkdownCell p, .jp-MarkdownCell li")].map((one) => {
    const lines = new Map(), walker = document.createTreeWalker(one, NodeFilter.SHOW_TEXT), range = document.createRange();
    while (walker.nextNode()) {
        for (let k = 0; k < walker.currentNode.length; k += 1) {
            range.setStart(walker.currentNode, k);
            range.setEnd(walker.currentNode, k + 1);
            const { bottom, width } = range.getBoundingClientRect();
            if (width) lines.set(Math.round(bottom / 8), (lines.get(Math.round(bottom / 8)) ?? 0) + 1);
        }
    }
    return Math.max(0, ...lines.values());
}))"""
FILTER = """() => {
    const made = document.body.appendChild(document.createElement("div"));
    made.innerHTML = '<div class="jp-RenderedImage"><img></div>';
    const { filter } = getComputedStyle(made.querySelector("img"));
    made.remove();
    return filter;
}"""
# How far below a folded answer the text after it begins.
GAP = """() => {
    const made = document.body.appendChild(document.createElement("div"));
    made.className = "jp-MarkdownCell";
    made.innerHTML = '<div class="jp-RenderedHTMLCommon jp-RenderedMarkdown"><details><summary>Answer</summary></details><p>text</p></div>';
    const [folded, text] = ["details", "p"].map((name) => made.querySelector(name).getBoundingClientRect());
    made.remove();
    return text.top - folded.bottom;
}"""
# How wide a figure is drawn, and whether the place of 600 pixels scrolls it.
WIDE = """async (width) => {
    const place = document.body.appendChild(document.createElement("div")), image = new Image();
    place.style.width = "600px";
    place.innerHTML = '<div class="jp-RenderedImage"></div>';
    image.src = `data:image/svg+xml,<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${width}"/>`;
    place.firstChild.append(image);
    await image.decode();
    const found = [Math.round(image.getBoundingClientRect().width), place.firstChild.scrollWidth > place.firstChild.clientWidth];
    place.remove();
    return found;
}"""
# As how many other letters a Chinese one of a table is wide.
LETTERS = """async () => {
    const place = document.body.appendChild(document.createElement("div")), width = (one) => one.getBoundingClientRect().width;
    place.innerHTML = '<div class="jp-OutputArea"><div class="jp-OutputArea-output jp-RenderedText"><pre><span>准确、</span><span>000</span></pre></div></div>';
    await document.fonts.load("1em two-columns", "准");
    const [chinese, latin] = [...place.querySelectorAll("span")].map(width);
    place.remove();
    return Math.round(20 * chinese / latin) / 20;
}"""
# How the first line of each folded output is displayed.
FOLDED = """() => [...document.querySelectorAll(".jp-OutputPlaceholder .jp-PlaceholderText")]
    .filter((one) => one.textContent).map((one) => getComputedStyle(one).display)"""
QUESTIONS = ".jp-Dialog, .Toastify__toast"


@pytest.fixture(params=["clone", "copy"])
def printed(request, tmp_path):
    """Yield the folder and links that `aclnn-viz lab` prints for a new user of Jupyter, without a browser."""
    folder = ROOT if request.param == "clone" else tmp_path / "my lessons"
    home, log = tmp_path / "home", tmp_path / "log"
    (home / ".jupyter").mkdir(parents=True)
    (home / ".jupyter" / "jupyter_server_config.json").write_text(
        json.dumps(
            {
                "ServerApp": {"port": 0, "open_browser": False},
                "LabApp": {"expose_app_in_browser": True},
            }
        )
    )
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "XDG"))
    }
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "aclnn_viz.cli", "lab", str(folder)],
            cwd=tmp_path,
            stdout=out,
            stderr=subprocess.STDOUT,
            env=environment | {"HOME": str(home), "PYTHONPATH": str(ROOT)},
        )
    try:
        deadline = time.monotonic() + 60
        while not (
            links := re.findall(r"http://\S+", log.read_text().partition("access the server")[2])
        ):
            assert process.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        yield folder, links
    finally:
        process.terminate()
        process.wait(20)


def test_every_printed_link_leads_to_a_live_picture_then_to_the_lessons_and_nothing_is_asked(
    browser, printed
):
    folder, links = printed
    assert len({link.partition("/custom")[2] for link in links}) == 1 and "token=" in links[0]
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    try:
        page.goto(links[0])
        page.frame_locator("iframe").locator("canvas[data-axes]").first.wait_for()
        page.locator(".ways a").first.click()
        page.wait_for_selector(".jp-Notebook .jp-Cell h1", timeout=60_000)
        assert "Start here" in page.locator(".jp-Notebook .jp-Cell h1").first.inner_text()
        page.wait_for_timeout(1500)  # a question about news comes last
        assert page.locator(QUESTIONS).count() == 0
        assert set(page.evaluate(FOLDED)) == {"none"}
        page.wait_for_function("document.fonts.status === 'loaded'")
        assert 40 < page.evaluate(LONGEST) <= 80
        assert page.evaluate(FILTER) == "none"
        assert page.evaluate(GAP) > 8
        assert page.evaluate(LETTERS) == 2
        assert [page.evaluate(WIDE, width) for width in (500, 900, 1240)] == [
            [500, False],
            [900, True],
            [1120, True],
        ]
        page.evaluate(
            "window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' })"
        )
        page.wait_for_function("document.body.dataset.jpThemeLight === 'false'")
        assert "invert" in page.evaluate(FILTER)
        page.locator(".jp-BreadCrumbs-home").click()
        page.wait_for_selector(
            f'.jp-DirListing-itemText:has-text("{"README.md" if folder == ROOT else "capsules"}")'
        )
    finally:
        page.close()
