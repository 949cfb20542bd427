"""The lessons as static pages, with the outputs they are committed with; an explorer is a still picture, with its words.

An edition in another language has a folder of its own, and each page a link to the same page of the other edition.
A page is one file: pictures, formulas and style are inside, and its security policy forbids the browser to fetch.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

from aclnn_viz.verification import conventions
from aclnn_viz.words import glossary, language
from aclnn_viz.words.messages import LANGUAGES, message, tr
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from notebooks.gallery.formulas import html
from notebooks.gallery.outputs import language_of, lessons, read

CODE = HtmlFormatter(style="friendly")
DARK = HtmlFormatter(style="github-dark").get_style_defs(".highlight")
STYLE = (CODE.get_style_defs(".highlight") + f"@media (prefers-color-scheme: dark) {{ {DARK} }}\n"
         + (Path(__file__).parent / "style.css").read_text(encoding="utf-8"))
PAGE = """<!DOCTYPE html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{navigation}
<main>
{body}
</main>
{navigation}
</body>
</html>
"""
REFERENCE = "reference/index.html"
NAMES = dict(zip(LANGUAGES, ("English", "中文")))
MOVES = message("A still picture of the explorer: in JupyterLab it answers to every control.")


def title(notebook) -> str:
    """Return the first heading of a notebook."""
    return notebook.cells[0].source.splitlines()[0].removeprefix("# ")


@contextmanager
def speaking(chosen: str) -> Iterator[None]:
    """While it is open, pages are made in a language."""
    before = language()
    language(chosen)
    try:
        yield
    finally:
        language(before)


def page(notebook, name: str) -> str:
    """Return the HTML page of an executed notebook whose file is `name`.ipynb."""
    body = "\n".join(_markdown(cell) if cell.cell_type == "markdown" else _code(cell) for cell in notebook.cells)
    names = [path.stem for path in lessons(language())]
    at = names.index(name)
    beside = [(other, f"← {other[:2]}") for other in names[:at][-1:]]
    beside += [(other, f"→ {other[:2]}") for other in names[at + 1:][:1]]
    return _framed(title(notebook), body, name, [("index", tr("All lessons")), *beside])


def index() -> str:
    """Return the page that lists the lessons."""
    rows = "\n".join(f'<li><a href="{path.stem}.html">{html(title(read(path))).strip().removeprefix("<p>").removesuffix("</p>")}'
                     f"</a></li>" for path in lessons(language()))
    kept = [(f"{_up()}{REFERENCE}", tr("<a>The API reference</a>: every public function, with an example.")),
            ("conventions.html", tr("<a>The conventions</a> of every operator, where a value had to be chosen: at kinks "
                                    "and ties, for nan and for nothing, beside what others do.")),
            ("glossary.html", tr("<a>The glossary</a>: the terms of the field in English and in Chinese."))]
    found = "\n".join("<li>" + text.replace("<a>", f'<a href="{place}">') + "</li>" for place, text in kept)
    head, beside = tr("aclnn-viz: the lessons"), tr("To look things up")
    shown = tr("These pages are for reading; <code>make lab</code> opens the lessons in JupyterLab, where you move the pictures by hand. "
              "If your kernel fails a test, read 0, then 13. If you write your first kernel, read 0, 1 and 2.")
    body = (f"<h1>{head}</h1>\n<p>{shown}</p>\n"
            f'<ol start="0">\n{rows}\n</ol>\n<h2>{beside}</h2>\n<ul>\n{found}\n</ul>')
    return _framed(head, body, "index", [])


def chosen_values() -> str:
    """Return the page of all conventions, recomputed."""
    return _looked_up(tr("Conventions"), f"<pre>{escape(conventions.text_table(conventions.recompute()))}</pre>", "conventions")


def terms() -> str:
    """Return the page of the glossary."""
    return _looked_up(tr("Glossary"), f'<div class="shown">{glossary()._repr_html_()}</div>', "glossary")


def write(folder: Path, chosen: list[Path]) -> list[Path]:
    """Write the pages of the chosen lessons, with the outputs they are committed with, and the index; return the paths."""
    made = {}
    for each in LANGUAGES:
        if mine := [path for path in chosen if language_of(path) == each]:
            with speaking(each):
                pages = {"index": index(), "conventions": chosen_values(), "glossary": terms()} | {
                    path.stem: page(read(path), path.stem) for path in mine}
                made |= {folder / _below() / f"{name}.html": text for name, text in pages.items()}
    for place, text in made.items():
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return [*made]


def _below() -> str:
    """Where the pages of the chosen language lie, seen from those in English."""
    return "" if language() == LANGUAGES[0] else language()


def _up() -> str:
    """Where the pages in English lie, seen from those of the chosen language."""
    return "../" if _below() else ""


def _looked_up(head: str, body: str, name: str) -> str:
    return _framed(head, f"<h1>{head}</h1>\n{body}", name, [("index", tr("All lessons"))])


def _framed(head: str, body: str, name: str, links: list[tuple[str, str]]) -> str:
    """The page of that name, with links above and below it, the last one to the same page in the other language."""
    for other in LANGUAGES:
        if other != language() and name in {"index", "conventions", "glossary", *(path.stem for path in lessons(other))}:
            links = [*links, (f"{_up()}{'' if other == LANGUAGES[0] else f'{other}/'}{name}", NAMES[other])]
    navigation = "<nav>" + " ".join(f'<a href="{target}.html">{text}</a>' for target, text in links) + "</nav>"
    return PAGE.format(language=language(), title=escape(head), style=STYLE, navigation=navigation, body=body)


def _markdown(cell) -> str:
    return f'<section class="words">{html(cell.source)}</section>'


def _code(cell) -> str:
    hidden = cell.metadata.get("jupyter", {}).get("source_hidden")  # a question, whose answer follows
    return (f'<section class="code">{"" if hidden else highlight(cell.source, PythonLexer(), CODE)}'
            + "".join(map(_output, cell.outputs)) + "</section>")


def _output(output) -> str:
    if output.output_type == "stream":
        return f"<pre>{escape(output.text)}</pre>"
    data, still = output.data, "still" in output.get("metadata", {})
    words = data.get("text/plain", "")
    if "image/png" in data:
        named = not words.startswith("<")  # a figure of Matplotlib itself is described in the text of its lesson
        alt = escape(words.splitlines()[0]) if named else tr("Figure, described in the text")
        more = f"<figcaption>{tr(MOVES)}</figcaption>" if still else ""
        text = tr("The picture in words")
        more += f"<details><summary>{text}</summary><pre>{escape(words)}</pre></details>" if named else ""
        return f'<figure><img src="data:image/png;base64,{data["image/png"].strip()}" alt="{alt}">{more}</figure>'
    if "text/html" in data:
        return f'<div class="shown">{data["text/html"]}</div>'
    if "text/latex" in data:
        return f'<div class="shown">{html(data["text/latex"].replace(chr(92) + "displaystyle ", ""))}</div>'
    if "text/markdown" in data:
        return f'<div class="shown">{html(data["text/markdown"])}</div>'
    return f"<pre>{escape(words)}</pre>"
