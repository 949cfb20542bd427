"""Each surface: a sample of its inputs in every test run, all in the soak; the surface of agents needs the package mcp."""

from collections import Counter

import calls_and_requests  # noqa: F401, whose surfaces are known then
import files_and_texts  # noqa: F401
import pytest
from in_child import in_child
from machine import SOAK
from trying import SURFACES, tried

PART = 5_000  # inputs per process


def tried_in_parts(name: str, count: int) -> dict:
    """Try the first inputs of a surface in separate processes, so that a crash is an ordinary finding."""
    total = Counter()
    findings = {}
    for first in range(0, count, PART):
        try:
            part = in_child(lambda first=first: tried(name, range(first, min(first + PART, count))))
        except AssertionError as error:
            part = {"findings": {first: f"in the {PART} from here on: {error}"}}
        findings |= part.pop("findings")
        total.update(part)
    return dict(total) | {"findings": findings}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(one.name, marks=[pytest.mark.needs(*one.tools)] * bool(one.tools))
        for one in SURFACES.values()
    ],
)
def test_no_input_is_more_than_taken_or_refused(name, record_property):
    one = SURFACES[name]
    found = tried_in_parts(name, one.count if SOAK else max(1, min(40, one.count // 1000)))
    findings = found.pop("findings")
    record_property("surface", name)
    record_property("oracle", one.oracle)
    for key, value in found.items():
        record_property(key, value)
    record_property("findings", len(findings))
    assert not findings, "\n".join(
        f"{name} {seed}: {text}" for seed, text in [*findings.items()][:20]
    )
