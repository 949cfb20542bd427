"""Compile C++ for the simulated cores: find a compiler, keep results by content, and report refusals in the compiler's own
words.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from aclnn_viz.children import Child
from aclnn_viz.errors import place_of, printable, problem

COMPILERS = ("g++", "clang++")
MISSING = re.compile(r"fatal error: '?([^\s']+?)'?(?:: No such file or directory| file not found)")
AMBIGUOUS = re.compile(r"reference to [‘'](\w+)[’'] is ambiguous")
# What the compiler's words are about, and what is asked, got and to be done.
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
ROOTS = ".git", ".gitignore", "LICENSE"  # what the folder of a repository holds
SECONDS, KIBIBYTES = 120, 4 << 20  # a compiler that needs more never ends
# The limit of memory holds in what the compiler starts, too.
LIMITED = "sh", "-c", f'ulimit -v {KIBIBYTES} && exec "$@"', "sh"


class CompileError(ValueError):
    """A source that a compiler refuses; the text is the compiler's."""


def compiler() -> str:
    """The C++ compiler of this machine; ValueError where there is none, and on systems other than Linux."""
    # processes share memory by memfd_create, and talk over SOCK_SEQPACKET
    if sys.platform != "linux":
        raise ValueError(
            problem(
                "C++ runs on Linux", sys.platform, "use WSL on Windows, a Linux container on macOS"
            )
        )
    program = next(filter(None, map(shutil.which, COMPILERS)), None)
    if program is None:
        raise ValueError(
            problem(
                "C++ needs a compiler",
                "neither g++ nor clang++",
                "install one (Debian and Ubuntu: apt-get install g++)",
            )
        )
    return program


def included(folders: Sequence) -> list[str]:
    """The options that name folders of headers; NotADirectoryError for what is none, which a compiler would pass over."""
    for name in folders:
        if not place_of(name).is_dir():
            raise NotADirectoryError(
                problem("headers are in a folder", f"{name}, which is none", "mend the name")
            )
    return [f"-I{folder}" for folder in folders]


def above(file: Path, name: str) -> Path | None:
    """The folder, of those above a file in its repository and of three levels in these, in which a header has its name."""
    parents = list(file.parents)
    roots = [k for k, parent in enumerate(parents) if any((parent / one).exists() for one in ROOTS)]
    for parent in parents[: max(roots) + 1 if roots else 3]:
        for level in ("", "*/", "*/*/", "*/*/*/"):
            if found := sorted(parent.glob(level + name)):
                return Path(str(found[0])[: -len(name) - 1])
    return None


def preprocessed(command: list, text: str, file: Path, hidden: str) -> tuple[str, list]:
    """What a preprocessor leaves of a text around a file, and the command with the folders of its repository's own headers."""
    while True:
        try:
            return translate([*command, "-E"], text, file, hidden), command
        except CompileError as error:
            missing = MISSING.search(str(error))
            folder = missing and above(file, missing[1])
            if not folder or f"-I{folder}" in command:
                raise
            command = [*command[:-3], f"-I{folder}", *command[-3:]]


@cache
def _of_this_process() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="aclnn-viz-")


def _cache() -> Path:
    """The user's cache, or where nothing can be written there a folder that ends with this process."""
    place = Path(
        os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache",
        "aclnn-viz",
        "cpp",
    )
    with suppress(OSError):
        place.mkdir(parents=True, exist_ok=True)
    return place if os.access(place, os.W_OK) else Path(_of_this_process().name)


def kept(key: Iterable, name: str, make: Callable[[Path], object]) -> Path:
    """Return the folder of the cache that `make(folder)` filled for this key: whole, or not at all."""
    digest = hashlib.sha256("\0".join(map(str, key)).encode()).hexdigest()[:32]
    folder = _cache() / f"{name}-{digest}"
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=folder.parent) as building:
            (new := Path(building, name)).mkdir()
            make(new)
            with suppress(OSError):  # somebody else was first
                new.rename(folder)
    return folder


def translate(command: list, text: str | None, file: Path, hidden: str = "") -> str:
    """Run a compiler, with a text as its input; return what it prints, and raise CompileError where it refuses `file`."""
    with Child(
        [*LIMITED, *map(str, command)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    ) as process:  # a compiler is several processes
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
    """The options with which a compiler takes a header translated once, where that begins a text.

    Only g++ does, which reads the header itself where a macro of the command changes it.
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
    """The compiler's words, from the first that name the source on; notes about headers in the hidden folder are left out."""
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
