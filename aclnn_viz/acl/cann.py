"""`CannAcl`: drive a real device from Python through CANN's libraries; each C function is a method with typed arguments and
result.

Sources: "Initialization and deinitialization", CANN runtime reference; "two-phase API", CANN documentation; the header files of
an installation, if any.
"""

import ctypes
import re
from functools import partial
from pathlib import Path

import numpy as np

from aclnn_viz.acl import protocol
from aclnn_viz.acl.installation import (
    Libraries,
    PrototypeDiffers,
    address,
    find,
    named_custom,
    origin,
    reconciled,
)
from aclnn_viz.acl.protocol import (
    ARRAYS,
    FUNCTIONS,
    INTEGERS,
    RUNTIME,
    Context,
    Executor,
    Function,
    Handle,
    Scalar,
    Stream,
    Tensor,
    operator_with,
    phases,
)
from aclnn_viz.errors import DeviceRefusal, mistyped, problem
from aclnn_viz.operators import operators
from aclnn_viz.operators.contract import Contract, contract
from aclnn_viz.operators.parameters import Parameter
from aclnn_viz.operators.products import Version


class CannHandle(Handle):
    """A pointer from the library; equal to every object of the same kind and address."""

    def __init__(self, pointer):
        self.pointer = pointer
        self.number = ctypes.cast(pointer, ctypes.c_void_p).value

    def __eq__(self, other):
        return type(other) is type(self) and other.number == self.number

    def __hash__(self):
        return hash((self.c_type, self.number))


def _handle_type(kind: type) -> type:
    """Return a handle class with its own pointer type, so that ctypes refuses one kind in place of another."""
    name = kind.c_type.rstrip(" *")
    opaque = type(name, (ctypes.Structure,), {})
    return type(
        f"Cann{kind.__name__}", (CannHandle, kind), {"pointer_type": ctypes.POINTER(opaque)}
    )


HANDLES = {
    kind.c_type: _handle_type(kind) for kind in (Tensor, *ARRAYS, Scalar, Executor, Stream, Context)
}
_VALUES = {"double": ctypes.c_double, "float": ctypes.c_float, "bool": ctypes.c_bool} | {
    name: getattr(ctypes, f"c_{'' if signed else 'u'}int{bits}")
    for name, (bits, signed) in INTEGERS.items()
}
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
    return (
        ctypes.c_void_p
        if text == "void *"
        else ctypes.POINTER(c_type(text.removesuffix("*").strip()))
    )


class Binding:
    """A function of the libraries, with its types, as a Python method.

    `strings` keeps arguments for `char *`: generated operators store the address and read it when they run. `release` frees an
    array that the library allocated for the caller.
    """

    def __init__(self, function: Function, symbol, strings: dict[str, bytes], release):
        symbol.argtypes = [c_type(p.c_type) for p in function.parameters]
        symbol.restype = c_type(function.return_type)
        self.symbol, self._strings, self._release = symbol, strings, release
        self._function, self._count = function, len(function.inputs)
        self._inputs = [self._input(function.name, p) for p in function.inputs]
        self._result = self._result_of(function.return_type)
        # For each parameter that the caller does not pass: its position, and the ctypes class of
        # its output value. None: the parameter takes the length of the array before it.
        self._others = [
            (k, symbol.argtypes[k]._type_ if p.c_type.endswith("*") else None)
            for k, p in enumerate(function.parameters)
            if p.role != "in"
        ]
        self._counts_output = [
            function.parameters[k].role == "count" for k, kind in self._others if kind
        ]

    def method(self):
        """Return the function as a method: it checks and converts positional or keyword arguments."""
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
                result.made_of = arguments  # keep the arrays alive: the library may read them later
            return result
        return (result, *self._function.nothing) if result else (result, *self._values(outputs))

    def _values(self, outputs) -> list:
        values = []
        for holder, counts in zip(outputs, self._counts_output):
            if counts:  # the values are the preceding argument, whose memory the caller owns
                array = values.pop()
                values.append(tuple(array[: holder.value]) if array else ())
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
        general = partial(protocol.convert, function, parameter.name, declared)
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
            except TypeError:  # ctypes takes int alone, not NumPy's integers
                pass
        values = general(value)
        return None if values is None else (element * len(values))(*values)

    return to_c


def _pointer(general, kind: type | None):
    """Return a converter for handles and plain memory: a device address, a NumPy array, or null."""

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
            raise mistyped(
                "a handle must come from CANN's libraries",
                f"{value!r} of the emulator",
                "make it with the same acl object",
            )
        return value if kind is None else ctypes.cast(value, kind.pointer_type)

    return to_c


def _handle_of(pointer) -> CannHandle | None:
    return _KINDS[type(pointer)](pointer) if pointer else None


_KINDS = {kind.pointer_type: kind for kind in HANDLES.values()}


class FunctionUnavailable(DeviceRefusal, RuntimeError):
    """The installation lacks this function, or declares another one under its name; the message says which."""


class _Process:
    """A key for the state of one loaded runtime in this process, shared by all CannAcl objects that use the runtime."""


# the key of each loaded runtime library, by the address of its function aclInit
_PROCESSES: dict[int | None, _Process] = {}


