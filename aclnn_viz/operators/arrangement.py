"""Check tensors against the declared shapes and dtypes of an operator, and reshape them for the operator's formulas."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from aclnn_viz.arrays.driver import Arranged, Result
from aclnn_viz.dtypes import FLOAT64, FloatFormat
from aclnn_viz.errors import invalid
from aclnn_viz.operators.codes import ACLNN_ERR_PARAM_INVALID
from aclnn_viz.operators.patterns import Pattern, Sizes, branch, choices, chosen, resolved, value
from aclnn_viz.operators.shapes import (
    BITS,
    as_truths,
    formats_of,
    is_plain,
    need_dtype,
    need_float,
    need_integers,
    need_rank,
    need_shape,
)

KEPT = 1024  # number of cached calls, by attributes, shapes and dtypes


@dataclass(frozen=True)
class Tensor:
    """The declared rules of one tensor.

    `shape` is a pattern (see `patterns`), `dtype` a rule (see `shapes.formats_of`) or such as "int64 or int32". An error
    gives `why` as the reason for the shape. `ranks` limits the number of axes. `optional` tensors may be null.
    A tensor `by_count` needs only the right number of elements. `asked` names the flag, mask entry ("outputMask[0]") or
    optional tensor that requests an output. `layout` is the aclFormat with which the vendor's samples
    create it. `low` and `high` bound its values; they are numbers or formulas such as "V - 1" (see `patterns`). Floating
    numbers are drawn between them, but may lie outside. `kinks` are the places where the function has a kink (numbers,
    formulas or names of earlier tensors); cases have elements there and on both sides. A tensor that is not `empty` must have
    elements. A `reserved` tensor is null. `usual` names the page's function that computes it from earlier tensors, "" for
    none. `status` is the code for a
    tensor that does not fit.
    """

    shape: str
    dtype: str = "same"
    why: str = ""
    ranks: tuple[int, int] | None = None
    optional: bool = False
    by_count: bool = False
    asked: str | None = None
    layout: str = "ND"
    low: float | str | None = None
    high: float | str | None = None
    kinks: tuple[float | str, ...] = ()
    empty: bool = True
    usual: str | None = None
    reserved: bool = False
    status: int = ACLNN_ERR_PARAM_INVALID


class Fitted(NamedTuple):
    """The results for a call that depend on attributes, shapes and dtypes alone, cached for later calls."""

    sizes: Sizes
    tensors: tuple[str, ...]
    shapes: dict[str, tuple]  # shapes to which tensors are reshaped for the page
    # for tensors that are broadcast for the page: the shape to broadcast to, then the page's
    # shape
    others: dict[str, tuple]
    attributes: dict  # attribute values that the page takes beside the tensors
    axes: dict[str, str]
    results: dict[str, Result]
    compute: np.dtype
    empty: bool


@dataclass(frozen=True, eq=False)
class Arrangement:
    """One direction of an operator: its input tensors, its outputs, and the rules for them.

    `like` sets format and sizes; `sizes` holds the formulas of lengths, `ranges` the bounds of values that are formulas.
    `rules` see the bound parameters and raise ValueError. `unseen` attributes are not passed to the page.
    """

    tensors: dict[str, Tensor]
    outputs: dict[str, Tensor]
    like: str
    sizes: dict[str, str]
    rules: tuple[Callable[[dict], None], ...] = ()
    unseen: frozenset[str] = frozenset()
    ranges: dict[str, tuple] = field(default_factory=dict)
    # arguments of the page that count: name -> a tensor, whose elements count, or a length
    counts: dict[str, str] = field(default_factory=dict)
    # gradient -> its tensor, which is broadcast along single axes; the page sums over these axes
    kept: dict[str, str] = field(default_factory=dict)

    def __call__(self, page, bound: dict) -> Arranged:
        """Return `bound` as the page takes it; raise TypeError or ValueError for a value that does not fit."""
        return self.given(page, bound, self.fitted(page, bound))

    def fitted(self, page, bound: dict) -> Fitted:
        """Return what depends on everything but the numbers; raise as a call does."""
        arrays, attributes = {}, {}
        for name, one in bound.items():
            (arrays if name in self.tensors else attributes)[name] = one
        return self._fitted(
            tuple(page.AXES.items()),
            tuple(attributes.items()),
            tuple(
                [
                    (name, None if array is None else (array.shape, array.dtype))
                    for name, array in arrays.items()
                ]
            ),
        )

    def given(self, page, bound: dict, fitted: Fitted) -> Arranged:
        """Check the numbers of fitting arguments, and return all arguments as the page takes them."""
        if self.ranges:
            self._in_range(bound, bound | fitted.sizes)
        for rule in self.rules:
            rule(bound)
        shaped = {name: bound[name] for name in fitted.tensors}
        for name, shape in fitted.shapes.items():
            shaped[name] = shaped[name].reshape(shape)
        for name, (whole, shape) in fitted.others.items():
            array = shaped[name]
            shaped[name] = (
                None
                if shape is None
                else as_truths(
                    self.tensors[name].dtype,
                    array if array.shape == whole else np.broadcast_to(array, whole),
                    shape,
                )
            )
        return Arranged(
            shaped,
            fitted.attributes,
            fitted.results,
            fitted.compute,
            fitted.axes,
            (prelude := vars(page).get("PRELUDE")) and prelude_of(prelude, bound),
            fitted.empty,
        )

    @lru_cache(maxsize=KEPT)  # noqa: B019  an operator is kept for good
    def _fitted(self, axes: tuple, attributes: tuple, tensors: tuple) -> Fitted:
        attributes = dict(attributes)
        arrays = {
            name: None if one is None else np.broadcast_to(np.empty((), one[1]), one[0])
            for name, one in tensors
        }
        fmt, sizes, patterns = self.checked(arrays, attributes)
        # arrays that are passed to the page unchanged
        alone = {name for name, array in arrays.items() if array is None} | {*self.kept.values()}
        wholes = {
            name: None
            if array is None
            else array.shape
            if name in alone or not (pattern := patterns[name]).stretched or pattern.scalar
            else pattern.shape(sizes)
            for name, array in arrays.items()
        }
        axes = {name: branch(text, attributes) for name, text in axes}
        shapes, others, empty = {}, {}, False
        for name, whole in wholes.items():
            shape = (
                None
                if whole is None or not axes[name] and whole
                else _padded(
                    patterns[name].page_shape(sizes | patterns[name].narrowed(whole)), axes[name]
                )
            )
            if whole is not None:
                empty |= 0 in (shape or ())
                if (
                    whole != arrays[name].shape
                    or shape is None
                    or self.tensors[name].dtype.startswith(("bool", BITS))
                ):
                    others[name] = whole, shape
                elif shape != whole:
                    shapes[name] = shape
        results = self._results(fmt, sizes, arrays, attributes, axes)
        taken = {name: one for name, one in attributes.items() if name not in self.unseen}
        for name, of in self.counts.items():
            taken[name] = arrays[of].size if of in arrays else int(np.prod(sizes[of], dtype=object))
        return Fitted(
            sizes,
            (*arrays,),
            shapes,
            others,
            taken,
            axes,
            results,
            np.dtype(np.float64 if fmt is FLOAT64 else np.float32),
            empty,
        )

    def _results(self, fmt, sizes, arrays: dict, attributes: dict, axes: dict) -> dict[str, Result]:
        """Return the requested outputs; `axes` lists the axes along which a gradient is summed as a dot product."""
        results = {}
        for name, tensor in self.outputs.items():
            if tensor.asked is None or asked(tensor.asked, arrays | attributes):
                pattern = chosen(tensor.shape, attributes)
                if unknown := [letter for letter in pattern.names if letter not in sizes]:
                    raise invalid(
                        f"the lengths of {name}, ({pattern.text}), follow from inputs and formulas",
                        f"none for {', '.join(unknown)}",
                        "declare a formula in sizes, or a letter of an input",
                    )
                format = formats_of(tensor.dtype, self.like, fmt, arrays)[0][0]
                own = pattern.narrowed(arrays[self.kept[name]].shape) if name in self.kept else {}
                results[name] = Result(
                    _padded(pattern.page_shape(sizes | own), axes[name]),
                    format,
                    pattern.shape(sizes | own),
                )
                summed = {letter for letter, n in own.items() if n != sizes[letter]}
                axes[name] = "".join(
                    "." if summed.intersection(part) else letter
                    for letter, part in zip_longest(axes[name], pattern.page_axes, fillvalue=())
                )
                if pattern.scalar:  # a scalar output is the sum over the rows
                    axes[name] = "." * len(axes[name])
        return results

    def _bound(self, pattern: Pattern, like, sizes: Sizes, attributes: dict) -> Sizes:
        """Return the sizes with the lengths from the deciding tensor; raise ValueError if an attribute misfits."""
        try:
            return pattern.bind(like.shape, sizes)
        except ValueError as error:
            name, (at, axis) = next(iter(self.sizes.values()), None), error.args
            if axis[0].isdigit():
                raise invalid(
                    f"axis {at} of {self.like} must be {axis}",
                    f"{self.like} {like.shape}",
                    "choose such a length",
                ) from None
            raise invalid(
                f"{name} must be positive and divide axis {at} of {self.like}, which must not be 0",
                f"{name} {attributes[name]}, {self.like} {like.shape}",
                "choose a divisor of that axis",
            ) from None

    def checked(
        self, arrays: dict, attributes: dict
    ) -> tuple[FloatFormat, Sizes, dict[str, Pattern]]:
        """Return the format, the sizes and the patterns; raise TypeError or ValueError for a tensor that misfits."""
        self._in_range(attributes, attributes)
        first, like = self.tensors[self.like], arrays[self.like]
        patterns = {
            name: _taken(tensor, arrays.get(name), attributes)
            for name, tensor in self.tensors.items()
        }
        pattern = patterns[self.like]
        need_rank(self.like, like, *(first.ranks or pattern.ranks))
        fmt = need_float(self.like, like)
        for name in self.sizes.values():
            if attributes.get(name) == ():
                raise invalid(
                    f"{name} must name at least one axis of {self.like}",
                    "()",
                    "pass the lengths of the trailing axes",
                )
        sizes = resolved(pattern.before(self.like, like.shape, attributes), self.sizes, attributes)
        self._split(arrays, patterns, sizes)
        sizes |= stretched(
            {name: array.shape for name, array in arrays.items() if array is not None},
            patterns,
            pattern,
        )
        if not pattern.stretched and like.ndim < pattern.rank(
            {name: () for name in pattern.starred} | sizes
        ):
            raise invalid(
                f"{self.like} must be ({pattern.text})",
                f"{self.like} {like.shape} and {_given(self.sizes, attributes)}",
                "make them agree",
            )
        sizes = self._bound(pattern, like, sizes, attributes)
        if not pattern.stretched:
            need_shape(
                self.like,
                like,
                pattern.shape(sizes),
                _given(self.sizes, attributes) or f"({pattern.text})",
            )
        sizes = resolved(sizes, self.sizes, attributes)
        for name, tensor in self.tensors.items():
            if arrays.get(name) is not None and name != self.like:
                sizes = self._compared(name, tensor, patterns[name], arrays, attributes, fmt, sizes)
                sizes = resolved(sizes, self.sizes, attributes)
        self._in_range(attributes, attributes | sizes)
        return fmt, sizes, patterns

    def _in_range(self, given: dict, known: dict) -> None:
        """Refuse values beyond bounds that other parameters set; unknown bounds are skipped."""
        for name, ends in self.ranges.items():
            if given.get(name) is None:
                continue
            low, high = (value(str(end), known) for end in ends)
            numbers = np.asarray(given[name])
            wrong = np.zeros(numbers.shape, bool) if low is None else numbers < low
            wrong = wrong if high is None else wrong | (numbers > high)
            if wrong.any():
                first = tuple(int(k) for k in np.argwhere(wrong)[0])
                shown = [
                    f"{end} = {at}"
                    if isinstance(end, str) and " if " not in end
                    else far
                    if end is None
                    else at
                    for end, at, far in zip(ends, (low, high), ("-inf", "inf"))
                ]
                raise invalid(
                    "{} must lie in [{}, {}]".format(name, *shown)
                    if ends[0] != ends[1]
                    else f"{name} must be {shown[0]}",
                    f"{np.broadcast_to(numbers, wrong.shape)[first]}"
                    + f" at {list(first)} ({wrong.sum()} such)" * bool(first),
                    "pass values in that range",
                )

    def _split(self, arrays, patterns, sizes) -> None:
        """Set the number of trailing axes from another tensor if `like` has two free groups of axes."""
        like, pattern = arrays[self.like], patterns[self.like]
        unknown = [name for name in pattern.starred if name not in sizes]
        if len(unknown) < 2:
            return
        last = unknown[-1]
        teller = next(
            name
            for name, array in arrays.items()
            if array is not None and patterns[name].text == f"*{last}"
        )
        need_rank(teller, arrays[teller], 1, like.ndim)
        sizes[last] = like.shape[like.ndim - arrays[teller].ndim :]

    def _compared(self, name, tensor, pattern, arrays, attributes, fmt, sizes) -> Sizes:
        array, condition = arrays[name], tensor.shape.partition(" if ")[2]
        unknown = set(pattern.names) - sizes.keys()
        if unknown:
            need_rank(name, array, *(tensor.ranks or pattern.ranks))
            try:
                sizes = pattern.bind(array.shape, sizes)
            except ValueError as error:
                raise invalid(
                    f"axis {error.args[0]} of {name} must be {error.args[1]}",
                    f"{name} {array.shape}, {self.like} {arrays[self.like].shape}",
                    "make them agree",
                ) from None
        attribute, _, rest = condition.partition(" = ")
        why = tensor.why.format(like=self.like) or (
            f"that of {self.like}"
            if pattern.text == self.tensors[self.like].shape
            else f"({pattern.text})"
        )
        if condition:
            why += f' for {attribute} "{attributes[attribute]}"'
        if pattern.scalar:
            if array.shape not in ((), (1,)):
                raise invalid(
                    f'{name} must be one number for {attribute} "{attributes[attribute]}"',
                    f"shape {array.shape}",
                    f'pass shape (), or use {attribute} "{rest.partition(" else ")[0]}"',
                )
        elif tensor.dtype == BITS:
            _need_bits(name, array, int(np.prod(pattern.shape(sizes), dtype=object)))
        elif not tensor.by_count and not (
            pattern.stretched and pattern.fits(array.shape, sizes, tensor.ranks is not None)
        ):
            why += ", or one that broadcasts to it" * bool(pattern.stretched)
            need_shape(name, array, pattern.shape(sizes), why)
        elif tensor.by_count and array.size != (
            count := int(np.prod(pattern.shape(sizes), dtype=object))
        ):
            raise invalid(
                f"{name} must have {count} elements, {why}",
                f"{name} {array.shape}, {self.like} {arrays[self.like].shape}",
                "pass what the forward operator saved",
            )
        if is_plain(tensor.dtype):
            need_integers(name, array, tensor.dtype)
        else:
            need_dtype(name, array, *formats_of(tensor.dtype, self.like, fmt, arrays))
        return sizes


def _need_bits(name: str, array, bits: int) -> None:
    if array.ndim != 1 or 8 * array.size < bits:
        raise invalid(
            f"{name} must have one axis of at least {-(-bits // 8)} bytes, a bit for each of {bits} elements",
            f"shape {array.shape}",
            "pack 8 to a byte",
        )


def asked(what: str, bound: dict) -> bool:
    """Return whether a flag or mask entry is set or an optional tensor given: "dgammaIsRequire", "outputMask[0]"."""
    name, _, entry = what.partition("[")
    flag = bound[name][int(entry[:-1])] if entry else bound[name]
    return bool(flag) if isinstance(flag, bool | int) else flag is not None


def _taken(tensor: Tensor, array, attributes: dict) -> Pattern:
    """Return the pattern of a tensor; for a single number or a broadcast tensor it follows from the shape."""
    found = chosen(tensor.shape, attributes)
    number = array is None or array.shape in ((), (1,))
    return choices(tensor.shape)[0] if found.scalar and found.stretched and not number else found


def stretched(shapes: dict[str, tuple], patterns: dict[str, Pattern], like: Pattern) -> Sizes:
    """Return the lengths of the starred axes after broadcasting all tensors; raise ValueError if they do not broadcast."""
    found = {}
    for token in (token for token in like.stretched if token[0] == "*"):
        alike = {name: shape for name, shape in shapes.items() if token in patterns[name].stretched}
        try:
            found[token[1:]] = np.broadcast_shapes(*alike.values())
        except ValueError:
            raise invalid(
                f"{', '.join(alike)} must broadcast to one shape",
                ", ".join(f"{name} {shape}" for name, shape in alike.items()),
                "make the lengths agree, or 1",
            ) from None
    return found


def _given(sizes: dict[str, str], attributes: dict) -> str:
    return ", ".join(f"{name} {attributes[name]}" for name in sizes.values() if name in attributes)


def _padded(shape: tuple[int, ...], axes: str) -> tuple[int, ...]:
    """Return the shape with axes of length 1 appended where the page has more axes than the vendor."""
    return shape + (1,) * (len(axes) - len(shape))


def prelude_of(whole: Callable, bound: dict) -> Callable:
    """Return the page's function of whole inputs that runs before blocks are cut: (xp, arrays) -> more arrays."""
    names = whole.__code__.co_varnames[1 : whole.__code__.co_argcount]
    return lambda xp, arrays: whole(xp, **{name: (bound | arrays)[name] for name in names})
