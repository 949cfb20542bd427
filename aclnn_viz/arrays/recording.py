"""Arrays that record: every element knows the input elements that it was made of, whatever NumPy did to it.

A kernel runs over them unchanged. What is recorded is data flow: an element that a comparison, an index or the other
side of a `where` looked at counts as read, one that was only looked at for its shape does not.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from aclnn_viz.arrays.elementary import in_numpy_arrays
from aclnn_viz.errors import problem

# Functions that only move elements: what is done to the values is done to their records.
MOVING = {
    np.reshape,
    np.ravel,
    np.transpose,
    np.moveaxis,
    np.swapaxes,
    np.concatenate,
    np.stack,
    np.expand_dims,
    np.squeeze,
    np.broadcast_to,
    np.flip,
    np.roll,
    np.repeat,
    np.tile,
    np.split,
    np.atleast_1d,
    np.copy,
}
# Functions that make each element of the result of all elements along an axis.
REDUCING = {np.sum, np.mean, np.max, np.min, np.prod, np.any, np.all, np.var, np.std}


class RecordingArray(NDArrayOperatorsMixin):
    """`values`, and `reads`: for each element the set of input elements that it depends on, as bits of an integer."""

    __array_priority__ = 1000

    def __init__(self, values, reads=None):
        self.values = np.asarray(values)
        self.reads = np.zeros(self.values.shape, object) if reads is None else reads

    shape = property(lambda self: self.values.shape)
    dtype = property(lambda self: self.values.dtype)
    ndim = property(lambda self: self.values.ndim)
    size = property(lambda self: self.values.size)
    T = property(lambda self: np.transpose(self))

    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            problem(
                "records are kept in recording arrays only",
                "one stored in, or made, a NumPy array",
                "make the target with zeros_like of an input, not with zeros",
            )
        )

    def __len__(self):
        return len(self.values)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if method == "at":
            target, index, *terms = inputs
            if not isinstance(target, RecordingArray):
                np.asarray(terms[0])
            return target._add_at(ufunc, index, *terms)
        if method == "reduce":
            return _reduced(lambda a: ufunc.reduce(a, **options), inputs[0], options)
        if method != "__call__":
            return NotImplemented
        out = options.pop("out", None)
        parts = [_lifted(x) for x in inputs]
        values = in_numpy_arrays(ufunc)(*(x.values for x in parts), **options)
        reads = _union(*(x.reads for x in parts))
        if isinstance(values, tuple):
            return tuple(RecordingArray(v, reads) for v in values)
        if out is None:
            return RecordingArray(values, reads)
        out[0].values[...], out[0].reads[...] = values, reads
        return out[0]

    def __array_function__(self, function, types, args, kwargs):
        if function in MOVING:
            parts = [
                function(*_each(args, name), **_each(kwargs, name)) for name in ("values", "reads")
            ]
            return (
                [RecordingArray(*both) for both in zip(*parts)]
                if isinstance(parts[0], list)
                else RecordingArray(*parts)
            )
        if function in REDUCING:
            return _reduced(
                lambda a: function(a, *args[1:], **kwargs), args[0], _axis_options(args, kwargs)
            )
        if function is np.where:
            condition, x, y = (_lifted(part) for part in args)
            return RecordingArray(
                np.where(condition.values, x.values, y.values),
                _union(condition.reads, np.where(condition.values, x.reads, y.reads)),
            )
        if function is np.clip:
            low, high = [
                *args[1:],
                *(kwargs[name] for name in ("a_min", "a_max", "min", "max") if name in kwargs),
            ]
            above = args[0] if low is None else np.maximum(args[0], low)
            return above if high is None else np.minimum(above, high)
        if function is np.take:
            return _taken(*args, **kwargs)
        if function in (np.zeros_like, np.ones_like, np.full_like):
            return RecordingArray(function(args[0].values, *args[1:], **kwargs))
        raise TypeError(
            problem(
                "recording arrays know the functions that kernels are made of",
                f"numpy.{function.__name__}",
                "write it with sums, takes, wheres and arithmetic",
            )
        )

    def __getitem__(self, index):
        index, looked_at = _index(index)
        reads = np.asarray(self.reads[index], object)  # of a view a view, which may be written to
        return RecordingArray(
            self.values[index], _union(reads, looked_at) if looked_at.any() else reads
        )

    def __setitem__(self, index, value):
        index, looked_at = _index(index)
        value = _lifted(value)
        self.values[index] = value.values
        self.reads[index] = _union(
            np.broadcast_to(value.reads, np.shape(self.values[index])), looked_at
        )

    def _add_at(self, ufunc, index, *terms):
        index, looked_at = _index(index)
        terms = [_lifted(term) for term in terms]
        ufunc.at(self.values, index, *(term.values for term in terms))
        shape = np.shape(self.values[index])
        np.bitwise_or.at(
            self.reads, index, np.broadcast_to(_union(looked_at, *(t.reads for t in terms)), shape)
        )

    def __iter__(self):
        return (self[k] for k in range(len(self)))

    def astype(self, dtype, copy=True):
        return RecordingArray(self.values.astype(dtype), self.reads.copy())

    def copy(self):
        return RecordingArray(self.values.copy(), self.reads.copy())

    def reshape(self, *shape):
        return np.reshape(self, shape[0] if len(shape) == 1 else shape)

    def sum(self, axis=None, keepdims=False):
        return np.sum(self, axis=axis, keepdims=keepdims)

    def mean(self, axis=None, keepdims=False):
        return np.mean(self, axis=axis, keepdims=keepdims)

    def max(self, axis=None, keepdims=False):
        return np.max(self, axis=axis, keepdims=keepdims)

    def ravel(self):
        return np.ravel(self)

    def transpose(self, *axes):
        return np.transpose(self, axes or None)


@dataclass(frozen=True, eq=False)
class Recording:
    """Which input elements each output element was made of, and the outputs themselves.

    `places` maps an input to the number of its first element among all elements of the inputs.
    """

    outputs: dict[str, np.ndarray]
    records: dict[str, np.ndarray]
    places: dict[str, tuple[int, tuple[int, ...]]]

    def reads(self, output: str, index: tuple[int, ...], input: str) -> np.ndarray:
        """Return a mask of an input's shape: the elements that one element of an output was made of."""
        first, shape = self.places[input]
        bits = self.records[output][index] >> first
        return np.array([bits >> k & 1 for k in range(int(np.prod(shape)))], bool).reshape(shape)

    def counts(self, output: str, input: str) -> np.ndarray:
        """Return, for each element of an output, how many elements of an input it was made of."""
        first, shape = self.places[input]
        mask = ((1 << int(np.prod(shape))) - 1) << first
        counts = [(record & mask).bit_count() for record in self.records[output].ravel()]
        return np.array(counts, int).reshape(self.records[output].shape)


