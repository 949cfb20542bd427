"""Tables of calls and the answers that the vendor's library gives: contracts/<operator>.toml.

A row is "changes -> answer": changes of a good call, and the answer of phase 1: a status with a part of its
message, "ok", "nothing" (success, and phase 2 has nothing to do) or "discarded" (success with a message, and
the launch fails). A tensor is "f32[2,3]{strides}@FORMAT": omitted parts are as in the good call, omitted
strides are dense. A size changes every tensor of the good call that has its letter. Of the rows of an ordered
table, in the order of the vendor's checks, any two that change different arguments are also made together: the
earlier row's answer must win.
"""

import re
import tomllib
from ast import literal_eval
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from aclnn_viz.operators import operator
from aclnn_viz.operators.contract import (
    Call,
    Contract,
    TensorDescriptor,
    contiguous_strides,
    contract,
)
from aclnn_viz.operators.products import Version, product_of
from aclnn_viz.verification.contract import good

F32, I64 = 0, 9
DTYPES = dict(f32=F32, f16=1, i8=2, i32=3, i64=I64, f64=11, bf16=27)
FORMATS = dict(NCHW=0, NHWC=1, ND=2, HWCN=16, NDHWC=27, NCDHW=30, NCL=47)
SOC = {
    "910": "Ascend910B",
    "910b": "Ascend910B2",
    "A3": "Ascend910_9391",
    "310p": "Ascend310P3",
    "310b": "Ascend310B1",
    "950": "Ascend950PR_9579",
}
POINTERS = ("workspace_pointer", "executor_pointer")
#: status, whether phase 2 computes, and its answer
ANSWERS = {"ok": (0, True, 0), "nothing": (0, False, 0), "discarded": (0, True, 361001)}
FOLDER = Path(__file__).parent / "contracts"
TABLES = sorted(path.stem for path in FOLDER.glob("*.toml"))


class Row(NamedTuple):
    """A row: `says` is a part of the message ("" for none); `runs` whether phase 2 computes; `launch` its answer."""

    changes: dict
    status: int
    says: str = ""
    runs: bool = False
    launch: int = 0

    def differs(self, outcome) -> bool:
        said = outcome.message or ""
        answer = (outcome.status, outcome.runs, outcome.launch_status)
        return answer != (self.status, self.runs, self.launch) or (
            self.says not in said if self.says else bool(said)
        )


def lines(text: str) -> list[str]:
    """Return lines without comments."""
    return [line for full in text.splitlines() if (line := full.partition("#")[0].strip())]


class Table:
    """The table of one operator; `good` are the arguments of a passing call, without a file those of a usual case."""

    def __init__(self, name: str):
        path = FOLDER / f"{name}.toml"
        self.data = tomllib.loads(path.read_text()) if path.exists() else {}
        self.contract = contract(name)
        self.tensors = [p.name for p in self.contract.parameters if p.kind == "tensor"]
        self.sizes = self.data.get("sizes", {})
        self.good: dict = {}
        self.good = self.sized({}) if self.data else usual(name)

    def sized(self, sizes: dict[str, str]) -> dict:
        sizes, texts = self.sizes | sizes, self.data.get("good", {})
        return self.good | {
            name: self.value(name, text, sizes, self.good) for name, text in texts.items()
        }

    def value(self, name: str, text: str, sizes: dict[str, str], base: dict):
        if text == "null":
            return None
        for _ in range(2):  # a size may refer to another one
            text = re.sub(r"[a-z]\w*", lambda word: sizes.get(word[0], word[0]), text)
        if name not in self.tensors:
            return literal_eval(text)
        dtype, shape, strides, layout = re.fullmatch(
            r"(\w*)(\[.*])?({.*})?(?:@(\w+))?", text
        ).groups()
        dense = base.get(name) or TensorDescriptor((), F32, (), 0, FORMATS["ND"], ())
        axes = tuple(map(int, re.findall(r"-?\d+", shape))) if shape else dense.shape
        steps = tuple(map(int, re.findall(r"\d+", strides or "")))
        return TensorDescriptor(
            axes,
            DTYPES[dtype] if dtype else dense.dtype,
            steps or contiguous_strides(axes),
            0,
            FORMATS[layout or "ND"],
            axes,
        )

    def changes(self, text: str) -> dict:
        """Return {argument: value} of "dy,x=f16 rows=0,3"."""
        groups = {"*": self.tensors} | self.data.get("groups", {})
        pairs = [
            (name, value)
            for names, value in (word.split("=", 1) for word in text.split())
            for group in names.split(",")
            for name in groups.get(group, [group])
        ]
        sizes = {name: value for name, value in pairs if name in self.sizes}
        sized = self.sized(sizes)
        values = {name: value for name, value in sized.items() if value != self.good[name]}
        return values | {
            name: self.value(name, text, {}, sized) for name, text in pairs if name not in sizes
        }

    def row(self, line: str) -> Row:
        changes, _, answer = line.partition("->")
        word, _, says = answer.strip().partition(" ")
        status, *rest = ANSWERS.get(word) or (int(word), False, 0)
        return Row(self.changes(changes), status, says, *rest)

    def rows(self, names: str) -> list[Row]:
        return [self.row(line) for name in names.split() for line in lines(self.data["rows"][name])]

    def trials(self) -> list["Trial"]:
        """Return one trial for each product and version in the file, and the file's table of it."""
        return [
            self.trial(table, product, cann)
            for table in self.data["table"]
            for product in table["products"].split()
            for cann in table["cann"].split()
        ]

    def trial(self, table: dict, product: str, cann: str) -> "Trial":
        ordered, single = self.rows(table["ordered"]), self.rows(table.get("single", ""))
        if "refused" in table:  # other faults do not matter
            answer = self.row("-> " + table["refused"])
            ordered.append(answer)
            single = [answer._replace(changes=row.changes) for row in single]
        return Trial(self.contract, self.good, ordered, single, product, cann)

    def answer(self, line: str) -> tuple[str, str]:
        """Return the contract's answer to "products versions changes -> fact", and the line's, both as text."""
        question, _, expected = line.partition("->")
        products, versions, *words = question.split()
        fact, _, expected = expected.strip().partition(" ")
        arrays = {
            name: np.array(v.split(","), np.int64 if self.good[name].dtype == I64 else np.float32)
            for name, colon, v in (word.partition(":=") for word in words)
            if colon
        }
        changes = self.changes(" ".join(word for word in words if ":=" not in word))
        answers = {
            self.fact(fact, call(self.good | changes, product, cann), arrays)
            for product in products.split(",")
            for cann in versions.split(",")
        }
        return " or ".join(sorted(answers)), expected

    def fact(self, name: str, asked: Call, arrays: dict) -> str:
        outcome = self.contract.evaluate(asked)
        if name == "violates":
            broken = self.contract.violations(asked, arrays or None)
            return "; ".join(f"{rule.name}: {rule.enforced_by}" for rule in broken)
        return {
            "status": str(outcome.status),
            "workspace": str(outcome.workspace_size),
            "fills": " ".join(f"{output}={value}" for output, value in outcome.fills.items()),
            "untouched": " ".join(outcome.untouched),
        }[name]


