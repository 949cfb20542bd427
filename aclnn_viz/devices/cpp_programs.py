"""Build whole C++ programs, kernel and host in one, on this machine, and run them with CANN emulated.

The preprocessed text is compiled with each `name<<<blocks, l2, stream>>>(...)` replaced by a plain call in the same line, so
that errors and hazards name the user's lines. Programs are cached by content.
"""

import os
import re
import resource
import socket
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from aclnn_viz.children import Child
from aclnn_viz.devices.emulator import Emulator
from aclnn_viz.devices.headers import INCLUDE, flags, installation
from aclnn_viz.errors import invalid, place_of, shown, signal_named
from aclnn_viz.storage.readers import machine_memory, need_text
from aclnn_viz.tiles.compiler import CompileError, compiler, kept, options_of, translate
from aclnn_viz.tiles.cpp import INCLUDE as KERNELS
from aclnn_viz.tiles.cpp import NAME, entries_of
from aclnn_viz.words.messages import message, tr

SECONDS = 60.0
WRITTEN = 4 << 30  # largest file that a program may write, in bytes
LATE = message(
    "a program must end within {n} s: got no end; look for an endless loop, or raise --seconds"
)
KILLED = message("a program must end by itself: got {signal}; find the place in a debugger")
TIME = 124  # exit status of timeout(1) after a timeout
# -fno-pie and -no-pie keep functions at fixed addresses: a kernel is started by its address
FLAGS = ("-std=c++17", "-O0", "-g1", "-w", "-pthread", "-fno-pie")
# link the library even if a program calls none of its functions
LINK = ("-no-pie", "-pthread", "-Wl,--wrap=main,--no-as-needed", "-ldl")
MARK = re.compile(r"<<\s*<")
CALLEE = re.compile(
    r"(?:[A-Za-z_]\w*\s*::\s*)*\b([A-Za-z_]\w*)(?:\s*<(?:[^<>;{}]|<[^<>;{}]*>)*>)?\s*$"
)
TEXTS = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'")


def build(files: Sequence, defines: Sequence[str] = (), include: Sequence = ()) -> Path:
    """Compile and link C++ files into a program, and return its path in the cache.

    `defines` are macros as NAME or NAME=VALUE, `include` folders. Raises FileNotFoundError, CompileError with the compiler's
    text, and ValueError without a compiler.
    """
    files = [need_text(place_of(file).resolve()) for file in files]
    root = installation()
    folders = [
        *options_of({}, include),
        *{f"-I{file.parent}": None for file in files},
        f"-I{launchers(files)}",
        *flags(root)["compile"],
        f"-I{INCLUDE}",
        f"-I{KERNELS}",
    ]
    command = [compiler(), *FLAGS]
    source = INCLUDE / "start_whole.cpp"
    start = kept(
        (
            *command,
            *folders[-2:],
            *(file.read_text("utf-8") for file in (*sorted(KERNELS.rglob("*.h")), source)),
        ),
        "start",
        lambda folder: translate(
            [*command, *folders[-2:], "-c", source, "-o", folder / "start.o"], None, source
        ),
    )
    seen = [
        translate(
            [
                *command,
                *folders,
                *(f"-D{text}" for text in defines),
                "-include",
                INCLUDE / "launch.h",
                "-E",
                "-x",
                "c++",
                file,
            ],
            None,
            file,
        )
        for file in files
    ]
    texts = [rewritten(text) for text in seen]

    def make(folder: Path):
        for k, (file, text) in enumerate(zip(files, texts)):
            translate(
                [*command, "-c", "-x", "c++-cpp-output", "-", "-o", folder / f"{k}.o"],
                text,
                file,
                str(KERNELS),
            )
        objects = [folder / f"{k}.o" for k in range(len(files))]
        link([*objects, start / "start.o"], root, folder / "program", files)
        (folder / "program.kernel").symlink_to("program")
        for path in objects:
            path.unlink()

    return kept((*command, *LINK, root, start, *map(str, files), *texts), "whole", make) / "program"


def link(objects: list[Path], root, program: Path, files: Sequence[Path]) -> None:
    """Link objects, compiled from `files`, into a program."""
    try:
        translate(
            [
                compiler(),
                *objects,
                *LINK,
                *flags(root)["link"],
                "-o",
                program,
            ],
            None,
            files[0],
        )
    except CompileError as error:
        if re.search(r"undefined reference to .(__real_)?main\W", str(error)):
            raise invalid(
                "a whole program has a function main",
                f"none in {', '.join(file.name for file in files)}",
                "`aclnn-viz cpp check` judges a kernel without one",
            ) from None
        raise


