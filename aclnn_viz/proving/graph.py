"""Record forward formulas as a graph: each array keeps its operation and operands, so that gradients can be derived.

Arithmetic of single entries is a SymPy expression in which a symbol stands for a whole array; every other operation is a node.
Equal operations give the same array. `decide` answers questions of the page's own Python.
"""

from dataclasses import dataclass
from numbers import Number

from sympy import Add, Expr, Integer, Mul, S, Symbol, exp, expand, log, sqrt, tanh

from aclnn_viz.proving.letters import (
    ARITHMETIC,
    COMPARED,
    KINDS,
    RANK,
    LetteredArray,
    LetteredArrays,
    kind_of,
)
from aclnn_viz.proving.steps import BOOL, INT, REAL, Refused, broadcast, exact, replaced

#: Arithmetic that formulas write out where its result has no name.
FORMULAS = ARITHMETIC | {"sqrt": sqrt, "exp": exp, "log": log}
INFIX = COMPARED | {"and": "&", "or": "|", "floordiv": "//"}
# most digits of a float that stays a number; one with more becomes a named constant
WRITTEN = 8
STEPS = ("floor", "ceil", "round", "trunc", "sign")


@dataclass(eq=False, repr=False)
class Noted(LetteredArray):
    """A recorded array: its operation and operands (expressions), shape and kind; `formula` is that of one entry."""

    xp: object
    op: str
    takes: tuple
    lengths: tuple
    kind: str
    options: tuple = ()
    formula: Expr | None = None
    symbol: Expr = None
    place: int = 0
    name: str = ""
    given: bool = False  # whether the array is an input or a saved output

    value = property(lambda self: self.symbol)

    def __bool__(self):
        if self.symbol.is_number:
            return bool(self.symbol)
        if self.lengths:
            raise Refused("an array where one number is needed")
        return self.xp.decide(self)


def joined(*shapes):
    """Return the shape of an entrywise result of arrays with these shapes."""
    axes = (tuple(() if n == 1 else (n,) for n in shape) for shape in shapes)
    return tuple(Mul(*axis) for axis in broadcast(*axes))


