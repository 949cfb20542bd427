"""Saved explorers in a browser: alive from the file system, without a request; the address opens the same picture."""

from urllib.parse import unquote

import numpy as np
import pytest

from aclnn_viz.explorers import live, subject_of
from aclnn_viz.explorers.state import build
from machine import SOAK

pytestmark = pytest.mark.needs("chromium")
ALIVE = {"grid_sampler_2d": "rotate", "hardswish": "x", "rms_norm": "epsilon", "layer_norm": "eps", "cross_entropy_loss": "spread",
         "group_norm_swish": "swishScale"}
READY = "() => Number(document.querySelector('.aclnn-explorer')?.dataset.revision) > 0"
MOVE = """async ([field, count]) => {
    const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    const input = document.querySelector(`[data-field=${field}]`);
    for (let k = 0; k < count; k += 1) {
        input.value = String(Number(input.min) + (k % 20 + 0.5) / 20 * (Number(input.max) - Number(input.min)));
        input.dispatchEvent(new Event("input", { bubbles: true }));
        await frame();
    }
    await new Promise((resolve) => setTimeout(resolve, 300));
    return window.times.slice(-count);
}"""


class Page:
    """A page that is open in a browser which reaches nothing."""

    def __init__(self, browser, address):
        self.page = browser.new_context(offline=True, locale="en-GB").new_page()
        self.asked, self.faults = [], []
        self.page.on("request", lambda request: self.asked.append(request.url.partition("#")[0]))
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", lambda message: self.faults.append(message.text) if message.type == "error" else None)
        self.page.goto(address)
        self.page.wait_for_function(READY)

    def said(self):
        return self.page.locator(".ae-headline").inner_text(), self.page.locator(".ae-twin pre").text_content()


@pytest.mark.parametrize("name", ALIVE if SOAK else ["grid_sampler_2d", "rms_norm"])
def test_a_saved_page_is_alive_without_a_request_and_its_address_opens_the_same(name, browser, tmp_path):
    subject = subject_of(name)
    state, path = build(subject.state, {}), tmp_path / "page.html"
    data = subject.compute(state, lambda state, given: (subject.operator(state).backward(**given), ()))
    path.write_text(live.saved(subject, state, data), "utf-8")
    one = Page(browser, path.as_uri())
    before = one.said()
    times = one.page.evaluate(MOVE, [ALIVE[name], 200 if SOAK else 10])
    if SOAK:  # else other tests run beside it
        assert np.percentile(times, 95) <= 50, f"{name}: {np.percentile(times, [50, 95])} ms"
    after = one.said()
    assert after != before and f"{ALIVE[name]}=" in unquote(one.page.url)
    other = Page(browser, one.page.url)
    assert other.said() == after
    other.page.locator("[data-lift=language]").click()
    assert other.page.locator(".aclnn-explorer").get_attribute("lang") == "zh" and other.said()[0] != after[0]
    one.page.locator("[data-lift=cell]").click()
    assert f'av.explore("{name}", state="' in one.page.locator(".ae-foot textarea").input_value()
    one.page.locator("[data-lift=reset]").click()
    one.page.wait_for_function("(text) => document.querySelector('.ae-headline').innerText === text", arg=before[0])
    assert one.page.locator("[data-field=seed]").is_disabled() and not one.page.locator(f"[data-field={ALIVE[name]}]").is_disabled()
    assert {*one.asked, *other.asked} <= {path.as_uri(), "data:,"} and one.faults == other.faults == []


def test_a_point_is_dragged_by_hand(browser, tmp_path):
    subject = subject_of("grid_sampler_2d")
    data, path = subject.compute(subject.state()), tmp_path / "page.html"
    path.write_text(live.saved(subject, subject.state(), data), "utf-8")
    page = Page(browser, path.as_uri())
    canvas = page.page.locator("[data-panel=image] canvas")
    canvas.focus()
    before = page.said()
    canvas.press("ArrowLeft")
    page.page.wait_for_timeout(400)
    assert page.said() != before and "moved=[[5,15," in unquote(page.page.url)
    canvas.press("Home")
    page.page.wait_for_function("(text) => document.querySelector('.ae-headline').innerText === text", arg=before[0])
    assert page.faults == []
