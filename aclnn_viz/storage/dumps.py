"""Read dumps of a training run in the layout of msProbe (package mindstudio-probe): the entries of dump.json, and the tensors
beside it.

    step0/rank0/dump.json            inputs and outputs of each call by name, in the order of execution
    step0/rank0/dump_tensor_data/    the tensors, NAME.input.0.pt; absent in a dump of statistics or checksums

A .pt file is a zip archive of numbers, and of a pickle that describes them. Nothing is unpickled: only instructions that
describe one tensor are followed, and others are refused. NumPy is the only library needed.
"""

import json
import os
import pickletools
import re
import zlib
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

import numpy as np

from aclnn_viz.errors import place_of, printable, problem
from aclnn_viz.storage.readers import (
    AlteredError,
    ForeignError,
    StoredError,
    TooLargeError,
    dtype_named,
    from_npy,
    read_file,
)
from aclnn_viz.storage.sources import Archive

INDEX, TENSORS = "dump.json", "dump_tensor_data"
LARGEST = 1 << 30  # limit of a tensor and of an index, in bytes
LONGEST_PICKLE = 1 << 16
DEPTH = 6  # most levels of folders searched for an index
MORE = "dump the run again, or copy it again from where it was written"
STORAGES = {
    f"torch {name}Storage": dtype
    for name, dtype in {
        "Float": "float32",
        "Double": "float64",
        "Half": "float16",
        "BFloat16": "bfloat16",
        "Long": "int64",
        "Int": "int32",
        "Short": "int16",
        "Char": "int8",
        "Byte": "uint8",
        "Bool": "bool",
    }.items()
}
REBUILD = "torch._utils _rebuild_tensor_v2"


class NoNumbersError(StoredError):
    """A dump holds statistics or a checksum of a tensor, not its numbers."""


def _need_described(name: str, array: np.ndarray, described: dict) -> None:
    """Raise AlteredError unless a tensor has the shape, dtype, checksum and range of its entry."""
    shape = described.get("shape")
    if (
        list(array.shape) != shape
        or array.dtype.name != str(described.get("dtype")).rpartition(".")[2].lower()
    ):
        raise AlteredError(
            problem(
                printable(f"{name} is what {INDEX} says, {described.get('dtype')} {shape}"),
                f"{array.dtype}{list(array.shape)}",
                MORE,
            )
        )
    crc = described.get("md5")  # msProbe stores a CRC-32 under the name "md5"
    if (
        isinstance(crc, str)
        and len(crc) == 8
        and crc.lower() != f"{zlib.crc32(array.tobytes()):08x}"
    ):
        raise AlteredError(problem(f"{name} has the checksum that {INDEX} says", "another", MORE))
    for key, extreme in (("Max", np.max), ("Min", np.min)) if array.size else ():
        wanted = described.get(key)
        # JSON may hold an integer of any size
        if (
            isinstance(wanted, (int, float))
            and abs(wanted) < np.inf
            and float(extreme(array)) != wanted
        ):
            raise AlteredError(
                problem(
                    f"{name} has the {key} that {INDEX} says, {wanted}",
                    f"{extreme(array)}",
                    MORE,
                )
            )


@dataclass
class Dump:
    """One dump.json: its `place` below the given folder, its entries by name, and `notes` on faults of the file."""

    folder: Path
    place: str
    entries: dict[str, dict]
    notes: list[str] = field(default_factory=list)

    def tensor(self, described: dict) -> np.ndarray:
        """Return the numbers of a tensor that an entry describes; raise a StoredError if they are missing, damaged or of
        another kind.
        """
        name = described.get("data_name")
        if name is None:
            raise NoNumbersError(
                problem(
                    "a call is judged by its numbers",
                    "statistics or checksums alone",
                    'dump with "task": "tensor"',
                )
            )
        if not isinstance(name, str) or Path(name).name != name or "\\" in name:
            raise AlteredError(problem(f"a tensor is a file in {TENSORS}", f"{name!r:.80}", MORE))
        if not os.path.lexists(path := self.folder / TENSORS / name):
            raise AlteredError(
                problem(f"{INDEX} names the files in {TENSORS}", f"no {printable(name)}", MORE)
            )
        try:
            array = (
                from_npy(read_file(path, LARGEST), name) if path.suffix == ".npy" else from_pt(path)
            )
        except StoredError as error:
            raise type(error)(
                printable(
                    str(error)
                    if path.suffix != ".npy"
                    else problem(f"{name} is one tensor as NumPy writes it", str(error), MORE)
                )
            ) from None
        _need_described(name, array, described)
        return array


