"""The cards of the site's first page: each explorer's main picture, small and without words, by family of the vendor's
documents.
"""

from dataclasses import replace
from html import escape
from itertools import groupby

from aclnn_viz.operators import operators
from aclnn_viz.operators.document import documented
from aclnn_viz.pictures import marks
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.picture import Picture
from aclnn_viz.words.messages import message, tr
from notebooks.gallery.pictures import small

WIDE, TALL = 440, 275  # width and height of a card's picture, in pixels; shown at half size
COLOURS = 48  # colours of a card's palette
FAMILIES = {
    "": message("Errors, calls and tiles"),
    "activations": message("Activations"),
    "gated": message("Gated activations"),
    "softmax": message("Softmax"),
    "losses": message("Losses"),
    "norms": message("Norms"),
    "attention": message("Attention"),
    "resampling": message("Resampling"),
    "padding": message("Padding"),
    "pooling": message("Pooling"),
    "indexing": message("Indexing"),
}
OTHERS = "numeric_error", "tiles", "two_phase", "zoom"
FIND = message("Find an operator")


def thumbnail(panel: Panel) -> bytes:
    """Return the picture of a panel, without words, as a small PNG."""
    axes = {
        name: Axis("", axis.low, axis.high, axis.scale, ())
        for name, axis in (("x", panel.x), ("y", panel.y))
    }
    bare = []
    for mark in panel.marks:
        if isinstance(mark, marks.Heat):
            bare.append(marks.Image(mark.values, mark.map, mark.low, mark.high))
        elif not isinstance(mark, marks.Rule | marks.Grip | marks.Note):
            bare.append(replace(mark, label="") if hasattr(mark, "label") else mark)
    size = {"span": 20, "rows": 1, "height": TALL, "more": False}
    plain = replace(panel, title="", marks=tuple(bare), **axes, **size)
    return small(Picture((), (plain,), "", width=WIDE).png(), COLOURS)


def gallery(up: str, language: str) -> str:
    """Return the HTML of all cards by family, with a search field; `up` leads to the folder of the site."""
    families = {one.aclnn_name: one.family for one in documented()}
    named = [(families[op.aclnn_name], op.name, op.aclnn_name) for op in operators()]
    order = list(FAMILIES)
    named = sorted(
        [*named, *(("", name, "") for name in OTHERS)], key=lambda one: order.index(one[0])
    )
    parts = [
        f'<input type="search" class="filter" placeholder="{tr(FIND)}" aria-label="{tr(FIND)}">'
    ]
    for family, cards in groupby(named, lambda one: one[0]):
        title = escape(tr(FAMILIES[family]))
        parts.append(f'<section><h2>{title}</h2><div class="cards">')
        for _, name, vendor in cards:
            parts.append(
                f'<a href="{up}/live/{name}.html{language}" data-words="{name} {vendor.lower()} {title.lower()}">'
                f'<img src="{up}/live/{name}.png" alt="" loading="lazy" width="{WIDE // 2}" height="{TALL // 2}">{name}</a>'
            )
        parts.append("</div></section>")
    return f'<div class="gallery">{"".join(parts)}</div>'
