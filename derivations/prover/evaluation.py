"""Evaluate one expression on NumPy arrays: in float64, or with mpmath at any number of digits."""

from collections.abc import Mapping
from contextlib import nullcontext

import mpmath
import numpy as np
from sympy import Basic, Eq, KroneckerDelta, Piecewise, Symbol, lambdify
from sympy.core.function import AppliedUndef


def evaluate(e, values, indices=(), digits=None):
    """Return the values of `e` as an array with one axis for each of `indices`.

    `values` maps names (of arrays, symbols and sizes) to arrays and numbers. `indices` maps the free indices of `e`, in
    the order of the axes, to their lengths. Without `digits` the result is float64; with digits=50 an object array of
    mpmath numbers, computed from the exact values of the inputs.

    Raises KeyError for a name without a value, TypeError for other types than an expression and a mapping.

    >>> from sympy import IndexedBase, Sum, symbols
    >>> i, j, n = symbols("i j n", integer=True)
    >>> x = IndexedBase("x")
    >>> evaluate(x[i] / Sum(x[j], (j, 0, n - 1)), {"x": [1.0, 3.0], "n": 2}, {i: 2}).tolist()
    [0.25, 0.75]
    """
    if not isinstance(e, Basic) or not isinstance(values, Mapping):
        raise TypeError(
            "evaluate takes a SymPy expression and a dict of arrays and numbers by name: got "
            f'{type(e).__name__} and {type(values).__name__}; pass such as x[i] and {{"x": [1.0]}}'
        )
    indices, number = dict(indices), mpmath.mpf if digits else np.float64
    for unknown in e.atoms(AppliedUndef):
        raise KeyError(
            f"evaluate: got the function {unknown.func}; give an expression of known functions"
        )
    e = e.replace(KroneckerDelta, lambda a, b: Piecewise((1, Eq(a, b)), (0, True)))
    names = sorted({symbol.name for symbol in e.free_symbols - {*indices} if symbol.is_Symbol})
    with mpmath.workdps(digits + 3) if digits else nullcontext():
        given = [_Entries(name, values[name], number) for name in names]
        modules = "mpmath" if digits else "numpy"
        function = lambdify([*map(Symbol, names), *indices], e, modules)
        # mpmath's numbers for integers, too, because Python would divide integers in float64
        if digits:
            function.__globals__["range"] = lambda low, high: map(
                number, range(int(low), int(high))
            )
        result = np.empty(list(indices.values()), object if digits else float)
        for place in np.ndindex(result.shape):
            here = map(number, place) if digits else place
            result[place] = function(
                *(array if array.ndim else array[()] for array in given), *here
            )
    return result


class _Entries:
    """The entries of an array as numbers of one type; negative indices are refused."""

    def __init__(self, name, values, number):
        values = np.asarray(values)
        self.name, self.ndim = name, values.ndim
        self.values = values.astype(object)  # an array of Python numbers, which mpmath accepts
        self.number = int if values.dtype.kind in "iu" and number is np.float64 else number

    def __getitem__(self, index):
        index = tuple(map(int, index if isinstance(index, tuple) else (index,)))
        for axis, (at, length) in enumerate(zip(index, self.values.shape)):
            if not 0 <= at < length:
                raise IndexError(
                    f"evaluate: got an index outside axis {axis} of {self.name}, whose length is {length}; "
                    "give an array of the size that the sums run over"
                )
        return self.number(self.values[index])
