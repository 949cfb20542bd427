"""Additions to the Sphinx site: live explorers instead of stills, formulas as MathML, a link to the other edition.

A page loads nothing from a host, and also opens from the file system.
"""

import re
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from html import escape
from multiprocessing import get_context
from pathlib import Path
from posixpath import relpath
from zlib import crc32

import nbformat
from docutils import nodes
from latex2mathml.converter import convert

import aclnn_viz as av
from aclnn_viz.cli.start_page import ALIVE, LESSONS, beginning
from aclnn_viz.explorers import explorers
from aclnn_viz.words.messages import language, message, tr
from notebooks.gallery.cards import gallery, thumbnail

FRAME = '<iframe class="explorer" title="{title}" src="{up}/live/{page}.html{language}" loading="lazy"></iframe>'
FOLDED = "<details><summary>{title}</summary><pre>{words}</pre></details>"
# Sentences of the theme for which Sphinx has no Chinese translation.
THEME = {
    message("Next"),
    message("Previous"),
    message("On this page"),
    message("Back to top"),
    message("Made with "),
    message("Home"),
}
IN_WORDS = message("The picture in words")
# marks in the text of the first page. The Chinese edition lies in zh/, its pages in zh/docs/zh/
# and zh/notebooks/zh/; all its pages lie equally deep.
BEGINNING, GALLERY = "<!-- beginning -->", "<!-- gallery -->"
UP = {"en": "..", "zh": "../../.."}
OTHER = {"en": ("zh/", "docs/zh/index", "中文"), "zh": ("", "docs/index", "English")}
LINK = {
    "en": re.compile(r"\[([^]]*)\]\(zh/(\w+)\.ipynb\)"),
    "zh": re.compile(r"\[([^]]*)\]\(\.\./(\w+)\.ipynb\)"),
}
GUIDE = re.compile(r"\[([^]]*)\]\((?:\.\./)+docs/(\w+)\.md\)")


def page_of(name: str, state: str) -> str:
    """Return the name of an explorer's page; each state other than the first has another page.

    >>> page_of("tiles", ""), page_of("tiles", "schedule=%22late%22")
    ('tiles', 'tiles-a6fbc8cd')
    """
    return f"{name}-{crc32(state.encode()):08x}" if state else name


def read(text: str):
    return nbformat.reads(text, as_version=4)


def explorer_of(output) -> tuple[str, str] | None:
    """Return the name and the state of the explorer whose still picture an output is."""
    held = output.get("metadata", {})
    return (held["still"], held.get("state", "").lstrip("#")) if "still" in held else None


def lesson(text: str):
    """Return a notebook with explorers in place of their still pictures, and with figures' words below them."""
    notebook, here = read(text), language()
    folder = "zh/notebooks/zh" if here == "en" else "notebooks"
    # this lexer colours shell calls in cells
    notebook.metadata["language_info"] = {"name": "python", "pygments_lexer": "ipython3"}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":  # links between editions lead to the other site
            cell.source = LINK[here].sub(
                rf'<a href="{UP[here]}/{folder}/\2.html">\1</a>', cell.source
            )
            if here == "zh":  # guides exist only in English
                cell.source = GUIDE.sub(rf'<a href="{UP[here]}/docs/\2.html">\1</a>', cell.source)
        for hidden, tag in (("source_hidden", "hide-input"), ("outputs_hidden", "hide-output")):
            if cell.metadata.get("jupyter", {}).get(hidden):
                cell.metadata.setdefault("tags", []).append(tag)
        for output in list(cell.get("outputs", ())):
            words = output.get("data", {}).get("text/plain", "")
            if shown := explorer_of(output):
                output.data = {
                    "text/html": FRAME.format(
                        title=escape(tr(ALIVE, name=shown[0])),
                        up=UP[here],
                        page=page_of(*shown),
                        language="" if here == "en" else "#lang=zh",
                    )
                }
            elif "image/png" in output.get("data", {}) and not words.startswith("<"):
                cell.metadata.setdefault("mystnb", {})["image"] = {"alt": words.splitlines()[0]}
                folded = FOLDED.format(title=tr(IN_WORDS), words=escape(words))
                cell.outputs.insert(
                    cell.outputs.index(output) + 1,
                    nbformat.v4.new_output("display_data", {"text/html": folded}),
                )
    return notebook


def write_explorers(app) -> None:
    """Write the explorers as pages, also in the states that lessons show; the Chinese edition shows the same pages."""
    if language() == "en":
        folder = Path(app.outdir) / "live"
        folder.mkdir(parents=True, exist_ok=True)
        lessons = [
            read(path.read_text("utf-8")) for path in Path(app.srcdir).glob("notebooks/*.ipynb")
        ]
        shown = {
            explorer_of(output)
            for lesson in lessons
            for cell in lesson.cells
            for output in cell.get("outputs", ())
        }
        # start with zoom, which is slowest
        pages = sorted({(name, "") for name in explorers()} | shown - {None}, reverse=True)
        with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
            list(pool.map(partial(write_explorer, folder), pages))


def write_explorer(folder: Path, page: tuple[str, str]) -> None:
    name, state = page
    explorer = av.explore(name, state=state)
    explorer.save(folder / f"{page_of(name, state)}.html")
    if not state:
        panel = explorer.subject.panels(explorer.data)[0]
        (folder / f"{name}.png").write_bytes(thumbnail(panel))
    explorer.close()


def place_first(app, name: str, source: list[str]) -> None:
    """Put the live picture, the three links and the cards of all explorers into the first page."""
    here = language()
    folder, up = ("../notebooks", UP[here]) if here == "en" else ("../../notebooks/zh", UP[here])
    new, _, formula = (f"{folder}/{name}.html" for name in LESSONS)
    first = beginning(f"{up}/live/", (new, f"{up}/docs/checking.html", formula))
    cards = gallery(up, "" if here == "en" else "#lang=zh")
    source[0] = source[0].replace(BEGINNING, first).replace(GALLERY, cards)


def link_other_edition(app, pagename, templatename, context, doctree) -> None:
    """Give a page a link to the same page of the other edition, or else to its first page."""
    (folder, _, name), (root, first, label) = pagename.rpartition("/"), OTHER[language()]
    same = f"{folder}/zh/{name}" if root else f"{folder.removesuffix('/zh')}/{name}"
    there = any((Path(app.srcdir) / same).with_suffix(kind).exists() for kind in (".md", ".ipynb"))
    context["_"] = context["gettext"] = lambda text: (
        tr(text) if text in THEME else app.translator.gettext(text)
    )
    context["other_edition"] = (
        label,
        relpath(
            f"{root}{same if there else first}.html", f"{'' if root else 'zh/'}{folder}" or "."
        ),
    )


def setup(app):
    """Register the extension with Sphinx."""

    def drawn(display):
        def visit(self, node):
            self.body.append(convert(node.astext(), display=display))
            raise nodes.SkipNode

        return visit, None

    app.add_html_math_renderer("mathml", drawn("inline"), drawn("block"))
    app.connect("builder-inited", write_explorers)
    app.connect("source-read", place_first)
    app.connect("html-page-context", link_other_edition)
    return {"parallel_read_safe": True}
