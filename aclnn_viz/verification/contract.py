"""The documented status codes, written down by hand where an operator has them, against the emulator.

Sources: the documentation of each operator (return values and product support), CANN 8.1 to 9.1.
"""

from aclnn_viz.dtypes import BFLOAT16, FLOAT16, FLOAT32
from aclnn_viz.operators import Operator
from aclnn_viz.verification.bench import status
from aclnn_viz.verification.check import Check
from aclnn_viz.verification.defaults import REFUSED
from aclnn_viz.verification.subjects import Subject
from aclnn_viz.words.speech import message

NULL, INVALID, TILING, INNER_NULL = 161001, 161002, 561002, 561103
HALVES_AND_FLOAT = {FLOAT16, BFLOAT16, FLOAT32}


def nulls(names: str) -> list:
    """The clauses of required pointers: each of the named ones null."""
    return [({name: None}, NULL) for name in names.split()]


def check(op: Operator) -> Check:
    def run():
        for spoiled, expected in Subject(op).CLAUSES:
            found = status(op.name, **spoiled)
            as_expected = found != 0 if expected == REFUSED else found == expected
            yield 0.0, None if as_expected else message("status {found} instead of {expected} for {spoiled}", found=found, expected=expected,
                                                        spoiled=spoiled)
    return Check(op.name, message("status codes"), "910b 9.1", "", run)
