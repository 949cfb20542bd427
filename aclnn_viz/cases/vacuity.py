"""Measure which terms and branches of an operator a set of test inputs can show to be wrong, and which it cannot.

A test that passes does not test a term that is zero for its inputs: on groups of one element the factor 1/n is 1,
on gradients of ones a forgotten gradient is not missed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from aclnn_viz.cases.case import Case
from aclnn_viz.operators import Operator, registry
from aclnn_viz.operators.arrangement import asked
from aclnn_viz.words.messages import message

ELEMENTS_SEEN = 2**16  # elements of a tensor that are looked at, spread over it


@dataclass(frozen=True)
class Vacuity:
    """`influence`: for every term or branch how much of it the inputs can show, from 0, nothing, to about 1.

    `blind` lists those with 0: a kernel that is wrong there passes. Terms that are words are kept as messages.
    """

    operator: str
    cases: int
    influence: dict[str, float]

    @property
    def blind(self) -> tuple[str, ...]:
        return tuple(name for name, value in self.influence.items() if value == 0.0)


def vacuity(cases: Iterable[Case]) -> Vacuity:
    """Measure a set of cases of one operator; the influence of a term is that in the case that shows it best.

    >>> import aclnn_viz as av
    >>> "factor 1/n" in vacuity([av.case("rms_norm", shape=(4, 1))]).blind
    True
    """
    cases = list(cases)
    best: dict[str, float] = {}
    for one in cases:
        own = registry.own("cases", one.operator.name, "meter", partial(meter, one.operator))
        with np.errstate(all="ignore"):  # of inputs that are no numbers
            found = own(**{p.name: p.default for p in one.operator.parameters} | one.inputs)
        found[message("16-bit formats")] = float(one.dtype in ("float16", "bfloat16"))
        found[message("strides")] = float(
            any(
                isinstance(value, np.ndarray) and not value.flags.c_contiguous
                for value in one.inputs.values()
            )
        )
        for name, value in found.items():
            best[name] = max(best.get(name, 0.0), float(value))
    return Vacuity(cases[0].operator.name if cases else "", len(cases), best)


def meter(op: Operator, **inputs) -> dict[str, float]:
    """What can be shown of any operator: tensors that vary, attributes that take each value, axes longer than 1."""
    arrays = {name: value for name, value in inputs.items() if isinstance(value, np.ndarray)}
    # one number cannot vary, but a factor of 1 could be forgotten
    found = {
        name: off(value, 1.0)
        if value.shape == ()
        else spread(value.flat[:: 1 + value.size // ELEMENTS_SEEN])
        for name, value in arrays.items()
    }
    for name, attribute in op.attributes.items():
        if name in inputs:
            found |= {
                f"{name} {value}": float(inputs[name] == value)
                for value in (*attribute.values, *attribute.tries)
            }
    found |= {
        message("{name} not asked for", name=name): float(not asked(tensor.asked, inputs))
        for name, tensor in op.tensors.items()
        if tensor.asked
    }
    found |= {
        message("{name} left out", name=p.name): float(inputs[p.name] is None)
        for p in op.parameters
        if p.kind == "tensor" and p.optional and not p.reserved
    }
    shape = inputs[op.like].shape
    return found | {
        message("axis {k}", k=at - len(shape)): 1 - 1 / max(n, 1) for at, n in enumerate(shape)
    }


def wide(array) -> np.ndarray:
    """The numbers of any format in float64."""
    return np.asarray(array).astype(np.float64)


def share(mask) -> float:
    return float(np.mean(mask)) if np.size(mask) else 0.0


def spread(array, axis=None) -> float:
    """The largest standard deviation along the axes, as a share of the largest value."""
    values = wide(array)
    with np.errstate(all="ignore"):
        scale = np.max(np.abs(values), initial=0.0)
        return float(np.max(np.std(values, axis=axis), initial=0.0) / scale) if scale > 0 else 0.0


def off(array, value: float) -> float:
    """The share of elements that are not `value`."""
    return share(wide(array) != value)
