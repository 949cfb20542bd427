"""From moving a control to new pixels, in a headless Chromium at a real JupyterLab, the ways in one run.

    python benchmarks/explorers.py [moves [name ...]]

explorer   each explorer in its default state, its first slider moved (or its first other control, where it has none), with a
           rest after each move: with what the browser computes by itself, where the picture can be traced
hand       the same, moved once in every frame, as by a hand, from the start of the frame to the end of its drawing; and the time
           from the last of these moves to the words of Python
echo       for the grid sampler: a bare anywidget that answers with the same message and paints a canvas of the same
           size: what transport costs
interact   plain ipywidgets `interact` with an inline Matplotlib figure of the same content, its layout fixed

The clock starts before the event of the control and stops at the animation frame after the new picture is in the page.
The ways take turns in blocks, so that other work on the machine meets them alike. `interact` makes a fourth of the moves. A control that the browser
cannot move by itself has no line of a hand.
"""

import statistics
import sys
import tempfile
from contextlib import closing
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "browser"))

from laboratory import Notebook, chromium, laboratory  # noqa: E402

from aclnn_viz.explorers import explore, explorers, subject_of  # noqa: E402
from aclnn_viz.explorers.state import StateError, controls  # noqa: E402

EXPLORER = """
from aclnn_viz.explorers import explore
explore({name!r})
"""
ECHO = '''
import anywidget, traitlets
from aclnn_viz.explorers import explore

explorer = explore("grid_sampler_2d")

class Echo(anywidget.AnyWidget):
    _esm = """
    function render({ model, el }) {
      el.classList.add("bench");
      el.innerHTML = '<input type="range" data-field="rotate" min="-180" max="180"><br><canvas width="848" height="430"></canvas>';
      el.dataset.revision = "0";
      const input = el.querySelector("input"), context = el.querySelector("canvas").getContext("2d");
      const small = new OffscreenCanvas(52, 52);
      input.addEventListener("input", () => {
        model.set("values", { ...model.get("values"), rotate: Number(input.value) });
        model.save_changes();
      });
      model.on("change:picture", () => {
        const { buffer } = model.get("picture");
        const bytes = new Uint8ClampedArray(buffer.buffer, buffer.byteOffset, 4 * 52 * 52);
        small.getContext("2d").putImageData(new ImageData(bytes.slice(), 52, 52), 0, 0);
        context.drawImage(small, 0, 0, 848, 430);
        el.dataset.revision = String(Number(el.dataset.revision) + 1);
      });
    }
    export default { render };
    """
    values = traitlets.Dict().tag(sync=True)
    picture = traitlets.Dict().tag(sync=True)

echo = Echo(values=explorer.values)
echo.observe(lambda change: setattr(echo, "picture", {**explorer.picture, "for": change["new"]}), "values")
echo
'''
INTERACT = """
%matplotlib inline
from ipywidgets import SelectionSlider, interact
from IPython.display import display
from aclnn_viz.explorers import subject_of
from aclnn_viz.explorers.state import build

subject = subject_of("{name}")

def show(value):
    drawn = subject.figure(subject.compute(build(subject.state, {{{field!r}: value}})))
    drawn.set_layout_engine("none")
    display(drawn)

interact(show, value=SelectionSlider(options={values!r}));
"""

