"""Find the CANN of this machine (folder, version, libraries, headers of operators), and load the libraries for `CannAcl`.

If a header and the built-in prototype differ in float and double, the header counts; any other difference is an error, because
the header then declares another function. The headers of generated operators exist only in an installation.

Sources: `set_env.sh` of CANN 8.1 and of the CANN runtime; "ACL overview" (library generations), CANN runtime reference;
`op_plugin/utils/op_api_common.cpp` of op-plugin for the order of custom operator libraries; `tools/build/opbuild` of
asc-devkit.
"""

import ctypes
import os
import platform
import re
from dataclasses import dataclass, replace
from pathlib import Path

from aclnn_viz.acl.protocol import Function
from aclnn_viz.errors import place_of, problem
from aclnn_viz.operators.products import Version

ROOT_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
DEFAULT_ROOTS = ("/usr/local/Ascend/cann", "/usr/local/Ascend/ascend-toolkit/latest")
# the runtime of CANN 9, then of CANN 8; CANN 9 keeps the second for old programs
RUNTIMES = ("libacl_rt.so", "libascendcl.so")
BASE = "libnnopbase.so"
# operator libraries: a process loads the split ones or the whole one, never both
SPLIT, WHOLE = ("libopapi_nn.so", "libopapi_cv.so"), "libopapi.so"
CUSTOM = "libcust_opapi.so"
DRIVER_VERSION = Path("/usr/local/Ascend/driver/version.info")

_HEADERS = (
    "include/aclnnop",
    "include/aclnnop/level2",
    "opp/built-in/op_impl/ai_core/tbe/op_api/include/aclnnop",
    "opp/built-in/op_impl/ai_core/tbe/op_api/include/aclnnop/level2",
)
_VERSION_FILES = (
    "*-linux/ascend_*_install.info",
    "opp/version.info",
    "*/version.info",
    "share/info/*/version.info",
    "version.info",
    "version.cfg",
)
_VERSION = r"\d+\.\d+(?:\.\d+)?(?:[.-](?:RC|beta\.?)\d+)?"
_DECLARED = re.compile(
    rf"^(?:version_dir|version|\w+_version)\s*=\s*(?:\[?[\w.]*:)?v?({_VERSION})\b(?!\.\d)",
    re.IGNORECASE | re.MULTILINE,
)


class DeviceUnavailable(RuntimeError):
    """There is no device to run on; the message lists the places tried and the remedy."""


@dataclass(frozen=True)
class Installation:
    """One root of CANN; `origin` says who named it, `tried` lists the places looked at before."""

    root: Path
    origin: str
    runtime: Path
    tried: tuple[str, ...] = ()

    @property
    def base(self) -> Path:
        return self.runtime.with_name(BASE)

    @property
    def operators(self) -> tuple[Path, ...]:
        """The installed operator libraries: the split ones, else the whole one."""
        split = tuple(path for name in SPLIT if (path := self.runtime.with_name(name)).exists())
        whole = self.runtime.with_name(WHOLE)
        return split or ((whole,) if whole.exists() else ())

    def header(self, name: str) -> Path | None:
        """Return the installed header of an operator, or None, as in images that only run programs."""
        return next(
            (path for folder in _HEADERS if (path := self.root / folder / name).exists()), None
        )

    def version(self) -> tuple[Version, str]:
        """Return the CANN version and its source: a version file, the name of the root, or only the libraries."""
        for pattern in _VERSION_FILES:
            for path in sorted(self.root.glob(pattern)):
                if found := _DECLARED.search(path.read_text("utf-8", "replace")):
                    return Version.parse(found[1]), str(path)
        if found := re.search(rf"(?:^|-)({_VERSION})$", self.root.resolve().name):
            return Version.parse(found[1]), f"the name of {self.root.resolve()}"
        newer = self.runtime.name == RUNTIMES[0]
        text = f"inferred: no version file, the runtime is {self.runtime.name}"
        return Version.parse("9.0" if newer else "8.1"), text


