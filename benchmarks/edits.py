"""Try `prove` on mechanical edits of every page: `python benchmarks/edits.py [MINUTES]`, on one core.

Rows go to build/edits.jsonl as they are made; a run that is begun again goes on there (remove the file when pages or the
prover have changed). A judge that shares nothing with the prover runs both pages in float64 on drawn numbers.
"""

import random
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache, partial
from inspect import signature

import numpy as np
from records import REPORTS, ROOT, kept, line, publish

import aclnn_viz as av
from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.checking.score import kernel_of
from aclnn_viz.operators.faults.edits import edits, rarer
from aclnn_viz.proving.counterexample import search
from aclnn_viz.proving.proofs import _theorems
from aclnn_viz.proving.subjects import of_operator

ROWS, REPORT = ROOT / "build" / "edits.jsonl", REPORTS / "edits.md"
SEED, DRAWS = 0, 40
EACH = {
    "hardswish": 36,
    "rms_norm": 60,
    "layer_norm": 60,
    "group_norm_swish": 60,
    "cross_entropy_loss": 60,
    "grid_sampler_2d": 24,
    "grid_sampler_3d": 12,
}
SPECIAL = (0.0, 1.0, -1.0, 3.0, -3.0, 0.5, 2.0)
EQUAL, KINK, REFUTED, UNDECIDED, FAILS = (
    "proved equal",
    "differs at a kink, which it names",
    "refuted",
    "undecided",
    "is no page",
)

HEAD = """# What the prover says of edits of pages

Of the mechanical edits that `check` searches (`aclnn_viz/operators/faults/edits.py`, the rarer ones too; those of number
formats change no mathematics), a seed draws some of each kind in turn: {done} of {every} are counted here ({kinds}).
A judge runs the page and the edited one in float64 on {draws} drawn cases of each combination of options: sizes from 1 to 4,
equal, zero and wide numbers, kinks, ignored rows, smoothing 0 and 1. Where numbers differ, the prover is asked under the
first such options; where none does, under all of them. `python benchmarks/edits.py [MINUTES [OPERATOR ...]]` goes on.

- *refuted*: not proved, and numbers were found for which backward is not the derivative of forward;
- *equal*: proved; *at a kink*: proved, but the list of kinks names another side than that of the page;
- *wrongly*: called equal where numbers differ, or refuted where none does;
- *undecided*: neither; the reason and what `check` says stand below the table; *no page*: the edit cannot be read.

"""


@dataclass(frozen=True)
class Row:
    """One edit: whether numbers differ, what the prover says, and why where it does not decide."""

    operator: str
    kind: str
    edit: str
    differs: bool | None
    outcome: str
    wrongly: bool = False  # called equal although numbers differ, or refuted although none does
    reason: str = ""
    caught: bool | None = None  # by check at normal depth
    counterexample: str = ""


def drawn(op, count, seed=SEED):
    """Single edits of a page, of each kind in turn; those of number formats change no mathematics."""
    kinds = defaultdict(list)
    for edit in {
        str(edit): edit for edit in (*edits(op.page), *rarer(op.page)) if edit.kind != "format"
    }.values():
        kinds[edit.kind].append(edit)
    rng, found = random.Random(seed), []
    for some in kinds.values():
        rng.shuffle(some)
    while len(found) < count and any(kinds.values()):
        found += [some.pop() for some in kinds.values() if some]
    return found[:count]


def numbers(subject, rng, seed):
    """Sizes of 1 to 4, and inputs: wide, equal, special; some rows ignored."""
    letters = {
        s
        for given in subject.inputs.values()
        if given
        for n in given[0]
        for s in getattr(n, "free_symbols", ())
    }
    sizes = {s: int(rng.integers(1, 5)) for s in sorted(letters, key=str)}
    known = {}
    for name, value in subject.attributes.items():
        if hasattr(value, "free_symbols"):
            value = (
                int(rng.choice([-100, 0, 1]))
                if value.is_integer
                else float(rng.choice([1e-5, 0.5, 2.0]))
                if value.is_positive
                else float(rng.choice([0.0, 0.1, 0.7, 1.0]))
            )
        known[name] = value
    for name, given in subject.inputs.items():
        shape = given and tuple(int(n.subs(sizes)) if hasattr(n, "subs") else n for n in given[0])
        if shape is None:
            known[name] = None
        elif name in subject.labels:
            length, beside = subject.labels[name]
            known[name] = rng.integers(0, int(length.subs(sizes)), shape)
            if beside is not None:
                known[name] = np.where(rng.random(shape) < 0.3, known[str(beside)], known[name])
        else:
            known[name] = rng.normal(0, (1.0, 4.0)[seed % 2], shape)
            if seed % 5 == 4:
                known[name] = np.where(
                    rng.random(shape) < 0.5, rng.choice(SPECIAL, shape), known[name]
                )
    return known


