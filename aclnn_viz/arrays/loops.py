"""Fused loops: plain Python over single numbers, which numba compiles when it is there, run by threads.

A loop computes its part of the outputs from whole arrays: `loop(part, first, last, *arrays)` does the units `first` to
`last`, which belong to it alone, so that no two threads write one element. Arrays are read and written by `read` and
`write`, which widen 16-bit formats to float32 and round once, to nearest even. Nothing is reassociated or contracted:
the results are the same whatever the number of threads and the width of the machine's vectors.
"""

import os
from collections.abc import Callable
from functools import cache

import numpy as np

from aclnn_viz.arrays.team import BITS, shared, team

# elements that are worth taking; cuts depend on the shapes alone, and so do the results
PART = 1 << 14
MOST = 32  # parts, each of which may hold sums of its own
LANES = 32  # terms of a sum that are added side by side, as wide vectors do
WIDE = 8  # rows and columns that `turn` takes, whatever the width of the machine's vectors
KINDS = {bits.type: kind for kind, bits in BITS.items()}

_steps: list[Callable] = []  # functions that numba does not know yet


def step(function: Callable) -> Callable:
    """Mark a function that loops may call."""
    _steps.append(function)
    return function


def computed(array) -> type:
    """The format in which the numbers of an array are computed: float64, or float32 for all others."""
    return np.float64 if array.dtype == np.float64 else np.float32


def real(array, value):
    """A number in the format in which the numbers of an array are computed."""
    return computed(array)(value)


def read(array, at):
    """An element of an array of one axis, widened."""
    return real(array, array[at : at + 1].view(KINDS.get(array.dtype.type, array.dtype))[0])


def write(array, at, value):
    """Round a number to an element of an array of one axis, to nearest even."""
    array[at : at + 1].view(KINDS.get(array.dtype.type, array.dtype))[0] = value


def narrow(array) -> bool:
    """Whether an array has one of the formats of 16 bits."""
    return array.itemsize == 2


def once(array, value):
    """A number in float64 as `write` takes it for an array: rounding it again to 16 bits rounds once."""
    return odd(value) if narrow(array) else value


@step
def odd(value):
    """A float64 in float32, with an odd last place where that is not exact."""
    near = np.float32(value)
    if near == value or value != value:
        return near
    bits = near.view(np.int32)
    return np.int32((bits - 1 if abs(np.float64(near)) > abs(value) else bits) | 1).view(np.float32)


@step
def total(part, first, last, sums, result):
    """Add rows of float64 to the first in their order, and round that once into a result."""
    for k in range(1, sums.shape[0]):
        for i in range(first, last):
            sums[0, i] += sums[k, i]
    for i in range(first, last):
        write(result, i, once(result, sums[0, i]))


def totals(part, first, last, sums, result, others, other):
    total(part, first, last, sums, result)
    total(part, first, last, others, other)


def turn(array, first, apart, result, at, step):
    """Write WIDE columns of WIDE elements, each in a row, as rows: those of an array lie `apart`, those of the result a `step`."""
    for k in range(WIDE):
        for row in range(WIDE):
            write(result, at + k * step + row, read(array, first + row * apart + k))


def add_wide(sums, at, values, first, factor, lanes):
    """Add so many elements of an array from `first` on, times a factor, to those of another from `at` on."""
    sums[at : at + lanes] += values[first : first + lanes] * factor


