"""Every lesson that the site shows runs from top to bottom, and prints what is committed. `make site` runs it."""

import pytest
from test_notebooks import (
    EDITIONS,
    assert_prints_what_is_committed,
    edition,
    kernel,
    no_progress_of_mine,
)

__all__ = ["kernel", "no_progress_of_mine"]  # fixtures


@pytest.mark.parametrize("path", EDITIONS, ids=edition)
@pytest.mark.filterwarnings("default")
def test_a_lesson_prints_what_is_committed(path, kernel):
    assert_prints_what_is_committed(path, kernel)
