"""What a convention is: a place where a value had to be chosen, with the value of each who chose."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from aclnn_viz.verification.errata.model import shown
from aclnn_viz.verification.kinks import torch_here
from aclnn_viz.words.speech import kept, message

TOPICS = ("kink", "tie", "not finite", "zero divisor", "empty", "parameter")
PYTORCH = "2.13.0"  # the version that the recorded values are from
SILENT = "says nothing"


@dataclass(frozen=True)
class Convention:
    """One row of an operator's table: `where`, what the kit's kernel `returns` there, and what others do and say.

    `kernel()` computes what the kernel returns now. `pytorch` is the value of PyTorch 2.13.0, which `peer(torch)`
    computes where PyTorch is installed, or a text where it has no such operator.
    """

    topic: str
    where: str
    kernel: Callable[[], object]
    returns: object
    document: str
    published: str
    pytorch: object
    why: str
    peer: Callable | None = None


@dataclass(frozen=True)
class Row:
    """A convention, recomputed: `kit` is what the kernel returns now, `holds` whether that is what is written down."""

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


def told(value) -> str:
    """A value as text, which is a message where it is words; -0 is told as 0."""
    return kept(value) if isinstance(value, str) else shown(np.asarray(value) + 0.0)


def recomputed(operator: str, convention: Convention) -> Row:
    """Run the kernel, and PyTorch where it is installed; a convention without a record cannot fail."""
    c = convention
    with np.errstate(all="ignore"):
        kit = told(c.kernel())
    recorded = kit if c.returns is None else told(c.returns)
    pytorch = message("{value} ({version})", value=told(c.pytorch), version=PYTORCH) if c.peer else told(c.pytorch)
    torch = torch_here()
    if c.peer and torch is not None:
        there = told(c.peer(torch))
        pytorch = message("{value} ({version}, run here)", value=there, version=torch.__version__)
        if there != told(c.pytorch):
            pytorch = message("{here}, but {value} ({version})", here=pytorch, value=told(c.pytorch), version=PYTORCH)
    return Row(operator, c.topic, c.where, c.document, c.published, pytorch, kit, c.why, kit == recorded, recorded)


def gradient(torch, function: Callable, at, upstream=1.0) -> np.ndarray:
    """PyTorch's gradient of `function` at a point, in float64."""
    x = torch.tensor(np.asarray(at, np.float64), requires_grad=True)
    y = function(x)
    y.backward(torch.tensor(np.broadcast_to(np.asarray(upstream, np.float64), tuple(y.shape)).copy()))
    return x.grad.numpy()
