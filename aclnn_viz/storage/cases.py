"""Read and write test cases in their layout on disk: a folder for programs in any language, or one zip file.

cases.json            author; per case its operator, attributes, shape and dtype of every tensor, and size and SHA-256
                      of every written file
cases.json.sha256     checksum of cases.json, in the format of sha256sum
FOLDER/in/x.npy       each input of a case; x.bin beside it for programs without NumPy
FOLDER/out/y.npy      each known output. In a folder, programs write their outputs here, without checksums
"""

import hashlib
import json
import re
from math import prod
from pathlib import Path

import numpy as np

from aclnn_viz.errors import place_of
from aclnn_viz.storage.readers import (
    HEADER_ROOM,
    AlteredError,
    ForeignError,
    StoredError,
    TooLargeError,
    bin_bytes,
    dtype_named,
    from_npy,
    npy_bytes,
)
from aclnn_viz.storage.sources import Archive, Folder, Source

FORMAT = "aclnn-viz cases 2"
INDEX, CHECKSUM = "cases.json", "cases.json.sha256"
LARGEST = 8 << 30  # limit of all files together, in bytes
LONGEST_INDEX = 64 << 20
_NAME = re.compile(r"\w{1,100}", re.ASCII)
_KINDS = {
    "operator": str,
    "folder": str,
    "dtype": str,
    "seed": int,
    "attributes": dict,
    "inputs": dict,
    "outputs": dict,
    "files": dict,
}


def entry_of(
    folder: str,
    operator,
    inputs: dict,
    outputs: dict,
    *,
    bare: bool,
    sources: str | None,
    described: dict | None = None,
    **about,
) -> tuple[dict, dict[str, bytes]]:
    """Return a case's entry in the index, and the content of its files by their place below its folder.

    `outputs` are the known outputs, `described` has shape and dtype of all; `sources` belong to an outside operator; `bare`
    adds .bin files.
    """
    tensors = {name: value for name, value in inputs.items() if isinstance(value, np.ndarray)}
    described = described or {name: (value.shape, value.dtype) for name, value in outputs.items()}
    files = {}
    for part, values in (("in", tensors), ("out", outputs)):
        for name, value in values.items():
            files[f"{part}/{name}.npy"] = npy_bytes(value)
            if bare:
                files[f"{part}/{name}.bin"] = bin_bytes(value)
    entry = {
        "folder": folder,
        "operator": operator.name,
        "aclnn_name": operator.aclnn_name,
        **about,
        **({"sources": sources} if sources else {}),
        "attributes": {name: value for name, value in inputs.items() if name not in tensors},
        "inputs": {name: _described(value.shape, value.dtype) for name, value in tensors.items()},
        "outputs": {name: _described(*what) for name, what in described.items()},
        "files": {name: checksums(content) for name, content in files.items()},
    }
    return entry, files


def checksums(content: bytes) -> dict:
    """Return a file's size and checksum for the index."""
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def index_files(entries: list[dict], **about) -> dict[str, bytes]:
    """Return the index of cases, and its checksum, as files by name."""
    content = json.dumps(
        {"format": FORMAT, "byte order": "little", **about, "cases": entries}, indent=1
    ).encode()
    return {INDEX: content, CHECKSUM: f"{hashlib.sha256(content).hexdigest()}  {INDEX}\n".encode()}


def _described(shape, dtype) -> dict:
    return {"shape": list(shape), "dtype": np.dtype(dtype).name}


def described(what: dict) -> tuple[tuple[int, ...], np.dtype]:
    """Return the shape and the dtype of a tensor from the index."""
    return tuple(what["shape"]), dtype_named(what["dtype"])


