"""Data classes of conventions: places where an implementation must choose a value (a kink, a tie, an empty input), with the
choice of each implementation.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from aclnn_viz.operators import registry
from aclnn_viz.verification.errata.model import citing, shown
from aclnn_viz.words.messages import kept, message

TOPICS = ("kink", "tie", "not finite", "zero divisor", "empty", "parameter")
PYTORCH = "2.13.0"  # PyTorch version with which the values were recorded
SILENT = "does not state this"


@dataclass(frozen=True)
class Convention:
    """One row of an operator's table: `where`, what the kit's kernel `returns` there, and what other libraries return.

    `kernel()` computes the kernel's present value. `pytorch` is the value of PyTorch 2.13.0, by default the kernel's;
    `peer(torch)` computes it where PyTorch is installed. A text says that PyTorch has no such operator.
    """

    topic: str
    where: str
    kernel: Callable[[], object]
    returns: object
    document: str
    published: str
    why: str
    peer: Callable | None = None
    pytorch: object = None


@dataclass(frozen=True)
class Row:
    """A recomputed convention: `kit` is the kernel's present value, `holds` whether it equals the recorded value."""

    operator: str
    topic: str
    where: str
    document: str
    published: str
    pytorch: str
    kit: str
    why: str
    holds: bool
    recorded: str


def as_text(value) -> str:
    """Return a value as text, a message for words; -0 becomes 0."""
    return kept(value) if isinstance(value, str) else shown(np.asarray(value) + 0.0)


def recomputed(operator: str, convention: Convention) -> Row:
    """Run the kernel, and PyTorch if it is installed; a convention without a recorded value cannot fail."""
    c = convention
    with np.errstate(all="ignore"):
        kit = as_text(c.kernel())
    recorded = kit if c.returns is None else as_text(c.returns)
    cited = recorded if c.pytorch is None else as_text(c.pytorch)
    pytorch = message("{value} ({version})", value=cited, version=PYTORCH) if c.peer else cited
    torch = torch_here()
    if c.peer and torch is not None:
        there = as_text(c.peer(torch))
        pytorch = message("{value} ({version}, run here)", value=there, version=torch.__version__)
        if there != cited:
            pytorch = message(
                "{here}, but {value} ({version})", here=pytorch, value=cited, version=PYTORCH
            )
    return Row(
        operator,
        c.topic,
        c.where,
        c.document,
        c.published,
        pytorch,
        kit,
        c.why,
        kit == recorded,
        recorded,
    )


def stated(op: str) -> tuple[Convention, ...]:
    """Return the rows of an operator's conventions.toml, empty if it has none.

    `seen` is an expression in names of conventions.py, where `of` is `ours`, the kernel's gradients, or `theirs`, PyTorch's. A
    text about PyTorch is in quotes. `peer` names a function of conventions.py.
    """
    return registry.table("conventions", op, partial(_rows, op))


def _rows(op: str, table: dict) -> tuple[Convention, ...]:
    cited, known = (
        citing(table),
        {
            **vars(np),
            "lost": lost,
            "taken": taken,
            **getattr(registry.module("conventions", op), "__dict__", {}),
        },
    )

    def row(
        topic, where, seen, returns, published, why, document=SILENT, pytorch=None, peer=""
    ) -> Convention:
        def value(of):
            return eval(seen, known | {"of": of})

        quoted = isinstance(pytorch, str)
        there = (
            known[peer]
            if peer
            else None
            if quoted or "theirs" not in known
            else lambda torch: value(partial(known["theirs"], torch))
        )
        return Convention(
            topic,
            cited(where),
            partial(value, known.get("ours")),
            returns,
            cited(document),
            cited(published),
            cited(why),
            there,
            cited(pytorch) if quoted else pytorch,
        )

    return tuple(row(**one) for one in table.get("convention", ()))


@cache
def torch_here():
    """Return PyTorch if it is installed, else None."""
    try:
        import torch
    except ImportError:
        return None
    return torch


def gradients(torch, function: Callable, upstream=1.0, **at) -> dict[str, np.ndarray]:
    """Return PyTorch's float64 gradients of `function` by each tensor, under the tensors' names in `at`."""
    tensors = {
        name: torch.tensor(np.asarray(value, np.float64), requires_grad=True)
        for name, value in at.items()
    }
    y = function(*tensors.values())
    y.backward(
        torch.tensor(np.broadcast_to(np.asarray(upstream, np.float64), tuple(y.shape)).copy())
    )
    return {name: tensor.grad.numpy() for name, tensor in tensors.items()}


def lost(gradients: dict) -> list[int]:
    """Return the number of nan in each gradient."""
    return [int(np.isnan(value).sum()) for value in gradients.values()]


def taken(call: Callable) -> str:
    """Return "refused" if the call raises ValueError, else "taken"."""
    try:
        call()
    except ValueError:
        return "refused"
    return "taken"
