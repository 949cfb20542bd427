"""Answer the CANN calls of a C++ program, sent over a socket, with the emulated C API, and run the program's kernels on
simulated cores.

Each thread of the program has a socket and a thread here, because errors and contexts belong to threads. Device addresses are
the emulator's numbers. A kernel's process maps memory at these addresses, so that pointers, also inside structs, mean the same
as on the host. Host memory is sent through the socket.
"""

import math
import os
import shutil
import socket
import struct
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from aclnn_viz.acl.host import HostAcl
from aclnn_viz.acl.protocol import FUNCTIONS, Handle
from aclnn_viz.acl.state import POISON, Failed, HostHandle
from aclnn_viz.devices.headers import HANDLES as OPAQUE
from aclnn_viz.errors import problem, signal_named
from aclnn_viz.operators.codes import ACL_ERROR_RT_VECTOR_CORE_EXCEPTION
from aclnn_viz.operators.products import CANN, SOC
from aclnn_viz.tiles.cpp import CppKernel, Launched
from aclnn_viz.tiles.hazards import Hazard
from aclnn_viz.tiles.machine import Machine
from aclnn_viz.tiles.memory import Address, GlobalMemory
from aclnn_viz.tiles.platforms import Platform
from aclnn_viz.tiles.schedules import schedule_of
from aclnn_viz.words.messages import message, tr

DEVICE, DEVICE_END = 0x12C0_0000_0000, (0x12C0_0000_0000) + (1 << 44)  # the same as in client.h
# addresses that represent handles for the program; no memory is mapped there
HANDLES = 0x5AC1_0000_0000
BY_NAME = {function.name: function for function in FUNCTIONS}
# pointers that C tells apart; a program may pass any pointer for other parameters
HANDLE_TYPES = {f"{name} *" for name in OPAQUE}
POINTERS = {*HANDLE_TYPES, "void *", "aclrtStream", "aclrtContext"}
ELEMENTS = {"int64_t *": "<i8", "bool *": "?", "float *": "<f4"}


class Fault(Exception):
    """The emulator cannot do a call; the text of this error is printed when the program ends."""


