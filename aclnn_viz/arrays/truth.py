"""Truth with a certificate: a page over precise number systems, block by block, and a bound on the error of each element.

For inputs of at most 32 bits a page runs in float64 first (`aclnn_viz.arrays.sized`). What that leaves unclear is
computed again in double-doubles (`aclnn_viz.arrays.precise`), in which float64 inputs run from the start. Unclear is an
element whose nearest number of the output's format the certificate does not tell, and, where there are more than a
few of them, one whose error may be more than a thousandth of the format's spacing there.
"""

from collections.abc import Callable, Mapping
from copy import copy

import numpy as np

from aclnn_viz.arrays.anchors import ExactArrays
from aclnn_viz.arrays.certified import Certified, doubtful, spacing, undecided
from aclnn_viz.arrays.driver import adds, combined, over_blocks, part_of, place_of, sizes_of
from aclnn_viz.arrays.functions import ZERO, spread
from aclnn_viz.arrays.plan import HOST
from aclnn_viz.arrays.multiples import settled
from aclnn_viz.arrays.precise import PreciseArray, PreciseArrays
from aclnn_viz.arrays.sized import SizedArray, SizedArrays
from aclnn_viz.dtypes import FLOAT64

ELEMENTS = 1 << 17  # of a block: many small steps, which would cost more than their arithmetic on smaller ones
ENOUGH = 1e-3  # spacings of the output's format
FEW = 5e-4  # the share of elements that may err by more, or stay unclear where much would be computed again for them
CHEAP = 1 / 16  # the share of a block that is computed again for a single element


