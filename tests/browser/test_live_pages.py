"""Saved explorers in a browser: alive from the file system, without a request; the address reopens the picture."""

from pathlib import Path
from unittest.mock import patch
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from machine import SOAK

import aclnn_viz as av
from aclnn_viz.explorers import explore, explorers, live
from aclnn_viz.explorers.state import read_state

pytestmark = pytest.mark.needs("chromium")
READY = "() => Number(document.querySelector('.aclnn-explorer')?.dataset.revision) > 0"
# The fields that are alive: sliders, then choices.
FIELDS = """() => ["input[type=range]", "select, fieldset", "input"].flatMap((kind) => [...document.querySelectorAll(`:is(${kind})[data-field]`)])
    .filter((one) => !one.options || [...one.options].filter((option) => !option.disabled && !option.hidden).length > 1)
    .map((one) => one.dataset.field)"""
MOVE = """async ([field, count]) => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    const input = document.querySelector(`[data-field=${field}]`), taken = [];
    const there = [...input.options ?? []].filter((option) => !option.disabled && !option.hidden), first = there.indexOf(input.options?.[input.selectedIndex]);
    for (let k = 0; k < count; k += 1) {
        const start = performance.now();
        if (there.length) input.selectedIndex = [...input.options].indexOf(there[(first + 2 + k + count * (there.length - 1)) % there.length]);  // ends beside the first
        else if (input.type === "checkbox") input.checked = k % 2;
        else input.value = String(Number(input.min) + (k % 20 + 0.5) / 20 * (Number(input.max) - Number(input.min)));
        input.dispatchEvent(new Event("input", { bubbles: true }));
        await frame();
        taken.push(performance.now() - start);
    }
    return taken;
}"""
SAID = """() => [...document.querySelectorAll(".caption, .ae-headline li"), document.querySelector(".ae-twin pre")].map((at) => at.textContent)"""


def fresh(browser, **more):
    return browser.new_context(offline=True, locale="en-GB", **more).new_page()


class Page:
    """A page open in a browser without network."""

    def __init__(self, browser, address):
        self.page = fresh(browser, reduced_motion="reduce")
        self.asked, self.faults = [], []
        self.page.on("request", lambda request: self.asked.append(request.url.partition("#")[0]))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on(
            "console",
            lambda message: self.faults.append(message.text) if message.type == "error" else None,
        )
        self.page.goto(address)
        self.page.wait_for_function(READY)
        # an open text is written with the caption, a closed one some time later
        for fold in (".more", ".ae-twin"):
            self.page.locator(f"{fold} > summary").click()
        self.becomes("said.at(-1).startsWith(said[0])")

    def said(self):
        """Return the caption, each line below it, and the picture in words."""
        return self.page.evaluate(SAID)

    def becomes(self, what, given=None):
        """Wait until a condition on `said` and `given` holds."""
        self.page.wait_for_function(
            f"(given) => {{ const said = ({SAID})(); return {what}; }}", arg=given
        )

    def press(self, name):
        self.page.locator(f".ae-plays [aria-label='{name}']").click()

    def address(self):
        """Return the address once it is that of the state; it follows the hand with a delay."""
        self.page.locator("[data-lift=link]").click()
        link = self.page.locator(".ae-foot textarea").input_value()
        self.becomes("decodeURI(location.href) === decodeURI(given)", link)
        return self.page.url


# rms_norm moves by steps and by recorded pictures
@pytest.mark.parametrize("name", explorers() if SOAK else ["rms_norm"])
def test_a_saved_page_is_alive_without_a_request_and_its_address_opens_the_same(
    name, browser, saved, tmp_path
):
    opening = {"epsilon": -3.0} if name == "rms_norm" else {}  # to which the page is set back
    path, _ = saved(name, **opening)
    one = Page(browser, path.as_uri())
    before = one.said()
    # one field alone may change nothing, such as a scale beside another
    for field in one.page.evaluate(FIELDS):
        times = one.page.evaluate(MOVE, [field, 200 if SOAK else 10])
        one.page.wait_for_timeout(200)
        if one.said() != before:
            break
    if SOAK:  # otherwise parallel tests disturb the times
        assert np.percentile(times, 95) <= 50, f"{name}: {np.percentile(times, [50, 95])} ms"
    one.becomes("said.join() !== given.join()", before)
    after = one.said()
    address = one.address()
    assert f"{field}=" in unquote(address)
    other = Page(browser, address)
    assert other.said() == after
    other.page.locator("[data-lift=language]").click()
    assert (
        other.page.locator(".aclnn-explorer").get_attribute("lang") == "zh"
        and other.said()[0] != after[0]
    )
    one.page.locator("[data-lift=cell]").click()
    cell = one.page.locator(".ae-foot textarea").input_value()
    again = eval(cell.partition("\n\n")[2], {"av": av})
    asked = again.lifted("link")
    again.save(path := tmp_path / "page.html")  # of the state that the page gave to Python
    again.close()
    assert (
        f'av.explore("{name}", state="' in cell
        and Page(browser, path.as_uri()).said() == after
        and read_state(asked) == opening | read_state(urlsplit(address).fragment)
    )
    one.page.locator("[data-lift=reset]").click()
    one.becomes("said.join() === given.join()", before)
    assert {*one.asked, *other.asked} <= {address.partition("#")[0], "data:,"}
    assert one.faults == other.faults == []


