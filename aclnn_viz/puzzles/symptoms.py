"""Show the symptoms of a broken kernel whose mistake is to be found (a detective case): failing experiments, places of errors,
standards that refuse it.
"""

import html
from dataclasses import dataclass

import numpy as np

from aclnn_viz.accuracy import compare
from aclnn_viz.accuracy.standard import FAIL, PASS
from aclnn_viz.checking.judge import Miss, judge
from aclnn_viz.dtypes import float_format, round_to, ulp
from aclnn_viz.tables import as_html, as_text
from aclnn_viz.words.messages import english, kept, message, tr


@dataclass(frozen=True, eq=False)
class Symptom:
    """A symptom as text and as numbers to draw.

    kind "table": the share of wrong elements, experiments x outputs, nan where an output is absent. "map": the error of
    every element of a 2-D output, nan where the kernel gives nan. "standards": |truth| and the error in ulps, (2, n).
    """

    kind: str
    lines: tuple[str | tuple[str, ...], ...]  # a table has its cells
    values: np.ndarray
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What is seen, in English."""
        with english():
            return str(self)

    def _lines(self) -> list:
        return [tr(line) if isinstance(line, str) else [*map(tr, line)] for line in self.lines]

    def __str__(self) -> str:
        text = self._lines()
        return "\n".join(as_text(text[0], text[1:]) if self.kind == "table" else text)

    def _repr_html_(self) -> str:
        # letters of two columns are aligned by a table alone
        if self.kind == "table" and not str(self).isascii():
            header, *rows = self._lines()
            return as_html("", header, rows)
        return f"<pre>{html.escape(str(self))}</pre>"


def outputs_of(kernel, one) -> tuple[dict[str, np.ndarray], dict[str, Miss]]:
    """What a kernel returns on a prepared case, and what is wrong with it by output."""
    with np.errstate(all="ignore"):
        outputs = kernel(**one.case.inputs)
    return outputs, {miss.output: miss for miss in judge(one, outputs)}


def table(experiments, kernel) -> Symptom:
    """Which outputs are wrong in which experiments."""
    columns = tuple(dict.fromkeys(name for _, one in experiments for name in one.expected))
    rows, shares, cells = tuple(label for label, _ in experiments), [], []
    for _, one in experiments:
        _, misses = outputs_of(kernel, one)
        counts = {
            name: int(misses[name].wrong.sum()) if name in misses else 0 for name in one.expected
        }
        sizes = {name: part.truth.size for name, part in one.expected.items()}
        shares.append(
            [counts[name] / max(sizes[name], 1) if name in counts else np.nan for name in columns]
        )
        cells.append(
            [
                "-"
                if name not in counts
                else message("right")
                if not counts[name]
                else message("wrong in {n} of {all}", n=counts[name], all=sizes[name])
                for name in columns
            ]
        )
    lines = (("", *columns), *((label, *text) for label, text in zip(rows, cells)))
    return Symptom("table", lines, np.array(shares), rows, columns)


def error_map(experiments, kernel, output: str, at: tuple) -> Symptom:
    """Where the elements of one output of one experiment are wrong; `at` is the index that leaves two axes of it."""
    ((label, one),) = experiments
    outputs, misses = outputs_of(kernel, one)
    actual, truth = (
        outputs[output][at].astype(np.float64),
        one.expected[output].truth[at].astype(np.float64),
    )
    wrong = misses[output].wrong[at] if output in misses else np.zeros(truth.shape, bool)
    with np.errstate(all="ignore"):
        errors = np.where(wrong, actual - truth, 0.0)
    signs = np.where(np.isnan(errors), "?", np.where(wrong, "#", "."))
    head = message("{output}, {case}: # is wrong, . is right, ? is nan", output=output, case=label)
    return Symptom("map", (head, *map(" ".join, signs)), errors)


def standards(experiments, kernel, output: str) -> Symptom:
    """Which standards accept one output of one experiment, and how far its elements are off."""
    ((label, one),) = experiments
    actual, truth = outputs_of(kernel, one)[0][output], one.expected[output].truth
    report = compare(actual, truth)
    judged = {name: verdict for name, verdict in report.verdicts.items() if verdict in (PASS, FAIL)}
    lines = [
        message(
            "{standard}: {outcome}, {reason}",
            standard=kept(name),
            outcome=kept(verdict.outcome),
            reason=verdict.reason,
        )
        for name, verdict in judged.items()
    ]
    fmt = float_format(actual)
    with np.errstate(all="ignore"):
        off = np.abs(actual.astype(np.float64) - truth) / ulp(
            round_to(truth, fmt).astype(np.float64), fmt
        )
    head = message(
        "{output}, {case}: largest error {ulps} ulp, mean relative error {mean}",
        output=output,
        case=label,
        ulps=f"{report.max_ulp:.4g}",
        mean=f"{report.mere:.3g}",
    )
    return Symptom("standards", (head, *lines), np.stack([np.abs(truth).ravel(), off.ravel()]))
