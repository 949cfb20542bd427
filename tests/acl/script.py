"""Scripts of calls, scripts/*.txt: a call with its arguments, and after "->" its result.

"$name" is the value bound by an earlier result, "_" any result; lines after "!" are complaints of the emulator.
A command is a call of the C API, a method of the program, or a step below.
"""

import re
from ast import literal_eval
from pathlib import Path

import numpy as np
from acl_program import FLOAT, ND, on_new_thread, uniform

from aclnn_viz.acl import HostAcl

HARDSWISH = "aclnnHardswishBackward"
POISON = np.full(4, 0xA5, np.uint8).view(np.float32)[0]


def scripts(name: str) -> dict[str, list[str]]:
    """Return the lines of each script of a file, by name."""
    text = (Path(__file__).parent / "scripts" / f"{name}.txt").read_text()
    blocks = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).strip().split("\n\n")
    return {name: lines for name, *lines in map(str.splitlines, map(str.strip, blocks))}


class Steps:
    """The steps of scripts beside calls, with a started program."""

    def __init__(self, program):
        self.program = program

    def tensors(self, /, **replaced):
        """Return arguments of phase 1 by name; `replaced` are tensors to use instead."""
        arguments, _ = self.program.arguments(HARDSWISH)
        return dict(zip(("gradOutput", "self", "out"), arguments)) | replaced

    def queued(self, /, **replaced):
        """Queue the operator; return the addresses of its tensors, by name."""
        tensors, places = self.tensors(**replaced), self.program.tensors
        self.program.queue(HARDSWISH, tensors.values())
        return {name: places[tensor][0] for name, tensor in tensors.items() if tensor in places}

    def synchronised(self, /, **replaced):
        self.queued(**replaced)
        return self.program.acl.aclrtSynchronizeStream(self.program.stream)

    def prepared(self, name):
        return self.program.phase_1(name, self.program.arguments(name)[0])

    def phase_1(self, name, *arguments):
        return self.program.phase_1(name, arguments)

    def free(self, address):
        self.program.blocks.remove(address)
        return self.program.acl.aclrtFree(address)

    def destroy(self, tensor):
        self.program.tensors.pop(tensor)
        return self.program.acl.aclDestroyTensor(tensor)

    def new_stream(self):
        self.program.stream = self.program.acl.aclrtCreateStream()[1]

    def foreign(self):
        return HostAcl().aclCreateTensor((2, 5), FLOAT, None, 0, ND, (2, 5), None)

    def put(self, count):
        return self.program.put(uniform(1, count))

    def tensor(self, *shape):
        return self.program.tensor(uniform(0, *shape))

    def address(self, tensor):
        return self.program.tensors[tensor][0]

    def view(self, address, shape, **more):
        return self.program.view(address, shape, np.float32, **more)

    def bytes(self, count):
        return np.arange(count).astype(np.uint8)

    def elements(self, array):
        return tuple(array.tolist())

    def content(self, address, count):
        return self.elements(self.program.get(address, count, np.uint8))

    def poison(self, address, count):
        return int((self.program.get(address, count, np.float32) == POISON).sum())

    def complaints(self):
        return len(self.program.acl.misuse)


def value(word: str, names: dict):
    if name := re.fullmatch(r"\$(\w+)([+-]\d+)?", word):
        return names[name[1]] + int(name[2]) if name[2] else names[name[1]]
    if re.fullmatch(r"acl\w+", word):
        return word
    return None if word == "null" else literal_eval(word)


def play(lines: list[str], acl, program=None) -> None:
    """Make the calls of a script, and assert their results."""
    names = {"stream": getattr(program, "stream", None)}
    steps = Steps(program)

    def called(text):
        command, *words = text.split()
        pairs = dict(word.split("=") for word in words if "=" in word)
        source = next(s for s in (steps, acl, program) if hasattr(s, command))
        return getattr(source, command)(
            *(value(word, names) for word in words if "=" not in word),
            **{name: value(word, names) for name, word in pairs.items()},
        )

    for line in lines:
        text, _, expected = line.partition(" -> ")
        if text.startswith("thread "):
            several = [part for part in text.removeprefix("thread ").split(" , ")]
            result = on_new_thread(lambda parts=several: [called(part) for part in parts])
            result = result[0] if len(result) == 1 else tuple(result)
        else:
            result = called(text)
        if isinstance(result, dict):
            names |= result
        elif expected:
            results = result if isinstance(result, tuple) else (result,)
            for word, got in zip(expected.split(), results, strict=True):
                if word.startswith("$") and word[1:] not in names:
                    names[word[1:]] = got
                else:
                    assert word == "_" or got == value(word, names), f"{line}: got {result}"
