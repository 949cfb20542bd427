"""Read shape patterns such as "N C H W", which say how the axes of an operator's tensors belong together, and compute lengths
by them.

A pattern names one axis after another: "N C H W". `*R` stands for any number of axes, `G*D` or `2*D` for one axis whose
length is a product, `2` for just that length, `1..K` for an axis of length 1 for each of `*K`, and "()" for one number, of
shape () or (1,). In "*A D@dim *B" the attribute dim, which may be negative, says which axis D is; a tensor without axes has
none. Pages see one axis a name and a factor, `*R` flattened; parentheses flatten what they hold: "N C (Ho Wo)".

A tensor is broadcast along what has a `~`: of "~B H" the first length may be 1, "~*P" may be any shape that broadcasts to *P.
Where "~*P if reduction = 0 else ~()" is one number it may also have a shape of the other kind. Pages see the whole length.

A formula gives a length by attributes and other lengths: "(H + 2*padding[0] - kernelSize[0]) // stride[0] + 1". Where it gives a
product, "G*D", an axis "G*D*K" has K, and the tensor that has G tells D.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod
from types import CodeType

from aclnn_viz.errors import problem

# a length for a name, a tuple of lengths for a starred one
Sizes = dict[str, int | tuple[int, ...]]


def windows(length, extent, step, padding, up):
    """How many windows of an extent there are; those that round `up` begin at the latest on the axis or the padding before it."""
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
    # what a formula may call
    "half": lambda numbers: tuple(n // 2 for n in numbers),
    "windows": windows,
}


@dataclass(frozen=True)
class Pattern:
    """One pattern; `text` as above.

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
        """The attribute that says which axis the middle one of three is, if there is one."""
        return next(iter(re.findall(r"@(\w+)", self.text)), None)

    @cached_property
    def scalar(self) -> bool:
        return self.text.lstrip("~") == "()"

    @cached_property
    def stretched(self) -> tuple[str, ...]:
        """The tokens along which a tensor is broadcast."""
        return tuple(re.findall(r"~(\S+)", self.text))

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The tokens of the vendor's shape, one after the other."""
        return tuple(token for token in self._tokens if token not in "()")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names that stand in the pattern, starred ones without their star."""
        return tuple(dict.fromkeys(re.findall(r"[A-Za-z]\w*", " ".join(self._tokens))))

    @cached_property
    def page_axes(self) -> list[list[str]]:
        """Of each axis that a page sees, the tokens whose product is its length: one number has an axis of none."""
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
        """The least and the largest number of axes; the vendor takes at most eight."""
        least = sum(axis[0] != "*" and not axis.startswith("1..") for axis in self.axes)
        return least, 8 if self.starred else least

    def before(self, name: str, shape: tuple[int, ...], attributes: Mapping) -> Sizes:
        """Return the lengths before the axis that an attribute names, of the tensor `name`; ValueError where there is none."""
        if self.placed is None:
            return {}
        at, rank = attributes[self.placed], max(len(shape), 1)
        if not -rank <= at < rank:
            raise ValueError(
                problem(
                    f"{self.placed} must lie in [{-rank}, {rank}), the axes of {name}",
                    f"{at}, {name} {shape}",
                    "choose one of its axes",
                )
            )
        return {self.starred[0]: shape[: at % rank]} | ({} if shape else {self.axes[1]: ()})

    def bind(self, shape: tuple[int, ...], sizes: Sizes) -> Sizes:
        """Return the sizes with those that this shape adds; ValueError(axis, its text) at the first that does not fit.

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
                if others:  # which another tensor tells
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
        """Whether a shape is that of the pattern, or is broadcast to it along the axes that allow it; a `shorter` one lacks the first."""
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
        """The lengths that a tensor of this shape has along the axes on which it is broadcast, each by its letter."""
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
        if axis in sizes:  # most of them
            return (sizes[axis],) if sizes[axis] != () else ()
        if axis[0] == "*":
            return sizes[axis[1:]]
        if axis.startswith("1.."):
            return (1,) * len(sizes[axis[3:]])
        return (prod(_factor(part, sizes) for part in _factors(axis, sizes)),)

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        """The vendor's shape."""
        return tuple(n for axis in self.axes for n in self._lengths(axis, sizes))

    def page_shape(self, sizes: Sizes) -> tuple[int, ...]:
        """The shape under which a page sees the tensor."""
        return tuple(
            prod(n for part in parts for n in self._lengths(part, sizes))
            for parts in self.page_axes
        )


