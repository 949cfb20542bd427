"""The explorer of any operator that has none of its own: it is made of the declaration.

What is varied: every attribute, every length of the main shape, other shapes worth trying, the dtype, the seed, and
what computes the gradient. What is seen: how one element answers (see `response`), every input, every output, and below
each output how many ulps its elements are from the truth. What is understood: what the operator takes and gives, and where it loses digits.
"""

import re
from ast import literal_eval
from dataclasses import dataclass, field, make_dataclass, replace
from functools import cache, reduce
from itertools import product
from math import log10, prod

import numpy as np

from aclnn_viz.cases import case, default
from aclnn_viz.dtypes import float_format
from aclnn_viz.explorers import fields, indices, lift, norms, planes, response, slopes, softmax
from aclnn_viz.explorers.arrays import XP, double, element
from aclnn_viz.explorers.device import computed_by
from aclnn_viz.explorers.state import (
    StateError,
    check_points,
    choice,
    flag,
    real,
    vendors,
    whole,
)
from aclnn_viz.explorers.subject import Subject
from aclnn_viz.operators import registry
from aclnn_viz.pictures.marks import Bars, Dots, Heat, Note, Rule
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.panels import Axis, Panel, has_cells
from aclnn_viz.pictures.text import STILL, choose, count, number, written
from aclnn_viz.pictures.twin import in_words
from aclnn_viz.words.messages import message, tr

LONGEST, LARGEST = 64, 1 << 14  # of one axis, and elements in all
GIVEN, OUT, ERROR, GUIDE = 0, 2, 1, 4  # kinds of marks; GUIDE is grey
TALL, LOW, PLANE = (
    125,
    115,
    200,
)  # pixels of the panels of inputs and outputs, of errors, and of planes, at most
SCREEN = 560  # pixels of all rows together
# ulps that a truth in float64 may be beside a tie: each of its steps rounds by up to 2e-9 ulps of float32
TIE = 1e-7
EXACT = message("{output}: {exact} of {all} elements are as near to the truth as {dtype} allows.")
WORST = message(
    "{output}: {exact} of {all} elements are as near to the truth as {dtype} allows; the largest error is {error} ulp "
    "at {place}: {value}, truth {truth}."
)
BOTH = message(", first {n} rows and {n} columns")
ROWS, COLUMNS = message(", first {n} rows"), message(", first {n} columns")


@dataclass(frozen=True, eq=False)
class Data:
    """What is drawn: tensors by the vendor's names; errors are in ulps of the truth, in the format of the output."""

    xp: object
    state: object
    inputs: dict  # of op.backward
    outputs: dict
    truth: dict
    errors: dict
    computed_by: str
    answer: object = None  # of one element: a Slope, a Spread, or why there is none
    notices: tuple[str, ...] = field(default=())


def of(op) -> Subject:
    """Return the subject of an operator's default explorer.

    >>> import aclnn_viz as av
    >>> of(av.operator("hardswish")).state().axis_0
    8
    """
    return Subject(
        op.name,
        lambda state: op,
        state_of(op),
        lambda state: inputs(op, state),
        lambda state, backward=None: compute(op, state, backward),
        panels,
        headline,
        lambda data: text(op, data),
        lambda subject, state: lift.pytest_of_case(op, options(op, state) | _by_hand(op, state)),
        caption=lambda data: (
            data.answer.caption(data.xp) if _has_stage(data) else headline(data)[0]
        ),
        plays=lambda data: data.answer.plays() if hasattr(data.answer, "plays") else (),
        live=(lambda state, backward, xp, traced: gathered(op, state, backward, xp, traced), data),
        drawn_of=lambda state: {
            name: value
            for name, value in drawn(op, state).inputs.items()
            if name in op.tensors and name not in op.saved and value is not None
        },
    )


# What may be moved


