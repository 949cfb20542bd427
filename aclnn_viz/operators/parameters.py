"""Read an operator's parameters (the type that C declares, what Python may pass), and bind keyword arguments to them in the
vendor's order.
"""

import inspect
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import TypeVar

import numpy as np

from aclnn_viz.dtypes import BFLOAT16
from aclnn_viz.errors import invalid, mistyped
from aclnn_viz.operators.shapes import is_plain
from aclnn_viz.storage.foreign_arrays import as_array

REQUIRED = object()

#: The Python type for each C type.
KINDS = {
    "aclTensor *": "tensor",
    "int64_t": "int",
    "bool": "bool",
    "double": "float",
    "float": "float",
    "char *": "str",
    "uint64_t": "int",
    "int32_t": "int",
    "int8_t": "int",
    "int": "int",
    "aclDataType": "int",
    "aclScalar *": "float",
    "aclBoolArray *": "bools",
    "aclIntArray *": "ints",
    "aclFloatArray *": "floats",
}
#: Element types of arrays of plain values.
ARRAYS = {"bools": "bool", "ints": "int", "floats": "float"}

_ACCEPTED = {
    "int": (int, np.integer),
    "bool": (bool, np.bool_),
    "float": (int, float, np.integer, np.floating),
    "str": (str,),
}
# arrays of these types are passed unchanged
_NUMBERS = {np.float32, np.float64, np.float16, BFLOAT16.numpy.type, np.int64, np.int32}
_PLAIN = {"int": int, "bool": bool, "float": float, "str": str}


@dataclass(frozen=True)
class Parameter:
    """One parameter: the vendor's name, the declared C type, and the purpose.

    `role` is "in", "out" for a pointer through which C writes a value, "count" for the element count of the array
    before it. `output` marks a tensor that the operator writes. `c_name` is the name in the C header where that
    differs from the documents'. Python binds `default` if the caller omits it. `shape` and `dtype` are the
    rules of a tensor (see `Tensor`); `values` are the allowed values, `low` and `high` the ends of the range;
    `length` is an array's number of elements, None for any; a `reserved` parameter is null; `names` may be passed instead of
    values.
    """

    name: str
    c_type: str = "const aclTensor *"
    role: str = "in"
    output: bool = False
    c_name: str | None = None
    default: object = REQUIRED
    shape: str | None = None
    dtype: str | None = None
    values: tuple = ()
    low: float | None = None
    high: float | None = None
    length: int | None = None
    names: Mapping = field(default_factory=dict)
    reserved: bool = False

    @cached_property
    def kind(self) -> str:
        """ "tensor", "int", "bool", "float", "str", or an array: "bools", "ints", "floats"."""
        return KINDS[self.c_type.removeprefix("const ")]

    @cached_property
    def optional(self) -> bool:
        """Return whether Python may omit the parameter."""
        return self.default is not REQUIRED

    @cached_property
    def floating(self) -> bool:
        """Return whether a tensor holds floating numbers."""
        return not is_plain(self.dtype or "")

    @property
    def required(self) -> bool:
        """Return whether C needs a pointer; a tensor or string that Python may omit may be null."""
        return self.kind != "str" and (self.kind != "tensor" or self.default is not None)

    def checked(self, value):
        """Return the value in plain form; raise TypeError for another kind, ValueError for a value that is not allowed."""
        if self.kind == "tensor":
            return self._tensor(value)
        if self.kind in ARRAYS:
            return self._array(value)
        value = self.named(value)
        value = (
            self._one(self.kind, value, f"pass one {self.kind}")
            if not (self.names and isinstance(value, str))
            else value
        )
        if self.values and value not in self.values:
            raise invalid(
                f"{self.name} must be one of {', '.join(map(self.shown, self.values))}",
                repr(value),
                "choose one",
            )
        return self._in_range(value)

    def named(self, value):
        """Return the value of a name; other values are returned unchanged."""
        return (
            next((one for one, name in self.names.items() if name == value), value)
            if isinstance(value, str)
            else value
        )

    def shown(self, value) -> str:
        """Return one of the values as text, with its name.

        >>> Parameter("mode", "int64_t", values=(0, 1), names={0: "zeros", 1: "border"}).shown(1)
        '1 (border)'
        """
        return f"{value!r} ({self.names[value]})" if value in self.names else repr(value)

    def _in_range(self, value):
        low, high = (
            (-np.inf if self.low is None else self.low),
            (np.inf if self.high is None else self.high),
        )
        if (low, high) != (-np.inf, np.inf) and not low <= value <= high:
            raise invalid(
                f"{self.name} must lie in [{low:g}, {high:g}]",
                repr(value),
                "pass a value in that range",
            )
        return value

    def _tensor(self, value):
        if (
            type(value) is np.ndarray
            and value.dtype.type in _NUMBERS
            and value.dtype.isnative
            and not self.reserved
        ):
            return value
        if value is None and self.optional:
            return None
        if self.reserved:
            raise invalid(
                f"{self.name} is reserved: it must be None", _described(value), "leave it out"
            )
        value = as_array(value, self.name, floating=self.floating)
        if isinstance(value, (np.ndarray, np.generic)):
            value = np.asarray(value)
            return value if value.dtype.isnative else value.astype(value.dtype.newbyteorder("="))
        raise mistyped(f"{self.name} is a tensor", _described(value), "pass a NumPy array")

    def _array(self, value) -> tuple:
        kind = ARRAYS[self.kind]
        if (
            not isinstance(value, (tuple, list, np.ndarray))
            or np.ndim(value) != 1
            or self.length not in (None, len(value))
            or not all(isinstance(v, _ACCEPTED[kind]) for v in value)
        ):
            count = {None: "a list of", 2: "a pair of"}.get(self.length, f"a list of {self.length}")
            example = (True, False, True) if kind == "bool" else (4, 16, 2)
            example = example[: self.length] if self.length else example
            raise mistyped(
                f"{self.name} is {count} {kind}s", _described(value), f"pass such as {example}"
            )
        return tuple(self._in_range(self._one(kind, v, f"pass {kind}s")) for v in value)

    def _one(self, kind: str, value, fix: str):
        wrong_bool = kind in ("int", "float") and isinstance(value, _ACCEPTED["bool"])
        if wrong_bool or not isinstance(value, _ACCEPTED[kind]):
            raise mistyped(f"{self.name} is of type {kind}", _described(value), fix)
        # a Python number compares without rounding to its format
        value = value.item() if isinstance(value, np.generic) else value
        if kind == "int" and self.c_type == "uint64_t" and 2**63 <= value < 2**64:
            value -= 2**64  # C stores a negative number as 2^64 larger
        too_large = kind == "int" and not -(2**63) <= value < 2**63
        too_large |= kind == "float" and sys.float_info.max < abs(value) != float("inf")
        if too_large:
            raise invalid(
                f"{self.name} must fit the C type, int64_t or double",
                _described(value),
                "pass a smaller number",
            )
        if kind == "float" and self.c_type == "float":
            return float(np.float32(value))  # C stores a float with 32 bits
        return _PLAIN[kind](value)

    def __repr__(self) -> str:
        return f"Parameter({self.name!r}, {self.c_type!r})"


