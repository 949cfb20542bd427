"""Interactive picture (explorer) of any operator without a separate one, made from the declared parameters and shapes.

Controls: every attribute, every length of the main shape, the dtype and the seed. Panels: the stage that suits the
declaration (see `response`), and folded every input and output.
"""

import re
from ast import literal_eval
from dataclasses import make_dataclass, replace
from functools import cache
from itertools import product
from math import log10, prod

import numpy as np

from aclnn_viz.cases import case, default
from aclnn_viz.dtypes import float_format
from aclnn_viz.explorers import attention, fields, lift, losses, norms, planes, response, slopes
from aclnn_viz.explorers.arrays import XP, double, sheet
from aclnn_viz.explorers.state import StateError, check_indices, check_points, control, vendors
from aclnn_viz.explorers.subject import Subject
from aclnn_viz.pictures.marks import Heat, record
from aclnn_viz.pictures.palette import scale
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.pictures.text import STILL, unmarked
from aclnn_viz.words.messages import message, tr

LONGEST, LARGEST = 64, 1 << 14  # limits of one axis, and of all elements
TALL = 150  # height of a tensor's panel, in pixels
# what changes no slope of one element, and nothing at the opening
FOLDED = {(slopes, "reduction"), (planes, "ceilMode"), (planes, "cubeMathType")}
CUT = message(", first {n} rows and {n} columns")


@record
class Data:
    """The drawn data: tensors by the vendor's names, and the response of one element."""

    xp: object
    state: object
    inputs: dict  # inputs of op.backward
    outputs: dict
    answer: object = None  # a Slope or Spread of one element, or the reason for none
    notices: tuple[str, ...] = ()


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
        lambda state, backward=None: compute(op, state),
        panels,
        None,
        lambda data: around(op, data),
        lambda subject, state: lift.pytest_of_case(op, options(op, state) | _by_hand(op, state)),
        caption=_said,
        plays=lambda data: data.answer.plays() if _has_stage(data) else (),
        live=(lambda state, _, xp, traced: gathered(op, state, xp, traced), Data),
        drawn_of=lambda state: {
            name: value
            for name, value in drawn(op, state).inputs.items()
            if name in op.tensors and name not in op.saved and value is not None
        },
    )


# The state of an explorer


