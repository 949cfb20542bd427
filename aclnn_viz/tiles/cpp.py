"""Compile Ascend C sources against a header of our own, and run each core as a process, to find hazards and wrong numbers
without hardware.

A kernel in C++ computes nothing itself. It writes its calls into shared memory, each with its file and line; the machine
executes them like the calls of a tile program in Python, with the same hazards, orders and traces. A core waits for the machine
only if it needs an answer or may read global memory. Global memory is also shared, so pointers into it are real. A core that
crashes, exits or never ends is a hazard at the line of its last call.
"""

import math
import os
import re
import resource
import signal
import struct
import subprocess
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from inspect import Parameter, Signature
from mmap import mmap
from pathlib import Path
from socket import AF_UNIX, SOCK_SEQPACKET, socket, socketpair
from types import SimpleNamespace

import numpy as np

from aclnn_viz.arrays.plan import Plan
from aclnn_viz.children import Child
from aclnn_viz.errors import invalid, listed, mistyped, need, place_of, problem, shown, signal_named
from aclnn_viz.operators import operator
from aclnn_viz.storage.readers import need_text
from aclnn_viz.tiles.calls import CALLS, Calls
from aclnn_viz.tiles.compiler import (
    AMBIGUOUS,
    UNSCOPED,
    CompileError,
    compiler,
    kept,
    options_of,
    preprocessed,
    ready,
    repository,
    translate,
)
from aclnn_viz.tiles.machine import Core, Machine, current
from aclnn_viz.tiles.memory import POISON, Address, GlobalMemory
from aclnn_viz.tiles.program import Program, Tiling
from aclnn_viz.words.messages import Message, message, tr

INCLUDE = Path(__file__).parent / "include"
# These macros of a CPU run remove code for the device alone, such as launches.
FLAGS = (
    "-std=c++17",
    "-O0",
    "-w",
    "-Wno-narrowing",
    "-DASCENDC_CPU_DEBUG=1",
    "-D__CCE_KT_TEST__=1",
)
# Limits: seconds between two calls of a core, calls that wait for an answer, bytes of memory.
SECONDS, STEPS, BYTES = 60.0, 1 << 20, 4 << 30
STARTS = 10.0  # time limit, in seconds, of the run that lists the entries
PRINTED = 1 << 16  # limit of the shown output of a kernel, in bytes
# bytes between tensors, so that an address beyond one tensor lies in no other
APART = 1 << 16
# Names of the C library that an entry may also have; such an entry is renamed.
OF_C = {
    *dir(math),
    *(
        "abs div drem fdim fmax fmin index j0 j1 jn ldiv link logb nearbyint pipe read remainder remove rename rint round "
        "scalb select significand sync tgamma time write y0 y1 yn"
    ).split(),
}
ENTRY = re.compile(r"__global__[^;{}()]*?\b(\w+)\s*\(([^{;]*?)\)\s*\{", re.DOTALL)
# a macro that makes entries, and where the preprocessor says that a line comes from
MACRO = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?!__global__)(?:[^\n]*\\\n)*[^\n]*\b__global__", re.MULTILINE
)
FROM = re.compile(r"^# (\d+) .*\n", re.MULTILINE)
NAME = re.compile(r"(\w+)\s*(?:\[.*\])?\s*(?:=.*)?$", re.DOTALL)  # pattern of a parameter's name
REGISTERED = re.compile(r"REGISTER_TILING_DATA_CLASS\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)")
# Parts of a tiling struct: macros, constants for its arrays, and conditions.
DEFINED = re.compile(
    r"BEGIN_TILING_DATA_DEF.*?END_TILING_DATA_DEF;?|^#(?:if|el|endif)[^\n]*|^#define \w+ [^\\\n]*$|^\s*(?:static |inline )*const(?:expr)? [^;{(]*;",
    re.DOTALL | re.MULTILINE,
)
NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"", re.DOTALL)


