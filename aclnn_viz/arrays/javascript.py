"""Arrays that record operations, so that an operator's formulas, or a picture's, run over them once and become JavaScript.

Shapes and types are NumPy's for an example, whose numbers are never used. So code over these arrays must not inspect numbers:
it uses `xp.where`, not `if`. A view (a slice, another order of axes) becomes offset and strides. A step in float32 is computed
in float64 and rounded when stored, which yields float32's bits for + - * / and square roots. Powers are correctly rounded
except for one in millions, like C's. `exp`, `log`, `tanh`, `sin` and similar functions are the browser's, within some units in
the last place of NumPy's. `explorers/front/steps.js` computes the steps in the browser.
"""

from functools import partial
from math import prod

import numpy as np

from aclnn_viz.arrays.functions import Guards
from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.arrays.sums import sum_axes
from aclnn_viz.dtypes import float_format, round_to, ulp
from aclnn_viz.errors import mistyped

ELEMENTWISE = set(
    """
    add subtract multiply divide floor_divide remainder pow negative abs sqrt exp expm1
    log log1p log10 tanh erf cos sin hypot floor ceil trunc round minimum maximum equal
    not_equal less less_equal greater greater_equal logical_and logical_or logical_not
    isnan isfinite where
""".split()
)
# class of the JavaScript array for each kind of dtype
MAKERS = {"b": "Uint8Array", "f4": "Float32Array", "f8": "Float64Array"}
REDUCTIONS = {"max": "most", "min": "least", "any": "any", "all": "all", "argmax": "where_most"}
EXACT = {"round_to": round_to, "ulp": ulp}


def _looked(*_, **__):
    raise mistyped(
        "a number that moves is not known while it is traced",
        "code that looks at it",
        "write it with xp: where, maximum, take",
    )


class Traced:
    """An array of a `TracedArrays`: the name of a variable, and an example for shape and type.

    A `weak` one is a Python number, which takes the type of the other operand.
    """

    __array_ufunc__ = None  # in a mixed expression, NumPy leaves the operator to this class
    __float__ = __int__ = __bool__ = __index__ = __array__ = __format__ = __contains__ = _looked
    shape, dtype, ndim, size = (
        property(lambda self, name=name: getattr(self.held, name))
        for name in ("shape", "dtype", "ndim", "size")
    )

    def __init__(self, xp, name, held, weak=False):
        self.xp, self.name, self.held, self.weak = xp, name, np.asarray(held), weak

    def __getitem__(self, key):
        if any(isinstance(each, Traced) for each in (key if isinstance(key, tuple) else (key,))):
            _looked()
        return self.xp.moved(lambda array: array[key], self)

    def __len__(self):
        return len(self.held)

    def __iter__(self):
        return (self[k] for k in range(len(self)))

    T = property(lambda self: self.xp.moved(np.transpose, self))


def _operator(name, swapped=False):
    return lambda self, other: self.xp.step(name, *((other, self) if swapped else (self, other)))


for _name, _step in {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "and": "logical_and",
    "or": "logical_or",
}.items():
    setattr(Traced, f"__{_name}__", _operator(_step))
    setattr(Traced, f"__r{_name}__", _operator(_step, swapped=True))
for _name, _step in {"neg": "negative", "abs": "abs", "invert": "logical_not"}.items():
    setattr(Traced, f"__{_name}__", lambda self, step=_step: self.xp.step(step, self))
Traced.__hash__ = object.__hash__


def _held(x):
    return x.held if isinstance(x, Traced) else x


def _is_weak(x) -> bool:
    return x.weak if isinstance(x, Traced) else type(x) in (int, float)


def _kind(dtype) -> str:
    """Return the kind of JavaScript array for a type: 16-bit floats become float32, integers float64."""
    return "b" if dtype == bool else "f4" if dtype.kind in "fV" and dtype.itemsize < 8 else "f8"


