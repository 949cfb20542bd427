"""Generate random tensors of any format, and test cases of any operator from the declared shapes and dtypes.

A length that does not follow from the shape comes from an option named after a tensor: `grid_shape=` gives the lengths that only
`grid` has, or its whole shape; `gamma_ndim=` says how many of the trailing axes are gamma's.
"""

from collections.abc import Callable, Iterator
from itertools import cycle
from math import prod
from numbers import Integral, Real
from operator import index

import numpy as np

from aclnn_viz.dtypes import FLOAT32, FLOAT64, STRETCH, FloatFormat, round_to
from aclnn_viz.errors import invalid, shown
from aclnn_viz.operators import Operator, registry
from aclnn_viz.operators.arrangement import stretched
from aclnn_viz.operators.parameters import REQUIRED
from aclnn_viz.operators.patterns import Pattern, Sizes, choices, chosen, formula, resolved, value
from aclnn_viz.operators.shapes import BITS, formats_of, is_plain


def _is_real(value) -> bool:
    return isinstance(value, Real | np.generic) and not isinstance(
        value, np.complexfloating | np.flexible
    )


class Draw:
    """A seeded source of tensors: draws each one unless the caller gave an array or one value for all elements."""

    def __init__(self, fmt: FloatFormat, seed: int, given: dict, kinks: bool = True):
        # `kinks`: whether elements may lie at kinks of a function
        self.format, self.kinks = fmt, kinks
        # tensors that stay wide in 16-bit operators have this format
        self.wide = FLOAT64 if fmt is FLOAT64 else FLOAT32
        self.rng = np.random.default_rng(seed)
        self.given = given

    def tensor(self, name: str, shape, values, fmt: FloatFormat | None = None) -> np.ndarray:
        """Return the tensor `name`: the given one, else `values(rng)` rounded once.

        `values` makes a float64 array of `shape`, or yields its elements in order in arrays that the cache holds.
        """
        drawn = values(self.rng)
        parts = drawn if isinstance(drawn, Iterator) else [np.asarray(drawn, np.float64)]
        if name not in self.given:
            into, at = np.empty(shape, (fmt or self.format).numpy), 0
            for part in parts:
                into.reshape(-1)[at : at + part.size] = round_to(part, into.dtype).reshape(-1)
                at += part.size
            return into
        for _ in parts:  # drawn also for a given tensor, so that the other tensors do not change
            pass
        value = self.given[name]
        if value is None or isinstance(value, np.ndarray) and value.shape == tuple(shape):
            return value
        if _is_real(value):
            return np.full(shape, round_to(np.float64(value), fmt or self.format))
        got = f"shape {value.shape}" if isinstance(value, np.ndarray) else shown(value)
        raise invalid(
            f"{name} must have shape {tuple(shape)}",
            got,
            "give an array of that shape, or one value for all elements",
        )

    def saved(self, name: str, tensor):
        """Return a tensor that the forward pass saved, or the array or value given instead."""
        value = self.given.get(name, tensor)
        if value is None or isinstance(value, np.ndarray):
            return value
        if not _is_real(value):
            raise invalid(
                f"{name} must be an array, or one value", shown(value), "pass a NumPy array"
            )
        return np.full_like(tensor, round_to(np.float64(value), tensor.dtype))

    def normal(self, name, shape, scale=1.0, fmt=None) -> np.ndarray:
        return self.tensor(
            name,
            shape,
            lambda rng: (scale * part for part in stretches(rng.standard_normal, shape)),
            fmt,
        )

    def attribute(self, name: str, default):
        return self.given.get(name, default)


def stretches(draw: Callable, shape) -> Iterator[np.ndarray]:
    """Yield draw(count) until the shape is full; together these are the numbers of one single call."""
    size = prod(shape)
    for start in range(0, size, STRETCH):
        yield draw(min(STRETCH, size - start))


SHARE = 0.125  # share of elements placed at kinks, borders or ties


def sprinkle(rng, values: np.ndarray, special) -> np.ndarray:
    """Return `values` with a share SHARE of them replaced by members of `special`."""
    special, sprinkled = np.asarray(special, np.float64), values.flatten()
    chosen = [part < SHARE for part in stretches(rng.random, values.shape)]
    for number, part in enumerate(
        stretches(lambda count: rng.choice(special, size=count), values.shape)
    ):
        np.copyto(sprinkled[number * STRETCH :][: part.size], part, where=chosen[number])
    return sprinkled.reshape(values.shape)