def cpp(file, defines: Mapping[str, str] | None = None, include: Sequence = ()) -> "Source":
    """Compile an Ascend C source; its entries are kernels for `av.tiles.run` and `av.check`.

    Parameters
    ----------
    file : str or path
        The source.
    defines : dict of str to str, optional
        Macros and their values.
    include : sequence of path
        Folders of further headers.

    Returns
    -------
    Source
        A mapping of its entries by `names`: `source["add_custom"]`.

    Raises
    ------
    FileNotFoundError
        Where there is no such file.
    CompileError
        A ValueError, with the compiler's own text.
    ValueError
        For a file without an entry, and where no compiler is installed.

    Examples
    --------
    >>> import aclnn_viz as av, numpy as np, tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "twice.cpp"
    >>> _ = file.write_text('''#include "kernel_operator.h"
    ... extern "C" __global__ __aicore__ void twice(GM_ADDR x, GM_ADDR y, uint32_t n) {
    ...     AscendC::LocalMemAllocator<> ub;
    ...     AscendC::GlobalTensor<float> given, made;
    ...     given.SetGlobalBuffer((__gm__ float *)x), made.SetGlobalBuffer((__gm__ float *)y);
    ...     auto tile = ub.Alloc<float>(n);
    ...     AscendC::DataCopy(tile, given, n);
    ...     AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(0), AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(0);
    ...     AscendC::Muls(tile, tile, 2.0f, n);
    ...     AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(0), AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(0);
    ...     AscendC::DataCopy(made, tile, n);
    ... }''')
    >>> y = np.zeros(8, np.float32)
    >>> av.tiles.run(cpp(file)["twice"], np.ones(8, np.float32), y, 8).hazards, y[0].item()
    ((), 2.0)
    """
    file = need_text(place_of(file).resolve())
    defines = need(
        {} if defines is None else defines,
        Mapping,
        "defines are macros with their values",
        'pass such as {"N": "1"}',
    )
    folders = file.parent, *listed("include", include, (str, Path), "folders")
    options = options_of(defines, folders)
    entries = entries_of(file, options)
    if not entries:
        raise invalid(
            "a kernel has an entry marked __global__",
            f"none in {file.name}",
            'write such as extern "C" __global__ __aicore__ void name(GM_ADDR x) {...}',
        )
    return Source(file, _program_of(file, entries, options), entries)


def entries_of(file: Path, options: Sequence[str] = ()) -> dict[str, tuple[int, str]]:
    """Return the line and the parameters of each entry of a source, also of those that its macros make."""
    plain = NOISE.sub(
        lambda match: re.sub(r"[^\n]", " ", match[0]), file.read_text("utf-8", "replace")
    )
    if MACRO.search(plain):
        text = f'#include "kernel_operator.h"\n#undef __global__\n#include "{file}"\n'
        command = [compiler(), *FLAGS, f"-I{INCLUDE}", *options, "-x", "c++", "-"]
        plain, _ = preprocessed(command, text, file, str(INCLUDE))
    found = {}
    for match in ENTRY.finditer(plain):
        # the compiler tells the line in marks, a source has none
        marks = [(one.end(), int(one[1])) for one in FROM.finditer(plain, 0, match.start())]
        start, line = marks[-1] if marks else (0, 1)
        found[match[1]] = line + plain.count("\n", start, match.start()), match[2]
    return found


def repaired(translated: Callable[[str], Path]) -> Path:
    """Return the result of `translated`, repairing a source that only the device's compiler takes.

    The repair removes ASSERT, which the device omits, renames the source's names that the library also has, and declares
    templates of the library that the source names without their namespace.
    """
    mended: list[str] = []
    while True:
        try:
            return translated("\n".join(["", *mended]))
        except CompileError as error:
            text = str(error)
            more = [f"#define {name} {name}_own" for name in dict.fromkeys(AMBIGUOUS.findall(text))]
            more += [f"using AscendC::{name};" for name in dict.fromkeys(UNSCOPED.findall(text))]
            more += ["#undef ASSERT\n#define ASSERT(...)"] * (
                "ASSERT(" in text or "expected ‘;’" in text
            )
            if not {*more} - {*mended}:
                raise
            mended += [one for one in more if one not in mended]


