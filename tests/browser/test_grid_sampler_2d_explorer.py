"""The grid-sampler explorer in a real JupyterLab: every control moved, fast and slow, and the pixels checked."""

import numpy as np
import pytest
from aclnn_viz import explorers
from aclnn_viz.explorers.grid_sampler_2d import State, compute
from aclnn_viz.explorers.state import controls
from aclnn_viz.figures.palette import coloured, scale
from laboratory import Notebook

pytestmark = pytest.mark.needs("chromium")

CELL = "from aclnn_viz.explorers import explore\nexplorer = explore('grid_sampler_2d')\nexplorer"
ROOT = ".aclnn-explorer"
# Sets a control as a hand would: the value first, then the event that its movement gives.
SET = """([field, value]) => {
    const input = document.querySelector(`.aclnn-explorer [data-field=${field}]`);
    if (input.type === "checkbox") input.checked = value;
    else if (input.tagName === "SELECT") input.selectedIndex = value;
    else input.value = String(value);
    input.dispatchEvent(new Event("input", { bubbles: true }));
}"""
# The colours in the middles of the cells of a heat map that fills its panel, rows x columns x 3.
CELLS = """([selector, rows, columns]) => {
    const canvas = document.querySelector(selector + " canvas"), context = canvas.getContext("2d");
    const size = Math.min((canvas.width - 2) / columns, (canvas.height - 2) / rows);
    const left = (canvas.width - size * columns) / 2, top = (canvas.height - size * rows) / 2;
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height), found = [];
    for (let r = 0; r < rows; r += 1) for (let c = 0; c < columns; c += 1) {
        const at = 4 * (Math.floor(top + (r + 0.5) * size) * canvas.width + Math.floor(left + (c + 0.5) * size));
        found.push([data[at], data[at + 1], data[at + 2]]);
    }
    return found;
}"""


class Opened(Notebook):
    """The explorer in a notebook, as a hand sees and moves it."""

    def __init__(self, browser, server):
        super().__init__(browser, server, "explorer.ipynb", CELL)
        self.page.wait_for_selector(f"{ROOT} canvas", timeout=60_000)
        self.settle()

    def set(self, field, value):
        self.page.evaluate(SET, [field, value])

    def revision(self):
        return int(self.page.get_attribute(ROOT, "data-revision"))

    def settle(self):
        """Wait until nothing has been redrawn for half a second."""
        seen, quiet = self.revision(), 0
        while quiet < 5:
            self.page.wait_for_timeout(100)
            now = self.revision()
            seen, quiet = now, quiet + 1 if now == seen else 0
        assert seen > 0

    def lifted(self, kind):
        """The text behind a lift-out button."""
        area = self.page.locator(f"{ROOT} textarea")
        area.evaluate("area => { area.value = '' }")
        self.page.evaluate("kind => document.querySelector(`.aclnn-explorer [data-lift=${kind}]`).click()", kind)
        self.page.wait_for_function("document.querySelector('.aclnn-explorer textarea').value")
        return area.input_value()

    def state(self) -> State:
        """The state that the cell behind "Copy as cell" opens."""
        again = eval(self.lifted("cell").split("\n\n")[1], {"av": explorers})
        try:
            return again.data.state
        finally:
            again.close()

    def problem(self):
        return self.page.evaluate("[...document.querySelectorAll('.ae-problem')].map((p) => p.textContent).join('')")

    def check_picture(self):
        """Compare drawn pixels, words and controls with the pure function of the state that the kernel holds."""
        state = self.state()
        data = compute(state)
        low, high = min(0.0, data.outs.min()), max(1.0, data.outs.max())
        maps = [(f".ae-out:nth-of-type({k + 3})", out, ("grey", low, high)) for k, out in enumerate(data.outs)]
        for selector, values, colours in [*maps, (".ae-inputGrad", data.inputGrad, scale(data.inputGrad))]:
            drawn = np.array(self.page.evaluate(CELLS, [selector, *values.shape])).reshape(*values.shape, 3)
            far = np.abs(drawn - coloured(values, *colours).astype(int)).max(-1) > 3
            marks = 1 if "out" in selector else 16 + int((data.inputGrad < 0).sum())  # outlines and minus signs
            assert far.sum() <= marks, f"{selector}: {far.sum()} of {far.size} cells are of another colour"
        for control in controls(State):
            assert self.shown(control) == getattr(state, control["field"]), control["field"]
        words = self.page.text_content(f"{ROOT} pre")
        assert f"Chosen point ({state.row}, {state.column})" in words
        return state

    def shown(self, control):
        value = self.page.evaluate("""(field) => {
            const input = document.querySelector(`.aclnn-explorer [data-field=${field}]`);
            return input.type === "checkbox" ? input.checked
                : input.tagName === "SELECT" ? input.selectedIndex : Number(input.value);
        }""", control["field"])
        return control["options"][value][0] if control["kind"] == "choice" else value


@pytest.fixture(scope="module")
def opened(browser, lab):
    notebook = Opened(browser, lab)
    yield notebook
    notebook.close()


@pytest.fixture
def explorer(opened):
    opened.page.evaluate("document.querySelector('.aclnn-explorer [data-lift=reset]').click()")
    opened.settle()
    yield opened
    assert opened.all_faults() == []


def values_of(control):
    """A few values that a control can take, the default last."""
    match control["kind"]:
        case "choice":
            return [*range(len(control["options"])), [o[0] for o in control["options"]].index(control["initial"])]
        case "flag":
            return [not control["initial"], control["initial"]]
    low, high = control["low"], control["high"]
    return [low, high if control["field"] not in ("row", "column") else 15, control["initial"]]


def test_the_default_picture_is_the_right_one(explorer):
    state = explorer.check_picture()
    assert state == State()


