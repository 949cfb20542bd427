"""The subject of an explorer: what may be moved, what is computed of it, and the picture of that."""

from collections.abc import Callable
from dataclasses import dataclass

from aclnn_viz.explorers import lift
from aclnn_viz.explorers.state import controls, worded
from aclnn_viz.pictures import fonts
from aclnn_viz.pictures.panels import described


@dataclass(frozen=True)
class Subject:
    """What an explorer is made of; the widget only wires it."""

    name: str  # as `explore` takes it
    operator: Callable  # state -> Operator
    state: type
    inputs: Callable  # state -> inputs of that operator's backward
    compute: Callable  # (state, backward) -> data, which holds its state
    show: Callable  # data -> Picture
    test: Callable = lift.pytest_case  # (subject, state) -> a test module
    cpp: Callable = lift.cpp  # (subject, state) -> C++ of that state

    def picture(self, data) -> tuple[dict, dict]:
        """Return the arrays by name, and what else the browser gets of the picture."""
        shown = self.show(data)
        arrays, panels = described(shown.panels)
        return arrays, {"panels": panels, "headline": list(shown.headline), "text": shown.text,
                        "notices": list(shown.notices)}

    def controls(self) -> list[dict]:
        """Return the controls of the state, in the language of the kit."""
        return worded(controls(self.state))

    def figure(self, data):
        """Return the picture as a Matplotlib Figure; in English where no font has the glyphs of another language."""
        return fonts.legible(self.show)(data).figure()
