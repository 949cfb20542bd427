"""What a check cannot see: `python benchmarks/blind.py [OPERATOR...]`.

The right kernel of an operator is spoiled under one condition at a time, in all outputs or in some elements, and judged on the cases
of a check: what none of them shows passes. The conditions come from a grammar of numbers of a call (OF_CALLS: lengths, attributes,
formats, places in memory, numbers of rows and values), pairs of them, and elements (OF_ELEMENTS); a condition counts if a hundredth of
DRAWN valid inputs meets it, where an output is finite. These inputs are drawn from the declaration, and nothing is shared with the suites.
Of each operator CONFIRMED conditions are put to `check` itself, which must say the same.
"""

import random
import re
import sys
import warnings
from dataclasses import replace

import numpy as np
from records import REPORTS, line, publish

import aclnn_viz as av
from aclnn_viz.cases import Case
from aclnn_viz.checking.scope import Scope
from aclnn_viz.dtypes import float_format

DRAWN, CONDITIONS, SHARE, CONFIRMED, LISTED = 400, 400, 0.01, 2, 40
LENGTHS = (1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17, 20, 33)
FORMATS = "float32", "float32", "float16", "bfloat16"
LARGEST = 2**14  # elements of a drawn input
# A and B are numbers of a call; of what values are the first two alone are asked.
OF_CALLS = (
    "A > {n:g}",
    "A < {m:g}",
    "A == {n:g}",
    "({n:g} < A) & (A < {m:g})",
    "A % {d} == {r:g}",
    "A > B",
    "A == B",
    "A - B == {c}",
    "(A >= {d} * B) & (B > 0)",
    "A * B > 12 * {d}",
)
# x is a tensor that has the shape of the first output, `at` the place on its last axis, of length n.
OF_ELEMENTS = (
    "x == 0",
    "x > {c}",
    "x < -{c}",
    "(abs(x) < {c} / 50) & (x != 0)",
    "(x == rint(x)) & (x != 0)",
    "(ptp(x, -1, keepdims=True) == 0) & (n > 1)",
    "(x == x.max(-1, keepdims=True)) & (n > {c})",
    "(at == 0) & (n > {c})",
    "(at == n - 1) & (n > {c})",
    "at % ({c} + 1) == {c}",
)
VALUES = {
    "constant rows": "((ptp(x, -1) == 0) & (n > 1)).sum()",
    "rows of 0": "((x == 0).all(-1) & (n > 1)).sum()",
    "zeros": "(x == 0).sum()",
    "most often": "unique(x, return_counts=True)[1].max()",
    "different numbers": "unique(x).size",
    "greatest": "x.max()",
    "least": "x.min()",
    "sorted": "(diff(x.ravel()) >= 0).all()",
}
SPECIAL = (
    "rint(x)",
    "x * 20",
    "abs(x)",
    "x * (abs(x) > 0.7)",
    "where(rows, 0, x)",
    "where(rows, x[..., :1], x)",
    "where(rows, at == 0, x)",
    "x * 0",
    "sort(x, -1)",
)


def evaluated(text: str, x: np.ndarray, **names):
    wide, n = x.astype(np.float64), x.shape[-1]
    return eval(text, vars(np) | {"x": wide, "n": n, "at": np.arange(n) + 0 * wide} | names)


def changed(rng, old, rule):
    """Another value of an attribute."""
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
    """One change of the options of a case."""
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
    return {name: evaluated(rng.choice(SPECIAL), old, rows=rows).astype(old.dtype)}


def drawn(op, seed):
    """A valid input: the default one, changed some times in what the declaration leaves open."""
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


def numbers(case) -> dict[str, float]:
    """What can be asked of a call, each a number: lengths and attributes, "is" a truth, ":" what values are."""
    asked = {f"dtype is {case.dtype}": 1}
    for name, v in case.operator.bind(case.inputs).items():
        if isinstance(v, tuple) and v and not isinstance(v[0], str):
            asked |= {f"{name}[0]": v[0], f"{name}[-1]": v[-1], f"sum of {name}": sum(v)}
            asked[f"spread of {name}"] = max(v) - min(v)
        elif isinstance(v, np.ndarray):
            asked |= {f"{name}.shape[{at - v.ndim}]": n for at, n in enumerate(v.shape)}
            asked |= {f"{name}.size": v.size, f"{name}.ndim": v.ndim}
            asked[f"{name} is strided"] = not v.flags.c_contiguous
            if v.size and v.ndim and v.size <= LARGEST:
                asked |= {f"{name}: {what}": evaluated(text, v) for what, text in VALUES.items()}
        elif isinstance(v, bool) or not isinstance(v, int | float):
            asked[f"{name} is {v}"] = 1
        else:
            asked[name] = v
    return asked


