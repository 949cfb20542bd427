"""Choose the test cases on which a kernel is judged: formats, attributes, shapes and product (`Scope`), and their number
(`Depth`).

`quick` takes a second or two, `normal` runs the suite, `deep` adds large sizes, remainders and special numbers.
"""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from math import prod

import numpy as np

from aclnn_viz.arrays.plan import Plan
from aclnn_viz.cases import Case, case
from aclnn_viz.cases.atoms import choices
from aclnn_viz.cases.case import checked_shape
from aclnn_viz.cases.default import default_shape, fitted
from aclnn_viz.cases.drafts import UNTAKEN
from aclnn_viz.cases.suites import Recipe, Step, deep, stated
from aclnn_viz.checking.judge import (
    Prepared,
    bound,
    case_at,
    documented,
    once_per_case,
    prepared,
    prepared_at,
    suite_recipes,
)
from aclnn_viz.dtypes import FLOAT32, float_format, round_to
from aclnn_viz.errors import flag, invalid, mistyped, need, shown, whole
from aclnn_viz.operators import Operator, operator, plans
from aclnn_viz.operators.contract.calls import refusal
from aclnn_viz.operators.products import (
    CANN,
    SOC,
    VERSIONS,
    Version,
    product_of,
    soc_of,
    version_of,
)
from aclnn_viz.words.messages import commas, kept, linked, message

# if fewer cases have the wanted attributes and formats, more are drawn with them
CASES_WANTED = 40
QUICK_ELEMENTS = 2000  # elements of a case in a quick check, at most
QUICK_CASES = 20
# elements that a deep check adds, and the fixed cost of each case in elements
DEEP, EACH = 7 * 2**22, 2**13
ALTERNATIVES = list, set, frozenset  # several wanted values of a parameter
MIXING = 0.5  # the chance that a case takes an option of another case


