"""The language is chosen once; open explorers follow, undrawable words are English, and English is unchanged."""

import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from sympy import Symbol

import aclnn_viz as av
from aclnn_viz import cli, tiles
from aclnn_viz.accuracy import attribute_errors, envelopes
from aclnn_viz.explorers import explore, subject_of
from aclnn_viz.explorers.lift import call
from aclnn_viz.explorers.state import build
from aclnn_viz.pictures import Provenance, error_plot, error_runs, errors, fonts
from aclnn_viz.pictures.panels import Panel
from aclnn_viz.pictures.picture import Picture
from aclnn_viz.pictures.text import unmarked
from aclnn_viz.puzzles import puzzles
from aclnn_viz.puzzles.pictures import picture
from aclnn_viz.tables import WIDE, columns
from aclnn_viz.verification.errata import errata, recompute, text_table
from aclnn_viz.words import messages
from aclnn_viz.words.messages import linked, message, tr
from derivations import proves_equal

VARIABLES = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch):
    """Restore the choice after the test; ignore this machine's locale."""
    monkeypatch.setattr(messages, "_chosen", [])
    for name in (*VARIABLES, messages.VARIABLE):
        monkeypatch.delenv(name, raising=False)
    messages._of_the_process.cache_clear()
    yield
    messages._of_the_process.cache_clear()


@pytest.fixture
def opened():
    explorer = explore("hardswish")
    yield explorer
    explorer.close()


def all_words(explorer):
    return repr(
        (
            explorer.controls,
            explorer.words["headline"],
            explorer.picture["panels"],
            explorer.words["text"],
        )
    )


@pytest.mark.parametrize(
    "variable, value, expected",
    [
        ("LANG", "zh_CN.UTF-8", "zh"),
        ("LANG", "de_DE.UTF-8", "en"),
        ("LANG", "C", "en"),
        ("LC_ALL", "zh_TW", "zh"),
        ("LANGUAGE", "zh:en", "zh"),
        *(
            (messages.VARIABLE, name, "zh")
            for name in ("zh", "cn", "Chinese", "zh-CN", "zh_CN.UTF-8")
        ),
    ],
)
def test_the_language_is_that_of_the_process(variable, value, expected, monkeypatch):
    monkeypatch.setenv(variable, value)
    assert av.language() == expected


def test_a_variable_that_names_no_language_is_said_and_the_locale_counts(monkeypatch):
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    monkeypatch.setenv(messages.VARIABLE, "fr")
    with pytest.warns(
        UserWarning, match="ACLNN_VIZ_LANG names no language: got 'fr'; set it to one of en, zh"
    ):
        assert av.language() == "zh"


@pytest.mark.parametrize("name", ["zh", "cn", "zh-CN", "Chinese", "中文"])
def test_a_message_is_printed_in_the_language_that_was_chosen(name, capsys):
    kept = messages.message("choose {values}", values=messages.message("choose one"))
    av.language(name)
    print(kept, [kept])
    assert capsys.readouterr().out == "请选请选其一 ['请选请选其一']\n"
    assert (
        kept
        == "choose choose one"
        == f"{kept}"
        == messages.message("choose {values}", values=messages.message("choose one"))
    )


def test_the_variable_comes_before_the_locale_and_a_choice_before_both(monkeypatch):
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    monkeypatch.setenv(messages.VARIABLE, "en")
    assert av.language() == "en" and av.language("zh") == "zh" == av.language()


