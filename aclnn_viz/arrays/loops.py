"""Parts of fast loops for numba: reading and writing all formats, exp, and running a loop on all cores.

A loop computes its part of the outputs from whole arrays: `loop(part, first, last, *arrays)` does the units `first` to `last`
alone, so that no two threads write one element. `read` and `write` access arrays; they widen 16-bit formats to float32 and
round once, to nearest even. Nothing is reassociated or contracted, so results do not depend on the number of threads or the
width of the machine's vectors.
"""

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from types import FunctionType

import numpy as np

from aclnn_viz.dtypes import BFLOAT16, round_into
from aclnn_viz.errors import problem

#: The storage types with which loops recognise the two 16-bit formats, which numba lacks.
BITS = {BFLOAT16.numpy: np.dtype(np.uint16), np.dtype(np.float16): np.dtype(np.int16)}
PART = 1 << 16  # elements of a part; shapes alone decide how an array is divided, so results repeat
PARTS_AT_MOST = 32  # limit of parts, because each may hold separate sums
LANES = 32  # terms of a sum added in parallel, as in a wide vector
KINDS = {bits.type: kind for kind, bits in BITS.items()}

_steps: set[Callable] = set()  # functions that loops may call
_lock = threading.Lock()  # some thread pools of numba do not accept calls from two threads


def step(function: Callable) -> Callable:
    """Mark a function that loops may call."""
    _steps.add(function)
    return function


def computed(array) -> type:
    """Return the format in which an array is computed: float64, or float32 for all others."""
    return np.float64 if array.dtype == np.float64 else np.float32


def real(array, value):
    """Return a number in the format in which an array is computed."""
    return computed(array)(value)


def read(array, at):
    """Return an element of a one-dimensional array, widened."""
    return real(array, array[at : at + 1].view(KINDS.get(array.dtype.type, array.dtype))[0])


def write(array, at, value):
    """Round a number to nearest even and store it in a one-dimensional array."""
    array[at : at + 1].view(KINDS.get(array.dtype.type, array.dtype))[0] = value


def exponential(x):
    """Return exp(x), in float32 within 1 ulp."""
    return np.exp(x) if isinstance(x, np.float64) else single_exponential(x)


def single_exponential(x):
    """Return exp(x) in float32 without a branch, so that loops of it are vectorized."""
    # exp(x) = 2^n * exp(r) with |r| <= ln(2) / 2; ln 2 has two parts, so that n times the first
    # is exact. Below -104 the result is 0, above 89 inf.
    kept = np.float32(min(max(x, np.float32(-104.0)), np.float32(89.0)))
    n = np.float32(kept * np.float32(1.4426950408889634) + np.float32(12582912.0)) - np.float32(
        12582912.0
    )
    r = kept - n * np.float32(0.693359375)
    r = r - n * np.float32(-2.12194440e-4)
    p = np.float32(1.9875691500e-4)
    p = p * r + np.float32(1.3981999507e-3)
    p = p * r + np.float32(8.3334519073e-3)
    p = p * r + np.float32(4.1665795894e-2)
    p = p * r + np.float32(1.6666665459e-1)
    p = p * r + np.float32(5.0000001201e-1)
    p = p * (r * r) + r + np.float32(1.0)
    most = n * np.float32(0.5) + np.float32(12582912.0) - np.float32(12582912.0)
    # multiply twice, because 2^n may overflow or underflow
    result = p * two_to(most) * two_to(n - most)
    return result if x == x else x


@step
def two_to(n):
    """Return 2^n for a whole float32 n, as float32."""
    return np.int32((np.int32(n) + 127) << 23).view(np.float32)