@dataclass(frozen=True, eq=False)
class Scope:
    """The options that select cases of the suite. `left_out` counts omitted cases by reason; `notes` are a list's remarks about
    what it cannot express.

    `soc` and `cann` name the operator that sets the standard; `beyond` also judges cases that it refuses. `dtypes` are formats;
    `where` maps attributes to required values, and optional tensors to None (absent) or True (given), a list to its
    alternatives. `shapes` replaces the suite's shapes; `limits` maps a tensor to its greatest number of elements, or to a shape
    of greatest lengths (None: any). `plan` is the kernel's intended precision: a Plan, "device" for the product's, None for any
    careful float32 kernel.
    """

    op: Operator
    soc: str = SOC
    cann: str = str(version_of(CANN))
    dtypes: tuple[str, ...] = ()
    where: Mapping = field(default_factory=dict)
    shapes: Sequence = ()
    limits: Mapping = field(default_factory=dict)
    plan: Plan | str | None = None
    beyond: bool = False
    left_out: Counter = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        op,
        soc=None,
        cann=None,
        dtypes=None,
        where=None,
        shapes=None,
        limits=None,
        plan=None,
        beyond=False,
    ) -> "Scope":
        """Return the scope of `check`'s options; raise ValueError for unknown names, TypeError for wrong types."""
        op = operator(op)
        dtypes = (dtypes,) if isinstance(dtypes, str) else dtypes
        _check_kinds(where, limits, dtypes, shapes)
        names = {p.name: p for p in op.parameters}
        tensors = {p.name for p in op.parameters if p.kind == "tensor"}
        free = {p.name for p in op.parameters if p.kind != "tensor" or p.optional}
        for option, named, known, asked in (
            ("where", where, free, "attributes or optional tensors"),
            ("limits", limits, tensors, "tensors"),
        ):
            for name in {*(named or ())} - known:
                raise invalid(
                    f"{option} names {asked} of {op.name}", repr(name), "use the vendor's names"
                )
        where = {name: _wanted(names[name], value) for name, value in (where or {}).items()}
        need(
            plan,
            (Plan, str, type(None)),
            'plan is a Plan, "device" or None',
            "leave it out for any float32 kernel",
        )
        if isinstance(plan, str) and plan != "device":
            plan = plans.plan_of(op, plan)
        soc, cann = (
            soc_of(soc) if soc is not None else SOC,
            str(version_of(CANN if cann is None else cann)),
        )
        return cls(
            op,
            soc,
            cann,
            tuple(float_format(name).name for name in dtypes or ()),
            where,
            tuple(shapes or ()),
            dict(limits or {}),
            plan,
            flag("beyond", beyond),
        )

    @property
    def modes(self) -> list[dict]:
        """The attributes for which some small case is selected."""
        return [mode for mode in self.op.modes if _counts(self, mode)] or [{}]

    @property
    def formats(self) -> tuple[str, ...]:
        """The requested formats, by default those of the devices."""
        return self.dtypes or ("float32", "float16", "bfloat16")

    @property
    def judged_by(self) -> Plan | None:
        return plans.preset(self.op, self.soc, self.cann) if self.plan == "device" else self.plan

    @property
    def text(self) -> str:
        """The selection of cases in words."""
        parts = [
            message("all inputs for which the formula has a meaning")
            if self.beyond
            else message("what {soc} with CANN {cann} takes", soc=self.soc, cann=self.cann)
        ]
        parts += [message("in {dtypes}", dtypes=commas(self.dtypes))] * bool(self.dtypes)
        parts += [f"{name}={value!r}" for name, value in self.where.items()]
        parts += [
            message("{input} at most {limit}", input=name, limit=limit)
            for name, limit in self.limits.items()
        ]
        parts += [message("shapes {shapes}", shapes=commas(map(str, self.shapes)))] * bool(
            self.shapes
        )
        named = self.plan if isinstance(self.plan, str) else self.plan and self.plan.name
        parts += [message("in the precision of {plan}", plan=named)] * bool(named)
        first, here, last = (
            (version.major, version.minor)
            for version in map(Version.parse, (VERSIONS[0], self.cann, CANN))
        )
        unknown = [
            message(
                "sources of CANN {first} to {last} were read: what {cann} changes is not known",
                first=VERSIONS[0],
                last=CANN,
                cann=self.cann,
            )
        ] * (not self.beyond and not first <= here <= last)
        return linked("{some}\n  {more}", [commas(parts), *unknown, *self.notes])

    def reason(self, case: Case) -> str:
        """Return why a case is not selected, "" if it is."""
        if self.dtypes and case.dtype not in self.dtypes:
            return f"dtype={case.dtype!r}"
        values = bound(case)
        for name, value in self.where.items():
            if not _matches(values[name], value):
                return (
                    message("{input} given", input=name)
                    if isinstance(values[name], np.ndarray)
                    else f"{name}={values[name]!r}"
                )
        for name, limit in self.limits.items():
            if values[name] is not None and not _within(values[name].shape, limit):
                return message("{input} of shape {shape}", input=name, shape=values[name].shape)
        return "" if self.beyond else _refused(case, self.soc, self.cann)

    def takes(self, case: Case) -> bool:
        """Return whether the product computes a case."""
        return not _refused(case, self.soc, self.cann)

    def ready(self, options: dict, seed: int, strided: bool = False) -> "Ready":
        """Return the case of some options, drawn with its own seed."""
        return Ready(self, Recipe(self.op.name, options, strided), None, seed)

    def cases(self, seed: int) -> list["Ready"]:
        """Return the cases to run, each with its own seed; count others in `left_out`."""
        kept = list(self._drawn(whole("seed", seed)))
        if (
            not kept
        ):  # find out from the requested shapes, or the plainest case, why no case is left
            for shape in self.shapes or (None,):
                drawn = case(self.op, self.formats[0], shape=shape, **self._single())
                if why := self.reason(drawn):
                    self.left_out[why] += 1
            raise nothing_left(self)
        return kept

    def among(self, cases: Iterable[tuple[Recipe, Case]]) -> list["Ready"]:
        """Return the selected ones of given cases; count others in `left_out`."""
        kept = [
            Ready(self, recipe, None, case.seed, case)
            for recipe, case in cases
            if self.admits(case)
        ]
        if not kept:
            raise nothing_left(self)
        return kept

    def admits(self, case: Case) -> bool:
        """Return whether a given case is selected; if not, count the reason in `left_out`."""
        main = case.inputs[self.op.like].shape
        why = self.reason(case) or (
            message("shape {shape}", shape=main)
            if self.shapes and main not in map(tuple, self.shapes)
            else ""
        )
        if why:
            self.left_out[why] += 1
        return not why

    def others(self, seed: int) -> Iterator["Ready"]:
        """Yield the same cases with other numbers, without counting omissions again."""
        return replace(self, left_out=Counter())._drawn(seed)

    def unseen(self, seed: int, most: int) -> tuple[Iterator["Ready"], Iterator["Ready"]]:
        """Return two iterators on cases that a check with this seed does not draw: the same with other numbers, and at
        most `most` with mixed options (none for given shapes).
        """
        return self.others(seed + 1), islice(self.mixed(seed + 1), 0 if self.shapes else most)

    def mixed(self, seed: int) -> Iterator["Ready"]:
        """Yield cases of the suite without end; some options come from other cases, so that none always go together."""
        rng, suite = random.Random(seed), suite_recipes(self.op.name)
        known: dict[str, list] = {}
        for recipe in suite:
            for name, value in recipe.options.items():
                if not isinstance(value, np.ndarray):
                    known.setdefault(name, []).append(value)
        while True:
            options = {
                name: rng.choice(known[name])
                if name in known and name != "shape" and rng.random() < MIXING
                else value
                for name, value in rng.choice(suite).options.items()
            }
            more = {
                name: rng.choice(values)
                for name, values in known.items()
                if name in self.op.attributes and name not in options and rng.random() < MIXING
            }
            yield self.ready(options | more, rng.randrange(2**31))

    def _drawn(self, seed: int) -> Iterator["Ready"]:
        suite = [
            Ready(self, recipe, number, seed)
            for number, recipe in enumerate(suite_recipes(self.op.name))
        ]
        if self.shapes:
            suite = [
                self.ready(options, 1000 * seed + number)
                for number, options in enumerate(self._of_shapes())
            ]
        kept = []
        for ready in suite:
            if self._counts(ready):
                kept.append(ready)
                yield ready
        chosen = self.dtypes or self.where or self.shapes or self.limits
        if chosen and len(kept) < CASES_WANTED:
            yield from (ready for ready in self._imposed(suite, kept) if self._counts(ready, False))

    def _counts(self, ready: "Ready", counted: bool = True) -> bool:
        try:
            why = self.reason(ready.case)
        except (ValueError, TypeError, ZeroDivisionError) as error:
            # these options forbid the shape
            why, counted = str(error), counted and ready.number is not None
        if why and counted:
            self.left_out[why] += 1
        return not why

    def _of_shapes(self) -> Iterator[dict]:
        """Yield every shape with every format and with all attributes of the stated recipes, each once."""
        names = {p.name for p in self.op.parameters if p.kind != "tensor"}
        modes = {
            repr(mode): mode
            for recipe in stated(self.op)
            if (mode := {name: value for name, value in recipe.options.items() if name in names})
            or True
        }
        for shape in self.shapes:
            for mode in modes.values():
                for dtype in self.formats:
                    yield {"shape": tuple(shape), "dtype": dtype, **mode, **self._single()}

    def _single(self) -> dict:
        """Return the options that `where` fixes to one value."""
        return {
            name: value
            for name, value in self.where.items()
            if not isinstance(value, ALTERNATIVES) and not (value and name in self.op.tensors)
        }

    def _imposed(self, suite, kept) -> Iterator["Ready"]:
        """Yield the suite's cases redrawn with the requested attributes and formats."""
        seen = {str(ready.recipe) for ready in kept}
        for number, ready in enumerate(suite):
            dtype = ready.recipe.options.get("dtype", FLOAT32.name)
            if self.dtypes and dtype not in self.dtypes:
                dtype = self.dtypes[number % len(self.dtypes)]
            options = {name: _cast(value, dtype) for name, value in ready.recipe.options.items()}
            drawn = self.ready(
                options | {"dtype": dtype} | self._single(),
                1000 * ready.seed + number,
                ready.recipe.strided,
            )
            if str(drawn.recipe) not in seen:
                seen.add(str(drawn.recipe))
                yield drawn


