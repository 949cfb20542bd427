"""Make one test case: inputs of one call of a backward operator that a network can produce, unless the caller gives others."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import prod

import numpy as np

from aclnn_viz.cases import default
from aclnn_viz.cases.default import Draw
from aclnn_viz.dtypes import FLOAT32, float_format
from aclnn_viz.errors import invalid, lengths, mistyped, need, problem, shown, whole
from aclnn_viz.operators import Operator, known, operator, registry
from aclnn_viz.storage.foreign_arrays import is_own
from aclnn_viz.storage.readers import machine_memory
from aclnn_viz.tables import as_html
from aclnn_viz.words.messages import meant, message, tr

MOST_ELEMENTS = 1 << 36  # most elements of a tensor, with lengths of 0 counted as 1
BYTES = 16  # least memory for each element of the first tensor while a case is drawn, in bytes
LEFT_OUT = meant("left out", "that is not given")


@dataclass(frozen=True, eq=False)
class Case:
    """The inputs of one call, with its operator, dtype and seed.

    Attributes
    ----------
    operator : Operator
        The operator of the call.
    inputs : dict of str to array or value
        The parameters of `op.backward` by the vendor's names.
    dtype : str
        "float16", "bfloat16", "float32" or "float64".
    seed : int
        The seed of the random numbers.
    """

    operator: Operator
    inputs: dict
    dtype: str
    seed: int

    @property
    def arrays(self) -> dict[str, np.ndarray]:
        """The tensors by name."""
        return {k: value for k, value in self.inputs.items() if isinstance(value, np.ndarray)}

    def floats(self, saved: bool = True) -> list[str]:
        """Return the names of nonempty floating tensors, with or without those that the forward pass saved."""
        return [
            name
            for name, value in self.arrays.items()
            if value.dtype.kind in "fV"
            and value.size
            and (saved or name not in self.operator.saved)
        ]

    def __repr__(self) -> str:
        def shown(name, value):
            return (
                f"{name} {value.dtype}{list(value.shape)}"
                if hasattr(value, "shape")
                else f"{name}={value!r}"
            )

        shapes = ", ".join(shown(*item) for item in self.inputs.items())
        return f"Case({self.operator.name}, seed={self.seed}: {shapes})"

    def _repr_html_(self) -> str:
        return as_html(
            tr(
                "{operator}: a case in {dtype}, seed {seed}",
                operator=self.operator.name,
                dtype=self.dtype,
                seed=self.seed,
            ),
            (tr("input"), "dtype", tr("shape"), tr("values")),
            [_row(*item) for item in self.inputs.items()],
        )


def case(op, /, dtype=None, seed: int = 0, shape=None, **given) -> Case:
    """Draw a case: gradients and parameters at random, saved tensors from the forward pass.

    Parameters
    ----------
    op : Operator or str
        An operator, or its name.
    dtype : str, optional
        "float16", "bfloat16", "float32" (the default) or "float64"; given arrays determine it.
    seed : int
        The same arguments with the same seed give the same case.
    shape : tuple of int, optional
        The shape of the forward operator's first tensor (self, x, input).
    **given : array or value
        Any of the vendor's parameters, also of the forward operator, by its name: an array of any
        library, the path of a file, or one value for all elements. Some operators also have
        `grid_shape`, (Hout, Wout), and `gamma_ndim`.

    Returns
    -------
    Case
        Its `inputs` are the arguments of `op.backward`.

    Raises
    ------
    ValueError
        For a shape or value that does not fit.
    TypeError
        For a name that the operator lacks.

    Notes
    -----
    Saved tensors (rstd, mean, logProb) have values that a network could have saved.

    Examples
    --------
    >>> import aclnn_viz as av
    >>> av.case("rms_norm", dtype="bfloat16", shape=(4, 16)).inputs["rstd"].shape
    (4, 1)
    """
    op = operator(op)
    own = partial(registry.own, "cases", op.name)
    names = {p.name for p in (*op.parameters, *op.forward_parameters)} | set(
        own("OPTIONS", default.options(op))
    )
    for name in given:
        if name not in names:
            raise mistyped(
                f"a case of {op.name} takes shape, {', '.join(sorted(names))}",
                repr(name),
                "use the vendor's names",
            )
    for parameter in (*op.parameters, *op.forward_parameters):
        if (name := parameter.name) in given:
            value = given[name]
            given[name] = value = (
                _taken(parameter, value) if parameter.kind == "tensor" else parameter.checked(value)
            )
            if parameter.kind == "float" and value != value:
                raise invalid(f"{name} is a number", "nan", "pass another, or leave it out")
    seed = whole("seed", seed)
    if shape is None:
        shape, given = _inferred(op, given, names)
        shape = (
            default.fitted(op, given | {"shape": own("SHAPE", default.default_shape(op))})["shape"]
            if shape is None
            else shape
        )
    shape, fmt = checked_shape(shape), float_format(_format(op, given) if dtype is None else dtype)
    try:
        inputs = own("draw", partial(default.draw, op))(Draw(fmt, seed, given), shape)
    except MemoryError as error:
        raise MemoryError(
            problem("a case fits into the memory of this machine", str(error), "draw a smaller one")
        ) from None
    # raises an error unless the caller's arrays fit the operator
    op.arrange_backward(**op.bind(inputs))
    return Case(op, inputs, fmt.name, seed)


def stated(op, /, **given) -> Case:
    """Draw a case like `case`, but with a known operator or its name, and no paths as tensors."""
    op = known(op)
    for parameter in (*op.parameters, *op.forward_parameters):
        if parameter.kind == "tensor" and isinstance(value := given.get(parameter.name), str):
            raise mistyped(
                f"data hold the values of {parameter.name}", shown(value), "write numbers"
            )
    return case(op, **given)


def _taken(parameter, value):
    """Return a tensor of any library as an array, and a single value unchanged."""
    if is_own(value) or isinstance(value, np.ndarray) and value.dtype.kind in "uV":
        return parameter.checked(value)
    return value


def _inferred(op: Operator, given: dict, names: set[str]) -> tuple:
    """Return the shape (or None) and the options that follow from the given arrays."""
    for name in (op.first, op.like, *op.upstream):
        if (
            isinstance(given.get(name), np.ndarray)
            and given[name].ndim
            and op.tensors[name].shape == op.tensors[op.first].shape
        ):
            options = {
                f"{other}_{what}": getattr(value, what)
                for other, value in given.items()
                if isinstance(value, np.ndarray)
                for what in ("ndim", "shape")
                if f"{other}_{what}" in names
            }
            return given[name].shape, options | given
    return None, given


def _format(op: Operator, given: dict) -> str:
    """Return the format of the first given tensor that has the operator's dtype, else float32."""
    for name, tensor in op.tensors.items():
        if (
            tensor.dtype == "same"
            and isinstance(given.get(name), np.ndarray)
            and given[name].dtype.kind in "fV"
        ):
            return float_format(given[name]).name
    return FLOAT32.name


