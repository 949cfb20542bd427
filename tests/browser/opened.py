"""An explorer in a notebook, as a hand sees and moves it."""

from types import SimpleNamespace

from aclnn_viz.explorers import subject_of
from aclnn_viz.explorers.device import DeviceOfState
from aclnn_viz.explorers.state import build, controls
from laboratory import Notebook

ROOT = ".aclnn-explorer"
CELL = "from aclnn_viz.explorers import explore\nexplorer = explore({name!r})\nexplorer"
# Sets controls as a hand would: the value first, then the event that its movement gives.
SET = """(changes) => {
    for (const [field, value] of changes) {
        const input = document.querySelector(`.aclnn-explorer [data-field=${field}]`);
        if (input.type === "checkbox") input.checked = value;
        else if (input.tagName === "SELECT") input.selectedIndex = value;
        else input.value = String(value);
        input.dispatchEvent(new Event("input", { bubbles: true }));
    }
}"""
SHOWN = """() => Object.fromEntries([...document.querySelectorAll(".aclnn-explorer [data-field]")].map((input) => [
    input.dataset.field, input.type === "checkbox" ? input.checked
        : input.tagName === "SELECT" ? input.selectedIndex : Number(input.value)]))"""
# Resolves when the kernel has been idle, and nothing has been redrawn, for some time: a change that still waits is sent
# as soon as the kernel is idle, within a few milliseconds.
QUIET = """(quiet) => new Promise((resolve) => {
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    const root = document.querySelector(".aclnn-explorer");
    let seen = "", since = performance.now();
    const look = () => {
        const now = performance.now();
        if (kernel.status !== "idle" || root.dataset.revision !== seen) [seen, since] = [root.dataset.revision, now];
        if (now - since >= quiet && Number(seen) > 0) resolve(); else setTimeout(look, 10);
    };
    look();
})"""
RUN = """async (code) => {
    const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
    return (await kernel.requestExecute({ code }).done).content.status;
}"""


class Opened(Notebook):
    """The explorer `name` in a notebook of its own."""

    def __init__(self, browser, server, name: str):
        self.name, self.subject = name, subject_of(name)
        self.device = DeviceOfState(self.subject.operator)  # not the kernel's, but what the state says of precision
        self.controls = [c for c in controls(self.subject.state) if c["field"] != "device"]
        super().__init__(browser, server, f"{name}.ipynb", CELL.format(name=name))
        self.wait()

    def wait(self):
        self.page.locator(f"{ROOT} canvas").first.wait_for(timeout=60_000)  # holds no element, as a selector would
        self.settle()

    def open_again(self):
        """Run all cells again: a new explorer in the place of the old one."""
        self.page.evaluate("() => document.querySelector('.aclnn-explorer')?.setAttribute('class', 'gone')")
        self.page.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells') }")
        self.wait()

    def set(self, *changes):
        """Move controls, each given as (field, value as the control counts), in one go."""
        self.page.evaluate(SET, changes)

    def reset(self):
        self.press("reset")
        self.settle()

    def press(self, button):
        self.page.evaluate("kind => document.querySelector(`.aclnn-explorer [data-lift=${kind}]`).click()", button)

    def revision(self):
        return int(self.page.get_attribute(ROOT, "data-revision"))

    def settle(self, quiet=120):
        """Wait until the kernel has been idle, and nothing has been redrawn, for `quiet` milliseconds."""
        self.page.evaluate(QUIET, quiet)

    def run(self, code):
        """Run code in the kernel, beside the notebook's cells."""
        assert self.page.evaluate(RUN, code) == "ok"

    def theme(self, name):
        self.page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", name)
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)
        self.settle(300)

    def lifted(self, kind):
        """The text behind a lift-out button."""
        area = self.page.locator(f"{ROOT} textarea")
        area.evaluate("area => { area.value = '' }")
        self.press(kind)
        self.page.wait_for_function("document.querySelector('.aclnn-explorer textarea').value")
        return area.input_value()

    def state(self):
        """The state that the cell behind "Copy as cell" opens."""
        asked = {}
        room = SimpleNamespace(explore=lambda name, **values: asked.update(values, name=name))
        exec(self.lifted("cell").replace("import aclnn_viz as av", ""), {"av": room})
        assert asked.pop("name") == self.subject.name
        return build(self.subject.state, asked)

    def data(self, state):
        return self.subject.compute(state, self.device.backward)

    def problem(self):
        return self.page.evaluate("[...document.querySelectorAll('.ae-problem')].map((p) => p.textContent).join('')")

    def shown(self):
        """The values that the controls show, by field."""
        shown = self.page.evaluate(SHOWN)
        return {c["field"]: c["options"][shown[c["field"]]][0] if c["kind"] == "choice" else shown[c["field"]]
                for c in self.controls}
