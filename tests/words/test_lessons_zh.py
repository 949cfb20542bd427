"""The Chinese lessons: the same code as the English ones, prose of their texts and of today, in in Chinese with the glossary's terms, links both ways."""

import copy
import json
import re
import shutil

import pytest
import visible
from machine import ROOT
from test_notebooks import LESSONS, unknown_to_explorer
from together import in_one

import aclnn_viz as av
from aclnn_viz.words import messages
from notebooks.gallery import outputs

PAIRS = [editions for path in outputs.lessons() if "zh" in (editions := outputs.editions(path))]
EACH = pytest.mark.parametrize("pair", PAIRS)
HAN = re.compile(r"[\u4e00-\u9fff]")
# Not prose: blocks of code, code in a line, formulas, and link targets.
CODE = re.compile(r"```.*?```|`[^`\n]+`|\$\$.*?\$\$|\$[^$\n]+\$|\]\([^)]+\)", re.DOTALL)
FOREIGN = re.compile(r"(?:\b[A-Za-z][a-z]+\b[ ,]+){3}[a-z]{2,}")  # four words of English in a row
# A paragraph is one line: a break inside it would be shown as a space between Chinese letters.
BROKEN = re.compile(
    r"^(?![#|]).*[\u4e00-\u9fff，。；：！？）”]\n(?=[\u4e00-\u9fff（“])", re.MULTILINE
)
BOLD = re.compile(r"(?<!\*)\*\*(.+?)\*\*(?!\*)", re.DOTALL)
OTHER_WORDS = {
    "内核": "核函数",
    "工作空间": "workspace",
    "瓦片": "数据块",
    "后向": "反向传播",
    "前向": "正向计算",
    "胶囊": "记录包",
    "向量单元": "矢量单元",
    "工作区": "workspace",
    "故障": "缺陷",
    "平均值": "均值",
    "陈述": "推算",
}


def book(path):
    return json.loads(path.read_text("utf-8"))


def source(cell):
    return "".join(cell["source"])


def frame(notebook):
    """Return a notebook without prose and outputs."""
    kept = [
        (
            cell["cell_type"],
            cell["id"],
            cell["metadata"],
            source(cell) if cell["cell_type"] == "code" else "",
        )
        for cell in notebook["cells"]
    ]
    return kept, notebook["metadata"], notebook["nbformat"]


def unbold(text):
    """Yield texts between stars that Markdown does not show bold: a mark inside them, a letter right outside."""
    marked = CODE.sub("`", text)  # code and formulas begin and end with a mark, too
    for found in BOLD.finditer(marked):
        before, after = marked[: found.start()][-1:], marked[found.end() :][:1]
        if re.fullmatch(r"[^\w\s]\w", found[1][-1] + after) or re.fullmatch(
            r"\w[^\w\s]", before + found[1][0]
        ):
            yield found[0]


def faults(text, terms=av.glossary()):
    """Yield the faults of one cell's prose."""
    prose = CODE.sub(" ", text)
    if re.search("[A-Za-z]{2}", prose) and not HAN.search(prose):
        yield f"not Chinese: {text[:60]}"
    yield from (f"English: {found[0]}" for found in FOREIGN.finditer(prose))
    yield from (f"a line breaks: {found[0][-20:]}" for found in BROKEN.finditer(prose))
    yield from (f"not bold: {part}" for part in unbold(text))
    yield from (
        f"unit in lower case: {found[0]}" for found in re.finditer(r"(?a:\b)ulps?(?a:\b)", prose)
    )
    yield from (
        f"{other} is {term} in the glossary"
        for other, term in OTHER_WORDS.items()
        if other in prose
    )
    for term in terms:
        if (
            term.term.casefold() not in term.chinese.casefold()
            and term.term not in visible.KEPT
            and re.search(
                rf"(?<![-\w]){re.escape(term.term)}s?(?![-\w])",
                re.sub(HAN, " ", prose),
                re.IGNORECASE,
            )
        ):
            yield f"{term.term} is {term.chinese} in the glossary"


