"""Look up in an operator's peer.py how other libraries (peers) compute the operator, and where their values are known to differ.

`ATEN` is the function of ATen that gives the outputs, with the parameters that it takes in its order. Where that does not say it,
`in_torch(torch, ...)` takes the parameters of the C prototype by name, and returns the gradient, or a list in its order; it raises
NotSupported for what PyTorch does not compute. `DIFFERENCES` lists by peer what it is known to do otherwise than the page, `REFUSED` what
`in_torch` refuses of the operator's suite. `ARRANGEMENTS` are pages of other expressions that are as right in float32:
`check` lets pass what their rounding explains. `DUMPED` says which calls of a dumped run are the operator's, and by which names.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.dtypes import FORMATS
from aclnn_viz.errors import need
from aclnn_viz.operators import registry
from aclnn_viz.words.messages import kept, tr

NARROW = tuple(fmt.name for fmt in FORMATS if fmt.bits == 16)


@dataclass(frozen=True)
class Difference:
    """What a peer does otherwise: in words, who says so, in which formats, and what it gives instead.

    Either `plan` is the arithmetic within whose rounding bounds the peer stays, or `values(inputs)` maps outputs to
    (mask, values): where they differ, and what stands there. `convention` names the row of the operator's conventions
    that records it; with neither plan nor values it is of inputs that no suite has, and that row shows it.
    """

    text: str
    source: str
    plan: Plan | None = None
    values: Callable[[dict], dict] | None = None
    dtypes: tuple[str, ...] = tuple(fmt.name for fmt in FORMATS)
    convention: str = ""

    def __str__(self) -> str:
        return tr("{text} ({source})", text=kept(self.text), source=self.source)


def narrow(text: str, source: str, name: str, dtypes=NARROW, **settings) -> Difference:
    """What a peer does that rounds every step to the 16 bits of its inputs."""
    plan = Plan(name, compute="storage", order=SEQUENTIAL, division_ulps=1.0, **settings)
    return Difference(text, source, plan, dtypes=dtypes)


def in_torch(op) -> Callable | None:
    """What computes an operator in PyTorch, by output; None where its file has neither `in_torch` nor `ATEN`."""
    name, *taken = re.findall(r"[\w.]+", registry.own("peer", op.name, "ATEN", "")) or [None]

    def of_aten(torch, **inputs):
        given = [
            reduce(getattr, rest, inputs[of]) for of, *rest in (text.split(".") for text in taken)
        ]
        given = [list(value) if isinstance(value, tuple) else value for value in given]
        return getattr(torch.ops.aten, name)(*given)

    function = of_aten if name else registry.own("peer", op.name, "in_torch")

    def by_output(torch, **inputs):
        results = function(torch, **inputs)
        results = results if isinstance(results, (tuple, list)) else (results,)
        asked = f"in_torch of {op.name} returns tensors in the order of {', '.join(op.outputs)}"
        return {
            name: need(each, torch.Tensor, asked, "return one tensor, or a list of them")
            for name, each in zip(op.outputs, results)
            if each is not None  # one that is not asked for
        }

    return function and by_output
