"""The kit can be read before it is installed: the pictures of README and docs are the present ones, the lessons become pages."""

import importlib.util
import re

import nbformat
import pytest

from aclnn_viz.words.messages import LANGUAGES
from machine import ROOT
from notebooks.gallery import formulas, pages, pictures, reference

SHOWN = [shown for path in (ROOT / "README.md", *ROOT.glob("docs/*.md"))
         for shown in re.findall(r"!\[(.*?)\]\((?:\.\./)?(\S+?\.png)\)", path.read_text(encoding="utf-8"))]
FETCHED = re.compile(r"""(?:src|href)\s*=\s*["'](?!data:|#|(?:\.\./|zh/|reference/)*[\w-]+\.html["'#])[^"']*|url\([^)]*\)|@import|<script""")


def committed(name):
    return (pictures.PICTURES / f"{name}.png").read_bytes()


def book(*cells):
    """A notebook of executed cells: texts are Markdown, lists are outputs of code."""
    made = [nbformat.v4.new_markdown_cell(cell) if isinstance(cell, str) else
            nbformat.v4.new_code_cell("code", outputs=cell) for cell in ("# A title", *cells)]
    return pages.page(nbformat.v4.new_notebook(cells=made), pages.lessons()[0].stem)


def output(**data):
    return [nbformat.v4.new_output("display_data", {kind.replace("_", "/"): value for kind, value in data.items()})]


def test_readme_and_docs_show_every_picture_with_words_and_no_other():
    assert {path for _, path in SHOWN} == {f"notebooks/pictures/{p.name}" for p in pictures.PICTURES.iterdir()}
    assert all(20 < len(words) < 140 for words, _ in SHOWN)


def test_pictures_are_small():
    sizes = [path.stat().st_size for path in pictures.PICTURES.iterdir()]
    assert max(sizes) < 150_000 and sum(sizes) < 600_000


def test_the_picture_of_numeric_error_is_the_present_one():
    assert pictures.distance(pictures.error_picture(), committed("error_plot")) < pictures.SAME, "make gallery"


def test_without_chromium_it_says_so_and_leaves_the_explorers(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pictures, "PICTURES", tmp_path)
    monkeypatch.setattr(pictures.shutil, "which", lambda name: None)
    assert [path.name for path in pictures.write()] == ["error_plot.png"]
    assert "no chromium" in capsys.readouterr().out


def test_a_lesson_becomes_a_page_with_its_explorer_and_everything_in_it(tmp_path, monkeypatch):
    monkeypatch.setattr(pages.conventions, "recompute", lambda: [])
    lesson = ROOT / "notebooks" / "04_grid_sampler_2d.ipynb"
    index, chosen, words, written = pages.write(tmp_path, [lesson])
    text = written.read_text(encoding="utf-8")
    assert pages.title(nbformat.read(lesson, as_version=4)) in text and not FETCHED.search(text)
    assert "<math" in text and text.count("data:image/png") >= 4 and pages.MOVES in text
    assert "Chosen point" in text.split(pages.MOVES)[1].split("</details>")[0]  # the explorer's picture in words
    assert (chosen.name, words.name) == ("conventions.html", "glossary.html")
    assert not FETCHED.search(index.read_text(encoding="utf-8")) and "尾块" in words.read_text(encoding="utf-8")


def test_an_edition_has_pages_of_its_own_and_each_leads_to_the_same_page_of_the_other(tmp_path, monkeypatch):
    monkeypatch.setattr(pages.conventions, "recompute", lambda: [])
    name, chosen = "02_hardswish.html", [path for language in LANGUAGES for path in pages.lessons(language) if path.stem == "02_hardswish"]
    written = {path.relative_to(tmp_path).as_posix(): path.read_text(encoding="utf-8") for path in pages.write(tmp_path, chosen)}
    for page in ("index.html", "conventions.html", "glossary.html", name):
        (navigation,) = {*re.findall("<nav>.*?</nav>", written[page])}
        assert f'<a href="zh/{page}">中文</a>' in navigation and '<html lang="en">' in written[page]
        (navigation,) = {*re.findall("<nav>.*?</nav>", written[f"zh/{page}"])}
        assert f'<a href="../{page}">English</a>' in navigation and '<html lang="zh">' in written[f"zh/{page}"]
        assert not FETCHED.search(written[f"zh/{page}"])
    assert 'href="../reference/index.html"' in written["zh/index.html"] and "课程" in written["zh/index.html"]
    with pages.speaking("zh"):
        assert pages.tr(pages.MOVES) in written[f"zh/{name}"] and pages.MOVES not in written[f"zh/{name}"]