@dataclass
class Emulator:
    """The CANN of one program: `hazards` of its kernels, `misuse` of the C API with the calling line, how it `crashed`.

    By default `soc` and `cann` are ACLNN_VIZ_SOC and ACLNN_VIZ_CANN.
    """

    soc: str | None = None
    cann: str | None = None
    schedule: str | int = "eager"
    until: float = math.inf  # deadline on the monotonic clock
    hazards: list[Hazard] = field(default_factory=list)
    warnings: list[Hazard] = field(default_factory=list)
    misuse: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    crashed: str | None = None
    program: Path | None = None
    running: subprocess.Popen | None = None
    base: int = 0

    def __post_init__(self):
        self.acl = HostAcl(
            self.soc or os.environ.get("ACLNN_VIZ_SOC", SOC),
            self.cann or os.environ.get("ACLNN_VIZ_CANN", CANN),
        )
        schedule_of(self.schedule)
        self.handles: dict[int, Handle] = {}
        self._line = cache(self._line)  # cached, because each lookup starts another program

    def serve(self, control: socket.socket) -> None:
        """Serve a program until it ends."""
        threads = []
        while True:
            try:
                text, passed, _, _ = socket.recv_fds(control, 4096, 1)
            except ConnectionError:
                text = b""
            if not text:
                break
            word, *rest = text.decode("utf-8", "surrogateescape").split(" ", 2)
            if word == "hello":
                self.base, self.program = int(rest[0], 16), Path(rest[1])
            elif word == "crash":
                name, line = signal_named(int(rest[0])), self.at(int(rest[1], 16) + 1, "{line}")
                self.crashed = (
                    message(
                        "a program must end by itself: got {signal} at {line}; mend that line",
                        signal=name,
                        line=line,
                    )
                    if line
                    else message(
                        "a program must end by itself: got {signal}; find the place in a debugger",
                        signal=name,
                    )
                )
            elif passed:  # a message without a socket is foreign
                threads.append(
                    threading.Thread(
                        target=self._lines, args=(socket.socket(fileno=passed[0]),), daemon=True
                    )
                )
                threads[-1].start()
        for thread in threads:
            thread.join()

    def _lines(self, line: socket.socket) -> None:
        """Answer the calls of one thread of the program."""
        with line, line.makefile("rb") as calls:
            while len(head := calls.read(8)) == 8:
                text = Text(calls.read(*struct.unpack("<q", head)))
                seen = len(self.acl.misuse)
                try:
                    name, place = text.string(), text.number()
                    answer = struct.pack("<q", 1) + self.answer(name, text, calls, place)
                except (EOFError, struct.error):  # the message is truncated or foreign
                    return
                except (Fault, TypeError, ValueError) as error:
                    self.faults.append(f"{self.at(place)}{error}")
                    answer = struct.pack("<qqq", 0, 0, 0)
                self.misuse += [f"{self.at(place)}{one}" for one in self.acl.misuse[seen:]]
                try:
                    line.sendall(answer)
                except ConnectionError:
                    return

    def answer(self, name: str, text: "Text", calls, place: int) -> bytes:
        """Do one call; return its result, the number of bytes that follow, and these bytes."""
        if name == "launch":
            self.launch(text)
            return struct.pack("<qq", 0, 0)
        if name == "aclrtMemcpy":
            return self.copy(text, calls)
        if name == "aclCreateScalar":
            code, count = text.number(), text.number()
            return self.packed(
                self.acl.aclCreateScalar(
                    np.frombuffer(bytearray(calls.read(count)), np.uint8) if count else None, code
                )
            )
        # the vendor's examples call it first, without aclInit (asc-devkit, examples/)
        if name == "aclrtSetDevice" and not self.acl.initialised:
            self.acl.aclInit(None)
        # only a program that writes into the socket sends an unknown name
        if (function := BY_NAME.get(name)) is None:
            raise EOFError
        result = getattr(self.acl, name)(
            *(self.taken(text, one.c_type, f"{name}: {one.name}") for one in function.inputs)
        )
        status, *out = result if isinstance(result, tuple) else (result,)
        return self.packed(status, *(out if not status else ()))

    def taken(self, text: "Text", c_type: str, what: str):
        """Return the next argument in the form that HostAcl accepts."""
        plain = c_type.removeprefix("const ")
        if plain in ("double", "float"):
            return text.real()
        if plain == "char *":
            return text.string()
        if plain in ELEMENTS:
            found = text.bytes()
            return None if found is None else np.frombuffer(found, ELEMENTS[plain]).tolist()
        value = text.number()
        if value in self.handles and plain in POINTERS:
            return self.handles[value]
        if value and plain in HANDLE_TYPES:
            raise Fault(
                problem(
                    f"{what} ({c_type}) must be a handle that the library gave",
                    f"{value & (1 << 64) - 1:#x}",
                    "pass what aclCreate... or phase 1 returned; an uninitialised variable holds anything",
                )
            )
        return value

    def packed(self, result, *out) -> bytes:
        """Return the bytes of a result and of the values that C writes through pointers."""
        if isinstance(result, str):
            text = result.encode()
            return struct.pack("<qq", 1, len(text)) + text
        content = b"".join(
            struct.pack(f"<q{len(one)}q", len(one), *one)
            if isinstance(one, tuple)
            else self.word(one)
            for one in out
        )
        return self.word(result) + struct.pack("<q", len(content)) + content

    def word(self, value) -> bytes:
        if isinstance(value, HostHandle):
            number = HANDLES + 16 * value.number
            self.handles[number] = value
            value = number
        return struct.pack("<q", int(value or 0))

    def copy(self, text: "Text", calls) -> bytes:
        """Do aclrtMemcpy: host memory follows the message, or is sent after the answer."""
        dst, room, src, count, kind, sent = (text.number() & (1 << 64) - 1 for _ in range(6))
        on_device = [DEVICE <= one < DEVICE_END for one in (dst, src)]
        fits = count if count <= room else 0
        source = src if on_device[1] or not src else np.frombuffer(calls.read(sent), np.uint8)
        if not on_device[1] and src and source.size < sent:
            raise EOFError  # the program ended during the copy
        target = dst if on_device[0] or not dst else np.full(fits, POISON, np.uint8)
        status = self.acl.aclrtMemcpy(target, room, source, count, kind)
        back = target.tobytes() if isinstance(target, np.ndarray) and not status else b""
        return struct.pack("<qq", status, len(back)) + back

    def launch(self, text: "Text") -> None:
        """Queue a kernel of the program on a stream."""
        name, names, file, line = text.string(), text.string(), text.string(), text.number()
        addresses = text.number(), text.number()
        blocks, stream, key = text.number(), text.number(), text.number()
        given, ends = text.bytes(), np.frombuffer(text.bytes(), "<i8").tolist()
        values = [given[start:end] for start, end in zip([0, *ends], ends)]
        stream = self.handles.get(stream)
        with self.acl.lock:
            self.acl.called = name
            try:
                self.acl.need_stream(stream)
            except Failed as failed:
                raise Fault(
                    problem(
                        f"{name}<<<...>>> needs a device and a stream",
                        f"status {failed.status}: {failed.text}",
                        "call aclInit, aclrtSetDevice and aclrtCreateStream before",
                    )
                ) from None
        platform = Platform.of(self.acl.soc, blocks)
        kernel = DeviceKernel(
            self, name, addresses, (file, line), values, names.split(",") if names else []
        )
        kernel.key = key
        with self.acl.lock:
            self.acl.default_stream_or(stream).queue.append(Task(self, kernel, platform))

    def at(self, place: int, form: str = "{line}: ") -> str:
        """Return the file and line of the program that made the call with this return address, or "" if unknown."""
        found = self._line(place - 1) if place > 1 else None
        return form.format(line=found) if found else ""

    def _line(self, place: int) -> str | None:
        reader = shutil.which("addr2line")
        if reader is None or self.program is None:
            return None
        text = subprocess.run(
            [reader, "-e", self.program, hex(place - self.base)],
            capture_output=True,
            encoding="utf-8",
        ).stdout
        file, _, number = text.split(" (")[0].strip().rpartition(":")
        return f"{Path(file).name}:{number}" if number.isdigit() and "?" not in file else None

    def stop(self) -> None:
        """End the running kernel, because nobody waits for the program any more."""
        if self.running is not None and self.running.poll() is None:
            self.running.end()

    def sentences(self) -> list[str]:
        """Return the sentences to print on stderr when the program ends."""
        said = [
            *self.faults,
            *([str(self.crashed)] if self.crashed else []),
            *map(str, (*self.hazards, *self.warnings)),
        ]
        return said + [
            tr("CANN would not have noticed this: {what}", what=one) for one in self.misuse
        ]


