"""The lessons as static pages, with their outputs; an explorer is a still picture there, with its text twin.

A page is one file: pictures, formulas and style are inside, and its security policy forbids the browser to fetch.
"""

import os
import tempfile
from html import escape
from pathlib import Path

import nbclient
import nbformat
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from notebooks.gallery.formulas import html

LESSONS = Path(__file__).resolve().parents[1]
CODE = HtmlFormatter(style="friendly")
STYLE = (Path(__file__).parent / "style.css").read_text(encoding="utf-8") + CODE.get_style_defs(".highlight")
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
# What JupyterLab draws by a script is shown here as the picture that the explorer saves, and its words.
STILL = """
from aclnn_viz.explorers.widget import Explorer

Explorer._repr_mimebundle_ = lambda self, **_: (
    {"image/png": self.lifted("png"), "text/plain": self.picture["text"]}, {"still": self.subject.name})
"""
MOVES = "A still picture of the explorer: in JupyterLab it answers to every control."


def lessons() -> list[Path]:
    """Return the notebooks in learning order."""
    return sorted(LESSONS.glob("*.ipynb"))


def title(notebook) -> str:
    """Return the first heading of a notebook."""
    return notebook.cells[0].source.splitlines()[0].removeprefix("# ")


def executed(path: Path):
    """Return a notebook with its outputs, explorers as still pictures; raises CellExecutionError."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(STILL))
    client = nbclient.NotebookClient(
        notebook, timeout=300, coalesce_streams=True, resources={"metadata": {"path": str(LESSONS)}},
        extra_arguments=["--log-level=ERROR"])  # a kernel warns of its transport, which never leaves this machine
    with tempfile.TemporaryDirectory() as folder:  # the reader's progress with the puzzles stays as it is
        client.execute(env=os.environ | {"ACLNN_VIZ_DATA": folder})
    del notebook.cells[0]
    return notebook


def page(notebook, name: str) -> str:
    """Return the HTML page of an executed notebook whose file is `name`.ipynb."""
    body = "\n".join(_markdown(cell) if cell.cell_type == "markdown" else _code(cell) for cell in notebook.cells)
    return PAGE.format(title=escape(title(notebook)), style=STYLE, navigation=_navigation(name), body=body)


def index() -> str:
    """Return the page that lists the lessons."""
    entries = [(path.stem, nbformat.read(path, as_version=4)) for path in lessons()]
    rows = "\n".join(f'<li><a href="{name}.html">{html(title(book)).strip().removeprefix("<p>").removesuffix("</p>")}'
                     f"</a></li>" for name, book in entries)
    body = (f"<h1>aclnn-viz: the lessons</h1>\n<p>Read here, moved by hand in JupyterLab: <code>make lab</code>.</p>\n"
            f'<ol start="0">\n{rows}\n</ol>')
    return PAGE.format(title="aclnn-viz: the lessons", style=STYLE, navigation="", body=body)


def write(folder: Path, chosen: list[Path]) -> list[Path]:
    """Execute the chosen lessons and write their pages and the index into a folder; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {"index": index()} | {path.stem: page(executed(path), path.stem) for path in chosen}
    for name, text in made.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    return [folder / f"{name}.html" for name in made]


def _navigation(name: str) -> str:
    names = [path.stem for path in lessons()]
    at = names.index(name)
    beside = [(other, f"← {other[:2]}") for other in names[:at][-1:]]
    beside += [(other, f"→ {other[:2]}") for other in names[at + 1:][:1]]
    links = [("index", "All lessons"), *beside]
    return "<nav>" + " ".join(f'<a href="{target}.html">{text}</a>' for target, text in links) + "</nav>"


def _markdown(cell) -> str:
    return f'<section class="words">{html(cell.source)}</section>'


def _code(cell) -> str:
    return (f'<section class="code">{highlight(cell.source, PythonLexer(), CODE)}'
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
    if "text/markdown" in data:
        return f'<div class="shown">{html(data["text/markdown"])}</div>'
    return f"<pre>{escape(words)}</pre>"
