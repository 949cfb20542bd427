"""The axis of values in plots of errors: every number of the format takes equal space, and the empty stretch around zero is cut
out.

Numbers of a format are dense near zero, so that a linear axis would crowd all small values into one place. On ordinals
each power of two has the same width. Values of usual size leave the tiny numbers unused; they are cut out, and zero
keeps a place of its own.
"""

from dataclasses import dataclass

import numpy as np

from aclnn_viz.dtypes import FloatFormat, ordinals
from aclnn_viz.pictures.style import power_of_ten

GAP = 0.05  # of the span on either side of zero
MOST_TICKS = 9


@dataclass(frozen=True)
class OrdinalAxis:
    """Where ordinals lie in the picture: `cut` ordinals on either side of zero are left out, `gap` take their place."""

    format: FloatFormat
    low: int
    high: int
    cut: int
    gap: float

    def x(self, places: np.ndarray) -> np.ndarray:
        """Return the positions of ordinals, as float64: 0 lies at 0, what is beyond the axis at its ends."""
        places = np.clip(places, self.low, self.high)
        return np.sign(places) * np.maximum(
            np.abs(places).astype(np.float64) - self.cut + self.gap, 0
        )

    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Return positions and labels: powers of ten, or round numbers where less than three lie in the range."""
        chosen = [(v, label) for v, label in _candidates(self.format) if self._shows(v)]
        if len(chosen) < 3:
            chosen = self._linear()
        at = self.x(
            ordinals(
                np.array([v for v, _ in chosen], np.float64).astype(self.format.numpy), self.format
            )
        )
        kept, last = [], -np.inf
        apart = (self.x(np.array([self.high])) - self.x(np.array([self.low]))).item() / MOST_TICKS
        centre = [k for k, (v, _) in enumerate(chosen) if v == 0]
        for k in range(len(chosen)):
            near_zero = centre and k != centre[0] and abs(at[k]) < 0.5 * apart
            if k in centre or (at[k] - last >= max(apart, 1e-9) and not near_zero):
                kept.append((float(at[k]), chosen[k][1]))
                last = at[k]
        return tuple(kept)

    def _shows(self, value: float) -> bool:
        place = int(ordinals(np.array(value).astype(self.format.numpy), self.format))
        return self.low <= place <= self.high and (abs(place) >= self.cut or place == 0)

    def _linear(self):
        from matplotlib.ticker import MaxNLocator

        low, high = (float(value_at(np.array([p]), self.format)[0]) for p in (self.low, self.high))
        return [
            (v, f"{v:g}".replace("-", "−"))
            for v in MaxNLocator(6).tick_values(low, high)
            if self._shows(v)
        ]


def ordinal_axis(places: np.ndarray, fmt: FloatFormat) -> OrdinalAxis:
    """Return the axis that shows the ordinals `places`, of which there is at least one."""
    low, high = int(places.min()), int(places.max())
    least, most = np.iinfo(places.dtype).min, np.iinfo(places.dtype).max
    below = places.max(where=places < 0, initial=least)
    above = places.min(where=places > 0, initial=most)
    cut = min(int(above), -int(below)) if low or high else 0
    span = max(high, -low) - cut if low >= 0 or high <= 0 else high - low - 2 * cut
    return OrdinalAxis(fmt, low, high, cut, max(GAP * span, 1.0))


def value_at(places: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    """Return the numbers of ordinals as float64, the inverse of `aclnn_viz.dtypes.ordinals`.

    >>> from aclnn_viz.dtypes import FLOAT16
    >>> value_at(np.array([1, -15360]), FLOAT16).tolist()
    [5.960464477539063e-08, -1.0]
    """
    sign = np.where(places < 0, -1.0, 1.0)
    return sign * np.abs(places).astype(f"u{fmt.bits // 8}").view(fmt.numpy).astype(np.float64)


def _candidates(fmt: FloatFormat):
    least = int(np.ceil(np.log10(fmt.smallest_subnormal)))
    powers = range(least, int(np.floor(np.log10(fmt.largest))) + 1)
    return [
        *((-(10.0**k), "−" + power_of_ten(k)) for k in reversed(powers)),
        (0.0, "0"),
        *((10.0**k, power_of_ten(k)) for k in powers),
    ]
