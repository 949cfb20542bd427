"""`triage`: which backward calls of a dumped training run rounding explains, which the device's numerics, and which nothing.

An entry of msProbe's layout is paired with its forward entry, which holds what went in. What PyTorch saved between them (a mean, a
maximum) is in no entry: it follows from the forward page, whose rounding the judge then grants, too. `backward.output` lists the
gradients of the last function that autograd recorded, so the API `cross_entropy` is judged as nll_loss. A module's entry names
no attributes: those are taken with which the forward page gives the dumped output, and what their last digits may do is granted.
An operator's `peer.py` says in `DUMPED` which calls are its own: by the name of an API or a module the parameters of PyTorch in
their order, each with the vendor's name behind a colon where it is another; a name that is no vendor's does not count, one with
"!" must be left out, and one with "=1" has that in all elements where it is. Behind that text may stand a function of what was found, which returns more.
"""

import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, product
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from aclnn_viz.accuracy.envelopes import envelope
from aclnn_viz.arrays.plan import Plan
from aclnn_viz.cases import Case, case
from aclnn_viz.cases.files import Dumped, write_cases
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.judge import FREEDOM, Expected, Prepared, explained, prepared
from aclnn_viz.dtypes import FORMATS, float_format, round_to
from aclnn_viz.errors import NotSupported, problem, shown
from aclnn_viz.operators import Operator, operators, registry
from aclnn_viz.operators.plans import preset
from aclnn_viz.operators.products import PRODUCTS, VERSIONS
from aclnn_viz.storage.dumps import Dump, NoNumbersError, read_dumps, tensors
from aclnn_viz.storage.reading import StoredError
from aclnn_viz.tables import as_html, as_text
from aclnn_viz.words.messages import language, linked, message, ntr, tr

ROUNDING, DEVICE, WRONG, SUSPECT = (message("explained by rounding"), message("explained by the device's numerics"), message("NOT EXPLAINED"),
                                    message("SUSPECT"))
NOT_JUDGED, DAMAGED = message("not judged"), message("DAMAGED")
BAD = WRONG, SUSPECT, DAMAGED
API = re.compile(r"(?P<stem>\w+\.(?P<key>.+)\.\d+)\.(?P<way>forward|backward)")
MODULE = re.compile(r"(?P<module>Module\..+\.(?P<key>\w+))\.(?P<way>forward|backward)\.(?P<n>\d+)")
GROUPS = (32, 16, 8, 4, 2, 1)
EPSILONS = (1e-5, 1e-6, 1e-12, 1e-8, 1e-3, 2.0**-23)  # that modules are made with
NEAR = 16.0  # units of the last place of the largest number, in which a forward pass repeats a dumped output
UNKNOWN = message("what {name} does otherwise is not known: it is not judged with {argument}")
NOTE = message("the files were read, no kernel was run: what a device would do is predicted from documents and published sources")


@dataclass(frozen=True, eq=False)
class Call:
    """One backward call: its place and name in the dump, the verdict, and what is to be said; `used` is the part of what is allowed.

    `case` and `outputs` are there where its numbers could be read; `line` is that of the program which made the call.
    """

    place: str
    name: str
    operator: str
    verdict: str
    text: str = ""
    used: float = 0.0
    case: Case | None = None
    outputs: Mapping[str, np.ndarray] = None
    line: str = ""