LENGTHS = (3, 5, 2, 7)  # default lengths of axes that nothing else determines
GROWN = 64  # a length is increased at most so many times until the case fits


def default_shape(op: Operator) -> tuple[int, ...]:
    """Return the default shape of the forward operator's first tensor."""
    if op.shapes:
        return op.shapes[0]["shape"]
    pattern, lengths = Pattern(op.tensors[op.first].shape), cycle(LENGTHS)
    return fitted(
        op,
        {
            "shape": pattern.shape(
                {
                    name: (next(lengths),) if name in pattern.starred else next(lengths)
                    for name in pattern.names
                }
            )
        },
    )["shape"]


def fitted(op: Operator, options: dict) -> dict:
    """Return options that fit the operator: the right rank, existing axes, lengths increased until the operator accepts them."""
    shape = options.get("shape")
    if shape is None:
        return options
    attributes = _attributes(op, options)
    pattern = chosen(op.tensors[op.first].shape, attributes)
    if len({one.ranks for one in choices(op.tensors[op.first].shape)}) > 1:
        shape = ((1,) * 8 + tuple(shape))[-pattern.ranks[0] :]
        options = options | {"shape": shape}
    if pattern.placed in options and not -len(shape) <= options[pattern.placed] < len(shape):
        return fitted(
            op, {name: value for name, value in options.items() if name != pattern.placed}
        )
    for _ in range(GROWN):
        try:
            sizes = pattern.bind(
                shape, resolved(pattern.before(op.first, shape, attributes), op.sizes, attributes)
            )
            small = {
                name
                for text in op.sizes.values()
                if not text.isidentifier()
                and (found := value(text, attributes | sizes)) is not None
                and isinstance(found, int)
                and found < 1
                for name in formula(text).co_names
            }
            axes = [axis for axis in pattern.axes for _ in range(Pattern(axis).rank(sizes))]
            grow = [at for at, axis in enumerate(axes) if axis in small]
        except ValueError as error:
            grow = [error.args[0]] if len(error.args) > 1 and error.args[1][0].isdigit() else []
        except (KeyError, IndexError):  # another rank, or a missing attribute
            break
        if not grow or not all(shape[at] for at in grow):
            break
        shape = tuple(n + (at in grow) for at, n in enumerate(shape))
    return options | {"shape": shape}


def _attributes(op: Operator, options: dict) -> dict:
    """Return the attributes that options or defaults determine."""
    return {
        name: value
        for name, a in op.attributes.items()
        if (value := options.get(name, a.default)) is not REQUIRED
    }


def options(op: Operator) -> tuple[str, ...]:
    """Return the names of options that a case accepts beside shape and the parameters."""
    return tuple(f"{name}_{what}" for name in op.tensors for what in ("shape", "ndim"))


def other_shapes(op: Operator) -> dict[str, tuple[str, ...]]:
    """Return the options for lengths that do not follow from the shape, each with the letters of these lengths."""
    takes = registry.own("cases", op.name, "OPTIONS", options(op))
    known, found = set(chosen(op.tensors[op.first].shape, {}).names) | set(op.sizes), {}
    for tensor in op.tensors:  # keep the order in which a case is drawn
        if tensor in {p.name for p in op.parameters} and f"{tensor}_shape" in takes:
            letters = tuple(
                name for name in chosen(op.tensors[tensor].shape, {}).names if name not in known
            )
            if letters:
                found[f"{tensor}_shape"] = letters
                known |= set(letters)
    return found


def draw(op: Operator, source: Draw, shape: tuple[int, ...]) -> dict:
    """Return the inputs of backward: saved tensors from the forward pass, all others drawn."""
    forward, sizes, attributes = draw_forward(op, source, shape)
    saved, inputs = op.forward(**forward), {}
    for parameter in op.parameters:
        name = parameter.name
        if name in forward:
            inputs[name] = forward[name]
        elif name in op.saved:
            inputs[name] = source.saved(name, saved[op.saved[name]])
        elif name in op.tensors:
            inputs[name] = _tensor(op, source, name, sizes, forward | inputs)
        else:
            inputs[name] = attributes[name]
    return inputs


