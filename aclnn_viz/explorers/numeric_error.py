"""Panels and words of the interactive picture (explorer) of numeric error, to tell a bug from rounding; `numeric_error_data`
computes the numbers.
"""

import numpy as np

from aclnn_viz.accuracy.report import disagreements
from aclnn_viz.dtypes import ulp
from aclnn_viz.explorers.arrays import point, sweep
from aclnn_viz.explorers.fields import TABLES
from aclnn_viz.explorers.numeric_error_data import (
    CAUSES,
    MISSED,
    OPEN,
    State,
    compute,
    inputs,
    operator_of,
)
from aclnn_viz.explorers.subject import Subject
from aclnn_viz.pictures.error_plot import GREY
from aclnn_viz.pictures.marks import Band, Bars, Box, Dots, Note, Rule, Spots
from aclnn_viz.pictures.panels import UNIT, Axis, Panel
from aclnn_viz.pictures.roles import GUIDE, INK, READ, WRONG
from aclnn_viz.pictures.text import number, told
from aclnn_viz.tables import wrapped
from aclnn_viz.words.messages import message, ntr, tr

PIECES = {
    "compute": message("products {how}"),
    "accumulate": message("sums {how}"),
    "order": message("order {how}"),
    "rounding": message("ties {how}"),
}
TIES = {"even": message("to even"), "away": message("away from zero")}
# decades of the axis on either side of 100 %, the wall; columns of piles, so that no
# power of ten but the wall is the edge of two; height of its panel in pixels
DECADES, PILES, PILED = 4.0, 98, 350
SHARES = (-2.0, "1/100"), (0.0, message("1: the wall")), (2.0, "100"), (4.0, "≥ 10,000")
SEEN = 24  # most neighbouring numbers of the format shown on either side of an element
ELEMENT = message(
    "Element {place} is {error} ulp off. The nearest number is {rounding} off, inputs one ulp away move the truth by {spread}; "
    "correct arithmetic stays within {bound}, and nearly always within {expected}."
)
MISSING = message(
    "{missed} of {all} elements lie outside the envelope: no correct arithmetic of this plan gives them. A bug. Of "
    "the others {format} are the format's, {inputs} the inputs', {plan} the plan's."
)
UNDECIDED = message(
    "No element lies outside the envelope: rounding explains every error, no bug is seen. Of the errors {format} are "
    "the format's, {inputs} the inputs', {plan} the plan's; {undecided} undecided."
)
EXPLAINED = message(
    "No element lies outside the envelope: rounding explains every error, no bug is seen. Of the errors {format} are "
    "the format's, {inputs} the inputs', {plan} the plan's."
)
DISAGREE = message("Accepted by {passed}, refused by {failed}: they disagree.")
AGREE = message("Accepted by {passed}, refused by {failed}.")


def panels(data) -> list[Panel]:
    return [swarm(data), *glass(data)]


def swarm(data) -> Panel:
    """Return the panel with the elements piled up by the share of the bound that their errors
    use; the wall is the bound.
    """
    e = data.errors
    if why := e.nothing():
        note = Note(0.5, 0.5, "\n".join(wrapped(why, 60)))
        return Panel("errors", tr("Error against value"), (note,), UNIT, UNIT, 20, PILED)
    pile, wide = piles(e.ulps, e.bound, data.cause == MISSED), 2 * DECADES / PILES
    at = (np.arange(PILES) + 0.5) * wide - DECADES
    many, sure = (np.bincount(pile, here, PILES) for here in (None, data.cause != OPEN))
    top = float(many.max() + 1)
    bars = [
        Bars(at[here], high[here] + 0.0, kind, label, 0.8 * wide)
        for here, high, kind, label in (
            (sure < many, many, GREY, tr("undecided")),
            ((at < 0) & (sure > 0), sure, READ, ""),
            ((at > 0) & (sure > 0), sure, WRONG, ""),
        )
        if here.any()
    ]
    explained, missed = (int(here.sum()) for here in (data.cause < OPEN, data.cause == MISSED))
    sides = (
        (-DECADES, READ, tr("rounding explains {n}", n=f"{explained:,}")),
        (DECADES, WRONG, tr("✗ a bug: {n}", n=f"{missed:,}")),
    )
    bars += [
        Box(min(end, 0.0), 0.0, max(end, 0.0), top * 1.15, text, kind, 0.08)
        for end, kind, text in sides
    ]
    if (one := data.focus) is not None:
        where = point(at[pile[one]]), point(many[pile[one]] + 0.5)
        bars.append(
            Dots(*where, INK, tr("element {place}, magnified", place=list(e.index(one))), 4.5)
        )
    there = np.flatnonzero(many)
    texts = tuple(
        tr(
            "at {share} times the bound: {n}",
            n=many[k],
            # the last pile holds all errors beyond it
            share=tr("10,000 or more") if k == PILES - 1 else number(10.0 ** at[k]),
        )
        for k in there
    )
    left = at[there] - wide / 2
    spots = Spots(left, 0.0 * left, left + wide, 0.0 * left + top, texts)
    beyond = Spots(
        *map(point, (0.0, 0.0, DECADES, top * 1.15)),
        (sides[1][2] if missed else tr("nothing here: no element lies beyond the bound"),),
    )
    return Panel(
        "errors",
        tr(
            "{output}: error of {n} elements, as a share of what rounding may do",
            output=data.output,
            n=f"{e.size:,}",
        ),
        (*bars, Rule("x", 0.0, "", INK), beyond, spots),
        Axis(tr("error / bound"), -DECADES, DECADES, ticks=[(at, tr(text)) for at, text in SHARES]),
        Axis(tr("elements"), 0.0, top * 1.15),
        20,
        PILED,
    )


