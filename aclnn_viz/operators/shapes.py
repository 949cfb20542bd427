"""Check a tensor's dtype, rank and shape; an error names the tensor, what it has, and the axis that differs."""

import numpy as np

from aclnn_viz.dtypes import FLOAT32, FLOAT64, FORMATS, PLAIN, FloatFormat, float_format
from aclnn_viz.errors import invalid, mistyped

BITS = "bits"  # dtype of packed truth values, lowest bit of a byte first; pages see one truth value per element


def is_plain(rule: str) -> bool:
    """Return whether a dtype rule allows no floating format."""
    return rule == BITS or set(rule.split(" or ")) <= {*PLAIN}


def as_truths(rule: str, array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return a tensor of a page's shape; bits and dtypes that may be bool become truth values."""
    if rule == BITS:
        return (
            np.unpackbits(np.ascontiguousarray(array), count=int(np.prod(shape)), bitorder="little")
            .astype(bool)
            .reshape(shape)
        )
    return (array.astype(bool, copy=False) if rule.startswith("bool") else array).reshape(shape)


def need_rank(name: str, tensor: np.ndarray, low: int, high: int) -> None:
    if not low <= tensor.ndim <= high:
        ranks = f"rank {low}" if low == high else f"rank {low} to {high}"
        raise invalid(f"{name} must have {ranks}", f"shape {tensor.shape}", "reshape it")


def need_shape(name: str, tensor: np.ndarray, shape: tuple[int, ...], why: str) -> None:
    """Raise ValueError for another shape; `why` gives the reason of the expected shape, such as "that of x"."""
    if tensor.shape == tuple(shape):
        return
    got = f"{name} {tensor.shape}"
    if tensor.ndim == len(shape):
        axis = next(k for k, (a, b) in enumerate(zip(tensor.shape, shape)) if a != b)
        got += f", which differs in axis {axis} ({tensor.shape[axis]} against {shape[axis]})"
    raise invalid(f"{name} must have shape {tuple(shape)}, {why}", got, "make the shapes agree")


def need_float(name: str, tensor: np.ndarray) -> FloatFormat:
    try:
        if (fmt := float_format(tensor)) in FORMATS:
            return fmt
        raise ValueError
    except ValueError:
        formats = ", ".join(f.name for f in FORMATS)
        raise mistyped(
            f"{name} must be of dtype {formats}", f"{tensor.dtype}", "convert it"
        ) from None


def need_dtype(name: str, tensor: np.ndarray, allowed: list[FloatFormat], why: str) -> FloatFormat:
    """Return the format of a tensor; raise TypeError unless it is one of `allowed`."""
    fmt = need_float(name, tensor)
    if fmt not in allowed:
        expected = " or ".join(dict.fromkeys(f.name for f in allowed))
        raise mistyped(
            f"{name} must be {expected}, {why}", f"{tensor.dtype}", "convert it with astype"
        )
    return fmt


def need_integers(name: str, tensor: np.ndarray, rule: str) -> None:
    rule = "uint8" if rule == BITS else rule
    if tensor.dtype.name not in rule.split(" or "):
        raise mistyped(f"{name} must be {rule}", f"{tensor.dtype}", "convert it with astype")


def formats_of(
    rule: str, like: str, fmt: FloatFormat, tensors: dict
) -> tuple[list[FloatFormat], str]:
    """Return the formats that a dtype rule allows, an output's format first, and the rule in words.

    `like` is the tensor that sets the format `fmt`; `tensors` are the given tensors by name. The rules: "same", "same or
    float32", "wide" (float32, and float64 for float64), "float32" (or float64 if every tensor is float64), "as x", and
    alternatives such as "float32 or float16", with that of `like` first.
    """
    if rule == "same" or rule == "same or float32" and fmt is FLOAT64:
        return [fmt], f"that of {like}"
    if rule == "same or float32":
        return [fmt, FLOAT32], f"that of {like}, or float32"
    if rule == "wide":
        return [FLOAT64 if fmt is FLOAT64 else FLOAT32], f"for {like} in {fmt.name}"
    if rule == "float32":
        return ([FLOAT32, FLOAT64] if fmt is FLOAT64 else [FLOAT32]), f"whatever {like} is"
    if not rule.startswith("as "):
        named = [one for one in FORMATS if one.name in rule.split(" or ")]
        return sorted(
            {*named, fmt}, key=lambda one: (one is not fmt, named.index(one) if one in named else 0)
        ), rule
    other = rule.removeprefix("as ")
    return [
        fmt if tensors.get(other) is None else need_float(other, tensors[other])
    ], f"that of {other}"
