"""Run first in the kernel that makes the committed outputs: what is moved by hand becomes a still, figures get words."""

get_ipython().reset()  # noqa: F821, a kernel may have run another lesson

import numpy as np
from matplotlib.figure import Figure

from aclnn_viz.explorers.widget import Explorer


def still(explorer, **_):
    """Return the picture that an explorer saves, and its words, in the place of the widget."""
    return ({"image/png": explorer.lifted("png"), "text/plain": explorer.picture["text"]},
            {"still": explorer.subject.name})


def words(figure, printer, cycle):
    """Say what a figure of Matplotlib shows: titles, axes, and of each curve or image where it begins and ends."""
    lines = []
    for axes in figure.axes:
        named = [axes.get_title(), f"{axes.get_ylabel()} against {axes.get_xlabel()}"]
        lines.append("; ".join(name.replace("\n", " ") for name in named if name.strip(" against")) or "a panel")
        for curve in axes.get_lines():
            label = curve.get_label()
            points = np.ma.masked_invalid(np.asarray(curve.get_xydata(), float))
            if len(points) and not label.startswith("_child"):
                lines.append(f"  {label}: {len(points)} points, {spread(points[:, 0])}, then {spread(points[:, 1])}")
        lines += [f"  an image of {image.get_array().shape}, {spread(image.get_array())}" for image in axes.get_images()]
    printer.text("\n".join(lines))


def spread(values):
    """Say where values begin, where they end, and between what they lie."""
    values = np.ma.masked_invalid(np.asarray(values, float)).ravel()
    return f"from {values[0]:.3g} to {values[-1]:.3g} within [{values.min():.3g}, {values.max():.3g}]"


Explorer._repr_mimebundle_ = still
Figure._repr_pretty_ = words  # registered with IPython, it would go when the inline backend comes
