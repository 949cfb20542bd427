"""Draw the symptoms of a detective case's broken kernel: failing experiments, places of errors, standards that refuse it."""

import numpy as np

from aclnn_viz.accuracy import compare
from aclnn_viz.accuracy.standard import FAIL, PASS
from aclnn_viz.checking.judge import Miss, judge
from aclnn_viz.pictures.errors import errors
from aclnn_viz.pictures.marks import Dots, Heat, Note, Rule
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.picture import Picture
from aclnn_viz.tables import as_text
from aclnn_viz.words.messages import tr

ROW, COLUMNS = 26, 20  # height of a row of cells in pixels; columns of a row of panels
WIDE = 800  # width in pixels, so that words stay readable in a narrow window
FEWEST_ULPS = 1e-3  # least ulps on a logarithmic axis


def outputs_of(kernel, one) -> tuple[dict[str, np.ndarray], dict[str, Miss]]:
    """Return a kernel's outputs on a prepared case, and the errors by output."""
    with np.errstate(all="ignore"):
        outputs = kernel(**one.case.inputs)
    return outputs, {miss.output: miss for miss in judge(one, outputs)}


def _seen(lines, *panel, span=COLUMNS, height=260) -> Picture:
    return Picture((), (Panel(*panel, span, height),), "\n".join(lines), width=WIDE)


def table(experiments, kernel) -> Picture:
    """Return a table of experiments and outputs: the share of wrong elements."""
    columns = tuple(dict.fromkeys(name for _, one in experiments for name in one.expected))
    shares, words = np.full((2, len(experiments), len(columns)), np.nan, object)
    for row, (_, one) in enumerate(experiments):
        misses = outputs_of(kernel, one)[1]
        for column, name in enumerate(columns):
            words[row, column] = "-"
            if name in one.expected:
                n, size = (
                    int(misses[name].wrong.sum()) if name in misses else 0,
                    one.expected[name].truth.size,
                )
                shares[row, column] = n / max(size, 1)
                words[row, column] = (
                    tr("wrong in {n} of {all}", n=n, all=size) if n else tr("right")
                )
    rows = [tr(label) for label, _ in experiments]
    return _seen(
        as_text(["", *columns], [[label, *cells] for label, cells in zip(rows, words)]),
        "table",
        tr("share of wrong elements"),
        (Heat(shares.astype(np.float64), "sequential", 0.0, 1.0, words=tuple(words.ravel())),),
        Axis(ticks=tuple(enumerate(columns))),
        Axis(ticks=tuple(enumerate(rows))),
        span=min(COLUMNS, 8 + 5 * len(columns)),
        height=ROW * len(rows) + 50,
    )


def error_map(experiments, kernel, output: str, at: tuple) -> Picture:
    """Return a map of wrong elements of one output of one experiment; `at` is the index that leaves two axes."""
    ((label, one),) = experiments
    outputs, misses = outputs_of(kernel, one)
    actual, truth = (
        outputs[output][at].astype(np.float64),
        one.expected[output].truth[at].astype(np.float64),
    )
    wrong = misses[output].wrong[at] if output in misses else np.zeros(truth.shape, bool)
    with np.errstate(all="ignore"):
        error = np.where(wrong, actual - truth, 0.0)
    signs = np.where(np.isnan(error), "?", np.where(wrong, "#", "."))
    head = tr("{output}, {case}: # is wrong, . is right, ? is nan", output=output, case=tr(label))
    largest = np.max(np.abs(error), initial=0.0, where=np.isfinite(error)) or 1.0
    rows, columns = error.shape
    return _seen(
        [head, *map(" ".join, signs)],
        "map",
        tr("error of every element"),
        (
            Heat(error, "diverging", -largest, largest),
            *(Note(column, row, "nan") for row, column in np.argwhere(np.isnan(error))),
        ),
        Axis(),
        Axis(),
        span=min(COLUMNS, max(11, columns)),
        height=max(120, 18 * rows + 40),
    )


def standards(experiments, kernel, output: str) -> Picture:
    """Return the standards' verdicts on one output of one experiment, and the errors of its elements."""
    ((label, one),) = experiments
    actual, truth = outputs_of(kernel, one)[0][output], one.expected[output].truth
    report, off = compare(actual, truth), errors(actual, truth, output)
    head = tr(
        "{output}, {case}: largest error {ulps} ulp, mean relative error {mean}",
        output=output,
        case=tr(label),
        ulps=f"{report.max_ulp:.4g}",
        mean=f"{report.mere:.3g}",
    )
    lines = [
        tr(
            "{standard}: {outcome}, {reason}",
            standard=tr(name),
            outcome=tr(verdict.outcome),
            reason=tr(verdict.reason),
        )
        for name, verdict in report.verdicts.items()
        if verdict.outcome in (PASS, FAIL)
    ]
    size = off.size_of_truth
    return _seen(
        [head, *lines],
        "ulps",
        tr("error of every element over its size"),
        (
            Dots(size, np.maximum(off.ulps, FEWEST_ULPS), 0, "", 1.5),
            Rule("y", 0.5, tr("½ ulp: rounded once"), 2),
        ),
        Axis(tr("|truth|"), scale="log"),
        Axis(tr("ulp"), scale="log"),
    )
