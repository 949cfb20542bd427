"""Each instruction, type and mode against loops over lanes that share nothing with the machine, and each argument has an effect."""

import math
import operator
import re
import tomllib
from enum import Enum
from fractions import Fraction
from functools import partial
from itertools import product
from math import ceil, floor
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import mpmath
import numpy as np
import pytest
from machine import SOAK
from reference.ascendc_sums import pairs, reduce_sum_count
from small_kernels import NO_PAD, buffer, gm, ran, sync
from tables import table

from aclnn_viz import tiles
from aclnn_viz.tiles.ascendc import *  # noqa: F403
from aclnn_viz.tiles.calls import FUNCTIONS
from aclnn_viz.tiles.platforms import ARCHS, NAMES

ARCH, BYTES, LETTERS = next(iter(ARCHS.values())), 2048, "dabeimw"
END = BYTES * len(LETTERS)
TYPES = {name: dtype for dtype, name in NAMES.items()}
FORMULAS = tomllib.loads(Path(__file__).with_name("formulas.toml").read_text("utf-8"))
ELEMENTWISE, MATHEMATICS = FORMULAS["elementwise"], FORMULAS["mathematics"]
FIXED = {"i": uint32_t, "m": uint8_t}


class Row(NamedTuple):
    """A call: letters are tensors (d the result), `types` their formats; `want` gives the (index, value) that d is to hold."""

    name: str
    args: tuple
    want: Any
    types: dict = {}
    given: Any = None  # initial content of a

    def __repr__(self):
        return f"{self.name}{self.args} {self.types}"


def content(letter, dtype, positive):
    rng, count = np.random.default_rng(ord(letter)), BYTES // dtype.itemsize
    if dtype.kind in "iu":
        numbers = rng.integers(1, 50, count) * {"i": 4, "m": 3}.get(letter, 1)
    else:
        numbers = np.round(rng.standard_normal(count) * 3, 2)
    return (np.abs(numbers) + positive / 4 if positive else numbers).astype(dtype)


def called(row):
    """Return all tensors before a call, its result, and the outcome: content, accesses, hazards and answer."""
    form = {x: FIXED.get(x, row.types.get(x, row.types.get(""))) for x in LETTERS}
    x, y, answers = np.zeros(END, np.uint8), np.zeros(2 * END, np.uint8), []
    place = {letter: k * BYTES for k, letter in enumerate(LETTERS)}
    t = {z: x[place[z] : place[z] + BYTES].view(form[z]) for z in LETTERS}
    for letter, array in t.items():
        array[...] = content(letter, form[letter], row.name in POSITIVE)
    t["a"][: np.size(row.given)] = t["a"][: np.size(row.given)] if row.given is None else row.given

    def kernel(x, y):
        pipe = TPipe()
        tensors = {"X": gm(x, form["a"]), "Y": gm(y + END, form["d"])}
        for letter, at in place.items():
            raw = buffer(pipe, uint8_t, BYTES)
            DataCopy(raw, gm(x + at, uint8_t), BYTES)
            tensors[letter] = raw.ReinterpretCast(form[letter])
        tensors["in"] = tensors["a"].ReinterpretCast(form["d"])
        tensors["on"] = tensors["a"][8].ReinterpretCast(form["d"])
        PipeBarrier(PIPE_ALL)
        answers.append(
            FUNCTIONS[row.name](
                *(tensors.get(one, one) if isinstance(one, str) else one for one in row.args)
            )
        )
        PipeBarrier(PIPE_ALL)
        for letter, at in place.items():
            DataCopy(gm(y + at, uint8_t), tensors[letter].ReinterpretCast(uint8_t), BYTES)

    run = tiles.run(kernel, x, y, precision="exact")
    reach = [(one.name, one.reads, one.writes) for one in run.trace[len(LETTERS) : -len(LETTERS)]]
    spans = [(name, [span for _, span in (*reads, *writes)]) for name, reads, writes in reach]
    hazards = [str(hazard) for hazard in run.hazards]
    t |= {"X": x.view(form["a"]), "Y": np.zeros(END, np.uint8).view(form["d"])}
    after = (y[END:] if row.args[0] == "Y" else y[:BYTES]).view(form["d"])
    return SimpleNamespace(**t), after, (y.tobytes(), spans, hazards, answers)