@dataclass(frozen=True, eq=False)
class Triage:
    """Every backward call of a dump that an operator of the kit has, in the order of execution; prints as a table."""

    calls: tuple[Call, ...]
    notes: tuple[str, ...]
    others: dict[str, int]

    @property
    def first(self) -> Call | None:
        """The first call that is not explained."""
        return next((call for call in self.calls if call.verdict in BAD[:2]), None)

    @property
    def counts(self) -> Counter:
        return Counter(call.verdict for call in self.calls)

    @property
    def passed(self) -> bool:
        """Whether numbers were judged, and all is explained and whole."""
        counts = self.counts
        return bool(counts[ROUNDING] + counts[DEVICE]) and not any(counts[name] for name in BAD) and not self.notes

    @property
    def head(self) -> str:
        counts = self.counts
        parts = ", ".join(f"{counts[name]} {tr(name)}" for name in (ROUNDING, DEVICE, *BAD, NOT_JUDGED) if counts[name])
        head = ntr("{n} call: {parts}", "{n} calls: {parts}", len(self.calls), parts=parts or tr("none of an operator of the kit"))
        return head + (tr("; first not explained: {name} in {place}", name=self.first.name, place=self.first.place) if self.first else "")

    @property
    def said(self) -> list[str]:
        others = ", ".join(f"{name} {n}" for name, n in Counter(self.others).most_common(8))
        return [*map(tr, self.notes), *[tr("the kit has no operator for: {others}", others=others)] * bool(others), tr(NOTE)]

    def rows(self, each: bool = False) -> list[list[str]]:
        """The table: each call that is not explained, and the others together unless `each` is asked for."""
        groups: dict[tuple, list[Call]] = {}
        for call in self.calls:
            alone = each or call.verdict in BAD
            groups.setdefault((call,) if alone else (call.operator, call.verdict, call.text), []).append(call)
        return [[one[0].place, one[0].name + (f" +{len(one) - 1}" if one[1:] else ""), one[0].operator, tr(one[0].verdict),
                 tr(one[0].text) or tr("at most {part} of what is allowed", part=f"{max(call.used for call in one):.2g}"),
                 *[one[0].line] * any(call.line for call in self.calls)] for one in groups.values()]

    @property
    def header(self) -> list[str]:
        names = message("place"), message("call"), message("operator"), message("verdict"), message("what was found"), message("line")
        return [tr(name) for name in names[:6 if any(call.line for call in self.calls) else 5]]

    def __str__(self) -> str:
        return "\n".join([self.head, "", *(as_text(self.header, self.rows()) if self.calls else []), "", *self.said])

    def _repr_html_(self) -> str:
        return as_html(self.head, self.header, self.rows(), self.said)

    def to_html(self) -> str:
        """One page of HTML, whole, with every call."""
        table = as_html(self.head, self.header, self.rows(each=True), self.said)
        return (f'<!doctype html><html lang="{language()}"><head><meta charset="utf-8">{GENERATOR}<title>{html.escape(self.head)}</title></head>'
                f'<body style="{BODY}"><div style="overflow-x:auto">{table}</div></body></html>')

    def to_json(self) -> str:
        fields = "place", "name", "operator", "verdict", "text", "used", "line"
        return json.dumps({"passed": self.passed, "head": self.head, "counts": dict(self.counts), "notes": list(self.notes),
                           "others": dict(self.others), "first": self.first and self.first.name,
                           "calls": [{name: getattr(call, name) for name in fields} for call in self.calls]}, indent=1)

    def write(self, folder, force: bool = False):
        """Write the first call that is not explained, or the first that was judged, as a case of `check` with its outputs; return the call.

        Raises ValueError where no call has numbers.
        """
        call = self.first if self.first and self.first.case else next((call for call in self.calls if call.case), None)
        if call is None:
            raise ValueError(problem("a case is written of a call with its numbers", self.head, 'dump with "task": "tensor"'))
        described = {name: (value.shape, value.dtype) for name, value in call.outputs.items()}
        write_cases(folder, call.case.operator, [Dumped(call.case, call.name, dict(call.outputs), described)], force=force)
        return call


GENERATOR = '<meta name="generator" content="aclnn-viz triage">'
BODY = "color-scheme:light dark; font-family:sans-serif; margin:1.5em; line-height:1.4"


def triage(folder, call: str | None = None, paths: bool = False, progress=lambda items: items) -> Triage:
    """Judge every backward call of a dump in msProbe's layout that is one of an operator of the kit.

    `folder` is the dump_path of a run, or a step or rank in it. Of `call`, a name such as "Functional.silu.0", only that call is
    judged. With `paths` each call names the line of the program that made it, which may be private. Files are read, and
    nothing in them is run. Raises FileNotFoundError and ValueError for what is no dump, or has no such call.
    """
    known, dumps, others, notes, pending, seen = _known(), read_dumps(folder), Counter(), [], [], {}
    for dump in dumps:
        notes += [message("{place}: {note}", place=dump.place, note=note) for note in dump.notes]
        lines = dump.lines() if paths else {}
        for name in dump.entries:
            one = _parted(name)
            if one is None or name == one.forward and one.backward in dump.entries or call not in (None, one.stem):
                continue
            if ops := known.get(_plain(one.key)):
                pending.append((partial(_judged, dump, one, ops, seen), lines.get(one.forward, "")))
            else:
                others[one.key] += 1
    if call and not pending:
        raise ValueError(problem("one call of the dump is named", f"{shown(call)}, which is none of an operator of the kit", "leave call out to see all"))
    return Triage(tuple(replace(judge_one(), line=line) for judge_one, line in progress(pending)), tuple(notes), dict(others))


