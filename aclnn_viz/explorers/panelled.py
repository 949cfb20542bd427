"""The subject of an explorer whose picture is made of panels: the browser and Matplotlib draw the same description."""

from collections.abc import Callable
from dataclasses import dataclass, field

from aclnn_viz.figures.panels import described


@dataclass(frozen=True, eq=False)
class Shown:
    """A picture in panels and in words: what to see, in one to four sentences, and the text twin of everything."""

    headline: list[str]
    panels: list
    text: str
    notices: tuple[str, ...] = field(default=())


def subject(name: str, operator: Callable, state: type, inputs: Callable, compute: Callable, show: Callable):
    """Return the Subject whose data `show` turns into a `Shown`."""
    from aclnn_viz.explorers.widget import Subject
    from aclnn_viz.figures.panels_figure import figure

    def picture(data):
        shown = show(data)
        arrays, panels = described(shown.panels)
        return arrays, {"panels": panels, "headline": shown.headline, "text": shown.text,
                        "notices": list(shown.notices)}

    def drawn(data):
        shown = show(data)
        return figure(shown.panels, [*shown.headline, *shown.notices])

    scripts = ("panels_paths.js", "panels_marks.js", "panels.js")
    return Subject(name, operator, state, inputs, compute, picture, drawn, scripts)