def test_another_language_is_refused():
    with pytest.raises(ValueError, match="no such language: got 'fr'; choose one of en, zh"):
        av.language("fr")


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        [],
        ["chek"],
        ["check", "rms_norm", "--depth", "all"],
        ["prove"],
        ["cpp", "--help"],
        ["prove", "rms_norm", "--fast"],
        ["tolerance", "rms_norm", "--let-through", "1"],
        ["check", "--help"],
        ["sweep", "--help"],
        ["cpp", "check", "--help"],
        ["new", "--help"],
        ["check", "rms_norm", "host", "--se", "3"],
        ["operators", "--json=1"],
        ["--lan", "en", "operators"],
    ],
)
def test_usage_and_help_of_the_command_line_are_chinese(arguments, monkeypatch, capsys):
    monkeypatch.setenv("ACLNN_VIZ_LANG", "en")  # which --lang overrides
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        cli.main(
            [*arguments, "--lang", "zh"] if "--help" in arguments else ["--lang", "zh", *arguments]
        )
    said = "".join(capsys.readouterr())
    plain = re.sub(r"'[^']*'|`[^`]*`|\[.*?\]|\{.*?\}", "", said)
    english = re.findall(
        r"\b(?!Model Context Protocol|aclnn|viz|CANN)[A-Za-z]+(?: [a-z]+){2,}", plain
    )
    assert "用法" in said and english == []
    assert (
        "--help" not in arguments or max(map(columns, said.partition("\n\n")[2].splitlines())) <= 80
    )


def test_the_command_line_hands_the_language_to_what_it_opens(monkeypatch, capsys):
    monkeypatch.setenv(messages.VARIABLE, "en")
    assert cli.main(["--lang", "zh", "glossary", "tail"]) == 0 and av.language() == "zh"


def test_an_open_explorer_follows_at_once_and_back(opened):
    english = all_words(opened)
    assert not WIDE.search(english) and opened.wording == {}
    av.language("zh")
    assert (
        "折点" in opened.words["caption"]
        and opened.wording["texts"]["Reset"] == "重置"
        and opened.wording["lang"] == "zh"
    )
    assert (
        "斜率" in repr(opened.picture["panels"])
        and "元素" in repr(opened.controls)
        and "斜率" in opened.words["text"]
    )
    opened.values = opened.values | {"x": -3.0}
    assert "折点上" in opened.words["caption"]
    opened.values = opened.values | {"x": 3.0}
    av.language("en")
    assert all_words(opened) == english


def test_the_picture_beside_a_problem_follows_too(opened):
    english = all_words(opened)
    opened.values = opened.values | {"seed": -1}
    refused = opened.problem["seed"]
    av.language("zh")
    assert (
        WIDE.search(opened.words["text"])
        and WIDE.search(repr(opened.picture["panels"]))
        and WIDE.search(opened.problem["seed"])
    )
    av.language("en")
    assert all_words(opened) == english and opened.problem["seed"] == refused


def test_a_closed_explorer_is_not_called(opened):
    opened.close()
    before = dict(opened.picture)
    av.language("zh")
    assert opened.picture == before


def test_what_is_lifted_out_and_what_a_program_reads_stays_english(opened):
    av.language("zh")
    assert not WIDE.search(
        opened.lifted("cell") + opened.lifted("test") + call(opened.subject, opened.data.state)
    )
    opened.values = opened.values | {"seed": 99999}
    assert opened.problem["seed"].startswith("seed应为0至9999的整数：实际为99999")
    with pytest.raises(
        ValueError, match="seed must be a whole number from 0 to 9999: got 99999; lower it to 9999"
    ):
        build(opened.subject.state, {"seed": 99999})


def test_a_thousand_parts_are_linked_and_said():
    parts = [message("{n} taps", n=n) for n in range(3001)]
    note = linked("{some}; {more}", parts)
    assert note == tr(note) == "; ".join(parts)


def test_the_values_of_a_parameter_have_one_name_in_all_languages():
    av.language("zh")
    options = {
        control["field"]: [text for _, text in control["options"]]
        for name in ("cross_entropy_loss", "numeric_error")
        for control in subject_of(name).controls()
    }
    assert options["reduction"] == ["mean", "none", "sum"] and options["fault"][0] == "无"


