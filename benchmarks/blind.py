"""What a check cannot see: `python benchmarks/blind.py [--deep] [OPERATOR...]`.

The right kernel of an operator is spoiled under one condition at a time, in all outputs or in some elements, and judged on the cases
of a check: what none of them shows passes. A condition is of one of six kinds, each as frequent as another as far as it goes:

- lengths: a length, a rank, a number of elements or of an attribute alone;
- relations: two lengths, numbers of elements or of attributes;
- values: what rows and numbers of a tensor are, from or up to some number;
- options: a value of an attribute (of a free number or list: the default or not), a tensor left out, a format, a tensor that is strided;
- pairs: two options;
- elements: some elements alone, by their numbers, rows or places.

It counts if a hundredth of DRAWN valid inputs meets it where an output is finite, and once if two hold of the same inputs. These inputs
are drawn from the declaration, and nothing is shared with the suites. Of each operator CONFIRMED conditions are put to `check` itself,
which must say the same.

With --deep the blind ones are put to those cases of a deep check of which no tensor has more than LARGEST elements. Of EDITS edits of
a page those count that change a number on some drawn input or some case; each must be wrong on some case of normal depth.
"""

import random
import sys
import warnings
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
from records import REPORTS, line, publish

import aclnn_viz as av
from aclnn_viz.cases import Case
from aclnn_viz.checking.judge import judge
from aclnn_viz.checking.scope import DEPTHS, UNTAKEN, Scope, deeper, prepared_step
from aclnn_viz.dtypes import float_format
from aclnn_viz.operators.faults.edits import edits
from aclnn_viz.tables import table_beside

DRAWN, CONDITIONS, SHARE, CONFIRMED, LISTED, EDITS = 400, 400, 0.01, 1, 40, 40
SEED = 50_000  # a seed that no suite uses, whose cases nobody has inspected
LENGTHS = (1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17, 20, 33)
FORMATS = "float32", "float32", "float16", "bfloat16"
LARGEST = 2**14  # most elements of a drawn input
TABLE = table_beside(__file__, "blind.toml")


def evaluated(text: str, x: np.ndarray, **names):
    wide, n = x.astype(np.float64), x.shape[-1]
    return eval(text, vars(np) | {"x": wide, "n": n, "at": np.arange(n) + 0 * wide} | names)


def changed(rng, old, rule):
    """Return another value of an attribute."""
    if isinstance(old, tuple):
        return tuple(changed(rng, part, rule) for part in old or (1,) * (rule.length or 2))
    if rule.values or isinstance(old, bool | str):
        return rng.choice([*(rule.values or rule.tries), old])
    if isinstance(old, int):
        return rng.choice((*rule.tries, old + 1, old - 1, rng.randint(-3, 3), rng.randint(0, 12)))
    return rng.choice((0.0, 1.0, -old, 2 * old, old / 3, 30 * old, rng.uniform(-3, 3)))


def shape(rng, old):
    kind, at = rng.random(), rng.randrange(len(old) + 1)
    if kind < 0.2:
        return (*old[:at], rng.choice(LENGTHS[:8]), *old[at:])
    if kind < 0.3:
        return (*old[:at], *old[at + 1 :])
    return tuple(rng.choice(LENGTHS) if rng.random() < 0.6 else n for n in old)


def change(rng, op, options, inputs) -> dict:
    """Return one change of a case's options."""
    kind = rng.random()
    if kind < 0.4:
        return {"shape": shape(rng, options.get("shape", inputs[op.like].shape))}
    if kind < 0.5:
        return {"dtype": rng.choice(FORMATS)}
    known = [p for p in op.parameters if p.kind == "tensor" or p.name in op.attributes]
    parameter = rng.choice([p for p in known if not p.reserved])
    name, old = parameter.name, inputs[parameter.name]
    if rule := op.attributes.get(name):
        return {name: changed(rng, rule.default if old is None else old, rule)}
    if parameter.optional and (old is None or kind < 0.6):
        return {name: None}
    if kind < 0.75:
        return {f"{name}_shape": shape(rng, old.shape)}
    if name in op.saved or not old.size or not old.ndim:
        return {}
    rows = np.random.default_rng(rng.randrange(2**31)).random((*old.shape[:-1], 1)) < 0.6
    new, tensor = evaluated(rng.choice(TABLE["special"]), old, rows=rows), op.tensors[name]
    if isinstance(tensor.low, int | float):  # the change depends on the tensor's allowed values
        new = np.clip(
            new, tensor.low, tensor.high if isinstance(tensor.high, int | float) else None
        )
    return {name: new.astype(old.dtype)}


