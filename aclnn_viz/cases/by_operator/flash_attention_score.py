"""Generate test cases of attention: several query heads share a key head where possible; masks, prefixes and dropout follow the
options.
"""

import numpy as np

from aclnn_viz.cases.default import Draw
from aclnn_viz.operators import operator
from aclnn_viz.operators.flash_attention_score.declaration import PLACES

OF_PREFIX, BAND = (5, 6), 4


def laid(layout, batch, length, heads, size):
    """Return the shape of a tensor in a layout."""
    axes = {PLACES[layout][0]: batch, PLACES[layout][1]: length}
    if len(layout) == 3:
        return axes[0], axes[1], heads * size
    return tuple((axes | {2 if layout == "BSND" else 1: heads, 3: size})[k] for k in range(4))


def completed(source: Draw, shape) -> dict:
    """Complete the given options with numbers of heads, lengths of keys, prefixes and the window."""
    op, given = operator("flash_attention_score"), dict(source.given)
    layout, mode = (
        source.attribute(name, op.attributes[name].default)
        for name in ("inputLayout", "sparseMode")
    )
    if len(shape) == len(layout):  # other shapes are refused later
        flat, (at_batch, at_rows) = len(layout) == 3, PLACES[layout]
        wide = max(shape[-1], 1)
        heads = given.setdefault(
            "headNum",
            next(n for n in (4, 2, 1) if wide % n == 0)
            if flat
            else max(shape[layout.index("N")], 1),
        )
        size, kept = wide // heads if flat else shape[-1], heads // 2 if heads % 2 == 0 else heads
        batch, rows = shape[at_batch], shape[at_rows]
        asked = given.get("keyIn_shape", getattr(given.get("keyIn"), "shape", None)) or (rows + 2,)
        if len(asked) == 1:
            given["keyIn_shape"] = asked = laid(layout, batch, *asked, kept, size)
        columns, kept = (
            asked[at_rows],
            asked[-1] // size if flat and size else asked[layout.index("N")] if not flat else kept,
        )
        if (
            not isinstance(given.get("value"), np.ndarray)
            and len(narrow := given.get("value_shape", (size,))) == 1
        ):
            given["value_shape"] = laid(layout, batch, columns, kept, min(narrow[0], size))
        least = max(columns - rows, 0)
        if mode in OF_PREFIX:
            given["prefixOptional"] = given.get("prefixOptional") or tuple(
                min(least + k % 2, columns) for k in range(batch)
            )
        if mode == BAND:
            given.setdefault("preTokens", 2)
            given.setdefault("nextTokens", 1)
        if mode == 5:
            i, j = np.arange(rows)[:, None], np.arange(columns)
            hidden = [(j > i + columns - rows) & (j >= n) for n in given["prefixOptional"]]
            given.setdefault(
                "attenMaskOptional", np.reshape(hidden, (batch, 1, rows, columns)).astype(bool)
            )
    if source.attribute("keepProb", 1.0) == 1.0:
        given.setdefault("dropMaskOptional", None)
    return given


def rows_of(rows: int, n: int, seed: int, dtype: str) -> dict:
    """Return options with so many keys that a row of dq takes `n` terms in all."""
    size = min(n, 16)
    return {"shape": (1, 1, rows, size), "keyIn_shape": (1, 1, -(-n // size), size)}
