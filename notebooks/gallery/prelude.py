"""Code that runs first in the kernel that makes the committed outputs: explorers become still pictures, figures get a description."""

get_ipython().reset()  # noqa: F821, a kernel may have run another lesson

import gc
from dataclasses import replace

import numpy as np
from ipywidgets import Widget
from matplotlib import get_backend, pyplot
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.figure import Figure

from aclnn_viz import notebook
from aclnn_viz.explorers.widget import Explorer
from aclnn_viz.pictures import fonts
from aclnn_viz.pictures.picture import Picture
from aclnn_viz.words import language
from aclnn_viz.words.messages import meant, tr

Widget.close_all()  # explorers of earlier lessons would follow a change of language
pyplot.switch_backend(get_backend())
# the hook draws figures at the end of a cell, before the backend saves them
pyplot.uninstall_repl_displayhook()
notebook.AFTER = 1e6  # lessons are committed without progress bars
# garbage searches skip all imports, which saves a tenth of the lessons' time
gc.freeze()
NO_LABEL = meant("", "no label")


def still(explorer, **_):
    """Return the still picture of an explorer with its words and instructions, instead of the widget."""

    def shown(data):
        picture = explorer.subject.show(data)
        return replace(
            picture,
            headline=(
                tr("A still picture: run this cell (Ctrl+Enter), and it moves."),
                *picture.headline,
            ),
        )

    return (
        {
            "image/png": fonts.legible(shown)(explorer.data).png() if DRAWN else b"",
            "text/plain": explorer.words["text"],
        },
        {"still": explorer.subject.name, "state": explorer.lifted("link")},
    )


def words(figure, printer, cycle):
    """Print a description of a Matplotlib figure: titles, axes, and start and end of each curve or image."""
    lines = []
    for axes in figure.axes:
        x, y = axes.get_xlabel(), axes.get_ylabel()
        named = [
            axes.get_title(),
            tr("{y} against {x}", x=x or NO_LABEL, y=y or NO_LABEL) if x or y else "",
        ]
        lines.append(
            tr("; ").join(name.replace("\n", " ") for name in named if name) or tr("a panel")
        )
        for curve in axes.get_lines():
            label = curve.get_label()
            points = np.ma.masked_invalid(np.asarray(curve.get_xydata(), float))
            if len(points) and not label.startswith("_child"):
                lines.append(
                    tr(
                        "  {label}: {n} points, {x}, then {y}",
                        label=label,
                        n=len(points),
                        x=spread(points[:, 0]),
                        y=spread(points[:, 1]),
                    )
                )
        lines += [
            tr(
                "  an image of {shape} within [{least:.3g}, {largest:.3g}]",
                shape=values.shape,
                least=values.min(),
                largest=values.max(),
            )
            for values in (image.get_array() for image in axes.get_images())
        ]
    printer.text("\n".join(lines))


def spread(values):
    """Return start, end and range of values in words."""
    values = np.ma.masked_invalid(np.asarray(values, float)).ravel()
    text = {"first": values[0], "last": values[-1], "least": values.min(), "largest": values.max()}
    return tr(
        "from {first} to {last} within [{least}, {largest}]",
        **{name: f"{value:.3g}" for name, value in text.items()},
    )


def draw(wanted):
    """Switch the drawing of pictures on or off; a comparison of descriptions needs none."""
    globals()["DRAWN"] = wanted
    for owner, name, empty in ((Picture, "png", b""), (FigureCanvasBase, "print_figure", None)):
        kept = f"{name}_itself"
        if not hasattr(owner, kept):
            setattr(owner, kept, getattr(owner, name))
        setattr(
            owner, name, getattr(owner, kept) if wanted else lambda *_, empty=empty, **given: empty
        )


Explorer._repr_mimebundle_ = still
Figure._repr_pretty_ = words  # set here, because IPython drops it when the inline backend loads