WAIT = """
const frame = () => new Promise((done) => requestAnimationFrame(() => {
  const channel = new MessageChannel();
  channel.port1.onmessage = done;
  channel.port2.postMessage(0);
}));
const changed = (node, options) => new Promise((done, fail) => {
  const alarm = setTimeout(() => fail(new Error("no answer in 20 seconds")), 20_000);
  const watcher = new MutationObserver(() => { watcher.disconnect(); clearTimeout(alarm); done(); });
  watcher.observe(node, options);
});
const rest = () => new Promise((done) => setTimeout(done, 60));
"""
MOVE = (
    "async ([moves, from, field, values]) => {"
    + WAIT
    + """
  const root = document.querySelector(".aclnn-explorer, .bench"), input = root.querySelector(`[data-field=${field}]`);
  const taken = [];
  for (let k = from; k < from + moves; k += 1) {
    await rest();
    const start = performance.now(), answered = changed(root, { attributeFilter: ["data-revision"] });
    input[input.tagName === "SELECT" ? "selectedIndex" : "value"] = values[k % values.length];
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await answered;
    await frame();
    taken.push(performance.now() - start);
  }
  return taken;
}"""
)
# Chromium hands over the movements of a pointer at the start of a frame.
MOVE_HAND = (
    "async ([moves, from, field, values]) => {"
    + WAIT
    + """
  const root = document.querySelector(".aclnn-explorer"), input = root.querySelector(`[data-field=${field}]`), taken = [];
  const model = [...window.jupyterapp.shell.currentWidget.content.widgets].flatMap(function found(widget) {
    return widget._view?.model ?? [...widget.children()].flatMap(found);
  })[0];
  await rest();
  for (let k = from; k < from + moves; k += 1) {
    await new Promise(requestAnimationFrame);
    const start = performance.now(), before = root.dataset.revision;
    input[input.tagName === "SELECT" ? "selectedIndex" : "value"] = values[k % values.length];
    input.dispatchEvent(new Event("input", { bubbles: true }));
    if (root.dataset.revision === before) await changed(root, { attributeFilter: ["data-revision"] });
    if (!root.hasAttribute("data-moving")) return null;  // it was not drawn here
    await new Promise((done) => { const channel = new MessageChannel(); channel.port1.onmessage = done; channel.port2.postMessage(0); });
    taken.push(performance.now() - start);
  }
  const last = performance.now(), wanted = JSON.stringify(model.get("values"));
  while (JSON.stringify(model.get("words").for) !== wanted) await new Promise((done) => setTimeout(done));
  return [taken, performance.now() - last];
}"""
)
MOVE_INTERACT = (
    "async ([moves]) => {"
    + WAIT
    + """
  const handle = document.querySelector(".noUi-handle"), taken = [];
  const pictures = () => [...document.querySelectorAll(".jp-OutputArea img")].map((image) => image.src).join();
  for (let k = 0; k < moves; k += 1) {
    await rest();
    if (handle.ariaValueNow === handle.ariaValueMax) window.backwards = true;
    if (handle.ariaValueNow === handle.ariaValueMin) window.backwards = false;
    const before = pictures(), start = performance.now(), key = window.backwards ? "ArrowLeft" : "ArrowRight";
    handle.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    for (let now = before; now === before || now === ""; now = pictures()) await frame();
    await Promise.all([...document.querySelectorAll(".jp-OutputArea img")].map((image) => image.decode()));
    await frame();
    taken.push(performance.now() - start);
  }
  return taken;
}"""
)
BLOCK, WARM = 12, 3
FRAME, WORDS = 16.0, 100.0  # ms: of a move of a traced picture, and until the words of Python
FLAGSHIP = "grid_sampler_2d"