@cache
def state_of(op) -> type:
    """Return the class of states: attributes, lengths, dtype, seed, device; each starts where `av.case` does."""
    start = case(op).inputs
    moved = [
        (name, vendors(made))
        for name, made in ((p.name, _control(op, p, start)) for p in _parameters(op))
        if made
    ]
    moved = _with_stage(op, moved)
    moved += [
        (f"axis_{k}", whole(length, 1, max(LONGEST, length), label, message("Shape")))
        for k, (length, label) in enumerate(zip(_opening(op), _labels(op)))
    ]
    shapes = getattr(op, "shapes", ())
    if shapes:
        texts = {
            k: _in_words(each)
            for k, each in enumerate(shapes)
            if tuple(each["shape"]) != _shape(op)
        }
        moved.append(
            (
                "shapes",
                choice(
                    -1,
                    {-1: message("these lengths")} | texts,
                    message("shape"),
                    message("Shape"),
                    message("a shape worth trying"),
                ),
            )
        )
    if len(_shape(op)) > 1 and "." in op.page.AXES[op.main] or len(_shape(op)) > 2:
        moved.append(
            (
                "plane",
                whole(
                    0,
                    0,
                    63,
                    message("show"),
                    message("Tensors"),
                    message("which row, and which matrix of tensors with more than two axes"),
                ),
            )
        )
    moved += [
        ("dtype", fields.dtype("Tensors")),
        ("seed", fields.seed()),
        ("device", fields.device()),
        ("soc", fields.soc()),
        ("cann", fields.cann()),
        ("plan", fields.plan()),
    ]
    if slopes.is_slope(op):  # what the curve follows comes first
        late = "reduction shapes plane seed device soc cann plan".split()
        moved.sort(key=lambda pair: pair[0] in late or pair[0].startswith("axis"))
    return _made(op, [(name, type(made.default), made) for name, made in moved])


def _with_stage(op, moved: list) -> list:
    """The controls of the operator, and those of its stage."""
    if norms.is_norm(op):
        first = norms.epsilon_of(op).name
        moved.sort(key=lambda pair: pair[0] != first)
        own = norms.own_fields()
        moved[1:1] = own[:2]
        moved += own[2:]
    elif softmax.is_softmax(op):
        moved += softmax.own_fields()
    elif slopes.is_slope(op):
        moved[:0] = slopes.own_fields(op)
    elif planes.is_plane(op):
        moved += planes.own_fields()
    elif indices.is_indices(op):
        moved += indices.own_fields(op)
    return moved


def _in_hand(op):
    """The stage whose elements a hand moves, or nothing."""
    stages = ((norms, norms.is_norm), (softmax, softmax.is_softmax), (indices, indices.is_indices))
    return next((stage for stage, fits in stages if fits(op)), None)


def _made(op, listed: list) -> type:
    if not _in_hand(op):
        return make_dataclass("State", listed, frozen=True)
    own = {"__post_init__": lambda state: check_points(state, 1, norms.HANDS)}
    return make_dataclass("State", [*listed, ("moved", tuple, ())], namespace=own, frozen=True)


def _opening(op) -> tuple[int, ...]:
    """The lengths that an explorer opens with."""
    shape = _shape(op)
    if not norms.is_norm(op):
        return shape
    arranged = op.arrange_backward(**case(op).inputs)
    block, _ = norms.block_of(op, arranged, 0)
    return norms.lengths(
        shape,
        prod(shape)
        // prod(
            arranged.results[op.main].shape[at]
            for at, letter in enumerate(op.page.AXES[op.main])
            if letter in block
        ),
    )


def _in_words(shape: dict) -> str:
    """A shape worth trying, short enough for its control: `2×3×5, normalizedShape 5`."""
    short = {
        name: "×".join(map(str, value)) or "scalar" if isinstance(value, tuple) else value
        for name, value in shape.items()
    }
    return ", ".join(
        str(value) if name == "shape" else f"{name} {value}" for name, value in short.items()
    )


def _parameters(op) -> dict:
    """All parameters of backward, and those that forward alone has, in this order."""
    return {p.name: p for p in (*op.forward_parameters, *op.parameters)}.values()


