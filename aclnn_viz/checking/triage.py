"""`triage`: sort the backward calls of a dumped training run by the explanation of their errors: rounding, the device's
numerics, or none.

A backward entry in msProbe's layout is paired with its forward entry, which holds the inputs. No entry holds tensors that
PyTorch saved in between (a mean, a maximum): the forward page computes them, and the judge allows for their rounding, too.
`backward.output` lists the gradients of the last function that autograd recorded, so the API `cross_entropy` is judged as
nll_loss. A module's entry names no attributes: the kit uses those with which the forward page gives the dumped output, and
allows for their last digits.

`DUMPED` in an operator's `peer.py` lists its calls: {name of an API or a module: "its parameters in PyTorch's order"}. A
parameter with another name at the vendor has that name after a colon ("weight: gamma"). A parameter that the operator lacks is
ignored; with "!" after its name a call that passes it is not judged; with "=1" it is 1 in all elements if the call omits it.
Instead of the text there may be a pair of it and a function that returns further inputs.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, product
from types import MappingProxyType, SimpleNamespace

import numpy as np

from aclnn_viz.accuracy.envelopes import envelope
from aclnn_viz.arrays.plan import STORAGE
from aclnn_viz.cases import Case, case
from aclnn_viz.cases.files import Dumped, write_cases
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.judge import (
    FREEDOM,
    Expected,
    Prepared,
    explained,
    in_float64,
    judge,
    prepared,
)
from aclnn_viz.dtypes import FORMATS, float_format, round_to
from aclnn_viz.errors import invalid, need, problem, shown
from aclnn_viz.operators import Operator, operators, registry
from aclnn_viz.operators.plans import preset
from aclnn_viz.operators.products import READ, SOC, VERSIONS
from aclnn_viz.storage.dumps import Dump, NoNumbersError, read_dumps, tensors
from aclnn_viz.storage.readers import StoredError
from aclnn_viz.tables import as_html, as_text, page
from aclnn_viz.words.messages import enumerated, language_here, linked, message, ntr, tr

ROUNDING, DEVICE, NOT_JUDGED = (
    message("explained by rounding"),
    message("explained by the device's numerics"),
    message("not judged"),
)
BAD = WRONG, SUSPECT, DAMAGED = message("NOT EXPLAINED"), message("SUSPECT"), message("DAMAGED")
ENTRY = re.compile(
    r"(?P<call>Module\..+\.(?P<class>\w+)\.)(?P<way>forward|backward)(?P<n>\.\d+)|(?P<stem>\w+\.(?P<api>.+)\.\d+)\.(?:forward|backward)"
)
# usual values of epsilon and number of groups in modules
EPSILONS, GROUPS = (1e-5, 1e-6, 1e-12, 1e-8, 1e-3, 2.0**-23), (32, 16, 8, 4, 2, 1)
# float32 results in other arrangements differ by at most so many ulps of the largest number
UNITS = 16.0
HEADER = (
    message("place"),
    message("call"),
    message("operator"),
    message("verdict"),
    message("what was found"),
)
UNKNOWN = message(
    "{name} with {argument} is not judged: this kit does not know what the argument does"
)
NOTE = message(
    "the files were read, no kernel was run: what a device would do is predicted from documents and published sources"
)


@dataclass(frozen=True, eq=False)
class Call:
    """One backward call: its place and name in the dump, the verdict with its reason, and the used share of the allowance.

    `case` and `outputs` are kept for the first judged call and for the first unexplained one.
    """

    place: str
    name: str
    operator: str
    verdict: str
    text: str = ""
    used: float = 0.0
    case: Case | None = None
    outputs: Mapping[str, np.ndarray] | None = None


@dataclass(frozen=True, eq=False)
class Triage:
    """Every backward call of a dump for which the kit has an operator, in order of execution; prints as a table.

    `notes` list faults of a whole dump, `others` counts calls without an operator in the kit.
    """

    calls: tuple[Call, ...]
    notes: tuple[str, ...]
    others: Counter

    @property
    def first(self) -> Call | None:
        """The first unexplained call."""
        return next((call for call in self.calls if call.verdict in (WRONG, SUSPECT)), None)

    @property
    def counts(self) -> Counter:
        return Counter(call.verdict for call in self.calls)

    @property
    def passed(self) -> bool:
        """Whether numbers were judged, and all are explained and complete."""
        return (
            bool({ROUNDING, DEVICE} & {*self.counts})
            and not {*BAD} & {*self.counts}
            and not self.notes
        )

    @property
    def head(self) -> str:
        parts = [
            tr("{n} {verdict}", n=self.counts[name], verdict=name)
            for name in (ROUNDING, DEVICE, *BAD, NOT_JUDGED)
            if self.counts[name]
        ]
        head = ntr(
            "{n} call: {parts}",
            "{n} calls: {parts}",
            len(self.calls),
            parts=tr(", ").join(parts) or tr("nothing that can be judged"),
        )
        return head + (
            tr(
                "; first not explained: {name} in {place}",
                name=self.first.name,
                place=self.first.place,
            )
            if self.first
            else ""
        )

    @property
    def remarks(self) -> list[str]:
        others = enumerated(f"{name} {n}" for name, n in self.others.most_common(8))
        return [
            *map(tr, self.notes),
            *[tr("the kit has no operator for these calls: {others}", others=others)]
            * bool(others),
            tr(NOTE),
        ]

    def rows(self, each: bool = False) -> list[list[str]]:
        """Return the table: a row for each unexplained call, and for the others by group unless `each` is set."""
        groups: dict[tuple, list[Call]] = {}
        for call in self.calls:
            groups.setdefault(
                (call,)
                if each or call.verdict in BAD
                else (call.operator, call.verdict, call.text),
                [],
            ).append(call)
        return [
            [
                group[0].place,
                group[0].name + (f" +{len(group) - 1}" if group[1:] else ""),
                group[0].operator,
                tr(group[0].verdict),
                tr(group[0].text)
                or tr(
                    "at most {part} of what is allowed",
                    part=f"{min(1.0, max(call.used for call in group)):.2g}",
                ),
            ]
            for group in groups.values()
        ]

    def __str__(self) -> str:
        return "\n".join(
            [self.head, "", *as_text([*map(tr, HEADER)], self.rows()), "", *self.remarks]
        )

    def _repr_html_(self, each: bool = False) -> str:
        return as_html(self.head, map(tr, HEADER), self.rows(each), self.remarks)

    def to_html(self) -> str:
        """Return one self-contained HTML page with every call."""
        return page(
            self.head, self._repr_html_(each=True), "margin:1.5em; overflow-x:auto", language_here()
        )

    def to_json(self) -> str:
        fields = "place name operator verdict text used".split()
        return json.dumps(
            {
                "passed": self.passed,
                "head": self.head,
                "counts": self.counts,
                "notes": self.notes,
                "others": self.others,
                "first": self.first and self.first.name,
                "calls": [{name: getattr(call, name) for name in fields} for call in self.calls],
            },
            indent=1,
        )

    def write(self, folder, force: bool = False) -> Call:
        """Write the first unexplained call, else the first judged one, as a case of `check` with its outputs.

        Raises ValueError if no call was judged by its numbers, FileExistsError for a folder with contents.
        """
        call = next(
            (judged for judged in (self.first, *self.calls) if judged and judged.case), None
        )
        if call is None:
            raise invalid(
                "a case is written of a call with its numbers",
                self.head,
                'dump with "task": "tensor"',
            )
        described = {name: (value.shape, value.dtype) for name, value in call.outputs.items()}
        write_cases(
            folder,
            call.case.operator,
            [Dumped(call.case, call.name, dict(call.outputs), described)],
            force=force,
        )
        return call


def triage(folder, call: str | None = None, progress: Callable = lambda calls: calls) -> Triage:
    """Judge every backward call in a dump of msProbe's layout for which the kit has an operator.

    `folder` is a run's dump_path, or a step or rank in it. `call`, such as "Functional.silu.0", selects one call. Files are
    read, and nothing in them is executed. Raises FileNotFoundError and ValueError if there is no dump or no such call.
    """
    need(
        call,
        (str, type(None)),
        "call is the name of one",
        "pass one as the index of the dump writes it",
    )
    known, others, notes, pending = {}, Counter(), [], []
    for op in operators():
        for name, how in registry.own("peer", op.name, "DUMPED", {}).items():
            known.setdefault(_plain(name), []).append((op, how))
    for dump in read_dumps(folder):
        notes += [message("{place}: {note}", place=dump.place, note=note) for note in dump.notes]
        for name in dump.entries:
            if not (match := ENTRY.fullmatch(name)):
                continue
            backward, forward = (
                (f"{match['call']}{way}{match['n']}" if match["call"] else f"{match['stem']}.{way}")
                for way in ("backward", "forward")
            )
            stem, key = match["stem"] or backward, match["class"] or match["api"]
            if name == forward and backward in dump.entries or call not in (None, stem):
                continue
            if ops := known.get(_plain(key)):
                pending.append(partial(_judged, dump, stem, forward, backward, ops))
            else:
                others[key] += 1
    if call is not None and not pending:
        raise invalid(
            "call names one call of the dump",
            f"{shown(call)}, which is none of an operator of the kit",
            "leave call out to see all",
        )
    calls, kept = [], set()
    for judged in progress(pending):
        result = judged()
        # case and outputs fill memory: keep them for the first wrong call and the first other call
        spare = {"case": None, "outputs": None} if (result.verdict == WRONG) in kept else {}
        kept |= {result.verdict == WRONG} if result.case else set()
        calls.append(replace(result, **spare))
    return Triage(tuple(calls), tuple(notes), others)


def _plain(key: str) -> str:
    """Return the name of an API or of a module's class in one spelling, as for LayerNorm and layer_norm."""
    return re.sub(r"[123]d$", "", key).replace("_", "").lower()