def _described(value) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) < 60 else text[:57] + '...'}"


Method = TypeVar("Method")


class vendor_named:
    """Decorate a method that takes `**inputs`: `help` and tab completion then show the vendor's parameters.

    `attribute` names the tuple of parameters on the object.
    """

    def __init__(self, attribute: str):
        self.attribute = attribute

    # with this annotation, type checkers see the method as it was before decoration
    def __call__(self, method: Method) -> Method:
        self.method = method
        return self  # type: ignore[return-value]

    def __set_name__(self, owner, name: str):
        self.name = name

    def __get__(self, one, owner=None):
        if one is None:
            return self.method
        # not the method's name: under it, this call would hide a method set on the class later
        key = f"{self.name} as named by the vendor"
        if key in one.__dict__:
            return one.__dict__[key]

        @wraps(self.method)
        def call(**inputs):
            return self.method(one, **inputs)

        call.__signature__ = inspect.Signature(
            [
                inspect.Parameter(
                    p.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=p.default if p.optional else inspect.Parameter.empty,
                )
                for p in getattr(one, self.attribute)
            ]
        )
        one.__dict__[key] = call
        return call


def bind(what: str, parameters: Sequence[Parameter], inputs: dict) -> dict:
    """Return every parameter's value in the vendor's order, defaults filled in.

    Raise TypeError for an unknown or missing name and for a value of another kind; ValueError for a value that is not allowed.
    """
    if unknown := inputs.keys() - (names := [p.name for p in parameters]):
        name = next(name for name in inputs if name in unknown)
        raise mistyped(f"{what} takes {', '.join(names)}", f"{name!r}", "use the vendor's names")
    missing = [p.name for p in parameters if not p.optional and p.name not in inputs]
    if missing:
        given = ", ".join(inputs) or "nothing"
        raise mistyped(
            f"{what} needs {', '.join(missing)}", f"only {given}", "pass them by keyword"
        )
    return {
        p.name: p.checked(inputs[p.name]) if p.name in inputs else p.default for p in parameters
    }
