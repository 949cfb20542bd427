"""Decisions that rounding leaves open, and what exact numbers would be had they fallen the other way.

Each call (comparison, floor, rounding) that cannot decide some elements gets a bit of its own, even and odd bits in
turn. Exact numbers that hang on decisions (indices, conditions) keep their values in three other worlds: where the even
decisions fall the other way, where the odd ones do, and where both do. So it is known where a gradient may have landed
instead, in either direction. `decisions` are masks of bits, None for none.

An example. Two points lie at u = 1 and u = 2 of a row of four pixels, and each adds 1 to the pixel below it. The first
coordinate is 1/3 times 3: in float32 that is 1, but with a bound on the error, and exactly it might be a little less.
The floor of it is 1 here, and 0 elsewhere; the floor of the second is 2 everywhere.

>>> from aclnn_viz.arrays.bounded import BoundedArrays
>>> from aclnn_viz.arrays.plan import Plan
>>> xp = BoundedArrays(Plan(), "float32")
>>> u = xp.given(np.float32([1.0, 6.0])) / 3.0 * xp.given(np.float32([3.0, 1.0]))
>>> pixel = xp.floor(u)
>>> pixel.data.tolist(), pixel.decisions.tolist()  # the first hangs on the decision with the bit 2, an odd one
([1.0, 2.0], [2, 0])
>>> pixel.others.tolist()  # the even decisions fall the other way: nothing changes; the odd ones do; both do
[[1.0, 2.0], [0.0, 2.0], [0.0, 2.0]]

The image has a 1 at the pixels 1 and 2. Pixel 1 may have lost its term, pixel 0 may have got it: both are undecided.

>>> image = xp.scatter_add(xp.zeros((1, 4), np.float32), xp.astype(pixel, xp.int64), xp.ones((1, 2), np.float32))
>>> image.data.tolist(), (image.decisions != 0).tolist()
([[0.0, 1.0, 1.0, 0.0]], [[True, True, False, False]])
"""

import numpy as np

UNKNOWN = np.int64(-1)  # all bits: nothing is known of the other worlds
_EVEN, _ODD = np.int64(0x1555555555555555), np.int64(0x2AAAAAAAAAAAAAAA)


def elsewhere(function, ndim: int, *arrays):
    """What a function of `ndim` axes gives in the other worlds, whose axis comes first; None without such worlds."""
    if all(x.others is None for x in arrays):
        return None
    return function(*(x.data if x.others is None else x.others.reshape((3,) + (1,) * (ndim - x.ndim) + x.shape)
                      for x in arrays))


def either(*decisions):
    """The union of decision masks."""
    given = [d for d in decisions if d is not None]
    if not given:
        return None
    union = given[0]
    for mask in given[1:]:
        union = union | mask
    return union


def unknown(decisions) -> np.ndarray:
    """Where an element hangs on two decisions of a kind, which the three other worlds do not tell apart."""
    even, odd = decisions & _EVEN, decisions & _ODD
    return ((even & (even - 1)) | (odd & (odd - 1))) != 0


def worlds(decision, here, there, open_):
    """The decisions and the other worlds of one call that would return `there` where it is open and falls otherwise.

    `decision()` gives the bit of the call, if it needs one.
    """
    if not open_.any():
        return None, None
    bit = decision()
    flips = np.array([bit & _EVEN, bit & _ODD, bit]).reshape((3,) + (1,) * here.ndim) != 0
    return np.where(open_, bit, np.int64(0)), np.where(flips & open_, there, here)