def _judged(dump: Dump, stem: str, forward: str, backward: str, ops: list) -> Call:
    """Return the verdict on a call, whatever is wrong with its entries and files."""
    ways, reasons, call = (
        [dump.entries.get(name) for name in (forward, backward)],
        [],
        partial(Call, dump.place, stem, ops[0][0].name),
    )
    if None in ways:
        return call(
            NOT_JUDGED,
            message("the call has no backward entry")
            if ways[1] is None
            else message("the dump has no entry of the forward call, which records the inputs"),
        )
    for op, how in ops:
        try:
            return Call(dump.place, stem, op.name, *_of_operator(dump, op, how, *ways))
        except NoNumbersError as error:
            return call(*_by_statistics(*ways) or (NOT_JUDGED, str(error)))
        except StoredError as error:
            return call(DAMAGED, str(error))
        except (ValueError, TypeError) as error:
            reasons.append(str(error))
        except Exception as error:  # an entry may hold anything
            return call(
                DAMAGED,
                problem(
                    "an entry is as msProbe writes it",
                    f"{type(error).__name__} {error}"[:200],
                    "dump the run again",
                ),
            )
    return call(NOT_JUDGED, reasons[0])


def _by_statistics(forward: dict, backward: dict) -> tuple[str, str] | None:
    """Return what statistics show without numbers, or None."""
    came = [
        *chain.from_iterable(
            tensors(forward.get(name)) for name in ("input_args", "input_kwargs", "parameters")
        ),
        *tensors(backward.get("input")),
    ]
    if all(map(_finite, came)) and not all(map(_finite, tensors(backward.get("output")))):
        return SUSPECT, message("a gradient is not finite, though every input is finite")
    return None