def read_dumps(folder) -> list[Dump]:
    """Return the dumps below a folder, by step and rank; links to folders are not followed.

    A truncated index gives its complete entries, and a note. Raise FileNotFoundError without a folder, ForeignError without a
    dump in it.
    """
    folder = place_of(folder)
    if not folder.is_dir():
        raise FileNotFoundError(
            problem(
                "a dump is a folder", f"{folder}, which is none", "name the dump_path of the run"
            )
        )
    dumps = []
    for place, inner, files in os.walk(folder):
        below = Path(place).relative_to(folder)
        inner[:] = sorted(
            (name for name in inner if name != TENSORS and len(below.parts) < DEPTH), key=_natural
        )
        if INDEX in files:
            dumps.append(_dump(Path(place), below.as_posix()))
    if not dumps:
        raise ForeignError(
            problem(
                f"a dump of msProbe holds {INDEX}, such as step0/rank0/{INDEX}",
                f"none below {folder}",
                "name the dump_path of the run; a run that was killed before stop() has no dump",
            )
        )
    return dumps


def _natural(name: str) -> list:
    return [
        (part.isdecimal(), int(part) if part.isdecimal() else 0, part)
        for part in re.split(r"(\d+)", name)
    ]


def _dump(folder: Path, place: str) -> Dump:
    try:
        text = read_file(folder / INDEX, LARGEST).decode("utf-8-sig", "replace")
        entries, whole = _parsed(text)
    except StoredError as error:
        return Dump(folder, place, {}, [problem(f"{INDEX} can be read", str(error), MORE)])
    kinds = {
        "input_args": list,
        "input_kwargs": dict,
        "parameters": dict,
        "output": list,
        "input": list,
    }
    kept = {
        printable(name): entry
        for name, entry in entries.items()
        if isinstance(entry, dict)
        and all(isinstance(entry.get(part, kind()), kind) for part, kind in kinds.items())
    }
    notes = (
        []
        if whole
        else [
            problem(
                f"{INDEX} is whole",
                f"one that breaks off behind {len(entries)} entries",
                "what follows is not judged; " + MORE,
            )
        ]
    )
    if len(kept) < len(entries):
        notes.append(
            problem(
                "an entry holds lists of what went in and came out",
                f"{len(entries) - len(kept)} that do not",
                "they are left out; " + MORE,
            )
        )
    named = {
        str(described.get("data_name")) for entry in kept.values() for described in tensors(entry)
    }
    files = sorted(os.listdir(folder / TENSORS)) if (folder / TENSORS).is_dir() else []
    if loose := [name for name in files if name not in named]:
        notes.append(
            problem(
                f"every file in {TENSORS} belongs to an entry",
                f"{len(loose)} that belong to none, such as {printable(loose[0])}",
                "a killed run leaves such files; they are not judged",
            )
        )
    return Dump(folder, place, kept, notes)


def _parsed(text: str) -> tuple[dict, bool]:
    """Return the complete entries in the text of a dump.json, and whether the text itself is complete."""
    try:
        entries = json.loads(text)["data"]
        return entries, isinstance(entries.keys(), object)
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError):
        pass
    entries, decode = {}, json.JSONDecoder().raw_decode
    try:
        at = re.search(r'"data"\s*:\s*\{', text).end()
        while True:
            name, at = decode(text, re.compile(r"[\s,]*").match(text, at).end())
            entries[str(name)], at = decode(text, re.compile(r"\s*:\s*").match(text, at).end())
    except (ValueError, RecursionError, AttributeError):
        return entries, False


def tensors(held):
    """Yield the descriptions of tensors in an entry or a part of one."""
    if isinstance(held, dict) and "shape" in held and "dtype" in held:
        yield held
    elif isinstance(held, (dict, list)):
        for part in held.values() if isinstance(held, dict) else held:
            yield from tensors(part)


