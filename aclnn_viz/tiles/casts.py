"""`Cast` with its round modes, and which pairs of formats take which (NPU arch 2201: platforms)."""

from enum import Enum

import numpy as np

from aclnn_viz.arrays.plan import round_away
from aclnn_viz.dtypes import float_format, round_to
from aclnn_viz.tiles.core import current
from aclnn_viz.tiles.formats import c_name
from aclnn_viz.tiles.lanes import operands
from aclnn_viz.tiles.memory import V
from aclnn_viz.words.speech import message


class RoundMode(Enum):
    """How Cast rounds; the values are the letters of the table of pairs."""

    CAST_NONE = "N"
    CAST_RINT = "R"
    CAST_FLOOR = "F"
    CAST_CEIL = "C"
    CAST_ROUND = "A"
    CAST_TRUNC = "Z"
    CAST_ODD = "O"


def Cast(dst, src, mode: RoundMode, *form):
    """Convert src to the type of dst: `(dst, src, mode, count)` or with mask, repeatTime, UnaryRepeatParams.

    A repeat holds as many lanes as fit of the wider type. Integers saturate; a float too large becomes infinite, as on
    Atlas A2 in its default mode of overflow.
    """
    core = current()
    pair = c_name(src.dtype), c_name(dst.dtype)
    modes = core.platform.arch.modes.get(pair, "")
    if mode.value not in modes:
        taken = ", ".join(one.name for one in RoundMode if one.value in modes)
        core.stop("format", message("Cast from {old} to {new} takes {modes}, not {mode}", old=pair[0], new=pair[1],
                                    modes=taken or message("no mode"), mode=mode.name))
    found, _ = operands(core, "Cast", form, dst, (src,))
    if not found:
        return
    _need_safe_overlap(core, dst, src, found)

    def run():
        for (_, out), (_, given) in found:
            out[...] = converted(given, dst.dtype, mode)
    core.issue(V, "Cast", run, [(core.ub, given[0]) for _, given in found], [(core.ub, out[0]) for out, _ in found])


def _need_safe_overlap(core, dst, src, found):
    """In place, a widening Cast must not write what it has still to read: the source lies at the upper end."""
    (wide, _), (narrow, _) = found[0]
    if wide.start < narrow.end and narrow.start < wide.end:
        ratio = dst.dtype.itemsize / src.dtype.itemsize
        last = max(-(-wide.length // 256) - 1, 0) * 256  # where the last repeat of the result begins
        if ratio > 1 and narrow.start - wide.start < last * (1 - 1 / ratio) \
                or ratio == 1 and wide.start != narrow.start or ratio < 1 and narrow.start < wide.start:
            core.hazard("overlap", message("Cast writes bytes {a} to {b} before it has read {c} to {d}", a=wide.start, b=wide.end,
                                            c=narrow.start, d=narrow.end))


def converted(values: np.ndarray, dtype: np.dtype, mode: RoundMode) -> np.ndarray:
    """Return values in another type, rounded as told.

    >>> converted(np.float32([2.5, -2.5]), np.dtype(np.int32), RoundMode.CAST_ROUND)
    array([ 3, -3], dtype=int32)
    """
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if values.dtype.kind in "iu":
            return np.clip(values, limits.min, limits.max).astype(dtype)
        whole = np.nan_to_num(_whole(values.astype(np.float64), mode), nan=0.0)
        high = whole >= float(limits.max)
        fitting = np.where(high, 0.0, np.maximum(whole, limits.min)).astype(np.int64)
        return np.where(high, limits.max, fitting).astype(dtype)
    if mode in (RoundMode.CAST_NONE, RoundMode.CAST_RINT):
        return round_to(values, dtype) if values.dtype.kind not in "iu" else values.astype(dtype)
    if dtype == values.dtype:
        return _whole(values, mode).astype(dtype)
    fmt = float_format(dtype)
    if mode is RoundMode.CAST_ROUND:
        return round_away(values, fmt)
    near = round_to(values, fmt)
    wide, got = values.astype(np.float64), near.astype(np.float64)
    below = np.nextafter(near, np.asarray(-np.inf, dtype))
    above = np.nextafter(near, np.asarray(np.inf, dtype))
    down, up = np.where(got > wide, below, near), np.where(got < wide, above, near)
    if mode is RoundMode.CAST_FLOOR:
        return down.astype(dtype)
    if mode is RoundMode.CAST_CEIL:
        return up.astype(dtype)
    if mode is RoundMode.CAST_TRUNC:
        return np.where(wide < 0, up, down).astype(dtype)
    odd = down.astype(dtype).view(f"u{dtype.itemsize}") & 1 == 1
    return np.where(odd, down, up).astype(dtype)


def _whole(values, mode: RoundMode):
    match mode:
        case RoundMode.CAST_FLOOR:
            return np.floor(values)
        case RoundMode.CAST_CEIL:
            return np.ceil(values)
        case RoundMode.CAST_TRUNC:
            return np.trunc(values)
        case RoundMode.CAST_ROUND:
            whole = np.trunc(values)
            return np.where(np.abs(values - whole) >= 0.5, whole + np.copysign(1, values), whole)
    return np.rint(values)
