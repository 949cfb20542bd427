"""The calls, element by element, against loops over the elements that share nothing with them."""

from bisect import bisect_left
from fractions import Fraction
from math import ceil, floor

import ml_dtypes
import numpy as np
import pytest
from small_kernels import NO_PAD, buffer, gm, ran, sync

from aclnn_viz.tiles.ascendc import *  # noqa: F403
from together import in_one

E = HardEvent
FLOAT, HALF, BF16 = np.float32, np.float16, ml_dtypes.bfloat16


def after(call, *sources, size, dtype=FLOAT, kinds=()):
    """What `call(dst, *tensors)` leaves in a tensor of zeros; the tensors hold `sources` and zeros behind them."""
    joined = np.concatenate(
        [
            np.frombuffer(source.tobytes().ljust(-(-source.nbytes // 32) * 32, b"\0"), np.uint8)
            for source in sources
        ]
    )
    width = np.dtype(dtype).itemsize

    def kernel(x, y):
        pipe, tensors, start = TPipe(), [], 0
        dst = buffer(pipe, np.uint16, -(-size * width // 64) * 32)
        Duplicate(dst, 0, -(-size * width // 2))
        for source in sources:
            tensor = buffer(pipe, source.dtype, -(-source.nbytes // 32) * 32 // source.itemsize)
            DataCopy(
                tensor.ReinterpretCast(np.uint8),
                gm(x, np.uint8)[start],
                -(-source.nbytes // 32) * 32,
            )
            tensors.append(tensor)
            start += -(-source.nbytes // 32) * 32
        PipeBarrier(PIPE_ALL)
        call(dst.ReinterpretCast(dtype), *tensors)
        sync(E.V_MTE3)
        DataCopyPad(
            gm(y, dtype), dst.ReinterpretCast(dtype), DataCopyExtParams(1, size * width, 0, 0, 0)
        )

    result = ran(kernel, joined, size=size, dtype=dtype)
    assert sorted(set(result.kinds)) == sorted(kinds)
    return result.y


def numbers(count, dtype=FLOAT, seed=0):
    return np.random.default_rng(seed).standard_normal(count).astype(dtype)


def same(actual, expected):
    assert actual.tobytes() == np.asarray(expected, actual.dtype).tobytes()


# ---- lanes ----------------------------------------------------------------------------------------------------------


@in_one
@pytest.mark.parametrize("dtype", [FLOAT, HALF])
@pytest.mark.parametrize("seed", range(12))
def test_masks_repeats_and_strides(dtype, seed):
    rng, lanes = np.random.default_rng(seed), 256 // np.dtype(dtype).itemsize
    block = lanes // 8
    repeats, steps = int(rng.integers(1, 4)), [int(k) for k in rng.integers(1, 3, 6)]
    steps[3] = 8 * steps[0]  # results of two repeats do not meet
    mask = int(rng.integers(1, lanes + 1))
    bits = (
        [int(rng.integers(2)) for _ in range(lanes)]
        if seed % 2
        else [1] * mask + [0] * (lanes - mask)
    )
    if seed % 2:
        bits[0] = 1
        mask = tuple(
            sum(bit << k for k, bit in enumerate(bits[low : low + 64]))
            for low in range(0, lanes, 64)
        )
    a, b, size = numbers(3000, dtype, seed), numbers(3000, dtype, seed + 99), 3 * 16 * lanes
    expected = np.zeros(size, dtype)
    for repeat in range(repeats):
        for lane, bit in enumerate(bits):
            if bit:
                d, s0, s1 = (
                    (repeat * far + lane // block * near) * block + lane % block
                    for near, far in zip(steps[:3], steps[3:])
                )
                expected[d] = a[s0] * b[s1]
    params = BinaryRepeatParams(*steps)
    same(
        after(
            lambda dst, x, y: Mul(dst, x, y, mask, repeats, params), a, b, size=size, dtype=dtype
        ),
        expected,
    )


def test_a_count_may_exceed_what_repeats_hold():
    a = numbers(20000)
    same(after(lambda dst, x: Adds(dst, x, 1.0, 20000), a, size=20000), a + FLOAT(1))


def test_no_lanes_no_change():
    a = numbers(64)
    same(
        after(
            lambda dst, x: (Muls(dst, x, 2.0, 0), Muls(dst, x, 2.0, 64, 0, UnaryRepeatParams())),
            a,
            size=64,
        ),
        np.zeros(64),
    )


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda d, a, b: Sub(d, a, b, 9), lambda a, b: a - b),
        (lambda d, a, b: Div(d, a, b, 9), lambda a, b: a / b),
        (lambda d, a, b: Max(d, a, b, 9), np.maximum),
        (lambda d, a, b: Min(d, a, b, 9), np.minimum),
        (lambda d, a, b: Abs(d, a, 9), lambda a, b: np.abs(a)),
        (lambda d, a, b: Sqrt(d, a, 9), lambda a, b: np.sqrt(a)),
        (lambda d, a, b: Exp(d, a, 9), lambda a, b: [np.exp(float(x)) for x in a]),
        (lambda d, a, b: Ln(d, b, 9), lambda a, b: [np.log(float(x)) for x in b]),
        (lambda d, a, b: Relu(d, a, 9), lambda a, b: np.where(a > 0, a, 0)),
        (
            lambda d, a, b: LeakyRelu(d, a, 0.25, 9),
            lambda a, b: np.where(a > 0, a, a * FLOAT(0.25)),
        ),
        (lambda d, a, b: Reciprocal(d, b, 9), lambda a, b: FLOAT(1) / b),
        (lambda d, a, b: Maxs(d, a, 0.5, 9), lambda a, b: np.maximum(a, FLOAT(0.5))),
        (
            lambda d, a, b: (Muls(d, a, 1.0, 9), PipeBarrier(PIPE_V), Axpy(d, b, 3.0, 9)),
            lambda a, b: a + b * FLOAT(3),
        ),
        (
            lambda d, a, b: (Muls(d, a, 1.0, 9), PipeBarrier(PIPE_V), MulAddDst(d, a, b, 9)),
            lambda a, b: a * b + a,
        ),
        (lambda d, a, b: CreateVecIndex(d, 5.0, 9), lambda a, b: np.arange(5, 14)),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_arithmetic(call, expected):
    a, b = numbers(9), np.abs(numbers(9, seed=1))
    same(after(call, a, b, size=9), np.asarray(expected(a, b)).astype(FLOAT))


# ---- casts ----------------------------------------------------------------------------------------------------------


def finite(dtype, patterns):
    """The numbers of a 16-bit format that bit patterns stand for, without infinities and nans."""
    exponent = 0x7C00 if dtype is HALF else 0x7F80
    return (
        patterns[patterns & exponent != exponent]
        .astype(np.uint16)
        .view(dtype)
        .astype(np.float64)
        .tolist()
    )


TABLES = {dtype: sorted(set(finite(dtype, np.arange(65536)))) for dtype in (HALF, BF16)}
ODD = {dtype: set(finite(dtype, np.arange(1, 65536, 2))) for dtype in TABLES}


def rounded(value, table, mode, odd):
    at = bisect_left(table, value)
    if table[at] == value:
        return value
    low, high = table[at - 1], table[at]
    match mode:
        case "FLOOR":
            return low
        case "CEIL":
            return high
        case "TRUNC":
            return low if value > 0 else high
        case "ODD":
            return low if low in odd else high
    middle = (Fraction(low) + Fraction(high)) / 2
    if Fraction(value) != middle:
        return low if Fraction(value) < middle else high
    if mode == "ROUND":
        return high if value > 0 else low
    return high if low in odd else low


MODES = {HALF: "RINT FLOOR CEIL ROUND TRUNC ODD", BF16: "RINT FLOOR CEIL ROUND TRUNC"}


@pytest.mark.parametrize(
    ("dtype", "mode"), [(dtype, mode) for dtype, modes in MODES.items() for mode in modes.split()]
)
def test_cast_from_float_to_16_bits(dtype, mode):
    rng, table = np.random.default_rng(1), TABLES[dtype]
    at = rng.integers(1, len(table) - 1, 100)
    ties = [(table[k] + table[k + 1]) / 2 for k in at if k + 1 < len(table)]
    given = np.concatenate(
        [np.array(ties), rng.standard_normal(100) * 100, np.array([table[k] for k in at])]
    )
    given = given.astype(FLOAT)
    got = after(
        lambda dst, x: Cast(dst, x, RoundMode[f"CAST_{mode}"], given.size),
        given,
        size=given.size,
        dtype=dtype,
    )
    same(got.astype(np.float64), [rounded(float(x), table, mode, ODD[dtype]) for x in given])


@pytest.mark.parametrize(
    ("mode", "function"),
    [
        ("RINT", round),
        ("FLOOR", floor),
        ("CEIL", ceil),
        ("TRUNC", int),
        ("ROUND", lambda x: floor(x + Fraction(1, 2)) if x > 0 else ceil(x - Fraction(1, 2))),
    ],
)
@pytest.mark.parametrize("dtype", [np.int32, np.int16, FLOAT])
def test_cast_from_float_to_whole_numbers(mode, function, dtype):
    given = np.concatenate(
        [np.arange(-9, 9, 0.25), numbers(40) * 1000, [8388609.0, -1e9, 1e12, -1e12]]
    ).astype(FLOAT)
    limits = np.finfo(dtype) if dtype is FLOAT else np.iinfo(dtype)
    expected = [min(max(function(Fraction(float(x))), limits.min), limits.max) for x in given]
    got = after(
        lambda dst, x: Cast(dst, x, RoundMode[f"CAST_{mode}"], given.size),
        given,
        size=given.size,
        dtype=dtype,
    )
    assert got.tolist() == expected


@pytest.mark.parametrize("dtype", [HALF, BF16])
def test_widening_is_exact_and_may_come_from_the_upper_half(dtype):
    given = numbers(100, dtype)

    def in_place(dst, x):
        upper = dst.ReinterpretCast(dtype)[128]
        Copy(
            upper.ReinterpretCast(np.uint16),
            x.ReinterpretCast(np.uint16),
            100,
            1,
            UnaryRepeatParams(),
        )
        PipeBarrier(PIPE_V)
        Cast(dst, upper, RoundMode.CAST_NONE, 100)

    same(
        after(lambda dst, x: Cast(dst, x, RoundMode.CAST_NONE, 100), given, size=100),
        given.astype(FLOAT),
    )
    same(after(in_place, given, size=128)[:100], given.astype(FLOAT))


def test_a_widening_cast_from_the_lower_half_overtakes_itself():
    given = numbers(200, HALF)
    after(
        lambda dst, x: Cast(dst, dst.ReinterpretCast(HALF), RoundMode.CAST_NONE, 200),
        given,
        size=200,
        kinds=["overlap"],
    )


# ---- selection and moves --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", CMPMODE)
def test_compare_and_select(mode):
    a, b = np.round(numbers(128)), np.round(numbers(128, seed=1))
    a[5] = np.nan
    holds = {
        "LT": lambda p, q: p < q,
        "GT": lambda p, q: p > q,
        "EQ": lambda p, q: p == q,
        "LE": lambda p, q: p <= q,
        "GE": lambda p, q: p >= q,
        "NE": lambda p, q: not p == q,
    }[mode.name]
    bits = [holds(float(p), float(q)) for p, q in zip(a, b)]
    packed = after(lambda dst, x, y: Compare(dst, x, y, mode, 128), a, b, size=16, dtype=np.uint8)
    assert [bool(packed[k // 8] >> k % 8 & 1) for k in range(128)] == bits

    def select(how):
        def call(dst, x, y, chosen):
            Select(dst, chosen, x, 7.0 if how is SELMODE.VSEL_TENSOR_SCALAR_MODE else y, how, 128)

        return after(call, a, b, packed, size=128)

    same(
        select(SELMODE.VSEL_TENSOR_TENSOR_MODE), [p if bit else q for p, q, bit in zip(a, b, bits)]
    )
    same(select(SELMODE.VSEL_TENSOR_SCALAR_MODE), [p if bit else 7 for p, bit in zip(a, bits)])
    same(
        select(SELMODE.VSEL_CMPMASK_SPR),
        [p if bits[k % 64] else q for k, (p, q) in enumerate(zip(a, b))],
    )


def test_gather_and_its_relatives():
    a, places = numbers(64), np.random.default_rng(2).integers(0, 64, 20).astype(np.uint32)
    same(after(lambda dst, x, at: Gather(dst, x, at, 0, 20), a, places * 4, size=20), a[places])
    same(
        after(lambda dst, x: GatherMask(dst, x, 2, 30), a, size=15), [a[k] for k in range(1, 30, 2)]
    )
    same(
        after(lambda dst, x: GatherMask(dst, x, 5, 64), a, size=16), [a[k] for k in range(2, 64, 4)]
    )
    same(after(lambda dst, x: Brcb(dst, x, 2), a, size=128), [a[k // 8] for k in range(128)])
    after(
        lambda dst, x, at: Gather(dst, x, at, 0, 20),
        a,
        places * 4 + 400,
        size=20,
        kinds=["beyond tensor"],
    )


# ---- copies ---------------------------------------------------------------------------------------------------------


def test_blocks_with_gaps():
    def kernel(x, y):
        tensor = buffer(TPipe(), FLOAT, 64)
        DataCopy(tensor, gm(x), DataCopyParams(3, 1, 2, 1))
        sync(E.MTE2_MTE3)
        for k in range(3):
            DataCopy(gm(y)[8 * k], tensor[16 * k], 8)

    result = ran(kernel)
    assert result.kinds == []
    same(result.y[:24], [1 + 24 * (k // 8) + k % 8 for k in range(24)])


@pytest.mark.parametrize("dtype", [FLOAT, HALF, BF16])
def test_padded_blocks_there_and_back(dtype):
    """Three rows of five, seven apart; each row begins a block of its own, and goes back six apart."""
    size = np.dtype(dtype).itemsize
    lanes = 32 // size

    def kernel(x, y):
        tensor = buffer(TPipe(), dtype, 8 * lanes)
        DataCopyPad(
            tensor,
            gm(x, dtype),
            DataCopyExtParams(3, 5 * size, 2 * size, 1, 0),
            DataCopyPadExtParams(True, 0, lanes - 5, 9),
        )
        sync(E.MTE2_MTE3)
        DataCopyPad(gm(y, dtype), tensor, DataCopyExtParams(3, 5 * size, 1, size, 0))
        DataCopyPad(gm(y, dtype)[32], tensor, DataCopyExtParams(1, lanes * size, 0, 0, 0))

    result = ran(kernel, dtype=dtype, size=64)
    assert result.kinds == []
    for row in range(3):
        same(result.y[6 * row : 6 * row + 5], [1 + 7 * row + k for k in range(5)])
    same(result.y[32 : 32 + lanes], [1, 2, 3, 4, 5] + [9] * (lanes - 5))


def test_lanes_behind_a_block_repeat_its_first_element():
    def kernel(x, y):
        tensor = buffer(TPipe(), FLOAT, 8)
        DataCopyPad(tensor, gm(x)[3], DataCopyExtParams(1, 12, 0, 0, 0), NO_PAD)
        sync(E.MTE2_MTE3)
        DataCopy(gm(y), tensor, 8)

    result = ran(kernel)
    assert set(result.kinds) == {"padding"}
    same(result.y[:8], [4, 5, 6, 4, 4, 4, 4, 4])


def test_atomic_sums_add_and_stores_replace():
    def kernel(x, y):
        tensor = buffer(TPipe(), FLOAT, 8)
        DataCopy(tensor, gm(x), 8)
        sync(E.MTE2_MTE3)
        DataCopy(gm(y), tensor, 8)
        PipeBarrier(PIPE_MTE3)
        SetAtomicAdd(float32)
        DataCopy(gm(y), tensor, 8)
        DataCopy(gm(y), tensor, 8)
        SetAtomicNone()

    result = ran(kernel)
    assert result.kinds == []
    same(result.y[:8], 3 * np.arange(1, 9))
