"""The glossary: look up a technical term in English and in Chinese, with a sentence and the source of the Chinese word.

The terms are data, in terms.toml beside this module.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache

from aclnn_viz.errors import invalid, need
from aclnn_viz.tables import as_html, table_beside
from aclnn_viz.words.messages import language, message, tr

OWN = message("this kit's own translation")


@dataclass(frozen=True)
class Term:
    """A term with one sentence, both in two languages.

    `source` is the vendor's document that uses `chinese`, with a `quote`; both are empty for the kit's own translations.
    """

    term: str
    chinese: str
    meaning: str
    chinese_meaning: str
    source: str = ""
    quote: str = ""


class Glossary(tuple):
    """Terms in the order of the English alphabet; printed, and shown in a notebook, as a table."""

    def __str__(self) -> str:
        return "\n\n".join(
            "\n".join(
                [
                    "  ".join(_first((one.term, one.chinese))),
                    *(f"  {text}" for text in _first((one.meaning, one.chinese_meaning))),
                    f"  {one.source}: {one.quote}" if one.source else f"  {tr(OWN)}",
                ]
            )
            for one in self
        )

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head = (*_first((tr("term"), "中文")), *_first((tr("meaning"), "释义")), tr("source"))
        return as_html(
            tr("Glossary"),
            head,
            [
                (
                    *_first((one.term, one.chinese)),
                    *_first((one.meaning, one.chinese_meaning)),
                    one.source or tr(OWN),
                )
                for one in self
            ],
            filters=tr("filter rows"),
        )


def _first(both: tuple[str, str]) -> tuple[str, ...]:
    """Return English and Chinese, the chosen language first."""
    return both[::-1] if language() == "zh" else both


@cache
def _all() -> Glossary:
    held = table_beside(__file__, "terms.toml")
    return Glossary(
        Term(**one | ({"source": held["sources"][one["source"]]} if "source" in one else {}))
        for one in held["terms"]
    )


def glossary(term: str = "") -> Glossary:
    """Return the terms of the field that a text names.

    Parameters
    ----------
    term : str
        A part of an English or Chinese name, or else of a meaning. Without it all terms are returned.

    Returns
    -------
    Glossary
        The terms, with their meaning and a passage of CANN's documents that uses each.

    Raises
    ------
    ValueError
        For a text in no term.
    TypeError
        For anything but a text.

    Examples
    --------
    >>> print(glossary("尾块"))  # doctest: +ELLIPSIS
    tail block  尾块
      What is left of a core's share when it is no whole number of tiles.
      核内数据不能被数据块均分时剩下的最后一块。
      asc-devkit docs/zh/guide/算子实践参考/...: 用来表示最后一个分块，即尾块的大小
    >>> [one.chinese for one in glossary("benchmark")]
    ['双标杆比对', '单标杆比对']
    """
    asked = "a term is English or Chinese text"
    name = need(term, str, asked, 'pass such as "tail block", or nothing for all').casefold()
    for texts in (
        (lambda one: (one.term, one.chinese)),
        (lambda one: (one.meaning, one.chinese_meaning, one.quote)),
    ):
        if found := Glossary(
            one for one in _all() if any(name in text.casefold() for text in texts(one))
        ):
            return found
    near = get_close_matches(
        name, [text for one in _all() for text in (one.term, one.chinese)], 3, 0.5
    )
    raise invalid(
        "a term is one of the glossary",
        repr(term),
        f"try a similar one: {', '.join(near)}" if near else "ask without a term for all",
    )