def _program_of(file: Path, names: Collection[str], options: list[str]) -> Path:
    """Return the program that starts the entries of a source."""
    renamed = "\n".join(f"#define {name} {name}_entry" for name in names if name in OF_C)
    table = ", ".join(
        f'{{"{name}", aclnn_viz::Of<{name}>::print, aclnn_viz::Of<{name}>::start}}'
        for name in names
    )
    tiling = _tiling_of(file, names)
    return repaired(
        lambda mended: compiled(
            file,
            "start.h",
            f"""{tiling}{renamed}{mended}
#include "{file}"
int main(int count, char **words) {{
    static const aclnn_viz::Entry entries[] = {{{table}}};
    return aclnn_viz::start(entries, {len(names)}, count, words);
}}
""",
            options,
        )
    )


def _tiling_of(file: Path, names: Collection[str]) -> str:
    """Return the struct that a project's host fills: the header that defines it, or its definition in the host's source."""
    own = REGISTERED.search(file.read_text("utf-8", "replace"))
    folder = next((parent.parent for parent in file.parents if parent.name == "op_kernel"), None)
    if own or folder is None:
        return f"#define RegisteredTiling Registered{own[1]}\n" if own else ""
    top, called, hosts = repository(file), {*names, file.stem}, {}
    for place, pattern in (folder / "op_kernel", "*"), (folder / "op_host", "*"), (top, "*tiling*"):
        if any({*snake(op)} & called for op in hosts):
            break
        for host in sorted(place.rglob(f"{pattern}.*")):
            if host.suffix not in (".h", ".hpp", ".cpp") or host.parent.name[0] == ".":
                continue
            text = NOISE.sub(
                lambda match: match[0] if match[0][0] == '"' else "",
                host.read_text("utf-8", "replace"),
            )
            for op, _ in REGISTERED.findall(text):
                if place is not top or {*snake(op)} & called:
                    hosts[op] = host, text
    fitting = [op for op in hosts if {*snake(op)} & called] or list(hosts)
    if not fitting:
        return ""
    host, text = hosts[op := fitting[0]]
    header = '#include "kernel_tiling/kernel_tiling.h"\n'
    if host.resolve() not in _headers(file.resolve(), folder):
        # take these parts alone: the kernel's compiler lacks what the rest of the host needs
        parts = "\n".join(match[0] for match in DEFINED.finditer(text))
        name = next(name for registered, name in REGISTERED.findall(text) if registered == op)
        if f"({name})" not in parts:  # a header of another folder defines it
            texts = (one.read_text("utf-8", "replace") for one in sorted(top.rglob("*.h")))
            defined = f"BEGIN_TILING_DATA_DEF({name})"
            more = [match[0] for one in texts if defined in one for match in DEFINED.finditer(one)]
            parts = "\n".join([*more, parts])
        header += f"namespace optiling {{\n{parts}\nREGISTER_TILING_DATA_CLASS({op}, {name})\n}}\n"
    return f"{header}namespace optiling {{}}\nusing namespace optiling;\n#define RegisteredTiling Registered{op}\n"


def _headers(file: Path, folder: Path) -> list[Path]:
    """Return a file of a project with the headers that it includes, directly or indirectly."""
    files = [file]
    for one in files:
        for name in re.findall(r'#\s*include\s*"(.*?)"', one.read_text("utf-8", "replace")):
            places = (
                (place / name).resolve()
                for place in (one.parent, folder / "op_kernel", folder / "op_host")
            )
            found = next((place for place in places if place.is_file()), file)
            files += [found] * (found not in files)
    return files


def snake(name: str) -> tuple[str, str]:
    """Return the names of an operator's file and entry: a word starts at each capital, or at each run of capitals.

    >>> snake("AddCustom"), snake("ReplicationPad2D")
    (('add_custom', 'add_custom'), ('replication_pad2_d', 'replication_pad2d'))
    """
    return (
        re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower(),
        re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])", "_", name).lower(),
    )


