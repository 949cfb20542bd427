"""`compare`: measure one output against the exact values, and show the decision of every acceptance standard, as one table."""

import html
import json
from dataclasses import asdict, dataclass

import numpy as np

from aclnn_viz.accuracy.measures import Extreme, Measures, Tally, check_inputs, measured, pair
from aclnn_viz.accuracy.standard import FAIL, PASS, Judging, Verdict
from aclnn_viz.accuracy.standards import STANDARDS
from aclnn_viz.errors import need
from aclnn_viz.storage.results import strict
from aclnn_viz.tables import as_html, padded
from aclnn_viz.words.messages import enumerated, linked, message, ntr, tr

AVERAGES = ("mere", "mean_abs", "rmse", "cosine", "error_balance")


@dataclass(frozen=True, repr=False)
class Report(Measures):
    """The measures of one output, and each standard's verdict on it; prints as a table.

    Attributes
    ----------
    dtype, shape : str, tuple of int
        The output's dtype and shape.
    size, finite_size : int
        The number of elements, and of pairs in which output and truth are finite.
    undecided, differing, signed_zeros : int
        The elements that the truth cannot judge, the other pairs that differ, and the zeros with
        another sign than the rounded truth.
    above, below : int
        The finite outputs above and below the truth.
    max_ulp : float
        The largest error, in ulps of the output's dtype.
    max_abs, mean_abs, rmse : float
        The largest, the mean and the root of the mean squared error, in the unit of the output.
    max_relative, mare, mere : float
        The largest error relative to |truth|, and the largest and the mean error relative to
        |truth| + 1e-7, as in the standards for Ascend.
    cosine, error_balance : float
        The cosine between output and truth, and `abs(above - below) / finite_size`.
    ulp_counts : dict of str to int
        The number of elements by class of their error in ulps.
    extremes : dict of str to Extreme
        The place of each maximum: its index, numbers and inputs.
    notes : tuple of str
        Undefined measures with their reasons.
    verdicts : dict of str to Verdict
        The verdict of each standard by its name.
    worst : Extreme
        The element with the largest error in ulps.
    """

    verdicts: dict[str, Verdict]

    @property
    def worst(self) -> Extreme:
        return self.extremes["max_ulp"]

    def __str__(self) -> str:
        shares = linked(
            "{some}, {more}", [_share(name, share) for name, share in self.ulp_shares.items()]
        )
        lines = [
            tr(
                "{dtype} output of shape {shape} against the truth: {n} elements, {finite} finite pairs",
                dtype=self.dtype,
                shape=self.shape,
                n=self.size,
                finite=self.finite_size,
            ),
            "",
            tr("maxima over all elements"),
        ]
        lines += [
            f"  {name:<13} {extreme.value:<12.6g} {_place(extreme)}"
            for name, extreme in self.extremes.items()
        ]
        lines += ["", tr("over the finite pairs")]
        lines += [f"  {name:<13} {getattr(self, name):.6g}" for name in AVERAGES]
        lines += [
            "",
            tr("ulps from the rounded truth: {shares}", shares=shares),
            *(tr("note: {note}", note=note) for note in self.notes),
            "",
        ]
        return "\n".join(lines + _rows(self.verdicts))

    def __repr__(self) -> str:
        return f"Report({self.dtype}{list(self.shape)}: {tr('; ').join(f'{name} {text}' for name, text in self._short)})"

    @property
    def _short(self) -> list[tuple[str, str]]:
        said = {
            outcome: [name for name, verdict in self.verdicts.items() if verdict == outcome]
            for outcome in (PASS, FAIL)
        }
        shares = [_share(name, share) for name, share in self.ulp_shares.items() if share]
        accepted, refused = (
            enumerated(names) if names else tr("no standard") for names in said.values()
        )
        return [
            (
                tr("largest error"),
                tr("{size} ulp {place}", size=f"{self.max_ulp:.4g}", place=_place(self.worst)),
            ),
            (tr("ulps"), enumerated(shares) if shares else tr("no elements")),
            (
                tr("MERE, MARE"),
                tr("{some}, {more}", some=f"{self.mere:.4g}", more=f"{self.mare:.4g}"),
            ),
            (tr("accepted by"), accepted),
            (tr("refused by"), refused),
            *((tr("note"), tr(note)) for note in self.notes),
        ]

    def _repr_html_(self) -> str:
        title = tr(
            "{dtype} output of shape {shape} against the truth", dtype=self.dtype, shape=self.shape
        )
        return as_html(title, (), self._short, more=str(self), opens=tr("the full report"))

    def to_json(self) -> str:
        """Return the report as JSON text; nan and infinities become "nan", "inf" and "-inf".

        Returns
        -------
        str
            An object whose names are the attributes of the report.

        Examples
        --------
        >>> import json
        >>> json.loads(compare(np.float16([1.0]), np.array([1.0])).to_json())["max_ulp"]
        0.0
        """
        content = asdict(self) | {"ulp_shares": self.ulp_shares, "worst": asdict(self.worst)}
        return json.dumps(strict(content), indent=1)


