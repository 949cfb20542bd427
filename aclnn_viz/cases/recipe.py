"""Describe how a test case is made (options of `av.case`, special rows, strides), to name it, store it and make it again."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from aclnn_viz.cases.case import Case, case
from aclnn_viz.dtypes import float_format, round_to
from aclnn_viz.errors import invalid
from aclnn_viz.operators import Operator, Tensor
from aclnn_viz.operators.patterns import chosen
from aclnn_viz.operators.shapes import BITS, is_plain
from aclnn_viz.tables import table_beside
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


_TABLE = table_beside(__file__, "rows.toml")
#: Formulas: special numbers in a tensor, and changes of its rows by kind ("f" floats, "i" indices, "b" bits).
NUMBERS, ROWS = _TABLE["numbers"], _TABLE["rows"]


def with_numbers(rows: np.ndarray, rng, numbers: list[float]) -> np.ndarray:
    """Return the rows with each number at a random place, at most half of the elements."""
    count = max(1, min(len(numbers), rows.size // 2))
    rows.flat[rng.choice(rows.size, count, replace=False)] = rng.permutation(numbers)[:count]
    return rows


def put(rows: np.ndarray, rng, share: float, values) -> np.ndarray:
    """Return the rows with a share of about `share` of their elements replaced by random members of `values`."""
    return np.where(rng.random(rows.shape) < share, rng.choice(values, rows.shape), rows)


def one_row(rows: np.ndarray, rng, value) -> np.ndarray:
    """Return the rows with a random one replaced."""
    return np.where(np.arange(len(rows))[:, None] == rng.integers(len(rows)), value, rows)


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
        fmt = float_format(array) if kind in NUMBERS or array.dtype.kind in "fV" else None
        numbers = (int,) if family(tensor) == "i" else (int, float)
        most = fmt.largest if fmt else np.inf
        known = [x for x in made.inputs.values() if type(x) in numbers and abs(x) <= most] or [0]
        wide = array.reshape(-1, array.shape[-1] if array.ndim else 1).astype(np.float64)
        names = {"rows": wide, "rng": rng, "known": known, "fmt": fmt} | {
            change.__name__: partial(change, wide, rng) for change in (one_row, put, with_numbers)
        }
        wide = eval(kinds[kind], vars(np) | names).reshape(array.shape)
        if kind not in NUMBERS and family(tensor) == "f" and tensor.low is not None:
            wide = wide.clip(tensor.low, tensor.high)
        if tensor.dtype == BITS:
            wide = np.where(wide > 0, 255, 0)
        changed[name] = np.asarray(round_to(wide, array.dtype) if fmt else wide.astype(array.dtype))
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
