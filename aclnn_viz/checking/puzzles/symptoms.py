"""What is seen of a broken kernel: which experiments fail, where the errors lie, or which standards refuse it."""

from dataclasses import dataclass

import numpy as np

from aclnn_viz.accuracy import compare
from aclnn_viz.accuracy.standards import FAIL, PASS
from aclnn_viz.checking.judging import Miss, judge
from aclnn_viz.dtypes import float_format, round_to, ulp


@dataclass(frozen=True, eq=False)
class Symptom:
    """A symptom as text and as numbers to draw.

    kind "table": the share of wrong elements, experiments x outputs, nan where an output is absent. "map": the error of
    every element of a 2-D output, nan where the kernel gives nan. "standards": |truth| and the error in ulps, (2, n).
    """

    kind: str
    text: str
    values: np.ndarray
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text


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
        counts = {name: int(misses[name].wrong.sum()) if name in misses else 0 for name in one.expected}
        sizes = {name: part.truth.size for name, part in one.expected.items()}
        shares.append([counts[name] / max(sizes[name], 1) if name in counts else np.nan for name in columns])
        cells.append(["-" if name not in counts else f"wrong in {counts[name]} of {sizes[name]}" if counts[name] else
                      "right" for name in columns])
    lines = [["", *columns], *([label, *told] for label, told in zip(rows, cells))]
    widths = [max(map(len, column)) for column in zip(*lines)]
    text = "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)
    return Symptom("table", text, np.array(shares), rows, columns)


def error_map(experiments, kernel, output: str, at: tuple) -> Symptom:
    """Where the elements of one output of one experiment are wrong; `at` is the index that leaves two axes of it."""
    (label, one), = experiments
    outputs, misses = outputs_of(kernel, one)
    actual, truth = outputs[output][at].astype(np.float64), one.expected[output].truth[at].astype(np.float64)
    wrong = misses[output].wrong[at] if output in misses else np.zeros(truth.shape, bool)
    with np.errstate(all="ignore"):
        errors = np.where(wrong, actual - truth, 0.0)
    signs = np.where(np.isnan(errors), "?", np.where(wrong, "#", "."))
    text = "\n".join([f"{output}, {label}: # is wrong, . is right, ? is nan", *map(" ".join, signs)])
    return Symptom("map", text, errors)


def standards(experiments, kernel, output: str) -> Symptom:
    """Which standards accept one output of one experiment, and how far its elements are off."""
    (label, one), = experiments
    actual, truth = outputs_of(kernel, one)[0][output], one.expected[output].truth
    report = compare(actual, truth)
    judged = {name: verdict for name, verdict in report.verdicts.items() if verdict in (PASS, FAIL)}
    lines = [f"{name}: {verdict.outcome}, {verdict.reason}" for name, verdict in judged.items()]
    fmt = float_format(actual)
    with np.errstate(all="ignore"):
        off = np.abs(actual.astype(np.float64) - truth) / ulp(round_to(truth, fmt).astype(np.float64), fmt)
    head = f"{output}, {label}: largest error {report.max_ulp:.4g} ulp, mean relative error {report.mere:.3g}"
    return Symptom("standards", "\n".join([head, *lines]), np.stack([np.abs(truth).ravel(), off.ravel()]))
