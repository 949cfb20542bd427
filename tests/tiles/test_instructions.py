"""Each instruction, type and mode against loops over lanes that share nothing with the machine, and each argument has an effect."""

from enum import Enum
from fractions import Fraction
from itertools import product
from math import ceil, floor
from types import SimpleNamespace
from typing import Any, NamedTuple

import mpmath
import numpy as np
from reference.ascendc_sums import pairs, reduce_sum_count
from small_kernels import buffer, gm, sync

from aclnn_viz import tiles
from aclnn_viz.tiles.ascendc import *  # noqa: F403
from aclnn_viz.tiles.cpp import FUNCTIONS
from aclnn_viz.tiles.platforms import ARCHS, NAMES

ARCH, BYTES, LETTERS = next(iter(ARCHS.values())), 2048, "dabeimw"
END = BYTES * len(LETTERS)
TYPES = {name: dtype for dtype, name in NAMES.items()}
FIXED = {"i": uint32_t, "m": uint8_t}


class Row(NamedTuple):
    """A call: letters are tensors (d the result), `types` their formats; `want` gives the (index, value) that d is to hold."""

    name: str
    args: tuple
    want: Any
    types: dict = {}
    given: Any = None  # what a begins with

    def __repr__(self):
        return f"{self.name}{self.args} {self.types}"


def content(letter, dtype, name):
    rng = np.random.default_rng(ord(letter))
    count = BYTES // dtype.itemsize
    if letter in FIXED:
        numbers = rng.integers(0, 60, count) * (4 if letter == "i" else 3)
    elif dtype.kind in "iu":
        numbers = rng.integers(1, 50, count)
    else:
        numbers = np.round(rng.standard_normal(count) * 3, 2)
        numbers = np.abs(numbers) + 0.25 if name in POSITIVE else numbers
    return numbers.astype(dtype)


