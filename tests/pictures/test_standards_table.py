"""The table of standards holds every verdict, and tells where runs and standards disagree."""

import numpy as np
import pytest
from pictures.error_samples import ATLAS, STAND_IN, reports

from aclnn_viz import compare
from aclnn_viz.pictures.standards_table import standards_table


def test_the_standards_table_holds_every_verdict_and_its_reason():
    report = reports()["bad"]
    picture = standards_table({"bad": report}, {"bad": ATLAS})
    said = {row[0]: row[1:] for row in picture.rows}
    signs = {"pass": "✓ pass", "fail": "✗ FAIL", "not applicable": "– n/a"}
    assert said == {name: [signs[v.outcome], v.reason] for name, v in report.verdicts.items()}
    outcomes = [verdict.outcome for verdict in report.verdicts.values()]
    assert f"{outcomes.count('pass')} standards accept what {outcomes.count('fail')} refuse" in picture.title
    assert picture.rows[0][1] == "✗ FAIL"


def test_standards_that_judge_runs_differently_come_first_and_are_marked():
    both = reports()
    picture = standards_table(both, {"good": ATLAS, "bad": STAND_IN})
    apart = [name for name in both["good"].verdicts
             if both["good"].verdicts[name].outcome != both["bad"].verdicts[name].outcome]
    assert apart and [row[0] for row in picture.rows if row[0].startswith("≠")] == [f"≠ {name}" for name in apart]
    assert [row[0] for row in picture.rows[:len(apart)]] == [f"≠ {name}" for name in apart]


def test_a_table_of_standards_names_its_runs():
    with pytest.raises(ValueError, match="each with its provenance by the same name"):
        standards_table(reports(), {"good": ATLAS})
    other = compare(np.float16([1]), np.float64([1]))
    with pytest.raises(ValueError, match=r"float16 \[1\] and float16 \[8, 64\]"):
        standards_table(reports() | {"bad": other}, {"good": ATLAS, "bad": ATLAS})


def test_standards_say_that_there_is_nothing_to_judge():
    report = compare(np.zeros(0, np.float32), np.zeros(0))
    picture = standards_table({"a": report}, {"a": ATLAS})
    assert "no standard applies" in picture.title and "there are no elements to judge" in picture.text
    picture.png()