def drawn(op, seed):
    """Return a valid input: the default one, changed several times within the declaration."""
    rng, scope, options = random.Random(f"{op.name} {seed}"), Scope.of(op), {}
    case = av.case(op, seed=seed)
    for _ in range(rng.randint(2, 12)):
        try:
            new = options | change(rng, op, options, op.bind(case.inputs))
            tried = av.case(op, seed=seed, **new)
        except (TypeError, ValueError, IndexError, ZeroDivisionError, KeyError):
            continue
        if max(map(np.size, tried.inputs.values())) <= LARGEST and not scope.reason(tried):
            case, options = tried, new
    if rng.random() < 0.9:
        return case
    return replace(
        case,
        inputs=case.inputs | {n: np.asfortranarray(v) for n, v in case.arrays.items() if v.ndim},
    )


def numbers(case) -> dict[tuple, float]:
    """Return the numbers of a call that conditions can use, by kind and words."""
    dtype = float_format(case.inputs[case.operator.like]).name
    asked = {("options", f"dtype is {name}"): dtype == name for name in FORMATS}
    for name, v in case.operator.bind(case.inputs).items():
        found = {"options": {f"{name} is left out": v is None}}
        if rule := case.operator.attributes.get(name):
            free = isinstance(v, int | float) and not isinstance(v, bool) and not rule.values
            usual = isinstance(v, tuple) or free
            found["options"] = {
                f"{name} is {rule.default if usual else v}": v == rule.default or not usual
            }
            found["numbers"] = {name: v} if free else {}
        if isinstance(v, tuple) and v and not isinstance(v[0], str):
            ends = {f"{name}[0]": v[0], f"{name}[-1]": v[-1], f"sum of {name}": sum(v)}
            found["numbers"] = ends | {f"spread of {name}": max(v) - min(v)}
        elif isinstance(v, np.ndarray):
            found["numbers"] = {f"{name}.shape[{at - v.ndim}]": n for at, n in enumerate(v.shape)}
            found["numbers"][f"{name}.size"] = v.size
            found["rank"] = {f"{name}.ndim": v.ndim}
            found["options"][f"{name} is strided"] = not v.flags.c_contiguous
            if v.size and v.ndim and v.size <= LARGEST:
                found["values"] = {
                    f"{name}: {k}": evaluated(text, v) for k, text in TABLE["values"].items()
                }
        asked |= {(kind, words): n for kind, told in found.items() for words, n in told.items()}
    return asked


class Calls:
    """Inputs, the right kernel's outputs, and by output the places where a fault would be visible."""

    def __init__(self, cases):
        self.cases = list(cases)
        self.seen = np.array([any(map(np.any, shown.values())) for *_, shown in self.cases], bool)
        self.numbers = [numbers(case) for case, *_ in self.cases]

    def column(self, name):
        return np.array([known.get(name, np.nan) for known in self.numbers], float)

    def holds(self, condition) -> np.ndarray:
        """Return for each call whether a condition on its numbers holds."""
        each = (
            eval(form, {"A": self.column(a), "B": self.column(b)}) for form, a, b in condition[2:]
        )
        return np.all([*each], axis=0)

    def meets(self, condition, seen=True) -> np.ndarray:
        """Return for each call whether a condition holds where a fault would be visible."""
        if condition[0] != "elements":
            return self.holds(condition) & (self.seen | (not seen))
        met = (
            any(
                (mask(condition, case, out) & (shown[name] | (not seen))).any()
                for name, out in outs.items()
            )
            for case, outs, shown in self.cases
        )
        return np.fromiter(met, bool)


def mask(condition, case, out) -> np.ndarray:
    form, name, _ = condition[2]
    x = case.inputs.get(name)
    if not isinstance(x, np.ndarray) or x.shape != out.shape or not x.size or not x.ndim:
        return np.zeros(out.shape, bool)
    return evaluated(form, x) & np.ones(x.shape, bool)


