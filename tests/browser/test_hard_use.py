"""Explorers in rough hands: themes switched while they are shown, two views, extreme values, an interrupted kernel."""

import pytest
from machine import SOAK, sampled_explorers
from opened import RUN, on

from aclnn_viz.pictures.style import SERIES

pytestmark = pytest.mark.needs("chromium")

THEMES = ["JupyterLab Light", "JupyterLab Dark"]
# How many pixels of all canvases have exactly each of these colours.
COUNT = """(colours) => {
    const counts = colours.map(() => 0);
    for (const canvas of document.querySelectorAll(".aclnn-explorer canvas")) {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const words = new Uint32Array(data.buffer);
        for (const word of words) colours.forEach((colour, k) => { counts[k] += word === colour; });
    }
    return counts;
}"""
# Controls whose widest value does not fit; for numbers, both ends are typed.
CLIPPED = """() => [...document.querySelectorAll(".aclnn-explorer :is([data-field], output)")].flatMap((node) => {
    if (node.tagName === "OUTPUT") return node.scrollWidth > node.clientWidth ? [node.outerHTML] : [];
    if (node.type === "number") {
        const before = node.value;
        const tight = [node.min, node.max].filter((end) => {
            node.value = end;
            return node.scrollWidth > node.clientWidth + 1;  // each is rounded
        });
        node.value = before;
        return tight.map((end) => `${node.dataset.field} ${end}`);
    }
    if (node.tagName !== "SELECT") return [];
    const free = node.cloneNode(true);
    free.style.maxWidth = "none";
    node.after(free);
    const wanted = free.offsetWidth;
    free.remove();
    return wanted > node.offsetWidth ? [`${node.dataset.field} ${wanted} > ${node.offsetWidth}`] : [];
})"""


def word(colour):
    """Return a colour #rrggbb as a little-endian pixel."""
    return int("ff" + colour[5:7] + colour[3:5] + colour[1:3], 16)


@on("grid_sampler_2d")
def test_colours_follow_a_theme_that_is_switched_again_and_again(explorer):
    for theme in THEMES[::-1] * (8 if SOAK else 1):
        explorer.theme(theme)
        light, dark = explorer.page.evaluate(COUNT, [word(SERIES[5][0]), word(SERIES[5][1])])
        assert (light > 100, dark > 100) == (theme == THEMES[0], theme == THEMES[1]), (
            theme,
            light,
            dark,
        )
        assert (
            explorer.page.locator(".aclnn-explorer").evaluate(
                "el => getComputedStyle(el).colorScheme"
            )
            == theme.split()[1].lower()
        )


@on(*sampled_explorers(__name__))
@pytest.mark.sampled(1)
def test_no_value_of_a_control_is_cut_off(explorer):
    for end in ("low", "high"):
        reals = explorer.having("kind", "real")
        explorer.set(*[(c["field"], c[end]) for c in reals])
        assert explorer.page.evaluate(CLIPPED) == []
    if wholes := [c["field"] for c in explorer.having("kind", "whole")]:
        control = explorer.page.locator(f"[data-field={wholes[-1]}]")
        control.evaluate("input => { input.style.width = '25px' }")
        assert wholes[-1] in str(explorer.page.evaluate(CLIPPED))
        control.evaluate("input => { input.style.width = '' }")


# Moves a control of the view of a number, as a hand would.
MOVE = """([view, field, value]) => {
    const input = document.querySelectorAll(".aclnn-explorer")[view].querySelector(`[data-field=${field}]`);
    input.value = String(value);
    input.dispatchEvent(new Event("input", { bubbles: true }));
}"""
# What each view shows: its controls, and a sum over the bytes of its canvases.
VIEWS = """() => [...document.querySelectorAll(".aclnn-explorer")].map((root) => [
    [...root.querySelectorAll("[data-field]")].map((input) => `${input.dataset.field} ${input.value}`).join(),
    [...root.querySelectorAll("canvas")].flatMap((canvas) => [...canvas.toDataURL()].map((c) => c.charCodeAt(0)))
        .reduce((sum, code) => (31 * sum + code) | 0, 0)])"""


@pytest.fixture
def two_views(explorer):
    """Yield an explorer shown twice by its cell, until the test ends."""
    explorer.open_again("display(explorer)\nexplorer")
    explorer.page.wait_for_function(
        "document.querySelectorAll('.aclnn-explorer canvas').length === 10"
    )
    explorer.settle()
    yield explorer
    explorer.open_again()


@on("grid_sampler_2d")
def test_two_views_of_an_explorer_agree_whichever_is_moved(two_views):
    explorer = two_views
    start = explorer.page.evaluate(VIEWS)
    for k in range(count := 100 if SOAK else 20):
        explorer.page.evaluate(
            MOVE, [k % 2, ("rotate", "scale")[k % 2], 1 + (k + 100 - count) / 100]
        )
    explorer.settle()
    first, second = explorer.page.evaluate(VIEWS)
    assert first == second != start[0] and "rotate 2,scale 1.99" in first[0]


@on("rms_norm")
def test_an_interrupted_kernel_goes_on_with_the_next_movement(explorer):
    for k in range(5):
        explorer.set(("epsilon", -k), ("pull", k / 10))
        explorer.page.evaluate(
            "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.interrupt()"
        )
    explorer.settle()
    explorer.set(("epsilon", -7))
    explorer.settle()
    assert explorer.state().epsilon == -7.0 and explorer.problem() == ""


@on("hardswish")
def test_keys_move_controls_and_nothing_else_in_the_notebook(explorer):
    count = (
        "(() => { const book = window.jupyterapp.shell.currentWidget.content; return [book.activeCellIndex, "
        "book.mode, book.widgets.length]; })()"
    )
    before = explorer.page.evaluate(count)
    for control in explorer.controls[:: 1 if SOAK else 3]:
        explorer.page.locator(f".aclnn-explorer [data-field={control['field']}]").focus()
        for key in "ArrowDown ArrowUp ArrowUp Enter Shift+Enter b Escape".split():
            explorer.page.keyboard.press(key)
    explorer.settle()
    assert explorer.page.evaluate(count) == before and explorer.state() != explorer.subject.state()


@on("hardswish")
def test_that_python_computes_is_said_until_its_answer_comes(explorer):
    def said():
        return explorer.page.locator(".ae-lifts [role=status]").text_content()

    explorer.run(
        "import time; show = explorer._show; explorer._show = lambda values: (time.sleep(4), show(values))"
    )
    assert said() != "Python computes …"
    for value in (5, 6, 7):
        explorer.set(("seed", value))
    explorer.page.wait_for_function(
        "document.querySelector('.ae-lifts [role=status]').textContent === 'Python computes …'",
        timeout=60_000,
    )
    explorer.settle()
    explorer.run("del explorer._show")
    assert said() != "Python computes …" and explorer.state().seed == 7


@on("hardswish")
def test_what_a_kernel_complains_of_is_a_fault(explorer):
    def new_faults():
        found = "".join(explorer.all_faults())
        explorer.forget()
        return found

    explorer.page.evaluate(RUN, "1 / 0")
    assert "ZeroDivisionError" in new_faults()
    explorer.run("import sys; print('careful', file=sys.stderr)")
    assert "careful" in new_faults()
    explorer.run("explorer._show = lambda values: 1 / 0")
    explorer.set(("seed", 4))
    explorer.settle()
    explorer.run("del explorer._show")
    assert "ZeroDivisionError" in new_faults() and new_faults() == ""