def test_a_word_that_means_two_things_has_two_translations():
    kind, cause = next(kind for kind in tiles.KINDS if kind == "format"), envelopes.CAUSES[0]
    assert kind == cause == tr(kind) == "format"
    av.language("zh")
    assert (tr(kind), tr(cause)) == ("不支持的格式", "格式")


# an English mark beside Chinese
HALF = re.compile(r"[\u4e00-\u9fff\uff00-\uffef”][,;:]|[,;:] ?[\u4e00-\u9fff“]")


@pytest.mark.parametrize(
    "name, values",
    [
        ("hardswish", {}),
        ("group_norm_swish", {}),
        ("two_phase", {"mistake": "no init"}),
        ("tiles", {"time": "A2"}),
    ],
)
def test_the_words_of_an_explorer_have_the_marks_of_chinese(name, values):
    av.language("zh")
    subject = subject_of(name)
    words = subject.words(subject.compute(build(subject.state, values)))
    words["caption"] = unmarked(words["caption"])
    assert HALF.findall(repr(words)) == []


@pytest.mark.parametrize(
    "arguments",
    [["museum", "llm.c#763"], ["why", "161002"], ["operators"], ["describe", "rms_norm"]],
)
def test_answers_of_the_command_line_have_the_marks_of_chinese(arguments, capsys):
    assert cli.main(["--lang", "zh", *arguments]) == 0
    said = capsys.readouterr().out
    assert HALF.findall(said) == [] and (arguments[0] != "describe" or "float32、float16" in said)


def test_the_sources_of_errata_have_the_marks_of_chinese():
    av.language("zh")
    ids = ("hardswish-kinks", "flash-attention-shape")
    said = re.sub(r"\n\s+", "", text_table(recompute(one for one in errata() if one.id in ids)))
    assert "commit e5c3fa9；ops-nn" in said and "; ops" not in said and "提交" not in said


def test_the_words_of_other_pictures_have_the_marks_of_chinese(monkeypatch):
    av.language("zh")
    monkeypatch.setattr(fonts, "chinese", lambda: "Some Font")
    sources = [Provenance("out", "host", "Ascend910B2", "9.1.0"), Provenance("out", "mine", seed=0)]
    out = np.ones(8, np.float32)
    runs = {f"run {k}": errors(out, np.ones(8), source) for k, source in enumerate(sources)}
    said = [
        error_runs(runs).text,
        str(puzzles()[0].check(lambda x: x)),
    ]
    assert HALF.findall("".join(said)) == [] and "host，Ascend910B2，CANN 9.1.0；mine" in said[0]


def test_a_figure_is_in_english_with_a_hint_where_no_font_has_the_glyphs(monkeypatch):
    subject = subject_of("hardswish")
    data = subject.compute(subject.state())
    av.language("zh")
    monkeypatch.setattr(fonts, "chinese", lambda: "")
    texts = [text.get_text() for text in subject.figure(data).texts]
    assert fonts.HINT in " ".join(" ".join(texts).split()) and not WIDE.search("".join(texts))


@pytest.mark.needs("chinese font")
def test_a_font_draws_every_letter_of_a_picture(monkeypatch):
    """Each kind that Chinese lessons show; a letter without a glyph is a warning of Matplotlib, and here an error."""
    av.language("zh")
    subject, values = subject_of("hardswish"), np.linspace(1, 2, 9)
    shown = [
        subject.show(subject.compute(subject.state())),
        picture(puzzles()[0]),
        error_plot(errors(values.astype("f4"), values, Provenance("x", "host"))),
    ]
    for one in shown:
        assert WIDE.search(one.text) and one.png()
    monkeypatch.setattr(fonts, "wanted", lambda one: [])
    with pytest.raises(UserWarning, match="Glyph"):
        shown[-1].png()