@cache
def state_of(op) -> type:
    """Return the class of states, with attributes, lengths, dtype and seed as
    fields; the defaults are those of `av.case`.
    """
    start, (stage, _) = case(op).inputs, response.stage_of(op)
    made = {p.name: _control(op, p, start) for p in _parameters(op)}
    moved = [(name, vendors(one)) for name, one in made.items() if one]
    dtype, show, seed = fields.listed("default")
    moved = [*stage.fields_with(op, moved), dtype]
    shape = _shape(op)
    opening = norms.lengths(shape, prod(shape) // _blocks(op)) if norms.is_norm(op) else shape
    alike = "." in op.page.AXES[op.main] and stage not in (planes, losses) and _blocks(op) > 1
    if stage is not attention:  # it has other controls for its sizes
        for k, (n, label) in enumerate(zip(opening, _labels(op))):
            one = control(n, label, message("Shape"), low=1, high=max(LONGEST, n))
            moved.append((f"axis_{k}", one))
        moved += [show] * (alike or len(shape) > 2)
    moved.append(seed)
    moved.sort(key=lambda pair: (stage, pair[0]) in FOLDED)
    listed = [(name, type(made.default), made) for name, made in moved]
    if not hasattr(stage, "moved"):
        return make_dataclass("State", listed, frozen=True)
    rows = norms.HANDS if stage is losses else 1

    def checked(state):
        check_points(state, rows, norms.HANDS)
        check_indices(state)

    listed.append(("moved", tuple, ()))
    return make_dataclass("State", listed, namespace={"__post_init__": checked}, frozen=True)


def _blocks(op) -> int:
    """Return how many rows or planes of equal size the main output has."""
    result = op.arrange_backward(**case(op).inputs).results[op.main]
    return prod(n for n, letter in zip(result.shape, op.page.AXES[op.main]) if letter != ".")


def _parameters(op) -> dict:
    """Return all parameters of backward, then those of forward alone."""
    return {p.name: p for p in (*op.forward_parameters, *op.parameters)}.values()


def _control(op, parameter, start: dict):
    """Return the control of a parameter, None if a case draws it or only one value is known."""
    name, kind, group = parameter.name, parameter.kind, message("Operator")
    known = start.get(name, parameter.default)
    follows = name in op.attributes and op.attributes[name].follows
    if follows or op.sizes.get(_labels(op)[0]) == name:  # the first length is its control
        return None
    if kind == "tensor":
        return (
            control(True, name, group, message("or a null pointer"))
            if parameter.optional and known is not None
            else None
        )
    tried = [mode[name] for mode in getattr(op, "modes", ()) if name in mode]
    values = list(dict.fromkeys([known, *getattr(parameter, "values", ()), *tried]))
    if kind == "bool":
        return control(known, name, group)
    if kind == "bools":
        # masks are text, because JSON lacks tuples
        masks = {mask: mask for mask in map(_signs, product((True, False), repeat=len(known)))}
        return control(_signs(known), name, group, options=masks)
    if kind == "float":
        return _real(parameter, float(known))
    if kind == "int" and len(values) == 1:
        low = min(known, 0 if known < 1 else 1)
        return control(known, name, group, low=low, high=max(64, known))
    if len(values) == 1:
        return None
    if kind.endswith("s"):  # an array attribute is shown as text
        known, texts = repr(known), {repr(value): repr(value) for value in values}
    else:
        texts = {
            value: parameter.shown(value) if parameter.names else str(value) for value in values
        }
    return control(known, name, group, options=texts, names=True)


def _signs(mask) -> str:
    return " ".join("+" if one else "−" for one in mask)


def _real(parameter, known: float):
    low, high = getattr(parameter, "low", None), getattr(parameter, "high", None)
    name, group = parameter.name, message("Operator")
    # small positive numbers, such as epsilon, get a logarithmic slider
    if 0 < known < 0.01 and (low or 0.0) <= 0.0 and (high is None or high > 100.0):
        ends = {"low": -12.0, "high": 2.0, "step": 0.1}
        known = round(log10(known), 6)
        return control(known, f"{name} 10^", group, message("a power of ten"), **ends)
    low, high = known - 4.0 if low is None else low, known + 4.0 if high is None else high
    step = 0.05 if high - low > 1 else 0.01
    return control(known, name, group, low=low, high=high, step=step)


@cache
def _shape(op) -> tuple[int, ...]:
    """Return the shape of the main output for the inputs that `av.case` draws by default."""
    return case(op).operator.backward(**case(op).inputs)[op.outputs[0]].shape


def _labels(op) -> list[str]:
    pattern = getattr(getattr(op, "tensors", {}).get(op.outputs[0]), "shape", "").split()
    fits = len(pattern) == len(_shape(op)) and all(name.isidentifier() for name in pattern)
    return pattern if fits else [message("axis {k}", k=k) for k in range(len(_shape(op)))]


def options(op, state) -> dict:
    """Return the options of `av.case` for a state."""
    stage, _ = response.stage_of(op)
    found = {"dtype": state.dtype, "seed": state.seed, "shape": _lengths(op, state)}
    found |= stage.options(op, state) if hasattr(stage, "options") else {}
    for parameter in _parameters(op):
        name, value = parameter.name, getattr(state, parameter.name, None)
        if parameter.kind == "tensor":
            found |= {name: None} if value is False else {}
        elif value is not None and value != getattr(type(state)(), name):
            found[name] = _meant(op, parameter, value)
    return default.fitted(op, found)


def _lengths(op, state) -> tuple:
    """Return the lengths of a state: none if its stage sets them."""
    names = (f"axis_{k}" for k in range(len(_shape(op))))
    return tuple(getattr(state, name) for name in names if hasattr(state, name))


def _meant(op, parameter, value):
    """Return the value of a parameter from that of its control, which may be an exponent of
    10, a row of + and −, or a text.
    """
    if _is_power(op, parameter):
        return 10.0**value
    if parameter.kind == "bools":
        return tuple(one == "+" for one in value.split())
    return literal_eval(value) if isinstance(value, str) and parameter.kind.endswith("s") else value


def _is_power(op, parameter) -> bool:
    """Return whether the control of an attribute sets its exponent: the value is a power of ten."""
    return parameter.kind == "float" and _control(op, parameter, {}).metadata["control"][
        "label"
    ].endswith("^")


def drawn(op, state):
    """Return the case of a state; raise StateError for a control that does not fit."""
    asked = options(op, state)
    if norms.is_norm(op) and (epsilon := norms.epsilon_of(op)) not in op.parameters:
        asked.pop(epsilon.name, None)  # epsilon's control must not change x
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
    """Return the inputs of op.backward: those of the drawn case, changed by what the user dragged."""
    return _moving(op, state, state, XP, op)[0]


def _by_hand(op, state) -> dict:
    """Return the inputs without null tensors if the stage lets the user drag
    some, which no case then draws; else {}.
    """
    stage, _ = response.stage_of(op)
    given = inputs(op, state) if hasattr(stage, "moved") else {}
    return {name: value for name, value in given.items() if value is not None}


# The data of an explorer


def compute(op, state) -> Data:
    """Return the data of a state; raise StateError for a state that does not fit."""
    with np.errstate(all="ignore"):
        return Data(XP, state, **gathered(op, state))


def gathered(op, moved, xp=XP, traced=None) -> dict:
    """Return kernels' results for a state, the arguments of `Data`."""
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
    given, attributes = _moving(op, state, moved, xp, traced or op)
    outputs, notices = (traced or op).backward(**given | attributes), ()
    lengths = _lengths(op, state)
    if lengths and lengths != (shape := options(op, state)["shape"]):
        notices = (
            message(
                "The lengths {lengths} do not fit; these are {shape}.", lengths=lengths, shape=shape
            ),
        )
    answer = response.response(
        xp, traced or op, given | attributes, moved, getattr(traced, "both", None)
    )
    return {"inputs": given, "outputs": outputs, "answer": answer, "notices": notices}


def _stays(value) -> bool:
    return isinstance(value, (str, tuple, STILL))


def _moving(op, state, moved, xp, pages) -> tuple[dict, dict]:
    """Return a state's inputs changed by what the user dragged, and backward's attributes that a trace varies; saved
    tensors follow from both.
    """
    given, (stage, _) = drawn(op, state).inputs, response.stage_of(op)
    moving = {
        p.name: 10.0**value if _is_power(op, p) else value
        for p in _parameters(op)  # a draggable point may have a tensor's name
        if p.kind != "tensor" and not _stays(value := getattr(moved, p.name, 0))
    }
    known = given | moving
    # forward has inputs that backward lacks, and saved tensors follow from all
    if not {*op.takes} <= {*given}:
        asked = options(op, state)
        source = default.Draw(float_format(state.dtype), state.seed, asked)
        known = default.draw_forward(op, source, asked["shape"])[0] | known
    # a picture that is switched off has nothing to drag
    if hasattr(stage, "moved") and op.main in op.arrange_backward(**given).results:
        given = stage.moved(op, moved, given, known, xp, pages.forward)
    elif op.saved and any(p.name in moving for p in op.forward_parameters):
        made = pages.forward(**{name: known[name] for name in op.takes if name in known})
        given = given | {name: made[output] for name, output in op.saved.items()}
    return given, {p.name: moving[p.name] for p in op.parameters if p.name in moving}


# The panels of an explorer


def panels(data: Data) -> list[Panel]:
    """Return the response of one element, and a folded panel per tensor."""
    xp = data.xp
    made = [
        _tensor(data, name, value, scale(double(xp, value), xp))
        for name, value in (data.inputs | data.outputs).items()
        if hasattr(value, "dtype") and _stays(getattr(data.state, name, ""))
    ]
    answered = data.answer.panels(xp) if _has_stage(data) else []
    return [*answered, *(replace(panel, more=bool(answered)) for panel in made)]


def _said(data: Data):
    return data.answer.caption(data.xp) if _has_stage(data) else tr(data.answer)


def _has_stage(data: Data) -> bool:
    """Return whether the explorer draws a response, not only the reason why there is none."""
    return hasattr(data.answer, "panels")


def _tensor(data: Data, name: str, values, colours: tuple) -> Panel:
    """Return the matrix of a shown tensor, with at most one row and column per pixel."""
    xp, which = data.xp, list(values.shape)
    if not values.size:
        values = np.full(1, np.nan)
    elif values.ndim > 2:
        first = sheet(XP, np.arange(values.size).reshape(values.shape), data.state)[0, 0]
        which = [int(k) for k in np.unravel_index(first, values.shape)[:-2]]
    cells = sheet(xp, double(xp, values), data.state)
    cut = tr(CUT, n=LONGEST) if max(cells.shape) > LONGEST else ""
    heat = Heat(cells[:LONGEST, :LONGEST], *colours, digits=True)
    axes = Axis(tr("column")), Axis(tr("row"))
    return Panel(name, f"{name} {which}{cut}", (heat,), *axes, 5, TALL)


# The picture in words


def around(op, data: Data) -> tuple:
    """Return the lines before and after the panels in words."""
    asked = ", ".join(
        f"{name} {value}"
        for name, value in data.inputs.items()
        if not isinstance(value, np.ndarray)
    )
    first = tr("{name} in {dtype}", name=op.aclnn_name, dtype=data.state.dtype)
    first = tr("{output}: {text}", output=first, text=asked) if asked else first
    return [first, unmarked(_said(data))], map(tr, data.notices)