@pytest.fixture
def sampler(saved):
    # one combination of choices, because all take seconds
    return saved("grid_sampler_2d", held=3)[0].as_uri()


@pytest.fixture
def norm(saved):
    return saved("rms_norm", held=3)[0].as_uri()


@pytest.fixture
def page(browser, sampler):
    """Yield the sampler's page, which may leave no fault."""
    made = Page(browser, sampler)
    yield made
    assert made.faults == []


def moving(browser, address):
    """Return a page whose reader allows motion."""
    page = fresh(browser)
    page.goto(address)
    page.wait_for_function(READY)
    return page


CAPTION = "document.querySelector('.caption').textContent"
DRAWN = "document.querySelector('.aclnn-explorer').dataset.revision"


def test_the_first_opening_shows_itself_and_ends_at_a_touch(browser, norm):
    page = moving(browser, norm)
    page.wait_for_function(f"{CAPTION}.includes('is taken away')")
    page.click(".stage canvas")
    page.wait_for_function(f"{CAPTION}.includes('gets no gradient')")
    at = page.evaluate(DRAWN)
    page.wait_for_timeout(200)
    assert page.evaluate(DRAWN) == at
    assert page.locator(".ae-plays [aria-label='one step ahead']").is_hidden()


def test_a_press_plays_in_the_first_opening_and_another_stops_it(browser, norm):
    page = moving(browser, norm)
    page.wait_for_function(f"{CAPTION}.includes('is taken away')")
    for sign in "▶■":
        page.click(f"text={sign} take away")
    assert "is taken away" in page.evaluate(CAPTION)


def test_a_prepared_picture_stays_at_the_first_opening(browser, sampler):
    page = moving(browser, sampler)
    page.wait_for_timeout(500)
    assert "6.9 pixels right" in page.evaluate(CAPTION)


def test_what_plays_is_stepped_and_what_it_leaves_stays_until_the_hand_moves(page):
    before = page.said()
    steps = {
        "slide the point": "===",  # without motion it is at its end, where it began
        "one step back": "!==",
        "one step ahead": "===",
    }
    for name, sign in steps.items():
        page.press(name)
        page.becomes(f"said.join() {sign} given.join() && said[0].includes('point')", before)
    moved = {"ArrowUp": "said[0].includes('The mirror folds')", "Home": "said[0] === given[0]"}
    for key, said in moved.items():
        page.press("send the gradients back")
        page.becomes("said[0].includes('256 of 256')")
        page.page.locator(".stage canvas").press(key)
        page.becomes(said, before)


def test_a_phone_shows_the_middle_of_the_world(browser, sampler):
    wide, narrow = [], []
    for width, ends in ((1280, wide), (390, narrow)):
        page = Page(browser, sampler).page
        page.set_viewport_size({"width": width, "height": 844})
        for panel in ("image", "map"):
            axes = (
                f"JSON.parse(document.querySelector('[data-panel={panel}] canvas').dataset.axes).x"
            )
            page.wait_for_function(f"({axes}[1] < 60) === {'false' if width > 560 else 'true'}")
            ends.append(page.evaluate(axes)[:2])
    (low, high), (left, right) = wide[0], narrow[0]
    assert wide[0] == wide[1] and narrow[0] == narrow[1]
    assert left + right == pytest.approx(low + high)
    assert right - left == pytest.approx(0.65 * (high - low))
    page.locator("[aria-label='slide the point']").click()
    page.locator("[aria-label='one step back']").click(click_count=8)  # to the right end
    page.wait_for_function(f"{CAPTION}.includes('17.6 pixels right')")


def test_a_change_of_mode_glides_and_delays_no_move(browser, sampler):
    page = moving(browser, sampler + "#row=6")  # a link opens without a play
    before, gliding, delayed, moved = page.evaluate("""async () => {
        const root = document.querySelector(".aclnn-explorer"), modes = root.querySelectorAll("[data-field=paddingMode] input");
        const state = async () => {
            await new Promise(queueMicrotask);
            return ["gliding" in root.dataset, Number(root.dataset.revision)];
        };
        const before = await state();
        modes[0].click();
        const gliding = await state();
        modes[1].click();
        const delayed = await state();
        root.querySelector(".stage canvas").dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true }));
        return [before, gliding, delayed, await state()];
    }""")
    assert gliding == delayed == [True, before[1]] and moved == [False, before[1] + 1]
    page.locator("[data-field=paddingMode] label").first.click()
    revision = "Number(document.querySelector('.aclnn-explorer').dataset.revision)"
    page.wait_for_function(f"{revision} > {moved[1]} && !document.querySelector('[data-gliding]')")


