"""Running median and maximum of errors along the axis of values, for plots: windows of equal count, each half over the next."""

from dataclasses import dataclass

import numpy as np

from aclnn_viz.pictures.errors import Errors

WINDOWS = 32  # across the sample
LEAST_ELEMENTS = 8  # elements in a window, where there are as many


@dataclass(frozen=True, eq=False)
class Windows:
    """Of each window: first and last truth, the ordinal of its middle, and the median and maximum of the errors.

    `size` is the count of a whole window; negative, zero and positive truths never share one. `bound` and `expected`
    are the largest of the elements' own envelopes in ulps, so that no explained element is drawn above them; None without.
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
                xs += [
                    x if np.ptp(x) > least else x.mean() + np.linspace(-least, least, x.size),
                    [np.nan],
                ]
                ys += [values[np.r_[there[0], there, there[-1]]], [np.nan]]
        return np.concatenate(xs), np.concatenate(ys)


def windows(errors: Errors) -> Windows:
    """Return the windows over the finite elements, of which there is at least one, in the order of the truth."""
    order, place = errors.order, errors.place
    size = min(order.size, max(LEAST_ELEMENTS, 2 * order.size // WINDOWS))
    ends = [np.count_nonzero((place < least) & errors.finite) for least in (0, 1)]
    parts = []  # the elements of each window
    for sign, group in zip((-1, 0, 1), np.split(order, ends)):
        last = max(group.size - size, 0) if sign else 0
        starts = {*range(0, last + 1, max(1, size // 2)), last} if group.size else ()
        parts += [group[start : start + size] if sign else group for start in sorted(starts)]

    def each(values, statistic):
        return None if values is None else np.array([statistic(values[part]) for part in parts])

    start, centre, end = (
        np.array([part[at(part.size)] for part in parts])
        for at in (lambda n: 0, lambda n: n // 2, lambda n: n - 1)
    )
    return Windows(
        size,
        np.array([part.size for part in parts]),
        errors.truth[start],
        errors.truth[end],
        place[start],
        place[centre],
        place[end],
        each(errors.ulps, np.median),
        each(errors.ulps, np.max),
        each(errors.bound, np.max),
        each(errors.expected, np.max),
    )


def thinned(count: int, most: int) -> np.ndarray:
    """At most `most` of so many ranks, evenly, the first and the last included."""
    return np.linspace(0, count - 1, min(count, most)).astype(np.intp)