def test_the_index_lists_every_lesson_by_its_title():
    listed = re.findall(r'<li><a href="(\d\d_\w+)\.html">(.*?)</a>', pages.index())
    assert [name for name, _ in listed] == [path.stem for path in pages.lessons()] and len(listed) >= 9
    assert ("02_hardswish", "Hardswish: a slope with two corners") in listed


def test_the_index_leads_to_the_conventions_and_the_reference():
    assert {"conventions.html", "glossary.html", pages.REFERENCE} <= set(re.findall(r'href="([^"]+)"', pages.index()))


def test_every_formula_of_the_lessons_becomes_mathml():
    """What the converter does not know it leaves as a command, with its backslash."""
    texts = [cell.source for language in LANGUAGES for path in pages.lessons(language) for cell in nbformat.read(path, as_version=4).cells
             if cell.cell_type == "markdown"]
    made = [re.findall(r"<math.*?</math>", formulas.html(text), re.DOTALL) for text in texts]
    assert sum(map(len, made)) > 50 and not any("\\" in formula for some in made for formula in some)
    assert "\\" in re.search(r"<math.*?</math>", formulas.html(r"$\nocommand x$"))[0]


def test_every_formula_of_the_derivations_becomes_mathml():
    import derivations
    steps = [step for name in ("hardswish", "rms_norm", "grid_sampler_2d", "cross_entropy_loss", "group_norm_swish")
             for step in getattr(derivations, name).derive().steps]
    assert len(steps) > 50 and not any("\\" in formulas.html(f"$${step.latex}$$") for step in steps)


def test_each_kind_of_output_is_on_the_page():
    assert "<b>bold</b>" in book(output(text_html="<b>bold</b>", text_plain="plain"))
    assert "<math" in book(output(text_latex=r"$\displaystyle x^2$", text_plain="x**2"))
    assert "<strong>bold</strong>" in book(output(text_markdown="**bold**", text_plain="plain"))
    assert "a &lt; b" in book(output(text_plain="a < b"))
    assert "printed" in book([nbformat.v4.new_output("stream", text="printed")])
    assert 'alt="Title, then"' in book(output(image_png="AAAA", text_plain="Title, then\nnumbers"))
    assert "<summary>" not in book(output(image_png="AAAA", text_plain="<Figure size 8x4>"))


def test_links_between_lessons_lead_to_pages():
    assert 'href="02_hardswish.html"' in book("[next](02_hardswish.ipynb)")


@pytest.mark.parametrize("tag", ['<img src="https://x.org/a.png">', "<script>", "<style>@import 'a'</style>",
                                 '<link href="//x.org/style.css">', "<style>a { background: url(//x.org) }</style>"])
def test_a_page_that_fetches_is_noticed(tag):
    assert FETCHED.search(tag) and FETCHED.search(book(output(text_html=tag)))
    assert not FETCHED.search(book('<a href="02_hardswish.html">next</a>'))


def test_the_reference_shows_signatures_examples_and_nothing_from_elsewhere(tmp_path):
    written = reference.write(tmp_path, ["aclnn_viz", "aclnn_viz.operators.products"])
    public = (tmp_path / "aclnn_viz.html").read_text(encoding="utf-8")  # names that are loaded when first needed, too
    assert all(f'id="{name}"' in public for name in ("open_device", "compare", "AclError"))
    text = (tmp_path / "aclnn_viz" / "operators" / "products.html").read_text(encoding="utf-8")
    assert written and "soc_of" in text and "Atlas A2" in text and "&gt;&gt;&gt;" in text
    fetched = re.findall(r"""<script|@import|<link[^>]*href="http|src="(?!data:)[^"]*|url\((?!"data:)[^)]*""", text)
    assert fetched == []
    assert re.search("prefers-color-scheme: ?dark", text) and (tmp_path / "index.html").exists()


def test_the_reference_names_modules_that_are_there():
    assert all(importlib.util.find_spec(name) for name in reference.MODULES)