def _plain(key: str) -> str:
    """The name of an API or of a module's class, alike: LayerNorm and layer_norm."""
    return re.sub(r"[123]d$", "", key).replace("_", "").lower()


def _known() -> dict[str, list[tuple[Operator, object]]]:
    found: dict[str, list] = {}
    for op in operators():
        for name, call in registry.own("peer", op.name, "DUMPED", {}).items():
            found.setdefault(_plain(name), []).append((op, call))
    return found


class _Entries(NamedTuple):
    """What an entry's name says: the call, the API or class, its two entries, and whether it is a module."""

    stem: str
    key: str
    backward: str
    forward: str
    module: bool


def _parted(name: str) -> _Entries | None:
    if found := MODULE.fullmatch(name):
        names = [f"{found['module']}.{way}.{found['n']}" for way in ("backward", "forward")]
        return _Entries(names[0], found["key"], *names, True)
    if found := API.fullmatch(name):
        return _Entries(found["stem"], found["key"], *(f"{found['stem']}.{way}" for way in ("backward", "forward")), False)
    return None


def _judged(dump: Dump, one: _Entries, ops: list, seen: dict) -> Call:
    """The verdict on a call, whatever is wrong with its entries and files."""
    backward, forward = (dump.entries.get(name) for name in (one.backward, one.forward))
    call = partial(Call, dump.place, one.stem, ops[0][0].name)
    if backward is None or forward is None:
        return call(NOT_JUDGED, message("it has no backward entry") if backward is None else message("it has no forward entry, which says what went in"))
    reasons = []
    for op, how in ops:
        try:
            return _of_operator(dump, one, op, how, forward, backward)
        except NoNumbersError as error:
            return call(*_by_statistics(one, forward, backward, seen) or (NOT_JUDGED, str(error)))
        except StoredError as error:
            return call(DAMAGED, str(error))
        except (ValueError, TypeError, NotSupported) as error:
            reasons.append(str(error))
        except Exception as error:  # an entry may hold anything
            return call(DAMAGED, problem("an entry is as msProbe writes it", f"{type(error).__name__} {error}"[:200], "dump the run again"))
    return call(NOT_JUDGED, reasons[0])


def _by_statistics(one: _Entries, forward: dict, backward: dict, seen: dict) -> tuple[str, str] | None:
    """What statistics and checksums show without numbers; None for nothing."""
    came, gone = [*tensors(forward.get("input_args")), *tensors(forward.get("input_kwargs")), *tensors(forward.get("parameters")),
                  *tensors(backward.get("input"))], [*tensors(backward.get("output"))]
    if all(map(_finite, came)) and not all(map(_finite, gone)):
        return SUSPECT, message("a gradient is not finite, and all that went in is")
    sums = [[each.get("md5") for each in part] for part in (came, gone)]
    if all(chain(*sums)) and gone:
        about = repr([one.key, sums[0], *(_bare(forward.get(name)) for name in ("input_args", "input_kwargs"))])
        name, before = seen.setdefault(about, (one.stem, sums[1]))
        if before != sums[1]:
            return SUSPECT, message("the same inputs as those of {name}, by their checksums, gave other gradients", name=name)
    return None


def _finite(described: dict) -> bool:
    return all(np.isfinite(value) for key in ("Max", "Min", "Norm") if isinstance(value := described.get(key), (int, float)))


def _bare(held):
    """What is no tensor of the arguments of a call."""
    if isinstance(held, list):
        return [_bare(each) for each in held]
    return {key: value for key, value in held.items() if key == "value" or isinstance(value, dict) and "shape" not in value} if isinstance(held, dict) else held


