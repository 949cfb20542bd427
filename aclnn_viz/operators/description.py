"""Describe an operator in words: parameters with shapes, dtypes and defaults, outputs, and what each product takes."""

import html
import inspect
import re
from dataclasses import dataclass

from aclnn_viz.operators.parameters import Parameter
from aclnn_viz.tables import as_text, columns
from aclnn_viz.words.messages import enumerated, linked, message, said, tr

HEADER = (
    message("parameter"),
    message("what"),
    message("shape"),
    message("dtype or values"),
    message("default"),
)
TENSOR = message("tensor")  # the other kinds of parameters are names of Python types


@dataclass(frozen=True)
class Description:
    """An operator in words: `title`, `about` (from the page), `rows` under HEADER, and the formats of `products`.

    Translated texts are messages.
    """

    title: str
    about: str
    rows: tuple[tuple[str, ...], ...]
    products: tuple[str, ...]

    def __str__(self) -> str:
        header, *rows = ([*map(said, row)] for row in (HEADER, *self.rows))
        dashes = ["-" * max(map(columns, column)) for column in zip(header, *rows)]
        return "\n".join(
            [
                self.title,
                "",
                self.about,
                "",
                *as_text(header, [dashes, *rows]),
                "",
                *map(said, self.products),
            ]
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def cells(row, tag):
            return "<tr>" + "".join(
                f'<{tag} style="text-align:left">{html.escape(said(cell))}</{tag}>' for cell in row
            )

        table = "".join([cells(HEADER, "th"), *(cells(row, "td") for row in self.rows)])
        lines = "".join(f"<br>{html.escape(said(line))}" for line in self.products)
        return (
            f"<b>{html.escape(self.title)}</b><pre>{html.escape(self.about)}</pre><table>{table}</table>"
            f"<small>{lines}</small>"
        )


def describe(op) -> Description:
    """Return the declaration of an operator in words."""
    rows = [_row(op, p) for p in op.c_parameters]
    rows += [
        _row(op, p, message("forward"))
        for p in op.forward_parameters
        if p.name not in {q.name for q in op.parameters}
    ]
    products = [
        tr(
            "{title}: {texts}",
            title=enumerated(product.title for product in products),
            texts=enumerated(formats.split()),
        )
        for products, formats in op.formats.items()
    ]
    products += [
        tr(
            "{title}: {texts}",
            title=enumerated(product.title for product in some),
            texts=f"{name} = {' or '.join(map(str, values))}",
        )
        for name, attribute in op.attributes.items()
        for some, values in attribute.only.items()
    ]
    products.append(
        message(
            "shapes: *R is any number of axes, G*D one axis of G times D, 1..K an axis of length 1 for each "
            "of *K, () one number"
        )
    )
    products += [f"{letter} = {text}" for letter, text in op.sizes.items() if letter != text]
    return Description(
        f"{op.name}, {op.aclnn_name} (aclnnop/{op.header}, {op.library})",
        inspect.getdoc(op.page).strip(),
        tuple(rows),
        tuple(products),
    )


def _row(op, p: Parameter, where: str = "") -> tuple[str, ...]:
    kind = TENSOR if p.kind == TENSOR else p.kind
    what = linked(
        "{some} {more}",
        filter(None, (where, message("output") if p.output else role(op, p.name), kind)),
    )
    tensor = op.tensors.get(p.name)
    if tensor is not None:
        allowed = (
            message("16 to 64 bits")
            if p.name == op.like
            else linked("{some} or {more}", (_format(op, one) for one in p.dtype.split(" or ")))
        )
    elif p.values:
        allowed = linked("{some}, {more}", map(p.shown, p.values))
    else:
        low, high = (
            "" if end is None else end if isinstance(end, str) else f"{end:g}"
            for end in (op.attributes[p.name].low, op.attributes[p.name].high)
        )
        allowed = message("{low} to {high}", low=low, high=high) if (low, high) != ("", "") else ""
    default = repr(p.default) if p.optional else "" if p.output else message("required")
    known = set()  # each attribute of a shape is named once
    shape = re.sub(
        r" if (\w+) = ([\w|]+) else ",
        lambda found: (
            f" ({found[2]}), "
            if found[1] in known or known.add(found[1])
            else f" ({found[1]} {found[2]}), "
        ),
        p.shape or "",
    )
    return p.name, what, shape, allowed, default


def _format(op, dtype: str) -> str:
    """Return a format that the tensor may have, as text."""
    of = (
        op.like if dtype == "same" else dtype.removeprefix("as ") if dtype.startswith("as ") else ""
    )
    return (
        message("that of {name}", name=of)
        if of
        else message("float32 at least")
        if dtype == "wide"
        else dtype
    )


def role(op, name: str) -> str:
    """Return a parameter's purpose if the declaration states it."""
    if name in op.upstream:
        return message("upstream gradient,")
    return message("saved by forward,") if name in op.saved else ""
