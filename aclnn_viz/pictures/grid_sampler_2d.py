"""The grid sampler as a Matplotlib figure: the same panels as the explorer shows, for PNG, SVG and the gallery."""

import numpy as np

from aclnn_viz.pictures.grid_sampler_2d_text import NAMES, corners, headline, plane
from aclnn_viz.pictures.palette import KINDS, MAPS, coloured, scale
from aclnn_viz.pictures.text import number, signed

MOSAIC = [["image"] * 4 + ["map"] * 4 + ["taps"] * 2,
          ["image"] * 4 + ["slope"] * 4 + ["corners"] * 2,
          ["zeros"] * 2 + ["border"] * 2 + ["reflection"] * 2 + ["inputGrad"] * 2 + ["gridGrad"] * 2]


def figure(data):
    """Return the figure of a grid sampler's data (`aclnn_viz.explorers.grid_sampler_2d_data.Data`).

    >>> from aclnn_viz.explorers.grid_sampler_2d_data import State, compute
    >>> sorted(axes.get_label() for axes in figure(compute(State())).axes)[:3]
    ['border', 'corners', 'gridGrad']
    """
    from matplotlib.figure import Figure
    drawn = Figure(figsize=(13, 8), dpi=100, layout="constrained")
    axes = drawn.subplot_mosaic(MOSAIC, height_ratios=[3, 1.4, 2.4])
    state = data.state
    drawn.suptitle("aclnnGridSampler2DBackward: a padding mode is a map of coordinates, and its slope multiplies gridGrad\n"
                   + "\n".join(f"{'▶ ' if k == state.paddingMode else ''}{name}: {text}"
                               for k, (name, text) in enumerate(zip(NAMES, headline(data)))), fontsize=10)
    low, high = min(0.0, data.outs.min()), max(1.0, data.outs.max())
    _image(axes["image"], data, low, high)
    _map(axes["map"], axes["slope"], data)
    _taps(axes["taps"], data, low, high)
    _corners(axes["corners"], data)
    for name, out in zip(NAMES, data.outs):
        _heat(axes[name], out, "grey", low, high)
        axes[name].set_title(f"out{plane(state)}, {name}", fontsize=9)
        axes[name].plot(state.column, state.row, "s", markersize=8, markerfacecolor="none", markeredgecolor="#d81b60")
    _heat(axes["inputGrad"], data.inputGrad, *scale(data.inputGrad))
    axes["inputGrad"].set_title(f"inputGrad{plane(state)}, {number(data.inputGrad.min())} to {number(data.inputGrad.max())}",
                                fontsize=9)
    _outline_taps(axes["inputGrad"], data)
    _arrows(axes["gridGrad"], data, low, high)
    return drawn


def _heat(axes, values, name, low, high, extent=None):
    axes.imshow(coloured(values, name, low, high), interpolation="nearest", extent=extent)
    axes.set(xticks=[], yticks=[])


def _image(axes, data, low, high):
    state, (rows, columns) = data.state, data.margin
    colours = MAPS["grey"][np.rint(np.clip((np.nan_to_num(data.surround) - low) / (high - low), 0, 1) * 255).astype(int)]
    faded = np.rint(0.45 * colours + 0.55 * 255).astype(np.uint8)
    faded[np.isnan(data.surround)] = 255
    inner = slice(rows, rows + state.height), slice(columns, columns + state.width)
    faded[inner] = colours[inner]
    left, top = -0.5 - columns, -0.5 - rows
    axes.imshow(faded, interpolation="nearest",
                extent=(left, state.width - 0.5 + columns, state.height - 0.5 + rows, top))
    edge = 0.0 if state.alignCorners else 0.5
    axes.plot(*_box(-edge, state.width - 1 + edge, -edge, state.height - 1 + edge), "--", color="#d81b60", linewidth=1)
    axes.plot(data.pixels[..., 0].ravel(), data.pixels[..., 1].ravel(), ".", color="#e69f00", markersize=3)
    u, v = data.pixels[data.chosen]
    for mode, (name, colour, _, _, marker) in enumerate(KINDS):
        column, row = data.sources[mode, :, 0]
        axes.plot([u, column], [v, row], "-", color=colour, linewidth=1.6 if mode == state.paddingMode else 0.7)
        axes.plot(column, row, marker, color=colour, markersize=7, markeredgecolor="white", label=name)
    axes.plot(u, v, "o", markersize=11, markerfacecolor="none", markeredgecolor="#d81b60", markeredgewidth=2)
    _outline_taps(axes, data)
    axes.set_xlim(left, state.width - 0.5 + columns)
    axes.set_ylim(state.height - 0.5 + rows, top)
    axes.set_title(f"image{plane(state)}, continued by {NAMES[state.paddingMode]}; dashed: x, y = -1 and 1", fontsize=9)
    narrow = state.height + 2 * rows > 3 * (state.width + 2 * columns)
    if narrow:
        axes.set_xticks([0])
    axes.legend(fontsize=7, loc="lower left", bbox_to_anchor=(1.0 if narrow else 0.0, 0.0))


