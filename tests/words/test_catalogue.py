"""The Chinese of explorers: all translated, all used, equal places, the glossary's terms, the file as generated."""

import ast
import re
from collections import Counter
from pathlib import Path
from string import Formatter

import pytest
import visible
from babel.messages import Catalog
from machine import ROOT, sampled_explorers
from together import in_one

import aclnn_viz as av
from aclnn_viz.explorers import subject_of
from aclnn_viz.explorers.scripts import FRONT, SCRIPTS
from aclnn_viz.explorers.state import build, controls
from aclnn_viz.pictures.panels import described
from aclnn_viz.words import messages
from notebooks.gallery import catalogue
from notebooks.gallery.declared import declared, of_faults

CHINESE = catalogue.catalogue("zh")
ENTRIES = {entry.id: entry.string for entry in CHINESE if entry.id}


# Places of a message, dotted names, files, quoted values, and words that only sound like a term.
NO_WORDS = re.compile(
    r"\{[^}]*\}|\b\w+(?:\.\w+)+|(?:[\w.-]+/){2,}[\w.-]+|'\w+'|\b(?:(?:reduction|document|other) means|formula means|segmentation fault|and faults)\b"
)


def places(text):
    return Counter(name for _, name, _, _ in Formatter().parse(text) if name is not None)


def faults(english, chinese, terms=av.glossary()):
    """Return the faults of one entry of a catalogue."""
    one, said = (english[0], chinese[0]) if isinstance(english, tuple) else (english, chinese)
    many = english[1] if isinstance(english, tuple) else one
    if not said:
        return [f"{one!r} is not translated"]
    found = (
        [f"{one!r}: other places in {said!r}"]
        if places(said) not in (places(one), places(many))
        else []
    )
    found += (
        [f"{one!r}: spaces at the ends"]
        if re.fullmatch(r" ?\(.*\)", one) is None and (said[:1] == " ") != (one[:1] == " ")
        else []
    )
    words = NO_WORDS.sub("", many).casefold()
    for term in sorted(terms, key=lambda term: -len(term.term)):  # a tail block is no block
        name = term.term.casefold()
        if name in words and re.search(rf"(?<![-\w]){re.escape(name)}s?\b", words):
            words = words.replace(name, "")
            # a parameter or a mode of that name
            kept = term.term in visible.KEPT and term.term in said
            if term.chinese.casefold() not in said.casefold() and not kept:
                found.append(f"{one!r}: {term.term} is {term.chinese} in the glossary")
    return found


def test_every_message_has_its_chinese_and_every_entry_is_used():
    found = catalogue.messages()
    untranslated = {message: where for message, where in found.items() if message not in ENTRIES}
    assert untranslated == {}, "fill in what `make words` adds to the catalogue"
    assert {*ENTRIES} - {*found} == set(), "no longer used: `make words` takes them out"
    # names alone have no entry
    assert len(ENTRIES) > 100 and {"gridGrad", "A = -0.5"}.isdisjoint(found)


def written(source):
    """Return the messages of a module, found without the extractor of catalogues."""
    calls = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and visible.call_of(node) in visible.TRANSLATED
    ]
    keys = [node.args[visible.call_of(node) == "meant"] for node in calls if node.args]
    keys += [one for node in calls if visible.call_of(node) == "told" for one in node.args[1:]]
    return {key.value for key in keys if isinstance(key, ast.Constant) and key.value}


def test_no_message_is_where_the_extractor_does_not_look():
    found = {one if isinstance(one, str) else one[0] for one in ENTRIES}
    sources = [
        path.read_text("utf-8")
        for path in (ROOT / "aclnn_viz").rglob("*.py")
        if path.parent.name != "words"
    ]
    assert [
        text
        for source in sources
        if catalogue.IMPORTED in source
        for text in written(source) - found
    ] == []
    assert written("f\"{message('within')} {x}\"") == {"within"} and written(
        'meant("text", "sense")'
    ) == {"sense"}
    assert written("told(k, 'none', 'some', n=n)") == {"none", "some"}


def test_translations_have_the_same_places_and_the_terms_of_the_glossary():
    assert [
        fault for english, chinese in ENTRIES.items() for fault in faults(english, chinese)
    ] == []


@pytest.mark.parametrize(
    "english, chinese, noticed",
    [
        ("a b", "", "not translated"),
        ("{n} left", "剩下", "other places"),
        ("{n} left", "{m}个", "other places"),
        ("op.backward and backward", "op.backward", "backward is 反向传播"),
        ("loss/of/loss.cpp loss", "loss/of/loss.cpp", "loss is 损失"),
        (("{n} tap", "{n} taps"), ("{m}个周围点",), "other places"),
        ("the kinks", "拐角", "kink is 折点"),
        ("x", " x", "spaces"),
    ],
)
def test_a_bad_translation_is_noticed(english, chinese, noticed):
    assert noticed in " ".join(faults(english, chinese))