def roots(root=None) -> list[tuple[Path, str]]:
    """Return the places to search, each with its origin: the argument alone, or environment and default places."""
    if root is not None:
        return [(Path(root), "root=")]
    named = [(Path(os.environ[name]), name) for name in ROOT_VARIABLES if os.environ.get(name)]
    return named + [(Path(path), "default place") for path in DEFAULT_ROOTS]


def find(root=None) -> Installation:
    """Return the first root that has a runtime; raise DeviceUnavailable with all places tried."""
    tried = []
    for path, origin in roots(None if root is None else place_of(root)):
        for folder in ("lib64", f"{platform.machine()}-linux/lib64"):
            for name in RUNTIMES:
                if (runtime := path / folder / name).exists():
                    return Installation(path, origin, runtime, tuple(tried))
        what = f"no {' or '.join(RUNTIMES)} in its lib64" if path.is_dir() else "no such directory"
        tried.append(f"{path} ({origin}): {what}")
    raise DeviceUnavailable(
        problem(
            "an Atlas device needs CANN's libraries",
            ", ".join(tried),
            "install CANN and source its set_env.sh, or name its root with root=; "
            'open_device("host") needs nothing',
        )
    )


def custom_libraries(installation: Installation) -> list[Path]:
    """Return the installed custom operator libraries in the vendor's order of priority."""
    found = []
    for folder in filter(None, os.environ.get("ASCEND_CUSTOM_OPP_PATH", "").split(os.pathsep)):
        found += _packages(Path(folder))
    return found + _by_priority(
        Path(os.environ.get("ASCEND_OPP_PATH") or installation.root / "opp") / "vendors"
    )


def named_custom(path) -> list[Path]:
    """Return the custom operator libraries that a path names: a library, or a directory of packages.

    Raises DeviceUnavailable if there is none.
    """
    path = place_of(path)
    if path.is_file():
        return [path]
    found = ([path / CUSTOM] if (path / CUSTOM).is_file() else []) or _packages(path)
    found = found or _by_priority(path / "vendors") or _by_priority(path)
    if not found:
        raise DeviceUnavailable(
            problem(
                f"custom= must name a {CUSTOM} or a directory with custom operators",
                str(path),
                "name the library, the vendor's directory, or the opp directory",
            )
        )
    return found


def _packages(folder: Path) -> list[Path]:
    return [
        path
        for path in (folder / "op_api/lib" / CUSTOM, *sorted(folder.glob(f"*/op_api/lib/{CUSTOM}")))
        if path.is_file()
    ]


def _by_priority(vendors: Path) -> list[Path]:
    config = vendors / "config.ini"
    listed = (
        re.search(r"^\s*load_priority\s*=(.*)$", config.read_text("utf-8", "replace"), re.MULTILINE)
        if config.is_file()
        else None
    )
    names = listed[1].split(",") if listed else []
    return [
        path for name in names if (path := vendors / name.strip() / "op_api/lib" / CUSTOM).is_file()
    ]


def driver_version() -> str | None:
    """Return the version of the installed Ascend driver from its version file, or None."""
    if not DRIVER_VERSION.is_file():
        return None
    found = re.search(
        r"^Version=(\S+)",
        DRIVER_VERSION.read_text("utf-8", "replace"),
        re.IGNORECASE | re.MULTILINE,
    )
    return found[1] if found else None


class _SymbolInfo(ctypes.Structure):  # struct Dl_info of dlfcn.h
    _fields_ = [
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    ]


