"""The accuracy report: complete, in two forms with the same numbers, and right where the answer is known."""

import json
from math import prod

import pytest

from aclnn_viz.verification import report
from machine import SOAK, taught


LARGE = report.large
# Exact results that a truth with an error cannot tell from their neighbours. Of weights in 48ths one sum in three is one in 16ths,
# of which one in 16 is half way between two numbers. A row of attention with one visible key of five has gradients of 0.
OPEN = {"upsample_bilinear_2d": 1 / 48, "flash_attention_score": 5 * 0.7 * 0.3**4}


def smaller(op):
    """A case a fortieth as large: kernels/test_rounding.py judges as many elements."""
    count, *rest = LARGE(op)["shape"]
    return LARGE(op) | {"shape": (max(1, count // 40), *rest)}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    text = report.symbolic.claims
    # how long one operator's theorems take; that all hold, others see
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            report.symbolic,
            "claims",
            lambda: [one for one in text() if SOAK or one.operator == "hardswish"],
        )
        patch.setattr(report, "large", LARGE if SOAK else smaller)
        markdown, data = report.write(tmp_path_factory.mktemp("report"))
    return markdown.read_text(encoding="utf-8"), json.loads(data.read_text(encoding="utf-8"))


def test_every_output_in_every_format(written):
    _, data = written
    seen = {(row["operator"], row["output"], row["format"]) for row in data["rows"]}
    for op in taught():
        for output in op.outputs:
            formats = {fmt for name, out, fmt in seen if (name, out) == (op.name, output)}
            wide_only = (op.name, output) == ("rms_norm", "dgammaOut")
            assert formats == (
                {"float32", "float64"}
                if wide_only
                else {"float16", "bfloat16", "float32", "float64"}
            )


def test_counts_add_up_and_samples_are_large(written):
    _, data = written
    assert all(
        sum(row["ulps"].values()) + row["undecided"] == row["elements"] for row in data["rows"]
    )
    assert [
        row
        for row in data["rows"]
        if row["undecided"] > OPEN.get(row["operator"], 0.001) * row["elements"]
    ] == []
    for op in taught():
        least = report.ELEMENTS if SOAK else prod(smaller(op)["shape"])
        assert max(row["elements"] for row in data["rows"] if row["operator"] == op.name) >= least
        assert prod(LARGE(op)["shape"]) >= report.ELEMENTS


def test_sixteen_bits_are_within_one_ulp(written):
    _, data = written
    for row in data["rows"]:
        if row["format"] in ("float16", "bfloat16") and row["operator"] != "rms_norm":
            assert row["ulps"]["exact"] > 0.9 * row["elements"]


def test_sweeps_saw_every_input(written):
    _, data = written
    assert len(data["sweeps"]) == 4
    for name, found in data["sweeps"].items():
        assert found["size"] + found["special_size"] == 65536 and found["max_ulp"] <= 1, name


def test_both_forms_hold_the_same_numbers(written):
    text, data = written
    for row in data["rows"]:
        start = f"| {row['operator']} | {row['output']} | {row['format']} | {row['elements']} | {row['ulps']['exact']} |"
        assert start in text
    assert (
        all(name in text for name in data["sweeps"])
        and "## Proofs" in text
        and set(data["seconds"]) == {"derivations", "theorems", "mutants"}
    )
