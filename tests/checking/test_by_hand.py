"""Ten operators by hand: every mistake is caught; benchmarks/reports/field_bugs.md counts explanations."""

import numpy as np
import pytest

from aclnn_viz.checking import check
from checking.by_hand import SLIPS, wrong

pytestmark = pytest.mark.usefixtures("unshrunken", "unexplained")
FORMATS = ("float16", "bfloat16", "float32")


def test_there_are_five_of_each():
    assert len(SLIPS) == 10 and all(len({*slips}) == 5 for slips in SLIPS.values())


@pytest.mark.parametrize("name, slip, kernel", wrong())
@pytest.mark.sampled(3)
def test_every_mistake_is_caught(name, slip, kernel):
    with np.errstate(all="ignore"):
        assert not check(name, kernel, dtypes=FORMATS).passed