@pytest.mark.parametrize("control", [c for c in controls(State) if c["field"] != "device"], ids=lambda c: c["field"])
def test_every_control_redraws_and_comes_back(explorer, control):
    before = explorer.revision()
    for value in values_of(control):
        explorer.set(control["field"], value)
        explorer.page.wait_for_timeout(40)
    explorer.settle()
    assert explorer.revision() > before
    assert explorer.problem() == ""


def test_a_fast_random_sequence_ends_in_the_right_picture(explorer):
    random = np.random.default_rng(6)
    movable = [c for c in controls(State) if c["field"] not in ("device", "cann", "soc")]
    for _ in range(300):
        control = movable[random.integers(len(movable))]
        if control["kind"] in ("whole", "real"):
            high = min(control["high"], 40 if control["field"] in ("height", "width") else 15)
            low = min(max(control["low"], 2), high) if control["kind"] == "whole" else control["low"]
            value = float(random.integers(low, high + 1)) if control["kind"] == "whole" else random.uniform(low, high)
        else:
            value = values_of(control)[random.integers(len(values_of(control)))]
        explorer.set(control["field"], value)
    explorer.set("jitter", 0.25)
    explorer.settle()
    assert explorer.problem() == ""
    assert explorer.check_picture().jitter == 0.25


def test_a_point_is_dragged_and_the_last_position_wins(explorer):
    box = explorer.page.locator(".ae-image canvas").last.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    explorer.page.mouse.move(x, y)
    explorer.page.mouse.down()
    for k in range(60):
        explorer.page.mouse.move(x + k, y - k / 2)
    explorer.page.mouse.up()
    explorer.settle()
    state = explorer.check_picture()
    (row, column, gx, gy), = state.moved
    assert (row, column) == (state.row, state.column)
    size = min((box["width"] - 2) / 52, (box["height"] - 2) / 52)  # 32 pixels and a margin of 10 on both sides
    u, v = (x + 59 - box["x"] - box["width"] / 2) / size, (y - 29.5 - box["y"] - box["height"] / 2) / size
    assert (gx * 16, gy * 16) == pytest.approx((u, v), abs=0.3)  # pointers stand on whole screen pixels, a fifth of a cell


def test_keys_move_and_choose_points(explorer):
    canvas = explorer.page.locator(".ae-image canvas").last
    canvas.focus()
    canvas.press("PageDown")
    canvas.press("Shift+ArrowLeft")
    canvas.press("ArrowDown")
    explorer.settle()
    state = explorer.check_picture()
    was = compute(State()).inputs["grid"][0, 6, 0]
    assert (state.row, state.column) == (6, 0)
    assert state.moved[0][2:] == pytest.approx((was[0] - 1 / 16, was[1] + 0.25 / 16), abs=1e-6)
    canvas.press("Home")
    explorer.settle()
    assert explorer.state().moved == ()


def test_an_impossible_shape_is_said_in_words_and_the_picture_stays(explorer):
    explorer.set("height", 0)
    explorer.settle()
    assert explorer.problem() == "height must be a whole number from 1 to 96: got 0; raise it to 1"
    place = explorer.page.locator(".ae-control", has=explorer.page.locator("[data-field=height]")).locator(".ae-problem")
    assert place.text_content() == explorer.problem()
    assert explorer.state() == State()
    explorer.set("height", 32)
    explorer.settle()
    assert explorer.problem() == ""


def test_what_a_product_lacks_is_said_beside_the_device(explorer):
    explorer.set("cann", 1)
    explorer.set("interpolationMode", 2)
    explorer.settle()
    assert "interpolationMode must be 0 to 1" in explorer.problem()


@pytest.mark.parametrize(("kind", "text"), [("test", "def test_kernel"), ("cpp", "GetWorkspaceSize(")])
def test_texts_are_lifted_out(explorer, kind, text):
    assert text in explorer.lifted(kind)


@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_pictures_are_saved(explorer, kind, start):
    with explorer.page.expect_download() as download:
        explorer.page.locator(f"[data-lift={kind}]").click()
    with open(download.value.path(), "rb") as saved:
        assert saved.read().startswith(start)


def test_every_control_has_a_name_and_takes_the_focus(explorer):
    nameless = explorer.page.evaluate("""() => [...document.querySelectorAll(
        ".aclnn-explorer :is(input, select, button, textarea, canvas)")].filter((node) => {
            const name = node.labels?.[0]?.textContent || node.getAttribute("aria-label") || node.textContent;
            return !name && node.getAttribute("aria-hidden") !== "true";
        }).map((node) => node.outerHTML)""")
    assert nameless == []
    explorer.page.locator("[data-field=rotate]").focus()
    explorer.page.keyboard.press("ArrowRight")
    explorer.settle()
    assert explorer.state().rotate == 16.0
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert explorer.page.evaluate(outline) == "solid"


@pytest.mark.parametrize("theme", ["lab", "dark_lab"])
def test_it_fits_the_width_and_can_be_read_in_both_themes(browser, request, theme):
    notebook = Opened(browser, request.getfixturevalue(theme))
    try:
        inside, outside, contrast = notebook.page.evaluate("""() => {
            const root = document.querySelector(".aclnn-explorer"), style = getComputedStyle(root);
            const light = (colour) => {
                const [r, g, b] = colour.match(/[0-9.]+/g).slice(0, 3).map((c) => c / 255)
                    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
                return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
            };
            const [a, b] = [light(style.color), light(style.backgroundColor)];
            const pane = root.closest(".jp-OutputArea-output");
            return [pane.scrollWidth, pane.clientWidth, Math.max(a / b, b / a)];
        }""")
        assert inside <= outside and contrast > 7
        notebook.check_picture()
        assert notebook.all_faults() == []
    finally:
        notebook.close()