def usual(name: str) -> dict:
    """Return passing arguments of phase 1, from a usual case."""
    return {
        key: TensorDescriptor(value[0], value[1], contiguous_strides(value[0]), 0, 2, value[0])
        if isinstance(value, tuple)
        else tuple(value)
        if isinstance(value, list)
        else value
        for key, value in good(operator(name)).items()
    }


def call(arguments: dict, product="910b", cann="9.1") -> Call:
    pointers = {name: arguments[name] for name in POINTERS if name in arguments}
    rest = {name: value for name, value in arguments.items() if name not in POINTERS}
    return Call(product_of(SOC[product]), Version.parse(cann), rest, **pointers)


@dataclass
class Trial:
    """The rows that hold on one product with one version of CANN."""

    contract: Contract
    good: dict
    ordered: list[Row]
    single: list[Row]
    product: str = "910b"
    cann: str = "9.1"

    @cached_property
    def asked(self) -> list[tuple[Row, Call]]:
        """Return each row with its call: the rows alone, the ordered ones also in pairs."""
        pairs = [
            row._replace(changes=later.changes | row.changes)
            for row, later in combinations(self.ordered, 2)
            if not row.changes.keys() & later.changes.keys()
        ]
        return [
            (row, call(self.good | row.changes, self.product, self.cann))
            for row in (*self.ordered, *self.single, *pairs)
        ]

    def contradicted(self, contract: Contract) -> Iterator[str]:
        """Yield answers of a contract that contradict the rows."""
        for row, asked in self.asked:
            if row.differs(outcome := contract.evaluate(asked)):
                yield f"{self.product} {self.cann}: expected {row}, got {outcome}"

    def disagreements(self) -> list[str]:
        return list(self.contradicted(self.contract))

    def unnoticed(self) -> list[str]:
        """Return the steps that can be removed, and the neighbours that can be exchanged, unnoticed by the rows."""
        passes = call(self.good, self.product, self.cann)
        steps = [step for step in self.contract.steps if step.applies(passes)]
        mutants = {f"without {s.name}": steps[:i] + steps[i + 1 :] for i, s in enumerate(steps)}
        mutants |= {
            f"{b.name} before {a.name}": steps[:i] + [b, a] + steps[i + 2 :]
            for i, (a, b) in enumerate(pairwise(steps))
        }
        return [label for label, changed in mutants.items() if not self.notices(changed)]

    def notices(self, steps: list) -> bool:
        try:
            return any(self.contradicted(replace(self.contract, steps=tuple(steps))))
        except (AttributeError, TypeError, IndexError, ValueError, ZeroDivisionError):
            return True  # a later check met what an earlier one keeps from it