def broken(path, text):
    """Return broken links of a cell."""
    return [
        target
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text)
        if not re.match("https?:", target) and not (path.parent / target).exists()
    ]


def test_every_lesson_is_there_in_chinese_and_no_other():
    assert [path.name for path in outputs.lessons("zh")] == [
        path.name for path in outputs.lessons()
    ]


@in_one
@EACH
def test_the_code_is_that_of_the_english_lesson(pair):
    english, chinese = (outputs.read(pair[language]) for language in ("en", "zh"))
    first = next(cell for cell in english["cells"] if cell["cell_type"] == "code")
    assert 'av.language("zh")' not in first.source
    first.source = outputs.choosing(first.source, "zh")
    assert (
        frame(chinese) == frame(english)
        and 'import aclnn_viz as av\nav.language("zh")\n' in first.source
    )


def test_a_changed_cell_is_noticed():
    english = book(PAIRS[0]["en"])
    for at, change in (
        (1, {"source": ["x"]}),
        (0, {"id": "other"}),
        (1, {"metadata": {"x": 1}}),
        (0, {"cell_type": "raw"}),
    ):
        other = copy.deepcopy(english)
        other["cells"][at] |= change
        assert frame(other) != frame(english)
    assert frame(english | {"cells": english["cells"][1:]}) != frame(english)


def prose_of(notebook):
    return [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]


@in_one
@EACH
def test_its_prose_is_that_of_its_texts(pair):
    assert prose_of(outputs.read(pair["zh"])) == prose_of(outputs.edition(pair["zh"])), (
        f"make lessons ONLY=zh/{pair['zh'].name[:2]}"
    )


def test_a_name_of_no_lesson_is_refused():
    with pytest.raises(
        SystemExit, match="a name is how a lesson begins: got zh/99; pass such as 04"
    ):
        outputs.main(["zh/99"])


@pytest.mark.parametrize(
    "name, old, new, says",
    [
        (
            "14.ipynb",
            "Prove your own",
            "Prove another",
            r"cell-00 \w+ in .*14.md; translate each cell as it is today and mark it cell-00 \w{8}$",
        ),
        ("14.ipynb", "cell-02", "cell-03a", "mark it cell-03a"),
        ("zh/14.md", "<!-- cell-1", "cell-1", "got nothing more in .*mark it cell-10 .*, cell-18"),
        ("zh/14.md", "<!-- cell-02", "<!-- cell-01 abc -->\n<!-- cell-02", "got cell-01 abc"),
        (
            "zh/14.md",
            "为True。",
            "为True。\n<!-- cell-18 cfbc20a0 -->",
            "got cell-18 .*take it out",
        ),
    ],
)
def test_a_text_that_is_not_of_today_is_refused(name, old, new, says, tmp_path, monkeypatch):
    (tmp_path / "zh").mkdir()
    lesson = next(pair for pair in PAIRS if pair["en"].name[:2] == "14")
    for path in (lesson["en"], lesson["zh"].with_suffix(".md")):
        shutil.copy(path, (tmp_path / path.relative_to(ROOT / "notebooks")).with_stem("14"))
    monkeypatch.setattr(outputs, "LESSONS", tmp_path)
    assert prose_of(outputs.edition(tmp_path / "zh" / "14.ipynb"))[0].startswith("# 证明")
    text = (tmp_path / name).read_text("utf-8")
    (tmp_path / name).write_text(text.replace(old, new), "utf-8")
    with pytest.raises(ValueError, match=says):
        outputs.edition(tmp_path / "zh" / "14.ipynb")


@in_one
@EACH
def test_its_prose_is_chinese_in_the_words_of_the_glossary(pair):
    prose = [source(cell) for cell in book(pair["zh"])["cells"] if cell["cell_type"] == "markdown"]
    assert [fault for text in prose for fault in faults(text.replace("[English]", ""))] == []
    assert [target for text in prose for target in broken(pair["zh"], text)] == []


