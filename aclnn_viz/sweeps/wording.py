"""The words and tables of a report, and the line that runs a case again."""

import shlex
from collections import Counter
from math import inf

from aclnn_viz.operators import registry
from aclnn_viz.sweeps.findings import WORST, Change, Findings, Where
from aclnn_viz.sweeps.place import about, kernels
from aclnn_viz.sweeps.recipes import named
from aclnn_viz.sweeps.work import DIED, LEFT_OUT, OUTCOMES, RIGHT, UNSUPPORTED, WRONG
from aclnn_viz.words.speech import linked, message, ntr, tr

COUNTED = {RIGHT: message("{n:,} right"), WRONG: message("{n:,} wrong"), LEFT_OUT: message("{n:,} left out"),
           UNSUPPORTED: message("{n:,} unsupported"), DIED: message("{n:,} died")}
KERNEL = "FILE.py:FUNCTION"
CHANGES = 12  # places that are told of a comparison
MODE, WORST_MODE = message("mode"), message("worst mode")
HEADER = [message("operator"), message("output"), message("format"), WORST_MODE, message("cases"), message("wrong"),
          message("part used"), message("worst ulp"), message("worst MERE"), message("standards that fail")]
CHANGED = [message("operator"), message("output"), message("format"), MODE, message("cases"), message("other bits"),
           message("newly wrong"), message("newly right"), message("ulp before"), message("ulp now")]
CANCELLING = message("cases are judged by what rounding may do, of which the worst uses a part; where terms cancel, many ulps are "
                     "right")


def ulps(value: float) -> str:
    """An error in ulps in few words.

    >>> ulps(3.0), ulps(123456.0), ulps(inf)
    ('3', '1.2e+05', 'inf')
    """
    return f"{value:.0f}" if value < 1e4 else "inf" if value == inf else f"{value:.1e}"


def part(used: float) -> str:
    """A part of what is allowed in few words: at most 1 where nothing is wrong.

    >>> part(0.0), part(0.2549), part(41.7), part(inf)
    ('0', '0.25', '42', 'inf')
    """
    return f"{used:.2g}" if used < 10 else ulps(used)


def counted(total) -> str:
    """How many cases ended how."""
    return linked("{some}, {more}", [message(COUNTED[name], n=total[name]) for name in OUTCOMES if total[name]])


def rows(found: Findings) -> list[list[str]]:
    """The table of a run, one row a place."""
    return [[*where, str(one.cases), str(one.wrong) if one.wrong else "", part(one.used), ulps(one.max_ulp), f"{one.mere:.1e}",
             _failed(one.failed)] for where, one in found.places.items()]


def merged_rows(found: Findings) -> list[list[str]]:
    """The table of a run, one row an output and format: all its modes together, and which mode is the worst."""
    together: dict[tuple, list[Where]] = {}
    for where in found.places:
        together.setdefault(where[:3], []).append(where)
    lines = []
    for key, own in together.items():
        all_ = [found.places[where] for where in own]
        most = max(own, key=lambda where: (found.places[where].wrong, found.places[where].used))
        failed = sum((one.failed for one in all_), Counter())
        wrong = sum(one.wrong for one in all_)
        lines.append([*key, most.mode, str(sum(one.cases for one in all_)),
                      str(wrong) if wrong else "", part(max(one.used for one in all_)),
                      ulps(max(one.max_ulp for one in all_)), f"{max(one.mere for one in all_):.1e}", _failed(failed)])
    return lines


def _failed(failed: Counter) -> str:
    return ", ".join(f"{tr(name)} {count}" for name, count in failed.most_common(2))


def changed_rows(found: Findings, most: int | None = None) -> list[list[str]]:
    """The table of what changed, worst first."""
    def row(where: Where, one: Change) -> list[str]:
        counts = (one.other_bits, one.newly_wrong, one.newly_right)
        return [*where, str(one.cases), *(str(count) if count else "" for count in counts), ulps(one.before), ulps(one.after)]
    return [row(*item) for item in found.changes.items() if item[1].other_bits or item[1].newly_wrong][:most]


def outcome_lines(found: Findings) -> list[str]:
    return [ntr("{name}: {n} case {then} before, {now} now", "{name}: {n} cases {then} before, {now} now", count, name=name,
                then=tr(then), now=tr(now)) for (name, then, now), count in sorted(found.outcome_changes.items())]


def left_lines(found: Findings, operator: str = "") -> list[str]:
    """Why cases were not judged, of an operator or of all."""
    return [ntr("{name}: {n} case not judged: {why}", "{name}: {n} cases not judged: {why}", count, name=name, why=tr(why))
            for name, whys in found.reasons.items() if operator in ("", name) for why, count in whys.most_common(4)]


def worst(found: Findings) -> list[tuple[str, str]]:
    """The worst cases of each operator, those that got worse first, each with the command that runs it again."""
    told_of = [(message("{place}: {what}", place=where.told, what=message("newly wrong") if change.newly_wrong else message("worse")),
                change.recipe)
               for where, change in list(found.changes.items())[:WORST] if change.recipe and (change.newly_wrong or change.worse)]
    ranked = [sorted(((one.worst[:2], where, one.worst) for where, one in found.places.items() if where.operator == name),
                     key=lambda item: item[0], reverse=True) for name in found.outcomes]
    for own in sorted(filter(None, ranked), key=lambda own: not own[0][0][0]):  # operators with wrong cases first
        told_of += [(message("{place}: {what}", place=where.told, what=note) if wrong else
                     message("{place}: right, {part} of what is allowed", place=where.told, part=part(used)), recipe)
                    for number, (_, where, (wrong, used, recipe, note)) in enumerate(own[:WORST]) if wrong or not number]
    seen: dict[str, str] = {}
    for title, recipe in told_of:
        seen.setdefault(recipe, title)
    return [(title, command(found, recipe)) for recipe, title in seen.items()]


def command(found: Findings, recipe: str) -> str:
    """The line for a shell that runs one case again; files of code are named in it only as a person named them here."""
    said = about(found.run.device)
    name, kernel = said["open"], ".py:" in said["open"]
    words = ["aclnn-viz", "sweep", "--cases", f"[{recipe}]", "--device", kernels.get(name, KERNEL) if kernel else name]
    if kernel or name == "host":
        words += [word for option in ("soc", "cann", "plan") if option in said for word in (f"--{option}", said[option])]
    if (folder := registry.outside().get(named(recipe))) in registry.folders():
        words += ["--operator", str(folder)]
    return shlex.join(words)