def compiled(
    file: Path, header: str, rest: str, options: list[str], objects: Sequence[Path] = ()
) -> Path:
    """Return the program compiled from our header and a text around a source, from the cache if possible.

    It is linked with objects, compiled in the same way (option -c).
    """
    if {*'"\n'} & {*str(file)}:
        raise invalid(
            'the path of a C++ file has no " and no line break, which #include cannot name',
            shown(str(file)),
            "rename it",
        )
    # g++ uses a precompiled header only where the macros that our headers ask for are the same
    asked = [one for one in options if one.startswith(("-DACLNN_VIZ_", "-DDT_"))]
    command, whole = (
        [compiler(), *FLAGS, f"-I{INCLUDE}", *asked],
        f'#include "{header}"\n{rest}',
    )
    command = [
        command[0],
        *ready(INCLUDE / header, *command),
        *command[1:],
        *options,
        "-x",
        "c++",
        "-",
    ]
    seen, command = preprocessed(command, whole, file, str(INCLUDE))
    command += ["-x", "none", *objects] if objects else []
    return (
        kept(
            (*command, seen),
            "kernel",
            lambda folder: translate(
                [*command, "-o", folder / "program"], whole, file, str(INCLUDE)
            ),
        )
        / "program"
    )


class Source:
    """A compiled source; `names` are its entries, and `source[name]` is an entry."""

    def __init__(self, file: Path, program: Path, entries: dict[str, tuple[int, str]]):
        self.file, self.binary, self._entries = file, program, entries
        self.names = tuple(entries)

    @cached_property
    def _kinds(self) -> dict[str, list[str]]:
        # The first run constructs global objects, which may crash, exit, print, or never end.
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as printed:
            try:
                started = Child(
                    [self.binary, "list"],
                    limits={resource.RLIMIT_FSIZE: PRINTED, resource.RLIMIT_AS: BYTES},
                    stdin=subprocess.DEVNULL,
                    stdout=printed,
                    stderr=subprocess.DEVNULL,
                )
            except OSError as error:  # a file left empty by a loss of power cannot run
                raise invalid(
                    "a program in the cache is whole",
                    str(error),
                    f"delete {self.binary.parent}",
                ) from None
            with started as process:
                try:
                    status = process.wait(STARTS)
                    why = signal_named(-status) if status < 0 else f"exit({status})"
                except subprocess.TimeoutExpired:
                    why = f"more than {STARTS:g} s"
            printed.seek(0)
            text = printed.read()
        listed = {words[0]: words[1:] for words in map(str.split, text.splitlines()) if words}
        if not set(self.names) <= set(listed):
            raise invalid(
                f"{self.file.name} starts, so that its entries can be called",
                f"{why} before the first",
                "look at its objects outside of functions",
            )
        return listed

    def __getitem__(self, name: str) -> "CppKernel":
        if name not in self._entries:
            raise KeyError(
                problem(
                    f"{self.file.name} has the entries {', '.join(self.names)}",
                    shown(name),
                    "use one of these",
                )
            )
        line, written = self._entries[name]
        kinds = self._kinds[name]
        matches = [NAME.search(parameter.strip()) for parameter in written.split(",")]
        names = [match[1] if match else f"argument_{place}" for place, match in enumerate(matches)]
        if len(names) != len(kinds):  # a macro hides the names of parameters
            names = [f"argument_{place}" for place in range(len(kinds))]
        return CppKernel(self.file, self.binary, name, line, tuple(zip(names, kinds)))

    def __repr__(self) -> str:
        return f"<{self.file.name}: {', '.join(self.names)}>"


