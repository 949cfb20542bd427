"""Formulas of rotary position embedding, forward and backward, as array code to run and prove: y = x * cos + rot(x) * sin, where rot makes (-x2, x1) of a pair (x1, x2).

The mode says how the last axis is cut into pairs; pages see it as (groups, 2, places), and the axis of two has the pair: modes
0 (half) and 2 (quarter) pair the halves of one group and of two, mode 1 (interleave) pairs neighbours, and mode 3
(interleave-half) pairs neighbours of x and writes y in halves. As rot transposed is -rot, dx = dy * cos - rot(dy * sin): that
is cos1 * dy1 + sin2 * dy2 for x1, and cos2 * dy2 - sin1 * dy1 for x2.

Source: aclnnRotaryPositionEmbeddingGrad, CANN operator documentation.
"""

AXES = {
    "x": "abc...",
    "cos": "abc...",
    "sin": "abc...",
    "y": "abc...",
    "xSaved": "abc...",
    "dy": "abc...",
    "xOptional": "abc...",
    "dxOut": "abc...",
    "dcosOut": "abc...",
    "dsinOut": "abc...",
}
PAIR = 4
INTERLEAVE_HALF = 3


def rot(xp, x):
    return xp.stack([-x[:, :, :, :, 1], x[:, :, :, :, 0]], axis=PAIR)


def swapped(xp, x, mode):
    """Return x with its last axes reversed, (places, 2, 1) to (1, 2, places) or back, in INTERLEAVE_HALF; else x."""
    return xp.moveaxis(xp.moveaxis(x, 5, 3), 4, 5) if mode == INTERLEAVE_HALF else x


def added(xp, grad, like):
    """Return the sum over the axes along which `like` was broadcast."""
    for axis in range(3):
        if like.shape[axis] != grad.shape[axis]:
            grad = xp.sum(grad, axis=axis, keepdims=True)
    return grad


def forward(xp, x, cos, sin, mode):
    pairs = swapped(xp, x, mode)
    return {"y": pairs * cos + rot(xp, pairs) * sin, "xSaved": x}


def backward(xp, dy, cos, sin, xOptional, mode):
    grads = {"dxOut": swapped(xp, dy * cos - rot(xp, dy * sin), mode)}
    if xOptional is not None:
        pairs = swapped(xp, xOptional, mode)
        grads |= {
            "dcosOut": added(xp, dy * pairs, cos),
            "dsinOut": added(xp, dy * rot(xp, pairs), sin),
        }
    return grads