def from_pt(path: Path) -> np.ndarray:
    """Return the tensor that `torch.save` wrote; raise a StoredError for any other content, and above LARGEST bytes."""
    archive = Archive(path, f"{path.name} is one tensor as torch.save writes it", MORE)
    pickles = [name for name in archive.members if name.endswith("/data.pkl")]
    if len(pickles) != 1:
        raise archive.broken(ForeignError, f"{len(pickles)} data.pkl")
    stem = pickles[0].removesuffix("data.pkl")
    content = archive.read(pickles[0], LONGEST_PICKLE)
    try:
        function, ((_, storage, key, _, count), offset, shape, strides, *_) = _described(content)
        if function != REBUILD or storage not in STORAGES:
            raise ValueError(f"{function}, {storage}")
        if (
            f"{stem}byteorder" in archive.members
            and archive.read(f"{stem}byteorder", 8) != b"little"
        ):
            raise ValueError("numbers that are not little-endian")
        dtype, last = (
            dtype_named(STORAGES[storage]),
            offset + sum((n - 1) * step for n, step in zip(shape, strides, strict=True)),
        )
        if (
            not all(type(n) is int and n >= 0 for n in (count, offset, *shape, *strides))
            or 0 not in shape
            and last >= count
        ):
            raise ValueError(
                f"shape {shape}, strides {strides} and offset {offset} in {count} numbers"
            )
    except Exception as error:  # a damaged or malicious file may raise anything
        raise archive.broken(AlteredError, f"data.pkl: {error}"[:300]) from None
    if max(count, prod(shape)) * dtype.itemsize > LARGEST:
        raise archive.broken(
            TooLargeError,
            f"{max(count, prod(shape)) * dtype.itemsize} bytes, where at most {LARGEST} are read",
        )
    numbers = archive.read(f"{stem}data/{key}", LARGEST)
    if len(numbers) != count * dtype.itemsize:
        raise archive.broken(
            AlteredError, f"{len(numbers)} bytes of numbers instead of {count * dtype.itemsize}"
        )
    flat = (
        np.frombuffer(numbers, np.uint8).astype(bool)
        if dtype == bool
        else np.frombuffer(numbers, dtype)
    )
    try:
        return (
            np.zeros(shape, dtype)
            if 0 in shape
            else np.lib.stride_tricks.as_strided(
                flat[offset:], shape, [step * dtype.itemsize for step in strides]
            ).copy()
        )
    except ValueError as error:  # the tensor has too many axes for an array, or too long ones
        raise archive.broken(AlteredError, f"shape {shape}: {error}"[:300]) from None


def _described(content: bytes):
    """Return the value that a pickle describes, without running it; a call is a pair (function's name, arguments)."""
    stack, marks, memo = [], [], {}
    for code, value, _ in pickletools.genops(content):
        match code.name:
            case "PROTO" | "BINPERSID":  # the tuple that names a storage stays on the stack
                pass
            case "MARK":
                marks.append(len(stack))
            case "GLOBAL" | "BINUNICODE" | "BININT" | "BININT1" | "BININT2" | "LONG1":
                if code.name == "GLOBAL" and value not in (
                    REBUILD,
                    "collections OrderedDict",
                    *STORAGES,
                ):
                    raise ValueError(f"{value}, which no dumped tensor needs")
                stack.append(value)
            case "NEWTRUE" | "NEWFALSE":
                stack.append(code.name == "NEWTRUE")
            case "EMPTY_TUPLE":
                stack.append(())
            case "TUPLE" | "TUPLE1" | "TUPLE2" | "TUPLE3":
                at = marks.pop() if code.name == "TUPLE" else len(stack) - int(code.name[-1])
                stack[at:] = [tuple(stack[at:])]
            case "BINPUT" | "LONG_BINPUT":
                memo[value] = stack[-1]
            # A tuple is not taken from the memo: tuples that each hold the last one twice would
            # describe a value of any size in a few bytes.
            case "BINGET" | "LONG_BINGET" if not isinstance(memo[value], tuple):
                stack.append(memo[value])
            case "REDUCE":
                stack[-2:] = [tuple(stack[-2:])]
            case "STOP":
                return stack.pop()
            case name:
                raise ValueError(f"the instruction {name}, which no dumped tensor needs")