def draw_forward(op: Operator, source: Draw, shape: tuple[int, ...]) -> tuple[dict, Sizes, dict]:
    """Return the inputs of the forward operator, the lengths of all named axes, and all attributes."""
    if completed := registry.own("cases", op.name, "completed"):
        source.given = completed(source, shape)
    attributes = {name: source.attribute(name, a.default) for name, a in op.attributes.items()}
    sizes = _sizes(op, source, shape, attributes)
    if left := [name for name, value in attributes.items() if value is REQUIRED]:
        raise invalid(
            f"a case of {op.name} needs {', '.join(left)}",
            "no value and no default",
            "pass it, or declare a default",
        )
    taken = {name: attributes[name] for name in op.takes if name in attributes}
    for name in op.takes:
        if name in op.tensors:
            taken[name] = _tensor(
                op, source, name, sizes, attributes | taken, shape if name == op.first else None
            )
    return taken, sizes, attributes


def _tensor(
    op: Operator, source: Draw, name: str, sizes: Sizes, known: dict, asked: tuple | None = None
):
    tensor = op.tensors[name]
    if tensor.reserved or is_plain(tensor.dtype) and source.given.get(name, tensor) is None:
        return None
    pattern = chosen(tensor.shape, known)
    shape = (_asked(source, name) if asked is None else asked) if pattern.stretched else None
    shape = pattern.shape(sizes) if shape is None else shape
    if (usual := op.usual(name, known, sizes)) is not None:
        return np.asarray(source.attribute(name, usual))
    if tensor.dtype == BITS:
        bits = np.packbits(source.rng.random(shape) < 0.7, bitorder="little")
        # padded to whole groups of 128 bits, as the vendor's masks are
        return np.asarray(source.attribute(name, np.pad(bits, (0, -bits.size % 16))))
    if tensor.dtype.startswith("bool"):
        return np.asarray(source.attribute(name, source.rng.random(shape) < 0.3))
    if is_plain(tensor.dtype):  # integer tensors hold indices into the last axis
        low, high = (
            None if end is None else value(str(end), known | sizes)
            for end in (tensor.low, tensor.high)
        )
        count = (
            chosen(op.tensors[op.first].shape, known).shape(sizes)[-1] if high is None else high + 1
        )
        drawn = np.asarray(
            source.attribute(name, source.rng.integers(low or 0, max(count, (low or 0) + 1), shape))
        )
        return drawn if drawn.ndim or not shape else np.full(shape, drawn)
    arrays = {other: value for other, value in known.items() if isinstance(value, np.ndarray)}
    fmt = (
        FLOAT64
        if source.format is FLOAT64
        else formats_of(tensor.dtype, op.like, source.format, arrays)[0][0]
    )
    if tensor.low is not None:
        return source.tensor(
            name, shape, lambda rng: rng.uniform(tensor.low, tensor.high, shape), fmt
        )
    kinks = kinks_of(op, name, known | sizes)
    numbers, others = (
        [one for one in kinks if isinstance(one, np.ndarray) == is_array]
        for is_array in (False, True)
    )
    if others:
        return source.tensor(
            name,
            shape,
            lambda rng: tied(rng, rng.standard_normal(shape), others if source.kinks else ()),
            fmt,
        )
    if not numbers:
        return source.normal(name, shape, fmt=fmt)
    # standard deviations: 1, and the size of the outermost kink, so that elements lie between the
    # kinks and beyond them
    widths = 1.0, max(1.0, *map(abs, numbers))

    def spread_out(rng):
        spread = rng.standard_normal(shape) * rng.choice(widths, shape)
        return sprinkle(rng, spread, numbers) if source.kinks else spread

    return source.tensor(name, shape, spread_out, fmt)


def tied(rng, values: np.ndarray, others) -> np.ndarray:
    """Return `values` with ties: from each other tensor that broadcasts to their shape, a share SHARE of its elements is copied."""
    for other in others:
        if np.broadcast_shapes(other.shape, values.shape) == values.shape:
            values = np.where(rng.random(values.shape) < SHARE, other.astype(np.float64), values)
    return values


def kinks_of(op: Operator, name: str, known: dict) -> list:
    """Return the points of a tensor at which the function has a kink, numbers or arrays, so far as the `known` lengths,
    attributes and tensors determine these.
    """
    return [
        number for one in op.tensors[name].kinks if (number := value(str(one), known)) is not None
    ]


# Lengths of axes