def first_control(name: str) -> tuple[str, list, list]:
    """Return (field, values, what they are in the page) of the control that is moved, in an order of large steps."""
    with closing(explore(name)) as opened:
        described = controls(opened.subject.state)
    sliders = [control for control in described if control["kind"] == "real"]
    control = (
        sliders
        or [
            control
            for control in described
            if control["kind"] == "whole"
            or control["kind"] == "choice"
            and len(control["options"]) > 2
        ]
    )[0]
    field = control["field"]
    if control["kind"] == "choice":
        pairs = [(value, index) for index, (value, _) in enumerate(control["options"])]
    else:
        low, step = control["low"], control["step"]
        steps = round((control["high"] - low) / step)
        values = dict.fromkeys(round(low + step * (part * steps // 24), 9) for part in range(25))
        pairs = [(value, str(value)) for value in values]
    pairs = [
        pair for pair in pairs if pair[0] != control["initial"] and shows(name, field, pair[0])
    ]
    stride = next(s for s in (7, 5, 3, 1) if len(pairs) % s or s == 1)
    pairs = [pairs[stride * k % len(pairs)] for k in range(len(pairs))]
    return field, [value for value, _ in pairs], [shown for _, shown in pairs]


def shows(name: str, field: str, value) -> bool:
    """Whether the explorer has a picture for this value, rather than words why not."""
    try:
        with closing(explore(name, **{field: value})) as opened:
            return not opened.problem
    except StateError:
        return False


def measure(browser, name: str, moves: int) -> dict[str, list[float]]:
    field, values, shown = first_control(name)
    ways = {
        "explorer": (EXPLORER.format(name=name), MOVE, BLOCK, ".aclnn-explorer canvas"),
        "echo": (ECHO, MOVE, BLOCK, ".bench canvas"),
        "interact": (
            INTERACT.format(name=name, field=field, values=values),
            MOVE_INTERACT,
            BLOCK // 4,
            ".jp-OutputArea img",
        ),
    }
    if name != FLAGSHIP:
        del ways["echo"]
    times = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as folder, laboratory(Path(folder)) as server:
        pages = {}
        for way, (cell, move, _, ready) in ways.items():
            page = pages[way] = Notebook(browser, server, f"{way}.ipynb", cell).page
            page.wait_for_selector(ready, timeout=60_000)
            page.wait_for_timeout(1500)
            page.evaluate(move, [WARM, 0, field, shown])
        for at in range(0, moves, BLOCK):
            for way, (_, move, block, _) in ways.items():
                pages[way].bring_to_front()
                times[way] += pages[way].evaluate(move, [block, at + WARM, field, shown])
        if subject_of(name).live:
            pages["explorer"].bring_to_front()
            times["hand"], times["words"] = by_hand(
                pages["explorer"], -(-moves // BLOCK) * BLOCK + WARM, max(moves, 200), field, shown
            )
        for page in pages.values():
            page.close()
    return {way: taken for way, taken in times.items() if taken}


def by_hand(page, at: int, moves: int, field: str, shown: list) -> tuple[list[float], list[float]]:
    """Return the times of moves, never to the value that is shown already, and until the words; nothing where the kernel draws them."""
    taken, words = [], []
    for k in range(at, at + moves, 20):
        if not (done := page.evaluate(MOVE_HAND, [20, k, field, shown])):
            # after one move of 20: the next block may begin with the value of that one, which nobody answers
            break
        taken += done[0]
        words.append(done[1])
    return taken, words


def p95(values) -> float:
    return statistics.quantiles(values, n=20)[-1]


def judged(name: str, times: dict[str, list[float]]) -> list[tuple[str, float, float]]:
    """Return (what, its value, its limit); every limit is an upper one."""
    median = {way: statistics.median(values) for way, values in times.items()}
    faster = 10 if name == FLAGSHIP else 6
    found = [
        (f"{faster} x explorer / interact", faster * median["explorer"] / median["interact"], 1.0),
        ("explorer p95 / median", p95(times["explorer"]) / median["explorer"], 2.0),
    ]
    if "hand" in times:
        found += [
            ("p95 of a hand's moves, ms", p95(times["hand"]), FRAME),
            ("p95 until the words, ms", p95(times["words"]), WORDS),
        ]
    return found + (
        [("explorer / echo", median["explorer"] / median["echo"], 1.3)] if "echo" in times else []
    )


def main(moves: int, names: list[str]) -> int:
    failed = False
    print(f"{'':<20} {'':<9} {'moves':>5} {'median ms':>10} {'p95 ms':>8} {'times explorer':>15}")
    with chromium() as browser:
        for name in names:
            times = measure(browser, name, moves)
            for way, values in times.items():
                ratio = statistics.median(values) / statistics.median(times["explorer"])
                print(
                    f"{name if way == 'explorer' else '':<20} {way:<9} {len(values):5d} {statistics.median(values):10.1f} "
                    f"{p95(values):8.1f} {ratio:15.2f}"
                )
            for what, value, limit in judged(name, times):
                print(
                    f"{'':<20} {what}: {value:.2f}, at most {limit}: {'holds' if value <= limit else 'DOES NOT HOLD'}",
                    flush=True,
                )
                failed |= value > limit
    return failed


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 96, sys.argv[2:] or list(explorers())))
