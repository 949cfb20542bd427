"""Write the first page of JupyterLab and of the site: an interactive picture that moves, and three links."""

from functools import cache
from html import escape
from pathlib import Path

from aclnn_viz.words.messages import language, message, tr

TEMPLATE = Path(__file__).parent / "jupyter" / "custom" / "start.html"
CALL = message("Drag the point out of the image.")
ALIVE = message("Explorer of {name} with controls that move the picture")
WAYS = (
    (message("I am new"), message("Follow one operator from its formula to a kernel of your own.")),
    (
        message("My kernel fails"),
        message("One command says where a kernel is wrong, and which line to change."),
    ),
    (
        message("I have a formula"),
        message(
            "One cell of a notebook proves a formula for all shapes, or says where the formula fails."
        ),
    ),
)
LESSONS = "00_start_here", "13_judge_your_kernel", "14_prove_your_formula"
NOTHING = message("Nothing here was run on Atlas hardware; what is emulated or predicted says so.")


@cache
def picture() -> str:
    """Return the name of the operator that the start page shows: its explorer sets FIRST."""
    from aclnn_viz.operators import operators, registry

    owners = (op.name for op in operators())
    return next(name for name in owners if getattr(registry.module("explorer", name), "FIRST", 0))


def beginning(folder: str, links) -> str:
    """Return the HTML of the heading, the picture's frame and three link cards; the picture's page lies in `folder`."""
    here = "" if language() == "en" else f"#lang={language()}"
    title = escape(tr(ALIVE, name=picture()))
    cards = "\n".join(
        f'<a href="{link}"><b>{escape(tr(name))}</b><span>{escape(tr(what))}</span></a>'
        for link, (name, what) in zip(links, WAYS)
    )
    return (
        f'<p class="call">{escape(tr(CALL))}</p>\n'
        f'<iframe class="explorer" title="{title}" src="{folder}{picture()}.html{here}"></iframe>\n'
        f'<div class="ways">\n{cards}\n</div>'
    )


def write(folder: Path, lessons: str) -> None:
    """Write the files that JupyterLab serves below custom/: a style sheet, the page with links to `lessons`, and its picture."""
    from aclnn_viz.explorers import explore

    folder.mkdir(parents=True, exist_ok=True)
    style = TEMPLATE.with_name("custom.css")
    (folder / style.name).write_bytes(style.read_bytes())
    explorer = explore(picture())
    try:
        explorer.save(folder / f"{picture()}.html")
    finally:
        explorer.close()
    links = [f"../lab/tree/{lessons}{name}.ipynb" for name in LESSONS]
    parts = {
        "lang": language(),
        "beginning": beginning("", links),
        "foot": escape(tr(NOTHING)),
    }
    page = TEMPLATE.read_text("utf-8")
    for name, text in parts.items():
        page = page.replace(f"{{{{{name}}}}}", text)
    (folder / TEMPLATE.name).write_text(page, "utf-8")
