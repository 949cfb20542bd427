"""The caption of a stage says what is seen, in the states whose captions states.toml holds."""

import re

import pytest
from panelled_explorer import HELD, computed
from together import in_one

from aclnn_viz.pictures.text import unmarked


@in_one
@pytest.mark.parametrize(
    "name, values, text", [(name, *row) for name, rows in HELD["said"].items() for row in rows]
)
def test_the_caption_says_what_is_seen(name, values, text):
    subject, data = computed(name, **values)
    said = unmarked(subject.said(data))
    assert re.fullmatch(".*".join(map(re.escape, text.split("…"))), said), said
