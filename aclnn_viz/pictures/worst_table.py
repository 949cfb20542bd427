"""The worst elements: where they are, what they are, and which inputs made them."""

from dataclasses import dataclass

import numpy as np

from aclnn_viz.accuracy.envelopes import VERDICTS
from aclnn_viz.errors import problem
from aclnn_viz.pictures import style
from aclnn_viz.pictures.errors import Errors
from aclnn_viz.pictures.provenance import caption, warning
from aclnn_viz.pictures.table import as_text, draw_table, rows_height, wrapped
from aclnn_viz.pictures.text import number

STARTS = [0.15, 0.45, 1.6, 2.65, 3.7, 4.45, 5.45, 6.6]  # inches


@dataclass(frozen=True, eq=False)
class WorstElements(style.Picture):
    """What the table shows: the cells of its `rows`, and in `positions` the flat places of the elements."""

    errors: Errors
    nothing: str
    positions: np.ndarray

    room = 0.1

    @property
    def header(self) -> list[str]:
        judged = ["error / bound", "verdict"] if self.errors.bound is not None else []
        return ["", "index", "output", "truth", "ulp", *judged, "inputs there"]

    @property
    def rows(self) -> list[list[str]]:
        e, rows = self.errors, []
        for rank, at in enumerate(self.positions, 1):
            judged = []
            if e.bound is not None:
                judged = [_ratio(e.ulps[at], e.bound[at]), VERDICTS[e.verdict[at]]]
            inputs = ", ".join(f"{name} = {number(value)}" for name, value in e.inputs_at(at).items()) or "-"
            rows.append([str(rank), str(list(e.index(at))), f"{e.actual[at]:.6g}", f"{e.truth[at]:.6g}",
                         number(e.ulps[at]), *judged, inputs])
        return rows

    @property
    def height(self) -> float:
        body = 2.0 if self.nothing else rows_height(wrapped(self.rows, self._wide))
        return self.head + body + 0.15 + 0.16 * 2

    @property
    def _wide(self) -> int:
        return 32 if self.errors.bound is not None else 54

    @property
    def title(self) -> str:
        output = self.errors.provenance.output
        return f"{output}: no error to show" if self.nothing else (
            f"{output}: the {len(self.positions)} largest errors of {self.errors.size:,} elements")

    @property
    def caption(self) -> str:
        e = self.errors
        return caption("Largest |output − truth| in ulps of the truth; inputs of the output's rank", e.format.name,
                       e.shape, e.size, [e.provenance])

    @property
    def warning(self) -> str:
        return warning({"": self.errors.provenance})

    @property
    def text(self) -> str:
        lines = [self.nothing] if self.nothing else as_text(self.header, self.rows)
        return style.framed(self.title, lines, self.warning, self.caption)

    def _draw(self, drawn, look):
        starts = STARTS if self.errors.bound is not None else STARTS[:6]
        draw_table(drawn, look, self.head, self.header, wrapped(self.rows, self._wide), starts,
                   [{1, 6} if "not explained" in row else () for row in self.rows])


def worst_elements(errors: Errors, count: int = 10) -> WorstElements:
    """Return the table of the `count` largest errors, the first of equals first.

    Raises ValueError for a count below 1.

    >>> from aclnn_viz.pictures.errors import errors
    >>> from aclnn_viz.pictures.provenance import Provenance
    >>> e = errors(np.float16([1, 2]), np.array([1, 2.001]), Provenance("out", "host"))
    >>> worst_elements(e, 1).rows
    [['1', '[1]', '2', '2.001', '0.512', '-']]
    """
    if count < 1:
        raise ValueError(problem("count must be at least 1", str(count), "ask for some elements"))
    order = np.argsort(-errors.ulps, kind="stable")[:count]
    return WorstElements(errors, errors.nothing(), order)


def _ratio(ulps: float, bound: float) -> str:
    if ulps == 0:
        return "0"
    return number(ulps / bound) if bound and np.isfinite(ulps) else "inf"
