"""How Python values become C arguments: what C would not compile is a TypeError, all else is passed on.

Integers wrap to the width of their C type, as they do in C. `None` and 0 are the null pointer. Handles are opaque and
typed; `aclrtStream` and `aclrtContext` are `void *` in C, so that any pointer compiles there.
"""

import math
import operator
from collections.abc import Iterable
from numbers import Real

import numpy as np

from aclnn_viz.errors import problem
from aclnn_viz.operators.prototype import INTEGERS


class Handle:
    """An opaque pointer that the library gave out; handles are equal only to themselves."""

    c_type = "void *"
    number = 0

    def __repr__(self) -> str:
        return f"<{self.c_type.rstrip(' *')} {self.number}>"


class Tensor(Handle):
    c_type = "aclTensor *"


class BoolArray(Handle):
    c_type = "aclBoolArray *"


class IntArray(Handle):
    c_type = "aclIntArray *"


class FloatArray(Handle):
    c_type = "aclFloatArray *"


class Executor(Handle):
    c_type = "aclOpExecutor *"


class Stream(Handle):
    c_type = "aclrtStream"


class Context(Handle):
    c_type = "aclrtContext"


#: The kinds of array of plain values.
ARRAYS = (BoolArray, IntArray, FloatArray)
_HANDLES = {cls.c_type: cls for cls in (Tensor, *ARRAYS, Executor)}


class _Refused(Exception):
    """Carries what the parameter must be and what to do."""


def convert(function: str, name: str, c_type: str, value):
    """Return `value` as the C parameter would hold it; raises TypeError when C would not compile the call.

    >>> convert("aclrtSetDevice", "device_id", "int32_t", 2**32 + 1)
    1
    """
    plain = c_type.removeprefix("const ")
    try:
        if plain in INTEGERS:
            return _integer(value, *INTEGERS[plain])
        if plain == "double":
            return _double(value)
        if plain == "bool":
            return _bool(value)
        if value is None or _is_integer(value) and value == 0:
            return None
        if plain in _HANDLES:
            return _handle(value, _HANDLES[plain])
        if plain == "char *":
            return _string(value)
        if plain == "int64_t *":
            return tuple(_integer(v, 64, True) for v in _elements(value, "integers"))
        if plain == "bool *":
            return tuple(_bool(v) for v in _elements(value, "booleans"))
        if plain == "float *":
            return tuple(_float(v) for v in _elements(value, "numbers"))
        return _pointer(value, writable=not c_type.startswith("const "))
    except _Refused as refused:
        must_be, fix = refused.args
        got = f"{value!r:.60} ({type(value).__name__})"
        raise TypeError(problem(f"{function}: {name} ({c_type}) must be {must_be}", got, fix)) from None


def _is_integer(value) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _integer(value, bits: int, signed: bool) -> int:
    try:
        value = operator.index(value)
    except TypeError:
        raise _Refused("an integer", "pass an int") from None
    value %= 1 << bits
    return value - (1 << bits) if signed and value >> (bits - 1) else value


def _double(value) -> float:
    if not isinstance(value, Real):
        raise _Refused("a number", "pass a float")
    try:
        return float(value)
    except OverflowError:  # as a constant in C that is too large for a double
        return math.inf if value > 0 else -math.inf


def _float(value) -> float:
    with np.errstate(over="ignore"):
        return float(np.float32(_double(value)))


def _bool(value) -> bool:
    if not isinstance(value, (bool, np.bool_, int, np.integer)):
        raise _Refused("a boolean", "pass True or False")
    return bool(value)


def _string(value) -> str:
    if not isinstance(value, str):
        raise _Refused("a string or null", "pass a str, or None for the null pointer")
    return str(value).partition("\0")[0]


def _handle(value, kind: type) -> Handle:
    if not isinstance(value, kind):
        raise _Refused(f"an {kind.c_type.rstrip(' *')} or null", "pass the handle that the C API returned, or None")
    return value


def _elements(value, what: str) -> list:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise _Refused(f"a sequence of {what} or null", "pass a tuple or a list, or None for the null pointer")
    return list(value)


def _pointer(value, writable: bool):
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise _Refused("memory of numbers", "pass an array of a numeric dtype")
        if not value.flags.c_contiguous:
            raise _Refused("one dense block of memory", "pass numpy.ascontiguousarray(array)")
        if writable and not value.flags.writeable:
            raise _Refused("memory that may be written", "pass a writeable array")
        return value
    if isinstance(value, Handle):
        return value
    if _is_integer(value):
        return int(value) % (1 << 64)
    raise _Refused("a device address, a NumPy array or null", "pass an int from aclrtMalloc, an array, or None")
