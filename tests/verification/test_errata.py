"""The errata register: complete, sourced, reproduced, and without reproduction of a right document."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from together import in_one

from aclnn_viz import operators
from aclnn_viz.verification import errata
from aclnn_viz.verification.errata.data import Printed
from aclnn_viz.verification.errata.model import (
    KINDS,
    Computation,
    Contradiction,
    Counterexample,
    Evidence,
    Lemma,
    Observation,
    distance,
    shown,
)

REGISTER = errata.errata()
VERSIONED = re.compile(r"commit [0-9a-f]{7}|\b[89]\.[0-9x]|, runtime$|the CANN runtime")
PUBLISHED = re.compile(
    r"\w\.(cpp|h|py|cc|md|ini)\b|registry of CANN|, code$|op_kernel/arch35|<SoC>.ini"
)
PARTS = [(e, part) for e in REGISTER for part in e.evidence]


def parts(kind):
    return [
        pytest.param(e, part, id=f"{e.id}-{number}")
        for number, (e, part) in enumerate(PARTS)
        if isinstance(part, kind)
    ]


@pytest.fixture(scope="module")
def findings():
    return errata.recompute()


def test_every_erratum_reproduces(findings):
    assert len(findings) == len(REGISTER) >= 15
    assert [f.erratum.id for f in findings if not f.evidence.holds] == []


def test_the_five_have_errata_of_mathematics_and_of_contract():
    """What a vendor documents correctly needs none, but each of these documents has some."""
    kinds = {(e.operator, e.kind) for e in REGISTER}
    assert kinds >= {
        (name, kind)
        for name in (
            "hardswish",
            "rms_norm",
            "grid_sampler_2d",
            "cross_entropy_loss",
            "group_norm_swish",
        )
        for kind in ("mathematics", "contract")
    }
    assert {e.kind for e in REGISTER} == set(KINDS) and len({e.id for e in REGISTER}) == len(
        REGISTER
    )


def test_mathematics_is_refuted_by_a_theorem_and_numbers():
    for e in REGISTER:
        if e.kind == "mathematics":
            assert any(isinstance(part, Lemma | Printed) for part in e.evidence), e.id
            assert any(isinstance(part, Counterexample | Observation) for part in e.evidence), e.id


@in_one
@pytest.mark.parametrize("erratum", REGISTER, ids=lambda e: e.id)
def test_sources_are_public_and_inferences_are_marked(erratum):
    for text in (
        erratum.title,
        erratum.document,
        erratum.document_source,
        erratum.truth,
        erratum.truth_source,
    ):
        assert text.strip()
    assert erratum.evidence
    # Statuses of a launch or a kernel, and unpublished behaviour, are documented nowhere.
    found = " ".join(
        shown(part.found) for part in erratum.evidence if isinstance(part, Observation)
    )
    if any(code in found for code in ("361001", "507015", "507035", "561103")):
        assert erratum.inferred


@in_one
@pytest.mark.parametrize("erratum", REGISTER, ids=lambda e: e.id)
def test_what_an_erratum_rests_on_is_there(erratum):
    """A class needs evidence: a computation, two quotations with versions, an accessible source, or a mark."""
    kinds = {type(part) for part in erratum.evidence}
    if erratum.rests_on == "two texts":
        (quoted,) = (part for part in erratum.evidence if isinstance(part, Contradiction))
        for text, where in (quoted.one, quoted.other):
            assert text and VERSIONED.search(where), where
    elif erratum.rests_on == "recomputed":
        assert kinds & {Lemma, Counterexample, Computation, Printed}
    elif erratum.rests_on == "source":
        assert kinds == {Observation} and PUBLISHED.search(erratum.truth_source), (
            erratum.truth_source
        )
    else:
        assert erratum.rests_on == "emulator" and erratum.inferred


def test_every_class_is_in_use_and_reported(findings):
    assert {e.rests_on for e in REGISTER} == set(errata.CLASSES)
    text = errata.text_table(findings)
    assert all(meaning in text for meaning in errata.CLASSES.values())
    one = errata.text_table(findings[:1])  # where none rests on the emulator, nothing is said of it
    assert [name for name, meaning in errata.CLASSES.items() if meaning in one] == [
        findings[0].erratum.rests_on
    ]


def test_formulas_are_cited_with_the_version_that_prints_them():
    assert all(
        VERSIONED.search(e.document_source) or ".h" in e.document_source
        for e in REGISTER
        if e.kind == "mathematics"
    )


@pytest.mark.parametrize(
    "spoil", [{"other": ("a", "y, 1.0")}, {"other": ("b", "x, 1.0")}, {"one": ("", "x, 1.0")}]
)
def test_texts_that_agree_or_are_one_do_not_contradict_each_other(spoil):
    quoted = Contradiction(("a", "x, 1.0"), ("b", "y, 1.0"))
    assert quoted.recompute().holds and not replace(quoted, **spoil).recompute().holds


# Spoiled evidence: a right document does not reproduce.


@in_one
@pytest.mark.parametrize("erratum,part", parts(Counterexample))
def test_the_right_formula_in_place_of_the_documented_one_does_not_reproduce(erratum, part):
    assert not replace(part, documented=part.right).recompute().holds


@in_one
@pytest.mark.parametrize("erratum,part", parts(Counterexample))
def test_the_documented_formula_in_place_of_the_right_one_does_not_reproduce(erratum, part):
    assert not replace(part, right=part.documented).recompute().holds


@in_one
@pytest.mark.parametrize("erratum,part", parts(Observation))
def test_a_device_that_follows_the_document_does_not_reproduce(erratum, part):
    assert not replace(part, observe=lambda: part.documented).recompute().holds


@in_one
@pytest.mark.parametrize("erratum,part", parts(Observation))
def test_a_document_that_tells_what_is_found_does_not_reproduce(erratum, part):
    assert not replace(part, observe=lambda: part.found, documented=part.found).recompute().holds


@pytest.mark.parametrize("spoil", ["nothing proved", "everything proved"])
def test_a_lemma_needs_its_proof_and_its_refusal(spoil, monkeypatch):
    from derivations.prover import theorem

    proof = theorem.Proof(spoil == "everything proved", (), 0.0)
    monkeypatch.setattr(theorem.Claim, "prove", lambda self: proof)
    lines = [part.recompute() for _, part in PARTS if isinstance(part, Lemma)]
    assert lines and not any(found.holds for found in lines)
    assert all(("PROVED, but false" in found.lines[1]) is proof.holds for found in lines)


def test_one_spoiled_part_spoils_the_erratum_and_the_register():
    erratum = next(e for e in REGISTER if e.id == "rms-norm-dgamma")
    spoiled = replace(
        erratum,
        evidence=tuple(
            replace(part, documented=part.right) if isinstance(part, Counterexample) else part
            for part in erratum.evidence
        ),
    )
    found = errata.recompute([spoiled])
    assert not found[0].evidence.holds and not errata.to_json(found)["passed"]
    assert "DOES NOT REPRODUCE" in errata.text_table(
        found
    ) and "errata: 1, not reproduced: 1" in errata.text_table(found)


def test_an_erratum_without_evidence_does_not_hold():
    assert not replace(REGISTER[0], evidence=()).recompute().holds
    assert not errata.to_json([])["passed"]


def test_a_kernel_that_is_mended_is_noticed(monkeypatch):
    """The observations use the kit's kernels and emulator, not constants."""
    hardswish = operators()[0]
    page = hardswish.page.backward
    monkeypatch.setattr(
        hardswish.page,
        "backward",
        lambda xp, **i: {
            "out": np.where(np.abs(i["self"]) == 3, i["self"] > 0, page(xp, **i)["out"])
        },
    )
    kinks = next(e for e in REGISTER if e.id == "hardswish-kinks")
    assert not kinks.evidence[-1].recompute().holds


