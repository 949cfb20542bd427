"""Shape and dtype rules, each with a message that names the tensors and the axis that disagree."""

import numpy as np

from aclnn_viz.dtypes import FLOAT64, FORMATS, FloatFormat, float_format
from aclnn_viz.errors import problem


def need_rank(name: str, tensor: np.ndarray, low: int, high: int) -> None:
    if not low <= tensor.ndim <= high:
        ranks = f"rank {low}" if low == high else f"rank {low} to {high}"
        raise ValueError(problem(f"{name} must have {ranks}", f"shape {tensor.shape}", "reshape it"))


def need_shape(name: str, tensor: np.ndarray, shape: tuple[int, ...], why: str) -> None:
    """`why` says where the expected shape comes from, such as "that of x"."""
    if tensor.shape == tuple(shape):
        return
    got = f"{name} {tensor.shape}"
    if tensor.ndim == len(shape):
        axis = next(k for k, (a, b) in enumerate(zip(tensor.shape, shape)) if a != b)
        got += f", which differs in axis {axis} ({tensor.shape[axis]} against {shape[axis]})"
    raise ValueError(problem(f"{name} must have shape {tuple(shape)}, {why}", got, "make the shapes agree"))


def need_float(name: str, tensor: np.ndarray) -> FloatFormat:
    try:
        return float_format(tensor)
    except ValueError:
        formats = ", ".join(f.name for f in FORMATS)
        raise TypeError(problem(f"{name} must be of dtype {formats}", f"{tensor.dtype}", "convert it")) from None


def need_dtype(name: str, tensor: np.ndarray, allowed, why: str) -> FloatFormat:
    """`allowed` are formats; float32 in the list also admits float64 where the operator runs in float64."""
    fmt = need_float(name, tensor)
    if fmt not in allowed:
        expected = " or ".join(dict.fromkeys(f.name for f in allowed))
        raise TypeError(problem(f"{name} must be {expected}, {why}", f"{tensor.dtype}", "convert it with astype"))
    return fmt


def need_option(name: str, value, options) -> None:
    if value not in options:
        raise ValueError(problem(f"{name} must be one of {', '.join(map(repr, options))}", repr(value), "choose one"))


def compute_type(*formats: FloatFormat) -> np.dtype:
    """float64 when any input is float64, else float32: 16-bit inputs are computed in float32."""
    return np.dtype(np.float64 if FLOAT64 in formats else np.float32)