class CppKernel:
    """An entry of a source, for `av.tiles.run`: arrays for pointers, numbers, and bytes (or a ctypes.Structure) for structs.

    `seconds` limits the time without a call, `key` is the tiling key (TILING_KEY_IS). Options describe the host: each tensor
    owns `padding` bytes behind it, outputs are `zeroed`, inputs may be overwritten (`in_place`); `unchecked` lets InitBuffer
    give more than there is, as a release build does: a core stops at the first use of bytes that do not exist.
    """

    seconds, key = SECONDS, 0
    padding, zeroed, in_place, unchecked = 0, False, False, False

    def __init__(
        self,
        file: Path,
        binary: Path,
        name: str,
        line: int,
        parameters: tuple[tuple[str, str], ...],
    ):
        self.file, self.binary, self.name, self.parameters = file, binary, name, parameters
        self.__name__ = name
        self.__code__ = SimpleNamespace(co_filename=str(file), co_firstlineno=line)
        self.__signature__ = Signature(
            [Parameter(name, Parameter.POSITIONAL_ONLY) for name, _ in parameters]
        )

    def __call__(self, *arguments):
        """Run on one core of a launch; `av.tiles.run` calls it."""
        core = current()
        core.machine.launched.serve(core)

    def program(
        self,
        op,
        tiling: Callable | None = None,
        *,
        cores: int = 8,
        plan: Plan = Plan(),
        sync: str = "auto",
    ) -> Program:
        """Return the kernel as a tile program of an operator, for `av.check` and `av.tiles.launch`.

        Pointers are taken in the vendor's order: tensors, outputs, workspace. Other parameters have the names of numbers in the
        Tiling that `tiling(platform, **inputs)` returns (bytes for a pointer to a struct). Without `tiling`, `cores` cores run,
        attributes have the vendor's names, and `n` is the number of elements of the tensor that sets the sizes.
        """
        op = operator(op)

        def numbers(platform, **inputs) -> Tiling:
            attributes = {
                name: value for name, value in inputs.items() if isinstance(value, int | float)
            }
            return Tiling(
                min(cores, platform.GetCoreNumAiv()), n=inputs[op.like].size, **attributes
            )

        return Program(
            op.name,
            self.name,
            tiling or numbers,
            _Arranged(self),
            plan,
            sync=sync,
            text=str(self.file.name),
        )

    @contextmanager
    def opened(self, machine: Machine, arguments, kind: type | None = None) -> Iterator[None]:
        """Start the processes of a launch, with its tensors in shared memory; both end with the context."""
        launched = (kind or Launched)(self, machine, arguments)
        machine.launched, machine.unchecked = launched, self.unchecked
        try:
            yield
        finally:
            machine.launched = None
            launched.close()

    def __repr__(self) -> str:
        return (
            f"<{self.name}({', '.join(name for name, _ in self.parameters)}) of {self.file.name}>"
        )


class _Arranged(CppKernel):
    """An entry as the kernel of a program, called with tensors, outputs, a workspace and a Tiling."""

    def __init__(self, kernel: CppKernel):
        vars(self).update(vars(kernel))

    def opened(self, machine: Machine, arguments):
        *pointers, tiling = arguments
        taken = iter(pointers)
        try:
            values = [
                tiling.numbers[name]
                if name in tiling.numbers
                else next(taken if kind[0] == "p" else iter(()))
                for name, kind in self.parameters
            ]
        except StopIteration:
            raise mistyped(
                f"each parameter of {self.name} is a tensor, an output, the workspace, or named in its Tiling",
                ", ".join(name for name, _ in self.parameters),
                "pass tiling= with those numbers",
            ) from None
        left = len(list(taken))
        if left > 1:  # a caller may omit the workspace
            raise mistyped(
                f"{self.name} takes each tensor and output",
                f"{left - 1} too many",
                "add the missing parameters",
            )
        return super().opened(machine, values)


# Descriptions of crashes that start.h reports.
CRASHES = {
    "buffer": message(
        "the kernel reads or writes through a pointer into the Unified Buffer (GetPhyAddr), after this call"
    ),
    "stack": message("the kernel needs more stack than there is, after this call"),
}


