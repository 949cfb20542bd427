"""Operators and functions of arrays whose lengths may be letters, shared by the classes that record formulas and that prove
them.

An operation of a page that such arrays lack raises Refused with its name.
"""

from operator import add, mul, sub, truediv

from sympy import Mul, S, expand

from aclnn_viz.proving.steps import BOOL, INT, REAL, Refused

RANK = {BOOL: 0, INT: 1, REAL: 2}
#: Python's function of each operation that SymPy has, too.
ARITHMETIC = {"add": add, "sub": sub, "mul": mul, "truediv": truediv}
COMPARED = {"lt": "<", "gt": ">", "le": "<=", "ge": ">=", "eq": "==", "ne": "!="}
# kinds of results; any other operation has the widest kind of its operands
KINDS = {"truediv": REAL, "floordiv": INT} | dict.fromkeys(("and", "or", *COMPARED), BOOL)


class Format:
    """The format of an array in a proof: a page may pass it on but not inspect it, because a proof has no formats."""

    def __init__(self, kind):
        self._kind = kind

    def _asked(self, *_):
        raise Refused("the format of an array is asked for, of which a proof knows none")

    __eq__ = __ne__ = __hash__ = __bool__ = __repr__ = __format__ = __getattr__ = _asked


def kind_of(dtype):
    """Return the kind of numbers of a format: an array's `Format`, or a dtype of the namespace, which is a kind."""
    return dtype._kind if isinstance(dtype, Format) else dtype


class LetteredArray:
    """An array of the namespace `xp`: its `kind`, the `lengths` of its axes, its expression as `value` if it has no axes."""

    __array_ufunc__ = None

    dtype = property(lambda self: Format(self.kind))
    ndim = property(lambda self: len(self.lengths))
    size = property(lambda self: self.xp.number(Mul(*self.lengths)))
    shape = property(lambda self: tuple(map(self.xp.number, self.lengths)))
    T = property(lambda self: self.xp.permute_dims(self, range(self.ndim)[::-1]))

    def __repr__(self):
        return f"{self.kind}{list(self.lengths)}" if self.lengths else str(self.value)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        raise Refused(f"{name} of an array is not known")

    def __array__(self, *_, **__):
        raise Refused("NumPy is given an array of a proof")

    def __len__(self):
        raise Refused("a length as a Python number")

    __iter__ = __float__ = __len__

    def __index__(self):
        if self.value.is_Integer:
            return int(self.value)
        raise Refused("a length as a Python number")

    def __getitem__(self, index):
        return self.xp.part(self, index if isinstance(index, tuple) else (index,))

    def astype(self, dtype):
        return self.xp.astype(self, dtype)

    __hash__ = object.__hash__
    __neg__ = lambda a: a * -1
    __pos__ = lambda a: a
    __abs__ = lambda a: a.xp.abs(a)
    __invert__ = lambda a: a.xp.logical_not(a)
    __pow__ = lambda a, b: a.xp.pow(a, b)


for _name in ("add", "mul", "sub", "truediv", "floordiv", "and", "or", *COMPARED):
    setattr(LetteredArray, f"__{_name}__", lambda a, b, name=_name: a.xp.infix(name, a, b))
    setattr(LetteredArray, f"__r{_name}__", lambda a, b, name=_name: a.xp.infix(name, b, a))


class LetteredArrays:
    """Array functions, written by those that a subclass defines: `infix(name, a, b)`, `lift`, `number`, `maximum`,
    `full`, `permute_dims` and others.
    """

    float64, float32, int64, int32, bool = REAL, REAL, INT, INT, BOOL

    def __getattr__(self, name):
        raise Refused(f"xp.{name} is not known")

    def float(self, x):
        """Return Python's `float` of a number, and a size unchanged."""
        return x if isinstance(x, LetteredArray) else float(x)

    add, subtract, multiply, divide, logical_and, logical_or = (
        lambda self, a, b, name=name: self.infix(name, a, b)
        for name in ("add", "sub", "mul", "truediv", "and", "or")
    )
    asarray = lambda self, x, dtype=None: self.lift(x) if dtype is None else self.astype(x, dtype)

    def clip(self, x, low=None, high=None, **ends):
        low, high = ends.get("min", low), ends.get("max", high)
        x = x if low is None else self.maximum(x, low)
        return x if high is None else self.minimum(x, high)

    def astype(self, x, dtype):
        """Return an array in another format, made by `cast` of the namespace."""
        x, kind = self.lift(x), kind_of(dtype)
        if kind not in RANK:
            raise Refused(f"the format {kind!r} is not known")
        return x if x.kind == kind else self.cast(x, kind)

    zeros_like = lambda self, x: self.full_like(x, 0)
    ones_like = lambda self, x: self.full_like(x, 1)
    zeros = lambda self, shape, dtype=REAL: self.full(shape, 0, dtype)
    ones = lambda self, shape, dtype=REAL: self.full(shape, 1, dtype)
    transpose = lambda self, x, axes: self.permute_dims(x, axes)

    def moveaxis(self, x, source, destination):
        order = [k for k in range(x.ndim) if k != source % x.ndim]
        order.insert(destination % x.ndim, source % x.ndim)
        return self.permute_dims(x, order)

    def expand_dims(self, x, axis=0):
        return self.part(x, (slice(None),) * (axis % (x.ndim + 1)) + (None,))

    def wanted(self, x, shape):
        """Return the lengths of a requested shape, with -1 resolved."""
        lengths = [
            S.NegativeOne if isinstance(n, int) and n == -1 else self.lift(n).value
            for n in (shape if isinstance(shape, tuple) else (shape,))
        ]
        total, known = Mul(*x.lengths), Mul(*(n for n in lengths if n != -1))
        lengths = tuple(total / known if n == -1 else n for n in lengths)
        if expand(Mul(*lengths) - total) != 0 or not all(n.is_integer for n in lengths):
            raise Refused(f"reshape of {total} entries into {' x '.join(map(str, lengths))}")
        return lengths

    def part(self, x, index):
        """Return x[index] for numbers, slices, None and an ellipsis; an integer array takes along the first axis."""
        if any(isinstance(i, LetteredArray) and i.ndim for i in index):
            if len(index) == 1 and index[0].kind == INT:
                return self.take(x, index[0], axis=0)
            raise Refused("an array as an index: use take")
        given = sum(i is not None and i is not Ellipsis for i in index)
        at = next((k for k, i in enumerate(index) if i is Ellipsis), len(index))
        return self.parted(x, index[:at] + (slice(None),) * (x.ndim - given) + index[at + 1 :])

    def ends(self, i, length):
        """Return the first index of a slice, and the index after its last."""
        if i.step not in (None, 1):
            raise Refused("a slice with a step")
        return tuple(
            default if end is None else self.place_in(end, length)
            for end, default in ((i.start, S.Zero), (i.stop, length))
        )

    def place_in(self, i, length):
        e = self.lift(i).value
        return expand(e + length) if e.could_extract_minus_sign() else e

    def axes_of(self, x, axis):
        """Return the sorted axes that an axis argument names."""
        axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        if any(not -x.ndim <= a < x.ndim for a in axes):
            raise Refused(f"axis {axis} of an array of {x.ndim} axes")
        return tuple(sorted({a % x.ndim for a in axes}))