@dataclass(frozen=True, eq=False)
class Ready:
    """A recipe with its seed, which makes the case, and prepares it for judging, on demand.

    `number` is its place in the suite, None for other cases; `seed` is the check's or the case's; `given` is the case unless it
    is to be drawn.
    """

    scope: Scope
    recipe: Recipe
    number: int | None
    seed: int
    given: Case | None = None

    @cached_property
    def case(self) -> Case:
        if self.given is not None:
            return self.given
        return (
            case_at(self.scope.op.name, self.number, self.seed)
            if self.number is not None
            else self.recipe.case(self.seed)
        )

    def counts(self, most: float) -> bool:
        """Return whether operator and scope accept the case, and its outputs have at most `most` elements."""
        try:
            return sum(
                prod(result.documented_shape) for result in documented(self.case).values()
            ) <= most and not self.scope.reason(self.case)
        except UNTAKEN:
            return False

    def prepare(self, right: dict | None = None) -> Prepared | None:
        """Return the case ready to judge; None for outputs that are `right` without doubt."""
        plan = self.scope.judged_by
        if self.number is not None and plan is None:
            return prepared_at(self.scope.op.name, self.number, self.seed)
        return prepared(self.recipe, self.case, plan, right=right)


def nothing_left(scope: Scope) -> ValueError:
    """Return the error for a check with all cases omitted."""
    text = ", ".join(f"{count} ({why})" for why, count in scope.left_out.most_common())
    return invalid(
        "some case must remain to be judged",
        f"all left out: {text}" if text else "no case at all",
        "ask for less, or pass beyond=True for what the product does not take",
    )


