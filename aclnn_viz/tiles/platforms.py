"""Look up the limits of an NPU architecture for an Ascend C kernel: sizes of buffers, events, and formats of the vector calls.

The scalar types of Ascend C are NumPy dtypes by their C++ names; `float32` stands for C++ `float`.

Source: the Ascend C API reference and guide (asc-devkit, docs/zh), pages of each call. NPU arch 2201 is A2 and A3.
"""

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from aclnn_viz.errors import invalid, problem, whole
from aclnn_viz.operators.products import DAV_2201, Product, product_of, soc_of

half = np.dtype(np.float16)
bfloat16_t = np.dtype(ml_dtypes.bfloat16)
float32 = np.dtype(np.float32)
_INTEGERS = [np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t = _INTEGERS

NAMES = {
    half: "half",
    bfloat16_t: "bfloat16_t",
    float32: "float",
    np.dtype("f8"): "double",
    np.dtype("c8"): "complex64",
    np.dtype(bool): "bool",
} | {kind: f"{kind.name}_t" for kind in _INTEGERS}


def c_name(dtype: np.dtype) -> str:
    """Return the C++ name of a type.

    >>> c_name(float32), c_name(half)
    ('float', 'half')
    """
    return NAMES[np.dtype(dtype)]


def fitting(op, inputs: dict) -> tuple[dict, dict]:
    """Return the bound inputs and the results of a call that vector cores can run; raise NotImplementedError for float64."""
    bound = op.bind(inputs)
    results = op.arrange_backward(**bound).results
    wide = [name for name, value in bound.items() if getattr(value, "dtype", None) == np.float64]
    if wide:
        raise NotImplementedError(
            problem(
                "a vector core takes float16, bfloat16 and float32",
                f"float64 in {', '.join(wide)}",
                "pass a narrower format",
            )
        )
    return bound, results


BLOCK = 32  # bytes of a block, the unit of addresses in the Unified Buffer
REPEAT = 256  # bytes that a vector instruction processes in one step
REPEATS = 255  # limit of repeats and strides, which have 8 bits

_MOVED = "int16_t uint16_t half bfloat16_t int32_t uint32_t float"
_CALLS = {
    "Add Sub Mul Max Min Adds Muls Maxs Mins": "int16_t half int32_t float",
    "Div Exp Ln Sqrt Rsqrt Reciprocal Abs LeakyRelu FusedMulAdd Axpy MulAddDst": "half float",
    "Relu": "half float int32_t",
    "And Or Not": "int16_t uint16_t",
    "ShiftLeft ShiftRight": "int16_t uint16_t int32_t uint32_t",
    "Duplicate Brcb Copy Gather GatherMask": _MOVED,
    "CreateVecIndex": "int16_t half int32_t float",
    "Compare CompareScalar": "half float int32_t",  # int32_t only with the comparison EQ
    "Select": "half float",
    "ReduceSum ReduceMax ReduceMin WholeReduceSum WholeReduceMax WholeReduceMin BlockReduceSum BlockReduceMax "
    "BlockReduceMin PairReduceSum RepeatReduceSum": "half float",
    "SetAtomicAdd": "int8_t int16_t half bfloat16_t int32_t float",
}
# Rounding modes for each pair of types of Cast: N none, R rint, F floor, C ceil, A round (ties
# away), Z trunc, O odd.
_CASTS = {
    "half>float bfloat16_t>float int16_t>float int8_t>half uint8_t>half int32_t>int16_t int32_t>int64_t "
    "int64_t>int32_t": "N",
    "float>half": "NRFCAZO",
    "float>bfloat16_t float>int32_t float>int16_t float>int64_t float>float half>int32_t half>int16_t "
    "bfloat16_t>int32_t int64_t>float": "RFCAZ",
    "int32_t>float int16_t>half half>int8_t half>uint8_t": "NRFCAZ",
}


@dataclass(frozen=True)
class Arch:
    """One NPU architecture. Programs may not use the `reserved` bytes of the Unified Buffer."""

    reserved: int
    buffers: int  # most buffers of a TPipe
    events: int  # number of ids of each event
    formats: dict[str, list[str]]  # of each call
    modes: dict[tuple[str, str], str]  # the rounding modes of Cast by (from, to)


ARCHS = {
    DAV_2201: Arch(
        256,
        64,
        8,
        {call: formats.split() for calls, formats in _CALLS.items() for call in calls.split()},
        {
            tuple(pair.split(">")): modes
            for pairs, modes in _CASTS.items()
            for pair in pairs.split()
        },
    )
}


@dataclass(frozen=True)
class Platform:
    """A SoC as a program's tiling sees it, with the vendor's names of the functions.

    >>> Platform.of("Ascend910B2").GetCoreNumAiv(), Platform.of("Ascend910B2").GetCoreMemSize()
    (48, 196352)
    """

    soc: str
    product: Product
    arch: Arch
    cores: int
    unified_buffer: int  # size of the Unified Buffer, in bytes

    @classmethod
    def of(
        cls, soc: str, cores: int | None = None, unified_buffer: int | None = None
    ) -> "Platform":
        """Return the platform of a SoC name, with fewer cores or a smaller Unified Buffer if these are given.

        A smaller buffer makes many small tiles, which are easy to inspect. Raise ValueError for an unknown SoC and for a
        product without a table of calls.
        """
        soc, product = soc_of(soc), product_of(soc)
        if product.npu_arch not in ARCHS:
            raise invalid(
                "tile programs need the table of which vector call takes which format",
                f"{soc}, NPU arch {product.npu_arch}, for which it is not known here",
                "use an Atlas A2 or A3, such as Ascend910B2",
            )
        real = product.cores.get(soc) or product.cores.get(product.example_soc)
        cores = whole(f"cores on {soc}", real[1] if cores is None else cores, 1, real[1])
        most = product.unified_buffer
        size = whole(
            "unified_buffer", most if unified_buffer is None else unified_buffer, 16384, most
        )
        return cls(soc, product, ARCHS[product.npu_arch], cores, size)

    def GetCoreNumAiv(self) -> int:
        """Return the number of vector cores."""
        return self.cores

    def GetCoreMemSize(self) -> int:
        """Return the bytes of a core's Unified Buffer that a program may use."""
        return self.unified_buffer - self.arch.reserved