def _factors(axis: str, sizes: Sizes) -> list[str]:
    """The factors of an axis, several of which the product is known as one."""
    known = next((many for many in sizes if "*" in many and axis.startswith(f"{many}*")), "")
    return [known, *axis[len(known) + 1 :].split("*")] if known else axis.split("*")


def _factor(text: str, sizes: Sizes) -> int:
    return int(text) if text.isdigit() else sizes[text]


@cache
def formula(text: str) -> CodeType:
    """Return a formula compiled; `co_names` are the letters, attributes and functions that it names."""
    return compile(text, "a formula", "eval")


def value(text: str, known: Mapping):
    """Return what a formula gives, None where it names something that is not known; ValueError where it gives nothing.

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
        raise ValueError(
            problem(
                f"{text} must give a length",
                ", ".join(f"{name} {one}" for name, one in given.items()),
                f"change them: {error}",
            )
        ) from None


def resolved(sizes: Sizes, formulas: Mapping[str, str], attributes: Mapping) -> Sizes:
    """Return the sizes with those that formulas give by now; ValueError for a length below 0, and for no window."""
    for letter, text in formulas.items():
        if letter not in sizes and (found := value(text, attributes | sizes)) is not None:
            least = int(text.startswith("windows("))  # where none fits, nothing is pooled
            if isinstance(found, int) and found < least and not text.isidentifier():
                named = ", ".join(
                    f"{name} {(attributes | sizes)[name]}"
                    for name in formula(text).co_names
                    if name not in FUNCTIONS
                )
                raise ValueError(
                    problem(
                        f"{letter} = {text} must be at least {least}",
                        f"{found} for {named}",
                        "change one of them",
                    )
                )
            sizes = sizes | {letter: found}
        factors = letter.split("*") if letter in sizes else ()
        unknown = [name for name in factors if name not in sizes]
        if len(unknown) == 1:
            rest = prod(sizes[name] for name in factors if name in sizes)
            if rest < 1 or sizes[letter] % rest:
                raise ValueError(
                    problem(
                        f"{text} must be a multiple of {', '.join(name for name in factors if name in sizes)}",
                        f"{sizes[letter]} and {rest}",
                        "change one of them",
                    )
                )
            sizes = sizes | {unknown[0]: sizes[letter] // rest}
    return sizes


@cache
def pattern(text: str) -> Pattern:
    return Pattern(text)


def chosen(text: str, attributes: dict) -> Pattern:
    """Return the pattern that holds for these attributes, of a text such as "N if reduction = none else ()".

    Several values are joined by |, and after `else` another `if` may follow.

    >>> chosen("N if reduction = none else ()", {"reduction": "mean"}).scalar
    True
    """
    return pattern(branch(text, attributes))


def branch(text: str, attributes: dict) -> str:
    """Return what holds for these attributes, of a text as in `chosen`."""
    yes, name, value, no = _parts(text)
    return (
        yes
        if name is None or str(attributes.get(name)) in value.split("|")
        else branch(no, attributes)
    )


def choices(text: str) -> list[Pattern]:
    """Return the patterns of a text, of which attributes choose one."""
    yes, _, _, no = _parts(text)
    return [pattern(yes), *(choices(no) if no else ())]


@cache
def _parts(text: str) -> tuple:
    """A pattern, and of one under a condition the attribute, its value, and the pattern otherwise."""
    condition = re.fullmatch(r"(.*?) if (\w+) = ([\w|]+) else (.*)", text)
    return condition.groups() if condition else (text, None, None, None)
