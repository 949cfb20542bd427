"""The results of an operator where its document is silent or contradicts others: kinks, ties, empty and special inputs.

Every row is executed when it is shown. An operator has its own table, or default rows that are measured.
"""

from collections.abc import Iterable
from dataclasses import asdict

from aclnn_viz.errors import listed
from aclnn_viz.notebook import noted
from aclnn_viz.operators import Operator, operator, operators
from aclnn_viz.tables import padded, wrapped
from aclnn_viz.verification.conventions import default
from aclnn_viz.verification.conventions.model import TOPICS, Convention, Row, recomputed, stated
from aclnn_viz.words.messages import tr


def conventions(op) -> tuple[Convention, ...]:
    """Return the rows of an operator, ordered by topic.

    >>> import aclnn_viz as av
    >>> conventions(av.operator("hardswish"))[0].topic
    'kink'
    """
    op = operator(op)
    return tuple(
        sorted(stated(op.name) or default.conventions(op), key=lambda row: TOPICS.index(row.topic))
    )


def recompute(ops: Iterable[Operator] | None = None) -> list[Row]:
    """Recompute the tables of all operators, or of some."""
    ops = operators() if ops is None else listed("ops", ops, (str, Operator))
    return [
        recomputed(op.name, row)
        for op in noted(map(operator, ops), len(ops))
        for row in conventions(op)
    ]


def text_table(rows: list[Row]) -> str:
    """Return the rows as text for a terminal, by operator and topic."""
    text, head = [], None
    for row in (rows := listed("rows", rows, Row)):
        if (row.operator, row.topic) != head:
            head = (row.operator, row.topic)
            text += [tr("{name}: {what}", name=row.operator, what=tr(row.topic)), ""]
        text += [
            f"  {tr(row.where)}",
            _line(
                tr("kit"),
                tr(row.kit)
                if row.holds
                else tr(
                    "{kit}, BUT THE VALUE WRITTEN DOWN IS {recorded}",
                    kit=tr(row.kit),
                    recorded=tr(row.recorded),
                ),
            ),
            _line(tr("document"), tr(row.document)),
            _line(tr("published"), tr(row.published)),
            _line("PyTorch", tr(row.pytorch)),
            _line(tr("why"), tr(row.why)),
            "",
        ]
    changed = sum(not row.holds for row in rows)
    return "\n".join(
        [*text, tr("conventions: {n}, changed: {changed}", n=len(rows), changed=changed)]
    )


def _line(label: str, text: str) -> str:
    return "\n".join(wrapped(text, 110, f"    {padded(label, 10)}", " " * 14))


def to_json(rows: list[Row]) -> dict:
    rows = listed("rows", rows, Row)
    return {
        "passed": bool(rows) and all(row.holds for row in rows),
        "conventions": [asdict(row) for row in rows],
    }