class Libraries:
    """The opened libraries of an installation; custom operator libraries are searched first.

    Raises DeviceUnavailable if the runtime, the base of the operators or a custom library cannot be opened. An operator library
    that cannot be opened is listed in `failures`, and its operators are missing.
    """

    def __init__(self, installation: Installation, custom: tuple[Path, ...] = ()):
        self.installation, self.custom = installation, custom
        self.failures: list[str] = []
        runtime = {path: self._open(path) for path in (installation.runtime, installation.base)}
        # A custom library needs the runtime: the runtime is opened first but searched last.
        self._libraries = {path: self._open(path) for path in custom} | runtime
        for path in installation.operators:
            try:
                self._libraries[path] = ctypes.CDLL(str(path))
            except OSError as error:
                self.failures.append(str(error))

    def _open(self, path: Path) -> ctypes.CDLL:
        try:
            return ctypes.CDLL(str(path))
        except OSError as error:
            reason = str(error)
            raise DeviceUnavailable(
                problem(f"{path} must load", reason, self._advice(reason))
            ) from None

    def _advice(self, reason: str) -> str:
        if "libascend_hal" in reason:
            return (
                "the Ascend driver is missing: install it on the machine (in a container, mount "
                "/usr/local/Ascend/driver and the devices /dev/davinci*), then source set_env.sh"
            )
        if "cannot open shared object" in reason:
            return (
                f"source {self.installation.root}/set_env.sh before Python starts, and name existing files; "
                f"if they are there, they are built for another processor than {platform.machine()}"
            )
        return "the installation is incomplete or of another machine: install CANN anew"

    def find(self, name: str):
        """Return a new function object for a symbol, or None when no library has it."""
        for library in self._libraries.values():
            try:
                return library[name]
            except AttributeError:
                continue
        return None

    def paths(self) -> list[str]:
        """Return the opened files in search order."""
        return [str(path) for path in self._libraries]


def origin(function) -> Path:
    """Return the file that a symbol comes from, which may be a dependency of the searched library."""
    dladdr = ctypes.CDLL(None)["dladdr"]
    dladdr.argtypes, dladdr.restype = [ctypes.c_void_p, ctypes.POINTER(_SymbolInfo)], ctypes.c_int
    info = _SymbolInfo()
    dladdr(address(function), info)
    return Path(os.fsdecode(info.file))


def address(function) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value


_REALS = {"float", "double"}
_NO_CODE = re.compile(
    r"/\*.*?\*/|//[^\n]*|^\s*#(?:\\\n|[^\n])*|__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)",
    re.DOTALL | re.MULTILINE,
)


class PrototypeDiffers(Exception):
    """The header declares another function than the built-in table; the message has both."""


def declarations(text: str) -> dict[str, tuple[str, ...]]:
    """Return the declarations of a header: per function its return type and the types of its parameters.

    >>> declarations("aclnnStatus aclnnX(void *workspace, uint64_t size, const aclrtStream stream);")
    {'aclnnX': ('aclnnStatus', 'void*', 'uint64_t', 'aclrtStream')}
    """
    code = _NO_CODE.sub(" ", text)
    found = re.findall(r"(\w+[\s*]+)(\w+)\s*\(([^()]*)\)\s*;", code)
    return {
        name: (plain(result + " f"), *map(plain, _split(parameters)))
        for result, name, parameters in found
    }


def _split(parameters: str) -> list[str]:
    return [] if parameters.strip() in ("", "void") else parameters.split(",")


def plain(declaration: str) -> str:
    """Return the type of a declared parameter for the calling convention: without name and const.

    >>> plain("const aclTensor *self"), plain("double")
    ('aclTensor*', 'double')
    """
    words = [word for word in re.findall(r"\w+", declaration) if word not in ("const", "struct")]
    pointers = declaration.count("*") + declaration.count("[")
    return " ".join(words[:-1] or words) + "*" * pointers


def reconciled(function: Function, header: Path) -> Function:
    """Return the function with the header's float or double; raise PrototypeDiffers for any other difference."""
    declared = declarations(header.read_text("utf-8", "replace")).get(function.name)
    expected = (
        plain(function.return_type + " f"),
        *(plain(f"{p.c_type} {p.name}") for p in function.parameters),
    )
    if declared is None:
        raise PrototypeDiffers(f"{header} does not declare {function.name}")
    if len(declared) != len(expected) or any(
        a != b and not {a, b} <= _REALS for a, b in zip(declared, expected)
    ):
        raise PrototypeDiffers(
            f"{header} declares {_shown(function.name, declared)}, "
            f"known is {_shown(function.name, expected)}"
        )
    parameters = tuple(
        replace(p, c_type=real) if real in _REALS else p
        for p, real in zip(function.parameters, declared[1:])
    )
    return replace(function, parameters=parameters)


def _shown(name: str, types: tuple[str, ...]) -> str:
    return f"{types[0]} {name}({', '.join(types[1:])})"
