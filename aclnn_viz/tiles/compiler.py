"""Compile C++ for the simulated cores: find a compiler, keep results by content, and report refusals in the compiler's words."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from aclnn_viz.children import Child
from aclnn_viz.errors import invalid, place_of, printable, problem

COMPILERS = ("g++", "clang++")
MISSING = re.compile(r"fatal error: '?([^\s']+?)'?(?:: No such file or directory| file not found)")
AMBIGUOUS = re.compile(r"(?:reference to|call of overloaded) [‘'](\w+)[^\n]*[’'] is ambiguous")
UNSCOPED = re.compile(
    r"[‘'](\w+)[’'] was not declared in this scope; did you mean [‘']AscendC::\1[’']\?\n[^\n]*\b\1<"
)
# Pattern of a compiler's message; text of asked, got and fix.
REFUSALS = (
    (
        re.compile(
            r"error: .*?\b(TCubeTiling|[Mm]atmul\w*|Mmad\w*|LoadData\w*|Nd2Nz\w*|\w*[Cc]ube\w*)"
        ),
        "is a kernel of vector cores",
        ": the matrix unit is not offered",
        "judge the results of the device with av.check",
    ),
    (
        MISSING,
        "includes headers of its own repository or of Ascend C",
        ", which is neither beside it nor above it",
        "pass its folder as -I FOLDER (include=)",
    ),
    (
        re.compile(
            r"error: (?:no member named )?[‘']([A-Za-z_]\w*)[’'] (?:is not a member of|in namespace|was not declared)"
        ),
        "uses names that the kit offers or it defines",
        "",
        "write it with others, or judge the results of the device with av.check",
    ),
)
# headers of the vendor's interface: each is replaced by the kit's kernel_operator.h
VENDORS = re.compile(r"(?:lib|adv_api|basic_api|impl)/|kernel_(?:operator|tpipe|type|log|common)")
ROOTS = ".git", ".gitignore", "LICENSE"  # names that mark the top folder of a repository
SECONDS, KIBIBYTES = 120, 4 << 20  # time and memory limits; a compiler beyond them may never end
# The memory limit also holds for processes that the compiler starts.
LIMITED = "sh", "-c", f'ulimit -v {KIBIBYTES} && exec "$@"', "sh"


class CompileError(ValueError):
    """The refusal of a source by a compiler, with the compiler's text."""


def compiler() -> str:
    """Return the C++ compiler of this machine; raise ValueError if there is none, or the system is not Linux."""
    # memfd_create and SOCK_SEQPACKET exist on Linux only
    if sys.platform != "linux":
        raise invalid(
            "C++ runs on Linux", sys.platform, "use WSL on Windows, a Linux container on macOS"
        )
    program = next(filter(None, map(shutil.which, COMPILERS)), None)
    if program is None:
        raise invalid(
            "C++ needs a compiler",
            "neither g++ nor clang++",
            "install one (Debian and Ubuntu: apt-get install g++)",
        )
    return program


def options_of(defines: Mapping[str, str], folders: Sequence) -> list[str]:
    """Return the options for macros and for folders of headers.

    Raise NotADirectoryError for a missing folder, which a compiler would ignore.
    """
    for name in folders:
        if not place_of(name).is_dir():
            raise NotADirectoryError(
                problem("headers are in a folder", f"{name}, which is none", "mend the name")
            )
    macros = (f"-D{name}={value}" for name, value in defines.items())
    return [*macros, *(f"-I{folder}" for folder in folders)]


def repository(file: Path) -> Path:
    """Return the top folder of a file's repository, or the third above the file."""
    parents = list(file.parents)
    roots = [parent for parent in parents if any((parent / one).exists() for one in ROOTS)]
    return roots[-1] if roots else parents[min(2, len(parents) - 1)]