@cache
def _cut(units: int, elements: int, part: int) -> np.ndarray:
    step = max(1, part * units // max(elements, 1), -(-units // PARTS_AT_MOST))
    first = np.arange(0, max(units, 1), step)
    return np.stack([np.arange(len(first)), first, np.minimum(first + step, units)], axis=1)


def cuts(units: int, elements: int) -> np.ndarray:
    """Divide `units`, of `elements` in all, into parts; return rows (number of the part, first unit, end)."""
    return _cut(units, elements, PART)


def over(parts: np.ndarray, loop: Callable, *arguments) -> None:
    """Run a loop, compiled, over all parts of `cuts`, on every core; the order of the parts does not matter."""
    run = compiled(loop)
    arguments = [
        each.view(BITS.get(each.dtype, each.dtype)) if isinstance(each, np.ndarray) else each
        for each in arguments
    ]
    if run is loop or len(parts) == 1 or _first_process() != os.getpid():
        for part in parts.tolist():
            run(*part, *arguments)
        return
    done = np.zeros(len(parts), bool)
    # numba raises SystemError for an error in one of its threads
    with _lock, suppress(SystemError):
        _shared(run)(parts, done, *arguments)
    if not done.all():
        raise MemoryError(
            problem(
                "a loop gets the memory that it works in",
                "an error, which is printed above",
                "use smaller shapes",
            )
        )


@cache
def _first_process() -> int:
    """Return the process that first used threads; a fork of it has no threads, and computes alone."""
    return os.getpid()


@cache
def _shared(run: Callable) -> Callable:
    from numba import njit, prange

    def share(parts, done, *arguments):
        for k in prange(len(parts)):
            run(parts[k, 0], parts[k, 1], parts[k, 2], *arguments)
            done[k] = True

    return njit(nogil=True, parallel=True)(share)


def add_up(sums: np.ndarray, result: np.ndarray) -> None:
    """Add rows of float64, and round their total once into a result."""
    with np.errstate(all="ignore"):
        round_into(result, sums.sum(axis=0).reshape(result.shape))


@cache
def compiled(loop: Callable) -> Callable:
    """Return the loop, compiled by numba on first use for each set of formats; it lets other threads run."""
    import numba
    from numba.core.compiler import CompilerBase, DefaultPassBuilder

    class Apart(CompilerBase):
        """A compiler that assumes no aliasing of a loop's arrays; otherwise most loops are not vectorized."""

        def define_pipelines(self):
            self.state.flags.noalias = True
            return [DefaultPassBuilder.define_nopython_pipeline(self.state)]

    _register()
    known = loop.__globals__
    steps = {
        name: compiled(known[name]) for name in loop.__code__.co_names if known.get(name) in _steps
    }
    function = FunctionType(loop.__code__, known | steps, loop.__name__, None, loop.__closure__)
    # "numpy" makes 1 / 0 inf instead of an exception
    return numba.njit(nogil=True, error_model="numpy", pipeline_class=Apart)(function)


@cache
def _register() -> None:
    """Tell numba how loops read, write and exponentiate numbers of every format."""
    import math

    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic, overload

    half = ir.HalfType()

    # numba has no float16 on CPUs. The CPU's two conversion instructions are three times as fast as bit operations.
    @intrinsic
    def from_half(typing, bits):
        return types.float32(types.int16), lambda context, b, signature, args: b.fpext(
            b.bitcast(args[0], half), ir.FloatType()
        )

    @intrinsic
    def to_half(typing, value):
        return types.int16(types.float32), lambda context, b, signature, args: b.bitcast(
            b.fptrunc(args[0], half), ir.IntType(16)
        )

    @overload(real, inline="always")
    def _real(array, value):
        if array.dtype == types.float64:
            return lambda array, value: np.float64(value)
        return lambda array, value: np.float32(value)

    # An unsigned index skips the test for negative indices, which would prevent vectorization.
    @overload(read)
    def _read(array, at):
        def bfloat(array, at):
            return np.uint32(np.uint32(array[np.uintp(at)]) << 16).view(np.float32)

        return {
            types.int16: lambda array, at: from_half(array[np.uintp(at)]),
            types.uint16: bfloat,
        }.get(array.dtype, lambda array, at: array[np.uintp(at)])

    @overload(write)
    def _write(array, at, value):
        def half_precision(array, at, value):
            array[np.uintp(at)] = to_half(np.float32(value))

        def bfloat(array, at, value):
            bits = np.float32(value).view(np.uint32)
            # Round to nearest, ties to even: add half of a bfloat16 place, or, if its last bit is
            # 0, one less than this. A nan stays nan.
            near = np.uint32(bits + np.uint32(0x7FFF + np.uint32(np.uint32(bits >> 16) & 1)))
            array[np.uintp(at)] = (near if value == value else np.uint32(bits | 1 << 22)) >> 16

        def as_it_is(array, at, value):
            array[np.uintp(at)] = value

        return {types.int16: half_precision, types.uint16: bfloat}.get(array.dtype, as_it_is)

    @overload(exponential)
    def _exponential(x):
        single = compiled(single_exponential)
        return (lambda x: math.exp(x)) if x == types.float64 else lambda x: single(x)