def _finite(described: dict) -> bool:
    return all(
        abs(value) < np.inf
        for key in ("Max", "Min", "Norm")
        if isinstance(value := described.get(key), (int, float))
    )


def _of_operator(dump: Dump, op: Operator, how, forward: dict, backward: dict) -> tuple:
    """Judge a call as one of an operator; raise ValueError or TypeError if it is not, or not certainly."""
    # PyTorch returns first the output that has a gradient
    gives = sorted(op.gives, key=lambda name: name != next(iter(op.upstream.values())))
    outputs, upstream, returned = (
        dict(zip(gives, forward.get("output", []))),
        dict(zip(gives, backward["input"])),
        backward["output"],
    )
    gradients = {
        name: _value(dump, held) for name, held in zip(op.outputs, returned) if held is not None
    }
    if not gradients or any(held is not None for held in returned[len(op.outputs) :]):
        raise invalid(
            f"backward.output holds {', '.join(op.outputs)}",
            f"{len(returned)} gradients",
            "autograd recorded another function last, or the module has no gradient of its input",
        )
    inputs, lost = _given(dump, op, how, forward, outputs, upstream)
    # an entry with "parameters" is that of a module and has no attributes: they are inferred
    chosen = (
        _attributes(op, inputs, _value(dump, outputs[gives[0]])) if "parameters" in forward else {}
    )
    called = case(op, **inputs | chosen)
    inner, around = _around(op, called, inputs | chosen, lost)
    near, ready = 2 * _near(called), prepared(Recipe(op.name, {}), inner, around=around)
    ready = _loosened(ready, gradients, near if chosen or lost and inner is called else 0.0)
    gradients = {
        name: value.reshape(ready.expected[name].truth.shape) for name, value in gradients.items()
    }
    used = max(ready.expected[name].used(value) for name, value in gradients.items())
    if all(
        ready.expected[name].undecided.all() and value.size for name, value in gradients.items()
    ):
        return NOT_JUDGED, message(
            "every element depends on how an intermediate value was rounded, so that none can be judged"
        )
    misses = judge(ready, gradients)
    verdict = (
        _verdict(op, called, ready, gradients, misses, around, lost) if misses else (ROUNDING, "")
    )
    return *verdict, used, called, gradients


