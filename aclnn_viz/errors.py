"""Write every error about bad input in one form (what was asked, what was got, what to do), and check usual arguments."""

import os
import re
import traceback
from collections.abc import Callable, Mapping
from operator import index
from pathlib import Path
from signal import Signals

UNPRINTED = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def problem(asked: str, got: str, fix: str) -> str:
    """Join the three parts of a message.

    >>> problem("dtype must be a floating format", "'int8'", "pass one of float16, bfloat16, float32, float64")
    "dtype must be a floating format: got 'int8'; pass one of float16, bfloat16, float32, float64"
    """
    return f"{asked}: got {got}; {fix}"


def invalid(asked: str, got: str, fix: str) -> ValueError:
    """Return the error about a value that cannot be taken."""
    return ValueError(problem(asked, got, fix))


def mistyped(asked: str, got: str, fix: str) -> TypeError:
    """Return the error about a value of a type that cannot be taken."""
    return TypeError(problem(asked, got, fix))


def signal_named(number: int) -> str:
    """Return the name of a signal, or its number if it has no name, as real-time signals.

    >>> signal_named(11), signal_named(40)
    ('SIGSEGV', 'signal 40')
    """
    return next((one.name for one in Signals if one == number), f"signal {number}")


def shown(value) -> str:
    """Return a short text for any value.

    >>> shown(3), shown([1] * 100)
    ('3', 'list [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, ...')
    """
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"an array {getattr(value, 'kind', value.dtype)}{list(value.shape)}"
    text = " ".join(repr(value).split())
    text = text if len(text) <= 60 else text[:40] + "..."
    return (
        text
        if isinstance(value, (str, bytes, int, float, type(None)))
        else f"{type(value).__name__} {text}"
    )


def printable(text: str) -> str:
    """Return a foreign text that is safe for terminals and files: control codes and halves of characters become escapes.

    >>> printable("a\\x1b[2J")
    'a\\\\x1b[2J'
    """
    return UNPRINTED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def need(value, kinds, asked: str, fix: str):
    """Return the value if it has one of the kinds; raise TypeError for any other."""
    if not isinstance(value, kinds):
        raise mistyped(asked, shown(value), fix)
    return value


def by_name(name: str, value, fix: str = "pass a dict") -> Mapping:
    """Return a mapping whose keys are texts; raise TypeError for anything else."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise mistyped(f"{name} is a dict by name", shown(value), fix)
    return value


def listed(name: str, value, kind, of: str = "") -> list:
    """Return the items of an iterable as a list; raise TypeError unless all have the given type."""
    try:
        items = None if isinstance(value, (str, bytes, Mapping)) else list(value)
    except TypeError:
        items = None
    if items is None or not all(isinstance(item, kind) for item in items):
        of = of or getattr(kind, "__name__", "names")
        raise mistyped(f"{name} is a list of {of}", shown(value), "pass such a list")
    return items


def loaded(place, load: Callable):
    """Return the result of `load()`, which runs a user's file; raise ValueError if that code raises or exits."""
    try:
        return load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a file that is loaded may even raise SystemExit
        text = " ".join("".join(traceback.format_exception_only(error)).split())
        raise invalid(f"{place} must load before it is used", text, "mend that file") from error


def place_of(path) -> Path:
    """Return a path; raise TypeError unless it is a text or path, ValueError for a text that can name no file."""
    if not isinstance(path, (str, os.PathLike)):
        raise mistyped("a place is a path", shown(path), "pass a text or a Path")
    # No file's name has a lone surrogate, except U+DC80 to U+DCFF, which stand for bytes that are
    # not UTF-8.
    if re.search(r"^\Z|[\0\ud800-\udc7f\udd00-\udfff]", str(path)):
        raise invalid("a place is a path", repr(str(path)), "name a file or a folder")
    return Path(path)


def flag(name: str, value) -> bool:
    """Return True or False; raise TypeError for values that only behave like them.

    >>> flag("saturate", True)
    True
    """
    if type(value).__name__ not in ("bool", "bool_"):
        raise mistyped(f"{name} is True or False", shown(value), "pass one of them")
    return bool(value)


def whole(name: str, value, least: int = 0, most: int | None = None) -> int:
    """Return a whole number from `least` to `most`; raise ValueError for anything else.

    >>> whole("seed", 3)
    3
    """
    try:
        number = least - 1 if isinstance(value, bool) else index(value)
    except TypeError:
        number = least - 1
    if number < least or most is not None and number > most:
        raise invalid(
            f"{name} is a number from {least} {'on' if most is None else f'to {most}'}",
            f"{value!r:.60}",
            "pass an int",
        )
    return number


def lengths(name: str, value) -> tuple[int, ...]:
    """Return the lengths of a shape as a tuple; raise TypeError for anything else."""
    try:
        if isinstance(value, (str, bytes, Mapping)) or bool in map(type, found := [*value]):
            raise TypeError
        return tuple(map(index, found))
    except TypeError:
        raise mistyped(
            f"{name} is a tuple of lengths", shown(value), "pass such as (4, 16)"
        ) from None


def function(name: str, value):
    """Return a function or another callable; raise TypeError for anything else."""
    if not callable(value):
        raise mistyped(f"{name} is a function", shown(value), "pass what can be called")
    return value


class DeviceRefusal(Exception):
    """A device refuses a call; this is wrong only if its product supports the call."""


class DeviceClosedError(RuntimeError):
    """The device was closed, has died of an error, or belongs to another process or thread."""


class NotSupported(NotImplementedError):
    """A kernel's refusal of a call that it does not support; `check` counts such calls apart from wrong ones."""


def is_device(value) -> bool:
    """Return whether an object runs operators and has a name, a product and a CANN version, whatever its class.

    >>> is_device("host"), is_device(max)
    (False, False)
    """
    return all(hasattr(value, name) for name in ("name", "soc", "cann")) and callable(
        getattr(value, "run", None)
    )
