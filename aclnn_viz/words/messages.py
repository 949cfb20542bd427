"""Choose the language for people, one per process, and translate every message when it is shown.

Messages are English texts with named places, and their own keys; a translation is a gettext catalogue beside this module,
read as text (.po) without compilation. Texts for programs (exceptions, JSON, names, exported code) stay English. For a moving
value, as in a traced picture, `tr` returns a `Text` that is filled when shown.
"""

import os
import re
import warnings
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from weakref import WeakSet

from aclnn_viz.errors import invalid, need, problem, shown


class Moving:
    """A value that is known only when its picture is shown; + joins a text before or after the value."""

    def __add__(self, other):
        return Text("{first}{then}", {"first": self, "then": other})

    def __radd__(self, other):
        return Text("{first}{then}", {"first": other, "then": self})


@dataclass(frozen=True, eq=False)
class Text(Moving):
    """A text with named places and their values."""

    text: str
    values: dict


@dataclass(frozen=True, eq=False)
class Number(Moving):
    """A number that is known only later: an array without axes, and its Python format; zero has no sign."""

    value: object
    form: str


@dataclass(frozen=True, eq=False)
class Choice(Moving):
    """One of several options; the array without axes `which` holds the number of the option."""

    which: object
    options: tuple


LANGUAGES = ("en", "zh")
VARIABLE = "ACLNN_VIZ_LANG"
PLACE = Path(__file__).parent
# A translated message. Of a plural, the first form and the first translation count, because
# Chinese has one form.
_ENTRY = re.compile(r'^msgid (".+")\n(?:msgid_plural .*\n)?msgstr\S* (".+")$', re.MULTILINE)

_chosen: list[str] = []
# language that overrides the user's choice in a context
_for_now: ContextVar = ContextVar("for_now", default="")
listeners: WeakSet = WeakSet()  # objects whose `reworded` is called when the language changes


def language(name: str | None = None) -> str:
    """Choose the language that people read; open explorers follow at once.

    Parameters
    ----------
    name : str, optional
        "en" or "zh"; names such as "zh-CN", "cn" and "Chinese" also work.

    Returns
    -------
    str
        The language in use, "en" or "zh".

    Raises
    ------
    ValueError
        For another language.
    TypeError
        For anything but a text.

    Notes
    -----
    The default is the environment variable ACLNN_VIZ_LANG at first use, else the locale of the process, else English.

    Examples
    --------
    >>> before = language()
    >>> language("zh"), language(before) == before
    ('zh', True)
    """
    if name is not None:
        fix = f"choose one of {', '.join(LANGUAGES)}"
        if not (known := _known(need(name, str, "a language is a text", fix))):
            raise invalid("no such language", shown(name), fix)
        _chosen[:] = [known]
        for listener in list(listeners):
            listener.reworded()
    return _chosen[0] if _chosen else _of_the_process()


def _known(name: str) -> str:
    """Return the language of a name, such as a locale's; an empty text for an unknown language."""
    first = re.split("[-_.@:]", name.lower())[0]
    return (
        first
        if first in LANGUAGES
        else {"cn": "zh", "chinese": "zh", "中文": "zh", "english": "en"}.get(first, "")
    )


