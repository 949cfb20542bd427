"""Every explorer in a real JupyterLab: every control moved, fast and slow, its pixels checked, everything released."""

from dataclasses import replace

import legible
import numpy as np
import panel_picture
import pytest
from laboratory import SIZE
from machine import SOAK, sampled_explorers
from opened import WAITING, on

from aclnn_viz.explorers import explorers
from aclnn_viz.explorers.fields import TABLES

pytestmark = pytest.mark.needs("chromium")
EVERY = on(*sampled_explorers(__name__))
# A sample tests the common front end on one of three explorers, another one in each test.
THREE = EVERY if SOAK else on("grid_sampler_2d", "layer_norm", "tiles")


def SOME(test):
    return THREE(pytest.mark.sampled(1)(test))


# Collecting a browser's garbage and drawing in the kernel are slow: one explorer with images, arrows and a handle.
ONE = EVERY if SOAK else on("grid_sampler_2d")


def check(explorer, state=None):
    """Compare pixels, words and controls with the pure function of the state, by default the kernel's."""
    kept = explorer.state()
    panel_picture.check(explorer, kept if state is None else state)
    if not explorer.problem():
        assert explorer.shown() == {
            c["field"]: getattr(kept, c["field"]) for c in explorer.controls
        }


# While the kernel sleeps, moves a slider to its end and returns the words shown, and the values that the kernel has drawn.
ASLEEP = f"""async ([field, value]) => {{{WAITING}
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel, said = () => root.querySelector(".caption").textContent;
    const before = said(), asleep = kernel.requestExecute({{ code: "import time; time.sleep(1.5)" }}).done;
    const input = root.querySelector(`[data-field=${{field}}]`);
    input.value = String(value);
    input.dispatchEvent(new Event("input", {{ bubbles: true }}));
    await frame();
    const seen = [before, said(), model.get("picture").for[field]];
    await asleep;
    return seen;
}}"""


@on("grid_sampler_2d", "layer_norm", *["rms_norm", "cross_entropy_loss", "hardswish"] * SOAK)
@pytest.mark.sampled(1)
def test_a_slider_of_a_traced_picture_moves_while_the_kernel_sleeps_and_the_kernel_draws_the_same(
    explorer,
):
    moved = (c for c in explorer.having("kind", "real") if c["field"] != "pull")
    control = next(moved)  # `pull` changes no sentence
    explorer.page.wait_for_function(
        "document.querySelector('.aclnn-explorer').hasAttribute('data-traced')"
    )
    before, moved, of = explorer.page.evaluate(ASLEEP, [control["field"], control["high"]])
    assert before != moved and of != control["high"]
    explorer.settle()
    assert explorer.page.locator(".caption").text_content() == moved
    check(explorer)


def ends_of(control, others):
    """Return the extreme values of a control, or all options, except its present value."""
    initial = control["initial"]
    match control["kind"]:
        case "choice":
            values = [value for value, _ in control["options"]]
            owners = control["owners"] or [None for _ in values]
            ends = [k for k, one in enumerate(owners) if not one or one == others[control["of"]]]
            initial = values.index(initial)
        case "flag":
            ends = [False, True]
        case _:
            ends = [control["low"], control["high"]]
    return initial, [end for end in ends if end != initial]


def anywhere(control, random):
    match control["kind"]:
        case "choice":
            return int(random.integers(len(control["options"])))
        case "flag":
            return bool(random.integers(2))
        case "whole":
            return int(random.integers(control["low"], control["high"] + 1))
    return float(random.uniform(control["low"], control["high"]))


@EVERY
@pytest.mark.sampled(2)
def test_the_default_picture_is_the_right_one(explorer):
    assert explorer.state() == explorer.subject.state()
    check(explorer)


@SOME
def test_the_picture_of_another_state_is_rejected(explorer):
    other = explorer.having("field", "dtype", "operator", "paddingMode")[0]
    values = [value for value, _ in other["options"] if value != other["initial"]]
    with pytest.raises(AssertionError):
        check(explorer, replace(explorer.state(), **{other["field"]: values[0]}))


@SOME
def test_every_control_redraws_and_comes_back(explorer):
    defaults = {c["field"]: c["initial"] for c in explorer.controls}
    moves = [
        (c["field"], end, initial)
        for c in explorer.controls
        for initial, ends in [ends_of(c, defaults)]
        for end in ends
    ]
    # A sample of every sixth, from another place in each explorer: they share many controls, and the next test moves most.
    for field, *values in moves if SOAK else moves[explorers().index(explorer.name) % 6 :: 6]:
        before = explorer.revision()
        assert explorer.through(field, values) == "" and explorer.revision() > before, (
            field,
            values,
        )
    explorer.settle()
    check(explorer)