class NotedArrays(LetteredArrays):
    """The namespace that records arrays; `decide(array)` answers questions of the page's own Python."""

    def __init__(self, decide):
        self.decide, self.arrays, self.known, self.nodes = decide, [], {}, {}

    # Functions that make arrays

    def made(self, op, takes, shape, kind, options=(), formula=None, symbol=None):
        takes, shape = tuple(takes), tuple(shape)
        key = op, takes, shape, kind, options
        if key not in self.known:
            place = len(self.arrays)
            if symbol is None:
                sign = (
                    {"positive": True}
                    if op in ("exp", "sqrt") or formula is not None and formula.is_positive
                    else {"real": True}
                )
                symbol = Symbol(f"v{place}", **({"integer": True} if kind != REAL else sign))
            array = self.known[key] = Noted(
                self, op, takes, shape, kind, options, formula, symbol, place
            )
            self.arrays.append(array)
            if symbol.is_Symbol:
                self.nodes[symbol] = array
        return self.known[key]

    def input(self, name, shape, kind=REAL, **sign):
        array = self.made(
            "input",
            (),
            shape,
            kind,
            (name,),
            symbol=Symbol(name, **({"integer": True} if kind == INT else sign or {"real": True})),
        )
        array.name, array.given = name, True
        return array

    def number(self, e):
        return self.made("number", (e,), (), INT if e.is_integer else REAL, symbol=e)

    def lift(self, x):
        if isinstance(x, Noted):
            return x
        if isinstance(x, (list, tuple)) or not isinstance(x, (Number, Expr)):
            raise Refused(f"{type(x).__name__} as an array")
        e = exact(x)
        if isinstance(x, float) and len(str(e.p * 10**20 // e.q).strip("-0")) > WRITTEN:
            constant = self.made(
                "constant", (abs(e),), (), REAL, symbol=Symbol(repr(abs(x)), positive=True)
            )
            return constant if x > 0 else -constant
        return self.made(
            "number",
            (e,),
            (),
            BOOL if isinstance(x, bool) else INT if isinstance(x, int) else REAL,
            symbol=e,
        )

    def shape_of(self, e):
        """Return the shape of an expression in which symbols stand for arrays."""
        return joined(*(self.nodes[s].lengths for s in e.free_symbols if s in self.nodes))

    def each(self, op, kind, *arrays, formula=None):
        arrays = [self.lift(a) for a in arrays]
        if op == "truediv" and arrays[0].op != "number" and self._grows(arrays[1]):
            arrays, op = [arrays[0], self.each(op, kind, 1, arrays[1])], "mul"
        es = [a.symbol for a in arrays]
        if (
            op == "floordiv"
            and all(a.op == "number" for a in arrays)
            and (es[0] / es[1]).is_integer
        ):
            return self.number(es[0] / es[1])
        if op in FORMULAS:
            formula = FORMULAS[op](*es)
            if formula.is_number and not formula.is_finite:
                raise Refused("a division by 0")
            if all(a.op == "number" for a in arrays) and formula.is_Rational | formula.is_integer:
                return self.number(formula)
        kind = kind or max((a.kind for a in arrays), key=RANK.get)
        return self.made(op, es, joined(*(a.lengths for a in arrays)), kind, formula=formula)

    def infix(self, name, a, b):
        return self.each(name, KINDS.get(name), a, b)

    def _grows(self, a):
        """Return whether an array is a polynomial of exp: gradients then read best in its reciprocal, such as a sigmoid."""
        return (
            a.op == "exp"
            or a.op in ("add", "sub", "mul")
            and any(self._grows(self.nodes[s]) for s in a.takes if s in self.nodes)
        )

    sqrt, exp, log = (
        lambda self, x, op=op: self.each(op, REAL, x) for op in ("sqrt", "exp", "log")
    )
    floor, ceil, round, trunc, sign = (
        lambda self, x, op=op: self.each(op, None, x) for op in STEPS
    )
    logical_not = lambda self, a: self.each("not", BOOL, a)
    square = lambda self, x: self.each("mul", None, x, x)
    negative = lambda self, x: x * -1
    reciprocal = lambda self, x: self.each("truediv", REAL, 1, x)

    def _formula(self, op, f, *arrays):
        arrays = [self.lift(a) for a in arrays]
        return self.each(
            op, None if op != "tanh" else REAL, *arrays, formula=f(*(a.symbol for a in arrays))
        )

    tanh = lambda self, x: self._formula("tanh", tanh, x)
    expm1 = lambda self, x: self._formula("expm1", lambda e: exp(e) - 1, x)
    log1p = lambda self, x: self._formula("log1p", lambda e: log(1 + e), x)
    guard = lambda self, x, *ends, **named: self._guarded(
        self.lift(x), ends, tuple(sorted(named.items()))
    )

    def _guarded(self, x, ends, named):
        return self.made("guard", (x.symbol,), x.lengths, x.kind, (ends, named), x.symbol)

    # At a tie these functions take the derivative from below, so that sums of them that are
    # smooth stay smooth.

    def abs(self, x):
        x = self.lift(x)
        return self._formula("abs", lambda e, c=(x > 0).symbol: 2 * c * e - e, x)

    def maximum(self, a, b):
        a = self.lift(a)
        return self._formula("maximum", lambda p, q, c=(a > b).symbol: c * p + (1 - c) * q, a, b)

    def minimum(self, a, b):
        a = self.lift(a)
        return self._formula("minimum", lambda p, q, c=(a > b).symbol: c * q + (1 - c) * p, a, b)

    def where(self, condition, x, y):
        condition = self.lift(condition)
        if condition.kind != BOOL:
            raise Refused("a condition that is not true or false")
        x, y = self.lift(x), self.lift(y)
        return self.each(
            "where",
            max((x.kind, y.kind), key=RANK.get),
            condition,
            x,
            y,
            formula=condition.symbol * x.symbol + (1 - condition.symbol) * y.symbol,
        )

    def remainder(self, x, n):
        x, n = self.lift(x), self.lift(n)
        return self.each(
            "remainder", None, x, n, formula=x.symbol - n.symbol * self.floor(x / n).symbol
        )

    def pow(self, x, power):
        power = self.lift(power).symbol
        if not power.is_Rational:
            raise Refused("a power that is no number")
        return self.made(
            "pow",
            (x.symbol,),
            x.lengths,
            x.kind if power.is_Integer and power >= 0 else REAL,
            (power,),
            x.symbol**power,
        )

    def cast(self, x, kind):
        formula = x.symbol if (x.kind, kind) == (INT, REAL) else None
        return self.made("astype", (x.symbol,), x.lengths, kind, formula=formula)

    # Functions that make and move entries

    def full(self, shape, value, dtype=REAL):
        lengths = tuple(
            self.lift(n).symbol for n in (shape if isinstance(shape, tuple) else (shape,))
        )
        return self.made("full", (exact(value), *lengths), lengths, kind_of(dtype))

    full_like = lambda self, x, value: self.full(x.shape, value, x.kind)

    def arange(self, stop, dtype=INT):
        n = self.lift(stop).symbol
        return self.made("arange", (n,), (n,), kind_of(dtype))

    def permute_dims(self, x, axes):
        axes = tuple(axes)
        return self.made("permute_dims", (x.symbol,), [x.lengths[k] for k in axes], x.kind, axes)

    def reshape(self, x, shape):
        wanted = self.wanted(x, shape)
        return x if wanted == x.lengths else self.made("reshape", (x.symbol,), wanted, x.kind)

    def broadcast_to(self, x, shape):
        shape = tuple(self.lift(n).symbol for n in shape)
        joined(x.lengths, shape)
        return x if x.lengths == shape else self.made("broadcast_to", (x.symbol,), shape, x.kind)

    def parted(self, x, index):
        """Return the part of an array at an index, one axis after the other."""
        axis = 0
        for i in index:
            if i is None:
                x = self.made(
                    "new axis",
                    (x.symbol,),
                    (*x.lengths[:axis], S.One, *x.lengths[axis:]),
                    x.kind,
                    (axis,),
                )
                axis += 1
            elif isinstance(i, slice):
                n = x.lengths[axis]
                first, last = self.ends(i, n)
                if first != 0 or expand(last - n) != 0:
                    x = self.made(
                        "slice",
                        (x.symbol,),
                        replaced(x.lengths, axis, expand(last - first)),
                        x.kind,
                        (axis, first, last),
                    )
                axis += 1
            else:
                x = self.made(
                    "place",
                    (x.symbol,),
                    replaced(x.lengths, axis),
                    x.kind,
                    (axis, self.place_in(i, x.lengths[axis])),
                )
        return x

    def take(self, x, index, axis=0):
        if index.kind != INT:
            raise Refused("a lookup at numbers that are not whole")
        axis %= x.ndim
        return self.made(
            "take",
            (x.symbol, index.symbol),
            replaced(x.lengths, axis, *index.lengths),
            x.kind,
            (axis,),
        )

    def scatter_add(self, target, index, values):
        return self.made(
            "scatter_add", (target.symbol, index.symbol, values.symbol), target.lengths, REAL
        )

    def stack(self, arrays, axis=0):
        shape = list(joined(*(a.lengths for a in arrays)))
        axis %= len(shape) + 1
        return self.made(
            "stack",
            (a.symbol for a in arrays),
            (*shape[:axis], Integer(len(arrays)), *shape[axis:]),
            REAL,
            (axis,),
        )

    def concat(self, arrays, axis=0):
        axis %= arrays[0].ndim
        shape = list(arrays[0].lengths)
        shape[axis] = Add(*(a.lengths[axis] for a in arrays))
        return self.made("concat", (a.symbol for a in arrays), shape, REAL, (axis,))

    # Functions that work along axes

    def along(self, op, x, axis=None, keepdims=False):
        chosen = self.axes_of(x, axis)
        if not chosen:
            return x
        shape = [
            S.One if a in chosen else n
            for a, n in enumerate(x.lengths)
            if keepdims or a not in chosen
        ]
        return self.made(
            op, (x.symbol,), shape, INT if x.kind == BOOL else x.kind, (chosen, keepdims, x.lengths)
        )

    sum, max, min = (
        lambda self, x, /, *, axis=None, keepdims=False, op=op: self.along(
            op, self.lift(x), axis, keepdims
        )
        for op in ("sum", "max", "min")
    )

    def mean(self, x, /, *, axis=None, keepdims=False):
        total = self.sum(x, axis=axis, keepdims=keepdims)
        return (
            total / self.number(Mul(*(x.lengths[a] for a in total.options[0])))
            if total.op == "sum"
            else total
        )