def above(file: Path, name: str) -> Path | None:
    """Return the folder of a header among the folders above a file in its repository, or up to four levels below them."""
    top = repository(file)
    for parent in file.parents:
        for level in range(5):
            # a folder with the name of the file's comes first: op_kernel for a kernel
            found = sorted(
                parent.glob("*/" * level + name),
                key=lambda one: (one.parent.name != file.parent.name, one),
            )
            if found:
                return Path(str(found[0])[: -len(name) - 1])
        if parent == top:
            return None


def ours(name: str) -> Path | None:
    """Return a folder in which a header of the vendor's interface includes ours; None for other names."""

    def write(folder: Path):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text('#include "kernel_operator.h"\n', "utf-8")

    return kept((name,), "header", write) if VENDORS.match(name) else None


def preprocessed(command: list, text: str, file: Path, hidden: str) -> tuple[str, list]:
    """Preprocess a text including `file`; return the result, and the command with folders of missing headers."""
    while True:
        try:
            return translate([*command, "-E"], text, file, hidden), command
        except CompileError as error:
            missing = MISSING.search(str(error))
            folder = missing and (above(file, missing[1]) or ours(missing[1]))
            if not folder or f"-I{folder}" in command:
                raise
            command = [*command[:-3], f"-I{folder}", *command[-3:]]


@cache
def _of_this_process() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="aclnn-viz-")


def _cache() -> Path:
    """Return the user's cache, or a temporary folder of this process if the cache cannot be written."""
    place = Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache",
        "aclnn-viz",
        "cpp",
    )
    with suppress(OSError):
        place.mkdir(parents=True, exist_ok=True)
    return place if os.access(place, os.W_OK) else Path(_of_this_process().name)


def kept(key: Iterable, name: str, make: Callable[[Path], object]) -> Path:
    """Return the cache folder that `make(folder)` filled for this key, completely or not at all."""
    digest = hashlib.sha256("\0".join(map(str, key)).encode()).hexdigest()[:32]
    folder = _cache() / f"{name}-{digest}"
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=folder.parent) as building:
            (new := Path(building, name)).mkdir()
            make(new)
            with suppress(OSError):  # another process compiled it first
                new.rename(folder)
    return folder


def translate(command: list, text: str | None, file: Path, hidden: str = "") -> str:
    """Run a compiler with a text as input; return its output, and raise CompileError if it refuses `file`."""
    with Child(
        [*LIMITED, *map(str, command)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    ) as process:  # `Child` also ends the processes that the compiler starts
        try:
            output, complaint = process.communicate(text, SECONDS)
        except subprocess.TimeoutExpired:
            raise CompileError(
                problem(
                    f"{file.name} must compile",
                    f"no end within {SECONDS} s",
                    "look for templates or constants that never end",
                )
            ) from None
    if process.returncode:
        raise CompileError(refusal(complaint, file, hidden))
    return output


@cache
def ready(header: Path, *command: str) -> list[str]:
    """Return the options that let a compiler use a precompiled header at the start of a text.

    Only g++ can, and reads the header itself if a macro of the command changes it.
    """
    if not command[0].endswith("g++"):
        return []
    of = ["-x", "c++-header", header]
    folder = kept(
        (*command, translate([*command, "-E", *of], None, header)),
        "header",
        lambda building: translate(
            [*command, *of, "-o", building / f"{header.name}.gch"], None, header
        ),
    )
    return [f"-I{folder}", "-fpch-preprocess"]


def refusal(text: str, file: Path, hidden: str = "") -> str:
    """Return the compiler's messages from the first about the source on, without notes about headers in the hidden folder."""
    kept = [
        part
        for part in re.split(r"\n(?=\S+:\d+:\d+: )", text)
        if not hidden or not part.startswith(hidden) or "error" in part.split("\n")[0]
    ]
    why = problem(f"{file.name} must compile", "the compiler's errors below", "mend the first")
    for pattern, asked, got, fix in REFUSALS:
        if names := dict.fromkeys(pattern.findall(text)):
            why = problem(f"{file.name} {asked}", ", ".join(names) + got, fix)
            break
    return why + "\n" + "\n".join(map(printable, "\n".join(kept)[:4000].expandtabs().split("\n")))
