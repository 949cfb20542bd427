"""Execute the calls of C++ kernels on the simulated cores: read a core's records in shared memory, and run the named calls."""

import struct
from functools import partial
from itertools import islice, repeat
from socket import socket

import numpy as np

from aclnn_viz.tiles import copies, events, library, reductions, tensors, vector
from aclnn_viz.tiles.machine import Core
from aclnn_viz.tiles.platforms import bfloat16_t, float32
from aclnn_viz.tiles.tensors import GlobalTensor, LocalTensor
from aclnn_viz.words.messages import message

CALLS = 1 << 16  # bytes for a core's records of calls, behind global memory in the shared file
# Formats, enumerations and parameters in the order in which start.h and kernel_operator.h number them.
FORMATS = (*map(np.dtype, "i1 u1 i2 u2 i4 u4 i8 u8 f2".split()), bfloat16_t, float32)
PIPES = copies.PIPE_S, copies.PIPE_V, copies.PIPE_MTE2, copies.PIPE_MTE3, copies.PIPE_ALL
CHOICES = tuple(
    map(
        tuple,
        (
            events.HardEvent,
            tensors.TPosition,
            vector.RoundMode,
            reductions.CMPMODE,
            reductions.SELMODE,
            PIPES,
            copies.CacheLine,
        ),
    )
)
PARAMETERS = (
    copies.DataCopyParams,
    copies.DataCopyExtParams,
    copies.DataCopyPadExtParams,
    vector.UnaryRepeatParams,
    vector.BinaryRepeatParams,
    vector.BrcbRepeatParams,
)


class Calls:
    """The calls of one core's process: converts their arguments for the emulated core, and returns their values."""

    def __init__(self, launched, core: Core, mine: socket, base: int):
        self.launched, self.core, self.mine, self.base = launched, core, mine, base
        self.noted = memoryview(launched.shared)[launched.top + core.index * CALLS :]
        # objects that a kernel names by number: pipes, queues, buffers, tensors
        self.made: list = []
        self.tensors: dict[tuple, LocalTensor | GlobalTensor] = {}
        self.heads: dict[bytes, tuple] = {}

    def serve(self):
        while True:
            _, why = self.launched.received(self.core, self.mine)
            answer, at, end = 0, 8, 8 + int.from_bytes(self.noted[:8], "little")
            while at < end:
                head, size = struct.unpack_from("=ii", self.noted, at)
                text = bytes(self.noted[at + 8 : at + 8 + head])
                kind, place, function, form, kinds = self.heads.get(text) or self.head(text)
                if kind == "e":
                    return
                if function is not None:
                    self.core.at = place
                    numbers = iter(form.unpack_from(self.noted, at + 8 + head))
                    answer = function(
                        *[convert(*islice(numbers, count)) for count, convert in kinds]
                    )
                    if kind == "m":
                        self.made.append(answer)
                at += 8 + head + size
            if why:
                self.core.stop("program ended", why)
            self.mine.send(
                struct.pack("=Q", int(answer) % 2**64)
                if isinstance(answer, int | np.integer)
                else struct.pack("=d", answer)
                if isinstance(answer, float | np.generic)
                else bytes(8)
            )

    def head(self, text: bytes) -> tuple:
        """Split a call's head into kind, place, function, form of the numbers, and each argument's count and type."""
        line, kind = struct.unpack_from("=ic", text)
        name, file, letters = text[5:].split(b"\0", 2)
        owner, _, method = name.decode().rpartition(".")
        function = (
            (lambda first, *rest: getattr(first, method)(*rest)) if owner else FUNCTIONS.get(method)
        )
        forms = {
            "i": ("q", int),
            "f": ("d", float),
            "h": ("q", self.made.__getitem__),
            "m": ("QQ", lambda *bits: bits),
        }
        whole, kinds, each = "=", [], iter(letters)

        def code():
            return next(each) - ord("0")

        for letter in map(chr, each):
            form, convert = forms.get(letter, ("", None))
            if letter in "lg":
                form, convert = (
                    "qq",
                    partial(self.tensor, LocalTensor if letter == "l" else GlobalTensor, code()),
                )
            elif letter == "p":
                convert, form = partial(parameters, PARAMETERS[code()]), "d" * code()
            elif convert is None:  # text, formats and enumerations: equal in every call
                value = None
                if letter == "s":
                    value = bytes(iter(each.__next__, ord("\n"))).decode()
                elif letter == "t":
                    value = FORMATS[code()]
                elif letter == "e":
                    choices, place = CHOICES[code()], code()
                    if place >= len(choices):
                        self.core.at = file.decode(), line
                        self.core.stop(
                            "event",
                            message(
                                "{name} names a part of a core that a vector core does not have",
                                name=method,
                            ),
                        )
                    value = choices[place]
                convert = repeat(value).__next__
            whole += form
            kinds.append((len(form), convert))
        head = self.heads[text] = (
            kind.decode(),
            (file.decode(), line),
            function,
            struct.Struct(whole),
            kinds,
        )
        return head

    def tensor(self, kind: type, code: int, first: int, last: int) -> LocalTensor | GlobalTensor:
        """Return the tensor at (number, byte offset) in the Unified Buffer, or at (address, elements) in global memory."""
        key = kind, code, first, last
        if key in self.tensors:
            return self.tensors[key]
        if kind is GlobalTensor:
            find, form = self.launched, FORMATS[code]
            tensor = GlobalTensor(form)
            if first and (
                address := find.memory_at(first - self.base, form)
                or find.constant(first, form, last)
            ):
                tensor.SetGlobalBuffer(address, None if last < 0 else last)
        else:
            if first < 0:
                self.core.stop(
                    "not initialised",
                    message("a LocalTensor is used that no queue and no buffer gave"),
                )
            base = self.made[first]
            tensor = LocalTensor(base.block, base.start + last, base.end, FORMATS[code])
            tensor.turn = base.turn
        self.tensors[key] = tensor
        return tensor


def parameters(kind: type, *values: float):
    """Return the parameters of a copy or of repeats, whole numbers except a padding value."""
    return kind(
        *(
            value if name == "paddingValue" else int(value)
            for name, value in zip(kind.__annotations__, values)
        )
    )


FUNCTIONS = {
    name: value
    for module in (copies, events, library, reductions, tensors, vector)
    for name, value in vars(module).items()
    if callable(value) and (name[0].isupper() or name == "static")
}