def _given(
    dump: Dump, op: Operator, how, forward: dict, outputs: dict, upstream: dict
) -> tuple[dict, dict]:
    """Return a call's inputs by the vendor's names, and the saved tensors that the dump lacks."""

    def read(places: dict, held: dict) -> dict:
        return {
            name: _value(dump, held[of]) for name, of in places.items() if held.get(of) is not None
        }

    how, more = (how, dict) if isinstance(how, str) else how
    inputs = _named(
        dump,
        op,
        how,
        forward["input_args"],
        forward["input_kwargs"] | forward.get("parameters", {}),
    )
    inputs |= read(op.upstream, upstream)
    inputs = _as_cast(op, inputs | more(inputs), outputs.get(next(iter(op.upstream.values()))))
    inputs |= read(op.saved, outputs)
    lost = {name: of for name, of in op.saved.items() if name not in inputs}
    absent = [
        p
        for p in (*op.parameters, *op.forward_parameters)
        if p.kind == "tensor" and p.name not in {*inputs, *lost}
    ]
    if missing := [
        p.name
        for p in absent
        if not p.optional and p in op.parameters and op.tensors[p.name].usual is None
    ]:
        raise invalid(
            f"a call of {op.name} has {', '.join(missing)}",
            "none in the entry",
            "judge it by a dump that has it",
        )
    return inputs | {p.name: None for p in absent if p.optional}, lost


def _verdict(
    op: Operator, called: Case, ready: Prepared, gradients: dict, misses: list, around, lost: dict
) -> tuple[str, str]:
    """Return whether a device, another arrangement, or 16-bit saved tensors explain wrong gradients."""
    if verdict := _by_device(
        op, ready, gradients, {miss.output: miss.wrong for miss in misses}, around
    ):
        return verdict
    near, narrow = 2 * _near(called), float_format(called.dtype).bits == 16
    steps = narrow and any(
        difference.plan and difference.plan.compute == STORAGE
        for difference in chain(*registry.own("peer", op.name, "DIFFERENCES", {}).values())
    )
    unit = near if steps else UNITS * (2.0**-53 if called.dtype == "float64" else 2.0**-24)
    if not judge(_loosened(ready, gradients, unit), gradients):
        return DEVICE, message(
            "the error is at most {part} of the largest gradient; the same formula computed in another order can differ by as much",
            part=f"{unit:.1g}",
        )
    if (
        lost
        and narrow
        and not judge(_loosened(ready, gradients, near, _moved(called, lost)), gradients)
    ):
        return DEVICE, message("what the forward pass saved may have been rounded to 16 bits")
    said = [
        message(
            "{problem}, such as {found:.6g} for {truth:.6g} at {place}",
            problem=miss.problem,
            found=miss.actual,
            truth=miss.truth,
            place=list(miss.index),
        )
        for miss in misses
    ]
    return WRONG, linked("{some}; {more}", said)


def _value(dump: Dump, held):
    """Return an argument of an entry: a tensor with its numbers, a number, a text, or a tuple of these."""
    if isinstance(held, list):
        return tuple(_value(dump, each) for each in held)
    if not isinstance(held, dict) or "shape" not in held:
        return held["value"] if isinstance(held, dict) else held
    if held.get("type") == "DTensor":
        raise invalid(
            "a whole tensor is judged",
            "a DTensor",
            "the part of a tensor on one rank is not judged",
        )
    return dump.tensor(held)