@dataclass(frozen=True)
class Disagreement:
    """The standards that accept and those that refuse the same data; true when there are both; prints as a table."""

    passed: dict[str, Verdict]
    failed: dict[str, Verdict]

    def __bool__(self) -> bool:
        return bool(self.passed and self.failed)

    def __str__(self) -> str:
        if self:
            accept, refuse = len(self.passed), len(self.failed)
            head = (
                ntr(
                    "{n} standard accepts what {m} refuses",
                    "{n} standards accept what {m} refuses",
                    accept,
                    m=1,
                )
                if refuse == 1
                else ntr(
                    "{n} standard accepts what {m} refuse",
                    "{n} standards accept what {m} refuse",
                    accept,
                    m=refuse,
                )
            )
        elif self.passed or self.failed:
            head = tr(
                "all standards that apply say {verdict}", verdict=PASS if self.passed else FAIL
            )
        else:
            head = tr("no standard applies")
        return "\n".join([head, *_rows(self.passed | self.failed)])

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(str(self))}</pre>"


def compare(actual, truth, *, baseline=None, inputs=None) -> Report:
    """Compare an output with a truth of the same shape by every measure and standard.

    Parameters
    ----------
    actual : array
        An output in float16, bfloat16, float32 or float64.
    truth : array
        An operator's truth, with its certificate, or any array whose format contains the output's.
        Elements that the certificate cannot judge are `undecided` and enter no measure.
    baseline : array, optional
        The output of another implementation of the same precision, in the same dtype; without it,
        standards that need one are not applicable.
    inputs : dict of str to array, optional
        Inputs of the output's shape, whose values at the maxima are reported.

    Returns
    -------
    Report
        Errors in ulps of the output's dtype (`max_ulp`), in its own unit (`max_abs`) and relative
        (`max_relative`).

    Raises
    ------
    TypeError
        For a dtype that does not fit.
    ValueError
        For a shape that does not fit.

    Notes
    -----
    The source of each standard is in `aclnn_viz.accuracy.standards.STANDARDS`.

    Examples
    --------
    >>> report = compare(np.float16([1.0, 2.0]), np.array([1.0, 2.001]))
    >>> report.max_ulp, report.worst.index, report.verdicts["mixed tolerance"] == "pass"
    (1.0, (1,), True)
    """
    pairing, tally = pair(actual, truth, baseline), Tally()
    judging = Judging(STANDARDS, pairing)
    check_inputs(inputs)
    for counted, sums in pairing.each(
        lambda start, *both: (Tally.of(both[0], start), judging.tallied(*both))
    ):
        tally.add(counted)
        judging.add(sums)
    with np.errstate(all="ignore"):
        measures = measured(pairing, tally, inputs)
        return Report(**vars(measures), verdicts=judging.verdicts())


def disagreements(report: Report) -> Disagreement:
    """Return which standards accept and which refuse the data of a report.

    >>> bool(disagreements(compare(np.float32([1.0, 1.00002]), np.array([1.0, 1.0]))))
    True
    """
    need(
        report,
        Report,
        "disagreements are those of a Report",
        "pass what compare(actual, truth) returns",
    )
    by_outcome = {
        outcome: {name: verdict for name, verdict in report.verdicts.items() if verdict == outcome}
        for outcome in (PASS, FAIL)
    }
    return Disagreement(by_outcome[PASS], by_outcome[FAIL])


def _rows(verdicts: dict[str, Verdict]) -> list[str]:
    rows = [
        (tr("standard"), tr("verdict"), tr("decided by")),
        *(
            (tr(name), tr(verdict.outcome), tr(verdict.reason))
            for name, verdict in verdicts.items()
        ),
    ]
    return [f"{padded(name, 26)} {padded(outcome, 15)} {reason}" for name, outcome, reason in rows]


def _place(extreme: Extreme) -> str:
    if extreme.index is None:
        return ""
    there = "".join(f", {name} {value!r}" for name, value in extreme.inputs.items())
    return tr(
        "at {index}: {actual!r}, truth {truth!r}{inputs}",
        index=extreme.index,
        actual=extreme.actual,
        truth=extreme.truth,
        inputs=there,
    )


def _share(name: str, share: float) -> str:
    percent = f"{100 * share:.4g}"
    if name == "exact":
        return message("exact: {share} %", share=percent)
    return message("{ulps}: {share} %", ulps=name, share=percent)