def test_a_picture_that_no_explorer_makes_is_in_english_there_too(monkeypatch):
    make = fonts.legible(lambda text: Picture((tr(text),), (), tr(text)))
    av.language("zh")
    monkeypatch.setattr(fonts, "chinese", lambda: "Some Font")
    assert make("Reset").headline == ("重置",) and make("Reset").notices == ()
    monkeypatch.setattr(fonts, "chinese", lambda: "")
    assert make("Reset").headline == ("Reset",) and make("Reset").notices == (fonts.HINT,)
    assert make("x").notices == ()


def test_only_a_picture_with_chinese_words_asks_for_another_font(monkeypatch):
    monkeypatch.setattr(fonts, "chinese", lambda: "Some Font")
    english, chinese = (
        Picture((text,), (Panel("p", text, ()),), text) for text in ("slope", "斜率")
    )
    assert fonts.wanted(english) == [] and fonts.wanted(chinese) == ["Some Font"]
    assert all(
        fonts.wanted(replace(english, **{field: value}))
        for field, value in (
            ("title", "斜率"),
            ("warning", "斜率"),
            ("notices", ("斜率",)),
            ("panels", (Panel("p", "斜率", ()),)),
        )
    )
    assert fonts.drawn(english) and fonts.drawn(chinese)
    monkeypatch.setattr(fonts, "chinese", lambda: "")
    assert fonts.drawn(english) and not fonts.drawn(chinese)


def test_names_of_runs_that_somebody_gave_are_nobodys_messages(monkeypatch):
    av.language("zh")
    monkeypatch.setattr(fonts, "chinese", lambda: "Some Font")
    runs = {
        name: errors(np.float16([1, 2]), np.array([1, 2.001]), "mine")
        for name in ("kit", "document")
    }
    drawn = error_runs(runs)
    assert all(name in drawn.text and messages.tr(name) != name for name in runs)
    assert not any(messages.tr(name) in drawn.text for name in runs)


def test_reasons_and_products_are_in_the_chosen_language():
    op = av.operator("rms_norm")
    result = av.check(op, op.backward, depth="quick")
    assert "there must be at least one row" in str(result) and "Atlas inference series" in str(
        op.describe()
    )
    av.language("zh")
    assert "至少应有一行" in str(result) and "Atlas 推理系列产品：float32、float16" in str(
        op.describe()
    )


def test_a_reason_of_the_prover_is_printed_in_the_chosen_language():
    answer = proves_equal(Symbol("x"), Symbol("y"))
    assert not answer and answer.reason == "no rule makes the difference 0: x - y" == str(
        answer.reason
    )
    av.language("zh")
    assert str(answer.reason) == "没有规则能使差为0：x - y" and str(
        pickle.loads(pickle.dumps(answer)).reason
    ) == str(answer.reason)


@pytest.mark.parametrize(
    "command",
    [
        ("museum", "llm.c#763"),
        ("why", "161002"),
        ("describe", "hardswish"),
        ("conventions", "hardswish"),
    ],
    ids=str,
)
def test_what_a_program_reads_is_in_one_language(command, capsys):
    said = []
    for name in ("en", "zh"):
        av.language(name)
        cli.main([*command, "--json"])
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    cli.main([*command])
    assert WIDE.search(capsys.readouterr().out)


def test_counts_are_the_same_in_both_languages():
    op, x = av.operator("rms_norm"), np.float32([1.0, 1.5, 2.0, 1e8])
    case = av.case(op, shape=(8, 64))

    def counted():
        moved = attribute_errors(
            x * np.float32([1, 2, 1, 3]), lambda x: 1.5 * x.astype(float), {"x": x}
        )
        return (*moved.counts.values(),), [
            re.findall(r"\d+", row[-1]) for row in av.judge(op, case, {"host": op.backward}).rows
        ]

    with messages.in_language("zh"):
        chinese = counted()
    assert (
        chinese == counted()
        and sum(chinese[0]) == 4
        and all(int(passed) for passed, _ in chinese[1])
    )
