"""CANN's libraries in this process: opened when asked for, symbols looked up over all of them, with their origin."""

import ctypes
import os
import platform
from pathlib import Path

from aclnn_viz.acl.installation import DeviceUnavailable, Installation
from aclnn_viz.errors import problem


_PROCESSORS = {3: "x86", 40: "arm", 62: "x86_64", 183: "aarch64", 243: "riscv64"}  # e_machine


class _SymbolInfo(ctypes.Structure):  # Dl_info of dlfcn.h
    _fields_ = [("file", ctypes.c_char_p), ("base", ctypes.c_void_p), ("symbol", ctypes.c_char_p),
                ("address", ctypes.c_void_p)]


class Libraries:
    """The opened libraries of an installation; symbols are looked for in custom operator libraries first.

    Raises DeviceUnavailable when the runtime, the base of the operators or a custom library cannot be opened. An
    operator library that cannot is told in `failures`, and its operators are missing.
    """

    def __init__(self, installation: Installation, custom: tuple[Path, ...] = ()):
        self.installation, self.custom = installation, custom
        self.failures: list[str] = []
        runtime = {path: self._open(path) for path in (installation.runtime, installation.base)}
        # A custom library needs the runtime, so it is opened after it, and asked before it.
        self._libraries = {path: self._open(path) for path in custom} | runtime
        for path in installation.operators:
            try:
                self._libraries[path] = ctypes.CDLL(str(path))
            except OSError as error:
                self.failures.append(built_for_another(path) or str(error))

    def _open(self, path: Path) -> ctypes.CDLL:
        try:
            return ctypes.CDLL(str(path))
        except OSError as error:
            reason = built_for_another(path) or str(error)
            raise DeviceUnavailable(problem(f"{path} must load", reason, self._advice(reason))) from None

    def _advice(self, reason: str) -> str:
        if "libascend_hal" in reason:
            return ("the Ascend driver is missing: install it on the machine (in a container, mount "
                    "/usr/local/Ascend/driver and the devices /dev/davinci*), then source set_env.sh")
        if "is built for" in reason:
            return f"install CANN for {platform.machine()}"
        if "cannot open shared object" in reason:
            return f"source {self.installation.root}/set_env.sh before Python starts, and name existing files"
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
        """The opened files, in the order in which they are asked."""
        return [str(path) for path in self._libraries]


def built_for_another(path: Path) -> str | None:
    """Say for which processor a library is built when that is not this one: the loader only says that it is not there.

    Source: ELF header, System V ABI; `elf.h`.
    """
    try:
        with open(path, "rb") as file:
            head = file.read(20)
    except OSError:
        return None
    if head[:4] != b"\x7fELF" or len(head) < 20:
        return None
    code = int.from_bytes(head[18:20], "little" if head[5] == 1 else "big")
    machine = _PROCESSORS.get(code, f"processor {code}")
    here = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
    return None if machine == here else f"{path} is built for {machine}, and this machine is {here}"


def origin(function) -> Path:
    """Return the file that a symbol comes from, which may be a dependency of the library that was asked."""
    dladdr = ctypes.CDLL(None)["dladdr"]
    dladdr.argtypes, dladdr.restype = [ctypes.c_void_p, ctypes.POINTER(_SymbolInfo)], ctypes.c_int
    info = _SymbolInfo()
    dladdr(address(function), info)
    return Path(os.fsdecode(info.file))


def address(function) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value