def _control(op, parameter, start: dict):
    """The control of a parameter, None for one that is drawn, or of which only one value is known."""
    name, kind, group = parameter.name, parameter.kind, message("Operator")
    known = start.get(name, parameter.default)
    if name in op.attributes and op.attributes[name].follows:
        return None
    if kind == "tensor":
        return (
            flag(True, name, group, message("or a null pointer"))
            if parameter.optional and known is not None
            else None
        )
    tried = [mode[name] for mode in getattr(op, "modes", ()) if name in mode]
    values = list(dict.fromkeys([known, *getattr(parameter, "values", ()), *tried]))
    if kind == "bool":
        return flag(known, name, group)
    if kind == "bools":
        # as text, for JSON has no tuples
        masks = [_signs(each) for each in product((True, False), repeat=len(known))]
        return choice(_signs(known), dict(zip(masks, masks)), name, group)
    if kind == "float":
        return _real(parameter, float(known))
    if kind == "int" and len(values) == 1:
        return whole(known, min(known, 0 if known < 1 else 1), max(64, known), name, group)
    if kind.endswith("s"):  # an array, as text
        return (
            choice(
                repr(known), {repr(value): repr(value) for value in values}, name, group, names=True
            )
            if len(values) > 1
            else None
        )
    return (
        choice(
            known,
            {value: parameter.shown(value) if parameter.names else str(value) for value in values},
            name,
            group,
            names=True,
        )
        if len(values) > 1
        else None
    )


def _signs(mask) -> str:
    return " ".join("+" if one else "−" for one in mask)


def _real(parameter, known: float):
    low, high = getattr(parameter, "low", None), getattr(parameter, "high", None)
    # such as epsilon
    if 0 < known < 0.01 and (low or 0.0) <= 0.0 and (high is None or high > 100.0):
        return real(
            round(log10(known), 6),
            -12.0,
            2.0,
            0.1,
            f"{parameter.name} 10^",
            message("Operator"),
            message("a power of ten"),
        )
    low, high = known - 4.0 if low is None else low, known + 4.0 if high is None else high
    return real(
        known, low, high, 0.05 if high - low > 1 else 0.01, parameter.name, message("Operator")
    )


def _shape(op) -> tuple[int, ...]:
    """The shape that `av.case` draws: that of the main output."""
    return case(op).operator.backward(**case(op).inputs)[op.outputs[0]].shape


def _labels(op) -> list[str]:
    pattern = getattr(getattr(op, "tensors", {}).get(op.outputs[0]), "shape", "").split()
    fits = len(pattern) == len(_shape(op)) and all(name.isidentifier() for name in pattern)
    return pattern if fits else [message("axis {k}", k=k) for k in range(len(_shape(op)))]


def options(op, state) -> dict:
    """Return what `av.case` is asked for a state."""
    tried = getattr(state, "shapes", -1)
    found = {"dtype": state.dtype, "seed": state.seed}
    found |= (
        op.shapes[tried]
        if tried >= 0
        else {"shape": tuple(getattr(state, f"axis_{k}") for k in range(len(_shape(op))))}
    )
    if tried < 0 and _in_hand(op) is indices:
        found |= indices.options(op, state)
    for parameter in _parameters(op):
        name, value = parameter.name, getattr(state, parameter.name, None)
        if parameter.kind == "tensor":
            found |= {name: None} if value is False else {}
        elif value is not None and value != getattr(type(state)(), name) and name not in found:
            power = _is_power(op, parameter)
            signs, array = (
                parameter.kind == "bools",
                isinstance(value, str) and parameter.kind.endswith("s"),
            )
            found[name] = (
                10.0**value
                if power
                else tuple(one == "+" for one in value.split())
                if signs
                else literal_eval(value)
                if array
                else value
            )
    return default.fitted(op, found)


def _is_power(op, parameter) -> bool:
    """Whether the state holds a power of ten of an attribute."""
    return parameter.kind == "float" and _control(op, parameter, {}).metadata["control"][
        "label"
    ].endswith("^")