def _named(dump: Dump, op: Operator, how, args: list, kwargs: dict) -> dict:
    """Return a call's arguments by the vendor's names, from PyTorch's ordered parameters."""
    order = [
        re.fullmatch(r"\s*(\w+)(!?)(?:=(\S+?))?(?:: (\w+))?", part).groups()
        for part in how.split(",")
    ]
    if len(args) > len(order) or (other := kwargs.keys() - {name for name, *_ in order}):
        raise ValueError(
            message(
                UNKNOWN,
                name=op.name,
                argument=", ".join(sorted(other))
                if len(args) <= len(order)
                else f"{len(args)} arguments",
            )
        )
    inputs = {}
    for at, (name, refused, usual, vendor) in enumerate(order):
        held, plain = args[at] if at < len(args) else kwargs.get(name), vendor or name
        if refused:
            if _value(dump, held) not in (None, False, 0):
                raise ValueError(message(UNKNOWN, name=op.name, argument=name))
        elif held is None and usual:
            inputs[plain] = float(usual)
        elif held is not None and (plain in op.tensors or plain in op.attributes):
            value = _value(dump, held)
            pair = (
                plain in op.attributes
                and "IntArray" in op.attributes[plain].c_type
                and isinstance(value, int)
            )
            inputs[plain] = (value, value) if pair else value
    return inputs


def _as_cast(op: Operator, inputs: dict, output) -> dict:
    """Return floating inputs as autocast converts them: the dump shows inputs before it, the output after."""
    fmt = next(
        (fmt for fmt in FORMATS if output and output.get("dtype") == f"torch.{fmt.name}"), None
    )
    x = inputs.get(op.first)
    if (
        fmt is None
        or not isinstance(x, np.ndarray)
        or x.dtype.kind not in "fV"
        or x.dtype == fmt.numpy
    ):
        return inputs
    return {
        name: round_to(value, fmt)
        if isinstance(value, np.ndarray) and value.dtype == x.dtype
        else value
        for name, value in inputs.items()
    }


def _near(called: Case) -> float:
    """Return the difference allowed between a stored and a recomputed output, relative to the largest number."""
    fmt = float_format(called.dtype)
    return (2.0 if fmt.bits == 16 else UNITS) * fmt.unit_roundoff


def _attributes(op: Operator, inputs: dict, output: np.ndarray) -> dict:
    """Return the attributes with which a module's forward page gives the dumped output; raise ValueError if none do."""
    x, unknown = (
        inputs[op.first],
        [p for p in op.forward_parameters if p.name in op.attributes and p.name not in inputs],
    )
    tried = {
        p.name: [
            *(
                EPSILONS
                if p.name.startswith("eps")
                else [p.default]
                if p.optional
                else [x.shape[-n:] for n in (1, 2, 3)]
                if p.kind == "ints"
                else GROUPS
            ),
            *p.values,
            *op.attributes[p.name].tries,
        ]
        for p in unknown
    }
    wanted, best = output.astype(np.float64), (np.inf, {})
    for values in product(*tried.values()):
        attributes = dict(zip(tried, values))
        try:
            called = case(op, **inputs | attributes)
            outputs = op.forward(
                **{
                    p.name: (inputs | attributes | called.inputs).get(
                        p.name, None if p.optional else p.default
                    )
                    for p in op.forward_parameters
                }
            )
            apart = np.abs(
                outputs[next(iter(op.upstream.values()))].astype(np.float64) - wanted
            ).max(initial=0.0)
        except (ValueError, TypeError):
            continue
        if not apart > _near(called) * np.abs(wanted).max(initial=0.0) and apart < best[0]:
            best = apart, attributes
    if best[0] == np.inf:
        raise invalid(
            "a module's attributes follow from its output",
            f"one that {op.name} gives with none of those tried",
            "dump at level mix or L1",
        )
    return best[1]


