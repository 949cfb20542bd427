"""An explorer in a notebook, as a person sees and moves it."""

import json
from types import SimpleNamespace

import pytest
from laboratory import Notebook
from panel_picture import Frame

from aclnn_viz.explorers import subject_of
from aclnn_viz.explorers.device import DeviceOfState
from aclnn_viz.explorers.state import build, controls

ROOT = ".aclnn-explorer"
CELL = "from aclnn_viz.explorers import explore\nexplorer = explore({name!r})\nexplorer"
# Sets controls as a hand would: the value first, then the event that its movement gives.
SET = """(changes) => {
    for (const [field, value] of changes) {
        const input = document.querySelector(`.aclnn-explorer [data-field=${field}]`);
        if (input.type === "checkbox") input.checked = value;
        else if ("selectedIndex" in input) input.selectedIndex = value;
        else input.value = String(value);
        input.dispatchEvent(new Event("input", { bubbles: true }));
    }
}"""
SHOWN = """() => Object.fromEntries([...document.querySelectorAll(".aclnn-explorer [data-field]")].map((input) => [
    input.dataset.field, input.type === "checkbox" ? input.checked
        : "selectedIndex" in input ? input.selectedIndex : Number(input.value)]))"""
# The explorer's model counts the messages that the kernel has not finished, and queues later moves: when it has
# neither, every move has been answered. The picture is drawn a frame later, a resized panel twice.
WAITING = """
    const root = document.querySelector(".aclnn-explorer");
    const found = (widget) => widget._view?.model ?? [...widget.children()].map(found).find(Boolean);
    const model = found(window.jupyterapp.shell.currentWidget.content.widgets[0]);
    const waiting = () => model._pending_msgs > 0 || model._msg_buffer !== null || root.matches("[data-moving], [data-gliding]");
    const frame = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    const end = performance.now() + 60000;
    const must = (what) => { if (performance.now() > end) throw new Error(`not ${what} within a minute`); };
"""
SETTLED = f"""async () => {{{WAITING}
    for (let same = 0, seen = ""; same < 2;) {{
        await frame();
        must("settled");
        same = waiting() || root.dataset.revision === "0" || root.dataset.revision !== seen ? 0 : same + 1;
        seen = root.dataset.revision;
    }}
}}"""
# Moves one control from value to value, each after the previous answer, and returns the problem at the end.
THROUGH = f"""async ([field, values]) => {{{WAITING}
    const input = root.querySelector(`[data-field=${{field}}]`);
    for (const value of values) {{
        if (input.type === "checkbox") input.checked = value;
        else if ("selectedIndex" in input) input.selectedIndex = value;
        else input.value = String(value);
        input.dispatchEvent(new Event("input", {{ bubbles: true }}));
        while (waiting()) {{
            must(`answered: ${{field}} = ${{value}}`);
            await new Promise((resolve) => setTimeout(resolve));
        }}
    }}
    await frame();
    return [...root.querySelectorAll(".ae-problem")].map((each) => each.textContent).join("");
}}"""
RUN_CELL = """(source) => {
    const { widgets } = window.jupyterapp.shell.currentWidget.content;
    widgets[0].model.sharedModel.setSource(source);
    window.jupyterapp.commands.execute("notebook:run-all-cells");
}"""
RUN = """async (code) => {
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    return (await kernel.requestExecute({ code }).done).content.status;
}"""


def on(*names):
    """Return the mark of a test on explorers, by their names."""
    return pytest.mark.parametrize("explorer", names, indirect=True)