@cache  # cached, because a picture calls this for every message
def _of_the_process() -> str:
    asked = os.environ.get(VARIABLE, "")
    if asked and not _known(asked):
        warnings.warn(
            problem(
                f"{VARIABLE} names no language",
                shown(asked),
                f"set it to one of {', '.join(LANGUAGES)}",
            ),
            stacklevel=2,
        )
    text = (os.environ.get(name, "") for name in ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG"))
    return _known(asked) or _known(next(filter(None, text), "")) or "en"


@cache
def _catalogue(name: str) -> dict[str, str]:
    from json import loads  # quoted texts are JSON strings

    # a text that continues on the next line is joined
    found = _ENTRY.findall((PLACE / f"{name}.po").read_text("utf-8").replace('"\n"', ""))
    return dict(zip(*(loads(f"[{','.join(texts)}]") for texts in zip(*found))))


def language_here() -> str:
    """Return the language of `tr` here: that of `in_language`, else the chosen one."""
    return _for_now.get() or language()


def _translations() -> dict[str, str]:
    name = language_here()
    return {} if name == "en" else _catalogue(name)


@contextmanager
def in_language(name: str):
    """Make `tr` and `ntr` translate into this language inside the block."""
    token = _for_now.set(name)
    try:
        yield
    finally:
        _for_now.reset(token)


def english():
    """Make `tr` and `ntr` return English inside the block."""
    return in_language("en")


class Message(str):
    """An English text that remembers its message and values, so that `tr` can translate it; printed, it is in the chosen
    language.
    """

    key: str
    values: dict

    def __str__(self):
        return self[:] if language_here() == "en" else tr(self)

    def __repr__(self):  # a printed list of messages shows their texts
        return repr(str(self))

    def __format__(self, spec: str):
        return format(self[:], spec)  # the text of this message as a part of another English text

    def said(self, values: dict) -> str:
        """Return the message in the chosen language, with further values."""
        return tr(self.key, **self.values | values)


class Name(Message):
    """A name that a program passes: English in every language, followed by its meaning in other languages."""

    # programs pass names on, so they stay untranslated
    __str__, __repr__ = str.__str__, str.__repr__

    def said(self, values: dict) -> str:
        meaning = tr(self.key)
        return (
            self.key
            if meaning == self.key
            else tr("{name} ({meaning})", name=self.key, meaning=meaning)
        )


class Meant(Message):
    """A text with several meanings: unchanged in English, translated by its meaning in other languages."""

    def said(self, values: dict) -> str:
        return tr(self.key) if _translations() else self[:]


def message(key: str, /, **values) -> Message:
    """Return a message, printed in English; `tr` translates it when drawn, with further values if given.

    >>> kept = message("{name} fails", name="x")
    >>> kept, tr(kept)
    ('x fails', 'x fails')
    """
    with english():
        return _made(Message, key.format_map(values) if values else key, key, values)


def kept(text: str) -> Message:
    """Return a text as a message without values; a message is returned unchanged.

    >>> kept("x").key
    'x'
    """
    return text if isinstance(text, Message) else message(text)


def named(name: str) -> Name:
    """Return a name that a program passes; in other languages than English `tr` adds its meaning.

    >>> tr(named("n - 1"))
    'n - 1'
    """
    return name if isinstance(name, Name) else _made(Name, name, name, {})


def meant(text: str, key: str) -> Meant:
    """Return a text that other languages translate by its meaning `key`, because the text has several meanings.

    >>> tr(meant("fail", "raises an error"))
    'fail'
    """
    return _made(Meant, text, key, {})


def _made(kind: type, text: str, key: str, values: dict):
    made = kind(text)
    made.key, made.values = key, values
    return made


def linked(link: str, parts) -> str:
    """Return messages joined as one message; a link such as "{some}; {more}" joins two in each language.

    >>> linked("{some} and {more}", ["x", "y", "z"])
    'x and y and z'
    """
    parts = [*parts] or [""]
    while len(parts) > 1:  # join neighbours first: a chain of a thousand would nest too deep
        pairs = [message(link, some=some, more=more) for some, more in zip(parts[::2], parts[1::2])]
        parts = pairs + parts[2 * len(pairs) :]
    return parts[0]


def commas(parts) -> str:
    """Return messages and names joined as one message, with commas.

    >>> commas(["x", message("slope")])
    'x, slope'
    """
    return linked("{some}, {more}", parts)


def enumerated(parts) -> str:
    """Return names and messages in a list of the chosen language; names stay unchanged.

    >>> enumerated(["x", message("slope")])
    'x, slope'
    """
    return said(commas(parts))


def tr(message: str, /, **values) -> str:
    """Return a message in the chosen language, with these values at its named places.

    >>> tr("x = {x}", x=1)
    'x = 1'
    """
    if isinstance(message, Message):
        return message.said(values)
    message = _translations().get(message, message)
    return _filled(message, values) if values else message


def _filled(message: str, values: dict) -> str:
    """Return a message with its values translated and filled in, or a Text while any value moves."""
    values = {name: said(one) for name, one in values.items()}
    return (
        Text(message, values)
        if any(isinstance(one, Moving) for one in values.values())
        else message.format_map(values)
    )


def said(value):
    """Return a message in the chosen language, and anything else, such as a name, unchanged.

    >>> said(message("x = {x}", x=1)), said("input"), said(2)
    ('x = 1', 'input', 2)
    """
    return tr(value) if isinstance(value, Message) else value


def ntr(one: str, many: str, n: int, /, **values) -> str:
    """Return the message for a count, in the chosen language's plural form; {n} is the count.

    >>> ntr("{n} tap", "{n} taps", 4)
    '4 taps'
    """
    return _filled(_translations().get(one, one if n == 1 else many), {"n": n} | values)