def dot_wide(one, at, other, first, lanes):
    """The sum of so many products, a power of two, in float64: halves are added until one is left."""
    products = one[at : at + lanes].astype(np.float64) * other[first : first + lanes]
    while products.size > 1:
        products = products[: products.size // 2] + products[products.size // 2 :]
    return products[0]


def exponential(x):
    """exp(x), in float32 within 1 ulp."""
    return np.exp(x) if isinstance(x, np.float64) else single_exponential(x)


def single_exponential(x):
    """exp(x) in float32 without a branch: a loop of it runs on whole vectors."""
    # exp(x) = 2^n * exp(r) with |r| <= ln(2) / 2: ln 2 is taken in two parts, of which n times the first is exact.
    kept = np.float32(min(max(x, np.float32(-104.0)), np.float32(89.0)))  # beyond, 0 and inf
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
    # in two factors, for 2^n may be too large or too small
    result = p * two_to(most) * two_to(n - most)
    return result if x == x else x


def two_to(n):
    """2^n for a float32 n that is whole, which float32 must hold."""
    return np.ldexp(np.float32(1.0), int(n))


@cache
def _cut(units: int, elements: int, part: int) -> np.ndarray:
    step = max(1, part * units // max(elements, 1), -(-units // MOST))
    first = np.arange(0, max(units, 1), step)
    return np.stack([np.arange(len(first)), first, np.minimum(first + step, units)], axis=1)


def cuts(units: int, elements: int) -> np.ndarray:
    """Cut `units`, which have so many elements together, into rows of (part, first, last)."""
    return _cut(units, elements, PART)


def over(parts: np.ndarray, loop: Callable, *arguments) -> None:
    """Run a loop, compiled, over all parts of `cuts`, on every core; the order of the parts does not matter. Arrays are contiguous."""
    if (run := compiled(loop)) is not loop:
        team(threads()).run(
            shared(
                run,
                *[
                    (one.dtype, one.ndim) if type(one) is np.ndarray else type(one)
                    for one in arguments
                ],
            ),
            parts,
            arguments,
        )
    else:  # as it is written
        for part in parts.tolist():
            loop(
                *part,
                *[
                    one.view(BITS[one.dtype])
                    if type(one) is np.ndarray and one.dtype in BITS
                    else one
                    for one in arguments
                ],
            )


def prepared(parts: np.ndarray, loop: Callable, arguments: tuple) -> Callable:
    """A loop over parts, which takes such arguments at once, arrays of any shape as of one axis."""
    sharing = shared(
        compiled(loop),
        *[(one.dtype, one.ndim, 1) if type(one) is np.ndarray else type(one) for one in arguments],
    )
    return lambda *arguments: team(threads()).run(sharing, parts, arguments)


def add_up(*sums_and_results: np.ndarray) -> None:
    """Take the `total` of rows of float64, of as many as the result that follows has elements, or of two such pairs of one size."""
    over(
        cuts(sums_and_results[1].size, 1),
        total if len(sums_and_results) == 2 else totals,
        *sums_and_results,
    )


@cache
def threads() -> int:
    """How many threads loops run on: as many as the process had processors when it first asked."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()


@cache
def compiled(loop: Callable) -> Callable:
    """The loop, compiled by numba for each set of formats when first called with it; it lets other threads run."""
    import numba
    from numba.core.compiler import CompilerBase, DefaultPassBuilder
    from numba.extending import register_jitable

    class Apart(CompilerBase):
        """What a loop writes is read through no other name: without that, most loops are not run on vectors."""

        def define_pipelines(self):
            self.state.flags.noalias = True
            return [DefaultPassBuilder.define_nopython_pipeline(self.state)]

    _register()
    while _steps:
        register_jitable(error_model="numpy")(_steps.pop())
    # numpy: 1 / 0 is inf, no exception
    return numba.njit(nogil=True, error_model="numpy", pipeline_class=Apart)(loop)


@cache
def _register() -> None:
    """Register with numba how to read, write and exponentiate."""
    import math

    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic, overload

    def conversion(argument, result, build):
        @intrinsic
        def convert(typing, value):
            return result(argument), lambda context, builder, signature, args: build(
                builder, args[0]
            )

        return convert

    half, single, bits16, bits32 = ir.HalfType(), ir.FloatType(), ir.IntType(16), ir.IntType(32)

    def alike(x, kind, value=None):
        """The type of a number, or of as many as `x` has; a value of it."""
        kind = ir.VectorType(kind, x.type.count) if isinstance(x.type, ir.VectorType) else kind
        return (
            kind
            if value is None
            else ir.Constant(
                kind, [value] * kind.count if isinstance(kind, ir.VectorType) else value
            )
        )

    def narrowed(b, x):
        """The nearest bfloat16: half of its last place is added, a little less where that is even; a nan stays one."""
        bits = b.bitcast(x, alike(x, bits32))
        odd = b.and_(b.lshr(bits, alike(x, bits32, 16)), alike(x, bits32, 1))
        near = b.add(bits, b.add(odd, alike(x, bits32, 0x7FFF)))
        chosen = b.select(
            b.fcmp_unordered("uno", x, x), b.or_(bits, alike(x, bits32, 1 << 22)), near
        )
        return b.trunc(b.lshr(chosen, alike(x, bits32, 16)), alike(x, bits16))

    def power(b, n):
        """2^n for a float n that is whole, which a format of float32 must hold."""
        return b.bitcast(b.shl(b.add(b.fptosi(n, bits32), bits32(127)), bits32(23)), single)

    # As instructions, for numba computes all integers in 64 bits, of which half as many fit in a vector.
    widened = {
        types.int16: lambda b, x: b.fpext(b.bitcast(x, alike(x, half)), alike(x, single)),
        types.uint16: lambda b, x: b.bitcast(
            b.shl(b.zext(x, alike(x, bits32)), alike(x, bits32, 16)), alike(x, single)
        ),
    }
    rounded = {
        types.int16: lambda b, x: b.bitcast(b.fptrunc(x, alike(x, half)), alike(x, bits16)),
        types.uint16: narrowed,
    }
    from_half, from_bfloat = (
        conversion(kind, types.float32, widened[kind]) for kind in (types.int16, types.uint16)
    )
    to_half, to_bfloat = (
        conversion(types.float32, kind, rounded[kind]) for kind in (types.int16, types.uint16)
    )
    shifted = conversion(types.float32, types.float32, power)

    def wide(context, b, array, value, at, lanes=WIDE):
        """(place, align) of some elements of an array, which need not lie at a multiple of their size together."""
        first = b.gep(context.make_array(array)(context, b, value).data, [at])
        return b.bitcast(
            first, ir.VectorType(context.get_value_type(array.dtype), lanes).as_pointer()
        ), array.dtype.bitwidth // 8

    def loaded(context, b, *place):
        at, align = wide(context, b, *place)
        return b.load(at, align=align)

    def mixed(b, one, other, lanes):
        return b.shuffle_vector(one, other, ir.Constant(ir.VectorType(bits32, len(lanes)), lanes))

    @intrinsic
    def turned(typing, array, first, apart, result, at, step):
        def build(context, b, signature, args):
            source, first, apart, target, at, step = args
            rows, lanes = [], range(WIDE)
            for k in lanes:
                row = loaded(context, b, array, source, b.add(first, b.mul(apart, apart.type(k))))
                rows.append(widened[array.dtype](b, row) if array.dtype in widened else row)
            side = WIDE // 2
            while side:  # halves that lie crosswise change places, then halves of these
                for k in (k for k in lanes if not k & side):
                    one, other = rows[k], rows[k + side]
                    rows[k] = mixed(
                        b, one, other, [WIDE + j - side if j & side else j for j in lanes]
                    )
                    rows[k + side] = mixed(
                        b, one, other, [WIDE + j if j & side else j + side for j in lanes]
                    )
                side //= 2
            for k in lanes:
                place, align = wide(
                    context, b, result, target, b.add(at, b.mul(step, step.type(k)))
                )
                b.store(
                    rounded[result.dtype](b, rows[k]) if result.dtype in rounded else rows[k],
                    place,
                    align=align,
                )
            return context.get_dummy_value()

        return types.void(array, types.intp, types.intp, result, types.intp, types.intp), build

    @intrinsic(prefer_literal=True)
    def added(typing, sums, at, values, first, factor, lanes):
        def build(context, b, signature, args):
            place, align = wide(context, b, sums, *args[:2], lanes.literal_value)
            one = b.insert_element(
                ir.Constant(alike(b.load(place, align=align), args[4].type), ir.Undefined),
                args[4],
                bits32(0),
            )
            term = b.fmul(
                loaded(context, b, values, *args[2:4], lanes.literal_value),
                mixed(b, one, one, [0] * lanes.literal_value),
            )
            b.store(b.fadd(b.load(place, align=align), term), place, align=align)
            return context.get_dummy_value()

        return types.void(sums, types.intp, values, types.intp, sums.dtype, lanes), build

    @intrinsic(prefer_literal=True)
    def dotted(typing, one, at, other, first, lanes):
        def build(context, b, signature, args):
            left = lanes.literal_value
            doubles = ir.VectorType(ir.DoubleType(), left)
            factors = (
                loaded(context, b, one, *args[:2], left),
                loaded(context, b, other, *args[2:4], left),
            )
            rest = b.fmul(
                *(each if each.type == doubles else b.fpext(each, doubles) for each in factors)
            )
            while left > 1:
                left //= 2
                rest = b.fadd(*(mixed(b, rest, rest, [*range(k, k + left)]) for k in (0, left)))
            return b.extract_element(rest, bits32(0))

        return types.float64(one, types.intp, other, types.intp, lanes), build

    @overload(turn)
    def _turn(array, first, apart, result, at, step):
        return lambda array, first, apart, result, at, step: turned(
            array, first, apart, result, at, step
        )

    @overload(add_wide, prefer_literal=True)
    def _add_wide(sums, at, values, first, factor, lanes):
        return lambda sums, at, values, first, factor, lanes: added(
            sums, at, values, first, factor, lanes
        )

    @overload(dot_wide, prefer_literal=True)
    def _dot_wide(one, at, other, first, lanes):
        return lambda one, at, other, first, lanes: dotted(one, at, other, first, lanes)

    @overload(real, inline="always")
    def _real(array, value):
        if array.dtype == types.float64:
            return lambda array, value: np.float64(value)
        return lambda array, value: np.float32(value)

    # Unsigned, an index is none from the end, which would be looked for each time, and keeps a loop from whole vectors.
    @overload(read)
    def _read(array, at):
        return {
            types.int16: lambda array, at: from_half(array[np.uintp(at)]),
            types.uint16: lambda array, at: from_bfloat(array[np.uintp(at)]),
        }.get(array.dtype, lambda array, at: array[np.uintp(at)])

    @overload(write)
    def _write(array, at, value):
        def half_precision(array, at, value):
            array[np.uintp(at)] = to_half(np.float32(value))

        def bfloat(array, at, value):
            array[np.uintp(at)] = to_bfloat(np.float32(value))

        def as_it_is(array, at, value):
            array[np.uintp(at)] = value

        return {types.int16: half_precision, types.uint16: bfloat}.get(array.dtype, as_it_is)

    @overload(narrow)
    def _narrow(array):
        return (lambda array: True) if array.dtype in widened else lambda array: False

    @overload(once)
    def _once(array, value):
        return (
            (lambda array, value: odd(value))
            if array.dtype in widened
            else lambda array, value: value
        )

    @overload(two_to)
    def _two_to(n):
        return lambda n: shifted(n)

    @overload(exponential)
    def _exponential(x):
        return (lambda x: math.exp(x)) if x == types.float64 else single_exponential
