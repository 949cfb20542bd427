"""The numeric part of `verify`: check every operator on its suite, at its kinks, on every product, against other libraries, and
in its status codes.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from aclnn_viz.checking.judge import judge, prepared_suite
from aclnn_viz.operators import Operator, operators
from aclnn_viz.operators.products import CANN, DOCUMENTED, SOC, VERSIONS, product_of
from aclnn_viz.verification.check import Check
from aclnn_viz.verification.contract import device_check, status_check
from aclnn_viz.verification.conventions import conventions
from aclnn_viz.verification.conventions.model import recomputed
from aclnn_viz.verification.peers import peer_checks
from aclnn_viz.words.messages import kept, message


def truth_check(op: Operator) -> Check:
    """Return a check that every case of the suite, in all formats, stays within the rounding bound of truth."""

    def run():
        for ready in prepared_suite(op, 0):
            outputs = op.backward(**ready.case.inputs)
            # default=0.0, because a call may request no output
            used = max(
                (expected.used(outputs[name]) for name, expected in ready.expected.items()),
                default=0.0,
            )
            misses = judge(ready, outputs)
            problem = (
                message("{problem}; {case}", problem=misses[0].problem, case=str(ready.recipe))
                if misses
                else None
            )
            yield used, problem

    unit = message("as a multiple of what rounding may do")
    return Check(op.name, message("kernel against truth"), message("suite"), run, unit)


def at_kinks(op: Operator) -> list:
    return [one for one in conventions(op) if one.topic == "kink"]


def kink_check(op: Operator) -> Check:
    """Return a check that the kernel returns the value of the conventions at each kink."""

    def run():
        for row in map(partial(recomputed, op.name), at_kinks(op)):
            yield (
                0.0,
                None
                if row.holds
                else message(
                    "{found} instead of {expected} at {place}",
                    found=row.kit,
                    expected=row.recorded,
                    place=kept(row.where),
                ),
            )

    return Check(op.name, message("one-sided slopes at kinks"), message("conventions"), run)


def checks(ops: Iterable[Operator] | None = None) -> Iterator[Check]:
    """Yield all checks of the numeric part in the order of the report, for all operators or for some."""
    for op in operators() if ops is None else ops:
        yield truth_check(op)
        if at_kinks(op):
            yield kink_check(op)
        for product in DOCUMENTED:
            yield device_check(op, product, CANN)
            if product is product_of(SOC):
                yield device_check(op, product, VERSIONS[0])
        yield status_check(op)
        yield from peer_checks(op)