def _of_operator(dump: Dump, one: _Entries, op: Operator, how, forward: dict, backward: dict) -> Call:
    """Judge a call as one of an operator; raises ValueError or TypeError where it is none, or not known to be one."""
    parts = sorted(op.gives, key=lambda name: name != next(iter(op.upstream.values())))  # PyTorch returns first what has a gradient
    made, came = (dict(zip(parts, held)) for held in (forward.get("output", []), backward["input"]))
    gradients = {name: _value(dump, held) for name, held in zip(op.outputs, backward["output"]) if held is not None}
    if not gradients or any(held is not None for held in backward["output"][len(op.outputs):]):
        raise ValueError(problem(f"backward.output holds {', '.join(op.outputs)}", f"{len(gradients)} gradients of {len(backward['output'])}",
                                 "autograd recorded another function last, or the module has no gradient of its input"))
    how, more = (how, dict) if isinstance(how, str) else how
    given = _named(dump, op, how, forward["input_args"], forward["input_kwargs"] | (forward.get("parameters", {}) if one.module else {}))
    given |= {name: _value(dump, came[of]) for name, of in op.upstream.items() if came.get(of) is not None}
    given |= more(given)
    given = _as_cast(op, given, made.get(parts[0]))
    lost = {name: of for name, of in op.saved.items() if made.get(of) is None}
    given |= {name: _value(dump, made[of]) for name, of in op.saved.items() if name not in lost}
    given |= {p.name: None for p in (*op.parameters, *op.forward_parameters) if p.kind == "tensor" and p.optional and p.name not in {*given, *op.saved}}
    chosen = _attributes(dump, op, given, made.get(parts[0])) if one.module else {}
    if missing := [p.name for p in op.parameters if p.kind == "tensor" and not p.optional and p.name not in {*given, *op.saved} and op.tensors[p.name].usual is None]:
        raise ValueError(problem(f"a call of {op.name} has {', '.join(missing)}", "none in the entry", "judge it by a dump that has it"))
    made_case = case(op, **given | chosen)
    inner, around = _around(op, made_case, given | chosen, lost)
    ready = prepared(Recipe(op.name, {"call": one.stem}), inner, around=around)
    ready = _loosened(ready, gradients, op, () if around is _same else lost, 2 * _near(made_case) if chosen else 0.0)
    gradients = {name: value.reshape(ready.expected[name].truth.shape) for name, value in gradients.items()}
    wrong = {name: ready.expected[name].misses(value) for name, value in gradients.items()}
    verdict, text = (ROUNDING, "") if not any(map(np.any, wrong.values())) else _by_device(op, ready, gradients, wrong, around) or (
        WRONG, _worst(ready, gradients, wrong))
    if all(ready.expected[name].undecided.all() and value.size for name, value in gradients.items()):
        verdict, text = NOT_JUDGED, message("every element hangs on a rounding")
    used = max(ready.expected[name].used(value) for name, value in gradients.items())
    return Call(dump.place, one.stem, op.name, verdict, text, used, made_case, gradients)


def _value(dump: Dump, held):
    """An argument as an entry holds it: a tensor with its numbers, a number, a text, or a tuple of such."""
    if isinstance(held, list):
        return tuple(_value(dump, each) for each in held)
    if not isinstance(held, dict):
        return held
    if "shape" not in held:
        return held["value"]
    if held.get("type") != "torch.Tensor" and dump.framework == "pytorch":
        raise ValueError(problem("a whole tensor is judged", f"a {held.get('type')}", "a part of a tensor on one rank is not judged"))
    return dump.tensor(held)


