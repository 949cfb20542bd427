"""Messages as text that a file keeps, so that whoever reads it hears them in a language of his own."""

import json
import re
from numbers import Integral, Real

from aclnn_viz.errors import printable
from aclnn_viz.words.speech import Meant, Message, Name, meant, message, named

LONGEST = 1 << 20  # characters of a message from a file
PLAIN = re.compile(r"([^{}]|{{|}}|{\w+(!r)?(:,?(\.\d)?[a-z]?)?})*")  # no attribute, no item; a width would demand memory


def stored(text: str) -> str:
    """Return a text as JSON; a message with its key and its values, which become numbers or texts.

    >>> stored(message("{n} taps", n=4)), stored("x")
    ('["{n} taps", {"n": 4}]', '"x"')
    """
    return json.dumps(_plain(text))


def restored(text: str) -> str:
    """Return the text or the message that `stored` was given; ValueError for what it has not written.

    >>> restored(stored(message("{n} taps", n=4))).values
    {'n': 4}
    """
    try:
        return _text(_made(json.loads(text)))
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise ValueError(f"no stored message: {text[:80]!r}") from error


def _plain(value):
    """A message as [key, values], a name or a text of several meanings as [text, key]."""
    if isinstance(value, (Name, Meant)):
        return [str(value), value.key]
    if isinstance(value, Message):
        return [value.key, {name: _plain(one) for name, one in value.values.items()}]
    if isinstance(value, Integral):
        return value if isinstance(value, bool) else int(value)
    return float(value) if isinstance(value, Real) else str(value)


def _made(plain):
    if not isinstance(plain, list):
        return printable(plain) if isinstance(plain, str) else plain
    text, rest = plain
    text = printable(_text(text))
    if isinstance(rest, dict):
        values = {name: _made(one) for name, one in rest.items()}
        if not PLAIN.fullmatch(text) or len(text) + text.count("{") * max((len(str(one)) for one in values.values()), default=0) > LONGEST:
            raise ValueError("no plain message")
        return message(text, **values)
    rest = printable(_text(rest))
    return named(text) if text == rest else meant(text, rest)


def _text(value) -> str:
    if not isinstance(value, str):
        raise TypeError(f"no text: {value!r}")
    return value