def _follow(op: Operator, attributes: dict, sizes: Sizes) -> None:
    """Set attributes that were not given and follow from lengths."""
    # if an attribute states a length, its value is that length
    for letter, text in op.sizes.items():
        name, _, entry = text.partition("[")
        if attributes.get(name) is REQUIRED or isinstance(attributes.get(name), list):
            attributes[name] = (
                [*(attributes[name] if entry[:-1] != "0" else ()), sizes[letter]]
                if entry
                else sizes[letter]
            )
    attributes |= {
        name: tuple(given) for name, given in attributes.items() if isinstance(given, list)
    }
    attributes |= {
        name: value(a.low, attributes | sizes)
        for name, a in op.attributes.items()
        if a.follows and attributes[name] is REQUIRED
    }


def _sizes(op: Operator, source: Draw, shape: tuple[int, ...], attributes: dict) -> Sizes:
    """Return the sizes that follow from shape, attributes and options; choose missing attributes to fit."""
    name = op.first
    pattern = chosen(op.tensors[name].shape, attributes)
    asked = f"shape must be that of {name}, ({pattern.text})"
    low, high = op.tensors[name].ranks or pattern.ranks
    if not low <= len(shape) <= high:
        raise invalid(asked, repr(shape), "give other lengths")
    _choose(op, pattern, shape, attributes)
    known = {name: value for name, value in attributes.items() if value is not REQUIRED}
    sizes = resolved(pattern.before(name, shape, known), op.sizes, known)
    # the length of an axis such as "C*H" may be known while C and H are not
    if not pattern.starred:
        sizes = {
            axis: n for axis, n in zip(pattern.axes, shape) if axis in op.sizes and "*" in axis
        } | sizes
    if pattern.stretched:
        patterns = {other: chosen(tensor.shape, known) for other, tensor in op.tensors.items()}
        given = {
            other: found for other in op.tensors if (found := _asked(source, other)) is not None
        }
        sizes |= stretched(given | {name: shape}, patterns, pattern)
    unknown = [letter for letter in pattern.starred if letter not in sizes]
    if len(unknown) > 1:
        sizes[unknown[-1]] = shape[len(shape) - _trailing(op, source, unknown[-1], len(shape)) :]
    try:
        sizes = pattern.bind(shape, sizes)
    except ValueError:
        given = ", ".join(
            f"{attribute} {attributes[attribute]}"
            for attribute in op.sizes.values()
            if attribute in attributes
        )
        got = f"{shape}" + f" and {given}" * bool(given)
        raise invalid(asked, got, "make them agree") from None
    if not pattern.stretched and pattern.shape(sizes) != tuple(shape):
        asked += f" {pattern.shape(sizes)}"
        raise invalid(asked, repr(shape), "make it agree with the attributes")
    sizes = _remaining(op, source, sizes, known)
    _follow(op, attributes, sizes)
    return sizes


def _choose(op: Operator, pattern: Pattern, shape: tuple[int, ...], attributes: dict) -> None:
    """Choose missing attributes that divide an axis, so that they fit the shape."""
    for letter, attribute in op.sizes.items():
        if (
            attributes.get(attribute) is REQUIRED
            and letter not in pattern.axes
            and set(letter.split("*")) <= set(pattern.names)
        ):
            attributes[attribute] = (
                shape[-1:] if letter in pattern.starred else _divisor(pattern, letter, shape)
            )


def _asked(source: Draw, name: str) -> tuple[int, ...] | None:
    """Return the shape requested for a tensor, by its option or by a given array."""
    given = source.given.get(name)
    return source.given.get(f"{name}_shape", given.shape if isinstance(given, np.ndarray) else None)


def _divisor(pattern: Pattern, letter: str, shape: tuple[int, ...]) -> int:
    """Return the smallest proper divisor above 1 of the axis that contains the letter, else 1."""
    axis = next(at for at, text in enumerate(pattern.axes) if f"*{letter}*" in f"*{text}*")
    return next((n for n in range(2, shape[axis]) if shape[axis] % n == 0), 1)


def _trailing(op: Operator, source: Draw, letter: str, rank: int) -> int:
    for name, tensor in op.tensors.items():
        if tensor.shape == f"*{letter}" and f"{name}_ndim" in source.given:
            return trailing(name, source.given[f"{name}_ndim"], rank, op.first)
    return 1


def trailing(name: str, count, rank: int, of: str) -> int:
    """Return the number of trailing axes of `of` that another tensor spans; raise ValueError for a wrong number."""
    if not isinstance(count, Integral) or isinstance(count, bool) or not 1 <= count <= rank:
        raise invalid(
            f"{name}_ndim must lie in 1 to {rank}, the rank of {of}",
            repr(count),
            f"{name} spans that many trailing axes",
        )
    return int(count)