class Text:
    """A reader of the bytes of a message."""

    def __init__(self, content: bytes):
        self.content, self.at = content, 0

    def number(self) -> int:
        self.at += 8
        return struct.unpack_from("<q", self.content, self.at - 8)[0]

    def real(self) -> float:
        return struct.unpack("<d", struct.pack("<q", self.number()))[0]

    def bytes(self) -> bytes | None:
        size = self.number()
        if size < 0:
            return None
        self.at += size
        return self.content[self.at - size : self.at]

    def string(self) -> str | None:
        found = self.bytes()
        return None if found is None else found.decode("utf-8", "surrogateescape")


class Task:
    """A launch of a program's own kernel, which waits in a stream as launches of operators do."""

    def __init__(self, emulator: Emulator, kernel: "DeviceKernel", platform: Platform):
        self.emulator, self.kernel, self.platform = emulator, kernel, platform
        self.name = kernel.__name__
        self.regions = [(name, block, block._data is None) for name, block in kernel.pointed()]

    def touching(self, pointer, count: int, written_only: bool) -> list[str]:
        """Return the names of the arguments whose memory a copy overlaps; with `written_only`, only of memory that
        nothing had written before the launch, and the kernel is to fill.
        """
        return [
            name
            for name, block, fresh in self.regions
            if isinstance(pointer, int)
            and block.start < pointer + count
            and pointer < block.start + block.size
            and (fresh or not written_only)
        ]

    def run(self) -> None:
        emulator = self.emulator
        machine = Machine(
            self.platform,
            self.platform.cores,
            schedule_of(emulator.schedule),
            "auto",
        )
        machine.run(self.kernel, self.kernel.values)
        stopped = any(core.ended_at is None for core in machine.cores)
        emulator.hazards += machine.hazards
        emulator.warnings += machine.hazards.warnings
        machine.part()
        if stopped:
            raise Failed(ACL_ERROR_RT_VECTOR_CORE_EXCEPTION, f"{self.name}: the kernel stopped")