def glass(data) -> list[Panel]:
    """Return one element among its format's numbers: the truth, the range of rounding, and the kernel's output."""
    e, at = data.errors, data.focus
    # a page holds float32, which ends before the ulps of an error beside a truth of 0
    if e.nothing() or at is None or not (e.ulps[at] < 1e30 and np.isfinite(e.bound[at])):
        return []
    truth, got = float(e.truth[at]), float(e.actual[at])
    step = float(ulp(np.float64(truth), e.format))
    off, bound = (got - truth) / step, float(e.bound[at])
    far = 1.25 * max(bound, abs(off), 2.0)
    reach = np.array([-bound, bound])
    marks = [Band(reach, 0.0 * reach, 0.0 * reach + 1.0, READ, tr("the range of rounding"))]
    if far < SEEN:  # show the format's numbers beside a near element
        marks.append(
            Dots(
                off - np.round(off) + np.arange(-SEEN, SEEN),
                np.full(2 * SEEN, 0.25),
                GUIDE,
                tr("numbers of {dtype}", dtype=data.state.dtype),
                4.0,
            )
        )
    low, high = (number(truth + end * step) for end in reach)
    marks += [
        Rule("x", 0.0, tr("truth"), INK),
        Dots(
            point(off),
            point(0.25),
            WRONG if data.cause[at] == MISSED else INK,
            tr("the kernel's number"),
            6.0,
        ),
        Spots(
            *map(point, (-far, 0.0, far, 1.0)),
            (
                tr(
                    "the kernel's number {got}, the truth {truth}; rounding alone: from {low} to {high}",
                    got=number(got),
                    truth=number(truth),
                    low=low,
                    high=high,
                ),
            ),
        ),
    ]
    return [
        Panel(
            "glass",
            tr(
                "element {place} magnified: {error} ulp off",
                place=e.where(at),
                error=number(e.ulps[at]),
            ),
            marks,
            Axis(tr("ulps from the truth"), -far, far),
            UNIT,
            20,
            112,
        )
    ]