class StoredCases:
    """All cases of a folder or a capsule, and their index; each file is checked when it is read.

    `about` is the index, `entries` its cases. Raise ForeignError, AlteredError, TooLargeError or FileKindError.
    """

    def __init__(self, source: Source):
        self.source = source
        try:
            content = source.read(INDEX, LONGEST_INDEX)
        except AlteredError as error:
            raise ForeignError(str(error)) from None
        expected = source.read(CHECKSUM, 200).decode(errors="replace")
        if expected != f"{hashlib.sha256(content).hexdigest()}  {INDEX}\n":
            raise source.broken(AlteredError, f"{INDEX} does not have its checksum")
        try:
            self.about = json.loads(content)
            if self.about["format"] != FORMAT or self.about["byte order"] != "little":
                raise ValueError(f"its format is {self.about['format']!r} instead of {FORMAT!r}")
            self.entries = [self.checked(entry) for entry in self.about["cases"]]
            if len({entry["folder"] for entry in self.entries}) != len(self.entries):
                raise ValueError("two cases in one folder")
        except (
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            RecursionError,
            MemoryError,
        ) as error:
            text = f"{INDEX} lacks {error}" if isinstance(error, KeyError) else f"{INDEX}: {error}"
            raise source.broken(ForeignError, text) from None
        claimed = sum(file["bytes"] for entry in self.entries for file in entry["files"].values())
        if claimed > LARGEST:
            raise source.broken(
                TooLargeError, f"its arrays claim {claimed} bytes, more than {LARGEST}"
            )

    def checked(self, entry: dict) -> dict:
        """Return an entry of the index if its parts fit together; else raise ValueError, KeyError or TypeError."""
        for name, kind in _KINDS.items():
            if not isinstance(entry[name], kind):
                raise ValueError(f"{name} is a {type(entry[name]).__name__}")
        if not _NAME.fullmatch(entry["folder"]):
            raise ValueError(f"the folder of a case is called {entry['folder']!r}")
        sizes = {}
        for part, tensors in (("in", entry["inputs"]), ("out", entry["outputs"])):
            for name, what in tensors.items():
                shape, dtype = described(what)
                if not _NAME.fullmatch(name) or not all(
                    type(n) is int and 0 <= n < 1 << 62 for n in shape
                ):
                    raise ValueError(f"{name} of shape {list(shape)}")
                size = prod(shape) * dtype.itemsize
                sizes |= {
                    f"{part}/{name}.npy": range(size + 1, size + HEADER_ROOM),
                    f"{part}/{name}.bin": (size,),
                }
        for name, file in entry["files"].items():
            if (
                type(file["bytes"]) is not int
                or file["bytes"] not in sizes.get(name, ())
                or not isinstance(file["sha256"], str)
            ):
                raise ValueError(
                    f"{entry['folder']}/{name} has a size that does not belong to its shape"
                )
        missing = [name for name in entry["inputs"] if f"in/{name}.npy" not in entry["files"]]
        if missing:
            raise ValueError(f"{entry['folder']} lacks the input {missing[0]}")
        return entry

    def values(self, entry: dict, part: str) -> dict:
        """Return a part of a case: "inputs" with the attributes, or the "outputs" that have checksums."""
        where = {"inputs": "in", "outputs": "out"}[part]
        files = {
            name: self._file(entry, name, file)
            for name, file in entry["files"].items()
            if name.startswith(f"{where}/")
        }
        found = {
            name: self._array(
                f"{entry['folder']}/{where}/{name}.npy", files[f"{where}/{name}.npy"], what
            )
            for name, what in entry[part].items()
            if f"{where}/{name}.npy" in files
        }
        if part == "inputs":
            found |= {
                name: tuple(value) if isinstance(value, list) else value
                for name, value in entry["attributes"].items()
            }
        return found

    def _array(self, place: str, content: bytes, what: dict) -> np.ndarray:
        shape, dtype = described(what)
        try:
            array = from_npy(content, place, dtype)
        except AlteredError as error:
            raise self.source.broken(AlteredError, str(error)) from None
        if array.dtype != dtype or array.shape != shape:
            raise self.source.broken(
                AlteredError,
                f"{place} is {array.dtype} {list(array.shape)}, which {INDEX} does not say",
            )
        return array

    def _file(self, entry: dict, name: str, file: dict) -> bytes:
        place = f"{entry['folder']}/{name}"
        try:
            content = self.source.read(place, file["bytes"])
        except TooLargeError as error:  # the index states the length of the file
            raise AlteredError(str(error)) from None
        if checksums(content) != {"bytes": file["bytes"], "sha256": file["sha256"]}:
            raise self.source.broken(AlteredError, f"{place} does not have its checksum")
        return content


def opened(path) -> StoredCases:
    """Open the cases in a folder or in a capsule."""
    path = place_of(path)
    return StoredCases(Archive(path) if path.is_file() else Folder(path))


def is_folder_of_cases(path: Path) -> bool:
    """Return whether a folder holds only cases and the outputs of their programs."""
    try:
        stored = StoredCases(Folder(path))
    except StoredError:
        return False
    known = {INDEX, CHECKSUM} | {
        f"{entry['folder']}/{name}"
        for entry in stored.entries
        for name in (
            *entry["files"],
            *(f"out/{output}.{form}" for output in entry["outputs"] for form in ("npy", "bin")),
        )
    }
    return all(
        one.is_dir() and not one.is_symlink() or one.relative_to(path).as_posix() in known
        for one in path.rglob("*")
    )