def test_the_file_is_what_make_words_writes_and_names_no_places():
    assert catalogue.place("zh").read_bytes() == catalogue.text(catalogue.updated("zh")), (
        "make words"
    )


def test_what_is_read_is_what_babel_reads():
    assert messages._catalogue("zh") == {
        one: said
        for one, said in (
            (english[0], chinese[0]) if isinstance(english, tuple) else (english, chinese)
            for english, chinese in ENTRIES.items()
        )
    }


def test_continued_and_quoted_texts_plurals_and_what_is_not_translated_are_read(
    tmp_path, monkeypatch
):
    made = Catalog("zh")
    for entry in (
        ('a\n"b"\n', '甲\n"\n\\'),
        (("{n} c", "{n} cs"), ("丙",)),
        ("later", ""),
        ("last", "末"),
    ):
        made.add(*entry)
    (tmp_path / "xx.po").write_bytes(catalogue.text(made))
    monkeypatch.setattr(messages, "PLACE", tmp_path)
    assert messages._catalogue("xx") == {'a\n"b"\n': '甲\n"\n\\', "{n} c": "丙", "last": "末"}


def test_nothing_that_is_shown_is_english_whatever_the_language():
    states = [catalogue.module_of(path) for path in catalogue.explorer_files()]
    options = {
        str(text)
        for module in states
        if hasattr(module, "State")
        for each in controls(module.State)
        for option in each["options"]
        for text in option
    }
    known = {**declared(), **of_faults(), **dict.fromkeys(options, "a control")}
    assert [
        f"{path.relative_to(ROOT)}, line {line}: {text!r} goes through no catalogue"
        for path in catalogue.shown()
        for line, text in visible.english(path.read_text("utf-8"), known)
    ] == []


@in_one
@pytest.mark.parametrize(
    "source",
    [
        'f"{n} points on the image"',
        '"two words"',
        'Panel("p", "slope", ())',
        'Line(x, y, 0, "truth")',
        'Axis("steps", 0.0)',
        'core.hazard("missing wait", "not waited for")',
        'Note(0, 0, "here" if a else b)',
        'Panel("p", "▶ " + "slope", ())',
        'x = tr("a b") + "and so on"',
        'tr(f"{n} of them")',
        '"ways to\\nimport words and\\ndef of them"',
        '"rows and columns"',
        '"all rows (or columns)"',
        'f"{n} (wrong)"',
        'f"<b>{n} wrong</b>"',
        '"<b>two words</b>"',
        'f"{x}.shape at {y}"',
        'f"read notebooks/{x}"',
        'f"{x} workspace size"',
        'f"explore {x}"',
        'annotate(label="axes fraction")',
        'Standard("two words", "a b.md")',
        'def __str__(self):\n    return f"{x} of them"',
        '{"help": "two words"}',
        'add_argument("--x", help="two words")',
        'Candidate("two kinds", "two words")',
        'asked = "two words"\nprint(problem(asked), asked)',
    ],
)
def test_an_english_text_is_noticed(source):
    assert [*visible.english(f"x = 0\n{source}")]