class Truth(dict):
    """Outputs by name, each a `Certified` float64 array; `error` and `low` hold the parts of the certificates by name.

    `truth[name] + truth.low[name]` is within `truth.error[name]` of the exact numbers, and `truth[name]` the float64
    number next to that sum. Where an error is infinite nothing is known. `computed_in` says in which arithmetic.
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


class Certifier:
    """One page with its inputs: `axes`, `arrays`, `attributes` and `results` are as `driver.evaluate` takes them.

    `prelude(namespace, arrays)` returns more arrays, made of whole inputs.
    """

    def __init__(self, page: Callable, axes: Mapping[str, str], arrays: Mapping, attributes: Mapping, results: Mapping,
                 prelude: Callable | None = None):
        self.page, self.axes, self.arrays, self.attributes, self.results = page, axes, arrays, attributes, results
        self.prelude = prelude
        self.given = {name: array for name, array in arrays.items() if array is not None}
        self.summed = {name for name in results if adds(axes, self.given, name)}
        self.parts = {name: np.zeros((3, *result.shape)) for name, result in results.items()}
        self._preluded = {}
        self.narrow = all(array.dtype.itemsize < 8 for array in self.given.values() if array.dtype.kind not in "iub")

    def truth(self) -> Truth:
        """Compute every output, as accurately as it needs."""
        with np.errstate(all="ignore"):
            unclear = self._in_float64() if self.narrow else dict.fromkeys(self.results, (None, None))
            for letter, names in _by_letter(unclear).items():
                rows = None if letter is None else np.unique(np.concatenate([unclear[name][1] for name in names]))
                self._in_double_double(names, letter, rows)
        outputs = {name: Certified(*(part.reshape(result.documented_shape) for part in self.parts[name]))
                   for name, result in self.results.items()}
        return Truth(outputs, "float64 with error bounds, and double-double (106 bits) where these are too wide"
                     if self.narrow else "double-double (106 bits) with error bounds")

    def _in_float64(self) -> dict[str, tuple]:
        """Fill in what float64 is enough for; return {output that it is not enough for: a letter and its rows}."""
        def run(block, inputs):
            xp = SizedArrays()
            values = self._values(xp, block, inputs)
            for name in self.results.keys() - self.summed:
                self._store(name, block, values[name])
            self._refine(block, inputs, xp.open)
            return {name: None if xp.open else values[name] for name in self.summed}

        blocks = list(over_blocks(run, self.axes, self.given, ELEMENTS, False))
        open_ = {name for name in self.summed if any(values[name] is None for _, values in blocks)}
        closed = [name for name in self.results if name not in open_]
        for name, block, total in combined(self.axes, self.given, closed, blocks):
            self._store(name, block, total)
        return dict.fromkeys(open_, (None, None)) | self._unclear_rows(self.summed - open_)

    def _unclear_rows(self, names):
        """{output: its longest letter, and the rows along it that need more digits}, of those outputs that need any."""
        sizes, found = sizes_of(self.axes, self.given), {}
        for name in names:
            mask = self._unclear(name, self.parts[name])
            if mask.any():
                letter = max(self.axes[name].replace(".", ""), key=sizes.get, default=None)
                found[name] = letter, letter and np.flatnonzero(_rows_with_any(mask, self.axes[name].find(letter)))
        return found

    def _in_double_double(self, names, letter, rows) -> None:
        """Compute outputs again; of those that have the letter, `rows` alone (None: all of them)."""
        def run(block, inputs):
            values = self._precise(block if rows is None else _Rows(block, letter, rows[block[letter]]), inputs)
            for name in names - self.summed:
                self._store(name, block, values[name])
            return {name: values[name] for name in names & self.summed}

        given = self.given if rows is None else {
            name: self._rows(array, name, letter, rows) for name, array in self.given.items()}
        for name, block, total in combined(self.axes, given, names, over_blocks(run, self.axes, given, ELEMENTS, False)):
            self._store(name, block if rows is None else _Rows(block, letter, rows[block[letter]]), total)

    def _precise(self, block, inputs):
        """The values of a block in double-double; nothing is known of what hangs on decisions that are too close."""
        xp = PreciseArrays()
        values = self._values(xp, block, inputs)
        if xp.open:
            marked = self._values(ExactArrays(HOST, "float64"), block, inputs)
            for name, value in values.items():
                decisions = marked[name].decisions
                if decisions is not None:
                    value.error = np.where(decisions != 0, np.inf, 0.0 if value.error is None else value.error)
        return values

    def _values(self, xp, block, inputs):
        """What the page returns on a block."""
        arrays = {name: None if name not in self.given else xp.given(inputs[name]) for name in self.arrays}
        for name, array in self._of_prelude(xp).items():
            arrays[name] = part_of(array, self.axes[name], block)
            arrays[name].xp = xp
        attributes = {name: xp.given(value) if isinstance(value, float) and hasattr(xp, "open") else value
                      for name, value in self.attributes.items()}
        return self.page(xp, **arrays, **attributes)

    def _of_prelude(self, xp):
        """The arrays that the prelude makes of whole inputs, over a number system: made once, when first asked for."""
        if self.prelude is None:
            return {}
        if type(xp) not in self._preluded:
            own = copy(xp)
            whole = {name: None if array is None else own.given(array) for name, array in self.arrays.items()}
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
        """Where an output needs more digits: a mask of its shape."""
        fmt = self.results[name].format
        if fmt is FLOAT64:
            return undecided(*parts, fmt)
        mask = doubtful(*parts, fmt)
        if mask.any():
            high, low, error = (part[mask] for part in parts)
            found, loose = undecided(high, low, error, fmt), ~(error <= ENOUGH * spacing(np.abs(high), fmt))
            mask[mask] = found | loose if loose.sum() > FEW * mask.size else found
        return mask

    def _refine(self, block, inputs, everything: bool):
        """Compute the unclear elements of the outputs that are no sums again, with all that shares their rows."""
        mapped = self.results.keys() - self.summed
        if not mapped:
            return
        sizes = {letter: block[letter].stop - block[letter].start for letter in sizes_of(self.axes, self.given)}
        letter = max(sizes, key=sizes.get, default=None)
        rows, many = np.full(sizes.get(letter, 1), everything), everything
        for name in mapped:
            parts = part_of(self.parts[name], "." + self.axes[name], block)
            mask = self._unclear(name, parts)
            if not mask.any():
                continue
            many |= mask.mean() > FEW
            axis = self.axes[name].find(letter) if letter else -1
            rows |= _rows_with_any(mask, axis) if letter else mask.any()
        if not rows.any() or rows.mean() > CHEAP and not many:
            return
        chosen = np.flatnonzero(rows)
        inputs = {name: self._rows(array, name, letter, chosen) for name, array in inputs.items()}
        place = _Rows(block, letter, block[letter].start + chosen) if letter else block
        values = self._precise(place, inputs)
        for name in mapped:
            self._store(name, place, values[name])

    def _rows(self, array, name, letter, chosen):
        axis = self.axes[name].find(letter) if letter else -1
        return array if axis < 0 or array.shape[axis] == 1 else np.take(array, chosen, axis=axis)


def _by_letter(unclear):
    """{letter: the outputs to compute again along it}; all of them whole, under None, when one has no letter."""
    letters = {letter for letter, _ in unclear.values()}
    return {letter: {name for name, (own, _) in unclear.items() if own == letter} for letter in letters} \
        if None not in letters else {None: set(unclear)}


class _Rows(dict):
    """A block of which some rows along a letter are left: what it cuts out of whole arrays."""

    def __init__(self, block, letter, rows):
        super().__init__(block)
        if letter:
            self[letter] = rows


def _rows_with_any(mask, axis):
    """Which places along an axis (-1: any of them) have a True somewhere."""
    return mask.any(axis=tuple(k for k in range(mask.ndim) if k != axis))


def _parts(value: PreciseArray) -> np.ndarray:
    """(high, low, error) of an array of double-doubles, stacked."""
    high, low, error = (spread(ZERO if part is None else part, value.shape)
                        for part in (value.high, value.low, value.error))
    return np.stack([high, low, error] if value.multiples is None or value.exact else
                    settled((high, low), error, value.multiples))