@EVERY
@pytest.mark.sampled(1)
def test_a_fast_random_sequence_ends_in_the_right_picture(explorer):
    random = np.random.default_rng(6)
    reset = explorer.subject.state()
    for count in (300 if SOAK else 60, *[3] * 40):
        for _ in range(count // 3):
            explorer.set(
                *[(c["field"], anywhere(c, random)) for c in random.choice(explorer.controls, 3)]
            )
        explorer.settle()
        if not explorer.problem():
            break
        explorer.reset()  # the last good state depends on timing
    check(explorer)
    assert explorer.problem() == "" and explorer.state() != reset


@SOME
def test_a_value_out_of_range_is_said_in_words_and_the_rest_goes_on(explorer):
    wholes = explorer.having("kind", "whole")
    # a chosen point is kept inside anyway
    control = next((c for c in wholes if c["field"] == "seed"), wholes[0])
    field, high = control["field"], control["high"]
    explorer.set((field, high + 1))
    explorer.settle()
    said = (
        f"{field} must be a whole number from {control['low']} to {high}: got {high + 1}; "
        f"lower it to {high}. The picture shows {control['initial']}."
    )
    group = explorer.page.locator(".ae-group", has=explorer.page.locator(f"[data-field={field}]"))
    assert explorer.problem() == group.locator(".ae-problem:not(:empty)").text_content() == said
    check(explorer, explorer.subject.state())
    explorer.set(("dtype", 1))
    explorer.settle()
    assert explorer.problem() == said
    check(
        explorer,
        replace(
            explorer.subject.state(),
            dtype=explorer.having("field", "dtype")[0]["options"][1][0],
        ),
    )


@SOME
def test_an_index_follows_its_size_and_is_refused_beyond_it(explorer):
    described = {c["field"]: c for c in explorer.controls}
    for index, size in [(c, described[c["below"]]) for c in explorer.controls if c.get("below")]:
        explorer.set((index["field"], size["initial"] - 1))
        explorer.set((size["field"], size["low"]))
        assert explorer.shown()[index["field"]] == size["low"] - 1
        explorer.reset()
        explorer.set((index["field"], size["initial"]))
        explorer.settle()
        assert explorer.problem().startswith(
            f"{index['field']} must be a whole number below {size['initial']}, "
        )
        explorer.reset()


@on("tiles")
def test_options_of_another_value_are_not_offered_and_go_with_it(explorer):
    owners = explorer.having("field", "fault")[0]["owners"]
    assert explorer.page.evaluate(
        "[...document.querySelectorAll('[data-field=fault] option')].map((one) => !one.hidden)"
    ) == [one in (None, "hardswish") for one in owners]
    for moved, chosen in (("fault", owners.index("hardswish")), True), (("program", 1), False):
        explorer.set(moved)
        explorer.settle()
        assert explorer.problem() == "" and (explorer.shown()["fault"] != "none") == chosen


@SOME
def test_code_in_a_cell_moves_the_controls(explorer):
    control = explorer.having("kind", "whole")[0]
    value = control["low"] if control["initial"] != control["low"] else control["high"]
    explorer.run(f"explorer.values = {{**explorer.values, {control['field']!r}: {value}}}")
    explorer.settle()
    assert explorer.shown()[control["field"]] == value
    check(explorer)


@ONE
def test_pictures_are_saved(explorer):
    for kind, start in (("png", b"\x89PNG"), ("svg", b"<?xml")):
        with explorer.page.expect_download() as download:
            explorer.press(kind)
        assert download.value.path().read_bytes().startswith(start)


@SOME
def test_every_control_has_a_name_and_takes_the_focus(explorer):
    nameless = explorer.page.evaluate("""() => [...document.querySelectorAll(
        ".aclnn-explorer :is(input, select, button, textarea, canvas)")].filter((node) => {
            const name = node.labels?.[0]?.textContent || node.getAttribute("aria-label") || node.textContent;
            return !name && node.getAttribute("aria-hidden") !== "true";
        }).map((node) => node.outerHTML)""")
    assert nameless == []
    for control in explorer.controls:
        field = f"[data-field={control['field']}]"
        explorer.page.locator(f"{field}:not(fieldset), fieldset{field} :checked").focus()
        outline = """(({ activeElement: one }) => getComputedStyle(one.type === "radio" ? one.nextSibling : one).outlineStyle
            + one.closest("[data-field]").dataset.field)(document)"""
        explorer.page.keyboard.press("Shift")  # the keyboard makes the focus visible
        assert explorer.page.evaluate(outline) == "solid" + control["field"]


FIT = """() => {
    const root = document.querySelector(".aclnn-explorer"), style = getComputedStyle(root);
    const light = (colour) => {
        const [r, g, b] = colour.match(/[0-9.]+/g).slice(0, 3).map((c) => c / 255)
            .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
    };
    const [a, b] = [light(style.color), light(style.backgroundColor)];
    const pane = root.closest(".jp-OutputArea-output");
    return [pane.scrollWidth, pane.clientWidth, Math.max(a / b, b / a)];
}"""


def fits(explorer):
    inside, outside, contrast = explorer.page.evaluate(FIT)
    return inside <= outside and contrast > 7


@SOME
def test_it_fits_the_width_and_can_be_read_in_both_themes(explorer):
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        explorer.theme(theme)
        assert fits(explorer), theme


@SOME
def test_it_fits_the_width_and_can_be_read_in_both_languages(explorer):
    with legible.listening(explorer.page):
        try:
            explorer.choose_language("zh")
            assert legible.faults(explorer.page) == [] and fits(explorer)
        finally:
            explorer.choose_language("en")
        assert fits(explorer)
        assert legible.faults(explorer.page) == []


@pytest.mark.parametrize(
    "explorer, field, at",
    [("tiles", "time", 1)]
    + [  # calls beside a long status
        ("two_phase", "mistake", k)
        for k, (name, _) in enumerate(TABLES["two_phase"]["mistake"]["options"])
        if name in ("null", "dtype", "no device")
    ],
    indirect=["explorer"],
)
@pytest.mark.sampled(2)
def test_words_are_read_whole_when_the_window_becomes_narrower(explorer, field, at):
    with legible.listening(explorer.page):
        try:
            explorer.set((field, at))
            explorer.settle()
            explorer.page.set_viewport_size(SIZE | {"width": 820})
            explorer.settle()
            assert [
                fault for fault in legible.faults(explorer.page) if ": shortened" not in fault
            ] == []
        finally:
            explorer.page.set_viewport_size(SIZE)


@on("grid_sampler_2d")
def test_a_label_that_is_too_long_or_lies_on_another_is_noticed(explorer):
    with legible.listening(explorer.page):
        try:
            explorer.run(
                "from aclnn_viz.words.messages import _catalogue; said = _catalogue('zh'); "
                "kept = said.copy(); said['mirror'] = '镜面位置' * 50"
            )
            explorer.choose_language("zh")
            assert legible.faults(explorer.page) == ["image: cut off: " + "镜面位置" * 50]
        finally:
            explorer.run("said.update(kept)")
            explorer.choose_language("en")
        explorer.page.evaluate("""() => {
            const context = document.querySelector(".aclnn-explorer [data-panel=image] canvas").getContext("2d");
            for (const text of ["标签", "标签", "名称被截…"]) context.fillText(text, 160, text.length * 25);
        }""")
        assert legible.faults(explorer.page) == [
            "image: shortened: 名称被截…",
            "image: one upon another: 标签: 标签",
        ]
        explorer.reset()


@on("grid_sampler_2d")
def test_another_language_is_followed_at_once_and_is_left_again(explorer):
    root = explorer.page.locator(".aclnn-explorer")
    # Saved messages stay until the language changes.
    root.locator("[role=status]").evaluate_all(
        "found => found.forEach(one => { one.textContent = ''; })"
    )
    english = root.inner_text()
    explorer.run("import aclnn_viz as av; before = av.language(); av.language('zh')")
    try:
        explorer.page.wait_for_function("document.querySelector('.aclnn-explorer').lang === 'zh'")
        explorer.settle()
        chinese = root.inner_text()
        assert all(word in chinese for word in ("重置", "斜率"))
        assert not any(word in chinese for word in ("Reset", "slope"))
        explorer.set(("rotate", 40))
        explorer.settle()
        assert explorer.shown()["rotate"] == 40 and explorer.problem() == ""
    finally:
        explorer.run("av.language(before)")
    explorer.page.wait_for_function("document.querySelector('.aclnn-explorer').lang === 'en'")
    explorer.reset()
    assert root.inner_text() == english
    check(explorer)


def memory(explorer):
    """Return bytes of the page's JavaScript heap, nodes, and listeners, after a collection."""
    session = explorer.page.context.new_cdp_session(explorer.page)
    session.send("Performance.enable")
    for _ in range(2):
        session.send("HeapProfiler.collectGarbage")
    found = {
        metric["name"]: metric["value"]
        for metric in session.send("Performance.getMetrics")["metrics"]
    }
    session.detach()
    return np.array([found["JSHeapUsedSize"], found["Nodes"], found["JSEventListeners"]])


@ONE
def test_a_thousand_changes_leave_memory_flat(explorer):
    """`make test` makes 100 changes; one leaked node per change is as far beyond the limit."""
    control, count = explorer.having("kind", "whole", "real")[0], 1000 if SOAK else 100

    def changes(count):
        for _ in range(count // 10):
            explorer.set(*[(control["field"], control[end]) for end in ("low", "high") * 5])
        explorer.settle()
        return memory(explorer)

    seen = [changes(count // 10 * 3), changes(count)]

    def flat():
        heap, nodes, listeners = seen[-1] - seen[-2]
        return heap < 2e6 and nodes < 0.3 * count and listeners < 0.05 * count

    if not flat():  # JupyterLab may have added something once; a leak grows again
        seen.append(changes(count))
    assert flat(), " -> ".join(map(str, seen))


@ONE
def test_closing_removes_nodes_and_listeners_and_it_opens_again(explorer):
    explorer.open_again()  # Chromium keeps the last focused element alive
    before = memory(explorer)
    explorer.run("explorer.close()")
    explorer.page.wait_for_function("!document.querySelector('.aclnn-explorer canvas')")
    heap, nodes, listeners = before - memory(explorer)
    assert nodes > 5 * len(explorer.controls) and listeners > len(explorer.controls)
    explorer.open_again()
    check(explorer)