def test_a_finger_scrolls_beside_the_grips(browser, sampler):
    page = Page(browser, sampler).page
    actions, sizes = (
        page.evaluate("""() => [[...document.querySelectorAll(".stage canvas, .ae-grip")].map((one) => getComputedStyle(one).touchAction),
        [...document.querySelectorAll(".ae-grip")].map((one) => one.offsetWidth)]""")
    )
    assert actions == ["auto"] + ["none"] * 4 and min(sizes) >= 44
    grip = page.locator(".ae-grip[aria-label='rotation of the grid of sampling points']")
    before = float(grip.get_attribute("aria-valuenow"))
    grip.press("ArrowRight")
    assert float(grip.get_attribute("aria-valuenow")) == before + 5


def test_words_that_come_and_go_draw_only_the_panels_whose_size_they_change(page):
    drawn, moved, before, sizes, heights = page.page.evaluate("""async () => {
        const all = [...document.querySelectorAll(".ae-panel")];
        const high = (of) => all.map((one) => one.querySelector(of).clientHeight);
        const sizes = () => all.map((one) => one.querySelector("canvas").height), before = sizes();
        const revision = () => document.querySelector(".aclnn-explorer").dataset.revision;
        const at = all[0].offsetTop, first = revision();
        document.querySelector(".ae-top").style.height = "300px";
        all.at(-1).querySelector("figcaption").style.height = "60px";
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 100)));
        return [revision() - first, all[0].offsetTop - at, before, sizes(), high(".ae-stage")];
    }""")
    assert drawn == 0 and moved > 100 and before != sizes == heights


def test_a_number_out_of_range_is_said_beside_its_field_and_the_rest_goes_on(page):
    before, row = page.said()[0], page.page.locator("[data-field=row]")
    row.fill("99")
    problem = page.page.locator(".ae-group", has=row).locator(".ae-problem:not(:empty)")
    problem.wait_for()
    assert (
        problem.text_content() == "row must be a number from 0 to 15. The picture shows 5."
        and page.said()[0] == before
    )
    page.page.locator("[data-field=rotate]").fill("40")
    page.becomes("said[0] !== given", before)
    assert problem.text_content()
    row.fill("6")
    page.becomes("!document.querySelector('.ae-problem:not(:empty)')")


def test_what_an_address_asks_for_and_the_page_cannot_move_is_said_beside_its_field(
    browser, sampler
):
    page = Page(browser, sampler + "#seed=7&row=6&N=1")
    problems = page.page.locator(".ae-problem:not(:empty)")
    assert [one.partition(":")[0] for one in problems.all_text_contents()] == [
        "seed stays as it was saved"
    ] and page.page.locator("[data-field=row]").input_value() == "6"
    page.page.locator("[data-field=row]").fill("7")
    page.becomes("!document.querySelector('.ae-problem:not(:empty)')")
    assert page.faults == []


def test_what_is_no_state_in_an_address_is_left_out(page):
    before = page.said()
    texts = """moved=null moved=5 moved="x" moved=[[99999,0,1,1]] moved=[[-1,0,1,1]] moved=[[0,0,null,1]]
        moved=[[1]] rotate="x" row=null"""
    for text in texts.split()[:: 1 if SOAK else 2]:
        page.page.evaluate("text => { location.hash = text; }", text)
        page.becomes("location.hash === ''")  # the state's own, which is that of the page
        assert (page.said(), page.faults) == (before, []), text


def test_a_module_is_opened_by_the_loader_of_anywidget(browser, tmp_path):
    """Within another page it leaves address and language unchanged."""
    loader = Path(pytest.importorskip("anywidget").__file__).parent / "nbextension" / "index.js"
    with patch.multiple(live, COMBINATIONS_HELD=1):
        explorer = explore("hardswish", x=1.0)
        explorer.save(tmp_path / "one.mjs")
        explorer.save(tmp_path / "one.mjs")  # over its own
        explorer.close()
    page, faults = fresh(browser, reduced_motion="reduce"), []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    (tmp_path / "host.html").write_text(
        '<!doctype html><body lang="fr"><div id="host"></div></body>'
    )
    page.goto((tmp_path / "host.html").as_uri() + "#chapter")
    page.evaluate(
        """async ([loader, esm]) => {
            globalThis.define = () => {};
            const url = URL.createObjectURL(new Blob([loader, "\\nexport { loadWidget };"], { type: "text/javascript" }));
            const { loadWidget } = await import(url), widget = await loadWidget(esm, "one");
            globalThis.away = await widget.render({ model: {}, el: document.getElementById("host") });
        }""",
        [loader.read_text("utf-8"), (tmp_path / "one.mjs").read_text("utf-8")],
    )
    page.wait_for_selector("#host canvas[data-axes]")
    before = page.locator("#host .caption").text_content()
    page.locator("#host [data-field=x]").fill("-2")
    page.wait_for_timeout(300)
    assert "falls" in page.locator("#host .caption").text_content() != before
    assert page.url.endswith("#chapter") and page.evaluate("document.documentElement.lang") == ""
    page.evaluate("away()")
    assert page.locator("#host canvas").count() == 0 and faults == []
