"""Truth as an array: float64 numbers, what they lack of the exact numbers, and a bound on what is not known."""

import numpy as np

from aclnn_viz.arrays.double_double import two_sum
from aclnn_viz.dtypes import FLOAT64, FloatFormat, round_to


class Certified(np.ndarray):
    """A float64 array with its certificate: the array + `low` is within `error` of the exact numbers.

    Indexing and reshaping keep the certificate; arithmetic returns plain arrays, of which nothing is certified.

    >>> truth = Certified(np.ones(3), np.zeros(3), np.full(3, 1e-20))
    >>> truth[1:].error.tolist(), type(truth + 1) is np.ndarray
    ([1e-20, 1e-20], True)
    """

    def __new__(cls, values, low, error):
        array = np.asarray(values, np.float64).view(cls)
        array.low, array.error = low, error
        return array

    def __array_finalize__(self, source):
        self.low = self.error = None  # a view that this class does not make

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [x.view(np.ndarray) if isinstance(x, Certified) else x for x in inputs]
        if "out" in options:
            options["out"] = tuple(x.view(np.ndarray) if isinstance(x, Certified) else x for x in options["out"])
        return getattr(ufunc, method)(*plain, **options)

    def __array_function__(self, function, types, args, options):
        return super().__array_function__(function, types, args, options) if self.error is None else function(
            *_plain(args), **_plain(options))

    def _moved(self, move):
        values = move(self.view(np.ndarray))
        return values if self.error is None or np.ndim(values) == 0 and not isinstance(values, np.ndarray) else Certified(
            values, move(self.low), move(self.error))

    def __getitem__(self, index):
        return self._moved(lambda part: part[index])

    def reshape(self, *shape, **options):
        return self._moved(lambda part: part.reshape(*shape, **options))


def _plain(part):
    if isinstance(part, dict):
        return {name: _plain(value) for name, value in part.items()}
    if isinstance(part, (tuple, list)):
        return type(part)(_plain(value) for value in part)
    return part.view(np.ndarray) if isinstance(part, Certified) else part


def certificate(truth) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The low part and the error of a truth, None for an array without a certificate."""
    return (truth.low, truth.error) if isinstance(truth, Certified) else (None, None)


def rounded_sum(high: np.ndarray, low, fmt: FloatFormat) -> np.ndarray:
    """Round high + low (float64, low may be None) once to the nearest number of the format, ties to even."""
    if low is None:
        return round_to(high, fmt)
    if not np.any(low):
        return round_to(high, fmt)
    given = np.asarray(high)
    high, low = (np.asarray(part) for part in two_sum(given, np.where(np.isfinite(given), low, 0.0)))
    zero = given == 0.0
    if zero.any():  # -0.0 + 0.0 would lose the sign
        high = np.where(zero & (high == 0.0), given, high)
    if fmt is not FLOAT64:
        # Rounding to odd first keeps on which side of a tie the sum lies.
        even = (np.atleast_1d(high).view(np.int64) & 1 == 0).reshape(high.shape)
        towards = np.where(low > 0.0, np.inf, -np.inf)
        high = np.where(np.isfinite(high) & (low != 0.0) & even, np.nextafter(high, towards), high)
    return round_to(high, fmt)


def doubtful(high: np.ndarray, low: np.ndarray, error: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    """Where a number may be undecided, or err by a thousandth of a spacing: of a 16-bit or float32 format.

    A few cheap tests that miss none. Whoever asks `undecided` of these elements alone need not ask it of all.
    """
    size, reach, unsure = np.abs(high), np.abs(low) + error if np.any(low) else error, error > 0.0
    # A spacing is more than size * 2**-bits: so is reach below a 2**-10 of it, wherever this does not hold.
    may = ~(reach <= size * 2.0 ** (-10 - fmt.significand_bits))
    # Then a tie is within reach only if the bits behind the last one that is kept are within a 2**-9 of 1000...
    dropped = 53 - fmt.significand_bits
    window = 1 << (dropped - 9)
    behind = high.view(np.int64) + (window - (1 << (dropped - 1)))
    behind &= (1 << dropped) - 1
    may |= behind <= 2 * window
    small = size < 2.0**fmt.min_exponent
    small &= unsure
    if small.any():  # where one spacing serves all
        steps, far = size / fmt.smallest_subnormal, reach / fmt.smallest_subnormal
        may |= small & ((np.abs(steps - np.floor(steps) - 0.5) <= 1.1 * far) | (far > 2.0**-10))
    if not size.max(initial=0.0) <= 0.99 * fmt.largest:  # next to what overflows, or no number
        may |= ~(size <= 0.99 * fmt.largest)
    may &= unsure
    return may


def undecided(high: np.ndarray, low: np.ndarray, error: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    """Where the certificate does not tell which number of the format is nearest to the exact one."""
    high, low, error = (np.asarray(part) for part in (high, low, error))
    with np.errstate(all="ignore"):
        size, reach = np.abs(high), np.abs(low) + 1.01 * error
        if fmt is FLOAT64:
            near = np.asarray(~(reach < 0.24 * spacing(size, fmt)))
        else:
            # The bits behind the last one that is kept: a tie is where they are 1000...
            dropped = 53 - fmt.significand_bits
            rest, step = (size.view(np.int64) & ((1 << dropped) - 1)) - (1 << (dropped - 1)), spacing(size, fmt)
            # A quarter of a step below a power of two there is another tie.
            near = np.asarray(~((np.abs(rest) * 2.0**-dropped * step > reach) & (reach < 0.2 * step)))
            near |= size > 0.99 * fmt.largest  # next to what overflows
            small = size < 2.0**fmt.min_exponent  # where one spacing serves all
            if small.any():
                steps = size[small] / fmt.smallest_subnormal
                near[small] = ~(np.abs(steps - np.floor(steps) - 0.5) * fmt.smallest_subnormal > reach[small])
        near &= error > 0.0
        if near.any():
            reach = 1.01 * error[near]
            # The next number outwards: of a low part of half a spacing, the sum may drop an error that is far smaller.
            below, above = (rounded_sum(high[near], np.nextafter(low[near] + side, np.copysign(np.inf, side)), fmt)
                            for side in (-reach, reach))
            near[near] = ~(below == above) | np.isinf(reach)
    return near


def spacing(size: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    """The spacing of the format at numbers that are not negative, where they are as a float64."""
    power = (np.ascontiguousarray(size).view(np.int64) & (0x7FF << 52)).view(np.float64).reshape(size.shape)
    return np.maximum(power, 2.0**fmt.min_exponent) * 2.0 ** (1 - fmt.significand_bits)
