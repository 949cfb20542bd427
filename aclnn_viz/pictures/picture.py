"""Describe a picture once, as panels under a headline and in words, for Matplotlib and the browser."""

import io

from aclnn_viz.pictures.marks import record
from aclnn_viz.pictures.palette import DRAWING
from aclnn_viz.pictures.panels import Panel


@record
class Picture:
    """A picture: sentences on what to see, panels, a full description in words, and small print.

    A `title` is above all, a coloured `warning` below it. `width` is in pixels.

    In a notebook the last expression of a cell displays the panels and reads as `text`.

    >>> from aclnn_viz.pictures.marks import Line
    >>> slope = Panel("slope", "the slope", (Line([0.0, 1.0], [0.0, 2.0], label="dx"),))
    >>> picture = Picture(("The slope is 2.",), (slope,), "dx = 2 x")
    >>> picture.figure().axes[0].get_label(), print(picture)
    dx = 2 x
    ('slope', None)
    """

    headline: tuple[str, ...]
    panels: tuple[Panel, ...]
    text: str
    notices: tuple[str, ...] = ()
    title: str = ""
    warning: str = ""
    width: int = DRAWING["width"]

    def figure(self, theme: str = "light"):
        """Return the picture as a Matplotlib Figure in the theme "light" or "dark"; ValueError for another theme."""
        from aclnn_viz.pictures.figure import figure

        return figure(self, theme)

    def png(self, theme: str = "light") -> bytes:
        held = io.BytesIO()
        self.figure(theme).savefig(held, format="png")
        return held.getvalue()

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"image/png": self.png(), "text/plain": self.text}

    def __str__(self) -> str:
        return self.text