def launchers(files: Sequence[Path]) -> Path:
    """Return the folder of headers that the vendor's build generates: aclrtlaunch_NAME.h declares and launches an entry."""
    texts = {}
    for name, (_, written) in (entry for file in files for entry in entries_of(file).items()):
        kinds = [
            "void *" if "*" in part or "GM_ADDR" in part else part.strip().rpartition(" ")[0]
            for part in written.split(",")
            if part.strip()
        ]
        texts[f"aclrtlaunch_{name}.h"] = f"""#pragma once
#include "acl/acl.h"
extern "C" void {name}({", ".join(kinds)});
#define ACLRT_LAUNCH_KERNEL(kernel) aclrtlaunch_##kernel
#define aclrtlaunch_{name}(blocks, stream, ...) ({name}<<<blocks, aclnn_viz::Addressed(), stream>>>(__VA_ARGS__), 0u)
"""
    return kept(
        ("launchers", *texts.items()),
        "launchers",
        lambda folder: [(folder / name).write_text(text, "utf-8") for name, text in texts.items()],
    )


def rewritten(text: str) -> str:
    """Replace each launch in a preprocessed text by a call in the same line.

    >>> rewritten("void f(int n, int *x) {}\\nint main() { f<<<8, 0, s>>>(1, x); }").splitlines()[1]
    'int main() { aclnn_viz::launched(f, "f", "n,x", 8, 0, s)(1, x); }'
    """
    plain, pieces, done = TEXTS.sub(lambda found: "'" * len(found[0]), text), [], 0
    for mark in MARK.finditer(plain):
        callee = CALLEE.search(plain, max(done, mark.start() - 400), mark.start())
        end = re.compile(r">\s*>\s*>\s*(?=\()").search(plain, mark.end())
        if callee is None or end is None:
            continue  # leave invalid C++ to the compiler, which reports it
        entry = re.search(rf"\b{callee[1]}\s*\(([^;{{}}]*?)\)\s*\{{", plain)
        names = [NAME.search(part.strip()) for part in entry[1].split(",")] if entry else []
        names = ",".join(part[1] for part in names) if all(names) else ""
        pieces += [
            text[done : callee.start()],
            f'aclnn_viz::launched({callee[0].rstrip()}, "{callee[1]}", "{names}", ',
            text[mark.end() : end.start()],
            ")",
        ]
        done = end.end()
    return "".join(pieces) + text[done:]


@dataclass
class Outcome:
    """The end of a program: its exit `status` as in a shell, and what the emulator saw (`emulator.hazards`, `.misuse`).

    `output` and `errors` hold its output if it was captured.
    """

    status: int
    seconds: float
    emulator: Emulator
    output: str = ""
    errors: str = ""
    sentences: list[str] = field(default_factory=list)

    def to_json(self) -> dict:
        return {
            "status": self.status,
            "seconds": round(self.seconds, 3),
            "output": self.output,
            "errors": self.errors,
            "hazards": [
                {
                    "kind": hazard.kind,
                    "file": hazard.file,
                    "line": hazard.line,
                    "core": hazard.core,
                    "text": str(hazard),
                }
                for hazard in self.emulator.hazards
            ],
            "misuse": self.emulator.misuse,
            "said": self.sentences,
        }


def run(
    program: Path,
    words: Sequence[str] = (),
    emulator: Emulator | None = None,
    seconds: float = SECONDS,
    streams=(None, None),
    allowed: Sequence[str] = (),
) -> Outcome:
    """Run a program of `build` in the current folder, to its end or a time limit; none of its processes survives.

    Hazards of the kinds in `allowed` do not affect the status. `streams` are files for output and errors, by default those of
    this process.
    """
    if not seconds > 0:
        raise invalid(
            "a program may take a number of seconds above 0", shown(seconds), "leave --seconds out"
        )
    emulator = emulator or Emulator()
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    begun = time.monotonic()
    emulator.until = begun + seconds
    with ours:
        with theirs:
            process = Child(
                [program, *words],
                os.environ | {"ACLNN_VIZ_CONTROL": str(theirs.fileno())},
                {resource.RLIMIT_AS: machine_memory(), resource.RLIMIT_FSIZE: WRITTEN},
                pass_fds=[theirs.fileno()],
                stdout=streams[0],
                stderr=streams[1],
            )
        server = threading.Thread(target=emulator.serve, args=(ours,), daemon=True)
        server.start()
        late = False
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            late = True
            emulator.stop()
        except BaseException:  # also for Ctrl-C: end the program
            emulator.stop()
            raise
        finally:
            process.end()
        server.join()
    status = (
        TIME
        if late
        else process.returncode
        if process.returncode >= 0
        else 128 - process.returncode
    )
    sentences = emulator.sentences()
    if late:
        sentences.insert(0, tr(LATE, n=f"{seconds:g}"))
    elif process.returncode < 0 and not emulator.crashed and not emulator.faults:
        sentences.insert(0, tr(KILLED, signal=signal_named(-process.returncode)))
    wrong = any(hazard.kind not in allowed for hazard in emulator.hazards)
    return Outcome(status or int(wrong), time.monotonic() - begun, emulator, sentences=sentences)
