"""Messages that a file keeps: the same English, and what another language says of them."""

import math

import numpy as np
import pytest

from aclnn_viz.words.messages import (
    Meant,
    Message,
    Name,
    language,
    linked,
    meant,
    message,
    named,
    restored,
    stored,
    tr,
)

WRONG = message(
    "{output} is wrong in {count} of {size} elements", output="dx", count=np.int64(2), size=6
)
NOTES = [
    "",
    "no message",
    message("a text without values, with {{braces}}"),
    WRONG,
    linked(
        "{some}; {more}",
        [WRONG, message("{x:.9g} instead of {y!r}", x=np.float32(0.1), y="z"), "plain"],
    ),
    message("{shape} and {flag}, {what}", shape=(2, 3), flag=True, what=named("n - 1")),
    message("{what}: {x} {y}", what=meant("fail", "raises an error"), x=math.nan, y=-math.inf),
    named("n - 1"),
    meant("fail", "raises an error"),
]


@pytest.fixture(params=["en", "zh"])
def chosen_language(request):
    before = language()
    yield language(request.param)
    language(before)


@pytest.mark.parametrize("note", NOTES, ids=range(len(NOTES)))
def test_what_comes_back_is_what_was_kept(note, chosen_language):
    again = restored(stored(note))
    assert again == note and type(again) is type(note) and tr(again) == tr(note)
    assert stored(again) == stored(note)


def test_kinds_are_distinguished():
    assert [type(restored(stored(note))) for note in ("x", WRONG, named("x"), meant("x", "y"))] == [
        str,
        Message,
        Name,
        Meant,
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "wrong in 2",
        "[1, 2, 3]",
        "[[], {}]",
        "5",
        "null",
        '{"a": 1}',
        "[" * 100_000,
        '["{} taps", {"n": 4}]',
        '["{n:z} taps", {"n": 4}]',
        '["{m} taps", {"n": 4}]',
    ],
)
def test_what_was_not_stored_is_refused(text):
    with pytest.raises(ValueError):
        restored(text)


def test_a_thousand_parts_are_linked_stored_and_said(chosen_language):
    parts = [message("{n} taps", n=n) for n in range(3001)]
    note = linked("{some}; {more}", parts)
    assert note == "; ".join(parts) and tr(restored(stored(note))) == tr(note)
