"""One C function as a Python callable: every argument and result typed, from the prototype.

Common values take a short way; all others go through `conversion`, which refuses what C would not compile.
"""

import ctypes
from functools import partial

import numpy as np

from aclnn_viz.acl import conversion
from aclnn_viz.acl.conversion import ARRAYS, INTEGERS, Context, Executor, Handle, Stream, Tensor
from aclnn_viz.acl.protocol import Function
from aclnn_viz.errors import problem
from aclnn_viz.operators.parameters import Parameter


class CannHandle(Handle):
    """A pointer that the library gave out; equal to every other object of the same kind and address."""

    def __init__(self, pointer):
        self.pointer = pointer
        self.number = ctypes.cast(pointer, ctypes.c_void_p).value

    def __eq__(self, other):
        return type(other) is type(self) and other.number == self.number

    def __hash__(self):
        return hash((self.c_type, self.number))


def _handle_type(kind: type) -> type:
    """A handle class with a pointer type of its own, so that ctypes refuses one kind in the place of another."""
    name = kind.c_type.rstrip(" *")
    opaque = type(name, (ctypes.Structure,), {})
    return type(f"Cann{kind.__name__}", (CannHandle, kind), {"pointer_type": ctypes.POINTER(opaque)})


HANDLES = {kind.c_type: _handle_type(kind) for kind in (Tensor, *ARRAYS, Executor, Stream, Context)}
_VALUES = {"double": ctypes.c_double, "float": ctypes.c_float, "bool": ctypes.c_bool} | {
    name: getattr(ctypes, f"c_{'' if signed else 'u'}int{bits}") for name, (bits, signed) in INTEGERS.items()}
_ELEMENTS = {"int64_t *": ctypes.c_int64, "bool *": ctypes.c_bool, "float *": ctypes.c_float}


def c_type(declared: str):
    """Return the ctypes type of a parameter or result as declared in C.

    >>> c_type("const char *")
    <class 'ctypes.c_char_p'>
    """
    text = declared.removeprefix("const ")
    if text in ("aclError", "aclnnStatus"):
        return ctypes.c_int32
    if text in HANDLES:
        return HANDLES[text].pointer_type
    if text in _VALUES:
        return _VALUES[text]
    if text == "char *":
        return ctypes.c_char_p
    return ctypes.c_void_p if text == "void *" else ctypes.POINTER(c_type(text.removesuffix("*").strip()))


class Binding:
    """A function of the libraries, with its types, as a Python method.

    `strings` keeps what was passed as `char *`: generated operators store the address and read it when they run.
    `release` frees an array that the library allocated for the caller.
    """

    def __init__(self, function: Function, symbol, strings: dict[str, bytes], release):
        symbol.argtypes = [c_type(p.c_type) for p in function.parameters]
        symbol.restype = c_type(function.return_type)
        self.symbol, self._strings, self._release = symbol, strings, release
        self._function, self._count = function, len(function.inputs)
        self._inputs = [self._input(function.name, p) for p in function.inputs]
        self._result = self._result_of(function.return_type)
        self._failed = tuple(0 if p.name == "workspaceSize" else None for p in function.outputs)
        # Beside the inputs: the place, and what makes an out-value; None for the count of the array before.
        self._others = [(k, symbol.argtypes[k]._type_ if p.c_type.endswith("*") else None)
                        for k, p in enumerate(function.parameters) if p.role != "in"]
        self._counts_output = [function.parameters[k].role == "count" for k, kind in self._others if kind]

    def method(self):
        """The function as a method of an object: positional or keyword arguments, checked and converted."""
        implementation = self._call_with_others if self._others else self._call

        def method(*values, **keywords):
            return implementation(values, keywords)

        inputs = self._function.signature.parameters.values()
        method.__name__, method.__doc__ = self._function.name, self._function.prototype
        method.__signature__ = self._function.signature.replace(parameters=list(inputs)[1:])
        return method

    def _converted(self, values, keywords) -> list:
        if keywords or len(values) != self._count:
            values = self._function.convert(values, keywords)
        return [to_c(value) for to_c, value in zip(self._inputs, values)]

    def _call(self, values, keywords):
        return self._result(self.symbol(*self._converted(values, keywords)))

    def _call_with_others(self, values, keywords):
        arguments, outputs = self._converted(values, keywords), []
        for place, kind in self._others:
            if kind is None:
                array = arguments[place - 1]
                arguments.insert(place, 0 if array is None else len(array))
            else:
                outputs.append(kind())
                arguments.insert(place, outputs[-1])
        result = self._result(self.symbol(*arguments))
        if not outputs:
            if isinstance(result, CannHandle):
                result.made_of = arguments  # the library may go on reading arrays that it was given
            return result
        return (result, *self._failed) if result else (result, *self._values(outputs))

    def _values(self, outputs) -> list:
        values = []
        for holder, counts in zip(outputs, self._counts_output):
            if counts:  # the elements of the array before it, which the caller owns
                array = values.pop()
                values.append(tuple(array[:holder.value]) if array else ())
                self._release(array)
            elif type(holder) in _KINDS:
                values.append(_handle_of(holder))
            else:
                values.append(getattr(holder, "value", holder))
        return values

    def _result_of(self, declared: str):
        if declared.removeprefix("const ") == "char *":
            return lambda text: None if text is None else text.decode(errors="replace")
        return _handle_of if declared in HANDLES else lambda value: value

    def _input(self, function: str, parameter: Parameter):
        declared = "double" if parameter.c_type == "float" else parameter.c_type
        general = partial(conversion.convert, function, parameter.name, declared)
        text = declared.removeprefix("const ")
        if text in INTEGERS:
            return _integer(general, *INTEGERS[text])
        if text in ("double", "bool"):
            return general
        if text == "char *":
            return self._string(general)
        if text in _ELEMENTS:
            return _array(general, _ELEMENTS[text])
        return _pointer(general, HANDLES.get(text))

    def _string(self, general):
        def to_c(value):
            value = general(value)
            if value is None:
                return None
            return self._strings.setdefault(value, value.encode(errors="surrogateescape"))
        return to_c


def _integer(general, bits: int, signed: bool):
    low, high = (-(1 << bits - 1), 1 << bits - 1) if signed else (0, 1 << bits)

    def to_c(value):
        return value if type(value) is int and low <= value < high else general(value)
    return to_c


def _array(general, element):
    def to_c(value):
        if element is ctypes.c_int64 and type(value) is list:
            try:
                return (element * len(value))(*value)
            except TypeError:  # ctypes takes only int itself
                pass
        values = general(value)
        return None if values is None else (element * len(values))(*values)
    return to_c


def _pointer(general, kind: type | None):
    """Handles, and plain memory: a device address, a NumPy array, or null."""
    def to_c(value):
        if kind is None:
            if type(value) is int and 0 < value < 1 << 64:
                return value
        elif type(value) is kind:
            return value.pointer
        value = general(value)
        if value is None:
            return None
        if isinstance(value, np.ndarray):
            value = value.__array_interface__["data"][0]
        elif isinstance(value, CannHandle):
            value = value.number
        elif isinstance(value, Handle):
            raise TypeError(problem("a handle must come from CANN's libraries", f"{value!r} of the emulator",
                                    "make it with the same acl object"))
        return value if kind is None else ctypes.cast(value, kind.pointer_type)
    return to_c


def _handle_of(pointer) -> CannHandle | None:
    return _KINDS[type(pointer)](pointer) if pointer else None


_KINDS = {kind.pointer_type: kind for kind in HANDLES.values()}
