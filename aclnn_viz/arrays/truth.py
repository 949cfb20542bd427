"""Truth with a certificate: a page over precise number systems, block by block, and a bound on the error of each element.

For inputs of at most 32 bits a page runs in float64 first (`aclnn_viz.arrays.sized`). What that leaves unclear is
computed again in double-doubles (`aclnn_viz.arrays.precise`), in which float64 inputs run from the start. Unclear is an
element whose nearest number of the output's format the certificate does not tell, and, where there are more than a
few of them, one whose error may be more than a thousandth of the format's spacing there.
"""

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np

from aclnn_viz.arrays.anchors import ExactArrays
from aclnn_viz.arrays.certified import Certified, doubtful, spacing, undecided
from aclnn_viz.arrays.driver import adds, combined, over_blocks, part_of, sizes_of
from aclnn_viz.arrays.plan import HOST
from aclnn_viz.arrays.multiples import settled
from aclnn_viz.arrays.precise import PreciseArray, PreciseArrays
from aclnn_viz.arrays.sized import SizedArray, SizedArrays
from aclnn_viz.dtypes import FLOAT64

ELEMENTS = 1 << 16  # of a block: many small steps, which would cost more than their arithmetic on smaller ones
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
        self.narrow = all(array.dtype.itemsize < 8 for array in self.given.values() if array.dtype.kind not in "iub")

    def truth(self) -> Truth:
        """Compute every output, as accurately as it needs."""
        with np.errstate(all="ignore"):
            unclear = self._in_float64() if self.narrow else self.results.keys()
            if unclear:
                self._in_double_double(unclear)
        outputs = {name: Certified(*(part.reshape(result.documented_shape) for part in self.parts[name]))
                   for name, result in self.results.items()}
        return Truth(outputs, "float64 with error bounds, and double-double (106 bits) where these are too wide"
                     if self.narrow else "double-double (106 bits) with error bounds")

    def _in_float64(self) -> set[str]:
        """Fill in what float64 is enough for; return the outputs that it is not enough for."""
        def run(block, inputs):
            xp = SizedArrays()
            values = self._values(xp, self._wide[SizedArrays], block, inputs)
            for name in self.results.keys() - self.summed:
                self._store(name, block, values[name])
            self._refine(block, inputs, xp.open)
            return {name: None if xp.open else values[name] for name in self.summed}

        self._prepare(SizedArrays)
        blocks = list(over_blocks(run, self.axes, self.given, ELEMENTS, False))
        open_ = {name for name in self.summed if any(values[name] is None for _, values in blocks)}
        closed = [name for name in self.results if name not in open_]
        for name, block, total in combined(self.axes, self.given, closed, blocks):
            self._store(name, block, total)
        return open_ | {name for name in self.summed - open_ if self._unclear(name, self.parts[name]).any()}

    def _in_double_double(self, names) -> None:
        def run(block, inputs):
            values = self._precise(block, inputs)
            for name in names - self.summed:
                self._store(name, block, values[name])
            return {name: values[name] for name in names & self.summed}

        names = set(names)
        self._prepare(PreciseArrays)
        for name, block, total in combined(self.axes, self.given, names, over_blocks(
                run, self.axes, self.given, ELEMENTS, False)):
            self._store(name, block, total)

    def _precise(self, block, inputs):
        """The values of a block in double-double; nothing is known of what hangs on decisions that are too close."""
        xp = PreciseArrays()
        values = self._values(xp, self._wide[PreciseArrays], block, inputs)
        if xp.open:
            marked = self._values(ExactArrays(HOST, "float64"), self._bounded, block, inputs)
            for name, value in values.items():
                decisions = marked[name].decisions
                if decisions is not None:
                    value.error = np.where(decisions != 0, np.inf, 0.0 if value.error is None else value.error)
        return values

    def _values(self, xp, more, block, inputs):
        """What the page returns on a block; `more` are the arrays of the prelude over the same number system."""
        arrays = {name: None if name not in self.given else xp.given(inputs[name]) for name in self.arrays}
        for name, array in more.items():
            arrays[name] = part_of(array, self.axes[name], block)
            arrays[name].xp = xp
        attributes = {name: xp.given(value) if isinstance(value, float) and hasattr(xp, "open") else value
                      for name, value in self.attributes.items()}
        return self.page(xp, **arrays, **attributes)

    def _prepare(self, *namespaces):
        """Run the prelude over whole inputs before threads ask for it."""
        self._wide = getattr(self, "_wide", {})
        for namespace in (*namespaces, PreciseArrays):
            if namespace not in self._wide:
                self._wide[namespace] = self._preluded(namespace())

    @cached_property
    def _bounded(self):
        return self._preluded(ExactArrays(HOST, "float64"))

    def _preluded(self, xp):
        if self.prelude is None:
            return {}
        return self.prelude(xp, {name: None if array is None else xp.given(array)
                                 for name, array in self.arrays.items()})

    def _store(self, name, block, value):
        part = part_of(self.parts[name], "." + self.axes[name], block)
        if isinstance(value, SizedArray):
            part[0], part[2] = value.data, value.error
            if not np.isfinite(part[2]).all() or not np.isfinite(part[0]).all():
                part[2] = np.where(np.isfinite(part[0]) & (part[2] == part[2]), part[2], np.inf)
        else:
            part[...] = _parts(value)

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
            many |= bool(mask.size) and mask.mean() > FEW
            axis = self.axes[name].find(letter) if letter else -1
            rows |= np.moveaxis(mask, axis, 0).reshape(len(rows), -1).any(axis=1) if letter else mask.any()
        if not rows.any() or rows.mean() > CHEAP and not many:
            return
        chosen = np.flatnonzero(rows)
        inputs = {name: self._rows(array, name, letter, chosen) for name, array in inputs.items()}
        values = self._precise(_Rows(block, letter, chosen), inputs)
        for name in mapped:
            part = part_of(self.parts[name], "." + self.axes[name], block)
            axis = 1 + self.axes[name].find(letter) if letter else 0
            np.moveaxis(part, axis, 0)[chosen if letter else slice(None)] = np.moveaxis(_parts(values[name]), axis, 0)

    def _rows(self, array, name, letter, chosen):
        axis = self.axes[name].find(letter) if letter else -1
        return array if axis < 0 or array.shape[axis] == 1 else np.take(array, chosen, axis=axis)


class _Rows(dict):
    """A block of which some rows along a letter are left: what it cuts out of arrays that the prelude made."""

    def __init__(self, block, letter, chosen):
        super().__init__(block)
        if letter:
            self[letter] = block[letter].start + chosen


def _parts(value: PreciseArray) -> np.ndarray:
    """(high, low, error) of an array of double-doubles, stacked."""
    zero = np.zeros(value.shape)
    high, low, error = (np.broadcast_to(zero if part is None else part, value.shape)
                        for part in (value.high, value.low, value.error))
    return np.stack([high, low, error] if value.multiples is None or value.exact else
                    settled((high, low), error, value.multiples))
