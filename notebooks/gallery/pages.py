"""The lessons as static pages, with the outputs they are committed with; an explorer is a still picture, with its words.

A page is one file: pictures, formulas and style are inside, and its security policy forbids the browser to fetch.
"""

from html import escape
from pathlib import Path

from aclnn_viz.verification import conventions
from aclnn_viz.words import glossary
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from notebooks.gallery.formulas import html
from notebooks.gallery.outputs import lessons, read

CODE = HtmlFormatter(style="friendly")
DARK = HtmlFormatter(style="github-dark").get_style_defs(".highlight")
STYLE = (CODE.get_style_defs(".highlight") + f"@media (prefers-color-scheme: dark) {{ {DARK} }}\n"
         + (Path(__file__).parent / "style.css").read_text(encoding="utf-8"))
PAGE = """<!DOCTYPE html>
<html lang="en">
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
MOVES = "A still picture of the explorer: in JupyterLab it answers to every control."


def title(notebook) -> str:
    """Return the first heading of a notebook."""
    return notebook.cells[0].source.splitlines()[0].removeprefix("# ")


def page(notebook, name: str) -> str:
    """Return the HTML page of an executed notebook whose file is `name`.ipynb."""
    body = "\n".join(_markdown(cell) if cell.cell_type == "markdown" else _code(cell) for cell in notebook.cells)
    return PAGE.format(title=escape(title(notebook)), style=STYLE, navigation=_navigation(name), body=body)


def index() -> str:
    """Return the page that lists the lessons."""
    entries = [(path.stem, read(path)) for path in lessons()]
    rows = "\n".join(f'<li><a href="{name}.html">{html(title(book)).strip().removeprefix("<p>").removesuffix("</p>")}'
                     f"</a></li>" for name, book in entries)
    body = (f"<h1>aclnn-viz: the lessons</h1>\n<p>Read here, moved by hand in JupyterLab: <code>make lab</code>. Whose kernel "
            f'fails a test begins with 0, then 13; whose first kernel is to be written, with 0, 1 and 2.</p>\n'
            f'<ol start="0">\n{rows}\n</ol>\n<h2>To look things up</h2>\n<ul>\n'
            f'<li><a href="{REFERENCE}">The API reference</a>: every public function, with an example.</li>\n'
            f'<li><a href="conventions.html">The conventions</a> of every operator, where a value had to be chosen: at kinks '
            f'and ties, for nan and for nothing, beside what others do.</li>\n'
            f'<li><a href="glossary.html">The glossary</a>: the terms of the field in English and in Chinese.</li>\n</ul>')
    return PAGE.format(title="aclnn-viz: the lessons", style=STYLE, navigation="", body=body)


def chosen_values() -> str:
    """Return the page of all conventions, recomputed."""
    body = f"<h1>Conventions</h1>\n<pre>{escape(conventions.text_table(conventions.recompute()))}</pre>"
    return PAGE.format(title="Conventions", style=STYLE, navigation=_links([("index", "All lessons")]), body=body)


def terms() -> str:
    """Return the page of the glossary."""
    body = f'<h1>Glossary</h1>\n<div class="shown">{glossary()._repr_html_()}</div>'
    return PAGE.format(title="Glossary", style=STYLE, navigation=_links([("index", "All lessons")]), body=body)


def write(folder: Path, chosen: list[Path]) -> list[Path]:
    """Write the pages of the chosen lessons, with the outputs they are committed with, and the index; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {"index": index(), "conventions": chosen_values(), "glossary": terms()} | {path.stem: page(read(path), path.stem) for path in chosen}
    for name, text in made.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return [folder / f"{name}.html" for name in made]


def _navigation(name: str) -> str:
    names = [path.stem for path in lessons()]
    at = names.index(name)
    beside = [(other, f"← {other[:2]}") for other in names[:at][-1:]]
    beside += [(other, f"→ {other[:2]}") for other in names[at + 1:][:1]]
    return _links([("index", "All lessons"), *beside])


def _links(links) -> str:
    return "<nav>" + " ".join(f'<a href="{target}.html">{text}</a>' for target, text in links) + "</nav>"


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
        alt = escape(words.splitlines()[0]) if named else "Figure, described in the text"
        more = f"<figcaption>{MOVES}</figcaption>" if still else ""
        more += f"<details><summary>The picture in words</summary><pre>{escape(words)}</pre></details>" if named else ""
        return f'<figure><img src="data:image/png;base64,{data["image/png"].strip()}" alt="{alt}">{more}</figure>'
    if "text/html" in data:
        return f'<div class="shown">{data["text/html"]}</div>'
    if "text/latex" in data:
        return f'<div class="shown">{html(data["text/latex"].replace(chr(92) + "displaystyle ", ""))}</div>'
    if "text/markdown" in data:
        return f'<div class="shown">{html(data["text/markdown"])}</div>'
    return f"<pre>{escape(words)}</pre>"
