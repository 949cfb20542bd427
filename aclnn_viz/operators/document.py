"""The vendor's Markdown document of an operator, read: prototype, parameters, products with their formats, status codes, sample.

The documents of the public repositories ops-nn, ops-cv, ops-math and ops-transformer have this form; they are in Chinese.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from aclnn_viz.dtypes import FORMATS
from aclnn_viz.errors import problem
from aclnn_viz.operators import products

PROTOTYPE = re.compile(r"aclnnStatus\s+(aclnn\w+)GetWorkspaceSize\s*\([^)]*\)")
NAMES = {fmt.vendor_name: fmt.name for fmt in FORMATS} | {"FLOAT": "float32"}
DTYPE = r"(?:B?FLOAT\d*|DOUBLE|U?INT\d+|BOOL|COMPLEX\d+)(?![A-Za-z0-9_])"


class Documented(NamedTuple):
    """A backward operator that the vendor documents: its family, and the repository and path of the document."""

    family: str
    aclnn_name: str
    document: str


def documented() -> list[Documented]:
    """All backward operators that have a document in the public repositories, by family."""
    lines = Path(__file__).with_name("documented.tsv").read_text("utf-8").splitlines()
    return [Documented(*line.split("\t")) for line in lines if not line.startswith("#")]


@dataclass(frozen=True)
class Row:
    """What the document says of one parameter: the words of its table, and what follows from them.

    `alike` names another parameter whose shape it has; `rank` is the number of axes, None where that varies.
    """

    name: str
    output: bool
    optional: bool
    dtypes: tuple[str, ...]
    remarks: tuple[str, ...]
    alike: str | None
    rank: int | None
    values: dict[int, str]


@dataclass(frozen=True)
class Document:
    """`formats` are the floating formats of each product, `codes` (code, name, when), `sample` the C++ program."""

    aclnn_name: str
    prototype: str
    rows: dict[str, Row]
    formats: dict[str, tuple[str, ...]]
    codes: tuple[tuple[str, str, str], ...]
    sample: str
    header: str
    library: str


def _cells(text: str) -> list[list[str]]:
    """The rows of tables, and of lists of parameters."""
    cells = [
        [_plain(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.DOTALL)]
        for row in re.findall(r"<tr[^>]*>(.*?)</tr>", text, re.DOTALL)
    ]
    cells += [
        [_plain(part) for part in line]
        for line in re.findall(
            r"^\s*[-*]\s*(\w+)\s*[(（][^,，]*[,，]([^)）]*)[)）][:：](.*)", text, re.MULTILINE
        )
    ]
    return cells


def read(text: str) -> Document:
    """Return a document's content; ValueError where it declares no operator or describes no parameter.

    >>> read("# aclnnX\\n").rows
    Traceback (most recent call last):
    ...
    ValueError: a document declares one function aclnn...GetWorkspaceSize: got # aclnnX; pass the vendor's docs/aclnn....md
    """
    if len(declared := {*PROTOTYPE.findall(text)}) != 1:
        raise ValueError(
            problem(
                "a document declares one function aclnn...GetWorkspaceSize",
                ", ".join(sorted(declared)) or text[:60].strip() or "an empty file",
                "pass the vendor's docs/aclnn....md",
            )
        )
    found, (name,) = PROTOTYPE.search(text), declared
    about = re.split(rf"^#+\s*{name}GetWorkspaceSize\s*$", text, maxsplit=1, flags=re.MULTILINE)[
        -1
    ].partition("\n## ")[0]
    names = re.findall(r"(\w+)\s*[,)]", found[0])
    cells = _cells(about)
    rows = {
        first: _row(first, row[1], row[2:], names)
        for row in cells
        if len(row) > 2 and (first := re.split(r"\W", row[0].strip("`"))[0]) in names
    }
    if not rows:
        raise ValueError(
            problem(
                f"the document of {name} has a table of its parameters",
                "none",
                "pass --prototype with its declaration",
            )
        )
    main = max(
        (row.dtypes for row in rows.values()), key=lambda some: sum(one in NAMES for one in some)
    )
    usual = tuple(
        dict.fromkeys(NAMES[one] for one in main or re.findall(DTYPE, about) if one in NAMES)
    )
    include, library = (
        re.search(r"aclnnop/(?:level2/)?(\w+\.h)", text),
        re.search(r"cann/(ops-\w+)", text),
    )
    support = text.partition("产品支持情况")[2].partition("\n## ")[0]
    return Document(
        name,
        found[0],
        rows,
        {product: _narrowed(product, usual, about) for product in _supported(support)},
        tuple(_codes(cells, about)),
        next(
            (
                one
                for one in re.findall(r"```[Cc](?:pp|\+\+)\n(.*?)```", text, re.DOTALL)
                if " main(" in one
            ),
            "",
        ),
        include[1] if include else "",
        library[1] if library else "",
    )


def _codes(cells: list[list[str]], text: str) -> Iterator[tuple[str, str, str]]:
    """The status codes of phase 1 with what leads to each, each with a row of the table."""
    yield from (
        (code, name, when)
        for code, name, when in re.findall(r"(\d{6})\s*[(（](ACLNN_ERR\w+)[)）][:：]\s*(.*)", text)
    )
    found: tuple = ()
    for row in filter(None, cells):
        found = (row[1], row[0]) if len(row) > 2 and row[0].startswith("ACLNN_ERR") else found
        if found and (len(row) == 1 or row[0] == found[1]):
            yield *found, row[-1]


def _plain(html: str) -> str:
    """Text without tags, comments and links, its items apart."""
    text = re.sub(
        r"<!--(?:(?!<!--).)*?-->|\[([^][]*)\]\([^)]{0,500}\)",
        r"\1",
        re.sub(r"<li>|<br\s*/?>", "；", html),
        flags=re.DOTALL,
    )
    return " ".join(re.sub(r"<[^<>]+>", "", text).split()).strip("； ")


def _row(name: str, role: str, cells: list[str], names: list[str]) -> Row:
    text, axes = "；".join(cells), cells[4] if len(cells) > 4 else ""
    others = "|".join(sorted((one for one in names if one != name), key=len, reverse=True))
    alike = re.search(
        rf"shape[^；。]{{0,12}}?[与和同][^；。\w]*({others})[^；。]{{0,6}}?(?:一致|相同|broadcast)",
        text,
    ) or re.search(rf"[与和]({others})(?:保持)?一致", axes)
    rank = re.fullmatch(r"(\d)(?:维.*)?", axes)
    letters = re.fullmatch(r"[(\[（]([\w, ，]*)[)\]）].*", axes)
    values = re.findall(r"(\d)\s*[（(:：]\s*['‘“\"]?([A-Za-z][A-Za-z0-9_]*)", text)
    named = len(values) > 1 and [int(number) for number, _ in values] == list(range(len(values)))
    return Row(
        name,
        "输出" in role and "输入" not in role,
        "可选" in role or name.endswith("Optional"),
        tuple(dict.fromkeys(re.findall(DTYPE, cells[2] if len(cells) > 3 else text))),
        tuple(one for one in cells[:2] if one.strip("-")),
        alike and alike[1],
        int(rank[1]) if rank else len(re.findall(r"\w+", letters[1])) if letters else None,
        {int(number): word for number, word in values} if named else {},
    )


def _supported(text: str) -> list[str]:
    """The names in the kit of the products that the document lists as supported."""
    lines = [
        line
        for line in text.splitlines()
        if "不支持" not in line and "×" not in line and ("支持" in line or "√" in line)
    ]
    return [
        name
        for name, one in vars(products).items()
        if isinstance(one, products.Product)
        and any(one.chinese_name.split("/")[0] in line for line in lines)
    ]


def _narrowed(product: str, usual: tuple[str, ...], text: str) -> tuple[str, ...]:
    """The formats that remain on a product, by the remarks below the table."""
    for line in re.sub(r"[:：]\s*\n\s*", "：", text).splitlines():
        remark = re.search(r"数据类型(仅|不)?支持([^。]*)", line)
        if remark and getattr(products, product).chinese_name.split("/")[0] in line:
            listed = tuple(
                dict.fromkeys(NAMES[one] for one in re.findall(DTYPE, remark[2]) if one in NAMES)
            )
            return (
                tuple(one for one in usual if one not in listed)
                if remark[1] == "不"
                else listed or usual
            )
    return usual