def run(function, prelude, known):
    xp, known = NumPyArrays(), dict(known)
    if prelude:
        known |= prelude(xp, **{n: known[n] for n in list(signature(prelude).parameters)[1:]})
    return function(xp, **{n: known[n] for n in list(signature(function).parameters)[1:]})


def differs(right, wrong, draws=DRAWS):
    """Whether the gradients of two subjects differ on any drawn numbers."""
    with np.errstate(all="ignore"):
        for seed in range(draws):
            known = numbers(right, np.random.default_rng([7, seed]), seed)
            saved = run(right.forward, right.preludes[0], known)
            known |= {
                name: saved[of]
                for name, of in right.saved.items()
                if known.get(name, 0) is not None
            }
            expected = run(right.backward, right.preludes[1], known)
            try:
                got = run(wrong.backward, wrong.preludes[1], known)
            except Exception:
                return True
            for name in right.gradient_of:
                a, b = np.asarray(expected[name], float), np.asarray(got.get(name, np.nan), float)
                if a.shape != b.shape or not np.allclose(
                    a,
                    b,
                    rtol=1e-8,
                    atol=1e-10 * max(1.0, np.nanmax(np.abs(a), initial=0)),
                    equal_nan=True,
                ):
                    return True
    return False


@cache
def kinks(op, number):
    return [theorem.kinks for theorem in _theorems(of_operator(op)[number])]


def tried(op, edit):
    """The Row of one edit: the prover is asked where numbers differ, and under all options where none does."""
    row = partial(Row, op.name, edit.kind, str(edit))
    try:
        page = edit.page
        pairs = list(zip(of_operator(op), of_operator(op, page), strict=True))
    except Exception as error:
        return row(None, FAILS, reason=str(error)[:100])
    unlike = next(([n] for n, pair in enumerate(pairs) if differs(*pair)), [])
    reason, kink = "", False
    for number in unlike or range(len(pairs)):
        theorems = []
        for theorem in _theorems(pairs[number][1]):
            theorems.append(theorem)
            if not theorem.holds:
                reason = f"{theorem.options}: {theorem.reason}"[:300]
                break
        if reason:
            break
        if unlike:
            kink = [t.kinks for t in theorems] != kinks(op, number)
    if not reason:
        return row(bool(unlike), KINK if kink else EQUAL, wrongly=bool(unlike) and not kink)
    found = search([wrong for _, wrong in pairs])
    if found:
        return row(bool(unlike), REFUTED, wrongly=not unlike, counterexample=str(found))
    caught = not av.check(op, kernel_of(op, page, "float64")).passed if unlike else None
    return row(bool(unlike), UNDECIDED, reason=reason, caught=caught)


def go_on(minutes, only=()):
    end = time.process_time() + 60 * minutes
    with kept(ROWS, Row) as (rows, add):
        done = {(row.operator, row.edit) for row in rows}
        for op in map(av.operator, only or EACH):
            for edit in drawn(op, EACH[op.name]):
                if (op.name, str(edit)) not in done and time.process_time() < end:
                    add(tried(op, edit))
    return rows


def report(rows):
    """The table, what was proved equal, and what was not decided."""
    table = (
        "| operator | edits | numbers differ | refuted | equal | at a kink | undecided | wrongly | no page |\n| --- |"
        + " ---: |" * 8
        + "\n"
    )
    for name in (*EACH, "all"):
        own = [row for row in rows if name in (row.operator, "all")]
        counts = Counter(row.outcome for row in own)
        table += line(
            name,
            len(own),
            sum(bool(row.differs) for row in own),
            *(counts[o] for o in (REFUTED, EQUAL, KINK, UNDECIDED)),
            sum(row.wrongly for row in own),
            counts[FAILS],
        )
    kinds = Counter(row.kind for row in rows)
    lists = [
        f"- {row.operator}, {row.outcome}: {row.edit.rpartition('/')[2] if row.outcome != UNDECIDED else row.edit}".replace(
            "\n", " "
        )
        + (
            f"; {row.reason}; {('check rejects it' if row.caught else 'check passes it') if row.differs else 'no number differs'}"
            if row.outcome == UNDECIDED
            else ""
        )
        for row in rows
        if row.outcome != REFUTED
    ]
    return (
        HEAD.format(
            draws=DRAWS,
            kinds=", ".join(f"{kind} {n}" for kind, n in kinds.most_common()),
            done=len(rows),
            every=sum(EACH.values()),
        )
        + table
        + "\n".join(["", "What was not refuted:", "", *lists, ""])
    )


def main(minutes="inf", *only):
    rows = sorted(
        go_on(float(minutes), only), key=lambda row: (list(EACH).index(row.operator), row.edit)
    )
    publish(REPORT, report(rows), len(rows) == sum(EACH.values()))
    undecided = sum(row.outcome == UNDECIDED for row in rows)
    return int(
        undecided > 0.05 * len(rows) or any(row.wrongly or row.caught is False for row in rows)
    )


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
