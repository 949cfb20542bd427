"""Read shape patterns such as "N C H W", which relate the axes of an operator's tensors, and compute lengths from them.

A pattern names one axis after another: "N C H W". `*R` stands for any number of axes, `G*D` or `2*D` for one axis whose
length is a product, `2` for exactly that length, `1..K` for an axis of length 1 for each of `*K`, and "()" for one number, of
shape () or (1,). In "*A D@dim *B" the attribute dim, which may be negative, says which axis D is; a tensor without axes has
none. Pages see one axis a name and a factor, `*R` flattened; parentheses flatten what they hold: "N C (Ho Wo)".

A tensor is broadcast along a token with `~`: in "~B H" the first length may be 1, "~*P" is any shape that broadcasts to *P.
With "~*P if reduction = 0 else ~()", a single number may also have the other shape. Pages see the whole length.

A formula computes a length from attributes and other lengths: "(H + 2*padding[0] - kernelSize[0]) // stride[0] + 1". If it
computes a product "G*D", an axis "G*D*K" determines K, and the tensor with G determines D.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod
from types import CodeType

from aclnn_viz.errors import invalid

# a length per name, a tuple of lengths per starred name
Sizes = dict[str, int | tuple[int, ...]]


def windows(length, extent, step, padding, up):
    """Return the number of windows of an extent; with `up`, the last window starts on the axis or its leading padding."""
    room = length + 2 * padding - extent
    if not up:
        return room // step + 1
    steps = (room + step - 1) // step
    return steps + (steps * step < length + padding)


FUNCTIONS = {
    "max": max,
    "min": min,
    "len": len,
    "sum": sum,
    "prod": prod,
    # functions that a formula may call
    "half": lambda numbers: tuple(n // 2 for n in numbers),
    "windows": windows,
}


@dataclass(frozen=True)
class Pattern:
    """The pattern of a tensor's shape; its `text` has the syntax above.

    >>> sizes = Pattern("N G*D *P").bind((2, 6, 4, 5), {"G": 3})
    >>> sizes
    {'G': 3, 'N': 2, 'D': 2, 'P': (4, 5)}
    >>> Pattern("N G*D *P").shape(sizes), Pattern("N G*D *P").page_shape(sizes)
    ((2, 6, 4, 5), (2, 3, 2, 20))
    """

    text: str

    @cached_property
    def _tokens(self) -> list[str]:
        return (
            [] if self.scalar else re.findall(r"\(|\)|[^\s()]+", re.sub(r"@\w+|~", "", self.text))
        )

    @cached_property
    def placed(self) -> str | None:
        """Return the attribute that gives the place of the middle of three axes, if there is one."""
        return next(iter(re.findall(r"@(\w+)", self.text)), None)

    @cached_property
    def scalar(self) -> bool:
        return self.text.lstrip("~") == "()"

    @cached_property
    def stretched(self) -> tuple[str, ...]:
        """Return the tokens along which a tensor is broadcast."""
        return tuple(re.findall(r"~(\S+)", self.text))

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """Return the tokens of the vendor's shape in order."""
        return tuple(token for token in self._tokens if token not in "()")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the names in the pattern, without stars."""
        return tuple(dict.fromkeys(re.findall(r"[A-Za-z]\w*", " ".join(self._tokens))))

    @cached_property
    def page_axes(self) -> list[list[str]]:
        """Return for each axis of the page the tokens whose product is its length; a single number has one axis without
        tokens.
        """
        axes, inside = [[]] if self.scalar else [], False
        for token in self._tokens:
            if token == "(":
                axes.append([])
            if token in "()":
                inside = token == "("
            elif inside:
                axes[-1].append(token)
            else:
                axes += [[part] for part in (token.split("*") if token[0] != "*" else [token])]
        return axes

    @cached_property
    def starred(self) -> tuple[str, ...]:
        return tuple(axis[1:] for axis in self.axes if axis[0] == "*")

    @cached_property
    def ranks(self) -> tuple[int, int]:
        """Return the least and largest number of axes; the vendor takes at most eight."""
        least = sum(axis[0] != "*" and not axis.startswith("1..") for axis in self.axes)
        return least, 8 if self.starred else least

    def before(self, name: str, shape: tuple[int, ...], attributes: Mapping) -> Sizes:
        """Return the lengths before the axis that an attribute names, in the tensor `name`; raise ValueError if it has no
        such axis.
        """
        if self.placed is None:
            return {}
        at, rank = attributes[self.placed], max(len(shape), 1)
        if not -rank <= at < rank:
            raise invalid(
                f"{self.placed} must lie in [{-rank}, {rank}), the axes of {name}",
                f"{at}, {name} {shape}",
                "choose one of its axes",
            )
        return {self.starred[0]: shape[: at % rank]} | ({} if shape else {self.axes[1]: ()})

    def bind(self, shape: tuple[int, ...], sizes: Sizes) -> Sizes:
        """Return the sizes with those of this shape added; raise ValueError(axis, its text) for the first misfit.

        At most one starred name may be new; lengths that are known already are not compared with the shape.
        """
        sizes, at = dict(sizes), 0
        new = [name for name in self.starred if name not in sizes]
        fixed = sum(self._rank(axis, sizes) for axis in self.axes if axis[1:] not in new)
        for axis in self.axes:
            rank = len(shape) - fixed if axis[1:] in new else self._rank(axis, sizes)
            part, at = shape[at : at + rank], at + rank
            if axis[0] == "*":
                sizes.setdefault(axis[1:], tuple(part))
            elif "*" in axis and axis not in sizes:
                factors = _factors(axis, sizes)
                known = [name for name in factors if name in sizes]
                rest, *others = {name for name in factors if name[0].isalpha()} - set(known) or {
                    None
                }
                if others:  # another tensor determines this length
                    continue
                divisor = prod(_factor(name, sizes) for name in factors if name != rest)
                if rest and (divisor < 1 or part[0] % divisor or known and not part[0]):
                    raise ValueError(at - 1, axis)
                if rest:
                    sizes[rest] = part[0] // divisor
            elif axis[0].isalpha() and part:
                sizes.setdefault(axis, part[0])
        return sizes

    def fits(self, shape: tuple[int, ...], sizes: Sizes, shorter: bool = False) -> bool:
        """Return whether a shape fits the pattern, or broadcasts to it where allowed; a `shorter` shape lacks the first
        axis.
        """
        wide = [
            (n, axis in self.stretched) for axis in self.axes for n in self._lengths(axis, sizes)
        ]
        missing = wide[: max(len(wide) - len(shape), 0)]
        return (
            len(shape) <= len(wide)
            and all(free and (self.starred or shorter) for _, free in missing)
            and all(
                n == own or free and own == 1 for own, (n, free) in zip(shape, wide[len(missing) :])
            )
        )

    def narrowed(self, shape: tuple[int, ...]) -> Sizes:
        """Return the lengths of a tensor of this shape along the axes on which it is broadcast, by letter."""
        return (
            {}
            if self.starred
            else {axis: n for axis, n in zip(self.axes, shape) if axis in self.stretched}
        )

    def rank(self, sizes: Sizes) -> int:
        return sum(self._rank(axis, sizes) for axis in self.axes)

    def _rank(self, axis: str, sizes: Sizes) -> int:
        many = axis[1:] if axis[0] == "*" else axis[3:] if axis.startswith("1..") else None
        return len(sizes[many]) if many else int(sizes.get(axis) != ())

    def _lengths(self, axis: str, sizes: Sizes) -> tuple[int, ...]:
        if axis in sizes:  # most axes are plain names with a known length
            return (sizes[axis],) if sizes[axis] != () else ()
        if axis[0] == "*":
            return sizes[axis[1:]]
        if axis.startswith("1.."):
            return (1,) * len(sizes[axis[3:]])
        return (prod(_factor(part, sizes) for part in _factors(axis, sizes)),)

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        """Return the shape that the vendor documents, for these sizes."""
        return tuple(n for axis in self.axes for n in self._lengths(axis, sizes))

    def page_shape(self, sizes: Sizes) -> tuple[int, ...]:
        """Return the shape in which the page sees the tensor."""
        return tuple(
            prod(n for part in parts for n in self._lengths(part, sizes))
            for parts in self.page_axes
        )


def _factors(axis: str, sizes: Sizes) -> list[str]:
    """Return the factors of an axis; several factors with a known product become one."""
    known = next((many for many in sizes if "*" in many and axis.startswith(f"{many}*")), "")
    return [known, *axis[len(known) + 1 :].split("*")] if known else axis.split("*")


def _factor(text: str, sizes: Sizes) -> int:
    return int(text) if text.isdigit() else sizes[text]


@cache
def formula(text: str) -> CodeType:
    """Return a compiled formula; `co_names` are its letters, attributes and functions."""
    return compile(text, "a formula", "eval")


def value(text: str, known: Mapping):
    """Return the value of a formula, None if a name in it is unknown; raise ValueError if it has no value.

    >>> value("(H + 2*padding[0] - k) // 2 + 1", {"H": 7, "padding": (1, 1), "k": 3}), value("H", {})
    (4, None)
    """
    code = formula(text)
    given = {
        name: known.get(name) for name in code.co_names if name in known or name not in FUNCTIONS
    }
    if any(one is None for one in given.values()):
        return None
    try:
        return eval(code, {"__builtins__": FUNCTIONS}, given)
    except (ArithmeticError, IndexError, TypeError) as error:
        raise invalid(
            f"{text} must give a length",
            ", ".join(f"{name} {one}" for name, one in given.items()),
            f"change them: {error}",
        ) from None


def resolved(sizes: Sizes, formulas: Mapping[str, str], attributes: Mapping) -> Sizes:
    """Return the sizes with all computable formulas; raise ValueError for a length below 0, and for no window."""
    for letter, text in formulas.items():
        if letter not in sizes and (found := value(text, attributes | sizes)) is not None:
            least = int(text.startswith("windows("))  # a pooling has at least one window
            if isinstance(found, int) and found < least and not text.isidentifier():
                named = ", ".join(
                    f"{name} {(attributes | sizes)[name]}"
                    for name in formula(text).co_names
                    if name not in FUNCTIONS
                )
                raise invalid(
                    f"{letter} = {text} must be at least {least}",
                    f"{found} for {named}",
                    "change one of them",
                )
            sizes = sizes | {letter: found}
        factors = letter.split("*") if letter in sizes else ()
        unknown = [name for name in factors if name not in sizes]
        if len(unknown) == 1:
            rest = prod(sizes[name] for name in factors if name in sizes)
            if rest < 1 or sizes[letter] % rest:
                raise invalid(
                    f"{text} must be a multiple of {', '.join(name for name in factors if name in sizes)}",
                    f"{sizes[letter]} and {rest}",
                    "change one of them",
                )
            sizes = sizes | {unknown[0]: sizes[letter] // rest}
    return sizes


@cache
def pattern(text: str) -> Pattern:
    return Pattern(text)


def chosen(text: str, attributes: dict) -> Pattern:
    """Return the pattern that a text such as "N if reduction = none else ()" selects for these attributes.

    Several values are joined by |, and after `else` another `if` may follow.

    >>> chosen("N if reduction = none else ()", {"reduction": "mean"}).scalar
    True
    """
    return pattern(branch(text, attributes))


def branch(text: str, attributes: dict) -> str:
    """Return the branch of a text, as in `chosen`, that these attributes select."""
    yes, name, value, no = _parts(text)
    return (
        yes
        if name is None or str(attributes.get(name)) in value.split("|")
        else branch(no, attributes)
    )


def choices(text: str) -> list[Pattern]:
    """Return the patterns of a text among which attributes choose."""
    yes, _, _, no = _parts(text)
    return [pattern(yes), *(choices(no) if no else ())]


@cache
def _parts(text: str) -> tuple:
    """Return a pattern, and for a conditional one the attribute, its value, and the other pattern."""
    condition = re.fullmatch(r"(.*?) if (\w+) = ([\w|]+) else (.*)", text)
    return condition.groups() if condition else (text, None, None, None)