def drawn(op, state):
    """Return the case of a state; StateError beside the control that does not fit."""
    asked = options(op, state)
    if prod(asked["shape"]) > LARGEST:
        raise StateError(
            "axis_0",
            message("a picture has at most {most:,} elements", most=LARGEST),
            message("shape {shape}", shape=asked["shape"]),
            message("choose smaller lengths"),
        )
    try:
        return case(op, **asked)
    except ValueError as error:
        named = (word for word in re.findall(r"\w+", str(error)) if hasattr(state, word))
        raise StateError.of(next(named, "axis_0"), error) from error


def inputs(op, state) -> dict:
    """Return the inputs of op.backward: those of the case, with what a hand has moved."""
    given = drawn(op, state).inputs
    if not (stage := _in_hand(op)):
        return given
    return stage.moved(op, state, given, _of_forward(op, state), XP, op.forward)


def _of_forward(op, state) -> dict:
    """What forward takes in a state, and backward may not."""
    asked = options(op, state)
    source = default.Draw(float_format(state.dtype), state.seed, asked)
    return default.draw_forward(op, source, asked["shape"])[0]


def _by_hand(op, state) -> dict:
    """The inputs that no case draws."""
    if not _in_hand(op):
        return {}
    given = inputs(op, state)
    return {n: given[n] for n in (op.gradient_of[op.main], *op.upstream) if n in given}


# What is computed


def compute(op, state, backward=None) -> Data:
    """Return what is drawn for a state; `backward(state, inputs)` returns the outputs of op.backward, and notices.

    What the emulated product refuses is computed by the kit's own kernel, and the notice says why. Raises StateError
    for a state that does not fit, and whatever an Atlas or a predicted precision raises.
    """
    with np.errstate(all="ignore"):
        return data(XP, state, **gathered(op, state, backward))


def gathered(op, moved, backward=None, xp=XP, traced=None) -> dict:
    """Return what kernels make of a state, and their truth: the arguments of `data`."""
    state = (
        moved
        if xp is XP
        else replace(
            moved,
            **{
                name: value.held.item() if value.size == 1 else ()
                for name, value in vars(moved).items()
                if not _stays(value)
            },
        )
    )
    notices, author, attributes = (), computed_by(state), {}
    if xp is XP:
        given = inputs(op, state)
    else:
        given, attributes = _moving(op, state, moved, drawn(op, state).inputs, traced)
    try:
        outputs, notices = (
            backward(state, given | attributes) if backward else (op.backward(**given), ())
        )
    except StateError as error:
        if state.device != "host" or state.plan == "device":
            raise
        outputs, notices = (
            op.backward(**given),
            (
                message(
                    "Refused by {soc}, CANN {cann}: {error}",
                    soc=state.soc,
                    cann=state.cann,
                    error=error,
                ),
            ),
        )
        author = message("this kit's own kernel, as the product refuses it")
    lengths = tuple(getattr(state, f"axis_{k}") for k in range(len(_shape(op))))
    if getattr(state, "shapes", -1) < 0 and lengths != (shape := options(op, state)["shape"]):
        notices = (
            *notices,
            message(
                "The lengths {lengths} do not fit; these are {shape}.", lengths=lengths, shape=shape
            ),
        )
    right = (traced or op).truth(**given | attributes)
    answer = response.response(
        xp,
        traced or op,
        given | attributes,
        moved,
        getattr(traced, "both", None),
    )
    return {
        "given": given,
        "outputs": outputs,
        "truth": right,
        "author": author,
        "answer": answer,
        "notices": tuple(notices),
    }


def _stays(value) -> bool:
    return isinstance(value, (str, tuple, STILL))


