"""The built site: links lead somewhere, no page asks a host, search finds, explorers move, and axe-core finds nothing.

`make site` runs it after the build; ACLNN_VIZ_SOAK=1 audits every page instead of a few.
"""

import os
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

SITE = Path(__file__).resolve().parents[2] / "build" / "site"
EVERY = sorted(path.relative_to(SITE).as_posix() for path in SITE.rglob("*.html"))
PAGES = [place for place in EVERY if not place.startswith("live/")]
CHINESE = "zh/notebooks/zh/02_hardswish.html"
# The page index.html leads on at once.
AUDITED = (
    [place for place in EVERY if place != "index.html"]
    if os.environ.get("ACLNN_VIZ_SOAK")
    else [
        "docs/index.html",
        "search.html",
        "live/hardswish.html",
        "live/tiles.html",
        "docs/conventions.html",
        "docs/tiles.html",
        "notebooks/04_grid_sampler_2d.html",
        "notebooks/13_judge_your_kernel.html",
        CHINESE,
    ]
)
# rows of a table look alike
SEEN = None if os.environ.get("ACLNN_VIZ_SOAK") else {"exclude": [["tr:nth-child(n + 12)"]]}
THEMES = pytest.mark.parametrize("theme", ["light", "dark"])  # for pages with colours
FIRST_LINE = "document.querySelector('.caption').textContent"


@pytest.fixture(scope="module")
def browser():
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@pytest.fixture
def theme():
    return "light"


@pytest.fixture
def page(browser, theme):
    """Yield a page without network; a request for anything but a file, or a script's error, fails the test."""
    faults, context = (
        [],
        browser.new_context(
            offline=True, color_scheme=theme, viewport={"width": 1280, "height": 900}
        ),
    )
    page = context.new_page()
    page.on(
        "request",
        lambda asked: (
            None if asked.url.startswith(("file:", "data:", "blob:")) else faults.append(asked.url)
        ),
    )
    page.on("pageerror", lambda error: faults.append(str(error)))
    yield page
    context.close()
    assert faults == []


def opened(page, place: str):
    page.goto((SITE / place).as_uri())
    return page


def explorer(page):
    """Return the frame of the first explorer on a page, once drawn."""
    page.locator("iframe.explorer").first.scroll_into_view_if_needed()
    frame = page.locator("iframe.explorer").first.element_handle().content_frame()
    frame.wait_for_function(
        "Number(document.querySelector('.aclnn-explorer')?.dataset.revision) > 0"
    )
    return frame