def _around(op: Operator, called: Case, inputs: dict, lost: dict) -> tuple[Case, Callable]:
    """Return (case, `around`): the page `around(page)` first computes the `lost` saved tensors by its forward page."""
    # in a page's forward pass, a maximum has no error bounds
    if (
        not lost
        or op.first not in {p.name for p in op.parameters}
        or "max" in op.page.forward.__code__.co_names
    ):
        return called, lambda page: page
    forward = op.page.forward
    names = forward.__code__.co_varnames[1 : forward.__code__.co_argcount]
    known = {
        p.name: (inputs | called.inputs).get(p.name, p.default)
        for p in op.forward_parameters
        if p.name in op.attributes
    }

    def around(page):
        def backward(xp, **values):
            taken = known | values
            for name in names:
                if name not in taken:  # some inputs, such as a bias, are used by forward alone
                    taken[name] = xp.zeros((1,) * len(op.page.AXES[name]), values[op.first].dtype)
            saved = forward(xp, **{name: taken[name] for name in names})
            return page(xp, **values | {name: saved[of] for name, of in lost.items()})

        return backward

    page = SimpleNamespace(**vars(op.page) | {"backward": around(op.page.backward)})
    return Case(replace(op, page=page), called.inputs, called.dtype, called.seed), around


def _moved(called: Case, lost: dict) -> dict[str, np.ndarray]:
    """Return how far gradients move when the lost saved tensors are rounded to 16 bits."""
    rng, unit = np.random.default_rng(0), float_format(called.dtype).unit_roundoff
    wide = called.inputs | in_float64(called.inputs)
    still, *moved = (
        called.operator.backward(
            **wide
            | {
                name: wide[name] * (1 + unit * part * rng.choice([-1, 1], wide[name].shape))
                for name in lost
            }
        )
        for part in (0, 1, 1, 1, 1)
    )
    return {
        name: FREEDOM * np.max([np.abs(other[name] - value) for other in moved], axis=0)
        for name, value in still.items()
    }


def _loosened(
    ready: Prepared, gradients: dict, slack: float, more: Mapping = MappingProxyType({})
) -> Prepared:
    """Return the case with allowances for `gradients` wider by `slack` times the largest number, and by `more`."""
    expected = {}
    for name, value in gradients.items():
        if name not in ready.expected:
            raise invalid(
                f"this call has the gradients {', '.join(ready.expected)}",
                name,
                "autograd recorded another function last",
            )
        truth = np.asarray((part := ready.expected[name]).truth)
        if [n for n in value.shape if n != 1] != [
            n for n in truth.shape if n != 1
        ] or value.dtype.kind not in "fV":
            raise invalid(
                f"{name} has the shape {truth.shape}",
                shown(value),
                "autograd recorded another function last",
            )
        finite = np.isfinite(truth)
        allowed = np.maximum(
            part.allowed, slack * np.abs(truth).max(initial=0.0, where=finite)
        ) + more.get(name, 0.0)
        expected[name] = replace(part, allowed=np.where(finite, allowed, 0.0), dtype=value.dtype)
    return replace(ready, expected=expected)


def _by_device(
    op: Operator, ready: Prepared, gradients: dict, wrong: dict, around: Callable
) -> tuple[str, str] | None:
    """Return which documented numerics of a device or a library give the gradients, or None."""
    dtype = ready.case.dtype
    for differences in registry.own("peer", op.name, "DIFFERENCES", {}).values():
        left, seen = dict(wrong), []
        for difference in (difference for difference in differences if dtype in difference.dtypes):
            rest = {
                name: mask & ~explained(difference, ready, name, gradients[name], around)
                for name, mask in left.items()
            }
            seen += [difference] * any((rest[name] != left[name]).any() for name in rest)
            left = rest
        if not any(mask.any() for mask in left.values()):
            return DEVICE, linked("{some}; {more}", [difference.text for difference in seen])
    for plan in {
        str(plan.settings): plan
        for soc in (*READ, SOC)
        for version in VERSIONS
        for plan in [preset(op, soc, version)]
    }.values():
        page = {"page": around(plan.page), "intended": None} if plan.page else {}
        envelopes = envelope(ready.case.operator, replace(plan, **page), **ready.case.inputs)
        # each of the two results, actual and predicted, is within `bound` of the exact number
        right = {
            name: Expected(
                each.value.astype(np.float64), 2 * each.bound, gradients[name].dtype, each.undecided
            )
            for name, each in envelopes.items()
            if name in gradients
        }
        if not any(
            (mask & right[name].misses(gradients[name])).any() for name, mask in wrong.items()
        ):
            return DEVICE, message("as predicted for {plan}", plan=plan.name)
    return None
