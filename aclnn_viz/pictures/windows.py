"""Running statistics along the axis of values: windows of equal count, each half over the next."""

from dataclasses import dataclass

import numpy as np

from aclnn_viz.pictures.errors import Errors

WINDOWS = 32  # across the sample
LEAST = 8  # elements in a window, where there are as many


@dataclass(frozen=True, eq=False)
class Windows:
    """Of each window: first and last truth, the ordinal of its middle, and the median and maximum of the errors.

    `size` is the count of a whole window; negative, zero and positive truths never share one. `bound` and `expected`
    are medians of the elements' own envelopes in ulps, None without an envelope.
    """

    size: int
    count: np.ndarray
    first: np.ndarray
    last: np.ndarray
    start: np.ndarray
    place: np.ndarray
    end: np.ndarray
    median: np.ndarray
    maximum: np.ndarray
    bound: np.ndarray | None
    expected: np.ndarray | None

    def curve(self, values: np.ndarray, axis) -> tuple[np.ndarray, np.ndarray]:
        """Positions and heights of a line through the windows: it spans all elements and breaks where the sign does.

        Truths of one place get a short line there: one without a length would not be seen.
        """
        xs, ys = [], []
        for sign in (-1, 0, 1):
            there = np.flatnonzero(np.sign(self.place) == sign)
            if there.size:
                x = axis.x(np.r_[self.start[there[0]], self.place[there], self.end[there[-1]]])
                least = (0.2 if sign else 0.4) * axis.gap
                xs += [x if np.ptp(x) > least else x.mean() + np.linspace(-least, least, x.size), [np.nan]]
                ys += [values[np.r_[there[0], there, there[-1]]], [np.nan]]
        return np.concatenate(xs), np.concatenate(ys)


def windows(errors: Errors) -> Windows:
    """Return the windows over the finite elements, of which there is at least one, in the order of the truth."""
    order = ordered(errors)
    size = min(order.size, max(LEAST, 2 * order.size // WINDOWS))
    parts = []
    for sign in (-1, 0, 1):
        group = order[np.sign(errors.place[order]) == sign]
        starts = range(0, max(group.size - size, 0) + 1, max(1, size // 2)) if sign else [0]
        parts += [group[s:s + size] if sign else group for s in starts if group.size]
        if sign and group.size > size and starts[-1] + size < group.size:
            parts.append(group[-size:])

    def each(values, f=np.median):
        return None if values is None else np.array([f(values[part]) for part in parts])

    return Windows(size, np.array([part.size for part in parts]), each(errors.truth, _first), each(errors.truth, _last),
                   each(errors.place, _first), each(errors.place, _middle), each(errors.place, _last),
                   each(errors.ulps), each(errors.ulps, np.max), each(errors.bound), each(errors.expected))


def ordered(errors: Errors) -> np.ndarray:
    """Positions of the finite elements in the order of the truth."""
    kept = np.flatnonzero(errors.finite)
    return kept[np.argsort(errors.place[kept], kind="stable")]


def thinned(positions: np.ndarray, most: int) -> np.ndarray:
    """At most `most` of the positions, evenly, the first and the last included."""
    if positions.size <= most:
        return positions
    return positions[np.linspace(0, positions.size - 1, most).astype(np.intp)]


def _first(values):
    return values[0]


def _middle(values):
    return values[len(values) // 2]


def _last(values):
    return values[-1]