@in_one
@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring of words."""',
        'tr("two words")',
        'raise ValueError("two words")',
        'Panel("two names", tr("a b"), ())',
        'core.hazard("missing wait", message("a b"))',
        'Line(x, y, 0, "gradOutput")',
        'f"{x}: {y}"',
        'control(0, "label", "Group of it")',
        'message("two words", n=1)',
        'TEST = """Some words\n\nimport numpy as np\n\n\ndef test_it(a):\n    assert a\n"""',
        'UNSCALED = ("gamma is 1", {})',
        'Fault("two words", "a story", "a case", hidden=("gamma is 1", {}))',
        '"grad = xp.sum(dy, axis=0) if rows else dy"',
        'f"<b>{n}</b>"',
        'import_module(f"{package}.solutions")',
        'f"prod({x}.shape[{y}:])"',
        'f"dtype={x}"',
        'f"notebooks/{x}"',
        'f"{x}GetWorkspaceSize"',
        'f"av.explore({x})"',
        'annotate(xycoords="axes fraction")',
        'f"--root={x}"',
        'Candidate("two kinds", tr("two words"))',
        'asked = "two words"\nraise ValueError(problem(asked))',
        'asked, fix = "two words", "of it"\nif fix:\n    raise ValueError(asked, fix)',
        'Standard(tr("two words"), "sources of it.md")',
        'def __repr__(self):\n    return f"{x} of them"',
    ],
)
def test_what_is_translated_or_never_shown_is_let_through(source):
    assert [*visible.english(source, {"gamma is 1"})] == []


def test_a_part_of_what_is_declared_is_let_through_and_nothing_else():
    source = 'CITED = "a row of zeros"\nrow(f"{CITED} and one", "a row of ones")'
    assert [text for _, text in visible.english(source, ["a row of zeros and one"])] == [
        "a row of ones"
    ]
    assert [text for _, text in visible.english(source)] == [
        "a row of zeros",
        "_  and one",
        "a row of ones",
    ]


def unsaid(script):
    """Return texts of several words in a front-end script that are no argument of `tr`."""
    script = re.sub(r"//[^\n]*", "", script)
    found = re.finditer(r'(.{0,3})(["`])((?:(?!\2)[^\n])*)\2', script)
    return [
        text
        for before, _, text in (match.groups() for match in found)
        if re.search("[a-z]{2,} [a-z]{2,}", text)
        and before[-3:] != "tr("
        and not any(part in text for part in ("ae-", "sans-serif", *ENGLISH_ANYWAY))
    ]


# Shown only if no font could show anything else.
ENGLISH_ANYWAY = {
    "This browser has no font with Chinese letters: install one, such as the package fonts-noto-cjk."
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_the_front_end_says_nothing_but_messages(name):
    assert unsaid((FRONT / name).read_text("utf-8")) == []


def test_a_text_of_the_front_end_that_is_no_message_is_noticed():
    assert unsaid('x = tr("copy it all"); // two words\ny = "saved as file";') == ["saved as file"]
    assert unsaid("status = `row ${r} of many`;") == ["row ${r} of many"]


@pytest.fixture
def marked(monkeypatch):
    """Return a picture and its controls in a language that puts every message in brackets."""
    monkeypatch.setattr(messages, "_translations", visible.Marked)

    def show(subject, **values):
        data = subject.compute(build(subject.state, values))
        shown = subject.show(data)
        picture = {
            "headline": shown.headline,
            "notices": shown.notices,
            "text": shown.text,
            "panels": described(shown.panels)[1],
        }
        program = getattr(getattr(data, "work", None), "program", None)
        lines, quoted = (
            visible.code(Path(program.kernel.__code__.co_filename)) if program else ((), set())
        )
        return picture, subject.controls(), lines, quoted and quoted | catalogue.names()

    return show


@pytest.mark.parametrize("name", sampled_explorers(__name__))
def test_every_text_of_a_picture_and_of_its_controls_is_looked_up(name, marked):
    own = {"buffers": 2} if name == "tiles" else {}  # a program with one is made of that with two
    picture, controls, lines, quoted = marked(subject_of(name), **own)
    assert [text for text in visible.texts(picture, lines) if visible.unspoken(text, quoted)] == []
    said = [
        text
        for each in controls
        for text in (
            "" if "label" in each.get("kept", ()) else each["label"],  # the vendor's own name
            each["group"],
            each["help"],
            *(text for _, text in each["options"]),
        )
    ]
    assert [text for text in said if visible.unspoken(text)] == []
    assert any(visible.OPEN in text for text in visible.texts(picture))


def test_a_text_that_is_not_looked_up_is_noticed():
    assert visible.unspoken("⟦out at ⟦x⟧⟧, slope 3") == ", slope 3"
    assert (
        visible.unspoken("⟦cut ⟦a⟧ short … and") == "and" and visible.unspoken("⟦left open") != ""
    )
    assert (
        visible.unspoken("⟦runs⟧ Muls inQueue", {"Muls", "inQueue"})
        == ""
        != visible.unspoken("⟦runs⟧ Muls and", {"Muls"})
    )
    assert visible.unspoken("⟦slope⟧ 3 gradOutput") == "" == visible.unspoken("1e-05")


def test_the_lines_of_a_program_are_quoted_and_nothing_beside_them(tmp_path):
    (tmp_path / "program.py").write_text("Adds(self.slope, x, count)  # one of them\n")
    lines, quoted = visible.code(tmp_path / "program.py")
    notes = [{"text": text} for text in ("Adds(self.slope, x, count)  # o…", "one of them")]
    axis = {"label": "", "ticks": []}
    picture = {
        "headline": [],
        "notices": [],
        "text": "",
        "panels": [{"title": "", "x": axis, "y": axis, "marks": notes}],
    }
    assert quoted == {"Adds", "slope"} and [
        text for text in visible.texts(picture, lines) if text
    ] == ["one of them"]


def test_every_place_that_is_judged_is_there():
    judged = {str(path.relative_to(ROOT)) for path in catalogue.shown()}
    assert all(any(ROOT.glob(place)) for place in catalogue.SHOWN)
    assert {
        "aclnn_viz/explorers/tiles.py",
        "aclnn_viz/explorers/by_operator/grid_sampler_2d_data.py",
        "aclnn_viz/puzzles/verdict.py",
        "aclnn_viz/cli/__init__.py",
    } <= judged
