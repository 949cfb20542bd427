"""The floating formats of the aclnn operators (names, ACL codes): rounding, spacing, and steps between numbers.

A format is described by two numbers, its significand bits `p` (with the hidden bit) and its smallest normal exponent `emin`;
everything else follows. ACL codes: `aclDataType` in the CANN runtime header `acl_base_rt.h`.
"""

from dataclasses import dataclass
from functools import cached_property

import ml_dtypes
import numpy as np

from aclnn_viz.errors import invalid, mistyped, shown


@dataclass(frozen=True, eq=False)
class FloatFormat:
    """One floating format: `name` is NumPy's, `vendor_name` the CANN documents', `acl_code` the `aclDataType`.

    `c_name` is that code's name in C. A format that is not `infinite` uses its largest pattern for nan.
    """

    name: str
    vendor_name: str
    c_name: str
    acl_code: int
    bits: int
    significand_bits: int
    min_exponent: int
    infinite: bool = True

    @cached_property
    def numpy(self) -> np.dtype:
        return np.dtype(getattr(ml_dtypes, self.name, self.name))

    @property
    def narrow(self) -> bool:
        """Return whether kernels compute in float32 and round to the format at the end."""
        return self.bits < 32

    @cached_property
    def storage(self) -> np.dtype:
        """Return the dtype of the format in files: its own, or its bits if NumPy's files lack it."""
        return self.numpy if self.numpy.isbuiltin == 1 else np.dtype(f"u{self.bits // 8}")

    @cached_property
    def unit_roundoff(self) -> float:
        return 2.0**-self.significand_bits

    @cached_property
    def smallest_subnormal(self) -> float:
        return 2.0 ** (self.min_exponent - self.significand_bits + 1)

    @cached_property
    def largest(self) -> float:
        last = 2.0 ** (1 - self.significand_bits)
        if self.infinite:
            return (2.0 - last) * 2.0 ** (1 - self.min_exponent)
        return (2.0 - 2 * last) * 2.0 ** (2 - self.min_exponent)

    @property
    def largest_ordinal(self) -> int:
        """Return the ordinal of the largest value, infinity included."""
        if self.infinite:
            # the ordinal of inf: all exponent bits are set
            return (1 - 2 * (self.min_exponent - 1)) << (self.significand_bits - 1)
        return (1 << (self.bits - 1)) - 2

    def __repr__(self) -> str:
        return f"FloatFormat({self.name!r})"


FLOAT16 = FloatFormat("float16", "FLOAT16", "ACL_FLOAT16", 1, 16, 11, -14)
BFLOAT16 = FloatFormat("bfloat16", "BFLOAT16", "ACL_BF16", 27, 16, 8, -126)
FLOAT32 = FloatFormat("float32", "FLOAT32", "ACL_FLOAT", 0, 32, 24, -126)
FLOAT64 = FloatFormat("float64", "DOUBLE", "ACL_DOUBLE", 11, 64, 53, -1022)
#: The formats that operators take.
FORMATS = (FLOAT16, BFLOAT16, FLOAT32, FLOAT64)
#: For each dtype that is not floating: its aclDataType.
PLAIN = {"bool": 12, "uint8": 4, "int8": 2, "int16": 6, "int32": 3, "int64": 9}
# Ascend 950 has these formats; no operator here takes them.
FLOAT8_E5M2 = FloatFormat("float8_e5m2", "FLOAT8_E5M2", "ACL_FLOAT8_E5M2", 35, 8, 3, -14)
FLOAT8_E4M3 = FloatFormat(
    "float8_e4m3fn", "FLOAT8_E4M3FN", "ACL_FLOAT8_E4M3FN", 36, 8, 4, -6, infinite=False
)
KNOWN = (*FORMATS, FLOAT8_E5M2, FLOAT8_E4M3)

STRETCH = 1 << 15  # elements of a part whose temporary arrays fit a core's second-level cache