class Tags(HTMLParser):
    """The link tags of a page, all its ids, and the text of each formula."""

    def __init__(self, text: str):
        super().__init__()
        self.links, self.ids, self.formulas, self.inside = [], set(), [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        held = dict(attributes)
        self.ids.add(held.get("id"))
        if tag in "a img iframe link script".split():
            self.links.append((tag, held.get("href") or held.get("src") or ""))
        elif tag == "math":
            self.inside = True
            self.formulas.append("")

    def handle_data(self, text):
        if self.inside:
            self.formulas[-1] += text

    def handle_endtag(self, tag):
        self.inside = self.inside and tag != "math"


@cache
def tags(path: Path) -> Tags:
    return Tags(path.read_text("utf-8"))


@cache
def is_file(path: str) -> bool:
    return os.path.isfile(path)


def broken(place: str, read=tags) -> list[str]:
    """Return the links of a page to a missing file or place."""
    found, folder = [], os.path.dirname(SITE / place)
    for tag, target in read(SITE / place).links:
        link = urlsplit(target)
        if link.scheme in ("http", "https", "mailto", "data"):
            found += [] if tag == "a" or link.scheme == "data" else [target]
            continue
        path = (
            os.path.normpath(f"{folder}/{unquote(link.path)}") if link.path else str(SITE / place)
        )
        if not is_file(path):
            found.append(target)
        elif (
            link.fragment
            and os.path.dirname(path) != str(SITE / "live")
            and link.fragment not in tags(Path(path)).ids
        ):
            # for an explorer it is a state
            found.append(target)
    return found


def test_every_link_leads_somewhere():
    assert len(PAGES) > 60 and {place: found for place in PAGES if (found := broken(place))} == {}


@pytest.mark.parametrize("link", ["nowhere.html", "index.html#nowhere"])
def test_a_link_to_nothing_is_noticed(link):
    assert broken(
        "docs/index.html", lambda path: Tags(f'<a href="{link}">x</a><a href="tiles.html">y</a>')
    ) == [link]


@THEMES
@pytest.mark.parametrize("place", AUDITED)
def test_axe_finds_nothing(place, page):
    results = Axe().run(
        opened(page, place), context=SEEN, options={"iframes": False, "resultTypes": ["violations"]}
    )
    assert [
        f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in results.response["violations"]
    ] == []


def test_axe_notices_a_picture_without_words(page):
    page.set_content("<img src='data:,'>")
    assert "image-alt" in {one["id"] for one in Axe().run(page).response["violations"]}


@pytest.mark.parametrize(
    "place, word, found",
    [
        ("search.html", "rstd", "rms_norm"),
        ("zh/search.html", "尾块", "glossary"),
        ("zh/search.html", "对称值填充的gridGrad", "04_grid_sampler_2d"),
    ],
)
def test_search_finds_without_a_server(place, word, found, page):
    opened(page, f"{place}").wait_for_load_state()
    page.goto(f"{(SITE / place).as_uri()}?q={word}")
    page.wait_for_selector("#search-results li a")
    page.wait_for_timeout(500)
    assert any(
        found in link
        for link in page.eval_on_selector_all(
            "#search-results li a", "all => all.map((one) => one.href)"
        )
    )


@pytest.mark.parametrize(
    "word, title", [("rms norm", "RMS norm"), ("errata", "Errata"), ("rstd", "Glossary")]
)
def test_pages_whose_titles_hold_the_words_or_explain_them_are_found_first(word, title, page):
    page.goto(f"{(SITE / 'search.html').as_uri()}?q={word}")
    page.wait_for_selector("#search-results li a")
    page.wait_for_timeout(500)
    assert page.locator("#search-results li a").first.text_content().startswith(title)


@THEMES
def test_an_explorer_moves_in_the_theme_of_the_page(page):
    frame = explorer(opened(page, "docs/index.html"))
    before = frame.evaluate(FIRST_LINE)
    frame.locator("[data-field=paddingMode] label").nth(1).click()
    frame.locator(".more > summary").click()
    frame.locator("[data-field=rotate]").fill("40")
    frame.wait_for_function(f"(before) => {FIRST_LINE} !== before", arg=before)
    for _ in range(3):  # auto, light, dark
        page.locator(".theme-toggle >> visible=true").click()
        shown = page.evaluate(
            "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0] < 128"
        )
        frame.wait_for_function(
            "(dark) => document.body.dataset.jpThemeLight === String(!dark)", arg=shown
        )


@pytest.mark.parametrize("width", [390, 1280])
def test_the_first_page_begins_with_a_picture_and_finds_an_operator(width, page):
    page.set_viewport_size({"width": width, "height": 844})
    frame = explorer(opened(page, "docs/index.html"))
    above = frame.locator(".stage").bounding_box()["y"] + page.evaluate("scrollY")
    assert above < 340  # pixels of a window of 844, among them the sentence above it
    cards = page.locator(".cards a:visible")
    names = cards.all_text_contents()
    sizes = [os.path.getsize(SITE / "live" / f"{name}.png") for name in names]
    assert {"rms_norm", "zoom"} < {*names} and sum(sizes) < 4_000 * len(names)
    page.locator(".gallery .filter").fill("aclnnRmsNorm")
    assert cards.all_text_contents() == ["rms_norm"]
    cards.click()
    page.wait_for_url("**/live/rms_norm.html")


def test_the_chinese_edition_is_chinese_and_each_page_leads_to_the_other(page):
    frame = explorer(opened(page, CHINESE))
    assert frame.evaluate("document.documentElement.lang") == "zh"
    page.locator(".edition a").click()
    page.wait_for_url("**/site/notebooks/02_hardswish.html")
    page.locator(".edition a").click()
    page.wait_for_url(f"**/site/{CHINESE}")


def test_a_chinese_letter_of_a_table_is_as_wide_as_two_others(page):
    table = opened(page, "zh/notebooks/zh/07_numeric_error.html").locator(".text_html pre").first
    chinese, latin = table.evaluate("""async (pre) => {
        await document.fonts.load("1em two-columns", "准");
        return ["准确、", "000"].map((text) => {
            pre.innerHTML = `<span>${text}</span>`;
            return pre.firstChild.getBoundingClientRect().width;
        });
    }""")
    assert abs(chinese / latin - 2) < 0.02


@pytest.mark.parametrize("width", [390, 820, 1280])
@pytest.mark.parametrize(
    "place", ["docs/index.html", "notebooks/03_rms_norm.html", "docs/errata.html"]
)
def test_no_page_is_wider_than_the_window(place, width, page):
    page.set_viewport_size({"width": width, "height": 900})
    assert opened(page, place).evaluate("document.documentElement.scrollWidth") <= width


def test_a_figure_is_scrolled_only_where_its_words_would_get_too_small(page):
    opened(page, "notebooks/07_numeric_error.html").evaluate(
        "for (const part of document.querySelectorAll('details')) part.open = true"
    )
    figures = "[...document.querySelectorAll('.cell_output img')].map((each) => [each.width / each.naturalWidth, each.width / each.parentElement.clientWidth])"
    page.wait_for_function(f"{figures}.every(([drawn]) => drawn > 0.5)")
    assert all(part <= 1 for _, part in page.evaluate(figures))
    page.set_viewport_size({"width": 390, "height": 900})
    assert all(drawn > 0.84 and part > 1 for drawn, part in page.evaluate(figures))


def test_every_formula_is_drawn_by_the_browser():
    texts = [
        formula
        for place in PAGES
        if "notebooks" in place
        for formula in tags(SITE / place).formulas
    ]
    assert len(texts) > 100 and not [text for text in texts if "\\" in text or "$$" in text]