class Opened(Notebook):
    """A notebook in which explorers are opened, one after another."""

    def __init__(self, browser, server):
        super().__init__(browser, server, "explorers.ipynb", "")
        self.name = None

    def show(self, name: str):
        """Open the explorer `name` in place of the previous one."""
        if self.name:
            self.run("explorer.close()")
            self.page.wait_for_function(f"!document.querySelector('{ROOT} canvas')")
        self.name, self.subject = name, subject_of(name)
        # the device of the precision state, not the kernel's
        self.device = DeviceOfState(self.subject.operator)
        self.controls = [c for c in controls(self.subject.state) if c["field"] != "device"]
        self.open_again()

    def open_again(self, cell=None):
        """Run the cell, or another in its place: a new explorer replaces the old one."""
        self.page.evaluate(
            f"() => document.querySelectorAll('{ROOT}').forEach((old) => old.classList.remove('aclnn-explorer'))"
        )
        self.page.evaluate(RUN_CELL, cell or CELL.format(name=self.name))
        # contains no element, unlike a selector
        self.page.locator(f"{ROOT} canvas").first.wait_for(timeout=60_000)
        # closed, it is written later
        self.page.evaluate(
            f"document.querySelectorAll('{ROOT} details').forEach((fold) => {{ fold.open = true; }})"
        )
        self.settle()

    def having(self, key, *values):
        """Return the controls with one of some values of a key."""
        return [c for c in self.controls if c[key] in values]

    def set(self, *changes):
        """Move controls, each given as (field, value as the control counts), in one go."""
        self.page.evaluate(SET, changes)

    def reset(self):
        self.press("reset")
        self.settle()

    def press(self, button):
        self.page.evaluate(
            "kind => document.querySelector(`.aclnn-explorer [data-lift=${kind}]`).click()", button
        )

    def canvas(self, panel):
        return self.page.locator(f"[data-panel={panel}] canvas")

    def point(self, panel, x, y):
        """Return the place on a panel's canvas of values of its axes."""
        axes = json.loads(self.canvas(panel).get_attribute("data-axes"))
        return dict(zip("xy", Frame(axes).place(float(x), float(y)).tolist()))

    def drag(self, panel, places):
        """Drag over a panel, from place to place in values of its axes, and return the last hint before the end."""
        canvas, points = self.canvas(panel), [self.point(panel, *place) for place in places]
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        for k, point in enumerate(points):
            self.page.mouse.move(box["x"] + point["x"], box["y"] + point["y"])
            if k == 0:
                self.page.mouse.down()
        hint = self.page.locator(f"[data-panel={panel}] .ae-hint").inner_text()
        self.page.mouse.up()
        self.settle()
        return hint

    def revision(self):
        return int(self.page.get_attribute(ROOT, "data-revision"))

    def settle(self):
        """Wait until every move has been answered and drawn."""
        self.page.evaluate(SETTLED)

    def through(self, field, values):
        """Move a control from value to value, each after the previous answer, and return the problem at the end."""
        return self.page.evaluate(THROUGH, [field, values])

    def run(self, code):
        """Run code in the kernel, beside the notebook's cells."""
        assert self.page.evaluate(RUN, code) == "ok"

    def theme(self, name):
        self.page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", name
        )
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)
        # two at once disturb each other
        self.page.wait_for_function("!document.querySelector('#jupyterlab-splash')")
        self.settle()

    def choose_language(self, language):
        self.run(f"import aclnn_viz as av; av.language({language!r})")
        self.page.wait_for_function(f"document.querySelector('{ROOT}').lang === '{language}'")
        self.settle()

    def lifted(self, kind):
        """Return the text behind a lift-out button."""
        area = self.page.locator(f"{ROOT} textarea")
        area.evaluate("area => { area.value = '' }")
        self.press(kind)
        self.page.wait_for_function("document.querySelector('.aclnn-explorer textarea').value")
        return area.input_value()

    def state(self):
        """Return the state that the cell behind "Copy as cell" opens."""
        asked = {}
        stand_in = SimpleNamespace(explore=lambda name, **values: asked.update(values, name=name))
        exec(self.lifted("cell").replace("import aclnn_viz as av", ""), {"av": stand_in})
        assert asked.pop("name") == self.subject.name
        return build(self.subject.state, asked)

    def data(self, state):
        return self.subject.compute(state, self.device.backward)

    def problem(self):
        return self.page.evaluate(
            "[...document.querySelectorAll('.ae-problem')].map((p) => p.textContent).join('')"
        )

    def shown(self):
        """Return the values of the controls, by field."""
        shown = self.page.evaluate(SHOWN)
        return {
            c["field"]: c["options"][shown[c["field"]]][0]
            if c["kind"] == "choice"
            else shown[c["field"]]
            for c in self.controls
        }
