"""Where CANN lies on this machine: roots, libraries, headers, custom operators, version. Nothing is loaded here.

Sources: `set_env.sh` of CANN 8.1 and of the CANN runtime; "ACL overview" (library generations), CANN runtime reference;
`op_plugin/utils/op_api_common.cpp` of op-plugin for the order of custom operator libraries.
"""

import os
import platform
import re
from dataclasses import dataclass
from pathlib import Path

from aclnn_viz.errors import place_of, problem
from aclnn_viz.operators.products import Version

ROOT_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
DEFAULT_ROOTS = ("/usr/local/Ascend/cann", "/usr/local/Ascend/ascend-toolkit/latest")
RUNTIMES = ("libacl_rt.so", "libascendcl.so")  # of CANN 9, of CANN 8; with CANN 9 the second serves old programs
BASE = "libnnopbase.so"
SPLIT, WHOLE = ("libopapi_nn.so", "libopapi_cv.so"), "libopapi.so"  # the whole must not be loaded beside the split ones
CUSTOM = "libcust_opapi.so"
DRIVER_VERSION = Path("/usr/local/Ascend/driver/version.info")

_HEADERS = ("include/aclnnop", "include/aclnnop/level2", "opp/built-in/op_impl/ai_core/tbe/op_api/include/aclnnop",
            "opp/built-in/op_impl/ai_core/tbe/op_api/include/aclnnop/level2")
_VERSION_FILES = ("*-linux/ascend_*_install.info", "opp/version.info", "*/version.info", "share/info/*/version.info",
                  "version.info", "version.cfg")
_VERSION = r"\d+\.\d+(?:\.\d+)?(?:[.-](?:RC|beta\.?)\d+)?"
_DECLARED = re.compile(rf"^(?:version_dir|version|\w+_version)\s*=\s*(?:\[?[\w.]*:)?v?({_VERSION})\b(?!\.\d)",
                       re.IGNORECASE | re.MULTILINE)


class DeviceUnavailable(RuntimeError):
    """There is no device to run on; the message says what was looked at and what to do."""


@dataclass(frozen=True)
class Installation:
    """One root of CANN; `origin` tells who named it, `tried` what was looked at before, one line each."""

    root: Path
    origin: str
    runtime: Path
    tried: tuple[str, ...] = ()

    @property
    def base(self) -> Path:
        return self.runtime.with_name(BASE)

    @property
    def operators(self) -> tuple[Path, ...]:
        """The operator libraries that are there: the split ones, or the whole one where there are none."""
        split = tuple(path for name in SPLIT if (path := self.runtime.with_name(name)).exists())
        whole = self.runtime.with_name(WHOLE)
        return split or ((whole,) if whole.exists() else ())

    def header(self, name: str) -> Path | None:
        """The installed header of an operator; images that only run programs have none."""
        return next((path for folder in _HEADERS if (path := self.root / folder / name).exists()), None)

    def version(self) -> tuple[Version, str]:
        """The CANN version and what tells it: a version file, the name of the root, or only the libraries."""
        for pattern in _VERSION_FILES:
            for path in sorted(self.root.glob(pattern)):
                if found := _DECLARED.search(path.read_text("utf-8", "replace")):
                    return Version.parse(found[1]), str(path)
        if found := re.search(rf"(?:^|-)({_VERSION})$", self.root.resolve().name):
            return Version.parse(found[1]), f"the name of {self.root.resolve()}"
        newer = self.runtime.name == RUNTIMES[0]
        told = f"inferred: no version file, the runtime is {self.runtime.name}"
        return Version.parse("9.0" if newer else "8.1"), told


def roots(root=None) -> list[tuple[Path, str]]:
    """Return where to look, and who named it: the argument alone, or the environment and then the default places."""
    if root is not None:
        return [(Path(root), "root=")]
    named = [(Path(os.environ[name]), name) for name in ROOT_VARIABLES if os.environ.get(name)]
    return named + [(Path(path), "default place") for path in DEFAULT_ROOTS]


def find(root=None) -> Installation:
    """Return the first root that has a runtime; raises DeviceUnavailable with all that was tried."""
    tried = []
    for path, origin in roots(None if root is None else place_of(root)):
        for folder in ("lib64", f"{platform.machine()}-linux/lib64"):
            for name in RUNTIMES:
                if (runtime := path / folder / name).exists():
                    return Installation(path, origin, runtime, tuple(tried))
        what = f"no {' or '.join(RUNTIMES)} in its lib64" if path.is_dir() else "no such directory"
        tried.append(f"{path} ({origin}): {what}")
    raise DeviceUnavailable(problem("an Atlas device needs CANN's libraries", ", ".join(tried),
                                    "install CANN and source its set_env.sh, or name its root with root=; "
                                    'open_device("host") needs nothing'))


def custom_libraries(installation: Installation) -> list[Path]:
    """Return the installed custom operator libraries, those that the vendor's order puts first first."""
    found = []
    for folder in filter(None, os.environ.get("ASCEND_CUSTOM_OPP_PATH", "").split(os.pathsep)):
        found += _packages(Path(folder))
    return found + _by_priority(Path(os.environ.get("ASCEND_OPP_PATH") or installation.root / "opp") / "vendors")


def named_custom(path) -> list[Path]:
    """Return the custom operator libraries that a path names: a library, or a directory that holds packages.

    Raises DeviceUnavailable when there is none.
    """
    path = place_of(path)
    if path.is_file():
        return [path]
    found = ([path / CUSTOM] if (path / CUSTOM).is_file() else []) or _packages(path)
    found = found or _by_priority(path / "vendors") or _by_priority(path)
    if not found:
        raise DeviceUnavailable(problem(f"custom= must name a {CUSTOM} or a directory with custom operators", str(path),
                                        "name the library, the vendor's directory, or the opp directory"))
    return found


def _packages(folder: Path) -> list[Path]:
    return [path for path in (folder / "op_api/lib" / CUSTOM, *sorted(folder.glob(f"*/op_api/lib/{CUSTOM}")))
            if path.is_file()]


def _by_priority(vendors: Path) -> list[Path]:
    config = vendors / "config.ini"
    listed = re.search(r"^\s*load_priority\s*=(.*)$", config.read_text("utf-8", "replace"), re.MULTILINE) if config.is_file() else None
    names = listed[1].split(",") if listed else []
    return [path for name in names if (path := vendors / name.strip() / "op_api/lib" / CUSTOM).is_file()]


def driver_version() -> str | None:
    """The version of the installed Ascend driver, as its version file has it."""
    if not DRIVER_VERSION.is_file():
        return None
    found = re.search(r"^Version=(\S+)", DRIVER_VERSION.read_text("utf-8", "replace"), re.IGNORECASE | re.MULTILINE)
    return found[1] if found else None
