"""Stages under a pointer and by keys, as saved pages: every hovered mark shows its datum, and everything is in place."""

import re
from dataclasses import replace

import legible
import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from machine import SOAK

from aclnn_viz.explorers import subject_of
from aclnn_viz.pictures.marks import Bars, Box, Dots, Handles, Heat, Image, Line, Spots
from aclnn_viz.pictures.panels import fitted, has_cells, limits
from aclnn_viz.pictures.text import unmarked

pytestmark = pytest.mark.needs("chromium")
#: One explorer of each stage.
STAGES = "grid_sampler_2d layer_norm hardswish avg_pool softmax cross_entropy_loss flash_attention_score grid_sampler_3d numeric_error tiles two_phase zoom".split()
WIDTHS = {1280: 130, 820: 200, 390: 200}  # width of a window, and most pixels above the picture


@pytest.fixture
def opened(browser, saved):
    """Return (page, data) of a saved explorer."""
    pages = []

    def show(name, width=1280, **values):
        path, data = saved(name, **values)
        phone = width == 390
        page = browser.new_page(
            viewport={"width": width, "height": 844},
            reduced_motion="reduce",
            locale="en-GB",
            has_touch=phone,
            is_mobile=phone,
        )
        pages.append(page)
        page.add_init_script(f"({legible.LISTEN})()")
        page.goto(path.as_uri())
        page.wait_for_selector("canvas[data-axes]")
        return page, data

    yield show
    for page in pages:
        page.close()