class DeviceKernel(CppKernel):
    """A kernel with arguments that a C++ program launches."""

    def __init__(
        self,
        emulator: Emulator,
        name: str,
        addresses,
        place: tuple[str, int],
        values: list[bytes],
        names: list[str],
    ):
        self.emulator, self.values = emulator, values
        names = (
            names
            if len(names) == len(self.values)
            else [f"argument_{k}" for k in range(len(self.values))]
        )
        program = emulator.program
        super().__init__(
            Path(place[0]),
            program.parent / f"{program.name}.kernel",
            "%x:%x" % addresses,
            place[1],
            tuple((one, "i8") for one in names),
        )
        self.__name__ = name

    def pointed(self):
        """Yield the memory blocks to which arguments point, with the arguments' names."""
        for (name, _), value in zip(self.parameters, self.values):
            block = self.emulator.acl.memory.find(int.from_bytes(value, "little"))
            if block is not None and not block.freed:
                yield name, block

    def opened(self, machine: Machine, arguments):
        self.seconds = min(self.seconds, max(round(self.emulator.until - time.monotonic(), 1), 0.1))
        return super().opened(machine, arguments, DeviceLaunch)


class DeviceLaunch(Launched):
    """A launch that shares all device memory, at the addresses that the program knows."""

    def __init__(self, kernel: DeviceKernel, machine: Machine, arguments):
        super().__init__(kernel, machine, arguments)
        kernel.emulator.running = self.process

    def laid_out(self, arguments):
        names = {block: name for name, block in self.kernel.pointed()}
        self.values = list(arguments)
        regions = []
        for block in self.kernel.emulator.acl.memory.live:
            # test this before block.data, which allocates when read
            written = block._data is not None
            memory = GlobalMemory(names.get(block, str(block)), block.data, written)
            memory.read_only, memory.grain = False, None
            regions.append((block.start - DEVICE, memory))
        return regions, max([start + memory.size for start, memory in regions], default=0) + (
            1 << 16
        )

    def memory_at(self, offset: int, form: np.dtype) -> Address | None:
        """Return the block of memory at an address, and the offset in it;
        accesses are then recorded by elements of `form`.
        """
        held = [(start, memory) for start, memory, _ in self.memories if start <= offset]
        if not held:
            return None
        start, memory = held[-1]
        regrain(memory, form)
        return Address(memory, offset - start)


def regrain(memory: GlobalMemory, form: np.dtype) -> None:
    """Record the accesses to a memory by elements of a format, unless they
    are recorded by elements as small or smaller.
    """
    size = form.itemsize
    if memory.size % size or memory.grain is not None and memory.grain <= size:
        return
    memory.array = memory.bytes[: memory.size].view(form)
    if memory.grain is None:
        memory.unit = size
        memory.state = None if memory.state is None else memory.unwritten()
    else:
        times, memory.unit = memory.unit // size, size
        memory.state = None if memory.state is None else np.repeat(memory.state, times)
        memory.records = {
            verb: tuple(np.repeat(one, times) for one in each)
            for verb, each in memory.records.items()
        }
    memory.grain = size


def serve_from(number: int) -> None:
    """Serve the program that started this process over an inherited socket, and print the findings."""
    control = socket.socket(fileno=number)
    try:
        emulator = Emulator()
    except ValueError as error:  # an unknown product or version
        print("aclnn-viz:", error, file=sys.stderr)
        return
    emulator.serve(control)
    for sentence in emulator.sentences():
        print("aclnn-viz:", sentence, file=sys.stderr)