def _box(left, right, top, bottom):
    return [left, right, right, left, left], [top, top, bottom, bottom, top]


def _outline_taps(axes, data):
    for row, column, *_, inside, _ in data.taps[data.state.paddingMode]:
        if inside:
            axes.plot(*_box(column - 0.5, column + 0.5, row - 0.5, row + 0.5), color="#d81b60", linewidth=0.9)


def _map(axes, below, data):
    axis = "xy".index(data.state.axis)
    size = (data.state.width, data.state.height)[axis]
    breaks = data.breaks[axis]
    here = float(data.inputs["grid"][(data.state.sample, *data.chosen, axis)])
    for mode, (name, colour, _, dash, marker) in enumerate(KINDS):
        style = {"color": colour, "linewidth": 2.2 if mode == data.state.paddingMode else 1.2,
                 "linestyle": (0, dash) if dash else "-"}
        axes.plot(breaks, data.coordinates[mode, axis], label=name, **style)
        kinks = data.kinks[mode, axis]
        axes.plot(breaks[kinks], data.coordinates[mode, axis][kinks], "D", color=colour, markersize=4,
                  markerfacecolor="none")
        axes.plot(here, data.sources[mode, axis, 0], marker, color=colour, markersize=8, markeredgecolor="white")
        below.stairs(data.slopes[mode, axis][~np.isnan(breaks[1:])], breaks[~np.isnan(breaks)], baseline=None, **style)
        below.plot(here, data.sources[mode, axis, 1], marker, color=colour, markersize=7, markeredgecolor="white")
    axes.axhspan(-0.5, size - 0.5, color="#808080", alpha=0.12)
    axes.set_ylim(-0.6 * size - 1, 1.6 * size)
    axes.set_title(f"sampled {'column' if axis == 0 else 'row'} for each {data.state.axis}; diamonds are kinks", fontsize=9)
    axes.legend(fontsize=7, loc="upper left")
    below.set_title(f"slope = multiplier of gridGrad; here {', '.join(signed(s) for s in data.sources[:, axis, 1])}",
                    fontsize=9)
    for each in (axes, below):
        each.axvline(here, color="#d81b60", linewidth=1)
        each.set_xlim(breaks[0], np.nanmax(breaks))


def _taps(axes, data, low, high):
    taps = data.taps[data.state.paddingMode]
    side = round(len(taps) ** 0.5)
    _heat(axes, taps[:, 6].reshape(side, side), "grey", low, high)
    for at, (row, column, weight, *_, inside, value) in enumerate(taps):
        dark = (value - low) / (high - low) < 0.55
        place = f"{row:.0f}, {column:.0f}" if inside else "outside"
        axes.text(at % side, at // side, f"{number(weight) if side < 4 else f'{weight:.2f}'}\n{place}", ha="center",
                  va="center", fontsize=9 - side, color="white" if dark else "black")
    axes.set_title("weights and pixels of the taps", fontsize=9)


def _corners(axes, data):
    from matplotlib.patches import Rectangle
    for line, (text, edge) in zip((0, 2.8), zip(corners(data), (0.5, 0.0))):
        here = (line > 0) == data.state.alignCorners
        for k in range(4):
            axes.add_patch(Rectangle((k - 0.5, line - 0.5), 1, 1, fill=False, linewidth=1.8 if here else 0.6))
            axes.plot(k, line, "k.", markersize=4)
        for x, label in ((-edge, "−1"), (3 + edge, "1")):
            axes.plot([x, x], [line - 0.8, line + 0.7], color="#d81b60", linewidth=2 if here else 0.8)
            axes.text(x, line - 0.85, label, ha="center", fontsize=7)
        axes.text(1.5, line + 1.0, text.split(":")[0] + (" (now)" if here else ""), ha="center", fontsize=7)
    axes.set(xlim=(-1.2, 4.2), ylim=(4.4, -1.6))
    axes.axis("off")


def _arrows(axes, data, low, high):
    state = data.state
    _heat(axes, data.inputs["input"][state.sample, state.channel].astype(np.float64), "grey", low - (high - low), high)
    shown = np.where(np.isfinite(data.gridGrad), data.gridGrad, 0.0)
    longest = float(np.hypot(shown[..., 0], shown[..., 1]).max())
    axes.quiver(data.pixels[..., 0], data.pixels[..., 1], shown[..., 0], shown[..., 1], angles="xy", color="#e69f00",
                scale_units="xy", scale=(longest or 1.0) / (0.14 * max(state.height, state.width)), width=0.006)
    axes.set_xlim(-0.5 - data.margin[1], state.width - 0.5 + data.margin[1])
    axes.set_ylim(state.height - 0.5 + data.margin[0], -0.5 - data.margin[0])
    sample = f" (n {state.sample})" if state.samples > 1 else ""
    axes.set_title(f"gridGrad{sample}, longest arrow {number(longest)}", fontsize=9)
