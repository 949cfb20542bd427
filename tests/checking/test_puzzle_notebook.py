"""The notebooks of puzzles: every puzzle once and in order, empty stubs that fit, no solution and no culprit."""

import ast
import inspect
import json
import re
from itertools import takewhile

import pytest
from machine import ROOT

from aclnn_viz.puzzles import detectives, puzzles, tile_detectives, tile_puzzles
from aclnn_viz.puzzles.solutions import solution_of
from aclnn_viz.words.messages import language, tr

NOTEBOOKS = {
    "09_puzzles": (puzzles(), detectives()),
    "12_tile_puzzles": (tile_puzzles(), tile_detectives()),
}
each = pytest.mark.parametrize("name", NOTEBOOKS)


@pytest.fixture
def chinese():
    before = language()
    language("zh")
    yield
    language(before)


PRACTICE = "## At work"  # heading after the puzzles


def every_cell(name):
    return [
        ("".join(cell["source"]), cell["cell_type"])
        for cell in json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))[
            "cells"
        ]
    ]


def cells_of(name):
    return list(takewhile(lambda cell: not cell[0].startswith(PRACTICE), every_cell(name)))


def code_of(name):
    return [text for text, kind in cells_of(name) if kind == "code"]


def stubs(cells):
    """Return {name: node} of the functions that the cells define."""
    return {
        node.name: node
        for text in cells
        for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef)
    }


def drift(cells, wanted):
    """Yield the mistakes of the stubs of the wanted puzzles."""
    found = stubs(cells)
    yield from (f"{name} is no puzzle" for name in found.keys() - {one.name for one in wanted})
    for one in wanted:
        if one.name not in found:
            yield f"{one.name} has no stub"
            continue
        body = [
            node
            for node in found[one.name].body
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        ]
        if [argument.arg for argument in found[one.name].args.args] != list(
            inspect.signature(one.spec).parameters
        ):
            yield f"{one.name} takes other inputs"
        if body:
            yield f"{one.name} is written already"


@each
def test_every_puzzle_and_case_is_shown_once_and_in_order(name):
    (tasks, cases), code = NOTEBOOKS[name], "\n".join(code_of(name))
    shown = re.findall(
        r'(\w+) = (?:puzzle|detective)\("(\w+)"\)\ndisplay\(\1(?:, picture\(\1\))?\)', code
    )
    assert [one for _, one in shown] == [one.name for one in (*tasks, *cases)]
    assert code.count(", picture(") == sum(one.picture is not None for one in tasks) + len(cases)
    checked = re.findall(r'puzzle\("(\w+)"\)\.check\((\w+)\)', code)
    assert checked == [(one.name, one.name) for one in tasks]
    assert re.findall(r'detective\("(\w+)"\)\.accuse\(None\)', code) == [one.name for one in cases]


@each
def test_the_stubs_fit_and_are_empty(name):
    assert list(drift(code_of(name), NOTEBOOKS[name][0])) == []


@each
def test_headings_carry_the_titles(name):
    tasks, cases = NOTEBOOKS[name]
    headings = [
        line
        for text, kind in cells_of(name)
        if kind == "markdown"
        for line in text.splitlines()
        if line[:4] == "### "
    ]
    titles = [f"### {k}. {one.title}" for k, one in enumerate(tasks, 1)]
    assert headings == titles + [f"### Case {k}: {one.title}" for k, one in enumerate(cases, 1)]


@each
def test_headings_of_the_chinese_edition_carry_the_titles_that_it_shows(name, chinese):
    tasks, cases = NOTEBOOKS[name]
    headings = [
        line
        for text, kind in every_cell(f"zh/{name}")
        if kind == "markdown"
        for line in text.splitlines()
        if line[:4] == "### "
    ]
    titles = [f"### {k}. {tr(one.title)}" for k, one in enumerate(tasks, 1)]
    titles += [f"### 第{k}案：{tr(one.title)}" for k, one in enumerate(cases, 1)]
    assert headings[: len(titles)] == titles


@each
def test_no_solution_and_no_culprit_stands_in_it(name):
    tasks, cases = NOTEBOOKS[name]
    everything = " ".join(" ".join(text.split()) for text, _ in every_cell(name))
    lines = [line.strip() for one in tasks for line in solution_of(one).source.splitlines()[1:]]
    assert [line for line in lines if len(line) > 25 and line in everything] == []
    assert [one.culprit for one in cases if one.culprit in everything] == []


def test_the_practice_comes_after_the_puzzles():
    behind = every_cell("09_puzzles")[len(cells_of("09_puzzles")) :]
    code = "\n".join(text for text, kind in behind if kind == "code")
    assert all(
        asked in code
        for asked in (
            "dtypes=",
            "explanation",
            "depth=",
            "av.case(",
            "cases=",
            "NotImplementedError",
        )
    )


def test_drift_is_noticed():
    some = puzzles()[:2]
    assert list(drift(["def hardswish_middle(y):\n    ...", "def other(x):\n    ..."], some)) == [
        "other is no puzzle",
        "hardswish_middle takes other inputs",
        "hardswish_slope has no stub",
    ]
    assert list(drift(["def hardswish_middle(x):\n    return x / 3 + 0.5"], some[:1])) == [
        "hardswish_middle is written already"
    ]