def record(kernel: Callable, inputs: dict, outputs) -> Recording:
    """Run `kernel(**inputs)` over recording arrays; `outputs` are the names of what it returns, in order.

    Only floating inputs are recorded: integers keep their values, for they are indices. Raises TypeError for a NumPy
    function that recording arrays do not know.

    >>> seen = record(lambda a, b: {"c": a + b.sum()}, {"a": np.ones(2), "b": np.ones(3)}, ["c"])
    >>> seen.reads("c", (0,), "a").tolist(), seen.counts("c", "b").tolist()
    ([True, False], [3, 3])
    """
    places, given, first = {}, {}, 0
    for name, value in inputs.items():
        if not isinstance(value, np.ndarray) or value.dtype.kind in "iub":
            given[name] = value
            continue
        bits = np.array([1 << (first + k) for k in range(value.size)], object).reshape(value.shape)
        given[name] = RecordingArray(value.copy(), bits)
        places[name] = first, value.shape
        first += value.size
    with np.errstate(all="ignore"):
        returned = kernel(**given)
    if not isinstance(returned, dict):
        returned = dict(
            zip(outputs, returned if isinstance(returned, (tuple, list)) else (returned,))
        )
    made = {name: _lifted(value) for name, value in returned.items()}
    return Recording(
        {name: one.values for name, one in made.items()},
        {name: one.reads for name, one in made.items()},
        places,
    )


def _lifted(x) -> RecordingArray:
    return x if isinstance(x, RecordingArray) else RecordingArray(x)


def _union(*reads):
    total = reads[0]
    for more in reads[1:]:
        total = np.bitwise_or(total, more)
    return np.asarray(total, object)


def _each(part, name: str):
    """A structure of arguments with every recording array replaced by one of its two parts."""
    if isinstance(part, dict):
        return {key: _each(value, name) for key, value in part.items()}
    if isinstance(part, (tuple, list)):
        return type(part)(_each(value, name) for value in part)
    if isinstance(part, RecordingArray):
        return getattr(part, name)
    if name == "reads" and isinstance(part, np.ndarray) and part.dtype.kind == "f":
        return np.zeros(part.shape, object)
    return part


def _index(index):
    """An index in plain NumPy, and what the elements that computed it had read."""
    parts = index if isinstance(index, tuple) else (index,)
    looked_at = np.zeros((), object)
    for part in parts:
        if isinstance(part, RecordingArray):
            looked_at = (
                part.reads
                if part.values.dtype.kind != "b"
                else np.bitwise_or.reduce(part.reads, axis=None)
            )
    plain = tuple(part.values if isinstance(part, RecordingArray) else part for part in parts)
    return plain if isinstance(index, tuple) else plain[0], looked_at


def _taken(a, indices, axis=None, **options):
    a, indices = _lifted(a), _lifted(indices)
    reads = np.take(a.reads, indices.values, axis=axis)
    around = [np.newaxis] * reads.ndim
    start = 0 if axis is None else axis % a.ndim
    around[start : start + indices.ndim] = [slice(None)] * indices.ndim
    return RecordingArray(
        np.take(a.values, indices.values, axis=axis), _union(reads, indices.reads[tuple(around)])
    )


def _axis_options(args, kwargs) -> dict:
    options = {name: value for name, value in kwargs.items() if name in ("axis", "keepdims")}
    return options | ({"axis": args[1]} if len(args) > 1 else {})


def _reduced(function, array, options):
    axis, keepdims = options.get("axis"), options.get("keepdims", False)
    axes = tuple(range(array.ndim)) if axis is None else axis
    reads = np.bitwise_or.reduce(array.reads, axis=axes, keepdims=bool(keepdims))
    return RecordingArray(function(array.values), np.asarray(reads, object))