_BY_NAME = (
    {f.name: f for f in KNOWN}
    | {f.vendor_name: f for f in KNOWN}
    | {"FLOAT": FLOAT32, "BF16": BFLOAT16}
)
_BY_DTYPE = {f.numpy: f for f in KNOWN}


def float_format(dtype) -> FloatFormat:
    """Return the format of a name (NumPy's or the vendor's), a NumPy dtype, an array or a FloatFormat.

    Raise ValueError for anything but a known format.

    >>> float_format("bfloat16").unit_roundoff
    0.00390625
    """
    if isinstance(dtype, FloatFormat):
        return dtype
    if isinstance(dtype, str) and dtype in _BY_NAME:
        return _BY_NAME[dtype]
    got = dtype if isinstance(dtype, type) else getattr(dtype, "dtype", dtype)
    if isinstance(got, np.dtype) and got in _BY_DTYPE:
        return _BY_DTYPE[got]  # most calls pass a known dtype; a name costs time
    try:
        if got is None:  # NumPy reads None as float64
            raise TypeError
        return _BY_NAME[np.dtype(got).name]
    except (KeyError, TypeError, ValueError, SyntaxError):
        # the type is unknown, or a text with a comma, which NumPy reads as several dtypes
        raise invalid(
            "dtype must be a floating format",
            repr(f"{got!s:.60}"),
            f"use one of {', '.join(f.name for f in FORMATS)}",
        ) from None


def numbers(name: str, values) -> np.ndarray:
    """Return real numbers as an array; raise TypeError for anything else."""
    try:
        array = np.asarray(values)
        if array.dtype.kind in "biuf" or array.dtype in _BY_DTYPE:
            return array
    except (ValueError, TypeError, OverflowError):
        pass
    raise mistyped(f"{name} are numbers, or an array of them", shown(values), "pass a NumPy array")


def ulp(values, dtype) -> np.ndarray:
    """Return the spacing of the format at each value, as float64 (the gap away from zero; inf and nan give nan).

    >>> float(ulp(1.0, "float16"))
    0.0009765625
    """
    fmt = float_format(dtype)
    return _in_stretches(
        lambda part: _spacing(part.astype(np.float64), fmt), numbers("values", values), np.float64
    )