def _row(name: str, value) -> tuple:
    if not isinstance(value, np.ndarray):
        return (
            name,
            type(value).__name__ if value is not None else "",
            "",
            tr(LEFT_OUT) if value is None else repr(value),
        )
    wide = value.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    text = (
        message("{low} to {high}", low=f"{finite.min():.4g}", high=f"{finite.max():.4g}")
        if finite.size
        else message("none finite")
        if wide.size
        else message("none")
    )
    if finite.size and finite.size < wide.size:
        text = message("{some}, {n} not finite", some=text, n=wide.size - finite.size)
    return name, value.dtype, list(value.shape), tr(text)


def inputs_of(op: Operator, given) -> dict:
    """Return all inputs of a case or of a dict of inputs; raise ValueError for a case of another operator."""
    if isinstance(given, Case):
        if given.operator is not op:
            raise invalid(
                f"the case must be one of {op.name}",
                f"one of {given.operator.name}",
                "draw it with av.case(op, ...)",
            )
        given = given.inputs
    return op.bind(
        need(
            given,
            Mapping,
            "a case is a Case, or its inputs by name",
            "draw it with av.case(op, ...)",
        )
    )


def checked_shape(shape) -> tuple[int, ...]:
    """Return a shape as a tuple; raise TypeError for other types, ValueError for negative lengths or far too many elements."""
    shape = lengths("shape", shape)
    if any(n < 0 for n in shape):
        raise invalid(
            "every length of shape must be at least 0", repr(shape), "pass lengths from 0 on"
        )
    most = min(MOST_ELEMENTS, machine_memory() // BYTES)
    if prod(max(n, 1) for n in shape) > MOST_ELEMENTS or prod(shape) > most:
        raise invalid(
            f"a case holds at most {most:,} elements on this machine",
            shown(shape),
            "draw a smaller one",
        )
    return shape