class TracedArrays(Guards):
    """The namespace of a page over traced arrays; NumPy computes parts that depend on no input at once.

    `tables` holds constant arrays by their names in the script; several traces may share one.

    >>> xp = TracedArrays({})
    >>> x = xp.input("x", np.float32([1, 2]))
    >>> print(xp.script({"y": 2 * x + 1}))
    ($)=>{const v0=S.multiply(Float32Array,2,2,$.x),v1=S.add(Float32Array,2,v0,1);return {y:v1};}
    """

    float32, float64, int64, nan = (
        np.dtype(np.float32),
        np.dtype(np.float64),
        np.dtype(np.int64),
        np.nan,
    )
    plain = NumPyArrays()

    def __init__(self, tables: dict):
        self.tables, self._steps, self._known = tables, [], {}

    def __getattr__(self, name):
        if name in ELEMENTWISE:
            return partial(self.step, name)
        if name in REDUCTIONS:
            return partial(self._reduced, name)
        if name in ("zeros", "ones", "arange", "full", "inf", "newaxis"):
            return getattr(np, name)
        if hasattr(self.plain, name):
            return partial(self._still, name)
        raise AttributeError(f"{name} is no step that can be traced")

    def _still(self, name, *xs, **how):
        """Return a step of constant arrays, computed by NumPy at once; raise AttributeError if an operand is traced."""
        if any(isinstance(x, Traced) for x in xs):
            raise AttributeError(f"{name} is no step that can be traced")
        return getattr(self.plain, name)(*xs, **how)

    def input(self, name: str, example) -> Traced:
        return Traced(self, f"$.{name}", example)

    def script(self, outputs: dict) -> str:
        """Return JavaScript for outputs by name: a function of the inputs by name, with only the steps that it needs."""
        needed, steps = {self._named(value) for value in outputs.values()}, []
        for name, text, used in reversed(self._steps):
            if name in needed:
                needed |= used
                steps.insert(0, f"{name}={text}")
        made = ",".join(f"{output}:{self._named(value)}" for output, value in outputs.items())
        return f"($)=>{{{'const ' + ','.join(steps) + ';' if steps else ''}return {{{made}}};}}"

    def _made(self, name, held, *args) -> Traced:
        """Record a step of JavaScript, or reuse an equal one; arguments are arrays, or literal text."""
        used = [arg if isinstance(arg, str) else self._named(arg) for arg in args]
        maker, text = MAKERS[_kind(held.dtype)], ",".join(used)
        text = f"S.{name}({maker},{held.size}{',' * bool(text)}{text})"
        if text not in self._known:
            self._known[text] = f"v{len(self._steps)}"
            self._steps.append((self._known[text], text, {*used}))
        return Traced(self, self._known[text], held)

    def _named(self, x) -> str:
        if isinstance(x, Traced):
            return x.name
        values = np.asarray(x)
        if values.size == 1:
            return literal(values.reshape(-1)[0].item())
        kept = values.astype(
            {"b": np.uint8, "f4": np.float32, "f8": np.float64}[_kind(values.dtype)]
        ).reshape(-1)
        return "T." + self.tables.setdefault(
            (kept.dtype.str, kept.tobytes()), f"t{len(self.tables)}"
        )

    def step(self, name, *xs):
        """Record an elementwise step of any number of arrays and numbers."""
        function = (
            np.rint if name == "round" else self.plain.erf if name == "erf" else getattr(np, name)
        )
        if not any(isinstance(x, Traced) for x in xs):
            return function(*xs)
        examples = [
            _held(x).item() if _is_weak(x) and isinstance(x, Traced) else _held(x) for x in xs
        ]
        with np.errstate(all="ignore"):
            held = np.asarray(function(*examples))
        numbers = [x for x in examples[name == "where" :] if not isinstance(x, bool)]
        # NumPy's common dtype of all operands, Python's numbers included
        wide = np.result_type(*numbers) if numbers else None
        args = [
            x
            if not _is_weak(x)
            else self.astype(x, wide)
            if isinstance(x, Traced)
            else np.asarray(x).astype(wide)
            for x in xs
        ]
        made = self._made(name, held, *(self._spread(x, held.shape) for x in args))
        made.weak = all(map(_is_weak, xs))
        return made

    def _spread(self, x, shape):
        """Broadcast an argument of a step to the result's shape unless it has one element."""
        return x if np.size(_held(x)) in (1, prod(shape)) else self.broadcast_to(x, shape)

    def moved(self, function, x):
        """Apply a function that only moves elements."""
        if not isinstance(x, Traced):
            return function(np.asarray(x))
        held, places = function(x.held), function(np.arange(x.size).reshape(x.shape))
        if places.size == x.size and (places.ravel() == np.arange(x.size)).all():
            return Traced(self, x.name, held)
        if (found := affine(places)) is None:
            return self._made("pick", held, x, places)
        first, lengths, strides = found
        return self._made(
            "view",
            held,
            x,
            str(first),
            str(list(lengths)).replace(" ", ""),
            str(list(strides)).replace(" ", ""),
        )

    def shaped(self, function, x):
        """Apply a function that changes only the shape."""
        return (
            Traced(self, x.name, function(x.held))
            if isinstance(x, Traced)
            else function(np.asarray(x))
        )

    def broadcast_to(self, x, shape):
        return self.moved(lambda array: np.broadcast_to(array, shape), x)

    def reshape(self, x, shape):
        return self.shaped(lambda array: np.reshape(array, shape), x)

    def squeeze(self, x, axis):
        return self.shaped(lambda array: np.squeeze(array, axis), x)

    def moveaxis(self, x, source, destination):
        return self.moved(lambda array: np.moveaxis(array, source, destination), x)

    def concat(self, arrays, axis=0):
        if not any(isinstance(x, Traced) for x in arrays):
            return np.concatenate([np.asarray(x) for x in arrays], axis=axis)
        held = np.concatenate([_held(x) for x in arrays], axis=axis)
        outer = prod(held.shape[: axis % held.ndim])
        return self._made(
            "concat",
            held,
            str(outer),
            *(x if np.size(_held(x)) != 1 else self._one(x) for x in arrays),
        )

    def _one(self, x):
        return x if isinstance(x, Traced) else f"[{self._named(x)}]"

    def stack(self, arrays, axis=0):
        return self.concat(
            [self.shaped(lambda array: np.expand_dims(array, axis), x) for x in arrays], axis
        )

    def take(self, x, index, axis=None):
        if not isinstance(index, Traced):
            return self.moved(lambda array: np.take(array, index, axis=axis), x)
        x = self.reshape(x, (-1,)) if axis is None else x
        axis, shape = (axis or 0) % np.ndim(_held(x)), np.shape(_held(x))
        held = np.take(_held(x), np.zeros(index.shape, int), axis=axis)
        return self._made(
            "take",
            held,
            x if isinstance(x, Traced) or x.size > 1 else self._one(x),
            index,
            str(shape[axis]),
            str(prod(shape[axis + 1 :])),
        )

    def scatter_add(self, target, index, values):
        return self._made(
            "scatter",
            np.asarray(_held(target)),
            self._spread(target, target.shape),
            str(target.shape[1]),
            index,
            values,
        )

    def astype(self, x, dtype):
        if not isinstance(x, Traced) or x.dtype == dtype:
            return x if isinstance(x, Traced) else np.asarray(x).astype(dtype)
        with np.errstate(all="ignore"):
            held = x.held.astype(dtype)
        if (
            _kind(held.dtype) == _kind(x.dtype)
            or (x.dtype.kind, held.dtype.kind) in (("f", "f"), ("V", "f"))
            and held.itemsize == 8
        ) and (held.dtype.kind == "f" or x.dtype.kind != "f"):
            # JavaScript computes in float64, so a wider type changes nothing
            return Traced(self, x.name, held)
        return self._made("whole" if held.dtype.kind in "iu" else "copy", held, x)

    def _like(function):
        return lambda self, x, *value, dtype=None: function(
            np.empty(x.shape, dtype or x.dtype), *value
        )

    zeros_like, ones_like, full_like = (
        _like(np.zeros_like),
        _like(np.ones_like),
        _like(np.full_like),
    )

    def clip(self, x, low=None, high=None):
        x = x if low is None else self.step("maximum", x, low)
        return x if high is None else self.step("minimum", x, high)

    def round_to(self, x, dtype):
        if not isinstance(x, Traced):
            return round_to(x, dtype)
        fmt = float_format(dtype)
        if fmt.bits > 32 or fmt.bits == 32 and x.dtype != np.float64:
            return self.astype(x, fmt.numpy)
        return self._made("round_to", round_to(x.held, fmt), x, *_format(fmt))

    def ulp(self, x, dtype):
        return (
            self._made("ulp", ulp(x.held, dtype), x, *_format(float_format(dtype)))
            if isinstance(x, Traced)
            else ulp(x, dtype)
        )

    def argsort(self, x, stable=True):
        return (
            self._made("argsort", np.argsort(x.held), x)
            if isinstance(x, Traced)
            else np.argsort(x, stable=True)
        )

    def _along(self, kind, x, axes, dtype):
        """Reduce axes together, in row order, keeping them with length 1."""
        front = self.moved(lambda array: np.moveaxis(array, axes, range(len(axes))), x)
        many, kept = prod(front.shape[: len(axes)]), front.shape[len(axes) :]
        made = self._made(kind, np.zeros(kept, dtype), front, str(many))
        return self.shaped(lambda array: np.expand_dims(array, axes), made)

    def _total(self, x, axis, keepdims):
        inner, leading = sum_axes(x.ndim, axis)
        for axes in filter(None, (inner, leading)):
            x = self._along("tree", x, axes, np.float64)
        return x if keepdims else self.squeeze(x, inner + leading)

    def sum(self, x, axis=None, keepdims=False):
        if not isinstance(x, Traced):
            return self.plain.sum(x, axis=axis, keepdims=keepdims)
        total = self._total(x, axis, keepdims)
        return total if sum_axes(x.ndim, axis)[1] else self.astype(total, x.dtype)

    def mean(self, x, axis=None, keepdims=False):
        if not isinstance(x, Traced):
            return self.plain.mean(x, axis=axis, keepdims=keepdims)
        total = self._total(x, axis, keepdims)
        return self.astype(total / (x.size // max(total.size, 1)), x.dtype)

    def _reduced(self, name, x, axis=None, keepdims=False):
        if not isinstance(x, Traced):
            return getattr(np, name)(x, axis=axis, keepdims=keepdims)
        axes = tuple(range(x.ndim)) if axis is None else tuple(np.atleast_1d(axis) % x.ndim)
        made = self._along(
            REDUCTIONS[name],
            x,
            axes,
            {"argmax": np.int64, "any": bool, "all": bool}.get(name, x.dtype),
        )
        return made if keepdims else self.squeeze(made, axes)


def _format(fmt) -> tuple[str, str, str]:
    return str(fmt.significand_bits), literal(2.0**fmt.min_exponent), literal(fmt.largest)


def affine(places: np.ndarray):
    """Return (first, lengths, strides) of positions that are linear in their indices, else None."""
    lengths = tuple(n for n in places.shape if n > 1)
    if not places.size:
        return 0, (0,), (1,)
    places = places.reshape(lengths)
    first = int(places[(0,) * places.ndim])
    strides = [
        int(np.take(places, 1, axis)[(0,) * (places.ndim - 1)]) - first
        for axis in range(places.ndim)
    ]
    grid = np.full(lengths, first)
    for axis, stride in enumerate(strides):
        grid += stride * np.arange(lengths[axis]).reshape(
            [-1 if k == axis else 1 for k in range(places.ndim)]
        )
    return (first, lengths, tuple(strides)) if (grid == places).all() else None


def literal(value) -> str:
    """Return a number in JavaScript syntax."""
    if isinstance(value, bool):
        return str(int(value))
    text = {float("inf"): "Infinity", -float("inf"): "-Infinity"}.get(value) or (
        "NaN" if value != value else repr(value)
    )
    return text.removesuffix(".0")