def _remaining(op: Operator, source: Draw, sizes: Sizes, attributes: dict) -> Sizes:
    """Return the sizes with the lengths that only other tensors determine."""
    lengths = cycle(LENGTHS)
    for name, tensor in op.tensors.items():
        sizes = resolved(sizes, op.sizes, attributes)
        pattern = chosen(tensor.shape, attributes)
        unknown = [letter for letter in pattern.names if letter not in sizes]
        given, asked = source.given.get(name), _asked(source, name)
        # the remaining lengths of the first tensor follow from other tensors
        if not unknown or name == op.first:
            continue
        if asked is None:
            # a length that must divide another one is 1
            divided = {name for many in sizes if "*" in many for name in many.split("*")}
            sizes |= {
                letter: (next(lengths),)
                if letter in pattern.starred
                else 1
                if letter in divided
                else next(lengths)
                for letter in unknown
            }
            continue
        try:
            asked, starred = (
                tuple(map(index, asked)),
                [letter for letter in unknown if letter in pattern.starred],
            )
            whole = pattern.rank(dict.fromkeys(pattern.starred, ()) | sizes)
            if min(asked, default=0) < 0 or not (
                len(asked) in (len(unknown), whole) or starred and len(asked) >= whole
            ):
                raise TypeError
        except TypeError:
            raise invalid(
                f"{name}_shape must be ({', '.join(unknown)})",
                repr(asked),
                f"give {len(unknown)} lengths of at least 0",
            ) from None
        if len(asked) == len(unknown) and not (starred and given is not None):
            sizes = sizes | {
                letter: (n,) if letter in starred else n for letter, n in zip(unknown, asked)
            }
        else:
            sizes = pattern.bind(asked, sizes)
    return resolved(sizes, op.sizes, attributes)


# The suite of cases


def suite(op: Operator) -> Iterator[dict]:
    """Yield options of a suite: each mode first, then formats, strides, omitted tensors, declared shapes."""
    return (fitted(op, options) for options in _suite(op))


def _suite(op: Operator) -> Iterator[dict]:
    base, *others = op.shapes or ({},)
    modes = op.modes or ({},)
    yield from (base | mode for mode in modes)
    yield base | {"strided": True}
    for at, dtype in enumerate(("float16", "bfloat16", "float64", "float16", "bfloat16")):
        yield base | modes[(at * 7) % len(modes)] | {"dtype": dtype}
    yield base | {"dtype": "float16", "strided": True}
    yield from (base | change for change in left_out(op))
    yield from (modes[(at * 5) % len(modes)] | options for at, options in enumerate(others))


def left_out(op: Operator) -> Iterator[dict]:
    """Yield for each optional tensor the options that omit it, with the first of the modes that allow this."""
    for name in (
        p.name for p in op.parameters if p.kind == "tensor" and p.optional and not p.reserved
    ):
        tried = (mode | {name: None} for mode in ({}, *op.modes))
        yield next(filter(lambda options: _taken(op, options), tried), {name: None})


def _taken(op: Operator, options: dict) -> bool:
    """Return whether a default case with these options exists."""
    try:
        shape = fitted(op, options | {"shape": default_shape(op)})["shape"]
        op.arrange_backward(**op.bind(draw(op, Draw(FLOAT32, 0, options), shape)))
    except (TypeError, ValueError):
        return False
    return True


def matrix_shape(op: Operator, rows: int, columns: int) -> tuple[int, ...]:
    """Return the shape of the operator's main tensor as a matrix, after leading axes of length 1 if it needs more.

    >>> from aclnn_viz import operator
    >>> matrix_shape(operator("rms_norm"), 3, 5), matrix_shape(operator("grid_sampler_2d"), 3, 5)
    ((3, 5), (1, 1, 3, 5))
    """
    usual = {name: attribute.default for name, attribute in op.attributes.items()}
    least, _ = op.tensors[op.like].ranks or chosen(op.tensors[op.like].shape, usual).ranks
    return (1,) * (least - 2) + (rows, columns)


def rows_of(op: Operator, rows: int, n: int, seed: int = 0, dtype: str = "float32") -> dict:
    """Return options of a case with `rows` rows of `n` terms each, by the operator's own function or as a matrix."""
    own = registry.own("cases", op.name, "rows_of")
    return own(rows, n, seed, dtype) if own else {"shape": matrix_shape(op, rows, n)}