def called(row, args=None):
    """What a call leaves in all tensors, its hazards, and what it reaches."""
    formats = {x: FIXED.get(x, row.types.get(x, row.types.get("", float32))) for x in LETTERS}
    before = {x: content(x, formats[x], row.name) for x in LETTERS}
    if row.given is not None:
        before["a"][: row.given.size] = row.given
    answers = []

    def kernel(x, y):
        pipe, tensors = TPipe(), {}
        for place, letter in enumerate(LETTERS):
            raw = buffer(pipe, uint8_t, BYTES)
            DataCopy(raw, gm(x, uint8_t)[place * BYTES], BYTES)
            tensors[letter] = raw.ReinterpretCast(formats[letter])
        tensors |= {
            "X": gm(x, formats["a"]),
            "Y": gm(y, formats["d"])[END // formats["d"].itemsize],
        }
        PipeBarrier(PIPE_ALL)
        chosen = [
            tensors[one] if isinstance(one, str) and one in tensors else one
            for one in (row.args if args is None else args)
        ]
        answers.append(FUNCTIONS[row.name](*chosen))
        PipeBarrier(PIPE_ALL)
        for place, letter in enumerate(LETTERS):
            DataCopy(gm(y, uint8_t)[place * BYTES], tensors[letter].ReinterpretCast(uint8_t), BYTES)

    x, y = np.concatenate([a.view(np.uint8) for a in before.values()]), np.zeros(2 * END, np.uint8)
    run = tiles.run(kernel, x, y)
    reach = [
        (one.name, [span for _, span in (*one.reads, *one.writes)])
        for one in run.trace[len(LETTERS) :]
    ]
    t = SimpleNamespace(
        **before,
        X=x.view(formats["a"]),
        Y=np.zeros(END // formats["d"].itemsize, formats["d"]),
        answer=answers and answers[0],
    )
    after = (y[END:] if row.args[0] == "Y" else y[:BYTES]).view(formats["d"])
    return t, after, (y.tobytes(), reach, [str(hazard) for hazard in run.hazards])


# ---- lane by lane ---------------------------------------------------------------------------------------------------


def bit(mask, lane):
    return mask[lane // 64] >> lane % 64 & 1 if isinstance(mask, tuple) else lane < mask


def places(form, sizes):
    """Where the operands of each lane lie, in elements."""
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


POSITIVE = {"Ln", "Sqrt", "Rsqrt", "Reciprocal", "Exp", "Div", "Mathematics"}
# Operands (n is a number), and the result; r rounds to the format of d.
ELEMENTWISE = {
    "Add": ("ab", lambda r, a, b: a + b),
    "Sub": ("ab", lambda r, a, b: a - b),
    "Mul": ("ab", lambda r, a, b: a * b),
    "Div": ("ab", lambda r, a, b: a / b),
    "Max": ("ab", lambda r, a, b: a if a > b else b),
    "Min": ("ab", lambda r, a, b: a if a < b else b),
    "And": ("ab", lambda r, a, b: a & b),
    "Or": ("ab", lambda r, a, b: a | b),
    "FusedMulAdd": ("dab", lambda r, d, a, b: r(a * d) + b),
    "MulAddDst": ("dab", lambda r, d, a, b: r(a * b) + d),
    "Abs": ("a", lambda r, a: a if a > 0 else -a),
    "Exp": ("a", lambda r, a: mpmath.exp(a)),
    "Ln": ("a", lambda r, a: mpmath.log(a)),
    "Sqrt": ("a", lambda r, a: mpmath.sqrt(a)),
    "Rsqrt": ("a", lambda r, a: 1 / r(mpmath.sqrt(a))),
    "Reciprocal": ("a", lambda r, a: 1 / a),
    "Relu": ("a", lambda r, a: a if a > 0 else 0),
    "Not": ("a", lambda r, a: -a - 1),
    "Copy": ("a", lambda r, a: a),
    "Adds": ("an", lambda r, a, n: a + n),
    "Muls": ("an", lambda r, a, n: a * n),
    "Maxs": ("an", lambda r, a, n: a if a > n else n),
    "Mins": ("an", lambda r, a, n: a if a < n else n),
    "ShiftLeft": ("an", lambda r, a, n: a << n),
    "ShiftRight": ("an", lambda r, a, n: a >> n),
    "LeakyRelu": ("an", lambda r, a, n: a if a > 0 else a * n),
    "Axpy": ("dan", lambda r, d, a, n: d + r(a * n)),
    "Duplicate": ("n", lambda r, n: n),
}
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
    """To a format: as an integer with its last bits, or from float64."""
    if dtype.kind in "iu":
        return lambda value: int(np.int64(value).astype(dtype))
    return lambda value: float(np.float64(value).astype(dtype))


def elementwise(name, dtype, narrow=None):
    """The rows of a call: of a count, of a number of lanes, and of bits, with strides."""
    letters, function = ELEMENTWISE[name]
    tensors = "d" + letters.replace("d", "").replace("n", "")
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


def reduction(name, mask, repeats, dst_step, block, step, dtype):
    """The rows of each repeat: one result, one a block, or one for each two lanes."""
    lanes, per_block = 256 // dtype.itemsize, 32 // dtype.itemsize
    shares = {"W": 1, "R": 1, "B": 8, "P": lanes // 2}[name[0]]

    def want(t):
        for repeat in range(repeats):
            row = [
                t.a[(repeat * step + k // per_block * block) * per_block + k % per_block]
                if bit(mask, k)
                else None
                for k in range(lanes)
            ]
            for share in range(shares):
                part = row[share * lanes // shares : (share + 1) * lanes // shares]
                if any(value is not None for value in part):
                    yield (repeat * dst_step * shares + share, COMBINED[name[-3:]](part))

    args = {
        "W": (mask, repeats, dst_step, block, step),
        "R": (repeats, mask, 1, block, dst_step, step),
    }.get(name[0], (repeats, mask, dst_step, block, step))
    return Row(name, ("d", "a", *args), want, {"": dtype})


COMBINED = {
    "Sum": lambda part: pairs(list(part)),
    "Max": lambda part: max(value for value in part if value is not None),
    "Min": lambda part: min(value for value in part if value is not None),
}


def whole(name, *form, dtype):
    """ReduceSum, ReduceMax, ReduceMin: of a count one repeat after the other, else as a tree of trees."""
    lanes, kind = 256 // dtype.itemsize, COMBINED[name[-3:]]

    def want(t):
        if len(form) == 1:
            numbers = list(t.a[: form[0]])
            yield 0, reduce_sum_count(numbers, lanes) if name == "ReduceSum" else kind(numbers)
            return
        mask, repeats, step = form
        starts = [repeat * step * lanes // 8 for repeat in range(repeats)]
        yield 0, kind([kind(list(t.a[k : k + mask]) + [None] * (lanes - mask)) for k in starts])

    return Row(name, ("d", "a", "w", *form), want, {"": dtype})


HOLDS = {
    "LT": lambda p, q: p < q,
    "GT": lambda p, q: p > q,
    "EQ": lambda p, q: p == q,
    "LE": lambda p, q: p <= q,
    "GE": lambda p, q: p >= q,
    "NE": lambda p, q: not p == q,
}


def compared(name, mode, *form, dtype, other="b"):
    """Bit by bit; `form` is a count, or repeats with the strides of blocks and repeats of each source."""
    lanes, per_block = 256 // dtype.itemsize, 32 // dtype.itemsize

    def element(t, letter, k, steps):
        if not isinstance(letter, str):
            return dtype.type(letter)
        near, far = steps or (1, 8)
        repeat, lane = divmod(k, lanes)
        return getattr(t, letter)[
            (repeat * far + lane // per_block * near) * per_block + lane % per_block
        ]

    def want(t):
        count, steps = (form[0] * lanes, form[1:]) if len(form) > 1 else (form[0], ())
        bits = [
            HOLDS[mode.name](element(t, "a", k, steps[:2]), element(t, other, k, steps[2:]))
            for k in range(count)
        ]
        for k in range(count // 8):
            yield (
                k,
                sum(bool(value) << place for place, value in enumerate(bits[8 * k : 8 * k + 8])),
            )

    return Row(name, ("d", "a", other, mode, *form), want, {"": dtype, "d": uint8_t})


def selected(mode, count, dtype):
    def want(t):
        bits = np.unpackbits(t.m.view(np.uint8), bitorder="little")
        for k in range(count):
            chosen = bits[k % (256 // dtype.itemsize) if mode.name == "VSEL_CMPMASK_SPR" else k]
            yield k, t.a[k] if chosen else t.b[k] if other == "b" else other

    other = 7.0 if mode is SELMODE.VSEL_TENSOR_SCALAR_MODE else "b"
    return Row("Select", ("d", "m", "a", other, mode, count), want, {"": dtype})


def packed(pattern, count, repeats, *strides, dtype):
    """GatherMask; a tensor's bits of each repeat lie patternStride blocks apart."""
    near, far, apart = strides or (1, 8, 0)
    per_block, unit = 32 // dtype.itemsize, 8 * dtype.itemsize

    def want(t):
        kept = []
        for repeat, k in product(range(repeats), range(count)):
            if isinstance(pattern, int):
                first, step = ((0, 2), (1, 2), (0, 4), (1, 4), (2, 4), (3, 4), (0, 1))[pattern - 1]
                chosen = k % step == first
            else:
                chosen = int(t.b[repeat * apart * 32 // (unit // 8) + k // unit]) >> k % unit & 1
            if chosen:
                kept.append(t.a[(repeat * far + k // per_block * near) * per_block + k % per_block])
        assert t.answer == len(kept)
        yield from enumerate(kept)

    bits = {"b": np.dtype(f"u{dtype.itemsize}")}
    return Row(
        "GatherMask", ("d", "a", pattern, count, repeats, *strides), want, {"": dtype} | bits
    )


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
# Of the page 数据结构/precision_conversion.md: a value, and what RINT, FLOOR, CEIL, ROUND and TRUNC make of it.
DOCUMENTED = [
    ("int16_t", "half", 2**12 + 2, (4096, 4096, 4100, 4100, 4096)),
    ("half", "int16_t", 127.5, (128, 127, 128, 128, 127)),
    ("half", "int32_t", -1.5, (-2, -2, -1, -2, -1)),
    ("bfloat16_t", "int32_t", 64.5, (64, 64, 65, 65, 64)),
    ("int32_t", "float", 2**25 + 3, (2**25 + 4, 2**25, 2**25 + 4, 2**25 + 4, 2**25)),
    ("float", "half", 0.5 + 2**-12, (0.5, 0.5, 0.5 + 2**-11, 0.5 + 2**-11, 0.5)),
    (
        "float",
        "bfloat16_t",
        0.5 + 2**-9 + 2**-11,
        (0.5 + 2**-8, 0.5, 0.5 + 2**-8, 0.5 + 2**-8, 0.5),
    ),
    ("float", "int32_t", 2**22 + 0.5, (2**22, 2**22, 2**22 + 1, 2**22 + 1, 2**22)),
    ("float", "float", 0.5, (0, 0, 1, 1, 0)),
    ("int64_t", "float", 2**35 + 2**12 + 2**11, [2**35 + 2**k for k in (13, 12, 13, 13, 12)]),
]


def rounded(value, old, new, mode):
    """A number in another format; in its own, as a whole number."""
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
    """Numbers of a format: ties, what the page has, and others; none too large for half."""
    if TYPES[old].kind in "iu":
        limits = np.iinfo(TYPES[old])
        near = [
            s * (2**k + d)
            for k in (12, 25, 35, 53, 60)
            for d in (-1, 2, 3, 2**k // 2**24)
            for s in (1, -1)
        ]
        inside = [v for v in (*near, limits.min, limits.max) if limits.min <= v <= limits.max]
        return np.array([v for v in inside if old != "int16_t" or abs(v) < 60000], TYPES[old])
    ties = [k / 4 for k in range(-20, 21)] + [k * 2.0**-12 for k in range(2049, 2055)]
    rest = [1000.5, -1001.5, 2049.0, 3e-6, -1e-40, 12345.678, 0.5 + 2**-9 + 2**-11]
    return np.array(ties + rest).astype(TYPES[old])


def casts():
    for (old, new), modes in ARCH.modes.items():
        given = sources(old)
        narrow = (8, 8 * TYPES[old].itemsize // TYPES[new].itemsize)
        if TYPES[old].itemsize > TYPES[new].itemsize:
            narrow = (8 * TYPES[new].itemsize // TYPES[old].itemsize, 8)
        masked = (5, 2, UnaryRepeatParams(1, 1, *narrow))
        for mode, form in product(modes, [(given.size,), masked]):
            sizes = [TYPES[new].itemsize, TYPES[old].itemsize]

            def want(t, mode=mode, form=form, sizes=sizes, old=old, new=new):
                for to, at in places(form, sizes):
                    yield (
                        to,
                        rounded(
                            t.a[at].item() if old != "bfloat16_t" else float(t.a[at]),
                            old,
                            new,
                            mode,
                        ),
                    )

            types = {"d": TYPES[new], "a": TYPES[old]}
            yield Row("Cast", ("d", "a", RoundMode(mode), *form), want, types, given)


def test_the_loop_of_casts_gives_what_the_page_documents():
    assert [
        [rounded(value, old, new, mode) for mode in "RFCAZ"] for old, new, value, _ in DOCUMENTED
    ] == [list(made) for *_, made in DOCUMENTED]


# ---- copies ---------------------------------------------------------------------------------------------------------


def copied(to, of, name, length, count, steps, dtype, *params, fill=None):
    """Blocks of `length` elements, whose starts lie steps (of the result, of the source) apart."""

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


# ---- calls made of several instructions, and forms of C++ alone -------------------------------------------------------

mp = mpmath
ONE = "tanh sin cos tan sinh cosh asin acos atan asinh acosh atanh erf erfc floor ceil sign log10"
# Operands (n and m are numbers), and the result.
MATHEMATICS = {name.capitalize(): ("a", getattr(mp, name)) for name in ONE.split()} | {
    "Sigmoid": ("a", lambda x: 1 / (1 + mp.exp(-x))),
    "Silu": ("a", lambda x: x / (1 + mp.exp(-x))),
    "Swish": ("an", lambda x, n: x / (1 + mp.exp(-n * x))),
    "Gelu": ("a", lambda x: x / (1 + mp.exp(-2 * mp.sqrt(2 / mp.pi) * (x + 0.044715 * x**3)))),
    "FasterGelu": ("a", lambda x: x / (1 + mp.exp(-1.702 * x))),
    "Rint": ("a", round),
    "Round": ("a", round),
    "Trunc": ("a", int),
    "Frac": ("a", lambda x: x - int(x)),
    "Log": ("a", mp.log),
    "Log2": ("a", lambda x: mp.log(x, 2)),
    "Power": ("ab", lambda x, y: mp.mpf(x) ** y),
    "Fmod": ("ab", lambda x, y: x - int(x / y) * y),
    "Hypot": ("ab", mp.hypot),
    "ClampMax": ("an", min),
    "ClampMin": ("an", max),
    "Clamp": ("anm", lambda x, n, m: min(max(x, n), m)),
    "Fma": ("abe", lambda x, y, z: x * y + z),
    "SwiGLU": ("abn", lambda x, y, n: x * y / (1 + mp.exp(-n * y))),
    "GeGLU": ("ab", lambda x, y: x * MATHEMATICS["Gelu"][1](y)),
    "ReGlu": ("ab", lambda x, y: x * max(y, 0)),
    "AddRelu": ("ab", lambda x, y: max(x + y, 0)),
    "SubRelu": ("ab", lambda x, y: max(x - y, 0)),
    "MulAddRelu": ("abe", lambda x, y, z: max(x * z + y, 0)),
    "Xor": ("ab", lambda x, y: int(x) ^ int(y)),
    "LogicalAnd": ("ab", lambda x, y: x != 0 and y != 0),
    "LogicalOr": ("ab", lambda x, y: x != 0 or y != 0),
    "LogicalXor": ("ab", lambda x, y: (x != 0) != (y != 0)),
    "LogicalNot": ("a", lambda x: x == 0),
    "IsNan": ("a", lambda x: x != x),
    "IsInf": ("a", lambda x: abs(x) == mp.inf),
    "IsFinite": ("a", lambda x: x == x and abs(x) != mp.inf),
    "Where": ("abe", lambda x, y, z: x if z else y),
}
# What `a` begins with where the function has a bound or looks at special numbers.
BEGINS = dict.fromkeys(("LogicalAnd", "LogicalOr", "LogicalXor", "LogicalNot"), 0) | {
    "IsNan": np.nan,
    "IsInf": -np.inf,
    "IsFinite": np.inf,
}


def mathematics(name, dtype):
    letters, function = MATHEMATICS[name]
    operands = [{"n": 0.75, "m": 2.5}.get(x, x) for x in letters]

    def want(t):
        for k in range(40):
            taken = [mp.mpf(float(getattr(t, x)[k])) if isinstance(x, str) else x for x in operands]
            yield k, float(function(*taken))

    given = None
    if name in ("Asin", "Acos", "Atanh", "Acosh"):
        given = (np.arange(40) / 41 + (name == "Acosh") * 1.5).astype(dtype)
    elif name in BEGINS:
        given = np.full(3, BEGINS[name], dtype)
    types = {"": dtype, "w": uint8_t}
    return Row("Mathematics", (name, "d", "w", 40, *operands), want, types, given)


def softmax(t):
    for row in range(3):
        numbers = [mp.mpf(float(x)) for x in t.a[16 * row : 16 * row + 5]]
        total = sum(mp.exp(x) for x in numbers)
        for k in range(16):
            yield 16 * row + k, float(mp.exp(numbers[k]) / total) if k < 5 else 0.0


def extreme(order, dtype):
    """Value and place of the largest element of each repeat, in an order."""
    per = 32 // dtype.itemsize

    def want(t):
        for repeat in range(2):
            row = [t.a[(repeat * 17 + k // per * 2) * per + k % per] for k in range(37)]
            at = row.index(max(row))
            bits = np.array([at], f"u{dtype.itemsize}").view(dtype)[0]
            yield from enumerate(((row[at], bits), (bits, row[at]))[order], repeat * 3 * 2)

    return Row("WholeReduceIndex", ("Max", "d", "a", 37, 2, 3, 2, 17, order), want, {"": dtype})


def built():
    for dtype in (float32, half):
        per = 32 // dtype.itemsize
        yield from (mathematics(name, dtype) for name in MATHEMATICS)
        bytes_ = {"": dtype, "w": uint8_t}
        yield Row("SoftMax", ("d", "b", "e", "a", "w", 3, 16, 5), softmax, bytes_)
        yield Row(
            "Sum",
            ("d", "a", "w", 3, 16, 5),
            lambda t: ((k, float(sum(map(float, t.a[16 * k : 16 * k + 5])))) for k in range(3)),
            bytes_,
        )
        yield Row(
            "Broadcast",
            ("d", "a", "w", 4, 8, 4, 1),
            lambda t: ((k, t.a[k // 8]) for k in range(32)),
            bytes_,
        )
        yield Row(
            "Transposed",
            ("d", "a", "w", 2, 3, 5),
            lambda t: (
                (15 * p + 3 * c + r, t.a[15 * p + 5 * r + c])
                for p in range(2)
                for r in range(3)
                for c in range(5)
            ),
            bytes_,
        )
        yield Row(
            "Gatherb",
            ("d", "a", "i", 2, 2, 17),
            lambda t, per=per: (
                ((k // 8 * 17 + k % 8 * 2) * per + lane, t.a[int(t.i[k]) // t.a.itemsize + lane])
                for k in range(16)
                for lane in range(per)
            ),
            {"": dtype},
        )
        yield from (extreme(order, dtype) for order in (0, 1))

        def want(t, per=per):
            numbers = [t.a[repeat * 9 * per + k] for repeat in range(3) for k in range(37)]
            for place, (name, best) in enumerate((("argmax", max(numbers)),)):
                yield 0, best
                yield 1, np.array([numbers.index(best)], f"u{t.a.itemsize}").view(t.a.dtype)[0]

        yield Row("ReduceIndex", ("argmax", "d", "a", "w", 37, 3, 9), want, bytes_)


# ---- all rows -------------------------------------------------------------------------------------------------------


def formats(name):
    return [TYPES[one] for one in sorted(ARCH.formats[name], reverse=True)]


def rows():
    for name in ELEMENTWISE:
        for dtype in formats(name):
            yield from elementwise(name, dtype)
    for name in ("Axpy", "MulAddDst"):
        yield from elementwise(name, float32, half)
    for dtype in formats("CreateVecIndex"):
        yield Row(
            "CreateVecIndex", ("d", 5, 40), lambda t: ((k, k + 5) for k in range(40)), {"": dtype}
        )
    for dtype in (float32, half):
        bits = BITS[: 4 // dtype.itemsize]
        for kind in COMBINED:
            for name in (f"WholeReduce{kind}", f"BlockReduce{kind}"):
                yield reduction(name, 37, 2, 3, 2, 17, dtype)
                yield reduction(name, bits, 3, 1, 1, 9, dtype)
            yield whole(f"Reduce{kind}", 3 * 64 + 37, dtype=dtype)
            yield whole(f"Reduce{kind}", 37, 3, 9, dtype=dtype)
        yield reduction("PairReduceSum", 37, 2, 2, 2, 17, dtype)
        yield reduction("RepeatReduceSum", 37, 2, 3, 2, 17, dtype)
        for mode in CMPMODE:
            yield compared("Compare", mode, 128, dtype=dtype)
            yield compared("CompareScalar", mode, 128, dtype=dtype, other=1.0)
            yield compared("CompareRepeats", mode, 2, 2, 17, 1, 9, dtype=dtype)
        yield compared("CompareRepeats", CMPMODE.LT, 2, 2, 17, dtype=dtype, other=1.0)
        yield from (selected(mode, 200, dtype) for mode in SELMODE)
    yield compared("Compare", CMPMODE.EQ, 64, dtype=int32_t)
    for dtype in formats("Brcb"):
        yield spread(2, 2, 17, dtype)
        yield Row(
            "Gather",
            ("d", "a", "i", 8, 40),
            lambda t: ((k, t.a[(8 + int(t.i[k])) // t.a.itemsize]) for k in range(40)),
            {"": dtype},
        )
        yield from (packed(pattern, 60, 2, 2, 17, 0, dtype=dtype) for pattern in range(1, 8))
        yield packed("b", 60, 2, 1, 9, 1, dtype=dtype)


ROWS = [*rows(), *casts(), *copies(), *built()]


def wrong(row):
    """Hazards of a call, and where its result is another one."""
    t, found, (_, _, hazards) = called(row)
    expected = (t.Y if row.args[0] == "Y" else t.d).copy()
    for place, value in row.want(t):
        expected[place] = value
    if row.name == "Cast" and np.array_equal(found, expected):
        return hazards  # The sign of a zero that Cast rounds to is not documented.
    differ = found.view(f"u{found.itemsize}") != expected.view(f"u{found.itemsize}")
    return [*hazards, *np.flatnonzero(differ)]


def test_each_call_type_and_mode_gives_what_its_loop_gives():
    assert [(row, found[:3]) for row in ROWS if (found := wrong(row))] == []


# ---- each argument has an effect --------------------------------------------------------------------------------------

# By call and place: what has none, and the page that says so.
WITHOUT = {
    ("RepeatReduceSum", 4): "dstBlkStride may be anything (RepeatReduceSum)",
    ("ReduceSum", 2, 4): "a sum of a count does not use its work buffer (ReduceSum, the first way)",
    ("GatherMask", 7): "src1RepeatStride is that of a tensor of bits (GatherMask)",
    ("DataCopyPad", "rsv"): "reserved (DataCopyPad)",
}


def others(value):
    """Other values of an argument."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, Enum):
        return [one for one in type(value) if one is not value]
    if isinstance(value, int):
        return [value // 2, 2 * value, value + 1]
    if isinstance(value, float):
        return [value / 2]
    if isinstance(value, tuple):
        return [(value[0] >> 1, *value[1:])]
    return ["e" if value != "e" else "b"] if value in LETTERS else []


def outcome(row, args, types):
    try:
        return called(row._replace(types=row.types | types), args)[2]
    except ValueError:  # NumPy's own, of shapes that do not fit
        return None


def idle(row):
    """The places of arguments that change nothing: no number, no hazard, nothing that is reached."""
    first = called(row)[2]
    for place, value in enumerate(row.args):
        for field in getattr(value, "_fields", (None,)):
            choices = [
                (choice if field is None else value._replace(**{field: choice}), choice)
                for choice in others(value if field is None else getattr(value, field))
            ]
            form = (
                row.types.get(value, FIXED.get(value, row.types.get("")))
                if choices and isinstance(value, str)
                else None
            )
            if choices and all(
                outcome(
                    row,
                    (*row.args[:place], new, *row.args[place + 1 :]),
                    {choice: form} if form else {},
                )
                == first
                for new, choice in choices
            ):
                yield field or place


def test_no_argument_is_without_an_effect():
    kinds = {
        (row.name, len(row.args), tuple(map(type, row.args)), row.args[0]): row
        for row in reversed(ROWS)
    }
    assert [
        (row, place)
        for row in kinds.values()
        for place in idle(row)
        if not {(row.name, place), (row.name, place, len(row.args))} & WITHOUT.keys()
    ] == []


def test_an_argument_that_is_ignored_is_found(monkeypatch):
    row = next(row for row in ROWS if row.name == "Brcb")
    monkeypatch.setitem(
        FUNCTIONS, "Brcb", lambda dst, src, repeats, params: Brcb(dst, src, repeats)
    )
    assert list(idle(row)) == ["dstBlkStride", "dstRepStride"] and wrong(row)


def test_every_call_has_a_row():
    """But for what makes tensors, waits, or asks."""
    calls = {
        name
        for name, value in FUNCTIONS.items()
        if value.__module__.split(".")[-1] in ("vector", "reductions", "library")
        and not isinstance(value, type)
    }
    assert calls - {row.name for row in ROWS} == OTHERS


OTHERS = {
    "GetReduceRepeatSumSpr",
    "CompareRegister",
    "GetCmpMask",
    "SetCmpMask",
    "SetAtomicMax",
    "SetAtomicMin",
    "GetPhyAddr",
    "Absent",
}
