"""An operator in words: its parameters with shapes, dtypes and defaults, its outputs, what each product takes."""

import html
import inspect
from dataclasses import dataclass

from aclnn_viz.operators.parameters import Parameter

HEADER = ("parameter", "what", "shape", "dtype or values", "default")


@dataclass(frozen=True)
class Description:
    """`title`, `about` (the page's own words), `rows` under HEADER, and `products`: what each takes."""

    title: str
    about: str
    rows: tuple[tuple[str, ...], ...]
    products: tuple[str, ...]

    def __str__(self) -> str:
        widths = [max(map(len, column)) for column in zip(HEADER, *self.rows)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip()
                 for row in (HEADER, ["-" * width for width in widths], *self.rows)]
        return "\n".join([self.title, "", self.about, "", *lines, "", *self.products])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        def cells(row, tag):
            return "<tr>" + "".join(f'<{tag} style="text-align:left">{html.escape(cell)}</{tag}>' for cell in row)
        table = "".join([cells(HEADER, "th"), *(cells(row, "td") for row in self.rows)])
        lines = "".join(f"<br>{html.escape(line)}" for line in self.products)
        return (f"<b>{html.escape(self.title)}</b><pre>{html.escape(self.about)}</pre><table>{table}</table>"
                f"<small>{lines}</small>")


def describe(op) -> Description:
    """Return what is declared of an operator, in words."""
    rows = [_row(op, p) for p in op.c_parameters]
    rows += [_row(op, p, "forward") for p in op.forward_parameters if p.name not in {q.name for q in op.parameters}]
    products = [f"{', '.join(product.name for product in products)}: {', '.join(formats.split())}"
                for products, formats in op.formats.items()]
    products.append("shapes: *R is any number of axes, G*D one axis of G times D, 1..K an axis of length 1 for each of "
                    "*K, () one number")
    return Description(f"{op.name}, {op.aclnn_name} (aclnnop/{op.header}, {op.library})",
                       inspect.getdoc(op.page).strip(), tuple(rows), tuple(products))


def _row(op, p: Parameter, where: str = "") -> tuple[str, ...]:
    what = " ".join(filter(None, (where, "output" if p.output else role(op, p.name), p.kind)))
    tensor = op.tensors.get(p.name)
    if tensor is not None:
        allowed = "16 to 64 bits" if p.name == op.like else {"same": f"that of {op.like}", "wide": "float32 at least"}.get(
            p.dtype, p.dtype.replace("same", f"that of {op.like}").replace("as ", "that of "))
    elif p.values:
        allowed = ", ".join(map(repr, p.values))
    else:
        ends = (p.low, p.high)
        allowed = "" if ends == (None, None) else f"{'' if p.low is None else p.low} to {'' if p.high is None else p.high}"
    default = repr(p.default) if p.optional else "" if p.output else "required"
    return p.name, what, p.shape or "", allowed, default


def role(op, name: str) -> str:
    """What a parameter is for, where the declaration says it."""
    if name in op.upstream:
        return "upstream gradient,"
    return "saved by forward," if name in op.saved else ""