@once_per_case
def _refused(case: Case, soc: str, cann: str) -> str:
    """Return why the product refuses a case: its format, if others are accepted, or the library's words."""
    why = refusal(case.operator, case.inputs, product_of(soc), Version.parse(cann))
    if "data type" in why or why.startswith("status"):
        return message("dtype={dtype!r}, which {soc} refuses", dtype=case.dtype, soc=soc)
    return kept(why) if why else why


def _check_kinds(where, limits, dtypes, shapes) -> None:
    for option, value, kinds, fix in (
        ("where", where, Mapping, 'pass such as {"interpolationMode": 0}'),
        ("limits", limits, Mapping, 'pass such as {"x": 4096}'),
        ("dtypes", dtypes, Collection, 'pass such as ["float16"]'),
        ("shapes", shapes, Sequence, "pass such as [(4, 16)]"),
    ):
        if value is not None and (
            not isinstance(value, kinds) or isinstance(value, (np.ndarray, str, bytes))
        ):
            raise mistyped(f"{option} is a {kinds.__name__.lower()}", shown(value), fix)
    for shape in shapes or ():
        checked_shape(shape)
    for name, limit in (limits or {}).items():
        if not isinstance(limit, (int, np.integer)):
            need(
                limit,
                (tuple, list),
                f"the limit of {name} is a number, or a shape of greatest lengths",
                "pass such as 4096 or (None, 4096)",
            )
            for most in limit:
                most is None or whole(f"a length in the limit of {name}", most)


def _wanted(parameter, value):
    """Return a checked requirement on a parameter: a value, None or True for an optional tensor, or several of these."""
    if isinstance(value, ALTERNATIVES):
        return type(value)(_wanted(parameter, each) for each in value)
    if parameter.kind != "tensor":
        return parameter.checked(value)
    if value is None or value is True:
        return value
    raise invalid(
        f"{parameter.name} is asked for as None, left out, or True, given",
        shown(value),
        "pass one of them",
    )


