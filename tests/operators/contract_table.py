"""Tables of calls and the answers that the vendor's library gives, and the tests that every such table stands.

A `Row` changes a good call and states the answer by hand. Of the rows of an ordered table, in the order of the
vendor's checks, any two that change different arguments are also made together: the earlier row's answer must win.
"""

from dataclasses import dataclass, field, replace
from itertools import combinations
from math import prod

from aclnn_viz.operators.contract import Call, Outcome, TensorDescriptor, contract
from aclnn_viz.operators.products import Version, product_of

F32, F16, BF16, F64, I32, I64 = 0, 1, 27, 11, 3, 9
ND, NCHW, NHWC, HWCN, NDHWC, NCDHW, NCL = 2, 0, 1, 16, 27, 30, 47
SOC = {
    "910": "Ascend910B",
    "910b": "Ascend910B2",
    "A3": "Ascend910_9391",
    "310p": "Ascend310P3",
    "310b": "Ascend310B1",
    "950": "Ascend950PR_9579",
}
POINTERS = ("workspace_pointer", "executor_pointer")


def tensor(*shape, dtype=F32, strides=None, format=ND) -> TensorDescriptor:
    dense = tuple(prod(shape[i + 1 :]) for i in range(len(shape)))
    return TensorDescriptor(shape, dtype, strides or dense, 0, format, shape)


def call(arguments: dict, product="910b", cann="9.1") -> Call:
    pointers = {name: arguments[name] for name in POINTERS if name in arguments}
    return Call(
        product_of(SOC[product]),
        Version.parse(cann),
        {name: value for name, value in arguments.items() if name not in POINTERS},
        **pointers,
    )


@dataclass(frozen=True)
class Row:
    """`says` is a part of the message ("" for none); `runs` whether phase 2 computes; `launch` what it answers."""

    changes: dict
    status: int
    says: str = ""
    runs: bool = field(default=False, kw_only=True)
    launch: int = field(default=0, kw_only=True)

    def differs(self, outcome: Outcome) -> bool:
        said = outcome.message or ""
        said_so = self.says in said if self.says else not said
        return not (
            outcome.status == self.status
            and said_so
            and outcome.runs == self.runs
            and outcome.launch_status == self.launch
        )


def fine(**changes) -> Row:
    return Row(changes, 0, runs=True)


def nothing_to_do(**changes) -> Row:
    return Row(changes, 0)


def disagreements(
    contract, good: dict, ordered: list[Row], single: list[Row], product="910b", cann="9.1"
) -> list[str]:
    """Return what the contract answers otherwise than the rows say: each alone, the ordered ones in pairs too."""
    trials = [(row.changes, row) for row in (*ordered, *single)]
    trials += [
        (later.changes | row.changes, row)
        for row, later in combinations(ordered, 2)
        if not row.changes.keys() & later.changes.keys()
    ]
    found = []
    for changes, row in trials:
        outcome = contract.evaluate(call(good | changes, product, cann))
        if row.differs(outcome):
            found.append(f"{product} {cann} {changes}: expected {row}, got {outcome}")
    return found


def unnoticed_mutants(
    name: str, good: dict, ordered: list[Row], single: list[Row], product="910b", cann="9.1"
) -> list[str]:
    """Return the steps that can be left out, and the neighbours that can change places, unnoticed by the rows."""
    whole = contract(name)
    steps = [s for s in whole.steps if s.applies(call(good, product, cann))]
    mutants = {f"without {s.name}": steps[:i] + steps[i + 1 :] for i, s in enumerate(steps)}
    mutants |= {
        f"{b.name} before {a.name}": steps[:i] + [b, a] + steps[i + 2 :]
        for i, (a, b) in enumerate(zip(steps, steps[1:]))
    }
    unnoticed = []
    for label, changed in mutants.items():
        try:
            if not disagreements(
                replace(whole, steps=tuple(changed)), good, ordered, single, product, cann
            ):
                unnoticed.append(label)
        except (AttributeError, TypeError, IndexError, ValueError, ZeroDivisionError):
            pass  # a later check met what an earlier one keeps from it: noticed as well
    return unnoticed


def status(name: str, good: dict, product="910b", cann="9.1", **changes) -> int:
    return contract(name).evaluate(call(good | changes, product, cann)).status


def workspace(name: str, good: dict, product="910b", cann="9.1", **changes) -> int:
    return contract(name).evaluate(call(good | changes, product, cann)).workspace_size


def violated(
    name: str, good: dict, product="910b", cann="9.1", arrays=None, **changes
) -> dict[str, str]:
    """Return the violated constraints as {name: enforced_by}."""
    found = contract(name).violations(call(good | changes, product, cann), arrays)
    return {constraint.name: constraint.enforced_by for constraint in found}
