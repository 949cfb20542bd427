"""Compute truth, the exact outputs that judge others, with a certificate: a bound on the error of each element.

For inputs of at most 32 bits a page runs in float64 first (`aclnn_viz.arrays.float64_arrays`). Unclear elements are recomputed
in double-doubles (`aclnn_viz.arrays.double_double_arrays`), with which float64 inputs begin. An element is unclear if the
certificate does not determine the nearest number of the output's format. If there are more than a few, so is one whose error
may exceed a thousandth of the format's spacing.
"""

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass

import numpy as np

from aclnn_viz.arrays.decisions import MarkedArrays
from aclnn_viz.arrays.double_double import two_sum
from aclnn_viz.arrays.double_double_arrays import PreciseArray, PreciseArrays
from aclnn_viz.arrays.driver import combined, over_blocks, place_of, sizes_of, sums
from aclnn_viz.arrays.float64_arrays import SizedArray, SizedArrays
from aclnn_viz.arrays.functions import ZERO, spread
from aclnn_viz.arrays.multiples import settled
from aclnn_viz.dtypes import FLOAT64, FloatFormat, round_to
from aclnn_viz.words.messages import message


class Certified(np.ndarray):
    """A float64 array with its certificate: the array + `low` is within `error` of the exact numbers.

    Indexing and reshaping keep the certificate; arithmetic returns plain arrays without one.

    >>> truth = Certified(np.ones(3), np.zeros(3), np.full(3, 1e-20))
    >>> truth[1:].error.tolist(), type(truth + 1) is np.ndarray
    ([1e-20, 1e-20], True)
    """

    def __new__(cls, values, low, error):
        array = np.asarray(values, np.float64).view(cls)
        array.low, array.error = low, error
        return array

    def __array_finalize__(self, source):
        self.low = self.error = None  # `__new__` sets them; other views have neither

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        plain = [x.view(np.ndarray) if isinstance(x, Certified) else x for x in inputs]
        if "out" in options:
            options["out"] = tuple(
                x.view(np.ndarray) if isinstance(x, Certified) else x for x in options["out"]
            )
        return getattr(ufunc, method)(*plain, **options)

    def __array_function__(self, function, types, args, options):
        return (
            super().__array_function__(function, types, args, options)
            if self.error is None
            else function(*_plain(args), **_plain(options))
        )

    def _moved(self, move):
        values = move(self.view(np.ndarray))
        return (
            values
            if self.error is None or np.ndim(values) == 0 and not isinstance(values, np.ndarray)
            else Certified(values, move(self.low), move(self.error))
        )

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
    """Return the low part and the error of a truth, None for an array without a certificate."""
    return (truth.low, truth.error) if isinstance(truth, Certified) else (None, None)


def rounded_sum(high: np.ndarray, low, fmt: FloatFormat) -> np.ndarray:
    """Round high + low (float64, low may be None) once to the nearest number of the format, ties to even."""
    if low is None or not np.any(low):
        return round_to(high, fmt)
    given = np.asarray(high)
    high, low = (
        np.asarray(part) for part in two_sum(given, np.where(np.isfinite(given), low, 0.0))
    )
    zero = given == 0.0
    if zero.any():  # keep the sign of -0.0, which adding 0.0 would change
        high = np.where(zero & (high == 0.0), given, high)
    if fmt is not FLOAT64:
        # Rounding to odd keeps the side of a tie on which the sum lies.
        even = (np.atleast_1d(high).view(np.int64) & 1 == 0).reshape(high.shape)
        towards = np.where(low > 0.0, np.inf, -np.inf)
        high = np.where(np.isfinite(high) & (low != 0.0) & even, np.nextafter(high, towards), high)
    return round_to(high, fmt)


