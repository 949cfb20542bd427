"""What the acceptance standards say of the same data, with the number that decided, and where they disagree."""

import textwrap
from dataclasses import dataclass

from aclnn_viz.accuracy.report import Report
from aclnn_viz.accuracy.standards import FAIL, NOT_APPLICABLE, PASS
from aclnn_viz.errors import problem
from aclnn_viz.pictures import style
from aclnn_viz.pictures.provenance import Provenance, caption, warning
from aclnn_viz.pictures.table import as_text, draw_table, rows_height, wrapped

SIGNS = {PASS: "✓ pass", FAIL: "✗ FAIL", NOT_APPLICABLE: "– n/a"}
DIFFERS = "≠ "
MOST = 4


@dataclass(frozen=True, eq=False)
class StandardsTable(style.Picture):
    """What the table shows: the verdicts of each run's report by the name of the run.

    One run: its standards grouped by outcome, those that refuse first, each with its reason. Several runs: a column
    each, and the standards whose outcomes differ first.
    """

    reports: dict[str, Report]
    sources: dict[str, Provenance]

    nothing = ""
    room = 0.1

    @property
    def _single(self) -> bool:
        return len(self.reports) == 1

    def outcomes(self, standard: str) -> list[str]:
        return [report.verdicts[standard].outcome for report in self.reports.values()]

    @property
    def standards(self) -> list[str]:
        """The names of the standards in the order of the table."""
        names = next(iter(self.reports.values())).verdicts
        order = [FAIL, PASS, NOT_APPLICABLE]
        if self._single:
            return sorted(names, key=lambda name: order.index(self.outcomes(name)[0]))
        return sorted(names, key=lambda name: len(set(self.outcomes(name))) == 1)

    @property
    def header(self) -> list[str]:
        if self._single:
            return ["standard", "verdict", "decided by"]
        return ["standard", *self.reports]

    @property
    def rows(self) -> list[list[str]]:
        rows = []
        for name in self.standards:
            verdicts = [report.verdicts[name] for report in self.reports.values()]
            if self._single:
                rows.append([name, SIGNS[verdicts[0].outcome], verdicts[0].reason])
            else:
                mark = DIFFERS if len(set(self.outcomes(name))) > 1 else "   "
                rows.append([mark + name, *(_cell(verdict) for verdict in verdicts)])
        if not self._single:
            totals = ("accept {}, refuse {}".format(*self.counts(report)) for report in self.reports.values())
            rows.append(["   in all", *totals])
        return rows

    @property
    def height(self) -> float:
        return self.head + rows_height(self._wrapped()) + 0.2 + 0.16 * len(textwrap.wrap(self.caption, 152))

    def _wrapped(self):
        return wrapped(self.rows, 76) if self._single else self.rows

    @property
    def title(self) -> str:
        output = next(iter(self.sources.values())).output
        if not self._single:
            apart = sum(len(set(self.outcomes(name))) > 1 for name in self.standards)
            return f"{output}: {apart} of {len(self.standards)} standards judge these runs differently"
        accept, refuse = self.counts(*self.reports.values())
        if accept and refuse:
            return f"{output}: {accept} standards accept what {refuse} refuse"
        if accept or refuse:
            return f"{output}: all {accept + refuse} standards that apply say {PASS if accept else FAIL}"
        return f"{output}: no standard applies"

    @staticmethod
    def counts(report: Report) -> tuple[int, int]:
        """How many standards accept, and how many refuse."""
        said = [verdict.outcome for verdict in report.verdicts.values()]
        return said.count(PASS), said.count(FAIL)

    @property
    def caption(self) -> str:
        report = next(iter(self.reports.values()))
        return caption("Acceptance standards, each with the number that decided it (and its limit); n/a: it needs a "
                       "baseline, or gives no limits here", report.dtype, report.shape, report.size,
                       self.sources.values())

    @property
    def warning(self) -> str:
        return warning(self.sources)

    @property
    def text(self) -> str:
        return style.framed(self.title, as_text(self.header, self.rows), self.warning, self.caption)

    def _draw(self, drawn, look):
        starts = [0.15, 2.35, 3.15] if self._single else [0.15, *(2.55 + 6.4 * k / len(self.reports)
                                                                 for k in range(len(self.reports)))]
        loud = [{k for k, cell in enumerate(row) if SIGNS[FAIL] in cell} for row in self.rows]
        for row, columns in zip(self.rows, loud):
            if columns and (self._single or row[0].startswith(DIFFERS)):
                columns.add(0)
        draw_table(drawn, look, self.head, self.header, self._wrapped(), starts, loud)


def standards_table(reports: dict[str, Report], sources: dict[str, Provenance]) -> StandardsTable:
    """Return the table of one to four reports of `aclnn_viz.compare` on the same case, by the name of the run.

    `sources` tells of each run where its numbers come from. Raises ValueError for another number of runs, for reports
    of different shapes or dtypes, and when the names differ.

    >>> import numpy as np, aclnn_viz as av
    >>> report = av.compare(np.float32([1.0, 1.00002]), np.array([1.0, 1.0]))
    >>> standards_table({"host": report}, {"host": Provenance("out", "host")}).title
    'out: 4 standards accept what 3 refuse'
    """
    if not 1 <= len(reports) <= MOST or reports.keys() != sources.keys():
        raise ValueError(problem(f"a table shows 1 to {MOST} reports, each with its provenance by the same name",
                                 f"{list(reports)} and {list(sources)}", "name the runs alike"))
    kinds = {f"{report.dtype} {list(report.shape)}" for report in reports.values()}
    if len(kinds) > 1:
        raise ValueError(problem("reports in one table must share dtype and shape", " and ".join(sorted(kinds)),
                                 "compare outputs of the same case"))
    return StandardsTable(reports, sources)


def _cell(verdict) -> str:
    if verdict == NOT_APPLICABLE:
        return SIGNS[NOT_APPLICABLE]
    # Enough digits to tell the number from its limit.
    pairs = [[f"{value:.{max(d, 4) if value >= 1000 else d}g}" for value in (verdict.number, verdict.limit)]
             for d in (3, 5, 9, 17)]
    number, limit = next((pair for pair in pairs if pair[0] != pair[1]), pairs[0])
    return f"{SIGNS[verdict.outcome]}  {number} ({limit})"
