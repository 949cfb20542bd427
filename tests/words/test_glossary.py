"""The glossary: sorted, unique, in two languages; a vendor's word occurs in the vendor's text."""

import json
import re
from dataclasses import replace

import pytest
from machine import ROOT

import aclnn_viz as av
from aclnn_viz import cli
from aclnn_viz.words import Glossary, Term

TERMS = av.glossary()
HAN = re.compile(r"[\u4e00-\u9fff]")
LONGEST_QUOTE = 60
# Vendor's documents whose text is in the repository.
TEXTS = {
    "aclnnHardswishBackward, sample program in the CANN documentation": "tests/standin/seeds/aclnnHardswishBackward.cpp"
}
PUBLIC = re.compile(
    r"aclnn\w+, (.* in the )?CANN documentation|(ops-nn|ops-cv|opbase|asc-devkit|msprobe) \S+\.md, commit [0-9a-f]{7}"
)


def faults(terms):
    """Yield the faults of a glossary, in words."""
    for field in ("term", "chinese"):
        names = [getattr(one, field).casefold() for one in terms]
        yield from (f"{name} is there twice" for name in {*names} if names.count(name) > 1)
    if [one.term for one in terms] != sorted((one.term for one in terms), key=str.casefold):
        yield "not sorted"
    for one in terms:
        if not (
            re.fullmatch(r"[A-Z0-9][^.]*[^.]\.", one.meaning)
            and not HAN.search(one.term + one.meaning)
        ):
            yield f"{one.term} has no one English sentence"
        if not (re.fullmatch(r"[^。]+。", one.chinese_meaning) and HAN.search(one.chinese_meaning)):
            yield f"{one.term} has no one Chinese sentence"
        if bool(one.source) != bool(one.quote) or one.source and not PUBLIC.fullmatch(one.source):
            yield f"{one.term} names no public document with a quotation"
        if one.source and not (
            one.chinese.casefold() in one.quote.casefold() and len(one.quote) <= LONGEST_QUOTE
        ):
            yield f"{one.chinese} is not in its quotation"
        if one.source in TEXTS and one.quote not in (ROOT / TEXTS[one.source]).read_text("utf-8"):
            yield f"{one.quote} is not in its document"
        if not one.source and not HAN.search(one.chinese):
            yield f"{one.term} is not translated"


def test_every_term_is_sorted_unique_explained_and_sourced():
    assert list(faults(TERMS)) == []
    assert (
        len(TERMS) >= 80
        and sum(bool(one.source) for one in TERMS) >= 60
        and {*TEXTS} <= {one.source for one in TERMS}
    )


@pytest.mark.parametrize(
    "change, noticed",
    [
        ({"term": "backward", "chinese": "尾块"}, "twice"),
        ({"term": "zz"}, "not sorted"),
        ({"meaning": "no sentence"}, "English"),
        ({"chinese_meaning": "一。二。"}, "Chinese sentence"),
        ({"source": "a blog"}, "public document"),
        ({"quote": ""}, "quotation"),
        ({"chinese": "尾巴"}, "not in its quotation"),
        ({"quote": "尾块" * 40}, "not in its quotation"),
        ({"source": "", "quote": "", "chinese": "tail"}, "not translated"),
        ({"source": [*TEXTS][0], "quote": "尾块"}, "not in its document"),
    ],
)
def test_a_broken_glossary_is_noticed(change, noticed):
    first = Term("alpha", "甲", "A letter.", "一个字母。")
    tail = replace(next(one for one in TERMS if one.term == "tail block"), **change)
    other = (
        [next(one for one in TERMS if one.term == "backward")] if tail.term == "backward" else []
    )
    assert noticed in " ".join(
        faults([first, *other, tail, replace(first, term="y", chinese="乙")])
    )


def test_a_term_is_found_by_a_part_of_either_name():
    assert (
        [one.chinese for one in av.glossary("TAIL")]
        == ["尾块"]
        == [one.chinese for one in av.glossary("尾")]
    )
    assert [one.term for one in av.glossary("MERE")] == ["mean relative error"] and [
        one.chinese for one in av.glossary("搬运")
    ] == ["搬运"]
    with pytest.raises(
        ValueError,
        match="a term is one of the glossary: got 'tailblok'; try a similar one: tail block",
    ):
        av.glossary("tailblok")


def test_the_command_tells_the_vendors_word_and_the_kits_own(capsys):
    assert (
        cli.main(["glossary", "align"]) == 0
        and "this kit's own translation" in capsys.readouterr().out
    )
    assert cli.main(["glossary", "两段式接口", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert (
        one["term"] == "two-phase interface"
        and one["source"] == "aclnnHardswishBackward, CANN documentation"
    )
    assert (
        cli.main(["glossary", "nothing of it"]) == 2
        and "a term is one of the glossary" in capsys.readouterr().err
    )


def test_a_notebook_shows_it_as_a_table():
    assert Glossary(TERMS[:2])._repr_html_().count("<tr>") == 3
