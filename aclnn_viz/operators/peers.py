"""Look up in an operator's peer.py how other libraries (peers) compute the operator, and where their values are known to
differ.

`ATEN` is the function of ATen that computes the outputs, with its parameters in order. Otherwise `in_torch(torch, ...)` takes
the parameters of the C prototype by name and returns the gradient, or a list in the prototype's order; it raises NotSupported
for calls that PyTorch does not compute. `DIFFERENCES` lists known differences from the page by peer, `REFUSED` the cases of
the suite that `in_torch` refuses. `ARRANGEMENTS` are pages with other expressions, equally right in float32: `check` accepts
errors that their rounding explains. `DUMPED` names the operator's calls in a dumped run.
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
    """One known difference of a peer: a text, its source, the formats, and the peer's values.

    Either the peer stays within the rounding bounds of `plan`, or `values(inputs)` maps outputs to (mask, values) of the
    differing places. `convention` names the row of the operator's conventions that records the difference; with neither plan
    nor values, only that row shows it, as no suite has such inputs.
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
    """Return the difference of a peer that rounds every step to its inputs' 16 bits."""
    plan = Plan(name, compute="storage", order=SEQUENTIAL, division_ulps=1.0, **settings)
    return Difference(text, source, plan, dtypes=dtypes)


def in_torch(op) -> Callable | None:
    """Return a function that calls PyTorch's gradient of an operator and returns its outputs by name; None if the operator's
    `peer.py` has neither `in_torch` nor `ATEN`.
    """
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
            if each is not None  # an output that is not requested is None
        }

    return function and by_output
