"""Right programs of documents have no hazard in any order; each inserted bug is shown, or legal."""

import pytest
import restated
from together import in_one

ORDERS = ("eager", "late", *range(20))


@pytest.mark.parametrize("name", restated.RIGHT)
def test_a_right_program_has_no_hazard_in_any_order(name):
    assert restated.shown(*restated.RIGHT[name], ORDERS) == ""


@in_one
@pytest.mark.parametrize(
    ("name", "what", "old", "new"),
    restated.BUGS,
    ids=[f"{name}: {what}" for name, what, *_ in restated.BUGS],
)
def test_a_bug_is_shown_or_legal(name, what, old, new):
    _, *rest = restated.RIGHT[name]
    found = restated.shown(restated.edited(name, old, new), *rest, ORDERS[:5])
    assert bool(found) != (what in restated.LEGAL), found
