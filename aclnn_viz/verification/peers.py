"""Verify that gradients of other libraries (peers) differ from ours exactly where a difference is documented.

For each case of an operator's suite, an output of a peer that the judge rejects must have a documented difference: a recorded
value, or a rounding within the bounds of a plan. A difference that no case shows is a failure, too, and so is a wrong value of
PyTorch in a convention.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from aclnn_viz.checking.judge import Prepared, explained, judge, prepared_suite
from aclnn_viz.devices import UnsupportedError, open_device
from aclnn_viz.devices.peers import computed_by, installed
from aclnn_viz.operators import Operator, registry
from aclnn_viz.verification.check import Check
from aclnn_viz.verification.conventions import conventions
from aclnn_viz.verification.conventions.model import recomputed
from aclnn_viz.words.messages import kept, linked, message


def peer_checks(op: Operator) -> Iterator[Check]:
    """Yield one check for each installed peer that computes the operator."""
    for library in filter(lambda library: computed_by(library, op), installed()):
        yield Check(
            op.name, message("documented differences"), library, partial(found, op, library)
        )


def found(op: Operator, library: str, device=None) -> list[tuple[str, str | None]]:
    """Return for each case of the suite the text of its differences and its failure or None."""
    with open_device(library) if device is None else device as peer:
        rows = [_case(peer, op, prepared) for prepared in prepared_suite(op, 0)]
    refusals = registry.own("peer", op.name, "REFUSED", ()) if library == "torch" else ()
    recorded = [recomputed(op.name, row) for row in conventions(op)] if library == "torch" else []
    wrong = [
        message("the conventions say {where}: {value}", where=kept(row.where), value=row.pytorch)
        for row in recorded
        if ", but " in row.pytorch
    ]
    differing = {row.where for row in recorded if row.pytorch.partition(" (")[0] != row.kit}
    seen = [what for row in rows for what, _ in row]
    seen += [
        difference
        for difference in peer.differences(op)
        if difference.plan is difference.values and difference.convention in differing
    ]
    text = linked("{some}; {more}", dict.fromkeys(map(_words, seen))) or message("none")
    failures = [next((failure for _, failure in row if failure), None) for row in rows]
    gone = [
        difference for difference in (*peer.differences(op), *refusals) if difference not in seen
    ]
    failures += wrong + [
        message(
            "{peer} is documented to differ, but differs on none of the cases: {what}",
            peer=library,
            what=_words(difference),
        )
        for difference in gone
    ]
    return [(text, failure) for failure in failures]


def _words(difference) -> str:
    return kept(getattr(difference, "text", difference))


def _case(peer, op: Operator, prepared: Prepared) -> list[tuple[object, str | None]]:
    """Return the differences that one case shows, each with the reason why it is not documented, or None."""
    try:
        outputs = peer.run(op, **prepared.case.inputs)
    except UnsupportedError as refused:
        reason = str(refused).partition(": got ")[0]
        known = reason in registry.own("peer", op.name, "REFUSED", ())
        return [
            (
                reason,
                None
                if known
                else message(
                    "{peer} refuses {case}: {why}",
                    peer=peer.library,
                    case=str(prepared.recipe),
                    why=refused,
                ),
            )
        ]
    seen = []
    for miss in judge(prepared, outputs):
        wrong = miss.wrong
        for difference in peer.differences(op):
            if wrong is not None and wrong.any() and prepared.case.dtype in difference.dtypes:
                rest = wrong & ~explained(difference, prepared, miss.output, outputs[miss.output])
                if (rest != wrong).any():
                    seen.append((difference, None))
                wrong = rest
        if wrong is None or wrong.any():
            seen.append(
                (
                    message("undocumented: {problem}", problem=miss.problem),
                    message(
                        "{peer} on {case}: {problem}{element}, and no documented difference explains it",
                        peer=peer.library,
                        case=str(prepared.recipe),
                        problem=miss.problem,
                        element=_element(miss, wrong, outputs, prepared),
                    ),
                )
            )
    return seen


def _element(miss, wrong, outputs, prepared) -> str:
    if wrong is None:
        return ""
    at = tuple(int(k) for k in np.argwhere(wrong)[0])
    return message(
        ", such as {found} for {truth} at {place}",
        found=outputs[miss.output][at],
        truth=prepared.expected[miss.output].truth[at],
        place=list(at),
    )