@pytest.mark.parametrize("name", STAGES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.sampled(9)
def test_the_picture_comes_first_with_few_controls(name, width, opened):
    page, _ = opened(name, width)
    root = page.locator(".aclnn-explorer").bounding_box()
    assert page.locator(".stage").bounding_box()["y"] - root["y"] <= WIDTHS[width]
    seen = ".ae-top .ae-control, .ae-plays:has(button:not([hidden]))"
    assert page.locator(seen).count() <= 4 and page.locator(".caption").text_content()
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator(".aclnn-explorer :disabled:visible").count() == 0
    beside = [each.bounding_box() for each in page.locator(".ae-beside").all()]
    if 560 < width <= 900 and beside:  # they fill the width together
        right = pytest.approx(root["x"] + root["width"], abs=12)
        assert max(box["x"] + box["width"] for box in beside) == right
    if width == 1280:
        return
    page.evaluate(UNFOLDED)  # all panels and words are judged
    found = Axe().run(page, options={"resultTypes": ["violations"]}).response
    assert [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found["violations"]] == []
    if width == 390:  # a swipe that starts beside the handles scrolls the page, and chooses nothing
        before = page.evaluate(STATE)
        box = page.locator(".stage canvas").bounding_box()
        page.set_viewport_size({"width": 390, "height": 500})
        finger(page, box["x"] + 0.06 * box["width"], min(box["y"] + box["height"] / 2, 450))
        page.wait_for_function("scrollY > 100")
        assert page.evaluate(STATE) == before


UNFOLDED = "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"
STATE = "document.querySelector('.aclnn-explorer').dataset.revision"


@pytest.mark.parametrize("name", STAGES)
@pytest.mark.sampled(3)
def test_all_that_a_hand_moves_goes_by_keys(name, opened):
    page, _ = opened(name)
    page.evaluate(UNFOLDED)
    hands = page.locator(".ae-grip[role=slider]:visible, canvas[role=application]").all()
    for one in hands or page.locator(".ae-top input:visible, .ae-top select:visible").all():
        assert one.get_attribute("aria-label") or one.evaluate("one => one.labels.length")
        before, tried = page.evaluate(STATE), 0
        one.focus()
        for key in ("ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"):
            page.keyboard.press(key)
            tried += page.evaluate(STATE) != before
        assert tried, one.evaluate("one => one.outerHTML")


def test_an_arrow_moves_a_frame_by_one_output_and_not_beyond_the_last(opened):
    page, _ = opened("max_pool_with_indices")
    assert drawn(page, "planes", "")[1][3] == [4.5, 2.5, 6.5, 2.5]  # below the link, to its window
    page.locator(".ae-grip[role=slider]").focus()
    for key, row in ("ArrowDown", "2"), ("ArrowDown", "2"), ("ArrowUp", "1"):
        page.keyboard.press(key)
        assert held(page)[0] == row
    page.locator("[data-field=row]").fill("9")
    assert held(page)[0] == "2"


def test_a_phone_shows_one_matrix_above_the_other(opened):
    page, data = opened("max_pool_with_indices", 390)
    link = [[1.5, 1.5, 1.5, 2.5], [2.5, 1.5, 2.5, 2.5], [1.5, 3.5, 1.5, 4.5], [3.5, 3.5, 3.5, 4.5]]
    assert drawn(page, "planes", "")[1] == link and drawn(page, "adds", "-0.647")[0]
    page.locator(".ae-grip[role=slider]").press("ArrowUp")
    assert "planes:" not in str(legible.faults(page))
    got = data.answer.arrived
    said = page.evaluate(HINTS, ["planes", [[c, 4 + r] for r, c in np.ndindex(got.shape)]])
    assert said == [f"gradInput[{r}, {c}] = {got[r, c]:.4g}" for r, c in np.ndindex(got.shape)]
    page.locator("[data-field=sent]").fill("0.42")
    assert held(page) == ["1", "0", "0.42"]


def held(page, fields=("row", "column", "sent")):
    return [page.locator(f"[data-field={name}]").input_value() for name in fields]


def test_the_fields_follow_the_frame_that_plays_and_a_hand_takes_it_from_there(opened):
    page, _ = opened("max_pool_with_indices")
    page.locator(".ae-plays button").first.click()  # less motion is asked for: its end is shown
    back = page.locator(".ae-plays button[title='one step back']")
    for step in 9, 8, 7, 6, 5, 4:
        row, column = divmod(step - 1, 3)
        assert held(page) == [str(row), str(column), str(round(step / 9, 2) if step < 9 else 1)]
        assert page.locator(".caption").text_content().startswith(f"{step} of 9") == (step < 9)
        back.click()
    page.locator(".ae-grip[role=slider]").press("ArrowLeft")
    assert held(page) == ["0", "1", "1"]


def finger(page, x, y):
    """Move a finger up from a place."""
    session = page.context.new_cdp_session(page)
    for k in range(18):
        event = {
            "type": "touchEnd" if k > 16 else "touchMove" if k else "touchStart",
            "touchPoints": [{"x": x, "y": y - 10 * max(k - 1, 0)}][: k < 17],
        }
        session.send("Input.dispatchTouchEvent", event)


def test_a_finger_drags_a_dot_that_is_not_chosen(opened):
    page, data = opened("rms_norm", 390)
    found = data.answer
    k = int(found.xhat.argmax())
    assert k != data.state.element
    finger(page, *page.evaluate(PLACE, ["norm", found.xhat[k], found.arriving[k]]))
    assert page.evaluate("scrollY") == 0
    page.evaluate(UNFOLDED)
    page.locator("[data-lift=link]").click()
    state = page.locator(".ae-foot textarea").input_value()
    assert f"element={k}&" in state and "moved=" in state


# Moves the pointer to places of a panel, in units of its axes, and returns the hints.
HINTS = """([name, places]) => {
    const figure = document.querySelector(`[data-panel="${name}"]`), canvas = figure.querySelector("canvas");
    const { box, x: [x0, x1, xs], y: [y0, y1, ys] } = JSON.parse(canvas.dataset.axes), edge = canvas.getBoundingClientRect();
    const share = (value, low, high, scale) => (scale === "log" ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low));
    return places.map(([x, y]) => {
        canvas.dispatchEvent(new PointerEvent("pointermove", {
            clientX: edge.left + box.left + share(x, x0, x1, xs) * (box.right - box.left),
            clientY: edge.top + box.bottom + share(y, y0, y1, ys) * (box.top - box.bottom), bubbles: true }));
        const hint = figure.querySelector(".ae-hint");
        return hint.hidden ? "" : hint.textContent;
    });
}"""


@pytest.mark.parametrize("width", WIDTHS)
def test_what_exists_stands_beside_the_calls_or_right_below_them(width, opened):
    page, _ = opened("two_phase", width)
    calls, memory = (
        page.locator(f"[data-panel={name}]").bounding_box() for name in ("calls", "memory")
    )
    if width == 390:
        assert 0 <= memory["y"] - calls["y"] - calls["height"] < 12
    else:
        assert memory["y"] == calls["y"] and memory["x"] >= calls["x"] + calls["width"]


def test_a_mistake_is_spoken_of_when_it_is_chosen_after_a_click_on_a_call(opened):
    page, _ = opened("two_phase")
    caption = page.locator(".caption")
    page.mouse.click(*page.evaluate(PLACE, ["calls", 0.1, 8.0]))
    assert caption.text_content().startswith("Phase 2 only queues")
    page.locator("[data-field=mistake]").select_option(label="workspace half as large")
    assert caption.text_content().startswith("aclnnHardswishBackward returns 0, though")


def middle(spots, k):
    return [float(a[k] + b[k]) / 2 for a, b in ((spots.x0, spots.x1), (spots.y0, spots.y1))]


@pytest.mark.parametrize("width", [1280, 390])
def test_a_click_or_a_tap_on_the_chain_breaks_it_and_mends_it(width, opened):
    page, data = opened("tiles", width)
    timeline = next(one for one in subject_of("tiles").panels(data) if one.name == "timeline")
    chain = [spots for spots in _of(timeline, Spots) if spots.sets][-1]
    for waits in (False, True):
        x, y = page.evaluate(PLACE, ["timeline", *middle(chain, 0)])
        (page.touchscreen.tap if width == 390 else page.mouse.click)(x, y)
        assert page.locator("[data-field=wait]").is_checked() == waits
    program = page.locator("[data-field=program]")
    program.select_option(index=1)
    page.locator("[data-field=wait]").uncheck()
    assert program.input_value() == "1"


@pytest.mark.parametrize(
    "program",
    ["rms_norm", "cross_entropy_loss", "group_norm_swish", "softmax"][0 if SOAK else 3 :],
)
def test_clicks_lead_from_the_formula_to_the_tensor_to_the_instructions_and_back(program, opened):
    page, data = opened("zoom", program=program)
    page.set_viewport_size({"width": 1280, "height": 4000})
    page.evaluate(UNFOLDED)
    subject, levels = subject_of("zoom"), []
    (panel,) = subject.panels(data)
    for _ in range(3):
        (spots,) = _of(panel, Spots)
        lead = [k for k, sets in enumerate(spots.sets) if sets]
        k = lead[2 * len(lead) // 3]
        page.wait_for_function("!document.querySelector('[data-gliding]')")
        page.mouse.click(*page.evaluate(PLACE, ["zoom", *middle(spots, k)]))
        data = subject.compute(replace(data.state, **dict(spots.sets[k])))
        (panel,) = subject.panels(data)
        levels.append(data.state.level)
        said = page.locator(".caption, .ae-headline li, figcaption").all_text_contents()
        assert {*said} >= {unmarked(subject.said(data)), *subject.told(data), panel.title}
    assert levels == ["tensor", "pipes", "formula"]


# Returns where a place of a panel is in the window.
PLACE = """([name, x, y]) => {
    const canvas = document.querySelector(`[data-panel="${name}"] canvas`), edge = canvas.getBoundingClientRect();
    const { box, x: [x0, x1], y: [y0, y1] } = JSON.parse(canvas.dataset.axes);
    return [edge.left + box.left + (x - x0) / (x1 - x0) * (box.right - box.left), edge.top + box.bottom + (y - y0) / (y1 - y0) * (box.top - box.bottom)];
}"""


def test_a_hint_shows_over_a_handle_as_beside_it(opened):
    page, _ = opened("hardswish")
    hint = page.locator("[data-panel=forward] .ae-hint")
    page.locator("[data-panel=forward] .ae-grip").hover()
    assert "self 3" in hint.text_content() and hint.is_visible()
    page.mouse.move(5, 5)
    assert hint.is_hidden()


def test_a_drag_keeps_its_axes_and_the_hint_of_what_is_held(opened):
    page, data = opened("layer_norm")
    hint = page.locator("[data-panel=norm] .ae-hint")
    page.locator("[data-panel=norm] .ae-grip").hover()
    x, y = place = page.evaluate(PLACE, one := ["norm", 1, 1])
    page.mouse.down()
    for step in range(1, 25):  # over the places of other elements, and beyond the axes
        page.mouse.move(x - 14 * step, y - 14 * step)
        assert hint.text_content().startswith(f"element {data.state.element}\n")
        assert page.evaluate(PLACE, one) == place
    page.mouse.up()
    assert page.evaluate(PLACE, one) != place


# Returns the words on a panel, each with its x, and the ends of what is dashed, in units of its axes.
DRAWN = """(name) => {
    const canvas = document.querySelector(`[data-panel="${name}"] canvas`);
    const { box, x: [x0, x1], y: [y0, y1] } = JSON.parse(canvas.dataset.axes);
    const across = (x) => x0 + (x - box.left) / (box.right - box.left) * (x1 - x0), up = (y) => y0 + (y - box.bottom) / (box.top - box.bottom) * (y1 - y0);
    const sorted = (one, two) => [Math.min(one, two), Math.max(one, two)];
    return [canvas.words.map(([text, left, , right]) => [text, across((left + right) / 2)]), canvas.dashed.map(([left, top, right, bottom]) => {
        const [[a, c], [b, d]] = [sorted(across(left), across(right)), sorted(up(top), up(bottom))];
        return [a, b, c, d].map((end) => Number(end.toFixed(3)));
    })];
}"""


def drawn(page, panel, word):
    """Return where a word stands on a panel, as whole numbers, and the ends of what is dashed."""
    words, dashed = page.evaluate(DRAWN, panel)
    return [round(x) for text, x in words if text == word], dashed


def drag(grip, *place):
    """Drag a handle to a place in the window."""
    page = grip.page
    grip.hover()
    page.mouse.down()
    page.mouse.move(*place)
    page.mouse.up()


def test_bars_of_before_are_outlined_after_a_control_and_not_after_a_drag(opened):
    page, data = opened("rms_norm")
    page.evaluate(UNFOLDED)
    page.wait_for_timeout(700)  # a movement is over
    page.locator("[data-field=wrong]").check()
    said, dashed = drawn(page, "taken", "dashed: before")
    before = [[k - 0.4, min(y, 0), k + 0.4, max(y, 0)] for k, y in enumerate(data.answer.taken)]
    np.testing.assert_allclose(dashed, before, atol=1e-3)
    assert len(said) == 1
    page.wait_for_timeout(700)
    for place, arrow in (0, "▲"), (900, "▼"):
        drag(page.locator(".ae-grip").first, 469, place)
        assert drawn(page, "taken", "dashed: before") == ([], [])
        assert drawn(page, "arrives", arrow)[0] == [data.state.element]


# Returns the ends of the gradient's axis, and what stands above the matrix, the ends of its colours: before a play, at its end,
# at each step back, and after a reset.
PLAYED = """async () => {
    const [bars, map] = ["gradient", "map"].map((name) => document.querySelector(`[data-panel=${name}] canvas`));
    const [axis, { box: { top } }] = [() => JSON.parse(bars.dataset.axes).y, JSON.parse(map.dataset.axes)];
    const ends = () => [...axis().slice(0, 2), ...map.words.filter(([, , up]) => up < top - 9).map(([text]) => text)].join();
    const found = [ends()], press = async (what) => {
        document.querySelector(what).click();
        await new Promise(requestAnimationFrame);
        found.push(ends());
    };
    await press("[aria-label='ignore rows']");
    for (let k = 0; k < 11; k += 1) await press("[aria-label='one step back']");
    await press("[data-lift=reset]");
    return found;
}"""


def test_the_axis_of_a_loss_stays_while_its_map_shows_shares_of_the_largest_pull(opened):
    page, _ = opened("cross_entropy_loss")
    page.wait_for_timeout(700)
    assert " ".join(page.evaluate(PLAYED)).replace("-0.16,0.16,-", "") == (
        "0.0898,0.0898 0.1381,0.1381 0.1248,0.1248 0.1248,0.1248 0.111,0.111 0.111,0.111 0.0999,0.0999 0.0999,0.0999 0.09712,0.09712 0.09712,0.09712 0.09712,0.09712 0.09712,0.09712 0.0898,0.0898 0.0898,0.0898"
    )
    page.locator("[data-field=ignored]").fill("0.9")
    page.wait_for_timeout(700)
    assert drawn(page, "gradient", "dashed: before")[1]
    page.locator("[data-panel=map] canvas").click()  # another row, which had no bars before
    assert drawn(page, "gradient", "dashed: before") == ([], [])


# Returns how many heights of a panel, with the area of a bug below the top of its frame, are seen, and whether it has several axes: before a play, at its end, and at each step back.
SLID = """async (name) => {
    const stage = document.querySelector(".stage canvas"), canvas = document.querySelector(`[data-panel=${name}] canvas`), tall = [], axes = new Set();
    const look = () => {
        const { box, x } = JSON.parse(canvas.dataset.axes), bug = stage.words.find(([text]) => text[0] === "✗");
        tall.push(Math.round(box.bottom - box.top + (bug ? bug[2] - JSON.parse(stage.dataset.axes).box.top : 0)));
        axes.add(x.join());
    };
    look();
    for (let k = 0; k < 12; k += 1) {
        document.querySelector(k ? "[aria-label='one step back']" : ".ae-plays button").click();
        await new Promise((done) => setTimeout(done, 60));
        look();
    }
    return [new Set(tall).size, axes.size > 1];
}"""


def test_an_axis_that_slides_or_differs_by_orders_stays_its_own(opened):
    for name, panel in ("grid_sampler_2d", "taps"), ("numeric_error", "glass"):
        assert opened(name)[0].evaluate(SLID, panel) == [1, True]


# Returns the caption after a drag and the play that raises every target, and what is dashed once nothing is divided: the old bars
# are too low to be seen.
RAISED = """async () => {
    const rest = () => new Promise((done) => setTimeout(done, 900)), all = (what) => [...document.querySelectorAll(what)];
    await rest();
    all("[data-field=reduction] input")[1].click();
    await rest();
    const dashed = document.querySelector("[data-panel=gradient] canvas").dashed.length;
    location.hash = "moved=[[1,5,5,0.7]]";
    await rest();
    const said = () => document.querySelector(".caption").textContent.split(".")[0], before = said();
    all(".ae-plays button")[0].click();
    await rest();
    return [before, said(), dashed].join();
}"""


def test_every_target_is_raised_the_dragged_one_too(opened):
    assert opened("cross_entropy_loss")[0].evaluate(RAISED) == (
        "The target pulls class 5 up,Every bar is where its target wants it,0"
    )


def test_a_class_takes_its_share_from_others_that_a_hand_has_moved_before(opened):
    page, _ = opened("cross_entropy_loss")
    page.evaluate("location.hash = 'column=3&moved=[[1,5,0,0.7]]'")
    page.wait_for_timeout(700)
    page.locator("[data-panel=row] canvas").press("ArrowUp")
    page.wait_for_timeout(700)
    (*_, lost), (*_, gained) = page.evaluate(
        "JSON.parse(new URLSearchParams(location.hash.slice(1)).get('moved'))"
    )
    assert lost == pytest.approx(0.7 * (1 - gained) / (1.02 - gained))


def test_a_gradient_that_is_nan_says_so_and_the_first_state_does_not(opened):
    page, data = opened("cross_entropy_loss")
    page.evaluate(UNFOLDED)
    page.wait_for_function("[...document.querySelectorAll('canvas')].every(({ words }) => words)")
    words = page.evaluate(
        "[...document.querySelectorAll('canvas')].flatMap(({ words }) => words.map(([text]) => text))"
    )
    assert "class" in words and not re.search("NaN|an ignored", str(words))
    page.evaluate("location.hash = 'ignored=1'")
    page.wait_for_function(
        "document.querySelector('[data-panel=map] canvas').words?.join().includes('NaN')"
    )
    rows, classes = data.answer.softmax.shape
    assert drawn(page, "gradient", "NaN") == ([*range(classes)], [])
    assert drawn(page, "map", "NaN")[0] == [*range(classes)] * rows


def test_weights_outside_are_dashed(opened):
    page, _ = opened("grid_sampler_2d")
    # the page writes its own address before it hears of the new one
    page.evaluate(
        "location.hash = 'paddingMode=0&moved=[[5,15,0.98,0.2]]'; history.replaceState(0, '', '#')"
    )
    page.wait_for_function("document.querySelector('[data-panel=taps] canvas').dashed?.length")
    assert drawn(page, "taps", "")[1] == [[31.5, 18.2, 31.68, 18.5], [31.5, 18.5, 31.68, 19.2]]


def test_a_hand_keeps_a_point_of_a_volume_on_its_slice(opened):
    for width in 1280, 390:
        page, _ = opened("grid_sampler_3d", width)
        # numbers of the gradient are seen at once
        assert page.locator("[data-panel=back]").bounding_box()["y"] < 700
        for grip, end in enumerate(["-1", "1"], 1):
            drag(page.locator(".ae-grip").nth(grip), 900 * int(end), 900 * int(end))
            assert held(page, "xy") == [end, end]


def test_a_class_lights_its_like(opened):
    page, _ = opened("cross_entropy_loss")
    for panel, y, other in (("row", 0.9, "map"), ("map", 6, "row")):
        (said,) = page.evaluate(HINTS, [panel, [[3, y]]])
        assert said.startswith("class 3\n") or panel == "map"
        assert page.locator(f"[data-panel={other}] .ae-lit").bounding_box()["width"] > 20


def test_scores_say_what_is_seen(opened):
    page, _ = opened("flash_attention_score")
    hidden, seen = page.evaluate(HINTS, ["map", [[15, 0], [0, 0]]])
    assert hidden == "" and seen.startswith("query 0, key 0: ")
    # beside its edge, a step says its own height
    assert "1.4" in page.evaluate(HINTS, ["scores", [[3.7, -4]]])[0]


def test_outputs_to_choose_have_the_names_of_the_operator(opened):
    page, _ = opened("numeric_error")
    output = page.locator("[data-field=output]")
    names = "one => [...one.options].filter(({ hidden }) => !hidden).map(({ text }) => text)"
    assert output.evaluate(names) == ["dxOut", "dgammaOut"]
    output.select_option(label="dgammaOut")
    page.select_option("[data-field=operator]", label="hardswish")
    assert output.evaluate(names) == ["out"] and output.input_value() == "0"


def some(listed):
    """Return at most four, from the first to the last."""
    return [listed[round(k / 3 * (len(listed) - 1))] for k in range(min(len(listed), 4))]


def inside(panel, *place):
    """Return whether a place lies within both axes, away from their ends."""
    return all(
        1e-3 <= (at - low) / (high - low) <= 0.999
        for at, (low, high) in zip(place[:2], map(sorted, limits(panel)))
    )


def named_by(axis, value):
    """Return what an axis says of a value: the text of its tick, the value where ticks are numbers, or nothing."""
    for place, text in axis:
        if np.isclose(place, value, rtol=1e-6, atol=0):
            return text
    if all(
        re.fullmatch(r"-?[\d.]+(e[-+]?\d+)?", text) and np.isclose(float(text), place)
        for place, text in axis
    ):
        return float(value)
    return ""


def wanted(panel, mark):
    """Yield (x, y, texts or numbers that are said there) of each datum of a mark."""
    across, up = (axis.ticks for axis in (fitted(panel).x, fitted(panel).y))
    counts = bool(panel.x.label and _of(panel, Bars))  # between two whole numbers there is no datum
    if isinstance(mark, Spots):
        for text, x0, y0, x1, y1 in zip(mark.texts, mark.x0, mark.y0, mark.x1, mark.y1):
            yield (x0 + x1) / 2, (y0 + y1) / 2, [text]
    elif isinstance(mark, (Heat, Image)) and getattr(mark, "opacity", 1.0) > 0:
        left, top = getattr(mark, "x", 0.0), getattr(mark, "y", 0.0)
        areas = [box for box in _of(panel, Box) if box.filled > 0.5 and isinstance(mark, Image)]
        for row, column in np.argwhere(np.isfinite(mark.values)):
            x, y = float(left + column), float(top + row)
            yield (
                x,
                y,
                [
                    float(mark.values[row, column]),
                    *(float(one.label) for one in areas if one.label and covers(one, x, y)),
                ],
            )
    elif isinstance(mark, Handles):
        (ox, fx), (oy, fy) = mark.units
        for x, y in zip(mark.x.flat, mark.y.flat):
            own = (
                [x, y]
                if mark.step < 1
                else [named_by(a, np.rint(b)) for a, b in ((across, x), (up, y))]
            )
            yield x, y, [ox + fx * x, oy + fy * y] if mark.choose[0] else own
    elif isinstance(mark, (Line, Dots, Bars)) and not (panel.square or has_cells(panel)):
        for x, y in zip(np.asarray(mark.x, float), np.asarray(mark.y, float)):
            own = np.rint(x) if isinstance(mark, Bars) else x
            # beside a border of two spots, not on it
            yield (
                x * (1 + 1e-5 * bool(_of(panel, Spots))),
                y,
                ["" if counts and own % 1 else named_by(across, own), named_by(up, y)],
            )


def covers(mark, x, y):
    (left, right), (top, bottom) = sorted((mark.x0, mark.x1)), sorted((mark.y0, mark.y1))
    return left <= x <= right and top <= y <= bottom


def is_said(text, values):
    """Return whether a hint holds all texts, and numbers near all others."""
    numbers = np.array(re.findall(r"-?\d[\d.]*(?:e[-+]?\d+)?", text), float)
    return all(
        value in text if isinstance(value, str) else np.isclose(numbers, value, 6e-3, 1e-12).any()
        for value in values
    )


@pytest.mark.parametrize(
    "name, values",
    [(name, {}) for name in STAGES]
    + [("zoom", {"level": level}) for level in ("tensor", "pipes")]
    + [("numeric_error", {"fault": "none"}), ("tiles", {"buffers": 2, "at": 0.32})],
    ids=str,
)
@pytest.mark.sampled(7)
def test_every_panel_of_a_page_says_what_lies_below_the_pointer(name, values, opened):
    """The list of panels is the page's, so a new one is compared as well. What stands below has more of the pointer."""
    page, data = opened(name, **values)
    page.evaluate(UNFOLDED)
    page.wait_for_function(
        "[...document.querySelectorAll('[data-panel] canvas')].every((one) => one.dataset.axes)"
    )
    panels = {panel.name: panel for panel in subject_of(name).panels(data)}
    listed = page.evaluate(
        "[...document.querySelectorAll('[data-panel]')].map((one) => one.dataset.panel)"
    )
    assert listed and {*listed} == {*panels}
    for each in listed:
        panel = panels[each]
        places = [
            place
            for found in ([*wanted(panel, mark)] for mark in panel.marks)
            for place in some([one for one in found if inside(panel, *one)])
        ]
        points = [own for mark in _of(panel, Handles) for *_, own in wanted(panel, mark)]
        said = page.evaluate(HINTS, [each, [[float(x), float(y)] for x, y, _ in places]])
        for (x, y, own), text in zip(places, said):
            above = [
                one
                for spots in _of(panel, Spots)
                for one, *ends in zip(spots.texts, spots.x0, spots.y0, spots.x1, spots.y1)
                if covers(Box(*ends), x, y)
            ]
            if above:
                assert text == above[-1], (each, x, y)
            else:  # a point near a place is what the hand would take
                assert any(is_said(text, one) for one in (own, *points)), (each, x, y, own, text)
        assert any(said), each


def _of(panel, kind):
    return tuple(mark for mark in panel.marks if isinstance(mark, kind))