@pytest.mark.parametrize(
    "text, noticed",
    [
        ("## Step one", "not Chinese"),
        ("这里of the two is right的一句", "English"),
        ("**谁对？**这是", "not bold"),
        ("是**（一）**", "not bold"),
        ("**用`x`**计算", "not bold"),
        ("尾块即tail block", "tail block is 尾块"),
        ("每个 Tiles 各自", "tile is 数据块"),
        ("编译内核", "核函数"),
        ("在向量单元上", "矢量单元"),
        ("差3个ulp", "lower case"),
        ("一行，\n又一行", "breaks"),
    ],
)
def test_prose_that_is_not_chinese_is_noticed(text, noticed):
    assert noticed in " ".join(faults(text))


@pytest.mark.parametrize(
    "text",
    [
        "```sh\nmake lab\n```",
        "$$x$$",
        "**谁对**？`tail block`的workspace",
        "在Unified Buffer中，**精度**。",
        "## 标题\n正文",
    ],
)
def test_code_formulas_and_names_are_let_through(text):
    assert list(faults(text)) == []


def unchinese(text):
    """Return parts of an output with English marks after Chinese; of long lines one place each is tested."""
    return re.findall(
        r"[\u4e00-\u9fff）”][,;:]\s.*|^[^\u4e00-\u9fff\n]*[\u4e00-\u9fff].* = [^ ]+, \w+ = .*",
        text,
        re.MULTILINE,
    )


@in_one
@EACH
def test_its_outputs_have_the_marks_of_chinese(pair):
    shown = [
        text
        for cell in book(pair["zh"])["cells"]
        for output in cell.get("outputs", ())
        for kind, text in {"text/": output.get("text", ""), **output.get("data", {})}.items()
        if kind.startswith("text/")
    ]
    assert unchinese("\n".join(map("".join, shown))) == [], (
        f"make lessons ONLY=zh/{pair['zh'].name[:2]}"
    )


def test_an_output_with_english_marks_is_noticed():
    for text in ("x\n误差, 最大", "误差;\n2", "得到（一）: 3", "a = 1\n误差：a = 1, b = 2"):
        assert unchinese(text), text
    assert unchinese("误差，最大\na = 1, b = 2\n误差：a = 1\nb = 2, 3\n1,2") == []


def test_a_link_that_leads_nowhere_is_noticed():
    assert broken(
        PAIRS[0]["zh"], "[一](nowhere.ipynb)，[二](../README.md)，[三](https://example.org)"
    ) == ["nowhere.ipynb", "../README.md"]


@in_one
@EACH
def test_the_editions_lead_to_each_other(pair):
    name = pair["zh"].name
    assert f"[中文](zh/{name})" in source(book(pair["en"])["cells"][0])
    assert f"[English](../{name})" in source(book(pair["zh"])["cells"][0])


@in_one
@EACH
def test_its_pictures_stand_where_those_of_the_english_lesson_stand(pair):
    shown = [
        [
            sum("image/png" in output.get("data", {}) for output in cell.get("outputs", ()))
            for cell in book(path)["cells"]
        ]
        for path in pair.values()
    ]
    assert shown[0] == shown[1]


def test_what_code_reads_is_beside_both_editions():
    assert (ROOT / "notebooks" / "zh" / "capsules").samefile(ROOT / "notebooks" / "capsules")


@pytest.mark.parametrize(
    "path", [pair["zh"] for pair in PAIRS if pair["zh"].stem in LESSONS], ids=lambda path: path.stem
)
def test_the_moves_name_what_the_chinese_explorer_shows(path, monkeypatch):
    monkeypatch.setattr(messages, "_chosen", ["zh"])
    assert unknown_to_explorer(outputs.read(path), LESSONS[path.stem]) == []
