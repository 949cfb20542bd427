"""The numeric verification: every operator in its modes, formats and shapes and on every product; Taylor rates; kinks; status codes."""

from collections.abc import Iterable, Iterator
from functools import partial

from aclnn_viz.dtypes import FORMATS
from aclnn_viz.operators import Operator, operators
from aclnn_viz.operators.products import CANN, DOCUMENTED, SOC, VERSIONS, product_of
from aclnn_viz.verification import kinks
from aclnn_viz.verification.check import Check
from aclnn_viz.verification.contract import device_check, status_check
from aclnn_viz.verification.conventions import conventions
from aclnn_viz.verification.conventions.model import recomputed
from aclnn_viz.verification.peers import peer_checks
from aclnn_viz.verification.rates import derived_checks, rate_check
from aclnn_viz.verification.rounding import rounding_check
from aclnn_viz.words.messages import kept, message


def at_kinks(op: Operator) -> list:
    return [one for one in conventions(op) if one.topic == "kink"]


def kink_check(op: Operator) -> Check:
    """At each kink the kernel returns a one-sided derivative or their mean: what the document says, or what PyTorch does.

    Which of them it is, is written down in the conventions.
    """

    def run():
        try:
            table = kinks.of(op)
        except ImportError:  # the table is derived by SymPy; what the conventions record needs none
            table = []
        returned = [
            (f"{row.mode} {row.at:g}", row.kernel, (row.documented, row.pytorch)) for row in table
        ]
        returned += [
            (kept(one.where), one.kit, (one.recorded,))
            for one in map(partial(recomputed, op.name), at_kinks(op))
        ]
        for place, found, known in returned:
            yield (
                0.0,
                None
                if found in known
                else message(
                    "{found} instead of {expected} at {place}",
                    found=found,
                    expected=known[0],
                    place=place,
                ),
            )

    return Check(op.name, message("one-sided at kinks"), message("conventions"), "", run)


def checks(ops: Iterable[Operator] | None = None) -> Iterator[Check]:
    """All checks of the numeric part, of all operators or of some, in the order of the report."""
    for op in operators() if ops is None else ops:
        yield from (rounding_check(op, fmt.name) for fmt in FORMATS)
        yield rate_check(op)
        if at_kinks(op):
            yield kink_check(op)
        for product in DOCUMENTED:
            yield device_check(op, product, CANN)
            if product is product_of(SOC):
                yield device_check(op, product, VERSIONS[0])
        yield status_check(op)
        yield from peer_checks(op)
        yield from derived_checks(op)