def _matches(value, wanted) -> bool:
    if isinstance(wanted, ALTERNATIVES):
        return any(_matches(value, each) for each in wanted)
    if wanted is None or isinstance(value, np.ndarray):
        return (value is None) == (wanted is None)
    return value == wanted


def _within(shape: tuple[int, ...], limit) -> bool:
    if isinstance(limit, (int, np.integer)):
        return int(np.prod(shape, dtype=np.int64)) <= limit
    return len(shape) == len(limit) and all(
        most is None or n <= most for n, most in zip(shape, limit)
    )


def _cast(value, dtype: str):
    """Return a floating array of an option in another format."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "fV":
        with np.errstate(all="ignore"):
            return np.asarray(round_to(value.astype(np.float64), float_format(dtype)))
    return value


@dataclass(frozen=True)
class Depth:
    """Limits of a check: seconds for starting cases, for one call, and for a wrong kernel's calls before it is explained.

    Also the runs to search for an explanation and a smaller counterexample, and the largest tile case, in elements, tried in
    other orders.
    """

    name: str
    seconds: float
    call: float
    enough: float
    searching: float
    shrinking: float
    trials: int


DEPTHS = {
    one.name: one
    for one in (
        Depth("quick", 30.0, 10.0, 2.0, 2400, 1500, 0),
        Depth("normal", 60.0, 10.0, 4.0, 10_000, 3000, 2**17),
        Depth("deep", 300.0, 30.0, 20.0, 30_000, 3000, 2**20),
    )
}


def depth_named(name: str) -> Depth:
    """Return the depth of a name; raise ValueError for others."""
    if not isinstance(name, str) or name not in DEPTHS:
        raise invalid(f"depth is one of {', '.join(DEPTHS)}", repr(name), "choose one")
    return DEPTHS[name]


def few(cases: Sequence[Ready]) -> list[Ready]:
    """Return few small cases that together show every format, every value of every option, and a shape for each rank."""
    kept, seen = [], set()
    for ready in cases:
        shown = {
            *choices(ready.case).items(),
            ("rank", ready.case.inputs[ready.scope.op.like].ndim),
        }
        shown |= {*ready.recipe.options.get("rows", {}).values()}
        small = sum(np.size(value) for value in ready.case.inputs.values()) <= QUICK_ELEMENTS
        if small and not shown <= seen and len(kept) < QUICK_CASES:
            kept.append(ready)
            seen |= shown
    return kept or list(cases[:1])


def deeper(scope: Scope, seed: int, make: Callable | None = None) -> Iterator[Prepared]:
    """Yield the cases that a deep check adds within its elements, always from the series with the fewest so far.

    `make` replaces `prepared_step`.
    """
    series: dict[str, list[tuple[int, Step]]] = {}
    for number, step in enumerate(
        deep(scope.op, scope.modes, scope.formats, sizes=not scope.shapes)
    ):
        series.setdefault(step.series, []).append((number, step))
    spent = dict.fromkeys(series, 0)
    while series:
        name = min(series, key=spent.__getitem__)
        number, step = series[name].pop(0)
        more = EACH + step.elements
        late = sum(spent.values()) + more > DEEP
        if late or not series[name]:
            del series[name]
        spent[name] += 0 if late else more
        if not late and (drawn := (make or prepared_step)(scope, step, 1000 * seed + number)):
            yield drawn


def _counts(scope: Scope, mode: dict) -> bool:
    """Return whether some small case with these attributes is selected, in any format."""
    base = scope.op.shapes[0] if scope.op.shapes else {"shape": default_shape(scope.op)}
    options = fitted(scope.op, base | mode)
    return any(
        scope.ready(options | {"dtype": dtype}, 0).counts(np.inf)
        for dtype in scope.dtypes or ("float32",)
    )


def prepared_step(scope: Scope, step: Step, seed: int) -> Prepared | None:
    """Return the prepared case of a step, None if it is not selected or the operator refuses it."""
    try:
        recipe = step.recipe(scope.op)
        case = recipe.case(seed)
        return None if scope.reason(case) else prepared(recipe, case, scope.judged_by, signs=True)
    except UNTAKEN:
        return None