class Launched:
    """One launch: shared memory, one socket per core, and the end of each core."""

    def __init__(self, kernel: CppKernel, machine: Machine, arguments):
        if len(arguments) != len(kernel.parameters):
            raise mistyped(
                f"{kernel.name} takes {', '.join(name for name, _ in kernel.parameters) or 'nothing'}",
                f"{len(arguments)} arguments",
                "pass each",
            )
        self.kernel, self.machine, self.steps = kernel, machine, 0
        # each tensor: start in the shared memory, memory, array of the caller
        self.memories: list[tuple[int, GlobalMemory, np.ndarray]] = []
        # for each argument its bytes, or the offset of a pointer's target
        self.values: list[bytes | int] = []
        regions, top = self.laid_out(arguments)
        self.top = top = -(-top // APART) * APART
        self.file = os.memfd_create("aclnn-viz")
        os.truncate(self.file, top + len(machine.cores) * CALLS)
        self.shared = np.frombuffer(mmap(self.file, 0), np.uint8)
        for start, content in regions:
            if isinstance(content, GlobalMemory):
                self.memories.append((start, content, content.array))
                self.share(content, start)
            else:
                self.shared[start : start + len(content)] = np.frombuffer(content, np.uint8)
        pairs = [socketpair(AF_UNIX, SOCK_SEQPACKET) for _ in machine.cores]
        self.sockets, theirs = [mine for mine, _ in pairs], [other for _, other in pairs]
        self.report, reporting = os.pipe()
        self.ends: dict[int, int] = {}
        self.whys: dict[int, str] = {}
        self.printed = tempfile.TemporaryFile("w+b")  # noqa: SIM115  closed with its owner
        passed = [self.file, reporting, *(end.fileno() for end in theirs)]
        self.process = Child(
            [
                kernel.binary,
                "run",
                kernel.name,
                str(self.file),
                str(top),
                str(top + BYTES),
                str(reporting),
                *(str(end.fileno()) for end in theirs),
            ],
            env={**os.environ, "ACLNN_VIZ_TILING_KEY": str(kernel.key)},
            pass_fds=passed,
            stdin=subprocess.DEVNULL,
            stdout=self.printed,
            stderr=self.printed,
        )
        os.close(reporting)
        for end in theirs:
            end.close()

    def share(self, memory: GlobalMemory, start: int):
        """Move a tensor to `start` in the shared memory; behind it lie `padding` bytes of the kernel, or 32 to 63."""
        size, kernel = memory.size, self.kernel
        memory.padded, memory.room = bool(kernel.padding), kernel.padding or -size % 32 + 32
        shared = self.shared[start : start + size + memory.room]
        shared[:size], shared[size:] = memory.bytes, POISON
        memory.read_only &= not kernel.in_place
        if memory.state is not None and memory.name != "workspace" and kernel.zeroed:
            memory.state, shared[:size] = None, 0
        elif memory.state is not None:
            memory.state = memory.unwritten()
        memory.bytes = shared
        memory.array = shared[:size].view(memory.array.dtype).reshape(memory.array.shape)

    def laid_out(self, arguments) -> tuple[list, int]:
        """Place what pointers point to in shared memory: return (start, content) of each, and the total size.

        The numbers that the kernel gets, starts and other arguments, are added to `values`.
        """
        regions, top, known = [], APART, {}
        for (name, kind), value in zip(self.kernel.parameters, arguments):
            if kind[0] == "p" and id(value) in known:  # two pointers to the same tensor
                self.values.append(known[id(value)])
            elif kind[0] == "p" and value is not None:
                known[id(value)] = top
                content = value if isinstance(value, GlobalMemory) else _bytes(value, name)
                size = content.size if isinstance(content, GlobalMemory) else len(content)
                regions.append((top, content))
                self.values.append(top)
                top += -(-size // APART) * APART + APART
            else:
                self.values.append(_number(value, name, kind))
        return regions, top

    def memory_at(self, offset: int, form: np.dtype) -> Address | None:
        """Return an offset in shared memory as an address: the tensor around or beside it, and bytes from its start."""
        held = [
            (start, memory) for start, memory, _ in self.memories if start - APART // 2 <= offset
        ]
        return Address(held[-1][1], offset - held[-1][0]) if held else None

    def constant(self, address: int, form: np.dtype, count: int) -> GlobalMemory | None:
        """Return `count` elements of the program's own data (a `__gm__ const` array) as a memory; None if there are none."""
        if 0 < count < 1 << 24:
            with suppress(OSError):
                content = np.fromfile(f"/proc/{self.process.pid}/mem", form, count, offset=address)
                return GlobalMemory("constants", content, True) if content.size == count else None
        return None

    def serve(self, core: Core):
        """Execute the calls of the kernel on one core until it ends."""
        mine = self.sockets[core.index]
        core.at = self.kernel.__code__.co_filename, self.kernel.__code__.co_firstlineno
        try:
            address, why = self.received(core, mine)
            if why:
                core.stop("program ended", why)
            (base,) = struct.unpack("=q", address)
            mine.send(
                b"".join(
                    struct.pack("=q", base + value) if isinstance(value, int) else value
                    for value in self.values
                )
            )
            Calls(self, core, mine, base).serve()
        finally:
            mine.close()

    def received(self, core: Core, mine: socket) -> tuple[bytes, Message | None]:
        """Return the next message of a core, or b"" and the reason why none comes."""
        self.steps += 1
        if self.steps > STEPS:
            return b"", message("the kernel waits {n} times: it may never end", n=STEPS)
        mine.settimeout(self.kernel.seconds)
        try:
            text = mine.recv(64)
        except TimeoutError:
            return b"", message(
                "the kernel makes no call for {n} s: it may never end", n=self.kernel.seconds
            )
        except ConnectionError:
            text = b""
        return text, None if text else self._end(core.index)

    def _end(self, index: int):
        """Return how the process of a core ended, as its parent reports."""
        text = b""
        while index not in self.ends and (more := os.read(self.report, 4096)):
            text += more
            # a core writes its exit status, after a crash also the cause, which may come first
            for core, word in map(str.split, text.decode().splitlines()):
                (self.ends if word.lstrip("-").isdigit() else self.whys)[int(core)] = (
                    int(word) if word.lstrip("-").isdigit() else word
                )
        status = self.ends.get(index)
        if status is None:
            return message("the kernel ended before it could begin")
        if why := CRASHES.get(self.whys.get(index)):
            return why
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXFSZ:
            return message("the kernel prints more than 4 MiB")
        if os.WIFSIGNALED(status):
            return message(
                "the kernel was ended by {signal} after this call",
                signal=signal_named(os.WTERMSIG(status)),
            )
        return message(
            "the kernel called exit({status}) after this call", status=os.WEXITSTATUS(status)
        )

    def close(self):
        for end in self.sockets:
            end.close()
        self.process.end()
        for _start, memory, array in self.memories:
            array.reshape(-1).view(np.uint8)[...] = memory.bytes[: memory.size]
            if memory.state is not None:
                memory.state = memory.state[: memory.size // memory.unit]
            memory.room = 0
            memory.array, memory.bytes = array, array.reshape(-1).view(np.uint8)
        os.close(self.report)
        os.close(self.file)
        size = self.printed.seek(0, os.SEEK_END)
        self.printed.seek(0)
        if text := self.printed.read(PRINTED).decode("utf-8", "replace"):
            print(text, end="", flush=True)
        if size > PRINTED:
            print(
                "\n"
                + tr(
                    "(the kernel printed {n} more bytes, which are not shown)",
                    n=f"{size - PRINTED:,}",
                )
            )
        self.printed.close()


def _bytes(value, name: str) -> bytes:
    """Return the bytes for a struct or a pointer to one, from bytes or any object with a buffer."""
    try:
        return bytes(memoryview(value).cast("B"))
    except TypeError:
        raise mistyped(
            f"{name} is a pointer: an array, bytes, a ctypes.Structure or None",
            shown(value),
            "pass one of these",
        ) from None


def _number(value, name: str, kind: str) -> bytes:
    """Return the bytes of a number argument, filled up to a multiple of 8."""
    form, size = kind[0], int(kind[1:])
    if form in "iu":
        if isinstance(value, bool | np.bool_ | int | np.integer):
            bits = int(value).to_bytes(16, "little", signed=True)
            if int.from_bytes(bits[:size], "little", signed=form == "i") == int(value):
                return bits[:8]
    elif form == "f" and isinstance(value, int | float | np.integer | np.floating):
        return np.asarray(value, f"f{size}").tobytes().ljust(8, b"\0")
    elif form == "p" and value is None:
        return bytes(8)
    elif form == "s":
        content = _bytes(value, name)
        if len(content) == size:
            return content.ljust(-(-size // 8) * 8, b"\0")
    wanted = {
        "i": "a whole number",
        "u": "a whole number from 0 on",
        "f": "a number",
        "s": "a struct",
    }[form]
    raise mistyped(f"{name} is {wanted} of {size} bytes", shown(value), "pass such a value")