def doubtful(high: np.ndarray, low: np.ndarray, error: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    """Return where a number of a 16-bit or float32 format may be undecided, or err by a thousandth of a spacing.

    A few cheap tests that miss none, before `undecided` rounds twice.
    """
    size, reach, unsure = np.abs(high), np.abs(low) + error if np.any(low) else error, error > 0.0
    # `size * 2**-bits` is less than a spacing, so a false test means that reach is below 2**-10
    # of it.
    may = ~(reach <= size * 2.0 ** (-10 - fmt.significand_bits))
    # A tie is in reach only if the bits that rounding drops are close to 1000...: within 2**-9 of
    # their range.
    dropped = 53 - fmt.significand_bits
    window = 1 << (dropped - 9)
    behind = high.view(np.int64) + (window - (1 << (dropped - 1)))
    behind &= (1 << dropped) - 1
    may |= behind <= 2 * window
    small = size < 2.0**fmt.min_exponent
    small &= unsure
    if small.any():  # all subnormals have the same spacing
        steps, far = size / fmt.smallest_subnormal, reach / fmt.smallest_subnormal
        may |= small & ((np.abs(steps - np.floor(steps) - 0.5) <= 1.1 * far) | (far > 2.0**-10))
    if not size.max(initial=0.0) <= 0.99 * fmt.largest:  # numbers near overflow, and nan
        may |= ~(size <= 0.99 * fmt.largest)
    may &= unsure
    return may


def undecided(high: np.ndarray, low: np.ndarray, error: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    """Return where the certificate does not determine which number of the format is nearest to the exact one."""
    high, low, error = (np.asarray(part) for part in (high, low, error))
    with np.errstate(all="ignore"):
        near = np.asarray(
            doubtful(high, low, error, fmt)
            if fmt is not FLOAT64
            else ~(np.abs(low) + 1.01 * error < 0.24 * spacing(np.abs(high), fmt))
        )
        near &= error > 0.0
        if near.any():
            sides = np.array([[-1.01], [1.01]]) * error[near]
            # Take the next number outwards, because a low part of half a spacing may hide a far
            # smaller error.
            below, above = rounded_sum(
                high[near], np.nextafter(low[near] + sides, np.copysign(np.inf, sides)), fmt
            )
            near[near] = ~(below == above) | np.isinf(sides[1])
    return near


def spacing(size: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    """Return the spacing of the format at nonnegative float64 numbers."""
    power = (
        (np.ascontiguousarray(size).view(np.int64) & (0x7FF << 52))
        .view(np.float64)
        .reshape(size.shape)
    )
    return np.maximum(power, 2.0**fmt.min_exponent) * 2.0 ** (1 - fmt.significand_bits)


# elements of a block: in smaller blocks, calls would cost more than arithmetic
ELEMENTS = 1 << 17
CERTAIN_ERROR = 1e-3  # largest error of a certain element, in spacings of the output's format
# largest share of elements with larger errors, or with doubts too costly to resolve
DOUBTFUL_SHARE = 5e-4
CHEAP = 1 / 16  # the largest share of a block recomputed for a single element


class Truth(dict):
    """Outputs by name, each a `Certified` float64 array; `error` and `low` hold the parts of the certificates by name.

    `truth[name] + truth.low[name]` is within `truth.error[name]` of the exact numbers, and `truth[name]` is the float64 number
    nearest to that sum. An infinite error means that nothing is known. `computed_in` names the arithmetic.
    """

    def __init__(self, outputs, computed_in: str):
        super().__init__(outputs)
        self.computed_in = computed_in

    @property
    def error(self) -> dict[str, np.ndarray]:
        return {name: value.error for name, value in self.items()}

    @property
    def low(self) -> dict[str, np.ndarray]:
        return {name: value.low for name, value in self.items()}


@dataclass(eq=False)
class Certifier:
    """One page with its inputs: `axes`, `arrays`, `attributes` and `results` are those of `driver.evaluate`.

    `prelude(namespace, arrays)` returns more arrays, made from whole inputs.
    """

    page: Callable
    axes: Mapping[str, str]
    arrays: Mapping
    attributes: Mapping
    results: Mapping
    prelude: Callable | None = None

    def __post_init__(self):
        self.given = {name: array for name, array in self.arrays.items() if array is not None}
        self.summed = {*sums(self.axes, self.given, self.results)}
        self.parts = {name: np.zeros((3, *result.shape)) for name, result in self.results.items()}
        self._preluded = {}
        self.narrow = all(
            array.dtype.itemsize < 8
            for array in self.given.values()
            if array.dtype.kind not in "iub"
        )

    def truth(self) -> Truth:
        """Compute every output in float64, and in double-double what float64 leaves unclear."""
        with np.errstate(all="ignore"):
            unclear = (
                self._in_float64() if self.narrow else dict.fromkeys(self.results, (None, None))
            )
            for letter, names in _by_letter(unclear).items():
                rows = (
                    None
                    if letter is None
                    else np.unique(np.concatenate([unclear[name][1] for name in names]))
                )
                self._in_double_double(names, letter, rows)
        outputs = {
            name: Certified(*(part.reshape(result.documented_shape) for part in self.parts[name]))
            for name, result in self.results.items()
        }
        return Truth(
            outputs,
            message(
                "float64 with error bounds, and double-double (106 bits) where the bounds are too wide"
            )
            if self.narrow
            else message("double-double (106 bits) with error bounds"),
        )

    def _in_float64(self) -> dict[str, tuple]:
        """Store the results for which float64 suffices; return {output that needs more: (letter, rows)}."""

        def run(block, inputs):
            xp = SizedArrays()
            values = self._values(xp, block, inputs)
            for name in self.results.keys() - self.summed:
                self._store(name, block, values[name])
            self._refine(block, inputs, xp.open)
            return {name: None if xp.open else values[name] for name in self.summed}

        blocks = list(over_blocks(run, self.axes, self.given, ELEMENTS))
        open_ = {name for name in self.summed if any(values[name] is None for _, values in blocks)}
        closed = [name for name in self.results if name not in open_]
        for name, block, total in combined(self.axes, self.given, closed, blocks):
            self._store(name, block, total)
        return dict.fromkeys(open_, (None, None)) | self._unclear_rows(self.summed - open_)

    def _unclear_rows(self, names):
        """Return {output: (its longest letter, the rows along it that need more digits)} for outputs that need any."""
        sizes, found = sizes_of(self.axes, self.given), {}
        for name in names:
            mask = self._unclear(name, self.parts[name])
            if mask.any():
                letter = max(self.axes[name].replace(".", ""), key=sizes.get, default=None)
                found[name] = (
                    letter,
                    letter and np.flatnonzero(_rows_with_any(mask, self.axes[name].find(letter))),
                )
        return found

    def _in_double_double(self, names, letter, rows) -> None:
        """Compute outputs again; an output with the axis `letter` only in `rows`, or whole if `rows` is None."""

        def run(block, inputs):
            values = self._precise(_rows_of(block, letter, rows), inputs)
            for name in names - self.summed:
                self._store(name, block, values[name])
            return {name: values[name] for name in names & self.summed}

        given = (
            self.given
            if rows is None
            else {name: self._rows(array, name, letter, rows) for name, array in self.given.items()}
        )
        for name, block, total in combined(
            self.axes, given, names, over_blocks(run, self.axes, given, ELEMENTS)
        ):
            self._store(name, _rows_of(block, letter, rows), total)

    def _precise(self, block, inputs):
        """Return the values of a block in double-double; results that depend on open decisions are unknown."""
        xp = PreciseArrays()
        values = self._values(xp, block, inputs)
        if xp.open:
            marked = self._values(MarkedArrays(), block, inputs)
            for name, value in values.items():
                value.error = np.where(
                    marked[name].marks, np.inf, 0.0 if value.error is None else value.error
                )
        return values

    def _values(self, xp, block, inputs):
        """Return the page's results on a block."""
        arrays = {
            name: None if name not in self.given else xp.given(inputs[name]) for name in self.arrays
        }
        for name, array in self._of_prelude(xp).items():
            arrays[name] = array[place_of(array, self.axes[name], block)]
            arrays[name].xp = xp
        attributes = {
            name: xp.given(value) if isinstance(value, float) and hasattr(xp, "open") else value
            for name, value in self.attributes.items()
        }
        return self.page(xp, **arrays, **attributes)

    def _of_prelude(self, xp):
        """Return the cached arrays that the prelude computes from the whole inputs in the number system of `xp`."""
        if self.prelude is None:
            return {}
        if type(xp) not in self._preluded:
            own = copy(xp)
            whole = {
                name: None if array is None else own.given(array)
                for name, array in self.arrays.items()
            }
            self._preluded[type(xp)] = self.prelude(own, whole), getattr(own, "open", False)
        arrays, open_ = self._preluded[type(xp)]
        if open_:
            xp.decided(False)
        return arrays

    def _store(self, name, block, value):
        place = place_of(self.parts[name], "." + self.axes[name], block)
        if isinstance(value, SizedArray):
            part = self.parts[name][place]
            part[0], part[2] = value.data, value.error
            if not np.isfinite(part[2]).all() or not np.isfinite(part[0]).all():
                part[2] = np.where(np.isfinite(part[0]) & (part[2] == part[2]), part[2], np.inf)
        else:
            self.parts[name][place] = _parts(value)

    def _unclear(self, name, parts):
        """Return the mask of an output's elements that need more digits."""
        fmt = self.results[name].format
        if fmt is FLOAT64:
            return undecided(*parts, fmt)
        mask = doubtful(*parts, fmt)
        if mask.any():
            high, low, error = (part[mask] for part in parts)
            found, loose = (
                undecided(high, low, error, fmt),
                ~(error <= CERTAIN_ERROR * spacing(np.abs(high), fmt)),
            )
            mask[mask] = found | loose if loose.sum() > DOUBTFUL_SHARE * mask.size else found
        return mask

    def _refine(self, block, inputs, everything: bool):
        """Recompute the unclear elements of outputs that are not sums, together with their rows."""
        mapped = self.results.keys() - self.summed
        if not mapped:
            return
        sizes = {
            letter: block[letter].stop - block[letter].start
            for letter in sizes_of(self.axes, self.given)
        }
        letter = max(sizes, key=sizes.get, default=None)
        rows, many = np.full(sizes.get(letter, 1), everything), everything
        for name in mapped:
            parts = self.parts[name][place_of(self.parts[name], "." + self.axes[name], block)]
            mask = self._unclear(name, parts)
            if not mask.any():
                continue
            many |= mask.mean() > DOUBTFUL_SHARE
            axis = self.axes[name].find(letter) if letter else -1
            rows |= _rows_with_any(mask, axis) if letter else mask.any()
        if not rows.any() or rows.mean() > CHEAP and not many:
            return
        chosen = np.flatnonzero(rows)
        inputs = {name: self._rows(array, name, letter, chosen) for name, array in inputs.items()}
        place = block | {letter: block[letter].start + chosen} if letter else block
        values = self._precise(place, inputs)
        for name in mapped:
            self._store(name, place, values[name])

    def _rows(self, array, name, letter, chosen):
        axis = self.axes[name].find(letter) if letter else -1
        return array if axis < 0 or array.shape[axis] == 1 else np.take(array, chosen, axis=axis)


def _by_letter(unclear):
    """Return {letter: outputs to recompute at some places of this axis}, or {None: all outputs} if one has no letter."""
    letters = {letter for letter, _ in unclear.values()}
    return (
        {
            letter: {name for name, (own, _) in unclear.items() if own == letter}
            for letter in letters
        }
        if None not in letters
        else {None: set(unclear)}
    )


def _rows_of(block, letter, rows):
    """Return a block reduced to some rows along a letter (None: all)."""
    return block if rows is None else block | {letter: rows[block[letter]]}


def _rows_with_any(mask, axis):
    """Return the mask of places along an axis (-1: any) at which the mask has a True."""
    return mask.any(axis=tuple(k for k in range(mask.ndim) if k != axis))


def _parts(value: PreciseArray) -> np.ndarray:
    """Return (high, low, error) of an array of double-doubles, stacked."""
    high, low, error = (
        spread(ZERO if part is None else part, value.shape)
        for part in (value.high, value.low, value.error)
    )
    return np.stack(
        [high, low, error]
        if value.multiples is None or value.exact
        else settled((high, low), error, value.multiples)
    )
