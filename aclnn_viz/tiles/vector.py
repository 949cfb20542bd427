"""Vector arithmetic: each call takes a count, or mask, repeatTime and repeat parameters.

Results are those of IEEE arithmetic in the operands' format, rounded after each operation. Exp and Ln are rounded once
from float64: no bound is documented for them on Atlas A2.
"""

import numpy as np

from aclnn_viz.tiles.core import current
from aclnn_viz.tiles.formats import c_name
from aclnn_viz.tiles.lanes import need_apart, operands
from aclnn_viz.tiles.memory import V
from aclnn_viz.words.speech import message


def need_format(core, name: str, dtype):
    """Stop the core when a call does not take a format."""
    if c_name(dtype) not in core.platform.arch.formats[name]:
        taken = ", ".join(sorted(core.platform.arch.formats[name]))
        core.stop("format", message("{name} takes {taken}, not {dtype}", name=name, taken=taken, dtype=c_name(dtype)))


def elementwise(name: str, function, dst, sources, form: tuple, formats=True):
    """Issue `function(*sources)` into dst over the lanes of a form."""
    core = current()
    if formats:
        need_format(core, name, dst.dtype)
        for source in sources:
            if source.dtype != dst.dtype:
                need_format(core, name, source.dtype)
                core.stop("format", message("{name} mixes {dtype} and {other}", name=name, dtype=c_name(dst.dtype),
                                            other=c_name(source.dtype)))
    found, in_turn = operands(core, name, form, dst, sources)
    if not found:
        return
    need_apart(core, name, dst, sources, found)
    parts = [[view for _, view in one] for one in found]
    if in_turn:  # a running sum: each repeat reads what the one before has left
        parts = [[view[repeat] for view in part] for part in parts for repeat in range(len(part[0]))]

    def run():
        for out, *given in parts:
            out[...] = function(*given)
    reads = [(core.ub, span) for one in found for span, _ in one[1:]]
    core.issue(V, name, run, reads, [(core.ub, one[0][0]) for one in found])


def _binary(name, function):
    def call(dst, src0, src1, *form):
        elementwise(name, function, dst, (src0, src1), form)
    return _named(call, name, f"dst = {name} of src0 and src1: `(dst, src0, src1, count)` or "
                              "`(dst, src0, src1, mask, repeatTime, BinaryRepeatParams)`.")


def _unary(name, function):
    def call(dst, src, *form):
        elementwise(name, function, dst, (src,), form)
    return _named(call, name, f"dst = {name} of src: `(dst, src, count)` or "
                              "`(dst, src, mask, repeatTime, UnaryRepeatParams)`.")


def _scalar(name, function):
    def call(dst, src, scalar, *form):
        number = scalar if type(scalar) is dst.dtype.type else np.asarray(scalar).astype(dst.dtype)[()]
        elementwise(name, lambda x: function(x, number), dst, (src,), form)
    return _named(call, name, f"dst = {name} of src and a scalar, rounded to the format first: "
                              "`(dst, src, scalar, count)` or "
                              "`(dst, src, scalar, mask, repeatTime, UnaryRepeatParams)`.")


def _named(call, name, text):
    call.__name__ = call.__qualname__ = name
    call.__doc__ = text
    return call


Add, Sub, Mul = (_binary(*one) for one in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply)))
Div, Max, Min = (_binary(*one) for one in (("Div", np.divide), ("Max", np.maximum), ("Min", np.minimum)))
And, Or = _binary("And", np.bitwise_and), _binary("Or", np.bitwise_or)
Abs, Exp, Ln, Sqrt = (_unary(*one) for one in (("Abs", np.abs), ("Exp", lambda x: np.exp(x.astype(np.float64))),
                                                 ("Ln", lambda x: np.log(x.astype(np.float64))), ("Sqrt", np.sqrt)))
Rsqrt = _unary("Rsqrt", lambda x: np.reciprocal(np.sqrt(x)))
Reciprocal, Not = _unary("Reciprocal", np.reciprocal), _unary("Not", np.invert)
Relu = _unary("Relu", lambda x: np.maximum(x, x.dtype.type(0)))
Adds, Muls = _scalar("Adds", np.add), _scalar("Muls", np.multiply)
Maxs, Mins = _scalar("Maxs", np.maximum), _scalar("Mins", np.minimum)
ShiftLeft, ShiftRight = _scalar("ShiftLeft", np.left_shift), _scalar("ShiftRight", np.right_shift)
LeakyRelu = _scalar("LeakyRelu", lambda x, slope: np.where(x >= 0, x, x * slope))


def Axpy(dst, src, scalar, *form):
    """dst = dst + src * scalar, rounded twice (inferred): `(dst, src, scalar, count)` or with a mask."""
    number = np.asarray(scalar).astype(src.dtype)[()]
    if len(form) == 1:
        elementwise("Axpy", lambda out, x: out + x * number, dst, (dst, src), form)
        return
    mask, repeats, params = form
    _accumulating("Axpy", lambda out, x: out + x * number, dst, (src,), mask, repeats, params)


def MulAddDst(dst, src0, src1, *form):
    """dst = src0 * src1 + dst, rounded twice (inferred)."""
    if len(form) == 1:
        elementwise("MulAddDst", lambda out, a, b: a * b + out, dst, (dst, src0, src1), form)
        return
    _accumulating("MulAddDst", lambda out, a, b: a * b + out, dst, (src0, src1), *form)


def FusedMulAdd(dst, src0, src1, *form):
    """dst = src0 * dst + src1, rounded twice (inferred)."""
    if len(form) == 1:
        elementwise("FusedMulAdd", lambda out, a, b: a * out + b, dst, (dst, src0, src1), form)
        return
    _accumulating("FusedMulAdd", lambda out, a, b: a * out + b, dst, (src0, src1), *form)


class _WithDst:
    """Repeat parameters in which the result is a source as well."""

    def __init__(self, params):
        self.pairs = (params.pairs[0], *params.pairs)


def _accumulating(name, function, dst, sources, mask, repeats, params):
    elementwise(name, function, dst, (dst, *sources), (mask, repeats, _WithDst(params)))


def Duplicate(dst, scalar, *form):
    """Fill dst: `(dst, scalar, count)` or `(dst, scalar, mask, repeatTime, dstBlkStride, dstRepStride)`."""
    need_format(current(), "Duplicate", dst.dtype)
    number = np.asarray(scalar).astype(dst.dtype)
    if len(form) > 1:
        mask, repeats, block, step = form
        form = mask, repeats, _Alone(((block, step),))
    elementwise("Duplicate", lambda: number, dst, (), form, formats=False)


def CreateVecIndex(dst, firstValue, count: int):
    """dst = firstValue, firstValue + 1, ..."""
    need_format(current(), "CreateVecIndex", dst.dtype)
    steps = (np.arange(count) + firstValue).astype(dst.dtype)
    elementwise("CreateVecIndex", lambda: steps, dst, (), (count,), formats=False)


def Copy(dst, src, mask, repeatTime: int, params):
    """Copy lanes within the Unified Buffer; `params` are CopyRepeatParams in C++, UnaryRepeatParams here."""
    elementwise("Copy", lambda x: x, dst, (src,), (mask, repeatTime, params))


class _Alone:
    def __init__(self, pairs):
        self.pairs = pairs
