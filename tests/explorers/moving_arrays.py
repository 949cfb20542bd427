"""Arrays that move: a namespace that computes but never hands out a number, as when a picture is traced to run elsewhere.

It shares nothing with the explorers but NumPy's results, so that what came out can be compared in the end (`still`).
"""

import operator
from dataclasses import fields, is_dataclass, replace

import array_api_strict
import numpy as np

from aclnn_viz.explorers.arrays import XP
from aclnn_viz.words.messages import Choice, Number, Text

# their results have no fixed size
UNSHAPED = set("nonzero unique_all unique_counts unique_inverse unique_values".split())
OWN = set("round_to ulp ordinal_distance scatter_add guard".split())


def refused(*args, **given):
    raise TypeError("a number that moves is not known here")


class Moving:
    """An array whose elements nobody may look at; its shape and dtype are known."""

    __array_ufunc__ = None  # NumPy's arrays leave operators to it

    def __init__(self, held):
        self._held = np.asarray(held)
        self.shape, self.dtype, self.ndim, self.size = (
            getattr(self._held, name) for name in ("shape", "dtype", "ndim", "size")
        )

    __float__ = __int__ = __bool__ = __index__ = __array__ = __array_function__ = __format__ = (
        __str__
    ) = __contains__ = refused
    __hash__ = object.__hash__

    def __repr__(self):
        return f"Moving{self.shape}"

    def __getitem__(self, key):
        if any(
            isinstance(each, (Moving, np.ndarray, list))
            for each in (key if isinstance(key, tuple) else (key,))
        ):
            raise TypeError("only xp.take finds elements by numbers")
        return Moving(self._held[key])

    def __iter__(self):
        return (self[k] for k in range(self.shape[0]))

    def __len__(self):
        return self.shape[0]

    @property
    def T(self):
        return Moving(self._held.T)


def _operator(name):
    act = getattr(operator, name)

    def forwards(self, *others):
        return Moving(act(self._held, *map(_held, others)))

    def backwards(self, other):
        return Moving(act(_held(other), self._held))

    return forwards, backwards


for _name in (
    "add sub mul truediv floordiv mod pow and_ or_ xor lt le gt ge eq ne neg pos invert abs".split()
):
    _plain = _name.rstrip("_")
    _forwards, _backwards = _operator(_name)
    setattr(Moving, f"__{_plain}__", _forwards)
    if _plain not in "lt le gt ge eq ne neg pos invert abs".split():
        setattr(Moving, f"__r{_plain}__", _backwards)


def _moves(value) -> bool:
    return isinstance(value, Moving) or isinstance(value, (tuple, list)) and any(map(_moves, value))


def _held(value):
    return (
        value._held
        if isinstance(value, Moving)
        else type(value)(map(_held, value))
        if isinstance(value, (tuple, list))
        else value
    )


class MovingArrays:
    """The Array API and the steps of explorers, over arrays that move; constants stay NumPy's."""

    def __getattr__(self, name):
        if name in UNSHAPED or name not in OWN and not hasattr(array_api_strict, name):
            raise AttributeError(f"{name} is no step of an explorer")
        step = getattr(XP, name)
        if not callable(step) or isinstance(step, type):
            return step

        def taken(*args, **given):
            made = step(*map(_held, args), **{key: _held(value) for key, value in given.items()})
            if not _moves(args) and not _moves([*given.values()]):
                return made
            return tuple(map(Moving, made)) if isinstance(made, tuple) else Moving(made)

        return taken


def moving(value):
    """Return a value whose arrays and real numbers move, through dicts, tuples and dataclasses; fields with `fixed` do not.

    Whole numbers that a kernel takes, such as targets, choose something: they are fixed in a picture.
    """
    if isinstance(value, (np.ndarray, np.generic, float)):
        return value if np.asarray(value).dtype.kind in "iub" else Moving(value)
    if isinstance(value, dict):
        return {name: moving(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return tuple(map(moving, value))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value,
            **{
                e.name: moving(getattr(value, e.name))
                for e in fields(value)
                if not e.metadata.get("fixed")
            },
        )
    return value


def state_that_moves(state):
    """Return a state whose real numbers, and whose indices, move; its choices and sizes stay."""
    made = object.__new__(type(state))
    for entry in fields(state):
        value, control = getattr(state, entry.name), entry.metadata.get("control", {})
        moves = control.get("kind") == "real" or control.get("below")
        object.__setattr__(made, entry.name, Moving(value) if moves else value)
    return made


def still(value):
    """Return what was computed with arrays that move in NumPy's numbers, with its texts and choices finished."""
    if isinstance(value, Moving):
        return value._held if value.ndim else value._held[()]
    if isinstance(value, Number):
        return format(still(value.value) + 0, value.form)
    if isinstance(value, Text):
        return value.text.format_map({name: still(one) for name, one in value.values.items()})
    if isinstance(value, Choice):
        return still(value.options[int(still(value.which))])
    if isinstance(value, (tuple, list)):
        return type(value)(map(still, value))
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value, **{entry.name: still(getattr(value, entry.name)) for entry in fields(value)}
        )
    return value