class Calls:
    """Inputs, what the right kernel gives, and by output where a fault would be seen."""

    def __init__(self, cases):
        self.cases = list(cases)
        self.seen = np.array([any(map(np.any, shown.values())) for *_, shown in self.cases], bool)
        self.numbers = [numbers(case) for case, *_ in self.cases]

    def column(self, name):
        return np.array([known.get(name, np.nan) for known in self.numbers], float)

    def holds(self, condition) -> np.ndarray:
        """By call whether a condition on its numbers holds."""
        each = (
            eval(form, {"A": self.column(a), "B": self.column(b), "nan": np.nan})
            for form, a, b in condition[1:]
        )
        return np.all([*each], axis=0)

    def meets(self, condition, seen=True) -> np.ndarray:
        """By call whether a condition holds, where a fault would be seen."""
        if condition[1][2]:
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
    form, name, _ = condition[1]
    x = case.inputs.get(name)
    if not isinstance(x, np.ndarray) or x.shape != out.shape or not x.size or not x.ndim:
        return np.zeros(out.shape, bool)
    return evaluated(form, x) & np.ones(x.shape, bool)


def spoiled(out):
    return (out + (1 + np.abs(out))).astype(out.dtype)


def judged(prepared):
    """A case with where a fault of the right outputs would be seen."""
    case, out, _ = ran(prepared.case)
    return (
        case,
        out,
        {name: part.misses(spoiled(out[name])) for name, part in prepared.expected.items()},
    )


def ran(case):
    out = case.operator.backward(**case.inputs)
    return case, out, {name: np.isfinite(part.astype(np.float64)) for name, part in out.items()}


def simple(rng, names, calls):
    """A condition on one number of a call or two: (its form, these)."""
    a, b = (
        rng.choice(names),
        rng.choice([name for name in names if ":" not in name and " is " not in name]),
    )
    known = calls.column(a)
    n, m = sorted(rng.choice(known[~np.isnan(known)]) for _ in range(2))
    d, c = rng.choice((3, 4, 5, 8)), rng.choice((1, 2, 3, -1))
    forms = ("A > 0",) if " is " in a else OF_CALLS[:2] if ":" in a else OF_CALLS
    return rng.choice(forms).format(n=n, m=m, d=d, c=c, r=n % d), a, b


def conditions(op, pool):
    """The conditions that enough of some calls meet: (words, their forms)."""
    rng, known, at = random.Random(op.name), {}, op.tensors[op.main].shape
    names = sorted({name for asked in pool.numbers for name in asked})
    alike = [p.name for p in op.parameters if p.kind == "tensor" and op.tensors[p.name].shape == at]
    for _ in range(10 * CONDITIONS):
        pick = rng.random()
        forms = [simple(rng, names, pool) for _ in range(1 + (pick > 0.8))]
        if pick < 0.2 and alike:
            forms = [
                (rng.choice(OF_ELEMENTS).format(c=rng.choice((1, 2, 5, 8))), rng.choice(alike), "")
            ]
        words = " and ".join(
            re.sub("[AB]", lambda name: {"A": a, "B": b}[name[0]], form) + f" in {a}" * (not b)  # noqa: B023
            for form, a, b in forms
        )
        if words not in known and SHARE <= pool.meets((words, *forms)).mean() < 1:
            known[words] = (words, *forms)
        if len(known) == CONDITIONS:
            break
    return list(known.values())


def kernel(op, condition):
    """The right kernel, spoiled under a condition."""

    def wrong(**inputs):
        call = Calls([ran(Case(op, inputs, float_format(inputs[op.like]).name, 0))])
        (case, outs, _), whole = call.cases[0], condition[1][2]
        return {
            name: np.where(
                call.holds(condition)[0] if whole else mask(condition, case, out), spoiled(out), out
            )
            for name, out in outs.items()
        }

    return wrong


def measured(name):
    """(operator, number of cases, number of conditions, {those that no case sees: how many cases meet them})."""
    op = av.operator(name)
    pool = Calls(ran(drawn(op, seed)) for seed in range(DRAWN))
    calls = Calls(judged(ready.prepare()) for ready in Scope.of(op).cases(0))
    every = conditions(op, pool)
    blind = [each for each in every if not calls.meets(each).any()]
    for each in every[:CONFIRMED] + blind[:CONFIRMED]:
        if av.check(op, kernel(op, each)).passed != (each in blind):
            print("check says otherwise:", name, each[0], file=sys.stderr)
    met = {each[0]: calls.meets(each, False).sum() for each in blind}
    return name, len(calls.cases), len(every), met


def main(*names) -> int:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [measured(name) for name in names or [op.name for op in av.operators()]]
    publish(REPORTS / "blind.md", report(rows), not names)
    return 0


def report(rows) -> str:
    text = f"# What a check cannot see\n\n{__doc__.partition(chr(10) * 2)[2]}\n"
    text += line("operator", "cases", "conditions", "blind", "")
    text += "| --- | ---: | ---: | ---: | ---: |\n"
    table = [(name, n, every, len(blind)) for name, n, every, blind in rows]
    for name, n, every, blind in (*table, ("all", *map(sum, [*zip(*table)][1:]))):
        text += line(name, n, every, blind, f"{100 * blind / max(every, 1):.1f} %")
    text += "\nIn brackets: how many cases meet the condition where nothing is judged, without a number no case does.\n"
    for name, *_, blind in rows:
        shown = [f"`{words}`" + f" ({n})" * bool(n) for words, n in blind.items()]
        more = f", and {len(shown) - LISTED} more" * (len(shown) > LISTED)
        text += f"\n**{name}**: {', '.join(shown[:LISTED])}{more}\n" * bool(shown)
    return text


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
