"""The pictures of README and docs are the present ones; a lesson as the site takes it."""

import importlib.util
import re
from types import SimpleNamespace

import nbformat
import pytest
from latex2mathml.converter import convert
from machine import ROOT, SOAK

from aclnn_viz.words import language
from aclnn_viz.words.messages import in_language, tr
from notebooks.gallery import pictures, site

SHOWN = [
    shown
    for path in (ROOT / "README.md", ROOT / "README.zh.md", *ROOT.glob("docs/*.md"))
    for shown in re.findall(
        r"!\[(.*?)\]\((?:\.\./)?(\S+?\.png)\)", path.read_text(encoding="utf-8")
    )
]


def committed(name):
    return (pictures.PICTURES / f"{name}.png").read_bytes()


def test_readme_and_docs_show_every_picture_with_words_and_no_other():
    assert {path for _, path in SHOWN} == {
        f"notebooks/pictures/{p.name}" for p in pictures.PICTURES.iterdir()
    }
    assert all(20 < len(words) < 140 for words, _ in SHOWN)


def test_pictures_are_small():
    sizes = [path.stat().st_size for path in pictures.PICTURES.iterdir()]
    assert max(sizes) < 150_000 and sum(sizes) < 600_000


def test_the_picture_of_numeric_error_is_the_present_one():
    assert pictures.distance(pictures.error_picture(), committed("error_plot")) < pictures.SAME, (
        "make gallery"
    )


def test_without_chromium_it_says_so_and_leaves_the_explorers(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pictures, "PICTURES", tmp_path)
    monkeypatch.setattr(pictures.shutil, "which", lambda name: None)
    assert [path.name for path in pictures.write()] == ["error_plot.png"]
    assert "no chromium" in capsys.readouterr().out


@pytest.fixture(params=["en", "zh"])
def edition(request):
    before = language()
    language(request.param)
    yield request.param
    language(before)


def book(source="", **held):
    """Return the site's view of a lesson with a text, and a cell with an output."""
    cell = nbformat.v4.new_code_cell(
        "code", outputs=[nbformat.v4.new_output("display_data", **held)]
    )
    return site.lesson(
        nbformat.writes(
            nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(source), cell])
        )
    ).cells


def test_a_still_explorer_becomes_the_live_one(edition):
    _, cell = book(
        data={"image/png": "AAAA", "text/plain": "words"},
        metadata={"still": "tiles", "state": "#schedule=%22late%22"},
    )
    (output,) = cell.outputs
    assert (
        f'src="{site.UP[edition]}/live/{site.page_of("tiles", "schedule=%22late%22")}.html'
        in output.data["text/html"]
    )
    assert ("lang=zh" in output.data["text/html"]) == (edition == "zh") and tr(
        site.ALIVE, name="tiles"
    ) in output.data["text/html"]
    assert site.page_of("tiles", "") == "tiles"


def test_a_figure_keeps_its_words_and_one_of_matplotlib_has_none(edition):
    _, cell = book(data={"image/png": "AAAA", "text/plain": "Title, then\n<numbers>"})
    assert (
        cell.metadata["mystnb"]["image"]["alt"] == "Title, then"
        and "&lt;numbers&gt;" in cell.outputs[1].data["text/html"]
    )
    _, cell = book(data={"image/png": "AAAA", "text/plain": "<Figure size 8x4>"})
    assert len(cell.outputs) == 1


def test_a_lesson_leads_to_the_other_edition(edition):
    place = "zh/02_hardswish.ipynb" if edition == "en" else "../02_hardswish.ipynb"
    text, _ = book(f"[other]({place}) [next](03_rms_norm.ipynb)", data={})
    assert (
        'href="../zh/notebooks/zh/02_hardswish.html"'
        if edition == "en"
        else 'href="../../../notebooks/02_hardswish.html"'
    ) in text.source
    assert "[next](03_rms_norm.ipynb)" in text.source


def test_lessons_are_numbered_as_the_contents_count_them():
    assert [int(path.name[:2]) for path in sorted((ROOT / "notebooks").glob("*.ipynb"))] == list(
        range(22)
    )
    assert "counter(lesson, decimal-leading-zero)" in (
        ROOT / "docs" / "site" / "static" / "site.css"
    ).read_text("utf-8")


def test_what_the_theme_says_is_chinese_too():
    context, app = {}, SimpleNamespace(srcdir=ROOT, translator=SimpleNamespace(gettext=str.upper))
    with in_language("zh"):
        site.link_other_edition(app, "docs/zh/index", "page.html", context, None)
        assert [context["_"](text) for text in ("On this page", "Search")] == ["本页内容", "SEARCH"]


def test_every_formula_of_the_derivations_becomes_mathml():
    """An unknown command would stay with its backslash."""
    import derivations

    steps = [
        step
        for name in "hardswish rms_norm grid_sampler_2d cross_entropy_loss group_norm_swish".split()
        for step in getattr(derivations, name).derive().steps
    ]
    assert len(steps) > 50 and not any(
        "\\" in convert(step.latex) for step in steps[:: 1 if SOAK else 3]
    )
    assert "\\" in convert(r"\nocommand x")


def test_the_reference_names_modules_that_are_there():
    modules = re.findall(r"automodule:: (\S+)", (ROOT / "docs" / "reference.md").read_text("utf-8"))
    assert len(modules) > 15 and all(importlib.util.find_spec(name) for name in modules)