def _named(dump: Dump, op: Operator, how, args: list, kwargs: dict) -> dict:
    """The arguments of a call by the vendor's names, from PyTorch's parameters in order."""
    order = [re.fullmatch(r"\s*(\w+)(!?)(?:=(\S+?))?(?:: (\w+))?", part).groups() for part in how.split(",")]
    if len(args) > len(order) or (other := kwargs.keys() - {name for name, *_ in order}):
        raise ValueError(message(UNKNOWN, name=op.name, argument=f"{len(args)} arguments" if len(args) > len(order) else ", ".join(sorted(other))))
    found = {}
    for at, (name, refused, usual, vendor) in enumerate(order):
        held, plain = args[at] if at < len(args) else kwargs.get(name), vendor or name
        if refused:
            if _value(dump, held) not in (None, False, 0):
                raise ValueError(message(UNKNOWN, name=op.name, argument=name))
        elif held is None and usual:
            found[plain] = float(usual)
        elif held is not None and (plain in op.tensors or plain in op.attributes):
            value = _value(dump, held)
            pair = plain in op.attributes and "IntArray" in op.attributes[plain].c_type and isinstance(value, int)
            found[plain] = (value, value) if pair else value
    return found


def _as_cast(op: Operator, given: dict, output) -> dict:
    """What autocast makes of floating inputs: the dump shows them before it, and the output behind it."""
    fmt = next((fmt for fmt in FORMATS if output and output.get("dtype") == f"torch.{fmt.name}"), None)
    x = given.get(op.first)
    if fmt is None or not isinstance(x, np.ndarray) or x.dtype.kind not in "fV" or x.dtype == fmt.numpy:
        return given
    return {name: round_to(value, fmt) if isinstance(value, np.ndarray) and value.dtype == x.dtype else value for name, value in given.items()}


def _near(made: Case) -> float:
    fmt = float_format(made.dtype)
    return (2.0 if fmt.bits == 16 else NEAR) * fmt.unit_roundoff


def _attributes(dump: Dump, op: Operator, given: dict, output) -> dict:
    """The attributes with which a module's forward page gives the output that was dumped; ValueError where none does."""
    x, unknown = given[op.first], [p for p in op.forward_parameters if p.name in op.attributes and p.name not in given]
    tried = {p.name: tuple(dict.fromkeys((*(EPSILONS if p.name.startswith("eps") else ()), *([p.default] if p.optional else [x.shape[-n:] for n in (1, 2, 3)] if p.kind == "ints" else GROUPS), *p.values,
                                          *op.attributes[p.name].tries))) for p in unknown}
    wanted, best = _value(dump, output).astype(np.float64), (np.inf, {})
    for values in product(*tried.values()):
        attributes = dict(zip(tried, values))
        try:
            found = case(op, **given | attributes)
            made = op.forward(**{p.name: (given | attributes | found.inputs).get(p.name, None if p.optional else p.default) for p in op.forward_parameters})
            apart = np.abs(made[next(iter(op.upstream.values()))].astype(np.float64) - wanted).max(initial=0.0)
        except (ValueError, TypeError):
            continue
        if not apart > _near(found) * np.abs(wanted).max(initial=0.0) and apart < best[0]:
            best = apart, attributes
    if best[0] == np.inf:
        raise ValueError(problem("a module's attributes follow from its output", f"one that {op.name} gives with none of those tried", "dump at level mix or L1"))
    return best[1]


def _same(page: Callable) -> Callable:
    return page


def _around(op: Operator, made: Case, given: dict, lost: dict) -> tuple[Case, Callable]:
    """The case of an operator whose page makes the saved tensors that are lost by its forward page, and what does so to any page."""
    if not lost or op.first not in {p.name for p in op.parameters} or "max" in op.page.forward.__code__.co_names:  # no bound knows a maximum
        return made, _same
    forward, known = op.page.forward, {p.name: (given | made.inputs).get(p.name, p.default) for p in op.forward_parameters if p.name in op.attributes}

    def around(page):
        def backward(xp, **values):
            taken = known | values
            for name in forward.__code__.co_varnames[1:forward.__code__.co_argcount]:
                if name not in taken:  # on which only the output of forward depends, a bias
                    taken[name] = xp.zeros((1,) * len(op.page.AXES[name]), values[op.first].dtype)
            saved = forward(xp, **{name: taken[name] for name in forward.__code__.co_varnames[1:forward.__code__.co_argcount]})
            return page(xp, **values | {name: saved[of] for name, of in lost.items()})
        return backward
    page = SimpleNamespace(**vars(op.page) | {"backward": around(op.page.backward)})
    return Case(replace(op, page=page), made.inputs, made.dtype, made.seed), around