def _moving(op, state, moved, given: dict, traced) -> tuple[dict, dict]:
    """The inputs of a state whose real attributes move, with what forward saves of them, and those attributes of backward."""
    moving = {
        p.name: 10.0**value if _is_power(op, p) else value
        for p in _parameters(op)
        if not _stays(value := getattr(moved, p.name, 0))
    }
    if stage := _in_hand(op):
        known = _of_forward(op, state) | moving
        given = stage.moved(op, moved, given, known, traced._xp, traced.forward)
    elif op.saved and any(p.name in moving for p in op.forward_parameters):
        known = given
        # drawn again, what forward alone takes is there, too
        if not registry.own("cases", op.name, "draw"):
            known = _of_forward(op, state) | given
        made = traced.forward(
            **{name: value for name, value in (known | moving).items() if name in op.takes}
        )
        given = given | {name: made[output] for name, output in op.saved.items()}
    return given, {p.name: moving[p.name] for p in op.parameters if p.name in moving}


def data(
    xp, state, given: dict, outputs: dict, truth: dict, author: str, answer=None, notices=()
) -> Data:
    """Return what is drawn of a state, of `given` inputs, their outputs and the truth, all arrays of `xp`."""
    errors = {}
    for name, values in outputs.items():
        wrong = xp.abs(double(xp, values) - truth[name])
        errors[name] = xp.where(
            wrong == 0, 0.0, double(xp, wrong / xp.ulp(double(xp, truth[name]), values.dtype))
        )
    return Data(xp, state, given, outputs, truth, errors, author, answer, notices)


# What is seen


def panels(data: Data) -> list[Panel]:
    """Return how one element answers, a panel for each tensor, and below each output one of its errors."""
    tensors = {
        name: value
        for name, value in data.inputs.items()
        if hasattr(value, "dtype") and _stays(getattr(data.state, name, ""))
    }
    n, many = len(tensors), len(data.outputs)
    # planes keep their elements square, and stand side by side
    planes = any(value.ndim > 2 for value in data.outputs.values())
    spans = _spans(n + 2 * many) if planes else _spans(n) + 2 * _spans(many)
    tall, low = (PLANE, PLANE) if planes else (TALL, LOW)
    answered = data.answer.panels(data.xp) if _has_stage(data) else []
    height = SCREEN if answered else SCREEN // max(sum(spans) // 20, 1)
    made = [_tensor(data, name, value, GIVEN, min(tall, height)) for name, value in tensors.items()]
    made += [
        _tensor(data, name, value, OUT, min(tall, height)) for name, value in data.outputs.items()
    ]
    made += [_error(data, name, value, min(low, height)) for name, value in data.errors.items()]
    return [
        *answered,
        *(
            replace(p, span=span, square=planes and has_cells(p), more=bool(answered))
            for p, span in zip(made, spans)
        ),
    ]


def _has_stage(data: Data) -> bool:
    """Whether an answer is drawn; else it says why there is none."""
    return hasattr(data.answer, "panels")


