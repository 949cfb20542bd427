"""Panels that no explorer shows: every mark, every scale, and what may not break them."""

import numpy as np

from aclnn_viz.pictures.marks import (
    Arrows,
    Band,
    Bars,
    Box,
    Dots,
    Grip,
    Handles,
    Heat,
    Image,
    Line,
    Note,
    Rule,
)
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.picture import Picture

T = np.linspace(-4.0, 4.0, 81)
WAVE = np.where(np.abs(T) < 0.25, np.nan, np.sin(T))
GREYS = np.sin(np.add.outer(np.arange(30.0), np.arange(20.0) ** 1.3) / 6)
BARE = Axis(ticks=())
CELLS = np.array([[-3.0, -1.0, 0.0], [1.0, np.nan, 3.0]])


def sample_panels():
    """Return nine panels in five rows, which contain every mark."""
    noise = np.random.default_rng(0).standard_normal(9)
    return [
        Panel(
            "wave",
            "a wave that is interrupted",
            (
                Band(T, WAVE - 0.3, WAVE + 0.3, 2, "bound"),
                Line(T, WAVE, 0, "sine"),
                Line(T, np.cos(T), 1, "cosine"),
                Dots(T[::8], np.cos(T[::8]), 3, "points", 4.0),
                Rule("x", 1.5, "kink", 4),
                Rule("y", 0.5, "half", 4),
            ),
            Axis("t"),
            Axis("height"),
        ),
        Panel(
            "errors",
            "bars over powers of ten",
            (
                Bars(np.arange(9.0), 10.0 ** (noise - 2), 1, "device"),
                Bars(np.arange(9.0) + 0.4, 10.0 ** (-noise - 2), 2, "host", 0.4),
            ),
            Axis("case"),
            Axis("error", scale="log"),
        ),
        Panel(
            "cells",
            "cells with numbers",
            (Heat(CELLS, "diverging", -3.0, 3.0, digits=True),),
            Axis("column"),
            Axis("row"),
            span=8,
            pick=("column", "row"),
        ),
        Panel(
            "backwards",
            "an axis that runs backwards",
            (Dots(T, T**2, 1, "square", 2.0),),
            Axis("t", 4.0, -4.0),
            span=6,
        ),
        Panel(
            "greys",
            "a block of cells",
            (
                Heat(np.outer(T, T), "sequential", -16.0, 16.0),
                Box(4.5, 4.5, 30.5, 30.5, "block", 1),
            ),
            span=6,
        ),
        Panel(
            "flow",
            "boxes and an arrow",
            (
                Box(0.0, 0.0, 2.0, 1.0, "first", 0, filled=0.25),
                Box(3.0, 0.0, 5.0, 1.0, "second", 1),
                Arrows(np.array([2.0]), np.array([0.5]), np.array([1.0]), np.array([0.0]), 2),
                Note(2.5, 0.8, "then\nnext"),
            ),
            BARE,
            BARE,
            span=20,
            height=90,
        ),
        Panel(
            "pixels",
            "an image, points upon it, beside two panels",
            (
                Image(np.outer(T[20:60], T[20:50]), "grey", -3.0, 3.0, -5.0, -5.0, 0.4),
                Image(np.where(GREYS > 0.97, np.nan, GREYS), "grey", -1.0, 1.0),
                Box(-0.5, -0.5, 19.5, 29.5, "", 4),
                Handles(
                    *np.meshgrid(np.arange(2.0, 24.0, 5), np.arange(4.0, 30.0, 8)),
                    1,
                    2,
                    ("row", "column"),
                    "moved",
                    ((-1.0, 0.1), (-1.0, 0.1)),
                    0.25,
                    "points",
                ),
                Grip(10.0, 26.0, ("row",), ((0.0, 1.0, 1),), "a grip", 7),
            ),
            BARE,
            BARE,
            span=7,
            square=True,
            rows=2,
        ),
        Panel(
            "words",
            "cells with words",
            (Heat(CELLS, "grey", -3.0, 3.0, words=tuple("abcde") + ("f\ng",)),),
            BARE,
            BARE,
            span=13,
            height=110,
        ),
        Panel(
            "below", "a line below them", (Line(T, WAVE, 2),), Axis("t"), Axis(), span=13, height=90
        ),
    ]


def nothing_to_see():
    """Return panels with nothing, or nothing finite, to draw."""
    empty, none = np.empty(0), np.full(3, np.nan)
    return [
        Panel(
            "empty",
            "empty",
            (
                Line(empty, empty, label="line"),
                Dots(empty, empty),
                Bars(empty, empty),
                Band(empty, empty, empty),
                Arrows(empty, empty, empty, empty),
            ),
        ),
        Panel(
            "nan",
            "nan",
            (
                Line(none, none),
                Dots(none, none),
                Bars(none, none),
                Band(none, none, none),
                Rule("x", np.nan, "gone"),
                Heat(np.full((2, 2), np.nan), "grey", 0.0, 0.0),
            ),
        ),
        Panel(
            "log",
            "log of what has none",
            (Line(np.arange(3.0), np.array([-1.0, 0.0, np.inf])),),
            y=Axis(scale="log"),
        ),
        Panel("bare", "no marks", ()),
    ]


def sample():
    headline = "The wave is interrupted around 0.", "Its cosine is not."
    return Picture(headline, tuple(sample_panels()), "")
