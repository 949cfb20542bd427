"""A report starts with the most important result, and every worst case has the command that runs it again."""

import json
import re
import shlex

import pytest
from swept import kernel

import aclnn_viz as av
from aclnn_viz import cli
from aclnn_viz.sweeps import report
from aclnn_viz.words.messages import language

CASES = [
    {"operator": op, "dtype": dtype, "shape": (3, 5), "seed": seed}
    for op in ("hardswish", "rms_norm")
    for dtype in ("float32", "float16")
    for seed in range(3)
]
CASES += [
    {"operator": "cross_entropy_loss", "reduction": reduction, "shape": (3, 4)}
    for reduction in ("mean", "sum")
]


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """Store runs of the right kernels, of one with a wrong factor, and of two on the host."""
    folder = tmp_path_factory.mktemp("stores")
    for name in ("right", "wrong"):
        av.sweep(CASES[:-2], kernel(folder, name), store=folder / name)
    for plan in (None, "device"):
        av.sweep(CASES, store=folder / "host", plan=plan)
    return folder


def test_an_injected_regression_is_named_in_the_first_line(stores):
    found = report(stores / "wrong", stores / "right")
    assert (
        str(found).splitlines()[0]
        == found.headline
        == "REGRESSION: rms_norm dgammaOut, float16, the only mode: 3 of 3 cases are wrong that were right"
    )
    assert not found.passed
    ((where, change),) = [item for item in found.changes.items() if item[1].other_bits]
    assert (change.cases, change.newly_wrong, change.other_bits) == (3, 3, 3)


def test_what_is_mended_is_no_regression(stores):
    found = report(stores / "right", stores / "wrong")
    assert found.passed and not found.headline.startswith("REGRESSION")
    assert "rms_norm: 3 cases wrong before, right now" in str(found)


def test_two_runs_of_one_store_are_compared(stores):
    """The prediction is the later run; it differs from the host as Atlas does, and is right by its own plan."""
    found = report(stores / "host", stores / "host")
    assert '"plan": "device"' in found.run.device and "plan" not in found.against.run.device
    assert any(change.other_bits for change in found.changes.values())
    with pytest.raises(
        ValueError,
        match="compared with another one: got 1 in .*right; sweep first, with another device",
    ):
        report(stores / "right", stores / "right")


def test_without_another_run_the_state_is_reported(stores):
    assert report(stores / "wrong").headline.startswith(
        "WRONG: rms_norm dgammaOut, float16, the only mode: 3 of 3 cases"
    )
    assert report(stores / "right").headline.startswith(
        "all 12 judged cases are right; the worst uses 0."
    )


def test_every_worst_case_runs_again_by_its_line(stores, monkeypatch, capsys):
    monkeypatch.chdir(stores)
    found = report(stores / "wrong").to_json()["worst"]
    assert found[0]["case"].startswith("rms_norm dgammaOut, float16")  # wrong rows come first
    commands = [entry["command"] for entry in found]
    status = []
    for line in (commands[0], commands[-1]):
        line = line.replace("FILE.py:FUNCTION", str(stores / "kernels.py:wrong"))
        program, *words = shlex.split(line)
        assert program == "aclnn-viz"
        status.append(cli.main(words))
    assert 1 in status and 0 in status and len(commands) >= 2
    assert "dgammaOut is wrong in" in capsys.readouterr().out


def test_the_page_stands_alone_and_says_what_the_text_says(stores):
    found = report(stores / "wrong", stores / "right")
    page = found.to_html()
    assert not re.search(r"(src|href|srcset)=|<script", page) and "color-scheme" in page
    assert "REGRESSION: rms_norm dgammaOut, float16" in page and "--device FILE.py:FUNC" in page


def test_the_commands(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert (
        cli.main(
            ["sweep", "hardswish", "--cases", json.dumps(CASES), "--store", "s.sqlite", "--json"]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["outcomes"] == {"right": 6}
    assert (
        cli.main(["report", "s.sqlite", "--html", "r.html"]) == 0 and (tmp_path / "r.html").exists()
    )
    assert capsys.readouterr().out.startswith("all 6 judged cases are right")
    assert (
        cli.main(["report", "s.sqlite", "--json"]) == 0
        and json.loads(capsys.readouterr().out)["passed"]
    )
    for words, text in (
        (["report", "none"], "a report is made of a store: got none"),
        (["report", "s.sqlite", "--against", "s.sqlite"], "got 1 in s.sqlite"),
        (["sweep", "--cases", "nowhere.csv"], "nowhere.csv: No such file"),
    ):
        assert cli.main(words) == 2 and text in capsys.readouterr().err


def test_the_json_is_english_whatever_is_spoken(stores):
    found, before = report(stores / "wrong"), language()
    english = found.to_json()
    try:
        language("zh")
        assert found.to_json() == english
    finally:
        language(before)
