"""The errata register: errors of the published documents, and contradictions between them or with the device.

Every erratum is recomputed when it is listed: theorems are proved, counterexamples evaluated, calls emulated. Its class states
the strength of that evidence; an emulated call only shows that the kit follows the cited source.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from aclnn_viz.errors import listed
from aclnn_viz.notebook import noted
from aclnn_viz.operators import operators
from aclnn_viz.tables import padded, wrapped
from aclnn_viz.verification.errata import data
from aclnn_viz.verification.errata.model import (
    CLASSES,
    Erratum,
    Evidence,
    Lemma,
)
from aclnn_viz.words.messages import tr


@dataclass(frozen=True)
class Finding:
    """An erratum and its recomputed evidence."""

    erratum: Erratum
    evidence: Evidence


def errata() -> tuple[Erratum, ...]:
    """Return all errata, by operator, then those of every operator.

    >>> errata()[0].id
    'hardswish-kinks'
    """
    own = (replace(erratum, operator=op.name) for op in operators() for erratum in data.stated(op))
    return (*own, *data.of_platform())


def recompute(register: Iterable[Erratum] | None = None) -> list[Finding]:
    """Recompute all errata or those of an iterable, such as a progress bar over them."""
    register = errata() if register is None else listed("register", register, Erratum)
    return [Finding(erratum, erratum.recompute()) for erratum in noted(register, len(register))]


def text_table(findings: list[Finding]) -> str:
    """Return the findings as text for a terminal: title with verdict, printed text, truth, evidence."""
    text, findings = [], listed("findings", findings, Finding)
    for number, finding in enumerate(findings, 1):
        erratum = finding.erratum
        text += [
            f"{number}. {erratum} [{erratum.id}]",
            "   "
            + tr(
                "{operator}, {kind}: {verdict}",
                operator=tr(erratum.operator),
                kind=tr(erratum.kind),
                verdict=tr(CLASSES[erratum.rests_on])
                if finding.evidence.holds
                else tr("DOES NOT REPRODUCE"),
            ),
            _paragraph(tr("Document:"), tr(erratum.document)),
            _source(erratum.document_source),
            _paragraph(tr("Holds:"), tr(erratum.truth)),
            _source(erratum.truth_source),
        ]
        if erratum.inferred:
            text.append(_paragraph(tr("Inferred:"), tr(erratum.inferred)))
        text += [f"     {tr(line)}" for line in finding.evidence.lines] + [""]
    failed = sum(not finding.evidence.holds for finding in findings)
    counts = Counter(finding.erratum.rests_on for finding in findings)
    text += [f"{counts[name]:4} {tr(meaning)}" for name, meaning in CLASSES.items() if counts[name]]
    return "\n".join(
        [*text, tr("errata: {n}, not reproduced: {failed}", n=len(findings), failed=failed)]
    )


def _paragraph(label: str, text: str) -> str:
    return "\n".join(wrapped(text, 110, f"   {padded(label, 10)}", " " * 13))


def _source(text: str) -> str:
    # only the separator is translated, not the file names
    return _paragraph("", tr("({source})", source=tr(text).replace("; ", tr("; "))))


def to_json(findings: list[Finding]) -> dict:
    """Return the findings as plain data; lemmas carry their equations in LaTeX."""
    findings = listed("findings", findings, Finding)
    return {
        "passed": bool(findings) and all(finding.evidence.holds for finding in findings),
        "errata": [_as_json(finding) for finding in findings],
    }


def _as_json(finding: Finding) -> dict:
    e = finding.erratum
    lemmas = [part.theorem() for part in e.evidence if isinstance(part, Lemma)]
    return {
        "id": e.id,
        "operator": e.operator,
        "kind": e.kind,
        "title": e.title,
        "document": e.document,
        "document_source": e.document_source,
        "holds": e.truth,
        "holds_source": e.truth_source,
        "rests_on": e.rests_on,
        "inferred": bool(e.inferred),
        "what_is_inferred": e.inferred,
        "reproduced": finding.evidence.holds,
        "evidence": list(finding.evidence.lines),
        "theorems": [{"name": t.name, "text": t.text, "latex": t.statement} for t in lemmas],
    }