class CannAcl:
    """The C API of the CANN installed at `root`, or found by `set_env.sh` or at the default places.

    The methods are those of `HostAcl`: C names, C arguments in C order without the out-pointers; they return the status
    followed by the out-values. They raise only TypeError, for arguments that C would not compile, and FunctionUnavailable, for
    functions in `unavailable`. `custom` names a library of custom operators, or a directory of such; they replace the vendor's.

    `cann` is the version and `cann_source` where it was read; `soc` asks the device, and is None without one.
    `operator_libraries` names the file of each usable operator, `prototypes` its declaration. `stand_in` is the text of a
    library that only imitates CANN, else None. Raises DeviceUnavailable if there is nothing to load.

    >>> from aclnn_viz.acl import CannAcl, DeviceUnavailable
    >>> try:
    ...     CannAcl(root="/nowhere")
    ... except DeviceUnavailable as error:
    ...     print(str(error).partition(";")[0])
    an Atlas device needs CANN's libraries: got /nowhere (root=): no such directory
    """

    def __init__(self, root=None, custom=None):
        self.installation = find(root)
        self.libraries = Libraries(
            self.installation, tuple(named_custom(custom)) if custom is not None else ()
        )
        self.unavailable: dict[str, str] = {}
        self.operator_libraries: dict[str, Path] = {}
        self.prototypes: dict[str, str] = {}
        self.stand_in = self._stand_in()
        self.cann, self.cann_source = self._version()
        self._strings: dict[str, bytes] = {}
        self._delete = self._delete_array()
        self.bindings: dict[str, Binding] = {}
        for function in RUNTIME:
            self._offer(function)
        for op in operators():
            self._offer_operator(contract(op))
        start = self.libraries.find("aclInit")
        self.process = _PROCESSES.setdefault(start and address(start), _Process())

    def _delete_array(self):
        """Return C++'s delete[] from the libraries, which frees the arrays that aclGetView* returns."""
        delete = self.libraries.find("_ZdaPv")
        if delete is None:
            return lambda array: None
        delete.argtypes, delete.restype = [ctypes.c_void_p], None
        return delete

    def _offer(self, function: Function) -> None:
        symbol = self.libraries.find(function.name)
        if symbol is None:
            self._refuse(function, f"no library exports {function.name}")
        else:
            self._bind(function, symbol)

    def _bind(self, function: Function, symbol) -> None:
        binding = self.bindings[function.name] = Binding(
            function, symbol, self._strings, self._delete
        )
        setattr(self, function.name, binding.method())

    def _refuse(self, function: Function, reason: str) -> None:
        self.unavailable[function.name] = "; ".join([reason, *self.libraries.failures])

    def __getattr__(self, name: str):
        """Bind the two phases of an operator that was opened from a folder later."""
        late = operator_with(name)
        if late is None or name in self.__dict__.get("unavailable", ()):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        for function in phases(late):
            setattr(CannAcl, function.name, _method(function))
        self._offer_operator(late)
        return getattr(self, name)

    def _offer_operator(self, operator: Contract) -> None:
        """Bind both phases of an operator from one library if its header agrees, or neither."""
        functions, name = phases(operator), operator.name
        symbols = [self.libraries.find(function.name) for function in functions]
        try:
            for function, symbol in zip(functions, symbols):
                if symbol is None:
                    raise PrototypeDiffers(f"no library exports {function.name}")
            files = [origin(symbol) for symbol in symbols]
            if files[0] != files[1]:
                raise PrototypeDiffers(
                    f"{functions[0].name} is in {files[0]}, {functions[1].name} in {files[1]}"
                )
            header = self._header(operator.operator.header, files[0])
            if header is not None:
                functions = [reconciled(function, header) for function in functions]
        except PrototypeDiffers as reason:
            for function in functions:
                self._refuse(function, str(reason))
            return
        self.operator_libraries[name] = files[0]
        self.prototypes[name] = str(header or "built-in table")
        for function, symbol in zip(functions, symbols):
            self._bind(function, symbol)

    def _header(self, name: str, library: Path) -> Path | None:
        """Return an operator's header; custom packages install it beside their library."""
        beside = library.parent.parent / "include" / name
        return beside if beside.exists() else self.installation.header(name)

    def _stand_in(self) -> str | None:
        version = self.libraries.find("standin_version")
        if version is None:
            return None
        version.argtypes, version.restype = [], ctypes.c_char_p
        return version().decode()

    def _version(self) -> tuple[Version, str]:
        text = re.search(r"\d[\w.-]*", self.stand_in or "")
        return (Version.parse(text[0]), self.stand_in) if text else self.installation.version()

    @property
    def soc(self) -> str | None:
        return self.aclrtGetSocName()

    @property
    def custom_operators(self) -> list[str]:
        """The operators that come from a library named by `custom`."""
        custom = {path.resolve() for path in self.libraries.custom}
        return [name for name, file in self.operator_libraries.items() if file.resolve() in custom]

    @property
    def misuse(self) -> list[str]:
        """Always empty: the libraries do not report misuse that they miss."""
        return []

    def __repr__(self) -> str:
        return f"CannAcl({str(self.installation.root)!r}, cann={str(self.cann)!r})"


def _method(function: Function):
    """Return the class's method for a function, which raises FunctionUnavailable.

    If the libraries have the function, the instance holds an attribute of the same name, which Python finds first.
    """

    def method(acl, /, *args, **kwargs):
        function.convert(args, kwargs)
        raise FunctionUnavailable(
            problem(
                f"{function.name} must be usable",
                acl.unavailable[function.name],
                "see what `aclnn-viz device` found, and install the CANN or the operator package that has it",
            )
        )

    method.__name__ = function.name
    method.__qualname__ = f"CannAcl.{function.name}"
    method.__doc__ = function.prototype
    method.__signature__ = function.signature
    return method


for _function in FUNCTIONS:
    setattr(CannAcl, _function.name, _method(_function))
