"""Prose for readers: short sentences, terms that the glossary explains where they first stand, and words that the kit does not use.

It names places; whether a sentence is good, a reader judges.
"""

import re

import pytest
from machine import ROOT
from markdown_it import MarkdownIt

from notebooks.gallery import outputs

LONGEST = {
    "en": 28,
    "zh": 70,
}  # words of a sentence; in Chinese, letters and words of other languages
UNUSED = re.compile(
    r"\b(told|mend(?:s|ed|ing)?|sealed|crew|ledger|pieces?|rigou?r(?:ous)?)\b", re.IGNORECASE
)
TERMS = "kink", "ulp", "envelope", "hazard", "executor", "pipe", "convention"
ENDS = re.compile(r"""(?<=[.!?])['")*]*\s+(?=['"(*]*[A-Z0-9])|(?<=[。！？])|(?<=[.!?]["')])\s+""")
MATH = re.compile(r"\$\$.*?\$\$|\$[^$]*\$", re.DOTALL)
MARKDOWN = MarkdownIt().enable("table")
PAGES = {
    str(path.relative_to(ROOT)): path
    for pattern in ("*.md", "docs/**/*.md", "notebooks/[0-9]*.ipynb", "notebooks/zh/*.md")
    for path in ROOT.glob(pattern)
}
LESSONS = [name for name in PAGES if name.endswith("ipynb")]


def text(path):
    if path.suffix == ".md":
        return path.read_text("utf-8")
    return "\n\n".join(
        cell.source for cell in outputs.read(path).cells if cell.cell_type == "markdown"
    )


def sentences(markdown):
    """The sentences of headings, paragraphs, items and cells; a code or a formula is the word X."""
    for block in MARKDOWN.parse(MATH.sub("X", markdown)):
        if block.type == "inline":
            said = {"code_inline": "X", "softbreak": " ", "hardbreak": " "}
            yield from ENDS.split(
                "".join(
                    said.get(part.type, part.content if part.type == "text" else "")
                    for part in block.children
                )
            )


def faults(markdown, language="en"):
    """What is to be looked at in a text."""
    for sentence in sentences(markdown):
        # a path is a word
        pattern = r"\S+/\S+|[^\W\d_][\w'-]*" if language == "en" else r"[\u4e00-\u9fff]|[\w.-]+"
        if (length := len(re.findall(pattern, sentence))) > LONGEST[language]:
            yield f"{length} words: {sentence}"
        if len(re.findall("[;；]", sentence)) > 1:
            yield f"a second semicolon: {sentence}"
        if word := UNUSED.search(sentence):
            yield f"{word[0]!r}: {sentence}"


def unexplained(markdown):
    """The terms whose first mention leads to no explanation: it is no link to the glossary, and not bold, as where a lesson explains it."""
    prose = re.sub(r"^#.*|`[^`]*`", "", MATH.sub("", markdown), flags=re.MULTILINE)
    for term in TERMS:
        first = re.search(
            rf"(\[|\*\*)?[^\[\]*.]*\b{term}s?\b[^\[\]*.]*(\]\([^)]*glossary\.md\)|\*\*)?",
            prose,
            re.I,
        )
        if first and not (first[1] and first[2]):
            yield term


@pytest.mark.parametrize("name", PAGES)
def test_sentences_are_short_and_in_the_words_of_the_kit(name):
    assert list(faults(text(PAGES[name]), "zh" if "zh" in name else "en")) == []


@pytest.mark.parametrize("name", LESSONS)
def test_a_term_is_explained_where_it_first_stands(name):
    assert list(unexplained(text(PAGES[name]))) == []


def test_what_is_to_be_looked_at_is_named():
    long = "A sentence " + "of many words " * 9 + "ends. This one does not."
    assert [one[:8] for one in faults(long)] == ["30 words"]
    assert list(faults("One; two; three.")) == ["a second semicolon: One; two; three."]
    assert list(faults("A bug that you mend.")) == ["'mend': A bug that you mend."]
    assert list(faults("长" * 71 + "。短。", "zh")) == ["71 words: " + "长" * 71 + "。"]
    kink = "A kink is here. [kinks](../docs/glossary.md)"
    assert list(unexplained(kink)) == ["kink"] and not list(unexplained(kink[16:]))