def strided(array, repeats, count, near=1, far=8):
    """Return the first lanes of each repeat, with strides of blocks and repeats in blocks."""
    per = 32 // array.itemsize
    return [
        [array[(repeat * far + k // per * near) * per + k % per] for k in range(count)]
        for repeat in range(repeats)
    ]


# ---- lane by lane ---------------------------------------------------------------------------------------------------


def bit(mask, lane):
    return mask[lane // 64] >> lane % 64 & 1 if isinstance(mask, tuple) else lane < mask


def places(form, sizes):
    """Yield the places of each lane's operands, in elements."""
    if len(form) == 1:
        yield from ((k,) * len(sizes) for k in range(form[0]))
        return
    mask, repeats, *steps = form
    steps = steps[0] if len(steps) == 1 else steps
    for repeat, lane in product(range(repeats), range(256 // max(sizes))):
        if bit(mask, lane):
            yield tuple(
                (repeat * far + lane * size // 32 * near) * 32 // size + lane % (32 // size)
                for size, near, far in zip(sizes, steps[: len(sizes)], steps[len(sizes) :])
            )


POSITIVE = set("Ln Sqrt Rsqrt Reciprocal Exp Div Mathematics Library".split())


def formula(text):
    """Return the operands of a formula in the order of a call's arguments, and its function of r and them."""
    letters = [x for x in "dabenm" if re.search(rf"\b{x}\b", text)]
    return letters, eval(f"lambda r, {', '.join(letters)}: {text}", dict(vars(mpmath)))  # noqa: S307


BITS = (0x8000000000000F05, 5)
STRIDES = {
    1: ((2, 16), (1, 9)),
    2: ((1, 2, 8, 16), (2, 1, 17, 8)),
    3: ((1, 2, 1, 8, 16, 9), (2, 1, 1, 17, 8, 8)),
}
PARAMS = {1: tuple, 2: UnaryRepeatParams._make, 3: BinaryRepeatParams._make}


def number(value):
    return int(value) if np.asarray(value).dtype.kind in "iu" else float(value)


def rounding(dtype):
    """Return the rounding to a format: as an integer with its last bits, or from float64."""
    if dtype.kind in "iu":
        return lambda value: int(np.int64(value).astype(dtype))
    return lambda value: float(np.float64(value).astype(dtype))


def elementwise(name, dtype, narrow=None):
    """Yield the rows of a call: of a count, of a number of lanes, and of bits, with strides."""
    letters, function = formula(ELEMENTWISE[name])
    tensors = "d" + "".join(x for x in letters if x not in "dn")
    types = {"": dtype} | dict.fromkeys("ab" * bool(narrow), narrow)
    sizes = [types.get(x, dtype).itemsize for x in tensors]
    strides = STRIDES[len(sizes)]
    if narrow:
        strides = ((1,) * len(sizes) + (8, 4, 4)[: len(sizes)],) * 2
    n = 3 if dtype.kind in "iu" else 0.75
    r = rounding(dtype)
    masks = 37, BITS[: 2 if dtype.itemsize == 2 else 1]
    forms = [(mask, 2, PARAMS[len(sizes)](steps)) for mask, steps in zip(masks, strides)]
    forms = [(*form[:2], *form[2]) if len(sizes) == 1 else form for form in forms]
    for form in [(9,)] * (name != "Copy") + forms:

        def want(t, form=form):
            for at in places(form, sizes):
                numbers = dict(
                    zip(tensors, (number(getattr(t, x)[k]) for x, k in zip(tensors, at)))
                )
                yield at[0], r(function(r, *((numbers | {"n": n})[x] for x in letters)))

        yield Row(name, (*tensors, *(n,) * ("n" in letters), *form), want, types)


def reduction(name, mask, repeats, dst_step, near, far, dtype):
    """Return one result per repeat, per block, or per two lanes."""
    lanes = 256 // dtype.itemsize
    shares = {"W": 1, "R": 1, "B": 8, "P": lanes // 2}[name[0]]

    def want(t):
        for repeat, row in enumerate(strided(t.a, repeats, lanes, near, far)):
            row = [value if bit(mask, lane) else None for lane, value in enumerate(row)]
            for share in range(shares):
                part = row[share * lanes // shares : (share + 1) * lanes // shares]
                if any(value is not None for value in part):
                    yield repeat * dst_step * shares + share, COMBINED[name[-3:]](part)

    args = (repeats, mask, dst_step, near, far)
    if name[0] in "WR":
        args = (
            (mask, *args[:1], *args[2:]) if name[0] == "W" else (*args[:2], 1, near, dst_step, far)
        )
    return Row(name, ("d", "a", *args), want, {"": dtype})


COMBINED = {
    "Sum": lambda part: pairs(list(part)),
    "Max": lambda part: max(value for value in part if value is not None),
    "Min": lambda part: min(value for value in part if value is not None),
}


def whole(name, *form, dtype, given=None):
    """Return ReduceSum, ReduceMax, ReduceMin: with a count repeat after repeat, else as a tree of trees."""
    lanes, kind = 256 // dtype.itemsize, COMBINED[name[-3:]]

    def want(t):
        if len(form) > 1:
            mask, repeats, step = form
            numbers = [kind(row) for row in strided(t.a, repeats, mask, 1, step)]
        else:
            numbers = list(t.a[: form[0]])
        in_turn = name == "ReduceSum" and len(form) == 1
        yield 0, reduce_sum_count(numbers, lanes) if in_turn else kind(numbers)

    return Row(name, ("d", "a", "w", *form), want, {"": dtype}, given)


def compared(name, mode, *form, dtype, other="b"):
    """Return comparisons bit by bit; `form` is a count, or repeats with strides of blocks and repeats of each source."""
    lanes = 256 // dtype.itemsize
    repeats, *steps = form if len(form) > 1 else (form[0] // lanes,)

    def want(t):
        first = sum(strided(t.a, repeats, lanes, *steps[:2]), [])
        second = (
            [dtype.type(other)] * len(first)
            if other != "b"
            else sum(strided(t.b, repeats, lanes, *steps[2:]), [])
        )
        bits = [bool(getattr(operator, mode.name.lower())(*each)) for each in zip(first, second)]
        for k in range(len(bits) // 8):
            yield k, sum(value << place for place, value in enumerate(bits[8 * k : 8 * k + 8]))

    given = content("b", dtype, False)[:9]
    given[0] = np.nan if dtype.kind == "f" else 0
    return Row(name, ("d", "a", other, mode, *form), want, {"": dtype, "d": uint8_t}, given)


def selected(mode, count, dtype):
    def want(t):
        bits = np.unpackbits(t.m.view(np.uint8), bitorder="little")
        for k in range(count):
            chosen = bits[k % (256 // dtype.itemsize) if mode.name == "VSEL_CMPMASK_SPR" else k]
            yield k, t.a[k] if chosen else t.b[k] if other == "b" else other

    other = 7.0 if mode is SELMODE.VSEL_TENSOR_SCALAR_MODE else "b"
    return Row("Select", ("d", "m", "a", other, mode, count), want, {"": dtype})


def packed(pattern, count, repeats, near, far, apart, dtype):
    """Return GatherMask; a tensor's bits of each repeat lie `apart` blocks apart."""
    unit = 8 * dtype.itemsize

    def chosen(t, repeat, k):
        if pattern == "b":
            return int(t.b[repeat * apart * 256 // unit + k // unit]) >> k % unit & 1
        first, step = ((0, 2), (1, 2), (0, 4), (1, 4), (2, 4), (3, 4), (0, 1))[pattern - 1]
        return k % step == first

    def want(t):
        rows = enumerate(strided(t.a, repeats, count, near, far))
        yield from enumerate(
            value for repeat, row in rows for k, value in enumerate(row) if chosen(t, repeat, k)
        )

    args = ("d", "a", pattern, count, repeats, near, far, apart)
    return Row("GatherMask", args, want, {"": dtype, "b": np.dtype(f"u{dtype.itemsize}")})


def spread(repeats, block, step, dtype):
    def want(t):
        for k, lane in product(range(8 * repeats), range(32 // dtype.itemsize)):
            yield (k // 8 * step + k % 8 * block) * (32 // dtype.itemsize) + lane, t.a[k]

    return Row("Brcb", ("d", "a", repeats, BrcbRepeatParams(block, step)), want, {"": dtype})


# ---- casts ----------------------------------------------------------------------------------------------------------

WHOLE = {
    "R": round,
    "F": floor,
    "C": ceil,
    "A": lambda v: floor(abs(v) + Fraction(1, 2)) * (1 if v > 0 else -1),
    "Z": int,
    "O": lambda v: floor(v) if floor(v) % 2 else ceil(v),
    "N": round,
}
FLOATS = {"half": (10, -14), "bfloat16_t": (7, -126), "float": (23, -126)}  # bits, exponent
# From 数据结构/precision_conversion.md: a value, and its RINT, FLOOR, CEIL, ROUND and TRUNC.
DOCUMENTED = [
    ("int16_t", "half", 2**12 + 2, (4096, 4096, 4100, 4100, 4096)),
    ("half", "int32_t", -1.5, (-2, -2, -1, -2, -1)),
    ("int32_t", "float", 2**25 + 3, (2**25 + 4, 2**25, 2**25 + 4, 2**25 + 4, 2**25)),
    ("float", "half", 0.5 + 2**-12, (0.5, 0.5, 0.5 + 2**-11, 0.5 + 2**-11, 0.5)),
    ("float", "float", 0.5, (0, 0, 1, 1, 0)),
    ("int64_t", "float", 2**35 + 2**12 + 2**11, [2**35 + 2**k for k in (13, 12, 13, 13, 12)]),
]


def rounded(value, old, new, mode):
    """Return a number in another format; in its own, as a whole number."""
    value = Fraction(value)
    if new not in FLOATS:
        return min(max(WHOLE[mode](value), np.iinfo(TYPES[new]).min), np.iinfo(TYPES[new]).max)
    if not value or old == new:
        return WHOLE[mode](value)
    bits, least = FLOATS[new]
    exponent = abs(value.numerator).bit_length() - value.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > abs(value)
    spacing = Fraction(2) ** (max(exponent, least) - bits)
    return float(WHOLE[mode](value / spacing) * spacing)


def sources(old):
    """Return numbers of a format: ties, and others; none too large for half."""
    dtype = TYPES[old]
    if dtype.kind in "iu":
        near = [2**k + d for k in (2, 12, 25, 35, 53, 60) for d in (-1, 2, 3, 2**k // 2**24)]
        most = min(np.iinfo(dtype).max, 60000 if old == "int16_t" else 2**63)
        return np.array(
            [s * v for v in near if v <= most for s in (1, -(np.iinfo(dtype).min < 0))], dtype
        )
    ties = [k / 4 for k in range(-20, 21)] + [k * 2.0**-12 for k in range(2049, 2055)]
    return np.array([*ties, 1000.5, -1001.5, 2049.0, 3e-6, -1e-40, 12345.678]).astype(dtype)


def casts():
    for (old, new), modes in ARCH.modes.items():
        sizes = [TYPES[new].itemsize, TYPES[old].itemsize]
        steps = (1, 1, *(8 * size // max(sizes) for size in sizes))
        given = sources(old)
        for mode, form in product(modes, [(given.size,), (5, 2, UnaryRepeatParams(*steps))]):

            def want(t, mode=mode, form=form, sizes=sizes, old=old, new=new):
                for to, at in places(form, sizes):
                    yield to, rounded(number(t.a[at]), old, new, mode)

            types = {"": TYPES[new], "a": TYPES[old]}
            yield Row("Cast", ("d", "a", RoundMode(mode), *form), want, types, given)


def test_the_loop_of_casts_gives_what_the_page_documents():
    assert [
        [rounded(value, old, new, mode) for mode in "RFCAZ"] for old, new, value, _ in DOCUMENTED
    ] == [list(made) for *_, made in DOCUMENTED]


# ---- copies ---------------------------------------------------------------------------------------------------------


def copied(to, of, name, length, count, steps, dtype, *params, fill=None):
    """Return blocks of `length` elements, whose starts lie `steps` (of the result, of the source) apart."""

    def want(t):
        for block in range(count):
            left, row, value = fill or (0, length, None)
            for k in range(row):
                inside = left <= k < left + length
                start = block * steps[1] + k - left
                yield block * steps[0] + k, getattr(t, of)[start] if inside else value

    return Row(name, (to, of, *params), want, {"": dtype})


def copies():
    for dtype in (float32, half, bfloat16_t, int8_t):
        size, per = dtype.itemsize, 32 // dtype.itemsize
        for to, of in ("dX", "Ya", "da"):
            yield copied(to, of, "DataCopy", 2 * per, 1, (0, 0), dtype, 2 * per)
            blocks = DataCopyParams(3, 2, 1, 2)
            yield copied(to, of, "DataCopy", 2 * per, 3, (4 * per, 3 * per), dtype, blocks)
        gaps = DataCopyExtParams(3, 5 * size, 2 * size, 1, 0)
        row = -(-8 // per) * per
        pads = DataCopyPadExtParams(True, 1, 2, 9)
        steps = (row + per, 7)
        yield copied("d", "X", "DataCopyPad", 5, 3, steps, dtype, gaps, pads, fill=(1, row, 9))
        row = -(-5 // per) * per
        gaps = DataCopyExtParams(3, 5 * size, 1, 2 * size, 0)
        yield copied("Y", "a", "DataCopyPad", 5, 3, (7, row + per), dtype, gaps)
        yield Row("Fill", ("Y", 40, 3.0), lambda t: ((k, 3) for k in range(40)), {"": dtype})


# ---- calls made of several instructions, and forms only in C++ -------------------------------------------------------

# What `a` begins with where the function has a bound or looks at special numbers.
BEGINS = dict.fromkeys(("LogicalAnd", "LogicalOr", "LogicalXor", "LogicalNot"), 0) | {
    "IsNan": np.nan,
    "IsInf": -np.inf,
    "IsFinite": np.inf,
}


def mathematics(name, dtype):
    letters, function = formula(MATHEMATICS[name])
    operands = [{"n": 0.75, "m": 2.5}.get(x, x) for x in letters]

    def want(t):
        for k in range(40):
            values = [
                x if isinstance(x, float) else mpmath.mpf(float(getattr(t, x)[k])) for x in operands
            ]
            yield k, float(function(rounding(dtype), *values))

    given = None
    if name in ("Asin", "Acos", "Atanh", "Acosh"):
        given = (np.arange(40) / 41 + (name == "Acosh") * 1.5).astype(dtype)
    elif name in BEGINS:
        given = np.full(3, BEGINS[name], dtype)
    types = {"": dtype, "w": uint8_t}
    return Row("Mathematics", (name, "d", "w", 40, *operands), want, types, given)


def index(row, dtype):
    """Return the place of the largest element, as the bits of a number."""
    return np.array([row.index(max(row))], f"u{dtype.itemsize}").view(dtype)[0]


def built(dtype):
    per, types = 32 // dtype.itemsize, {"": dtype, "w": uint8_t}

    def turned(t):
        for plane, row, column in product(range(2), range(3), range(5)):
            yield 15 * plane + 3 * column + row, t.a[15 * plane + 5 * row + column]

    def blocks(t):
        for k, lane in product(range(16), range(per)):
            yield (k // 8 * 17 + k % 8 * 2) * per + lane, t.a[int(t.i[k]) // t.a.itemsize + lane]

    def one(t):
        row = sum(strided(t.a, 3, 37, 1, 9), [])
        yield from enumerate((max(row), index(row, dtype)))

    def alone(t):
        for repeat, row in enumerate(strided(t.a, 2, 37, 2, 17)):
            yield 3 * repeat, row.index(max(row))

    args = "Max", "d", "a", 37, 2, 3, 2, 17, 3
    yield Row("WholeReduceIndex", args, alone, types | {"d": uint32_t})

    def pair(t, order):
        for repeat, row in enumerate(strided(t.a, 2, 37, 2, 17)):
            yield from enumerate((max(row), index(row, dtype))[:: 1 - 2 * order], repeat * 6)

    yield from (mathematics(name, dtype) for name in MATHEMATICS)
    for name, args, want in (
        ("Broadcast", ("d", "a", "w", 4, 8, 4, 1), lambda t: enumerate(np.repeat(t.a[:4], 8))),
        ("Transposed", ("d", "a", "w", 2, 3, 5), turned),
        ("Gatherb", ("d", "a", "i", 2, 2, 17), blocks),
        ("ReduceIndex", ("argmax", "d", "a", "w", 37, 3, 9), one),
        *(
            (
                "WholeReduceIndex",
                ("Max", "d", "a", 37, 2, 3, 2, 17, order),
                partial(pair, order=order),
            )
            for order in (0, 1)
        ),
    ):
        yield Row(name, args, want, types)


# ---- the library on rows --------------------------------------------------------------------------------------------


def halved(value):
    return rounded(value, "float", "half", "R")


def in_bytes(value, scale, offset):
    number = halved(halved(halved(float(value)) * halved(float(scale))) + halved(float(offset)))
    return min(max(round(number), -128), 127)


# A call's name, its temporary buffer and arguments, the width of the result's rows and how much of each is not 0, other
# formats, and element k of row i.
LIBRARY = table("""
SimpleSoftMax   | w 1 3 d 48 a 48 b 3*per e 3*per 16                 | 16 16 |            | exp(a[16*i+k] - b[per*i]) / e[per*i]
Normalize       | None 2 5 d 48 w 3 a 48 b 3 e 3 b 13 e 13 16 13 .25 | 16 13 | w=dtype    | (a[16*i+k] - b[i]) / sqrt(e[i] + .25) * b[k] + e[k]
Pad             | w 1 1 d 72 a 48 16 13 2 9 7.0                      | 24 24 |            | a[16*i+k-2] if 2 <= k < 15 else 7.0
UnPad           | w 1 1 d 24 a 48 16 8                               | 8 8   |            | a[16*i+k]
QuantScalar     | w 1 1 d 48 a 48 9.7 1.3                            | 16 16 | d=int8_t   | in_bytes(a[16*i+k], 9.7, 1.3)
QuantRows       | w 1 2 d 48 a 48 b 16 16 1.3                        | 16 16 | d=int8_t   | in_bytes(a[16*i+k], b[k], 1.3)
QuantRowsBoth   | w 1 3 d 48 a 48 b 16 e 16 16                       | 16 16 | d=int8_t   | in_bytes(a[16*i+k], b[k], e[k])
Dequant         | w 1 1 d 48 a 48 16 13 .3                           | 16 13 | a=int32_t  | a[16*i+k] * .3
DequantRows     | w 1 2 d 48 a 48 b 13 16 13                         | 16 13 | a=int32_t  | a[16*i+k] * b[k]
AntiQuant       | w 1 3 d 48 a 48 b 6 e 6 12 2 3                     | 12 12 | a=int8_t   | (a[12*i+k] + b[i//2*3 + k//4]) * e[i//2*3 + k//4]
WelfordFinalize | None 2 2 w 1 d 1 a 16 b 16 .05 .02 3               | 1 1   | w=dtype    | (sum(b[:16]) + 3 * sum((x - sum(a[:16]) * .05)**2 for x in a[:16])) * .02
WelfordCounted  | None 2 3 w 1 d 1 a 16 b 16 e 16 .05                | 1 1   | w=dtype    | (sum(b[:16]) + sum(n * (x - sum(map(mul, a, e[:16])) * .05)**2 for x, n in zip(a, e[:16]))) * .05
Merge           | None 1 2 d 3*per a 2*per b per                     | per//4 per//4 |   | sorted([x[j:j + per//4] for x, n in ((a, 2*per), (b, per)) for j in range(0, n, per//4)], key=lambda one: -one[0])[i][k] if k != 1 or per == 8 else 0
SelectBytes     | w 1 2 d 48 a 48 m 48 16 7.0 1                      | 16 16 | m=int8_t   | 7.0 if m[16*i+k] else a[16*i+k]
""")


def library(dtype):
    known = (
        vars(math) | globals() | {"per": 32 // dtype.itemsize, "dtype": dtype, "mul": operator.mul}
    )
    for name, words, shape, types, text in LIBRARY:
        args = [one if one in LETTERS else eval(one, known) for one in words.split()]  # noqa: S307

        def want(t, shape=shape, text=text, count=args[args.index("d") + 1]):
            width, real = (eval(one, known) for one in shape.split())  # noqa: S307
            held = known | {z: [*map(number, getattr(t, z))] for z in "abem"}
            for at in range(count):
                i, k = divmod(at, width)
                yield at, eval(text, held | {"i": i, "k": k}) if k < real else 0.0  # noqa: S307

        types = {"": dtype, "w": uint8_t} | eval(f"dict({types})", known)  # noqa: S307
        yield Row("Library", (name, *args), want, types)


# ---- all rows -------------------------------------------------------------------------------------------------------


def formats(name):
    return [TYPES[one] for one in sorted(ARCH.formats[name], reverse=True)]


def rows():
    for call, dtype in ((name, dtype) for name in ELEMENTWISE for dtype in formats(name)):
        yield from elementwise(call, dtype)
    for name in ("Axpy", "MulAddDst"):
        yield from elementwise(name, float32, half)
    for dtype in formats("CreateVecIndex"):
        index = ((k, k + 5) for k in range(40))
        yield Row("CreateVecIndex", ("d", 5, 40), lambda t, index=list(index): index, {"": dtype})
    for dtype in (float32, half):
        bits = BITS[: 4 // dtype.itemsize]
        for kind in COMBINED:
            for name in (f"WholeReduce{kind}", f"BlockReduce{kind}"):
                yield reduction(name, 37, 2, 3, 2, 17, dtype)
                yield reduction(name, bits, 3, 1, 1, 9, dtype)
            for count in (229, 1, 2, 65, 500):
                yield whole(f"Reduce{kind}", count, dtype=dtype)
            yield whole(f"Reduce{kind}", 37, 3, 9, dtype=dtype)
        yield whole("ReduceSum", 3, dtype=dtype, given=np.full(3, -0.0))
        yield reduction("PairReduceSum", 37, 2, 2, 2, 17, dtype)
        yield reduction("RepeatReduceSum", 37, 2, 3, 2, 17, dtype)
        for mode in CMPMODE:
            yield compared("Compare", mode, 128, dtype=dtype)
            yield compared("CompareScalar", mode, 128, dtype=dtype, other=1.0)
            yield compared("CompareRepeats", mode, 2, 2, 17, 1, 9, dtype=dtype)
        yield compared("CompareRepeats", CMPMODE.LT, 2, 2, 17, dtype=dtype, other=1.0)
        yield from (selected(mode, 200, dtype) for mode in SELMODE)
        yield from built(dtype)
        yield from library(dtype)
    yield compared("Compare", CMPMODE.EQ, 64, dtype=int32_t)
    for dtype in formats("Brcb"):

        def gathered(t):
            yield from ((k, t.a[(8 + int(t.i[k])) // t.a.itemsize]) for k in range(40))

        yield spread(2, 2, 17, dtype)
        yield Row("Gather", ("d", "a", "i", 8, 40), gathered, {"": dtype})
        yield from (packed(pattern, 60, 2, 2, 17, 0, dtype) for pattern in range(1, 8))
        yield packed("b", 60, 2, 1, 9, 1, dtype)


ROWS = [*rows(), *casts(), *copies()]


def wrong(row):
    """Return hazards of a call, a wrong count of packed elements, and the places of wrong results."""
    t, found, (_, _, hazards, (answer,)) = called(row)
    expected, values = (t.Y if row.args[0] == "Y" else t.d).copy(), list(row.want(t))
    for place, value in values:
        expected[place] = value
    if answer not in (None, len(values)):
        hazards += [answer]
    if row.name == "Cast" and np.array_equal(found, expected):
        return hazards  # The sign of a zero that Cast rounds to is not documented.
    differ = found.view(f"u{found.itemsize}") != expected.view(f"u{found.itemsize}")
    return [*hazards, *np.flatnonzero(differ)]


def test_each_call_type_and_mode_gives_what_its_loop_gives():
    assert [(row, found[:3]) for row in ROWS if (found := wrong(row))] == []


# ---- each argument has an effect --------------------------------------------------------------------------------------

# By call and place: arguments without effect, and the page that says so.
WITHOUT = {
    ("RepeatReduceSum", 4): "dstBlkStride may be anything (RepeatReduceSum)",
    ("ReduceSum", 2, 4): "a sum of a count does not use its work buffer (ReduceSum, the first way)",
    ("GatherMask", 7): "src1RepeatStride is that of a tensor of bits (GatherMask)",
    ("DataCopyPad", "rsv"): "reserved (DataCopyPad)",
}


def others(value):
    """Return other values of an argument, including a tensor's letter."""
    if isinstance(value, Enum):
        return [one for one in type(value) if one is not value]
    if isinstance(value, tuple):
        return [(value[0] >> 1, *value[1:])]
    if isinstance(value, str):
        return ["e" if value != "e" else "b"] if value in LETTERS else []
    if value is None:
        return []
    return [not value] if isinstance(value, bool) else [value // 2, 2 * value, value + 1]


def outcome(row):
    try:
        return called(row)[2]
    except (
        ValueError,
        TypeError,
        AttributeError,
    ):  # NumPy's own, of shapes and tensors that do not fit
        return None


def idle(row):
    """Yield the places of arguments without effect on numbers, hazards or accesses."""
    first = outcome(row)
    for place, value in enumerate(row.args):
        for field in getattr(value, "_fields", (None,)):
            same = []
            for choice in others(getattr(value, field) if field else value):
                form = row.types.get(value, row.types[""]) if isinstance(value, str) else None
                new = value._replace(**{field: choice}) if field else choice
                changed = row._replace(
                    args=(*row.args[:place], new, *row.args[place + 1 :]),
                    types=row.types | ({choice: FIXED.get(value, form)} if form else {}),
                )
                same.append(outcome(changed) == first)
                if not same[-1]:
                    break
            if same and all(same):
                yield field or place


def test_no_argument_is_without_an_effect():
    kinds = {
        (row.name, len(row.args), tuple(map(type, row.args)), row.args[0]): row
        for row in reversed(ROWS)
    }
    assert [
        (row, place)
        for row in [*kinds.values()][:: 1 if SOAK else 3]
        for place in idle(row)
        if not {(row.name, place), (row.name, place, len(row.args))} & WITHOUT.keys()
    ] == []


IN_PLACE = set("Adds Add Cast Select GatherMask".split())


def test_a_result_over_a_source_is_a_hazard_and_in_place_only_of_some():
    """A result (of ReduceMax the work buffer) that begins with a source, and 8 elements behind its beginning."""
    for name in (*IN_PLACE, "Compare", "CompareScalar", "Gather", "Brcb", "ReduceMax"):
        row = next(
            row
            for row in ROWS
            if row.name == name and float32 == row.types[""] == row.types.get("a", float32)
        )
        args = [*row.args]
        for where, legal in (("in", name in IN_PLACE), ("on", False)):
            args[2 if name == "ReduceMax" else 0] = where
            hazards = called(row._replace(args=args))[2][2]
            assert legal != any(hazard.startswith("overlap") for hazard in hazards), (row, where)


def test_an_argument_that_is_ignored_is_found(monkeypatch):
    row = next(row for row in ROWS if row.name == "Brcb")
    monkeypatch.setitem(
        FUNCTIONS, "Brcb", lambda dst, src, repeats, params: Brcb(dst, src, repeats)
    )
    assert list(idle(row)) == ["dstBlkStride", "dstRepStride"] and wrong(row)


def test_strides_of_another_number_of_operands_are_refused():
    row = Row("Adds", ("d", "a", 1.0, 64, 1, BinaryRepeatParams()), None, {"": float32})
    with pytest.raises(TypeError, match="two strides of each of 2 operands: got 6"):
        called(row)


def test_every_call_has_a_row():
    """Calls that make tensors, wait, or ask are exempt."""
    calls = {
        name
        for name, value in FUNCTIONS.items()
        if value.__module__.split(".")[-1] in ("vector", "reductions", "library")
        and not isinstance(value, type)
    }
    assert calls - {row.name for row in ROWS} == OTHERS


OTHERS = set(
    "GetReduceRepeatSumSpr CompareRegister GetCmpMask SetCmpMask SetAtomicMax SetAtomicMin GetPhyAddr Absent Position "
    "GetReduceRepeatMaxMinSpr".split()
)


# ---- further properties ---------------------------------------------------------------------------------------------


def test_the_orders_of_sums_differ_from_each_other():
    """Otherwise a test of one would pass with the other."""
    rng = np.random.default_rng(0)
    draws = [list(rng.standard_normal(4099).astype(np.float32)) for _ in range(8)]
    orders = (partial(reduce_sum_count, lanes=64), partial(reduce_sum_count, lanes=128), pairs, sum)
    assert len({tuple(float(order(x)) for x in draws) for order in orders}) == len(orders)


def test_in_place_a_widening_cast_may_come_from_the_upper_half():
    for first, kinds in ((128, []), (0, ["overlap"])):

        def kernel(x, y, first=first):
            wide = buffer(TPipe(), float32, 128)
            narrow = wide.ReinterpretCast(half)[first]
            DataCopy(narrow, gm(x, half), 128)
            sync(HardEvent.MTE2_V)
            Cast(wide, narrow, RoundMode.CAST_NONE, 128)
            sync(HardEvent.V_MTE3)
            DataCopy(gm(y), wide, 128)

        x = np.arange(128, dtype=np.float16)
        result = ran(kernel, x, size=128)
        assert result.kinds == kinds and (kinds or (result.y == x).all())


def test_lanes_behind_a_block_repeat_its_first_element():
    def kernel(x, y):
        tensor = buffer(TPipe(), float32, 8)
        DataCopyPad(tensor, gm(x)[3], DataCopyExtParams(1, 12, 0, 0, 0), NO_PAD)
        sync(HardEvent.MTE2_MTE3)
        DataCopy(gm(y), tensor, 8)

    result = ran(kernel)
    assert set(result.kinds) == {"padding"} and result.y[:8].tolist() == [4, 5, 6, 4, 4, 4, 4, 4]


def test_atomic_sums_add_and_stores_replace():
    def kernel(x, y):
        tensor = buffer(TPipe(), float32, 8)
        DataCopy(tensor, gm(x), 8)
        sync(HardEvent.MTE2_MTE3)
        for _number in range(3):
            DataCopy(gm(y), tensor, 8)
            PipeBarrier(PIPE_MTE3)
            SetAtomicAdd(float32)
        SetAtomicNone()

    result = ran(kernel)
    assert result.kinds == [] and (result.y[:8] == 3 * np.arange(1, 9)).all()


@pytest.mark.parametrize("dtype", formats("SetAtomicAdd"), ids=str)
def test_atomic_copies_add_or_keep_an_extreme(dtype):
    for name, combine in (("Add", operator.add), ("Max", max), ("Min", min)):

        def kernel(x, y, name=name):
            tensor, count = buffer(TPipe(), dtype, 64), 32 // dtype.itemsize
            DataCopy(tensor, gm(x, dtype), 64)
            sync(HardEvent.MTE2_MTE3)
            DataCopy(gm(y, dtype), tensor, count)
            PipeBarrier(PIPE_MTE3)
            FUNCTIONS[f"SetAtomic{name}"](dtype)
            DataCopy(gm(y, dtype), tensor[32], count)
            SetAtomicNone()

        x = np.random.default_rng(0).integers(-9, 9, 64).astype(dtype)
        result, count = ran(kernel, x, size=64, dtype=dtype), 32 // dtype.itemsize
        wanted = [combine(x[k], x[32 + k]) for k in range(count)]
        assert result.kinds == [] and result.y[:count].tolist() == wanted


def test_the_register_of_a_comparison_is_copied_and_filled():
    def kernel(x, y):
        pipe = TPipe()
        tensor, bits = buffer(pipe, float32, 256), buffer(pipe, uint8_t, 64)
        DataCopy(tensor, gm(x), 256)
        PipeBarrier(PIPE_ALL)
        FUNCTIONS["CompareRegister"](tensor, tensor[64], CMPMODE.LT, 64)
        PipeBarrier(PIPE_ALL)
        FUNCTIONS["GetCmpMask"](bits)
        FUNCTIONS["SetCmpMask"](tensor.ReinterpretCast(uint8_t))
        PipeBarrier(PIPE_ALL)
        FUNCTIONS["GetCmpMask"](bits[32])
        PipeBarrier(PIPE_ALL)
        DataCopy(gm(y, uint8_t), bits, 64)

    x = np.random.default_rng(0).standard_normal(256).astype(np.float32)
    found = ran(kernel, x).y.view(np.uint8)
    assert [int(found[k // 8]) >> k % 8 & 1 for k in range(64)] == [*(x[:64] < x[64:128])]
    assert found[32:48].tobytes() == x[:4].tobytes()
