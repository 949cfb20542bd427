"""CannAcl: CANN's C API through its real libraries.

Sources: "Initialization and deinitialization", CANN runtime reference; "two-phase API", CANN documentation; the header
files of an installation, where there are any.
"""

import ctypes
import re
from pathlib import Path

from aclnn_viz.acl.binding import Binding
from aclnn_viz.acl.headers import PrototypeDiffers, reconciled
from aclnn_viz.acl.installation import find, named_custom
from aclnn_viz.acl.loader import Libraries, address, origin
from aclnn_viz.acl.protocol import FUNCTIONS, RUNTIME, Function, operator_with, phases
from aclnn_viz.errors import problem
from aclnn_viz.operators import operators
from aclnn_viz.operators.contract import Contract, contract
from aclnn_viz.operators.products import Version


class FunctionUnavailable(RuntimeError):
    """The installation has no such function, or another one under its name; the message says which."""


class _Process:
    """Stands for the state that one runtime keeps in this process, whatever objects drive it."""


_PROCESSES: dict[int | None, _Process] = {}  # by the address of aclInit


class CannAcl:
    """The C API of the CANN that is installed at `root`, or where `set_env.sh` or the default places say.

    The methods are those of `HostAcl`: C names, C arguments in C order without the out-pointers; they return the status
    followed by the out-values. They raise TypeError for arguments that C would not compile, FunctionUnavailable for
    what `unavailable` names, and nothing else. `custom` names a library of custom operators, or a directory that holds
    such, whose operators take the place of the vendor's.

    `cann` is the version and `cann_source` tells where it was read; `soc` asks the device, and is None without one.
    `operator_libraries` names the file that each usable operator comes from, `prototypes` what declares it. `stand_in`
    is the text of a library that only imitates CANN, else None. Raises DeviceUnavailable when there is nothing to load.

    >>> from aclnn_viz.acl import CannAcl, DeviceUnavailable
    >>> try:
    ...     CannAcl(root="/nowhere")
    ... except DeviceUnavailable as error:
    ...     print(str(error).partition(";")[0])
    an Atlas device needs CANN's libraries: got /nowhere (root=): no such directory
    """

    def __init__(self, root=None, custom=None):
        self.installation = find(root)
        self.libraries = Libraries(self.installation, tuple(named_custom(custom)) if custom is not None else ())
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
        """C++'s delete[], for the arrays that aclGetView* leave to the caller; it comes with the libraries."""
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
        binding = self.bindings[function.name] = Binding(function, symbol, self._strings, self._delete)
        setattr(self, function.name, binding.method())

    def _refuse(self, function: Function, reason: str) -> None:
        self.unavailable[function.name] = "; ".join([reason, *self.libraries.failures])

    def __getattr__(self, name: str):
        """Bind the two phases of an operator that was opened from a folder since."""
        late = operator_with(name)
        if late is None or name in self.__dict__.get("unavailable", ()):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        for function in phases(late):
            setattr(CannAcl, function.name, _method(function))
        self._offer_operator(late)
        return getattr(self, name)

    def _offer_operator(self, operator: Contract) -> None:
        """Bind both phases of an operator, or neither: from one library, and as its header declares them."""
        functions, name = phases(operator), operator.name
        symbols = [self.libraries.find(function.name) for function in functions]
        try:
            for function, symbol in zip(functions, symbols):
                if symbol is None:
                    raise PrototypeDiffers(f"no library exports {function.name}")
            files = [origin(symbol) for symbol in symbols]
            if files[0] != files[1]:
                raise PrototypeDiffers(f"{functions[0].name} is in {files[0]}, {functions[1].name} in {files[1]}")
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
        """A custom package installs its headers beside its library."""
        beside = library.parent.parent / "include" / name
        return beside if beside.exists() else self.installation.header(name)

    def _stand_in(self) -> str | None:
        version = self.libraries.find("standin_version")
        if version is None:
            return None
        version.argtypes, version.restype = [], ctypes.c_char_p
        return version().decode()

    def _version(self) -> tuple[Version, str]:
        told = re.search(r"\d[\w.-]*", self.stand_in or "")
        return (Version.parse(told[0]), self.stand_in) if told else self.installation.version()

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
        """Always empty: the libraries do not tell what they did not notice."""
        return []

    def __repr__(self) -> str:
        return f"CannAcl({str(self.installation.root)!r}, cann={str(self.cann)!r})"


def _method(function: Function):
    """The method of the class, which says why the function is unavailable.

    An instance whose libraries have the function keeps it as an attribute of the same name, which Python finds first.
    """
    def method(acl, /, *args, **kwargs):
        function.convert(args, kwargs)
        raise FunctionUnavailable(problem(
            f"{function.name} must be usable", acl.unavailable[function.name],
            "see what `aclnn-viz device` found, and install the CANN or the operator package that has it"))

    method.__name__ = function.name
    method.__qualname__ = f"CannAcl.{function.name}"
    method.__doc__ = function.prototype
    method.__signature__ = function.signature
    return method


for _function in FUNCTIONS:
    setattr(CannAcl, _function.name, _method(_function))
