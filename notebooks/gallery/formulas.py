"""Markdown as HTML, formulas as MathML: browsers draw it without a script, so that a page needs nothing but itself."""

from latex2mathml.converter import convert
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath


class Renderer(IPythonRenderer):
    """Formulas become MathML, and links between notebooks links between pages."""

    def block_math(self, body: str) -> str:
        return convert(body.strip(), display="block")

    def inline_math(self, body: str) -> str:
        return convert(body.strip())

    def link(self, text: str, url: str, title: str | None = None) -> str:
        return super().link(text, url.replace(".ipynb", ".html"), title)


def html(markdown: str) -> str:
    r"""Return the HTML of Markdown with formulas between $ or $$.

    >>> "<msup>" in html("A square: $x^2$.")
    True
    """
    return MarkdownWithMath(renderer=Renderer(escape=False, exclude_anchor_links=True)).render(markdown)
