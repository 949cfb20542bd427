"""The Jupyter widget of every interactive picture (explorer), which only connects: the browser sends a state, Python answers
with a picture, then words.

All travel as traits of one model, and the observer is synchronous: ipywidgets then keeps one message in flight and sends only
the last state when the kernel is idle, so no backlog grows and the last position wins.
"""

import io
import threading
import time
from dataclasses import asdict
from pathlib import Path

import anywidget
import traitlets

from aclnn_viz.errors import invalid
from aclnn_viz.explorers import lift
from aclnn_viz.explorers.device import DeviceOfState
from aclnn_viz.explorers.packing import pack
from aclnn_viz.explorers.scripts import LAB, script, style, wording
from aclnn_viz.explorers.state import StateError, brief, build, check_names, shown
from aclnn_viz.explorers.subject import Subject
from aclnn_viz.pictures.palette import DRAWING, MAPS
from aclnn_viz.storage.results import new_file
from aclnn_viz.words.messages import listeners, message, tr

# Seconds that an answer sleeps before it computes. Meanwhile another thread of the Jupyter kernel
# sends "busy". Without the sleep, that thread would run 5 ms later and delay the picture.
YIELD = 2e-4
LONGEST = 1000  # most characters of a message


class Explorer(anywidget.AnyWidget):
    """An explorer of one subject; `values` holds the whole state, `data` the data of the last good picture."""

    # the state that the picture shows, by field
    values = traitlets.Dict().tag(sync=True, echo_update=False)
    picture = traitlets.Dict().tag(sync=True)
    words = traitlets.Dict().tag(sync=True)
    problem = traitlets.Dict().tag(sync=True)
    controls = traitlets.List().tag(sync=True)
    initial = traitlets.Dict().tag(sync=True)  # the state at the start, for Reset
    wording = traitlets.Dict().tag(sync=True)
    colours = traitlets.Dict().tag(sync=True)
    # whether the browser may ask for a traced picture, which it computes without Python
    traces = traitlets.Bool().tag(sync=True)

    def __init__(self, subject: Subject, /, **values):
        self._esm, self._css = script(LAB), style()
        self.subject, self.data, self._lock = subject, None, threading.RLock()
        self._device = DeviceOfState(subject.operator)
        state = build(subject.state, values)
        super().__init__(
            values=asdict(state),
            controls=subject.controls(),
            initial=asdict(state),
            wording=wording(),
            traces=bool(subject.live),
            colours=DRAWING | {"maps": {name: table.tobytes() for name, table in MAPS.items()}},
        )
        self._show(self.values)
        self.observe(self._moved, "values")
        self.on_msg(self._asked)
        listeners.add(self)

    def reworded(self):
        """Send all words again in the chosen language."""
        with self._lock, self.hold_sync():
            self.controls, self.wording = self.subject.controls(), wording()
            self._show(self.values)

    def set_state(self, sync_data):
        """Accept values of this state from the browser; the kernel owns all other traits."""
        values = sync_data.get("values")
        if not isinstance(values, dict):
            return
        try:
            check_names(self.subject.state, values)
        except TypeError as error:
            self.problem = {"": str(error)}
        else:
            before = self.values
            super().set_state({"values": values})
            if self.values == before and [*map(type, self.values.values())] != [
                *map(type, before.values())
            ]:
                # traitlets takes 1 and True as equal and calls no observer
                self._moved({"new": self.values})

    @traitlets.validate("values")
    def _whole(self, proposal):
        """Return complete values, as `explore` does: defaults for missing ones, TypeError for an unknown name."""
        values = proposal["value"]
        check_names(self.subject.state, values)
        return asdict(self.subject.state()) | {
            name: getattr(value, "tolist", lambda: value)() for name, value in values.items()
        }

    def _moved(self, change):
        time.sleep(YIELD)
        with self._lock:  # a notebook cell and the browser move values in different threads
            self._show(change["new"])

    def _show(self, values):
        """Send the picture, and the words later, so that a moving control need not wait for them."""
        try:
            data, wrong = self._nearest(values)
            arrays, panels = self.subject.drawn(data)
            index, buffer = pack(arrays)
            with self.hold_sync():
                self.data, self.problem = data, wrong
                self.picture = {
                    "for": values,
                    "panels": panels,
                    "plays": list(self.subject.plays(data)),
                    "index": index,
                    "buffer": buffer,
                }
            self._send_words(values, data)
        except StateError as error:
            self.problem = {error.field: brief(tr(error.said), LONGEST)}
        except Exception as error:
            # shown beside the controls, because nobody reads tracebacks in the kernel's log
            self.problem = {"": brief(f"{type(error).__name__}: {error}", LONGEST)}

    def _nearest(self, values) -> tuple[object, dict[str, str]]:
        """Return the data of the values and the errors by field; a field with a wrong value keeps its last good one.

        Raise StateError if that value does not fit with the others.
        """
        good, taken, wrong = vars(self.data.state) if self.data else self.initial, dict(values), {}
        while True:
            try:
                data = self.subject.compute(build(self.subject.state, taken), self._device.backward)
            except StateError as error:
                if taken.get(error.field) == good.get(error.field):
                    raise
                wrong[error.field] = brief(tr(error.said), LONGEST)
                taken[error.field] = good[error.field]
            else:
                said = message("{problem}. The picture shows {value}.")
                return data, {
                    name: tr(said, problem=text, value=shown(taken[name]))
                    for name, text in wrong.items()
                }

    def _send_words(self, values, data):
        """Send the words of the present picture; after an interrupt send none."""
        text = {"caption": "", "headline": [], "text": "", "notices": []}
        try:
            text = self.subject.words(data)
        finally:
            # an observer of the picture may have changed the state meanwhile
            if self.picture["for"] is values:
                self.words = {"for": values, **text}

    def lifted(self, kind: str) -> str | bytes:
        """Return the last good state as "link", "cell", "test" or "cpp" (text), or as "png" or "svg" (bytes).

        Raise ValueError for another kind, StateError before the first good state.
        """
        if not isinstance(kind, str) or kind not in (*lift.TEXTS, "png", "svg"):
            raise invalid(
                "a state is exported as link, cell, test, cpp, png or svg",
                shown(kind),
                "choose one",
            )
        self._drawn()
        if kind in lift.TEXTS:
            return lift.TEXTS[kind](self.subject, self.data.state)
        held = io.BytesIO()
        self.subject.figure(self.data).savefig(held, format=kind)
        return held.getvalue()

    def save(self, path) -> None:
        """Write the last good state as one page (HTML), or an ES module, that moves without Python and asks no host.

        Parameters
        ----------
        path : str or path
            The file; an existing page is replaced. With the ending .mjs it is a module with the front end of
            anywidget, as MyST and marimo take it.

        Raises
        ------
        FileExistsError
            If the path holds another file than such a page.
        StateError
            Before the first good state.
        OSError
            If the file cannot be written.

        Notes
        -----
        `docs/explorers.md` lists its movable parts.

        Examples
        --------
        >>> from aclnn_viz.explorers import explore
        >>> explorer = explore("hardswish")
        >>> explorer.save("hardswish.html")  # doctest: +SKIP
        >>> explorer.close()
        """
        # imported here, because only `save` needs this slow module
        from aclnn_viz.explorers.live import saved

        self._drawn()
        with new_file(
            path,
            force=True,
            ours=lambda old: b'name="generator" content="aclnn-viz"' in old.read_bytes()[:500],
        ) as file:
            template = "module.mjs" if Path(path).suffix == ".mjs" else "page.html"
            file.write(saved(self.subject, self.data.state, self.data, template).encode())

    def _drawn(self) -> None:
        if self.data is None:
            raise StateError(
                "",
                "what is exported must have a picture",
                "a state without one",
                "open the explorer, in a state that it can show",
            )

    def _asked(self, widget, content, buffers):
        if isinstance(content, dict) and "trace" in content and self.data:
            # imported here: the browser asks while nobody moves a control
            from aclnn_viz.explorers.live import traced

            with self._lock:
                self.send({"traced": traced(self.subject, self.data.state, self.data)})
            return
        kind = content.get("lift") if isinstance(content, dict) else content
        try:
            made = self.lifted(kind)
        except Exception as error:
            # an error of the kit has a text for the reader
            own = isinstance(error, ValueError)
            said = f"{error}" if own else f"{type(error).__name__}: {error}"
            known = isinstance(kind, str) and len(kind) < 20
            self.send({"lift": kind if known else "", "problem": said})
            return
        made = made.encode() if isinstance(made, str) else made
        self.send({"lift": kind, "file": f"{self.subject.name}.{kind}"}, [made])

    def __repr__(self):
        """Return the call that opens this picture again."""
        return (
            f'av.explore("{self.subject.name}")'
            if self.data is None
            else lift.call(self.subject, self.data.state)
        )

    def _repr_mimebundle_(self, **kwargs):
        """Return the widget with words for viewers of a saved notebook without widgets."""
        data, metadata = super()._repr_mimebundle_(**kwargs)
        text = (
            self.words
            if self.words.get("for") is self.picture.get("for")
            else self.subject.words(self.data)
        )
        return data | {
            "text/plain": f"{self!r}\n\n{text.get('text', ' '.join(self.problem.values()))}"
        }, metadata

    def close(self):
        """Remove the widget, close its device and drop its data; closing again does nothing."""
        listeners.discard(self)
        self.unobserve_all()
        self.on_msg(self._asked, remove=True)
        self._device.close()
        self.data = None
        super().close()