def spoiled(out):
    return (out + (1 + np.abs(out))).astype(out.dtype)


def judged(prepared):
    """Return a case with the places where a fault of the right outputs would be visible."""
    case, out, _ = ran(prepared.case)
    return (
        case,
        out,
        {name: part.misses(spoiled(out[name])) for name, part in prepared.expected.items()},
    )


def ran(case):
    out = case.operator.backward(**case.inputs)
    return case, out, {name: np.isfinite(part.astype(np.float64)) for name, part in out.items()}


def simple(rng, kind, names, pool):
    """Return a condition on one or two numbers of a call: (its words, its form, the numbers)."""
    a = rng.choice([each for each in names if each[0] in TABLE["from"].get(kind, [kind])])
    b = rng.choice([each for each in names if each[0] == "numbers"] or [a])
    known = pool.column(a)
    n, m = sorted(rng.choice(known[~np.isnan(known)]) for _ in range(2))
    form = rng.choice(TABLE["forms"][kind]).format(
        n=n, m=m, d=(d := rng.choice((3, 4, 5, 8))), c=rng.choice((1, 2, 3, -1)), r=n % d
    )
    words = {"A": a[1], "B": b[1]}
    return "".join(words.get(letter, letter) for letter in form), form, a, b


def conditions(op, pool):
    """Return the conditions that enough calls meet: (kind, words, their forms)."""
    rng, known, at = random.Random(f"{op.name} {SEED}"), {}, op.tensors[op.main].shape
    names, met, tried = sorted({name for asked in pool.numbers for name in asked}), set(), {}
    alike = [p.name for p in op.parameters if p.kind == "tensor" and op.tensors[p.name].shape == at]
    kinds = [*TABLE["forms"], "pairs", *["elements"] * bool(alike)]
    for number in range(12 * CONDITIONS):
        kind = kinds[number % len(kinds)]
        if kind == "elements":
            form = rng.choice(TABLE["elements"]).format(c=rng.choice((1, 2, 5, 8)))
            a = rng.choice(alike)
            made = (kind, f"{form} in {a}", (form, a, ""))
        else:
            parts = [
                simple(rng, "options" if kind == "pairs" else kind, names, pool)
                for _ in range(1 + (kind == "pairs"))
            ]
            text = " and ".join(words for words, *_ in parts)
            made = (kind, text, *(each[1:] for each in parts))
        meets = tried[made[1]] = tried[made[1]] if made[1] in tried else pool.meets(made)
        same = made[1] if kind == "elements" else meets.tobytes()
        if same not in met and SHARE <= meets.mean() < 1:
            met.add(same)
            known[made[1]] = made
        if len(known) == CONDITIONS:
            break
    return list(known.values())


def kernel(op, condition):
    """Return the right kernel, spoiled under a condition."""

    def wrong(**inputs):
        call = Calls([ran(Case(op, inputs, float_format(inputs[op.like]).name, 0))])
        (case, outs, _), whole = call.cases[0], condition[0] != "elements"
        return {
            name: np.where(
                call.holds(condition)[0] if whole else mask(condition, case, out), spoiled(out), out
            )
            for name, out in outs.items()
        }

    return wrong


def measured(name, deep):
    """Return (operator, cases, conditions, conditions unseen at normal depth, at deep depth, edits, unseen edits)."""
    op = av.operator(name)
    scope, pool = Scope.of(op), Calls(ran(drawn(op, SEED + seed)) for seed in range(DRAWN))
    cases = [ready.prepare() for ready in scope.cases(0)]
    calls, every = Calls(map(judged, cases)), conditions(op, pool)
    blind = [each for each in every if not calls.meets(each).any()]
    for each in every[:CONFIRMED] + blind[:CONFIRMED]:
        if av.check(op, kernel(op, each)).passed != (each in blind):
            print("check says otherwise:", name, each[1], file=sys.stderr)
    left, tensors = blind, [p.name for p in op.parameters if p.kind == "tensor"]
    few = Scope.of(op, limits=dict.fromkeys(tensors, LARGEST))

    def met(scope, step, number):
        """Return a case of a deep check that meets an open condition; other cases need no judgement."""
        with suppress(*UNTAKEN):
            call = Calls([ran(step.recipe(op).case(number))])
            if any(call.meets(each).any() for each in left):
                return prepared_step(scope, step, number)

    for prepared in deeper(few, 0, met) if deep else ():
        call = Calls([judged(prepared)])
        left = [each for each in left if not call.meets(each).any()]
    blind = {
        each: (pool.meets(each).sum(), calls.meets(each, False).sum(), each in left)
        for each in blind
    }
    print(name, len(cases), len(every), len(blind), len(left), file=sys.stderr, flush=True)
    return op, len(cases), every, blind, left, *(of_page(op, cases, pool) if deep else (0, []))


