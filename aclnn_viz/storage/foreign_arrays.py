"""Read arrays that come from elsewhere: NumPy's files, bare binary files, and tensors of PyTorch or any library with DLPack.

bfloat16 comes in many forms, none of which loses a bit here: as itself, as NumPy's files and libraries that lack it hold
it (|V2 or uint16), or as a torch tensor, which NumPy cannot take.
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
from aclnn_viz.errors import lengths, place_of, problem, shown
from aclnn_viz.storage.readers import (
    StoredError,
    dtype_named,
    from_bin,
    from_npy,
    machine_memory,
    read_file,
    regular,
)

COPIES = 3  # of an array, as it is read from a file
PACKED, EXPANSION = (
    1 << 26,
    64,
)  # bytes of a compressed array, and bytes of it for each that is stored
_FORMS = "a .npy file, a .npz file and the name of an array in it, or a .bin file with its dtype"


def largest() -> int:
    """Return the bytes of the largest array that this machine reads."""
    return machine_memory() // COPIES


def stored_bytes(path: Path) -> int:
    """Return the bytes of the largest array in a file, as the file says before it is read."""
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
        That of bare numbers (.bin: C order, little-endian), which need one. With "bfloat16" 16 bits
        held as uint16 are bfloat16; those that NumPy's files hold as `|V2` always are.
    shape : tuple of int, optional
        That of bare numbers; without it they are one row.
    name : str, optional
        Which array of a .npz file is taken; not needed where it holds only one.

    Returns
    -------
    numpy.ndarray
        The array, in the dtype and shape of the file.

    Raises
    ------
    FileNotFoundError
        Where there is no such file.
    ValueError
        For what is no such file, is damaged, does not have that dtype and shape, or is larger than
        a third of the machine's memory.

    Examples
    --------
    >>> import tempfile
    >>> np.save(path := tempfile.mkdtemp() + "/x.npy", np.float32([1, 2]))
    >>> load(path)
    array([1., 2.], dtype=float32)
    """
    path, shape = place_of(path), None if shape is None else lengths("shape", shape)
    if name is not None and path.suffix != ".npz":
        raise ValueError(
            problem(
                "arrays have names in a .npz file",
                f"{path.name} and the name {shown(name)}",
                "leave name out",
            )
        )
    wanted = None if dtype is None else _dtype(dtype)
    try:
        if path.suffix == ".bin":
            if wanted is None:
                raise ValueError(
                    problem(
                        "bare numbers need a dtype",
                        path.name,
                        'pass such as dtype="bfloat16", shape=(4, 16)',
                    )
                )
            content = read_file(path, largest())
            shape = (len(content) // wanted.itemsize,) if shape is None else tuple(shape)
            return from_bin(content, path.name, shape, wanted)
        if path.suffix not in (".npy", ".npz"):
            raise ValueError(problem(f"an array is taken from {_FORMS}", path.name, "convert it"))
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

    Raises as `load`, and ValueError for what is no such text and for a file that does not fill its shape.
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
        raise ValueError(
            problem(
                "a file is given as FILE.npy or FILE:DTYPE:SHAPE",
                text,
                "pass such as x.bin:float16:4,16",
            )
        ) from None
    try:
        return from_bin(read_file(place_of(name), largest()), name, sizes, found)
    except StoredError as error:
        raise ValueError(
            problem(
                f"{name} holds {shape} elements of {dtype}",
                str(error),
                "mend the shape or the dtype",
            )
        ) from None


def _need_fit(file: str, found: np.ndarray, wanted: np.dtype | None, shape) -> None:
    """Raise ValueError unless an array of a file has the dtype, and as many elements as the shape, that were named."""
    if wanted is not None and found.dtype != wanted:
        raise ValueError(
            problem(
                f"{file} must hold {wanted}",
                str(found.dtype),
                "leave dtype out, or name its own",
            )
        )
    if shape is not None and prod(found.shape) != prod(shape):
        raise ValueError(
            problem(
                f"{file} must fill the shape {tuple(shape)}",
                f"shape {found.shape}",
                "leave shape out, or give one of as many elements",
            )
        )


def _dtype(dtype) -> np.dtype:
    try:
        return dtype_named(dtype if isinstance(dtype, str) else np.dtype(dtype).name)
    except (TypeError, ValueError):
        raise ValueError(
            problem("dtype is that of a tensor", f"{dtype!r:.60}", "use such as bfloat16 or int64")
        ) from None


def _member(path: Path, name: str | None) -> bytes:
    held = _held(path)
    if name is not None and name not in held:
        raise ValueError(
            problem(
                f"{path.name} must hold {name}",
                f"arrays {', '.join(held) or 'none'}",
                "name one: av.load(path, name=...)",
            )
        )
    if name is None and len(held) != 1:
        raise ValueError(
            problem(
                "one array of a .npz file is taken",
                f"arrays {', '.join(held) or 'none'}",
                "name one: av.load(path, name=...)",
            )
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
    """The arrays of a .npz file by their names."""
    with _archive(path) as archive:
        return {info.filename.removesuffix(".npy"): info for info in archive.infolist()}


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with regular(path) as file, zipfile.ZipFile(file) as archive:
            yield archive
    except FileNotFoundError:
        raise
    except Exception as error:  # what is damaged may make the reader of archives raise anything
        text = (
            error
            if isinstance(error, StoredError)
            else (f"{path.name}, which is no whole archive ({type(error).__name__}: {error})")
        )
        raise _refused(text) from None


def _refused(found) -> ValueError:
    return ValueError(
        problem(f"an array is taken from {_FORMS}", str(found), "write the file again")
    )


def _is_bits(array: np.ndarray, unsigned: bool) -> bool:
    """Whether 16 bits are those of bfloat16; unsigned integers only where they can be nothing else."""
    return array.dtype.itemsize == 2 and (
        array.dtype.type is np.void or unsigned and array.dtype.kind == "u"
    )


def is_number(dtype: np.dtype) -> bool:
    """Whether elements are real numbers; the formats of ml_dtypes are, although NumPy counts them as void.

    >>> is_number(np.dtype(float)), is_number(np.dtype(complex)), is_number(np.dtype("V2"))
    (True, False, False)
    """
    return dtype.kind in "biufV" and dtype.type is not np.void


def is_own(value) -> bool:
    """Whether a value is an array of another library, or the path of a file, rather than a NumPy array or a number."""
    return not isinstance(value, (np.ndarray, np.generic)) and (
        isinstance(value, Path)
        or isinstance(value, str)
        and value.endswith((".npy", ".npz", ".bin"))
        or hasattr(value, "__dlpack__")
        or hasattr(value, "__array__")
        or hasattr(value, "detach")
    )


def as_array(value, name: str | None = None, floating: bool = False):
    """Return a value as a NumPy array where it is own data in any of its forms, and as it is where it is none.

    Where a `floating` tensor is expected, 16 unsigned bits are bfloat16. `name` chooses from several arrays of a .npz
    file; the only one in it may have any name. The elements are not copied where the library lets NumPy see them.
    Raises as `load`, and TypeError for a tensor that NumPy cannot take.

    >>> as_array(np.array([0x3F80], np.uint16), floating=True)
    array([1], dtype=bfloat16)
    """
    if isinstance(value, (str, Path)) and is_own(value):
        path = place_of(value)
        value = load(path, name=name if path.suffix == ".npz" and len(_held(path)) != 1 else None)
    elif is_own(value):
        try:
            value = _converted(value)
        except Exception as error:  # of any library
            raise TypeError(
                problem(
                    "a tensor of another library is taken as NumPy sees it",
                    f"{type(value).__name__}: {error}",
                    "convert it to a NumPy array",
                )
            ) from error
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            problem(
                "each element of an array counts",
                f"a masked array with {np.ma.count_masked(value)} elements masked",
                "pass value.filled(...)",
            )
        )
    if isinstance(value, np.ndarray) and _is_bits(value, floating):
        if not value.dtype.isnative:
            value = value.astype(value.dtype.newbyteorder("="))
        return value.view(BFLOAT16.numpy)
    return value


def _converted(value) -> np.ndarray:
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if hasattr(value, "resolve_neg"):  # PyTorch keeps the sign of `z.conj().imag` apart
            value = value.resolve_neg()
        if str(value.dtype) == "torch.bfloat16":
            return value.contiguous().view(sys.modules["torch"].int16).numpy().view(BFLOAT16.numpy)
        return value.numpy()
    try:
        return np.from_dlpack(value)
    except Exception:
        # formats that DLPack or NumPy lacks; what the array interface gives is as good
        if not hasattr(value, "__array__"):
            raise
        return np.asarray(value)
