"""In a notebook, a loop that runs longer than two seconds says for how long and how far it is, beside a button that stops it."""

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextvars import copy_context
from importlib.util import find_spec

from aclnn_viz.words.messages import tr

AFTER, EVERY = 2.0, 0.5  # seconds, until it is said and until it is said anew
# The kernel is interrupted from outside: while it computes it answers no message.
SCRIPT = """export default { render({ model, el }) {
  const said = document.createElement("span"), stop = document.createElement("button"), say = () => { said.textContent = `${model.get("text")} `; };
  stop.textContent = model.get("stop");
  stop.addEventListener("click", () => model.widget_manager.kernel.interrupt());
  model.on("change:text", say);
  say();
  el.append(said, stop);
} };"""
_loops: list[list] = []  # [done, of all] of those that run, the outer one first


def noted(items: Iterable, total: int | None = None) -> Iterator:
    """Yield the items of a loop whose cell says how far it is.

    >>> list(noted("ab", 2))
    ['a', 'b']
    """
    loop, over = [0, total], threading.Event()
    if not _loops and _in_a_notebook():
        # the context says which cell it is
        run = copy_context().run
        threading.Thread(target=run, args=(_say, over), name="progress", daemon=True).start()
    _loops.append(loop)
    try:
        for loop[0], item in enumerate(items):
            yield item
    finally:
        _loops.remove(loop)
        over.set()


def _in_a_notebook() -> bool:
    """Whether a notebook runs this, and widgets are installed."""
    shell = "IPython" in sys.modules and sys.modules["IPython"].get_ipython()
    return bool(shell) and hasattr(shell, "kernel") and find_spec("anywidget") is not None


def _say(over: threading.Event) -> None:
    start = time.monotonic()
    if over.wait(AFTER):
        return
    from anywidget import AnyWidget
    from IPython.display import display
    from traitlets import Unicode

    def text():
        far = [
            tr("{n} of {all}", n=done, all=total) if total else str(done) for done, total in _loops
        ]
        return ": ".join([tr("{s} s", s=int(time.monotonic() - start)), *far])

    shown = type(
        "Running",
        (AnyWidget,),
        {
            "_esm": SCRIPT,
            "text": Unicode(text()).tag(sync=True),
            "stop": Unicode(tr("Stop")).tag(sync=True),
        },
    )()
    place = display(shown, display_id=True)
    while not over.wait(EVERY):
        shown.text = text()
    place.update({"text/plain": ""}, raw=True)
    shown.close()