def _spans(count: int) -> list[int]:
    """Columns of panels in rows of at most five, which leave a colour bar its width."""
    rows = -(-count // 5)
    sizes = [count // rows + (k < count % rows) for k in range(rows)] if count else []
    return [20 // size + (k < 20 % size) for size in sizes for k in range(size)]


def _matrix(xp, values, state) -> tuple:
    """What is shown of a tensor, with at most two axes, and which part that is.

    Of a matrix no more rows and columns are shown than have pixels of their own.
    """
    values = double(xp, values)
    part = f" {list(values.shape)}" if values.ndim else ""
    if values.ndim > 2:
        planes = xp.reshape(values, (-1, *values.shape[-2:]))
        shown = min(getattr(state, "plane", 0), len(planes) - 1)
        part, values = (
            f" {[int(k) for k in np.unravel_index(shown, values.shape[:-2])]}",
            planes[shown],
        )
    if values.ndim < 2 or min(values.shape) < 2:  # no map
        return values, part
    rows, columns = (size > LONGEST for size in values.shape)
    cut = BOTH if rows and columns else ROWS if rows else COLUMNS if columns else ""
    return values[:LONGEST, :LONGEST], part + (tr(cut, n=LONGEST) if cut else "")


def _tensor(data: Data, name: str, value, kind: int, height: int) -> Panel:
    values, part = _matrix(data.xp, value, data.state)
    return _drawn(data.xp, name, f"{name}{part}", values, kind, height, scale(values, data.xp))


def _error(data: Data, name: str, errors, height: int) -> Panel:
    xp, (values, part) = data.xp, _matrix(data.xp, errors, data.state)
    there = errors if errors.size else xp.zeros(1)
    top = xp.max(xp.where(xp.isfinite(there), there, 0.0))
    title = tr(
        "{output}: ulps off the truth, at most {largest}",
        output=name + part * (errors.ndim > 1),
        largest=number(xp.max(there)),
    )
    return _drawn(
        xp, f"{name} error", title, values, ERROR, height, ("sequential", 0.0, xp.maximum(top, 0.5))
    )


def _drawn(xp, name, title, values, kind, height, colours) -> Panel:
    if not values.size or not values.ndim:
        words = number(xp.sum(values)) if values.size else tr("no elements")
        bare = Axis("", 0, 1, ticks=())
        return Panel(name, title, (Note(0.5, 0.5, words),), bare, bare, 10, height)
    if values.ndim == 2 and min(values.shape) > 1:
        return Panel(
            name, title, (Heat(values, *colours, digits=True),), Axis(), Axis(), 10, height
        )
    row = xp.reshape(values, (-1,))
    at = np.arange(row.size, dtype=np.float64)
    bars = Bars(at, row, kind) if row.size <= LONGEST else Dots(at, row, kind)
    return Panel(
        name,
        title,
        (Rule("y", 0.0, kind=GUIDE), bars),
        Axis("", -0.6, row.size - 0.4),
        Axis(),
        10,
        height,
    )


# In words


def headline(data: Data) -> list[str]:
    """How one element answers, one sentence an output, and who computed it."""
    return [
        *(data.answer.headline(data.xp) if _has_stage(data) else [tr(data.answer)]),
        *(_sentence(data, name) for name in list(data.errors)[:4]),
        tr("Computed by {who}.", who=tr(data.computed_by)),
    ]


def _sentence(data: Data, name: str) -> str:
    """How many elements are exact, and of the others the worst one: its place, what is there and what should be."""
    xp, errors, size = data.xp, data.errors[name], data.errors[name].size
    found = {"output": name, "all": count(size), "dtype": data.outputs[name].dtype}
    if not size:
        return tr(EXACT, exact=count(size), **found)
    exact = xp.sum(double(xp, errors <= 0.5 + TIE))
    at = xp.argmax(xp.where(xp.isnan(errors), np.inf, errors))
    error, value, truth = (
        element(xp, xp.reshape(double(xp, values), (-1,)), at)
        for values in (errors, data.outputs[name], data.truth[name])
    )
    found |= {
        "exact": count(exact),
        "error": number(error),
        "place": _place(at, errors.shape),
        "value": number(value),
        "truth": number(truth),
    }
    return choose(exact == size, tr(WORST, **found), tr(EXACT, **found))


def _place(at, shape) -> str:
    """The index of an element, of which the number among all elements is known."""
    places = []
    for size in reversed(shape):
        places.insert(0, written(at % size, "d"))
        at = at // size
    return "[" + reduce(lambda some, more: some + ", " + more, places) + "]" if places else "[]"


def text(op, data: Data) -> str:
    """Return the whole picture in words and numbers."""
    asked = ", ".join(
        f"{name} {value}"
        for name, value in data.inputs.items()
        if not isinstance(value, np.ndarray)
    )
    first = tr("{name} in {dtype}", name=op.aclnn_name, dtype=data.state.dtype)
    return "\n".join(
        [
            tr("{output}: {text}", output=first, text=asked) if asked else first,
            *headline(data),
            *in_words(panels(data)),
            *map(tr, data.notices),
        ]
    )
