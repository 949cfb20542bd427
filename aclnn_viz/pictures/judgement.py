"""`judge`: compare any number of implementations on one test case by exact values, bounds of correct arithmetic, error measures
and standards.
"""

from contextlib import ExitStack

import numpy as np

from aclnn_viz.accuracy import Envelope, Report, compare
from aclnn_viz.accuracy.envelopes import envelope
from aclnn_viz.accuracy.standard import FAIL, PASS
from aclnn_viz.cases import Case
from aclnn_viz.cases.case import inputs_of
from aclnn_viz.checking.kernel_call import named
from aclnn_viz.devices import open_device
from aclnn_viz.errors import by_name, invalid, is_device, problem, shown
from aclnn_viz.operators import operator
from aclnn_viz.operators.plans import plan_of
from aclnn_viz.pictures.error_plot import error_plot, error_runs
from aclnn_viz.pictures.errors import Errors, errors
from aclnn_viz.pictures.marks import record
from aclnn_viz.pictures.provenance import Provenance
from aclnn_viz.pictures.text import number
from aclnn_viz.storage.foreign_arrays import is_own
from aclnn_viz.tables import as_html, as_text
from aclnn_viz.words.messages import message, tr

HEADER = [
    message("output"),
    message("by"),
    message("largest error in ulp"),
    message("median"),
    message("not explained"),
    message("undecided"),
    message("standards"),
]
UNEXPLAINED = HEADER[4]


@record
class Judged:
    """One output: its truth, its envelope, and `errors` and `reports` (measures and standards) by implementation."""

    truth: np.ndarray
    envelope: Envelope
    errors: dict[str, Errors]
    reports: dict[str, Report]

    @property
    def picture(self):
        """Return a picture of errors against values: all elements of one implementation, or medians of several."""
        return (
            error_runs(self.errors) if len(self.errors) > 1 else error_plot(*self.errors.values())
        )


class Judgement(dict):
    """The result of `judge`: maps the name of each output to its Judged; prints as one table.

    `picture` is that of the first output; `judgement["dgammaOut"].picture` is another's.
    """

    def __init__(self, title: str, outputs: dict[str, Judged]):
        super().__init__(outputs)
        self.title = title

    @property
    def first(self) -> Judged:
        return next(iter(self.values()))

    @property
    def picture(self):
        return self.first.picture

    @property
    def rows(self) -> list[list[str]]:
        found = []
        for name, one in self.items():
            for who, e in one.errors.items():
                counts, verdicts = e.counts(), one.reports[who].verdicts.values()
                passed, failed = (
                    [v.outcome for v in verdicts].count(outcome) for outcome in (PASS, FAIL)
                )
                found.append(
                    [
                        name,
                        who,
                        number(e.ulps.max()) if e.size else tr("no elements"),
                        number(e.median) if e.size else "",
                        tr("{n:,} of {all:,}", n=counts[UNEXPLAINED], all=e.size),
                        f"{counts['undecided']:,}",
                        tr("{passed} pass, {failed} fail", passed=passed, failed=failed),
                    ]
                )
        return found

    def __str__(self) -> str:
        return "\n".join([tr(self.title), *as_text([*map(tr, HEADER)], self.rows)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return as_html(
            tr(self.title),
            map(tr, HEADER),
            self.rows,
            more="\n\n".join(
                tr("{output} by {run}: {report}", output=name, run=who, report=report)
                for name, one in self.items()
                for who, report in one.reports.items()
            ),
            opens=tr("the full report"),
        )


def judge(op, case, outputs, plan=None) -> Judgement:
    """Return the errors of implementations on one case, judged by truth, envelope and every standard.

    Parameters
    ----------
    op : Operator or str
        An operator, or its name.
    case : Case or dict of str to array or value
        A case, or its inputs by the vendor's names.
    outputs : dict of str to object
        Results by implementation: a dict by the vendor's output names, an array or a tuple in the vendor's order, or
        something to run: a kernel, an opened device, or a device's name, such as "host" or the path of a capsule.
    plan : Plan or str, optional
        The arithmetic that the envelope allows: a Plan of your own kernel, a product such as "A2",
        or by default the kit's (see `aclnn_viz.accuracy.envelope`).

    Returns
    -------
    Judgement
        By output name reports, verdicts and a picture, with errors in ulps of the output's dtype.

    Raises
    ------
    TypeError, ValueError
        For an operator, a case, outputs or a plan that do not fit.

    Examples
    --------
    >>> import aclnn_viz as av
    >>> op, case = av.operator("rms_norm"), av.case("rms_norm", dtype="float16", shape=(4, 16))
    >>> with av.open_device("host") as device:
    ...     found = judge(op, case, {"kit": op.backward, "device": device})
    >>> found["dxOut"].reports["device"].max_ulp, found.picture.title
    (0.0, 'dxOut of aclnnRmsNormGrad: the largest error is 0.498 ulp, by kit')
    """
    op = operator(op)
    inputs, plan = inputs_of(op, case), plan_of(op, plan)
    by_name("outputs", outputs, 'pass such as {"mine": my_outputs}')
    if not outputs:
        raise invalid(
            "outputs are those of one implementation at least", "none", 'pass such as {"mine": out}'
        )
    results = op.arrange_backward(**inputs).results
    if not results:
        raise invalid(
            "a case is judged by its outputs",
            "none: the case asks for no output",
            "let its mask ask for one",
        )
    with ExitStack() as opened:
        outputs = {
            who: opened.enter_context(open_device(given))
            if isinstance(given, str) and not is_own(given)
            else given
            for who, given in outputs.items()
        }
        computed = {
            who: _computed(op, inputs, results, who, given) for who, given in outputs.items()
        }
    truth, envelopes = op.truth(**inputs), envelope(op, plan, **inputs)
    tensors, found = (
        {name: value for name, value in inputs.items() if isinstance(value, np.ndarray)},
        {},
    )
    seed = case.seed if isinstance(case, Case) else None
    for name in truth:
        runs, reports = {}, {}
        for who, given in computed.items():
            source = outputs[who] if is_device(outputs[who]) else who
            runs[who] = errors(
                given[name],
                truth[name],
                Provenance.named(op, name, source, seed),
                envelope=envelopes[name],
                inputs=tensors,
            )
            reports[who] = compare(given[name], truth[name], inputs=tensors)
        found[name] = Judged(truth[name], envelopes[name], runs, reports)
    return Judgement(
        message(
            "{operator}: errors against the truth, envelope of the plan {plan!r}",
            operator=op.name,
            plan=plan.name,
        ),
        found,
    )


def _computed(op, inputs: dict, results: dict, who: str, given) -> dict[str, np.ndarray]:
    """Return an implementation's outputs by the vendor's names, in documented shapes and formats."""
    if is_device(given):
        given = given.run(op, **inputs)
    elif callable(given):
        given = given(**inputs)
    try:
        found = named(given, list(results), op.outputs)
    except (TypeError, ValueError) as error:
        raise type(error)(
            problem(
                f"{who!r} has the outputs {', '.join(results)}",
                str(error),
                "pass a dict by these names",
            )
        ) from None
    for name, result in results.items():
        if name not in found:
            raise invalid(
                f"{who!r} has the outputs {', '.join(results)}",
                ", ".join(found) or "none",
                "add the others",
            )
        if found[name].shape != result.documented_shape or found[name].dtype != result.format.numpy:
            raise invalid(
                f"{name} by {who!r} is {result.format.name}{list(result.documented_shape)}",
                shown(found[name]),
                "return the documented shape and format",
            )
    return found
