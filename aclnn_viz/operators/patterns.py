"""Shape patterns: how the axes of an operator's tensors belong together, and what a page makes of them.

A pattern names one axis after another: "N C H W". `*R` stands for any number of axes, `G*D` for one axis whose length
is a product, `2` for just that length, `1..K` for an axis of length 1 for each of `*K`, and "()" for one number, of
shape () or (1,). Pages see one axis a name, `*R` flattened; parentheses flatten what they hold: "N C (Ho Wo)".
"""

import re
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod

Sizes = dict[str, int | tuple[int, ...]]  # a length for a name, a tuple of lengths for a starred one


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
        return [] if self.scalar else re.findall(r"\(|\)|[^\s()]+", self.text)

    @property
    def scalar(self) -> bool:
        return self.text == "()"

    @cached_property
    def axes(self) -> tuple[str, ...]:
        """The tokens of the vendor's shape, one after the other."""
        return tuple(token for token in self._tokens if token not in "()")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names that stand in the pattern, starred ones without their star."""
        return tuple(dict.fromkeys(re.findall(r"[A-Za-z]\w*", self.text)))

    @cached_property
    def _page_axes(self) -> list[list[str]]:
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

    def bind(self, shape: tuple[int, ...], sizes: Sizes) -> Sizes:
        """Return the sizes with those that this shape adds; ValueError(axis) at the first axis that does not fit.

        At most one starred name may be new; lengths that are known already are not compared with the shape.
        """
        sizes, at = dict(sizes), 0
        new = [name for name in self.starred if name not in sizes]
        fixed = sum(self._rank(axis, sizes) for axis in self.axes if axis[1:] not in new)
        for axis in self.axes:
            rank = len(shape) - fixed if axis[1:] in new else self._rank(axis, sizes)
            part, at = shape[at:at + rank], at + rank
            if axis[0] == "*":
                sizes.setdefault(axis[1:], tuple(part))
            elif "*" in axis:
                known = [name for name in axis.split("*") if name in sizes]
                (rest,) = set(axis.split("*")) - set(known) or {None}
                divisor = prod(sizes[name] for name in known)
                if rest and (divisor < 1 or part[0] % divisor or not part[0]):
                    raise ValueError(at - 1)
                if rest:
                    sizes[rest] = part[0] // divisor
            elif axis[0].isalpha():
                sizes.setdefault(axis, part[0])
        return sizes

    def rank(self, sizes: Sizes) -> int:
        return sum(self._rank(axis, sizes) for axis in self.axes)

    def _rank(self, axis: str, sizes: Sizes) -> int:
        many = axis[1:] if axis[0] == "*" else axis[3:] if axis.startswith("1..") else None
        return len(sizes[many]) if many else 1

    def _lengths(self, axis: str, sizes: Sizes) -> tuple[int, ...]:
        if axis in sizes:  # most of them
            return (sizes[axis],)
        if axis[0] == "*":
            return sizes[axis[1:]]
        if axis.startswith("1.."):
            return (1,) * len(sizes[axis[3:]])
        return (prod(int(part) if part.isdigit() else sizes[part] for part in axis.split("*")),)

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        """The vendor's shape."""
        return tuple(n for axis in self.axes for n in self._lengths(axis, sizes))

    def page_shape(self, sizes: Sizes) -> tuple[int, ...]:
        """The shape under which a page sees the tensor."""
        return tuple(prod(n for part in parts for n in self._lengths(part, sizes)) for parts in self._page_axes)


@cache
def pattern(text: str) -> Pattern:
    return Pattern(text)


def chosen(text: str, attributes: dict) -> Pattern:
    """Return the pattern that holds for these attributes, of a text such as "N if reduction = none else ()".

    >>> chosen("N if reduction = none else ()", {"reduction": "mean"}).scalar
    True
    """
    yes, name, value, no = _parts(text)
    return pattern(yes if name is None or str(attributes.get(name)) == value else no)


@cache
def _parts(text: str) -> tuple:
    """A pattern, and of one under a condition the attribute, its value, and the pattern otherwise."""
    condition = re.fullmatch(r"(.*) if (\w+) = (\w+) else (.*)", text)
    return condition.groups() if condition else (text, None, None, None)
