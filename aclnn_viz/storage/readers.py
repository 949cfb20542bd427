"""Read stored files safely: regular files alone, sizes checked first, arrays from `.npy` and `.bin`, an exception for each
kind of damage.

Kind and length are checked before reading. NumPy's file format lacks bfloat16: its files hold the bits as uint16, and the
dtype is stored separately. A `.bin` file holds the same numbers bare, in C order, little-endian.
"""

import io
import json
import os
import stat
from math import prod
from pathlib import Path
from typing import BinaryIO

import numpy as np

from aclnn_viz.dtypes import FORMATS, PLAIN, float_format
from aclnn_viz.errors import invalid

SOURCES = (".cpp", ".cc", ".cxx", ".asc")  # suffixes of C++ files


class StoredError(ValueError):
    """Stored cases cannot be used."""


class ForeignError(StoredError):
    """The files are no stored cases, or have another version."""


class AlteredError(StoredError):
    """The bytes differ from those written: cut, changed, appended, exchanged or missing."""


class TooLargeError(StoredError):
    """The stated or real size exceeds a limit."""


class FileKindError(StoredError):
    """The path is no regular file but a folder, a pipe, a device or a link."""


def machine_memory() -> int:
    """Return the bytes of memory of this machine, infinity if unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 1 << 62


def regular(path: Path, follow: bool = True) -> BinaryIO:
    """Open a regular file for reading; `follow` also allows a link to one.

    Raise FileNotFoundError, and FileKindError for anything else at the path, without waiting for it.
    """
    flags = (
        os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | (0 if follow else getattr(os, "O_NOFOLLOW", 0))
    )
    try:
        handle = os.open(path, flags)
    except FileNotFoundError:
        raise
    except OSError as error:
        # the path is a forbidden link, a socket, or has a file instead of a folder
        raise FileKindError(f"{path.name}, which is no readable file ({error.strerror})") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise FileKindError(f"{path.name}, which is no regular file")
    return os.fdopen(handle, "rb")


def need_text(path: Path, most: int = 1 << 30) -> Path:
    """Return the path of a regular file of at most `most` bytes; raise ValueError for another kind, FileNotFoundError if
    missing.
    """
    try:
        with regular(path) as file:
            if (size := os.fstat(file.fileno()).st_size) > most:
                raise TooLargeError(
                    f"{path.name} with {size} bytes, where at most {most} are expected"
                )
    except StoredError as error:
        raise invalid("the text file can be read", str(error), "name another file") from None
    return path


def read_file(path: Path, limit: int, follow: bool = True) -> bytes:
    """Return the content of a regular file of at most `limit` bytes; raise the errors of `regular`, and TooLargeError."""
    with regular(path, follow) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise TooLargeError(
                f"{path.name} with {size} bytes, where at most {limit} are expected"
            )
        # read(limit) would allocate memory for the limit
        return file.read(size)


def parsed(text: str | bytes):
    """Return the value of a JSON text; raise ValueError also for a name twice in an object, which readers accept."""
    return json.loads(text, object_pairs_hook=_object)


def _object(pairs: list[tuple[str, object]]) -> dict:
    if len(content := dict(pairs)) != len(pairs):
        names = [name for name, _ in pairs]
        raise StoredError(f"{max(names, key=names.count)!r} twice in one object")
    return content


HEADER_ROOM = 1 << 10  # a .npy header of at most 8 axes is shorter
_STORAGE = {fmt.numpy: fmt.storage for fmt in FORMATS}


def dtype_named(name: str) -> np.dtype:
    """Return the dtype of a tensor by its stored name; raise ValueError for any other name.

    >>> dtype_named("int64"), dtype_named("float16")
    (dtype('int64'), dtype('float16'))
    """
    return np.dtype(name) if isinstance(name, str) and name in PLAIN else float_format(name).numpy


def npy_bytes(array: np.ndarray) -> bytes:
    """Return an array as the bytes of a .npy file."""
    stream = io.BytesIO()
    stored = (
        np.ascontiguousarray(array)
        .view(_STORAGE.get(array.dtype, array.dtype))
        .reshape(array.shape)
    )
    np.lib.format.write_array(stream, stored, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def bin_bytes(array: np.ndarray) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def from_npy(content: bytes, name: str, dtype: np.dtype | None = None) -> np.ndarray:
    """Return the array of a .npy file with exactly its header's length, in the machine's byte order.

    16 bits of no float type become `dtype` if files store that format so. Raise AlteredError for any other file; nothing is
    unpickled, and no memory beyond the file's size allocated.
    """
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, fortran, stored = read(stream, max_header_size=HEADER_ROOM)
        rest = len(content) - stream.tell()
        if stored.hasobject or not stored.itemsize or min(shape, default=0) < 0:
            raise ValueError(f"dtype {stored} and shape {list(shape)}")
        if prod(shape) * stored.itemsize != rest:
            raise ValueError(f"{rest} bytes of numbers instead of {prod(shape) * stored.itemsize}")
        value = np.frombuffer(content, stored, offset=len(content) - rest).reshape(
            shape, order="CF"[fortran]
        )
    except Exception as error:  # damaged content may make the header's parser raise anything
        raise AlteredError(
            f"{name}, which NumPy cannot read ({type(error).__name__}: {error})"
        ) from None
    value = value.astype(value.dtype.newbyteorder("="))
    narrow = dtype is not None and _STORAGE.get(dtype, dtype) != dtype
    if narrow and value.dtype.itemsize == dtype.itemsize and value.dtype.kind in "uiV":
        value = value.view(dtype)
    return value


def from_bin(content: bytes, name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return the array that bare numbers fill; raise AlteredError for another number of bytes."""
    expected = prod(shape) * dtype.itemsize
    if len(content) != expected:
        raise AlteredError(
            f"{name} with {len(content)} bytes instead of {expected} for {dtype}{list(shape)}"
        )
    return np.frombuffer(content, dtype).reshape(shape).copy()
