"""From moving a control to new pixels, in a headless Chromium at a real JupyterLab, three ways in one run.

    python benchmarks/explorers.py [moves]

explorer   the grid-sampler explorer in its default state
echo       a bare anywidget that answers with the same message and paints a canvas of the same size: what transport costs
interact   plain ipywidgets `interact` with an inline Matplotlib figure of the same content, its layout fixed

The clock starts before the slider's event and stops at the animation frame after the new picture is in the page. The
three take turns in blocks, so that other work on the machine meets them alike.
"""

import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "browser"))

from laboratory import Notebook, chromium, laboratory  # noqa: E402

EXPLORER = """
from aclnn_viz.explorers import explore
explore("grid_sampler_2d")
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
from ipywidgets import FloatSlider, interact
from IPython.display import display
from aclnn_viz.explorers.grid_sampler_2d import State, compute
from aclnn_viz.figures.grid_sampler_2d import figure

def show(rotate):
    drawn = figure(compute(State(rotate=rotate)))
    drawn.set_layout_engine("none")
    display(drawn)

interact(show, rotate=FloatSlider(value=15, min=-180, max=180, step=1));
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
MOVE = "async ([moves, from]) => {" + WAIT + """
  const root = document.querySelector(".aclnn-explorer, .bench"), input = root.querySelector("[data-field=rotate]");
  const taken = [];
  for (let k = 0; k < moves; k += 1) {
    await rest();
    const start = performance.now(), answered = changed(root, { attributeFilter: ["data-revision"] });
    input.value = String((from + k) * 7 % 170 + 1);
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await answered;
    await frame();
    taken.push(performance.now() - start);
  }
  return taken;
}"""
MOVE_INTERACT = "async ([moves, from]) => {" + WAIT + """
  const handle = document.querySelector(".noUi-handle"), taken = [];
  const pictures = () => [...document.querySelectorAll(".jp-OutputArea img")].map((image) => image.src).join();
  for (let k = 0; k < moves; k += 1) {
    await rest();
    const before = pictures(), start = performance.now();
    handle.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    for (let now = before; now === before || now === ""; now = pictures()) await frame();
    await Promise.all([...document.querySelectorAll(".jp-OutputArea img")].map((image) => image.decode()));
    await frame();
    taken.push(performance.now() - start);
  }
  return taken;
}"""
BLOCK = 12


def measure(moves: int) -> dict[str, list[float]]:
    ways = {"explorer": (EXPLORER, MOVE, BLOCK, ".aclnn-explorer canvas"), "echo": (ECHO, MOVE, BLOCK, ".bench canvas"),
            "interact": (INTERACT, MOVE_INTERACT, 3, ".jp-OutputArea img")}
    times = {name: [] for name in ways}
    with tempfile.TemporaryDirectory() as folder, laboratory(Path(folder)) as server, chromium() as browser:
        pages = {}
        for name, (cell, move, _, ready) in ways.items():
            pages[name] = Notebook(browser, server, f"{name}.ipynb", cell).page
            pages[name].wait_for_selector(ready, timeout=60_000)
            pages[name].wait_for_timeout(1500)
            pages[name].evaluate(move, [3, 0])  # warm
        for at in range(0, moves, BLOCK):
            for name, (_, move, block, _) in ways.items():
                pages[name].bring_to_front()
                times[name] += pages[name].evaluate(move, [block, at + 3])
    return times


def p95(values) -> float:
    return statistics.quantiles(values, n=20)[-1]


def main(moves: int) -> int:
    times = measure(moves)
    median = {name: statistics.median(values) for name, values in times.items()}
    print(f"{'':<9} {'moves':>6} {'median ms':>10} {'p95 ms':>8} {'p95/median':>11}")
    for name, values in times.items():
        print(f"{name:<9} {len(values):6d} {median[name]:10.1f} {p95(values):8.1f} {p95(values) / median[name]:11.2f}")
    wanted = [("explorer / echo, at most 1.3", median["explorer"] / median["echo"], 1.3),
              ("10 x explorer / interact, at most 1", 10 * median["explorer"] / median["interact"], 1.0),
              ("explorer p95 / median, at most 2", p95(times["explorer"]) / median["explorer"], 2.0)]
    for text, value, limit in wanted:
        print(f"{text}: {value:.2f} {'holds' if value <= limit else 'DOES NOT HOLD'}")
    print(f"interact / explorer: {median['interact'] / median['explorer']:.1f}")
    return not all(value <= limit for _, value, limit in wanted)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 96))