def _spacing(values: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    # The exponent bits alone are the power of two at or below a number: 0 for subnormals, inf for inf and nan.
    power = (values.reshape(-1).view(np.int64) & (0x7FF << 52)).view(np.float64)
    spacing = (
        np.maximum(power, 2.0**fmt.min_exponent)
        if power.min(initial=1.0) < 2.0**fmt.min_exponent
        else power
    )
    spacing *= 2.0 ** (1 - fmt.significand_bits)
    spacing[np.isinf(spacing)] = np.nan
    return spacing.reshape(values.shape)


def _in_stretches(function, values: np.ndarray, dtype) -> np.ndarray:
    """Return an elementwise function of an array, computed in stretches whose temporaries stay in the cache."""
    if values.size <= STRETCH or not values.flags.c_contiguous:
        return function(values)
    result = np.empty(values.shape, dtype)
    flat, into = values.reshape(-1), result.reshape(-1)
    for start in range(0, flat.size, STRETCH):
        into[start : start + STRETCH] = function(flat[start : start + STRETCH])
    return result


def round_to(values, dtype) -> np.ndarray:
    """Round to the nearest number of the format, ties to even, in one step, and return an array of its dtype.

    `values` hold any known format. float64 to bfloat16 through float32, as `ml_dtypes` does it, rounds twice.

    >>> float(round_to(1 + 2**-8 + 2**-30, "bfloat16"))
    1.0078125
    """
    fmt = float_format(dtype)
    if isinstance(values, np.ndarray) and values.dtype is fmt.numpy:
        return values.copy("K")
    values = numbers("values", values)
    values = values.astype(values.dtype.newbyteorder("="), copy=False)
    # a signalling nan sets the invalid flag
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        if fmt.bits < 16:
            return _rounded(values.astype(np.float64), fmt)
        if fmt is BFLOAT16 and values.dtype == np.float64:
            return (
                _in_stretches(_to_bfloat16, values, fmt.numpy)
                if values.ndim
                else _rounded(values, fmt)
            )
        return values.astype(fmt.numpy)


def round_into(result: np.ndarray, values: np.ndarray) -> None:
    """Round as `round_to` into an existing array of an operator's format."""
    if result.dtype == BFLOAT16.numpy and values.dtype.kind == "f" and values.itemsize == 8:
        result[...] = round_to(values, BFLOAT16)
    else:
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            np.copyto(result, values, casting="unsafe")


def _to_bfloat16(values: np.ndarray) -> np.ndarray:
    near = values.astype(np.float32)
    rounded = near.astype(BFLOAT16.numpy)
    # Rounding to float32 first changes the result only if it gives a number halfway between two
    # bfloat16 numbers.
    halfway = (near.view(np.uint32) & 0xFFFF) == 0x8000
    if halfway.any() and (halfway := halfway & (near != values)).any():
        rounded[halfway] = _rounded(values[halfway], BFLOAT16)
    return rounded


def _rounded(values: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    # Each value is divided by its own spacing, a power of two, so that rint performs the only rounding.
    spacing = np.where(np.isfinite(values), _spacing(values, fmt), 1.0)
    return (np.rint(values / spacing) * spacing).astype(fmt.numpy)


def ordinals(values, dtype=None) -> np.ndarray:
    """Number the values of a format in increasing order, as int64: neighbours differ by 1, both zeros are 0.

    `dtype` defaults to that of `values`, which must hold numbers of the format. +-inf follow the largest finite
    number; nan gives the smallest int64, which is the number of no value.

    >>> ordinals(np.float16([0.0, 6e-08, -6e-08])).tolist()
    [0, 1, -1]
    """
    fmt = float_format(values if dtype is None else dtype)
    values = numbers("values", values).astype(fmt.numpy, copy=False)
    return _in_stretches(lambda part: _ordinals(part, fmt), values, np.int64)


def _ordinals(values: np.ndarray, fmt: FloatFormat) -> np.ndarray:
    number = values.view(f"i{fmt.bits // 8}").astype(np.int64)
    negative = number >> 63  # -1 for negative numbers, else 0
    number &= (1 << (fmt.bits - 1)) - 1
    missing = number > fmt.largest_ordinal
    number ^= negative
    number -= negative
    number[missing] = np.iinfo(np.int64).min
    return number


def ordinal_distance(a, b, dtype=None) -> np.ndarray:
    """Count the steps of the format between two arrays of its values, as float64; nan against a number gives inf.

    Exact up to 2**53 steps. nan against nan gives 0, as do the two zeros.

    >>> ordinal_distance(np.float32(1), np.float32(1 + 2**-22)).item()
    2.0
    """
    fmt = float_format(a if dtype is None else dtype)
    first, second = ordinals(a, fmt), ordinals(b, fmt)
    if first.shape != second.shape and first.ndim and second.ndim:
        raise invalid(
            "a and b have one shape, or one of them is a number",
            f"{first.shape} and {second.shape}",
            "compare element by element",
        )
    missing = np.iinfo(np.int64).min
    nan_a, nan_b = first == missing, second == missing
    # The difference of two float64 ordinals can exceed int64, never the range of float64.
    same_side = np.sign(first) == np.sign(second)
    with np.errstate(over="ignore"):
        steps = np.where(
            same_side,
            np.abs(first - second).astype(np.float64),
            np.abs(first.astype(np.float64)) + np.abs(second.astype(np.float64)),
        )
    return np.where(nan_a & nan_b, 0.0, np.where(nan_a | nan_b, np.inf, steps))
