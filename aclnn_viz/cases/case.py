"""One case: the inputs of one call of a backward operator, reachable unless the caller says otherwise."""

from dataclasses import dataclass
from functools import partial
from operator import index

from aclnn_viz import rooms
from aclnn_viz.cases import default
from aclnn_viz.cases.draw import Draw
from aclnn_viz.dtypes import float_format
from aclnn_viz.errors import problem
from aclnn_viz.operators import Operator, operator


@dataclass(frozen=True, eq=False)
class Case:
    """The inputs of one call, arrays and attributes by the vendor's names, and how they were made."""

    operator: Operator
    inputs: dict
    dtype: str
    seed: int

    def __repr__(self) -> str:
        def shown(name, value):
            return f"{name} {value.dtype}{list(value.shape)}" if hasattr(value, "shape") else f"{name}={value!r}"

        shapes = ", ".join(shown(*item) for item in self.inputs.items())
        return f"Case({self.operator.name}, seed={self.seed}: {shapes})"


def case(op, /, dtype="float32", seed: int = 0, shape=None, **given) -> Case:
    """Draw a case: gradients and parameters at random, saved tensors (rstd, mean, logProb) from the forward pass.

    `shape` is that of the first tensor of the forward operator (self, x, input); `grid_shape` (Hout, Wout) and
    `gamma_ndim` where the operator has them. Every parameter of the vendor, and of the forward operator, can be given
    by its name: an array, or one value for all elements. The same arguments give the same case.

    Raises ValueError for a shape or value that does not fit, TypeError for a name that the operator has not.

    >>> import aclnn_viz as av
    >>> av.case("rms_norm", dtype="bfloat16", shape=(4, 16)).inputs["rstd"].shape
    (4, 1)
    """
    op = operator(op)
    own = partial(rooms.own, "cases", op.name)
    names = {p.name for p in (*op.parameters, *op.forward_parameters)} | set(own("OPTIONS", default.options(op)))
    for name in given:
        if name not in names:
            raise TypeError(problem(f"a case of {op.name} takes shape, {', '.join(sorted(names))}", repr(name),
                                    "use the vendor's names"))
    for parameter in (*op.parameters, *op.forward_parameters):
        if parameter.name in given and parameter.kind != "tensor":
            given[parameter.name] = parameter.checked(given[parameter.name])
    if isinstance(seed, bool) or not hasattr(seed, "__index__") or index(seed) < 0:
        raise ValueError(problem("seed is a number from 0 on", repr(seed), "pass an int"))
    shape = own("SHAPE", default.default_shape(op)) if shape is None else _checked_shape(shape)
    fmt = float_format(dtype)
    inputs = own("draw", partial(default.draw, op))(Draw(fmt, seed, given), shape)
    op.arrange_backward(**op.bind(inputs))  # whatever the caller gave must fit
    return Case(op, inputs, fmt.name, seed)


def _checked_shape(shape) -> tuple[int, ...]:
    try:
        shape = tuple(map(index, shape))
    except TypeError:
        raise TypeError(problem("shape is a tuple of lengths", repr(shape), "pass such as (4, 16)")) from None
    if any(n < 0 for n in shape):
        raise ValueError(problem("every length of shape must be at least 0", repr(shape), "mend it"))
    return shape
