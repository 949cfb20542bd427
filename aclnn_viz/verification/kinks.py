"""The table of kinks: one-sided derivatives, what the document says, what the kernel and PyTorch return there.

Left, right, documented and PyTorch's values are exact data of `derivations.prover.kinks`; the kernel's are recomputed,
PyTorch's too where it is installed.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache

from aclnn_viz.operators import Operator, operators, registry
from aclnn_viz.tables import as_text
from aclnn_viz.words.messages import message, tr

SIDES = message("left | right | mean | both | other")
OUTSIDE = ", from outside"


@dataclass(frozen=True)
class Row:
    """One kink: where, the derivatives on both sides, and what is returned there by whom.

    `convention` names the kernel's value: "left", "right" or "mean" of the two, "both" where they are equal, else
    "other"; "from outside" is added where the other side is inside. `jump` is that of the function itself.
    """

    operator: str
    mode: str
    at: float
    left: float
    right: float
    documented: float
    kernel: float
    pytorch: float
    pytorch_source: str
    convention: str
    jump: float


def convention(value: float, left: float, right: float) -> str:
    """The name of the one-sided derivative, or mean, that a value is.

    >>> convention(0.0, 2.0, -2.0)
    'mean'
    """
    if left == right:
        return "both" if value == left else "other"
    return {left: "left", right: "right", (left + right) / 2: "mean"}.get(value, "other")


def rows() -> list[Row]:
    """Recompute the table: the kinks of the operators that have some, operator by operator."""
    return [row for op in operators() for row in of(op)]


def of(op: Operator) -> list[Row]:
    """The rows of one operator; none where its conventions list no kinks."""
    return registry.own("conventions", op.name, "kinks", list)()


def text_table(table: list[Row]) -> str:
    """The rows as a text table, one mode after the other, with the sources of PyTorch's values below."""
    heads = tr("at | left | right | document | kernel | pytorch | jump | the kernel returns").split(
        " | "
    )
    sources = list(dict.fromkeys(row.pytorch_source for row in table))
    header, *lines = as_text(
        heads,
        [
            (
                *(
                    f"{value:g}"
                    for value in (row.at, row.left, row.right, row.documented, row.kernel)
                ),
                f"{row.pytorch:g} [{sources.index(row.pytorch_source) + 1}]",
                f"{row.jump:g}",
                _named(row.convention),
            )
            for row in table
        ],
    )
    text, mode = [], None
    for row, line in zip(table, lines):
        if (row.operator, row.mode) != mode:
            mode = (row.operator, row.mode)
            text += [
                "",
                tr("{name}: {what}", name=row.operator, what=row.mode)
                if row.mode
                else row.operator,
                f"  {header}",
            ]
        text.append(f"  {line}")
    return "\n".join(
        [*text[1:], "", *(f"[{number}] {tr(source)}" for number, source in enumerate(sources, 1))]
    )


def _named(convention: str) -> str:
    name, outside, _ = convention.partition(OUTSIDE)
    side = dict(zip(SIDES.split(" | "), tr(SIDES).split(" | ")))[name]
    return tr("{side}, from outside", side=side) if outside else side


def to_json(table: list[Row]) -> list[dict]:
    return [asdict(row) for row in table]


def kink(name, mode, at, left, right, documented, kernel, cited, ran, outside, jump=0.0) -> Row:
    """One row; `cited` and `ran` are PyTorch's value with its source as published and, or None, as run here."""
    pytorch, source = cited if ran is None else ran
    named = convention(kernel, left, right)
    if named == outside:
        named += OUTSIDE
    return Row(name, mode, at, left, right, documented, kernel, pytorch, source, named, jump)


def peer(loss: Callable, at: list, by: float = 1.0) -> tuple[float, str] | None:
    """The first entry of PyTorch's gradient of `loss` there, and its version; None where it is not installed."""
    torch = torch_here()
    if torch is None:
        return None
    x = torch.tensor(at, dtype=torch.float64, requires_grad=True)
    loss(torch, x).backward()
    return float(x.grad.flatten()[0]) / by, message(
        "PyTorch {version}, run here", version=torch.__version__
    )


@cache
def torch_here():
    """PyTorch where it is installed, else None."""
    try:
        import torch
    except ImportError:
        return None
    return torch