def _loosened(ready: Prepared, gradients: dict, op: Operator, lost, part: float) -> Prepared:
    """Grant what an unknown attribute may do, a part of the largest number, and what saved tensors may that follow from no page."""
    moved, inputs, expected = [], ready.case.inputs, {}
    if lost:
        rng, unit = np.random.default_rng(0), 4 * float_format(ready.case.dtype).unit_roundoff
        wide = {name: value.astype(np.float64) if isinstance(value, np.ndarray) and value.dtype.kind in "fV" else value for name, value in inputs.items()}
        moved = [op.backward(**wide | {name: wide[name] + unit * np.abs(wide[name]).max(initial=1.0) * rng.choice([-1, 1], wide[name].shape)
                                       for name in lost}) for _ in range(4)]
    for name, value in gradients.items():
        one = ready.expected[name]
        if [n for n in value.shape if n != 1] != [n for n in one.truth.shape if n != 1] or value.dtype.kind not in "fV":
            raise ValueError(problem(f"{name} has the shape {one.truth.shape}", shown(value), "autograd recorded another function last"))
        truth = np.asarray(one.truth)
        more = [FREEDOM * np.abs(other[name] - truth) for other in moved] + [part * np.abs(truth).max(initial=0.0, where=np.isfinite(truth))] * bool(part)
        allowed = np.where(np.isfinite(truth), np.max([np.broadcast_to(each, truth.shape) for each in [one.allowed, *more]], axis=0), 0.0)
        expected[name] = replace(one, allowed=allowed, dtype=value.dtype)
    return replace(ready, expected=expected)


def _by_device(op: Operator, ready: Prepared, gradients: dict, wrong: dict, around: Callable) -> tuple[str, str] | None:
    """Which documented numerics of a device or a library give the gradients; None where none does."""
    dtype = ready.case.dtype
    for differences in registry.own("peer", op.name, "DIFFERENCES", {}).values():
        left, seen = dict(wrong), []
        for one in (one for one in differences if dtype in one.dtypes):
            rest = {name: mask & ~explained(one, ready, name, gradients[name], around) for name, mask in left.items()}
            seen += [one] * any((rest[name] != left[name]).any() for name in rest)
            left = rest
        if not any(mask.any() for mask in left.values()):
            return DEVICE, linked("{some}; {more}", [one.text for one in seen])
    for plan in _plans(op):
        page = {"page": around(plan.page), "intended": None} if plan.page else {}
        found = envelope(ready.case.operator, replace(plan, **page), **ready.case.inputs)
        right = {name: Expected(each.value.astype(np.float64), 2 * each.bound, gradients[name].dtype, each.undecided)  # both are so near the exact number
                 for name, each in found.items() if name in gradients}
        if not any((mask & right[name].misses(gradients[name])).any() for name, mask in wrong.items()):
            return DEVICE, message("as predicted for {plan}", plan=plan.name)
    return None


def _plans(op: Operator) -> list[Plan]:
    """The different plans of the products that are predicted, the newest version of CANN first."""
    found = {}
    for product_, version in product(PRODUCTS, reversed(VERSIONS)):
        try:
            plan = preset(op, product_, version)
        except ValueError:
            continue
        found.setdefault(repr(sorted(plan.settings.items(), key=str)), plan)
    return list(found.values())


def _worst(ready: Prepared, gradients: dict, wrong: dict) -> str:
    """Where gradients are wrong, and the element that is farthest off."""
    said = []
    for name, mask in wrong.items():
        if mask.any():
            one, value = ready.expected[name], gradients[name]
            with np.errstate(all="ignore"):
                excess = np.abs(value.astype(np.float64) - one.truth) / (one.allowed + 1e-300)
            at = np.unravel_index(int(np.where(mask, np.nan_to_num(excess, nan=np.inf), -1.0).argmax()), mask.shape)
            said.append(message("{output} is wrong in {n} of {all} elements, such as {found} for {truth} at {place}", output=name, n=int(mask.sum()),
                                all=mask.size, found=f"{float(value[at]):.6g}", truth=f"{float(one.truth[at]):.6g}", place=[int(k) for k in at]))
    return linked("{some}; {more}", said)
