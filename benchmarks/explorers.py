"""Measure the time from moving a control to new pixels, in a headless Chromium at a real JupyterLab.

    python benchmarks/explorers.py [moves [name ...]]

explorer   each explorer in its default state, its first slider moved (or else its first control), with a rest after each
           move: computed by the browser if the picture can be traced
hand       the same, moved once per frame, as by a hand, from the start of the frame to the end of its drawing; and the time
           from the last move to the words of Python

The clock starts before the event of the control and stops at the animation frame after the new picture is in the page. A
control that the browser cannot compute alone has no line for hand.
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
  const root = document.querySelector(".aclnn-explorer"), input = root.querySelector(`[data-field=${field}]`);
  const taken = [];
  for (let k = from; k < from + moves; k += 1) {
    await rest();
    const start = performance.now(), answered = changed(root, { attributeFilter: ["data-revision"] });
    input["selectedIndex" in input ? "selectedIndex" : "value"] = values[k % values.length];
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await answered;
    await frame();
    taken.push(performance.now() - start);
  }
  return taken;
}"""
)
# Chromium handles pointer movements at the start of a frame.
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
    input["selectedIndex" in input ? "selectedIndex" : "value"] = values[k % values.length];
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
WARM = 3
FRAME, WORDS = 16.0, 100.0  # limits in ms: a move of a traced picture; Python's words


def first_control(name: str) -> tuple[str, list]:
    """Return (field, its values in the page) of the moved control, in an order of large steps."""
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
    return field, [shown for _, shown in pairs]


def shows(name: str, field: str, value) -> bool:
    """Return whether the explorer has a picture for this value, rather than words on the reason."""
    try:
        with closing(explore(name, **{field: value})) as opened:
            return not opened.problem
    except StateError:
        return False


def measure(browser, name: str, moves: int) -> dict[str, list[float]]:
    field, shown = first_control(name)
    with tempfile.TemporaryDirectory() as folder, laboratory(Path(folder)) as server:
        page = Notebook(browser, server, "explorer.ipynb", EXPLORER.format(name=name)).page
        page.wait_for_selector(".aclnn-explorer canvas", timeout=60_000)
        page.wait_for_timeout(1500)
        page.evaluate(MOVE, [WARM, 0, field, shown])
        times = {"explorer": page.evaluate(MOVE, [moves, WARM, field, shown])}
        if subject_of(name).live:
            times["hand"], times["words"] = by_hand(
                page, moves + WARM, max(moves, 200), field, shown
            )
        page.close()
    return {way: taken for way, taken in times.items() if taken}


def by_hand(page, at: int, moves: int, field: str, shown: list) -> tuple[list[float], list[float]]:
    """Return the times of moves, each to a new value, and until the words; nothing if the kernel draws them."""
    taken, words = [], []
    for k in range(at, at + moves, 20):
        if not (done := page.evaluate(MOVE_HAND, [20, k, field, shown])):
            # only one of 20 moves so far: the next block may start with its value, which gets no
            # answer
            break
        taken += done[0]
        words.append(done[1])
    return taken, words


def p95(values) -> float:
    return statistics.quantiles(values, n=20)[-1]


def judged(times: dict[str, list[float]]) -> list[tuple[str, float, float]]:
    """Return (name, value, limit); every limit is an upper one."""
    found = [
        (
            "explorer p95 / median",
            p95(times["explorer"]) / statistics.median(times["explorer"]),
            2.0,
        )
    ]
    if "hand" in times:
        found += [
            ("p95 of a hand's moves, ms", p95(times["hand"]), FRAME),
            ("p95 until the words, ms", p95(times["words"]), WORDS),
        ]
    return found


def main(moves: int, names: list[str]) -> int:
    failed = False
    print(f"{'':<20} {'':<9} {'moves':>5} {'median ms':>10} {'p95 ms':>8}")
    with chromium() as browser:
        for name in names:
            times = measure(browser, name, moves)
            for way, values in times.items():
                print(
                    f"{name if way == 'explorer' else '':<20} {way:<9} {len(values):5d} {statistics.median(values):10.1f} "
                    f"{p95(values):8.1f}"
                )
            for what, value, limit in judged(times):
                print(
                    f"{'':<20} {what}: {value:.2f}, at most {limit}: {'holds' if value <= limit else 'DOES NOT HOLD'}",
                    flush=True,
                )
                failed |= value > limit
    return failed


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 96, sys.argv[2:] or list(explorers())))
