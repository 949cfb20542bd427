"""Whether the grid sampler's picture on the screen is that of a state: the colours of all cells, and the words."""

import numpy as np
from aclnn_viz.pictures.palette import coloured, scale

# The colours in the middles of the cells of a heat map that fills its panel, rows x columns x 3.
CELLS = """([selector, rows, columns]) => {
    const canvas = document.querySelector(selector + " canvas"), context = canvas.getContext("2d");
    const size = Math.min((canvas.width - 2) / columns, (canvas.height - 2) / rows);
    const left = (canvas.width - size * columns) / 2, top = (canvas.height - size * rows) / 2;
    const { data } = context.getImageData(0, 0, canvas.width, canvas.height), found = [];
    for (let r = 0; r < rows; r += 1) for (let c = 0; c < columns; c += 1) {
        const at = 4 * (Math.floor(top + (r + 0.5) * size) * canvas.width + Math.floor(left + (c + 0.5) * size));
        found.push([data[at], data[at + 1], data[at + 2]]);
    }
    return found;
}"""


def check(opened, state):
    """Raise AssertionError unless the picture shown is that of the state."""
    data = opened.data(state)
    low, high = min(0.0, data.outs.min()), max(1.0, data.outs.max())
    maps = [(f".ae-out:nth-of-type({k + 3})", out, ("grey", low, high)) for k, out in enumerate(data.outs)]
    for selector, values, colours in [*maps, (".ae-inputGrad", data.inputGrad, scale(data.inputGrad))]:
        drawn = np.array(opened.page.evaluate(CELLS, [selector, *values.shape])).reshape(*values.shape, 3)
        far = np.abs(drawn - coloured(values, *colours).astype(int)).max(-1) > 3
        if max(values.shape) > 40:
            far = far[1:-1, 1:-1]  # the frame covers most of a small cell
        marks = 1 if "out" in selector else 16 + int((data.inputGrad < 0).sum())  # outlines and minus signs
        assert far.sum() <= marks, f"{selector}: {far.sum()} of {far.size} cells are of another colour"
    words = opened.page.text_content(".aclnn-explorer .ae-twin pre")
    assert f"Chosen point ({state.row}, {state.column})" in words
