"""Arrays as the bytes of files: `.npy`, and `.bin`, which holds the same numbers bare, in C order, little-endian.

NumPy's file format does not know bfloat16: its files hold the bits as uint16, and the dtype stands beside them.
"""

import io
from math import prod

import numpy as np

from aclnn_viz.dtypes import FORMATS, float_format
from aclnn_viz.storage.damage import AlteredError

HEADER_ROOM = 1 << 10  # a .npy header of at most 8 axes is shorter
_STORAGE = {fmt.numpy: fmt.storage for fmt in FORMATS}


def dtype_named(name: str) -> np.dtype:
    """Return the dtype of a tensor by its stored name; ValueError for one that no tensor has.

    >>> dtype_named("int64"), dtype_named("float16")
    (dtype('int64'), dtype('float16'))
    """
    return np.dtype(name) if name in ("int32", "int64") else float_format(name).numpy


def npy_bytes(array: np.ndarray) -> bytes:
    """Return an array as the bytes of a .npy file."""
    stream = io.BytesIO()
    stored = np.ascontiguousarray(array).view(_STORAGE.get(array.dtype, array.dtype)).reshape(array.shape)
    np.lib.format.write_array(stream, stored, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def bin_bytes(array: np.ndarray) -> bytes:
    return np.ascontiguousarray(array).tobytes()


def from_npy(content: bytes, name: str, dtype: np.dtype | None = None) -> np.ndarray:
    """Return the array of a .npy file, exactly as long as its header says, in the byte order of the machine.

    16 bits of no float type are a format of 16 bits if `dtype` is one that files hold so. Raises AlteredError for what
    is no such file; nothing is unpickled, and nothing allocated that is not there.
    """
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}[version]
        shape, fortran, stored = read(stream, max_header_size=HEADER_ROOM)
        rest = len(content) - stream.tell()
        if stored.hasobject or not stored.itemsize or min(shape, default=0) < 0:
            raise ValueError(f"dtype {stored} and shape {list(shape)}")
        if prod(shape) * stored.itemsize != rest:
            raise ValueError(f"{rest} bytes of numbers instead of {prod(shape) * stored.itemsize}")
        value = np.frombuffer(content, stored, offset=len(content) - rest).reshape(shape, order="CF"[fortran])
    except Exception as error:  # what is damaged may make the header's parser raise anything
        raise AlteredError(f"{name}, which NumPy cannot read ({type(error).__name__}: {error})") from None
    value = value.astype(value.dtype.newbyteorder("="))
    narrow = dtype is not None and _STORAGE.get(dtype, dtype) != dtype
    if narrow and value.dtype.itemsize == dtype.itemsize and value.dtype.kind in "uiV":
        value = value.view(dtype)
    return value


def from_bin(content: bytes, name: str, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return the array that bare numbers fill; AlteredError where they do not."""
    expected = prod(shape) * dtype.itemsize
    if len(content) != expected:
        raise AlteredError(f"{name} with {len(content)} bytes instead of {expected} for {dtype}{list(shape)}")
    return np.frombuffer(content, dtype).reshape(shape).copy()
