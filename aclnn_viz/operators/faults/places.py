"""Names for the places of an output: its ends along an axis, and what lies between them."""

import numpy as np

from aclnn_viz.words.speech import message


def along(shape: tuple[int, ...], axis: int, chosen) -> np.ndarray:
    """A mask of the places along one axis, ready to broadcast to the shape."""
    return np.reshape(chosen, [-1 if k == axis else 1 for k in range(len(shape))])


def ends(shape: tuple[int, ...], axis: int, name: str) -> dict[str, np.ndarray]:
    """Masks of the first, the last and the other places along an axis whose places are called by a name.

    >>> {name: mask.tolist() for name, mask in ends((3,), 0, "row").items()}
    {'first row': [True, False, False], 'last row': [False, False, True], 'rows between': [False, True, False]}
    """
    places, last = np.arange(shape[axis]), shape[axis] - 1
    return {message("first {part}", part=name): along(shape, axis, places == 0),
            message("last {part}", part=name): along(shape, axis, places == last),
            message("{part}s between", part=name): along(shape, axis, (places > 0) & (places < last))}


def by_letter(letters: str, shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """The ends of every axis of an output by what the page calls it: its letter, or else its number.

    >>> list(by_letter("r.", (4, 5)))[:4]
    ['first r', 'last r', 'rs between', 'first place of axis 1']
    """
    found = {}
    for axis, letter in enumerate(letters):
        if shape[axis] > 1:
            found |= ends(shape, axis, letter if letter != "." else message("place of axis {axis}", axis=axis))
    return found
