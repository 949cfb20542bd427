"""Describe how a test case is made (options of `av.case`, special rows, strides), to name it, store it and make it again."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np

from aclnn_viz.cases.case import Case, case
from aclnn_viz.dtypes import FLOAT16, float_format, round_to
from aclnn_viz.errors import invalid
from aclnn_viz.operators import Operator, Tensor
from aclnn_viz.operators.patterns import chosen
from aclnn_viz.operators.shapes import BITS, is_plain
from aclnn_viz.words.messages import linked, message


@dataclass(frozen=True, eq=False)
class Recipe:
    """The way to make a case: keywords of `av.case`, and whether its tensors are transposed in memory.

    The option `rows` names a change from ROWS for some tensors.
    """

    operator: str
    options: dict = field(default_factory=dict)
    strided: bool = False

    @classmethod
    def of(cls, op: Operator, options: dict) -> "Recipe":
        """Return the recipe of options, which may include `strided`."""
        rest = {name: value for name, value in options.items() if name != "strided"}
        return cls(op.name, rest, bool(options.get("strided")))

    def case(self, seed: int, draw: Callable = case) -> Case:
        options = {name: value for name, value in self.options.items() if name != "rows"}
        made = draw(self.operator, seed=seed, **options)
        if changed := _with_rows(made, self.options.get("rows", {}), options):
            # the tensor keeps its numbers if the operator refuses the new ones
            with suppress(ValueError):
                made = draw(self.operator, seed=seed, **options | {"dtype": made.dtype} | changed)
        return transposed(made) if self.strided else made

    def __str__(self) -> str:
        """Return a description in English: reports store it."""
        rows = self.options.get("rows", {})
        text = [f"{name}={_short(x)}" for name, x in self.options.items() if name != "rows"]
        text += [f"{name}: {kind}" for name, kind in rows.items()]
        text += [message("strided tensors")] * self.strided
        return linked("{some}, {more}", text) if text else message("the default case")


WIDE = 2.0**30  # a number whose cube does not overflow in float32


def _largest(fmt) -> list[float]:
    return [fmt.largest, -fmt.largest]


def _tiny(fmt) -> list[float]:
    least = 2.0**fmt.min_exponent
    return [least, -least, fmt.smallest_subnormal, -fmt.smallest_subnormal]


#: Special numbers of a format, which a deep check puts into a tensor.
NUMBERS = {
    "zeros of both signs": lambda fmt: [0.0, -0.0] * 4,
    "nan": lambda fmt: [np.nan] * 6,
    # four of each sign, so that each sign meets several values of the other tensors
    "inf": lambda fmt: [np.inf, -np.inf] * 4,
    # exp of these numbers is tiny, or overflows in float32
    "far numbers": lambda fmt: [20.0, -20.0, 80.0, -80.0, 90.0, -90.0],
    "large and small": lambda fmt: (
        [WIDE, -WIDE, 1 / WIDE, -1 / WIDE] if fmt is not FLOAT16 else _largest(fmt)
    ),
    "largest": _largest,
    "smallest": _tiny,
}


def _with_numbers(rows: np.ndarray, rng, numbers: list[float]) -> np.ndarray:
    """Return the rows with each number at a random place, at most half of the elements."""
    count = max(1, min(len(numbers), rows.size // 2))
    rows.flat[rng.choice(rows.size, count, replace=False)] = rng.permutation(numbers)[:count]
    return rows


def _put(rows: np.ndarray, rng, share: float, values) -> np.ndarray:
    """Return the rows with a share of about `share` of their elements replaced by random members of `values`."""
    return np.where(rng.random(rows.shape) < share, rng.choice(values, rows.shape), rows)


def _one_row(rows: np.ndarray, rng, value) -> np.ndarray:
    return np.where(np.arange(len(rows))[:, None] == rng.integers(len(rows)), value, rows)


#: Changes of a tensor's rows by kind ("f" floats, "i" indices, "b" bits); each takes rows,
#: generator and integer attributes.
ROWS = {
    "f": {
        "a constant row": lambda rows, rng, known: _one_row(rows, rng, rows.flat[0]),
        "constant rows": lambda rows, rng, known: np.repeat(rows[:, :1], rows.shape[1], 1),
        "zeros": lambda rows, rng, known: 0 * rows,
        "a row of zeros": lambda rows, rng, known: _one_row(rows, rng, 0),
        "some zeros": lambda rows, rng, known: _put(rows, rng, 0.4, [0.0, -0.0]),
        "0 and 1": lambda rows, rng, known: _put(rows, rng, 1, [0.0, 1.0]),
        "one-hot": lambda rows, rng, known: np.eye(rows.shape[1])[
            rng.integers(rows.shape[1], size=len(rows))
        ],
        "whole numbers": lambda rows, rng, known: np.rint(rows),
        "far from 0": lambda rows, rng, known: _with_numbers(
            1.0 * rows, rng, [35, -35, 91, 100, -110]
        ),
        "attributes": lambda rows, rng, known: _put(rows, rng, 0.3, known),
    },
    "i": {
        "one number": lambda rows, rng, known: _put(rows, rng, 1, rows.flat[:1]),
        "two numbers": lambda rows, rng, known: _put(rows, rng, 1, rows.flat[:2]),
        "one attribute": lambda rows, rng, known: _put(rows, rng, 1, [rng.choice(known)]),
        "attributes": lambda rows, rng, known: _put(rows, rng, 0.4, known),
    },
    "b": {
        "all set": lambda rows, rng, known: rows * 0 + 1,
        "none set": lambda rows, rng, known: rows * 0,
        "a row set": lambda rows, rng, known: _one_row(rows, rng, 1),
    },
}


def family(tensor: Tensor) -> str:
    """Return the key of ROWS for a tensor."""
    if not is_plain(tensor.dtype):
        return "f"
    return "b" if tensor.dtype.startswith(("bool", BITS)) else "i"


def _unseen(op: Operator, name: str) -> bool:
    """Return whether a tensor is the first input of forward, of which backward reads only saved tensors."""
    return name == op.first and name not in {p.name for p in op.parameters}


def _of_forward(made: Case, rng) -> np.ndarray:
    """Draw the first tensor of the forward operator for a case whose inputs lack it."""
    op, bound = made.operator, made.operator.bind(made.inputs)
    shape = chosen(op.tensors[op.first].shape, bound).shape(op.fitting(bound)[1])
    return np.asarray(round_to(rng.standard_normal(shape), float_format(made.dtype)))


def _with_rows(made: Case, rows: dict, given: dict) -> dict:
    """Return the tensors of a case whose rows the recipe changes, unless they were given."""
    changed, rng = {}, np.random.default_rng(made.seed)
    for name, kind in sorted(rows.items()):
        op = made.operator
        tensor = op.tensors.get(name)
        kinds = ROWS[family(tensor)] | NUMBERS if tensor else {}
        if kind not in kinds:
            raise invalid(
                f"rows names tensors of {op.name} and what is done to them",
                f"{name}: {kind}",
                f"choose one of {', '.join(kinds or op.tensors)}",
            )
        array = _of_forward(made, rng) if _unseen(op, name) else made.arrays.get(name)
        if array is None or not array.size or name in given:
            continue
        numbers = (int,) if family(tensor) == "i" else (int, float)
        most = float_format(array).largest if array.dtype.kind in "fV" else np.inf
        known = [x for x in made.inputs.values() if type(x) in numbers and abs(x) <= most] or [0]
        wide = array.reshape(-1, array.shape[-1] if array.ndim else 1).astype(np.float64)
        wide = (
            _with_numbers(wide, rng, kinds[kind](float_format(array)))
            if kind in NUMBERS
            else kinds[kind](wide, rng, known)
        ).reshape(array.shape)
        if kind not in NUMBERS and family(tensor) == "f" and tensor.low is not None:
            wide = wide.clip(tensor.low, tensor.high)
        if tensor.dtype == BITS:
            wide = np.where(wide > 0, 255, 0)
        changed[name] = np.asarray(
            round_to(wide, array.dtype) if array.dtype.kind in "fV" else wide.astype(array.dtype)
        )
    return changed


def _short(value) -> str:
    return f"array{list(value.shape)}" if isinstance(value, np.ndarray) else repr(value)


def transposed(made: Case) -> Case:
    """Return the case with other strides: only one axis is contiguous, and in every other case vectors are strided, too."""
    alone = all(array.ndim < 2 for array in made.arrays.values())
    inputs = {
        name: _scattered(value, alone or made.seed % 2) if isinstance(value, np.ndarray) else value
        for name, value in made.inputs.items()
    }
    return Case(made.operator, inputs, made.dtype, made.seed)


def _scattered(array: np.ndarray, vectors: bool) -> np.ndarray:
    if array.ndim == 1:
        return np.repeat(array, 2)[::2] if vectors else array
    return np.asfortranarray(array) if array.ndim else array