# Rendering


def test_the_table_shows_title_verdict_texts_and_evidence(findings):
    lines = errata.text_table(findings).splitlines()
    assert lines[-1] == f"errata: {len(REGISTER)}, not reproduced: 0"
    text = " ".join(" ".join(lines).split())
    for finding in findings:
        e = finding.erratum
        assert f"{e.title} [{e.id}]" in text and e.document in text and e.truth_source in text
        assert all(" ".join(line.split()) in text for line in finding.evidence.lines)
        assert f"Inferred: {e.inferred}" in text or not e.inferred
    assert text.count("Inferred: ") == sum(bool(e.inferred) for e in REGISTER)


def test_json_is_plain_data_with_the_equations(findings):
    data = json.loads(json.dumps(errata.to_json(findings)))
    assert data["passed"] and len(data["errata"]) == len(REGISTER)
    by_id = {e["id"]: e for e in data["errata"]}
    assert "=" in by_id["group-norm-dx"]["theorems"][0]["latex"]
    assert by_id["group-norm-limits"]["inferred"] and not by_id["rms-norm-dgamma"]["inferred"]
    assert all(e["reproduced"] and e["evidence"] for e in data["errata"])


def test_both_values_of_a_counterexample_are_printed(findings):
    lines = next(f.evidence.lines for f in findings if f.erratum.id == "rms-norm-dgamma")
    assert "  documented: [3, 5]" in lines and "  right: [8]" in lines


# Known values, worked out by hand from the sources.


@pytest.mark.parametrize(
    "name,line",
    [
        ("grid-sampler-bicubic-abs", "documented: [18.8906, -1.35938, -1.26562, 0.234375]"),
        ("grid-sampler-bicubic-abs", "right: [0.140625, 0.890625, -1.26562, 0.234375]"),
        ("grid-sampler-clip", "documented: -4"),
        ("cross-entropy-sample", "-0.00906346"),
        ("hardswish-kinks", "first version: [-0.5, 1.5]"),
        ("grid-sampler-null-mask", ": 0 (document: 161001)"),
        ("group-norm-limits", ": 0 (document: some refusal)"),
        ("cross-entropy-label-smoothing", "[7, 7]"),
    ],
)
def test_known_values(findings, name, line):
    assert any(
        line in found for f in findings if f.erratum.id == name for found in f.evidence.lines
    )


def test_distance_and_shown():
    assert (
        distance([1, np.nan], [1, np.nan]) == 0
        and distance(np.nan, 0) == np.inf
        and distance([1, 2], [1, 4]) == 2
    )
    assert (
        shown(np.float32([[1, np.nan]])) == "[[1, nan]]"
        and shown(3) == "3"
        and shown(True) == "True"
    )
    assert Evidence(True, ()).holds