def piles(ulps, bound, missed) -> np.ndarray:
    """Return the number of each element's pile, by powers of ten of the bound; rounding moves no
    element across the bound.
    """
    with np.errstate(all="ignore"):
        used = np.log10(np.where(ulps == 0, 0.0, ulps / bound))
    used = np.nan_to_num(used, nan=DECADES, posinf=DECADES, neginf=-DECADES)
    low, high = np.where(missed, ((PILES // 2,), (PILES - 1,)), ((0,), (PILES // 2 - 1,)))
    return np.clip(np.floor((used / DECADES + 1.0) * (PILES / 2)), low, high).astype(int)


def caption(data) -> str:
    """Return the caption of the swarm, which says whether the errors show a bug or only rounding."""
    if data.errors.nothing():
        return headline(data)[0]
    missed, undecided = (data.counts[CAUSES[k]] for k in (MISSED, OPEN))
    names = {"n": f"{data.errors.size:,}", "missed": f"{missed:,}", "open": f"{undecided:,}"}
    if missed:
        names["explained"] = f"{data.errors.size - missed - undecided:,}"
        return tr(
            "[5:Rounding explains] {explained} of {n} errors. [11:{missed} lie behind the wall], where rounding ends: [b:they show a bug.]",
            **names,
        )
    if undecided:
        return tr(
            "No error of {n} surely crosses the wall, where rounding ends, [b:but {open} may:] the bound is not known more exactly.",
            **names,
        )
    if data.fault:
        return tr(
            "The kernel is wrong, and no error of {n} crosses the wall, where rounding ends: [b:these inputs do not show the bug.] It shows with {needs}.",
            needs=tr(data.fault.exposed_by),
            **names,
        )
    return tr(
        "No error of {n} crosses the wall, where rounding ends: [b:all is] [5:rounding.] Choose a fault to see a bug.",
        **names,
    )


def headline(data) -> list[str]:
    e, counts, split = data.errors, data.counts, disagreements(data.report)
    names = {"output": data.output, "operator": data.state.operator}
    if why := e.nothing():
        return [tr("{output} of {operator}: {why}", why=why, **names)]
    missed, undecided = counts[CAUSES[MISSED]], counts[CAUSES[OPEN]]
    plan, right = data.plan, 100 * data.report.ulp_shares["exact"]
    lines = [
        tr(
            "{output} of {operator}, {dtype} {shape}, products in {compute}, sums in {accumulate} ({order}), ties {ties}: at most "
            "{worst} ulp off, median {median}, {right} % correctly rounded.",
            **names,
            dtype=e.format.name,
            shape=list(e.shape),
            compute=plan.compute,
            accumulate=plan.accumulate,
            order=tr(plan.order),
            ties=_ties(data),
            worst=number(e.ulps[e.worst]),
            median=number(e.median),
            right=f"{right:.4g}",
        )
    ]
    lines.append(
        tr(
            MISSING if missed else UNDECIDED if undecided else EXPLAINED,
            missed=f"{missed:,}",
            all=f"{e.size:,}",
            undecided=f"{undecided:,}",
            format=f"{counts['format']:,}",
            inputs=f"{counts['inputs']:,}",
            plan=f"{counts['plan']:,}",
        )
    )
    lines += [
        _of_one(data),
        tr(
            DISAGREE if split else AGREE,
            passed=_standards(split.passed),
            failed=_standards(split.failed),
        ),
    ]
    if data.fault:
        lines.append(
            told(
                not missed,
                "Fault: {name}; {story}.",
                "Fault: {name}; {story}. Not seen here: to show, the fault needs {needs}.",
                name=tr(data.fault.name),
                story=tr(data.fault.story),
                needs=tr(data.fault.exposed_by),
            )
        )
    return lines


def _of_one(data) -> str:
    """Return a text with the error of the chosen element, and those that
    the format, rounded inputs and the plan explain.
    """
    e, at = data.errors, data.focus
    return tr(
        ELEMENT,
        place=e.where(at),
        error=number(e.ulps[at]),
        rounding=number(data.rounding[at]),
        spread=number(data.spread[at]),
        expected=number(e.expected[at]),
        bound=number(e.bound[at]),
    )


def _standards(verdicts) -> str:
    return ntr("{n} standard", "{n} standards", len(verdicts)) if verdicts else tr("no standards")


def origin(data) -> list[str]:
    """Return the origin of the numbers in words."""
    state = data.state
    if state.device != "host":
        return [
            tr("computed by {device}; the envelope is that of the plan", device=tr(state.device))
        ]
    text = tr(", ").join(tr(PIECES[name], how=tr(value)) for name, value in state.pieces.items())
    if state.plan == "kit":
        return [tr("chosen by hand: {pieces}", pieces=text)] if text else []
    soc, cann = state.plan.split()
    return [
        told(
            bool(text),
            "predicted for {soc}, CANN {cann}: not measured on hardware",
            "predicted for {soc}, CANN {cann}: not measured on hardware; chosen by hand instead: {pieces}",
            soc=soc,
            cann=cann,
            pieces=text,
        )
    ]


def around(data) -> tuple:
    """Return the lines before and after the panels in words: the plan, and what each standard says."""
    return (
        [
            *headline(data),
            tr("Inputs: {shapes}; seed {seed}.", shapes=_shapes(data.inputs), seed=data.state.seed),
            tr("Plan: {plan}.", plan=tr(data.plan.name)),
            *(f"  {note}" for note in data.plan.notes),
            *origin(data),
        ],
        [
            tr(
                "{standard}: {outcome}, {reason}",
                standard=tr(name),
                outcome=tr(verdict.outcome),
                reason=tr(verdict.reason),
            )
            for name, verdict in data.report.verdicts.items()
        ],
    )


def _ties(data) -> str:
    rounding = data.plan.rounding
    return tr(TIES[rounding if isinstance(rounding, str) else rounding.get(data.output, "even")])


def _shapes(inputs: dict) -> str:
    return ", ".join(
        f"{name} {value.dtype}{list(value.shape)}"
        for name, value in inputs.items()
        if hasattr(value, "shape")
    )


def plays(data) -> tuple[dict, ...]:
    return sweep(
        tr("from right to wrong"),
        "fault",
        10.0,
        ("none", "none", "seldom", "truncated", "slight", "formula"),
    )


def notices(data) -> list[str]:
    return [*map(tr, data.notices), *origin(data)]


def subject():
    return Subject(
        "numeric_error",
        operator_of,
        State,
        inputs,
        compute,
        panels,
        headline,
        around,
        notices=notices,
        caption=caption,
        plays=plays,
        recorded=TABLES["numeric_error"]["pages"],
    )
