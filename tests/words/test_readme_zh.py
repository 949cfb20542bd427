"""The Chinese README is true and complete: it has README's blocks, which run, headings and code names; each links to the
other.
"""

import re

import pytest
from machine import ROOT

from aclnn_viz.explorers import explorers

CHINESE, ENGLISH = ((ROOT / name).read_text("utf-8") for name in ("README.zh.md", "README.md"))
BLOCK = re.compile(r"```\w+\n.*?```", re.DOTALL)


CODE = re.compile(r"`(?! )[^`\n]+(?<! )`")
HEADING = re.compile(r"^#+ ", re.MULTILINE)


def gaps(text, whole=ENGLISH):
    """Yield the parts of README that a Chinese README lacks."""
    yield from (block.splitlines()[1] for block in BLOCK.findall(whole) if block not in text)
    there, found = (CODE.findall(BLOCK.sub("", each)) for each in (text, whole))
    yield from {*found} - {*there}
    if HEADING.findall(BLOCK.sub("", text)) != HEADING.findall(BLOCK.sub("", whole)):
        yield "headings"


def faults(text):
    """Yield the parts of a Chinese README that README does not say."""
    yield from (
        f"a block that README has not: {block.splitlines()[1]}"
        for block in BLOCK.findall(text)
        if block not in ENGLISH
    )
    yield from (
        f"no explorer {name}"
        for name in re.findall(r'`"(\w+)"`', text)
        if name not in explorers() and f'`"{name}"`' not in ENGLISH
    )


def test_blocks_and_explorers_are_those_of_readme():
    assert list(faults(CHINESE)) == [] and len(BLOCK.findall(CHINESE)) >= 3
    assert "](README.md)" in CHINESE and "](README.zh.md)" in ENGLISH


def test_it_says_all_that_readme_says():
    assert [*gaps(CHINESE)] == []


@pytest.mark.parametrize("part", ["make lab", "`ref.error`", "## "])
def test_what_is_left_out_is_noticed(part):
    assert [*gaps(CHINESE.replace(part, ""))]


@pytest.mark.parametrize("text", ["```sh\nmake everything\n```", '`"hard_swish"`'])
def test_what_is_not_there_is_noticed(text):
    assert list(faults(text))