def of_page(op, cases, pool):
    """Return how many edits of the page change a number, and the edits that no case shows."""
    every, count, missed = edits(op.page), 0, []
    cases = sorted(cases, key=lambda each: sum(map(np.size, each.case.inputs.values())))
    for edit in random.Random(f"{op.name} {SEED}").sample(every, min(EDITS, len(every))):
        try:
            wrong = replace(op, page=edit.page).backward
        except Exception:  # the page cannot be loaded
            continue
        if any(shows(wrong, each.case, partial(judge, each)) for each in cases):
            count += 1
        elif any(shows(wrong, case, partial(differs, out)) for case, out, _ in pool.cases):
            count, missed = count + 1, [*missed, str(edit)]
    return count, missed


def shows(wrong, case, test):
    try:
        return bool(test(wrong(**case.inputs)))
    except Exception:  # a broken page may raise anything
        return True


def differs(out, other):
    near = partial(np.allclose, rtol=1e-2, atol=1e-3, equal_nan=True)
    return any(
        not near(part.astype(float), other[name].astype(float)) for name, part in out.items()
    )


def main() -> int:
    # skip searching and shrinking, because only the verdict is printed
    for depth, level in DEPTHS.items():
        DEPTHS[depth] = replace(level, searching=0, shrinking=0)
    deep, names = "--deep" in sys.argv, [word for word in sys.argv[1:] if word[0] != "-"]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [measured(name, deep) for name in names or [op.name for op in av.operators()]]
    publish(REPORTS / "blind.md", report(rows, deep), not names)
    return 0


def share(blind: int, every: int) -> str:
    return f"{100 * blind / max(every, 1):.1f} %"


def report(rows, deep) -> str:
    text = f"# What a check cannot see\n\n{__doc__.partition(chr(10) * 2)[2]}\n"
    text += line("operator", "cases", "conditions", "blind", "", "at deep depth", "edits", "missed")
    text += "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    table = [
        [op.name, n, *map(len, row[:3]), edited, len(missed)]
        for op, n, *row, edited, missed in rows
    ]
    for name, n, every, blind, left, *page in [*table, ["all", *map(sum, [*zip(*table)][1:])]]:
        text += line(
            name, n, every, blind, share(blind, every), *((left, *page) if deep else [""] * 3)
        )
    text += "\n" + line("kind", "conditions", "blind", "", "why no case meets it")
    text += "| --- | ---: | ---: | ---: | --- |\n"
    of, unseen = (Counter(each[0] for row in rows for each in row[at]) for at in (2, 3))
    text += "".join(
        line(kind, n, unseen[kind], share(unseen[kind], n), TABLE["why"][kind])
        for kind, n in of.items()
    )
    text += f"""
In brackets: how many of {DRAWN} valid inputs meet the condition, and after a comma how many cases meet it where nothing is judged
(none, if no number stands there); + is seen at deep depth. A suite has some 80 cases.
"""
    for op, _, _, blind, _, _, missed in rows:
        shown = [
            f"`{made[1]}` ({drawn}" + f", {n}" * bool(n) + ")" + " +" * (deep and not left)
            for made, (drawn, n, left) in blind.items()
        ]
        more = f", and {len(shown) - LISTED} more" * (len(shown) > LISTED)
        text += f"\n**{op.name}**: {', '.join(shown[:LISTED])}{more}\n" * bool(shown)
        text += "".join(f"- {op.name}, page: `{edit}`\n" for edit in missed[:LISTED])
    return text


if __name__ == "__main__":
    sys.exit(main())
