"""Options for cases whose main tensor is a matrix, as whoever shows rows and columns needs them."""

from aclnn_viz.operators import Operator, registry
from aclnn_viz.operators.patterns import Pattern


def matrix_shape(op: Operator, rows: int, columns: int) -> tuple[int, ...]:
    """Return the shape that the operator's main tensor has as a matrix: axes that it must have beside come first.

    >>> from aclnn_viz import operator
    >>> matrix_shape(operator("rms_norm"), 3, 5), matrix_shape(operator("grid_sampler_2d"), 3, 5)
    ((3, 5), (1, 1, 3, 5))
    """
    least, _ = op.tensors[op.like].ranks or Pattern(op.tensors[op.like].shape).ranks
    return (1,) * (least - 2) + (rows, columns)


def rows_of(op: Operator, rows: int, n: int, seed: int = 0, dtype: str = "float32") -> dict:
    """Return options of a case with `rows` rows of `n` terms each: the operator's own, else a matrix."""
    own = registry.own("cases", op.name, "rows_of")
    return own(rows, n, seed, dtype) if own else {"shape": matrix_shape(op, rows, n)}
