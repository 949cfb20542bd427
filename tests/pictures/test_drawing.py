"""One file defines the drawing of pictures: neither Matplotlib's part nor the browser's has its own colour, dash or width."""

import json
import re
from pathlib import Path

import pytest
from together import in_one

import aclnn_viz
from aclnn_viz.pictures.palette import DRAWING

ROOT = Path(aclnn_viz.__file__).parent
DRAWERS = [
    *sorted((ROOT / "explorers/front").glob("[!d]*")),
    *sorted((ROOT / "pictures").glob("*.py")),
]
COLOUR = r"#(?:[0-9a-fA-F]{3,4}){1,2}\b|[\"'](?:black|white|red|blue|green)[\"']|rgba?\(\s*\d"
SPELT = re.compile(
    rf"{COLOUR}|globalAlpha = 0\.\d|alpha=0\.\d|\"alpha\": 0|setLineDash\(\[\d|\b(?:lineWidth|linewidth) ?[=:] ?(?:0\.[1-9]|1\.[348])"
)


@in_one
@pytest.mark.parametrize("path", DRAWERS, ids=lambda path: path.name)
def test_who_draws_spells_no_constant(path):
    code = re.sub(
        r'"""[\s\S]*?"""|^\s*(?://|#).*$', "", path.read_text("utf-8"), flags=re.MULTILINE
    )
    assert SPELT.findall(code) == []


@pytest.mark.parametrize(
    "line",
    [
        'colour = "#d81b60"',
        "color: #fff;",
        "context.globalAlpha = 0.3;",
        "context.setLineDash([7, 3])",
        "fill(alpha=0.25)",
        "context.lineWidth = 1.4;",
        'ink = "black"',
    ],
)
def test_a_constant_that_is_spelt_is_found(line):
    assert SPELT.search(line)


def test_kinds_differ_in_all_that_tells_them_apart():
    for what in "light dark dash marker hatch".split():
        assert len({str(kind[what]) for kind in DRAWING["kinds"]}) == len(DRAWING["kinds"])


def test_the_bundle_is_of_the_pinned_modules_and_holds_their_licence():
    front = ROOT.parent / ".ci/front"
    head = (ROOT / "explorers/front/d3.js").read_text("utf-8").partition("*/")[0]
    pinned = json.loads((front / "package.json").read_text("utf-8"))["dependencies"]
    assert all(f"{name} {version}" in head for name, version in pinned.items())
    assert "Permission to use, copy, modify" in head and "Mike Bostock" in head
    assert "http" not in (front / "package-lock.json").read_text("utf-8")
