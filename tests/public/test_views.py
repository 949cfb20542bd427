"""Every result of the first hour is read in ten lines, in text and in HTML, on light and on dark ground."""

import re
from functools import cache

import pytest

import aclnn_viz as av
from aclnn_viz.accuracy import envelope
from aclnn_viz.arrays.plan import Plan
from aclnn_viz.operators.plans import preset

OP = av.operator("rms_norm")
CASE = av.case(OP, dtype="bfloat16", shape=(4, 16))
FEW = {"shapes": [(2, 4)], "dtypes": ["float32"], "depth": "quick"}


def doubled(**inputs):
    return {name: value * 2 for name, value in OP.backward(**inputs).items()}


VIEWED = {
    "operator": lambda: OP,
    "case": lambda: CASE,
    "device": lambda: av.open_device("host", plan="device"),
    "plan": lambda: preset("group_norm_swish", "A2", "9.0"),
    "plan of one's own": lambda: Plan("mine", order="blocked", tile=256),
    "envelope": lambda: envelope(OP, **CASE.inputs)["dxOut"],
    "report": lambda: av.compare(
        OP.backward(**CASE.inputs)["dxOut"], OP.truth(**CASE.inputs)["dxOut"]
    ),
    "right": lambda: av.check(OP, OP.backward, **FEW),
    "wrong": lambda: av.check(OP, doubled, **FEW),
    "predictions": lambda: av.predict(OP, CASE),
    "judgement": lambda: av.judge(OP, CASE, {"kit": OP.backward(**CASE.inputs), "double": doubled}),
}
VIEWED = {name: cache(make) for name, make in VIEWED.items()}


def at_first_sight(page):
    return re.sub(r"<details>.*?</details>", "", page, flags=re.DOTALL)


@pytest.mark.parametrize("name", VIEWED)
@pytest.mark.sampled(5)
def test_a_view_is_short_and_has_no_background_of_its_own(name):
    one = VIEWED[name]()
    page, text = one._repr_html_(), repr(one)
    assert at_first_sight(page).count("<tr>") <= 14 and len(text) < 2500 and text.count("\n") < 12
    assert not re.search(r"(?<![-\w])(color|background)\s*:", page) and "<object" not in text + page
    if name != "predictions" and name != "judgement":
        assert len(text) < 500 and "\n" not in text


def test_views_say_what_counts():
    assert "missing" in VIEWED["plan"]()._repr_html_() and "blocked" in repr(
        VIEWED["plan of one's own"]()
    )
    assert "✘" in VIEWED["wrong"]()._repr_html_() and "✔" in VIEWED["right"]()._repr_html_()
    assert "not hardware" in VIEWED[
        "device"
    ]()._repr_html_() and "nothing here was measured" in str(av.predict(OP, CASE))
    assert "0 of 64 elements" in repr(VIEWED["envelope"]())
    rows = {
        (output, who): unexplained
        for output, who, _, _, unexplained, *_ in VIEWED["judgement"]().rows
    }
    assert rows["dxOut", "kit"] == "0 of 64" and rows["dxOut", "double"] != "0 of 64"


def test_what_is_not_text_is_escaped():
    assert "<b>x" not in Plan("<b>x")._repr_html_()
