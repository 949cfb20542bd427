"""The pictures of a report: what errors use of what is allowed, by output, format and mode, and how ulps are spread."""

from math import isfinite

import numpy as np

from aclnn_viz.pictures import Picture
from aclnn_viz.pictures.marks import Heat, Line
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.sweeps.findings import Findings, Where
from aclnn_viz.sweeps.wording import part, ulps
from aclnn_viz.words.speech import tr

ROW, ROOM = 22, 96  # pixels of a row of cells, and above and below them
LEAST, MOST = 0.25, 1e6  # where "exact" stands on a logarithmic axis of ulps, and all that is larger
FORMATS = ("float32", "float16", "bfloat16", "float64")  # in the order of the kinds of lines


def modes_of(found: Findings, operator: str) -> list[str]:
    """The modes of an operator in the order of their numbers in pictures."""
    return sorted({where.mode for where in found.places if where.operator == operator})


def picture(found: Findings, operator: str) -> Picture:
    """The picture of an operator: the part used at each place, its change where runs are compared, and all cases."""
    places = {where: one for where, one in found.places.items() if where.operator == operator}
    modes = modes_of(found, operator)
    sides = list(dict.fromkeys((where.output, where.dtype) for where in places))
    errors, words = np.full((len(sides), len(modes)), np.nan), np.full((len(sides), len(modes)), "", object)
    for where, one in places.items():
        at = _at(where, sides, modes)
        errors[at] = min(one.used, 1.0)
        words[at] = tr("{part}, {n} wrong", part=part(one.used), n=one.wrong) if one.wrong else part(one.used)
    wrong = sum(one.wrong for one in places.values())
    count = sum(found.outcomes[operator].values())
    whole = tr("{operator}: {n:,} cases, {wrong} outputs wrong", operator=operator, n=count, wrong=wrong) if wrong else \
        tr("{operator}: {n:,} cases, none wrong", operator=operator, n=count)
    panels = [_cells("errors", tr("part used of what rounding may do; more than 1 is wrong"), errors, words, "sequential", 0.0,
                     1.0, sides, modes)]
    if found.changes:
        panels.append(_changed(found, operator, sides, modes))
    panels.append(_spread(places))
    return Picture((whole,), tuple(panels), "\n".join([whole, *(
        tr("{place}: {part} used, {ulps} ulp", place=where.told, part=part(one.used), ulps=ulps(one.max_ulp))
        for where, one in places.items())]), width=940)


def _at(where: Where, sides: list, modes: list) -> tuple[int, int]:
    return sides.index((where.output, where.dtype)), modes.index(where.mode)


def _cells(name, title, values, words, map_, low, high, sides, modes) -> Panel:
    ticks = tuple((number, f"{output} {dtype}") for number, (output, dtype) in enumerate(sides))
    return Panel(name, title, (Heat(values, map_, low, high, words=tuple(words.ravel())),),
                 Axis(tr("mode, by its number in the table") if len(modes) > 1 else "",
                      ticks=tuple((number, str(number + 1)) for number in range(len(modes))) if len(modes) > 1 else ()),
                 Axis(ticks=ticks), span=20 if len(modes) > 4 else 10, height=ROOM + ROW * len(sides))


def _changed(found: Findings, operator: str, sides, modes) -> Panel:
    grown, words = np.full((len(sides), len(modes)), np.nan), np.full((len(sides), len(modes)), "", object)
    for where, one in found.changes.items():
        if where.operator == operator and (where.output, where.dtype) in sides:
            at = _at(where, sides, modes)
            grown[at] = float(np.clip(np.log2(one.growth), -8, 8)) if isfinite(one.growth) else 8.0
            words[at] = (tr("{n} newly wrong", n=one.newly_wrong) if one.newly_wrong else "=" if not one.other_bits else
                         tr("{first} to {last}", first=ulps(one.before), last=ulps(one.after)))
    return _cells("changes", tr("ulps before and now, = for the same bits (colour: logarithm of the ratio)"), grown, words,
                  "diverging", -8.0, 8.0, sides, modes)


def _spread(places: dict) -> Panel:
    lines = []
    for kind, dtype in enumerate(FORMATS):
        found = sorted(ulp for where, one in places.items() if where.dtype == dtype for ulp in one.ulps)
        if found:
            shown = np.array([LEAST, *(min(max(ulp, LEAST), MOST) for ulp in found), MOST])
            share = np.array([0.0, *(100 * np.arange(1, len(found) + 1) / len(found)), 100.0])
            lines.append(Line(np.repeat(shown, 2)[1:], np.repeat(share, 2)[:-1], kind, tr("{dtype}, {n:,} outputs", dtype=dtype, n=len(found))))
    ticks = ((LEAST, tr("exact")), *((10.0**power, f"{10**power:,}") for power in range(6)), (MOST, "1,000,000+"))
    return Panel("spread", tr("share of outputs whose largest error is at most so many ulps"), tuple(lines),
                 Axis(tr("ulps, on a logarithmic scale"), LEAST, 2.5 * MOST, "log", ticks),
                 Axis(tr("% of outputs"), 0.0, 104.0, ticks=tuple((share, str(share)) for share in range(0, 101, 25))), span=20,
                 height=210)
