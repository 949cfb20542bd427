"""Compute the results of Ascend C's library calls on rows: by formulas in rows.toml, or in Python (reductions, sorted pairs).

Each function takes its sources as flat arrays, then numbers, and returns the values of each result.
"""

import math
import tomllib
from functools import lru_cache
from pathlib import Path

import numpy as np

from aclnn_viz.tiles.platforms import BLOCK

FORMULAS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
SHAPES = {
    "rows": lambda x, n: x.reshape(-1, n["columns"])[:, : n.get("real")],
    "wide": lambda x, n: x.reshape(-1, BLOCK // x.itemsize)[:, :1],
    "row": lambda x, n: x[: n["real"]],
    "each": lambda x, n: x[:, None],
    "flat": lambda x, n: x,
}
NAMES = vars(np) | {
    "sum": lambda x: x.sum(1, keepdims=True),
    "mean": lambda x: x.mean(1, keepdims=True),
    "max": lambda x: x.max(1, keepdims=True),
    "half": np.float16,
    "rounded_exp": lambda x: np.exp(x.astype(float)).astype(x.dtype),
    "sigmoid": lambda x: np.exp(-np.logaddexp(0, -x)),
    "erf": np.vectorize(math.erf, [float]),
    "erfc": np.vectorize(math.erfc, [float]),
    "bits": lambda x: np.unpackbits(x.astype(np.uint8), bitorder="little"),
    "spread": lambda x, rows, columns, each: (
        x.reshape(rows, columns).repeat(each[0], 0).repeat(each[1], 1)
    ),
}


@lru_cache(None)
def _code(text: str):
    return compile(text, "rows.toml", "eval")


def valued(text: str, known: dict):
    """Return the value of a formula from rows.toml."""
    return eval(_code(text), NAMES, known)  # noqa: S307


def formula(name: str, given) -> list:
    """Return the results of a call's formulas for its arguments."""
    one = FORMULAS[name]
    words = [word.split() for word in one["takes"].split(", ")]
    numbers = {word[-1]: value for word, value in zip(words, given) if len(word) == 1}
    known = numbers | {
        word[1]: SHAPES[word[0]](value, numbers).astype(np.float64)
        for word, value in zip(words, given)
        if len(word) == 2
    }
    for line in one.get("where", ()):
        left, _, right = line.partition(" = ")
        known[left] = valued(right, known)
    return [valued(text, known) for text in one["makes"]]


def Reduce(x, name, columns, real, last):
    """Return numpy's reduction `name` of each row or each column."""
    x = x.reshape(-1, columns)[:, :real]
    made = getattr(x.astype(np.float64) if x.dtype.kind not in "iu" else x, name)(axis=int(last))
    return (made if last else np.pad(made, (0, columns - real)),)


def _pairs(score, index):
    """Return scores and indices as pairs of 8 bytes, flat in the format of the scores."""
    pairs = np.zeros((score.size, 8 // score.itemsize), score.dtype)
    pairs[:, 0], pairs.view(np.uint32)[:, 1] = score.ravel(), index.ravel()
    return pairs.reshape(-1)


def Extract(pairs):
    pairs = np.ascontiguousarray(pairs).reshape(-1, 8 // pairs.itemsize)
    return pairs[:, 0], pairs.view(np.uint32)[:, 1]


def Sort(score, index, length):
    """Return each `length` scores in descending order; of equals the first comes first."""
    score, index = score.reshape(-1, length), index.reshape(-1, length)
    order = np.argsort(-score.astype(np.float64), 1, kind="stable")
    return (_pairs(*(np.take_along_axis(each, order, 1) for each in (score, index))),)


def Merge(*queues):
    score, index = Extract(np.concatenate(queues))
    return Sort(score, index, score.size)


def TopK(x, index, *rest):
    *finished, outer, real, k, largest = rest
    x = x.reshape(outer, -1)
    order = np.argsort((1 - 2 * largest) * x[:, :real].astype(np.float64), 1, kind="stable")[:, :k]
    index = np.broadcast_to(index.reshape(-1, x.shape[1]), x.shape) if index.size else None
    places = order if index is None else np.take_along_axis(index, order, 1)
    if finished:
        places = np.where(finished[0][:, None] != 0, real, places)
    return np.take_along_axis(x, order, 1), places
