"""Read arrays from other sources: NumPy's files, bare binary files, and tensors of PyTorch or any library with DLPack.

bfloat16 has several forms, all read without loss: its dtype, |V2 or uint16 in NumPy's files and libraries that lack it, or a
torch tensor, which NumPy cannot read.
"""

import re
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path

import numpy as np

from aclnn_viz.dtypes import BFLOAT16
from aclnn_viz.errors import invalid, lengths, mistyped, place_of, shown
from aclnn_viz.storage.readers import (
    StoredError,
    dtype_named,
    from_bin,
    from_npy,
    machine_memory,
    read_file,
    regular,
)

COPIES = 3  # number of copies of an array in memory while it is read from a file
PACKED, EXPANSION = (
    1 << 26,
    64,
)  # largest bytes of a compressed array; largest expansion per stored byte
_FORMS = "a .npy file, a .npz file and the name of an array in it, or a .bin file with its dtype"


def largest() -> int:
    """Return the size in bytes of the largest array that this machine reads."""
    return machine_memory() // COPIES


def stored_bytes(path: Path) -> int:
    """Return the size in bytes of the largest array in a file, as stated before reading."""
    if path.suffix == ".npz":
        return max((info.file_size for info in _held(path).values()), default=0)
    return path.stat().st_size


def load(path, dtype=None, shape=None, name: str | None = None) -> np.ndarray:
    """Return the array of a .npy, .npz or .bin file.

    Parameters
    ----------
    path : str or path
        The file.
    dtype : str, optional
        The dtype of bare numbers (.bin: C order, little-endian). With "bfloat16", uint16 is read as bfloat16; `|V2` in
        NumPy's files always is.
    shape : tuple of int, optional
        The shape of bare numbers; by default one row.
    name : str, optional
        The name of an array in a .npz file; not needed for a single array.

    Returns
    -------
    numpy.ndarray
        The array, in the dtype and shape of the file.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        For another kind of file, a damaged file, another dtype or shape, or more than a third of the machine's memory.

    Examples
    --------
    >>> import tempfile
    >>> np.save(path := tempfile.mkdtemp() + "/x.npy", np.float32([1, 2]))
    >>> load(path)
    array([1., 2.], dtype=float32)
    """
    path, shape = place_of(path), None if shape is None else lengths("shape", shape)
    if name is not None and path.suffix != ".npz":
        raise invalid(
            "arrays have names in a .npz file",
            f"{path.name} and the name {shown(name)}",
            "leave name out",
        )
    wanted = None if dtype is None else _dtype(dtype)
    try:
        if path.suffix == ".bin":
            if wanted is None:
                raise invalid(
                    "bare numbers need a dtype",
                    path.name,
                    'pass such as dtype="bfloat16", shape=(4, 16)',
                )
            content = read_file(path, largest())
            shape = (len(content) // wanted.itemsize,) if shape is None else tuple(shape)
            return from_bin(content, path.name, shape, wanted)
        if path.suffix not in (".npy", ".npz"):
            raise invalid(f"an array is taken from {_FORMS}", path.name, "convert it")
        content = read_file(path, largest()) if path.suffix == ".npy" else _member(path, name)
        found = from_npy(content, path.name, wanted)
    except StoredError as error:
        raise _refused(error) from None
    found = (
        found.view(BFLOAT16.numpy)
        if _is_bits(found, wanted is not None and wanted == BFLOAT16.numpy)
        else found
    )
    _need_fit(path.name, found, wanted, shape)
    return found if shape is None else found.reshape(shape)


def array_of(text: str) -> np.ndarray:
    """Return the array of FILE.npy or FILE.npz, or the bare numbers of FILE:DTYPE:SHAPE, such as x.bin:float16:4,16 or 4x16.

    Raise the errors of `load`, and ValueError for another text and for a file that does not fill its shape.
    """
    if text.endswith((".npy", ".npz")):
        return load(text)
    try:
        name, dtype, shape = text.rsplit(":", 2)
        found = dtype_named(dtype)
        sizes = tuple(int(part) for part in re.split("[,x]", shape) if part)
        if min(sizes, default=0) < 0:
            raise ValueError
    except ValueError:
        raise invalid(
            "a file is given as FILE.npy or FILE:DTYPE:SHAPE",
            text,
            "pass such as x.bin:float16:4,16",
        ) from None
    try:
        return from_bin(read_file(place_of(name), largest()), name, sizes, found)
    except StoredError as error:
        raise invalid(
            f"{name} holds {shape} elements of {dtype}", str(error), "mend the shape or the dtype"
        ) from None


def _need_fit(file: str, found: np.ndarray, wanted: np.dtype | None, shape) -> None:
    """Raise ValueError unless an array of a file has the given dtype, and as many elements as the given shape."""
    if wanted is not None and found.dtype != wanted:
        raise invalid(
            f"{file} must hold {wanted}", str(found.dtype), "leave dtype out, or name its own"
        )
    if shape is not None and prod(found.shape) != prod(shape):
        raise invalid(
            f"{file} must fill the shape {tuple(shape)}",
            f"shape {found.shape}",
            "leave shape out, or give one of as many elements",
        )


def _dtype(dtype) -> np.dtype:
    try:
        return dtype_named(dtype if isinstance(dtype, str) else np.dtype(dtype).name)
    except (TypeError, ValueError):
        raise invalid(
            "dtype is that of a tensor", f"{dtype!r:.60}", "use such as bfloat16 or int64"
        ) from None


def _member(path: Path, name: str | None) -> bytes:
    held = _held(path)
    if name is not None and name not in held:
        raise invalid(
            f"{path.name} must hold {name}",
            f"arrays {', '.join(held) or 'none'}",
            "name one: av.load(path, name=...)",
        )
    if name is None and len(held) != 1:
        raise invalid(
            "one array of a .npz file is taken",
            f"arrays {', '.join(held) or 'none'}",
            "name one: av.load(path, name=...)",
        )
    info = held[next(iter(held)) if name is None else name]
    expanded = max(PACKED, EXPANSION * info.compress_size)
    if info.file_size > (most := min(largest(), expanded)):
        raise StoredError(
            f"{info.filename} of {path.name}, {info.file_size} bytes in {info.compress_size}, where "
            f"at most {most} are read; a large array is stored without compression"
        )
    with _archive(path) as archive:
        return archive.read(info)


def _held(path: Path) -> dict[str, zipfile.ZipInfo]:
    """Return the arrays of a .npz file by name."""
    with _archive(path) as archive:
        return {info.filename.removesuffix(".npy"): info for info in archive.infolist()}


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with regular(path) as file, zipfile.ZipFile(file) as archive:
            yield archive
    except FileNotFoundError:
        raise
    except Exception as error:  # a damaged file may make the archive reader raise anything
        text = (
            error
            if isinstance(error, StoredError)
            else (f"{path.name}, which is no whole archive ({type(error).__name__}: {error})")
        )
        raise _refused(text) from None


def _refused(found) -> ValueError:
    return invalid(f"an array is taken from {_FORMS}", str(found), "write the file again")


def _is_bits(array: np.ndarray, unsigned: bool) -> bool:
    """Return whether an array of 2-byte elements holds bits of bfloat16; unsigned integers do only if `unsigned`."""
    return array.dtype.itemsize == 2 and (
        array.dtype.type is np.void or unsigned and array.dtype.kind == "u"
    )


def is_number(dtype: np.dtype) -> bool:
    """Return whether elements are real numbers, including ml_dtypes' formats, which NumPy counts as void.

    >>> is_number(np.dtype(float)), is_number(np.dtype(complex)), is_number(np.dtype("V2"))
    (True, False, False)
    """
    return dtype.kind in "biufV" and dtype.type is not np.void


def is_own(value) -> bool:
    """Return whether a value is another library's array or a file's path, not a NumPy array or a number."""
    return not isinstance(value, (np.ndarray, np.generic)) and (
        isinstance(value, Path)
        or isinstance(value, str)
        and value.endswith((".npy", ".npz", ".bin"))
        or hasattr(value, "__dlpack__")
        or hasattr(value, "__array__")
        or hasattr(value, "detach")
    )


def as_array(value, name: str | None = None, floating: bool = False):
    """Return another library's array, a file or bits of bfloat16 as a NumPy array, and any other value unchanged.

    For a `floating` tensor, uint16 is bfloat16. `name` chooses from several arrays of a .npz file; a single array may have
    any name. Elements are not copied if the library shares them with NumPy. Raise the errors of `load`, and TypeError for a
    tensor that NumPy cannot take.

    >>> as_array(np.array([0x3F80], np.uint16), floating=True)
    array([1], dtype=bfloat16)
    """
    if isinstance(value, (str, Path)) and is_own(value):
        path = place_of(value)
        value = load(path, name=name if path.suffix == ".npz" and len(_held(path)) != 1 else None)
    elif is_own(value):
        try:
            value = _converted(value)
        except Exception as error:  # any library may raise anything
            raise mistyped(
                "a tensor of another library is taken as NumPy sees it",
                f"{type(value).__name__}: {error}",
                "convert it to a NumPy array",
            ) from error
    if isinstance(value, np.ma.MaskedArray):
        raise mistyped(
            "each element of an array counts",
            f"a masked array with {np.ma.count_masked(value)} elements masked",
            "pass value.filled(...)",
        )
    if isinstance(value, np.ndarray) and _is_bits(value, floating):
        if not value.dtype.isnative:
            value = value.astype(value.dtype.newbyteorder("="))
        return value.view(BFLOAT16.numpy)
    return value


def _converted(value) -> np.ndarray:
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        # z.conj().imag is a view whose negation PyTorch has not yet done
        if hasattr(value, "resolve_neg"):
            value = value.resolve_neg()
        if str(value.dtype) == "torch.bfloat16":
            return value.contiguous().view(sys.modules["torch"].int16).numpy().view(BFLOAT16.numpy)
        return value.numpy()
    try:
        return np.from_dlpack(value)
    except Exception:
        # __array__ also gives arrays in formats that DLPack or NumPy lacks
        if not hasattr(value, "__array__"):
            raise
        return np.asarray(value)
