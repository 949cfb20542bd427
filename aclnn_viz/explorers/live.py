"""Export an interactive picture (explorer) as one file that needs no Python and no server: the front end, and the picture
traced to JavaScript.

The page computes everything that moves: real numbers, indices and dragged points; each combination of choices is traced
separately, as many as fit. Untraceable pictures are `recorded`: the page holds Python's pictures of some states. Sizes, seeds
and the device stay as saved: the page tells so, with the call that opens it in Python.
"""

import base64
import html
import json
import re
from contextlib import suppress
from dataclasses import asdict, fields, replace
from functools import cache
from itertools import product

import numpy as np

from aclnn_viz.arrays.javascript import Traced, TracedArrays
from aclnn_viz.explorers.scripts import FRONT, SCRIPTS, script, style, wording
from aclnn_viz.explorers.state import StateError, controls
from aclnn_viz.operators.parameters import bind
from aclnn_viz.pictures.marks import Handles
from aclnn_viz.pictures.palette import DRAWING, MAPS
from aclnn_viz.pictures.panels import Form, Panel
from aclnn_viz.words.messages import (
    LANGUAGES,
    Choice,
    Number,
    Text,
    enumerated,
    in_language,
    language_here,
    message,
    tr,
)

LIVE = ("steps.js", "live.js", "twin.js")  # scripts of a page beside the front end
PLAIN = {str, int, bool, type(None)}  # types that JSON stores unchanged
COMBINATIONS_HELD = 24  # most combinations of choices that a page stores
LARGEST = 3_000_000  # most bytes of a page
# fields whose other values need Python: a page stores no pictures of them
KEPT = ("seed", "device", "soc", "cann", "plan")
NOTICE = message(
    "This page computes its picture without Python, as the kit's own kernel does. "
    "It moves {alive}; everything else needs Python."
)
HELD = message(
    "This page shows {n} pictures that Python computed. It moves {alive}; where a combination of values has no picture, the other values go back. Everything else needs Python."
)
STILL = message("This page shows one state: controls that move this picture need Python.")
NEEDS = message("{field} stays as it was saved: open the explorer in Python to change it")


class TracedOperator:
    """An operator that runs its pages forward and backward over traced arrays, and rounds each result once to the
    declared format.
    """

    def __init__(self, op, xp):
        self._op, self._xp = op, xp

    def __getattr__(self, name):
        return getattr(self._op, name)

    def forward(self, /, **given):
        return self._run("forward", given)

    def backward(self, /, **given):
        return self._run("backward", given)

    def arrange_backward(self, /, **given):
        return self._arranged("backward", given)

    def _arranged(self, way: str, given):
        """Return a page's arguments with traced values in their places."""
        xp, op, examples = self._xp, self._op, {}
        for name, value in given.items():
            if isinstance(value, Traced):
                value = value.held if name in op.tensors else value.held.item()
            examples[name] = value
        examples = (
            op.bind(examples)
            if way == "backward"
            else bind(op.name, op.forward_parameters, examples)
        )
        given, arranged = examples | given, getattr(op, f"arrange_{way}")(**examples)
        return arranged._replace(
            arrays={
                name: xp.reshape(given[name], array.shape)
                if isinstance(given.get(name), Traced)
                else array
                for name, array in arranged.arrays.items()
            },
            attributes={
                name: Traced(xp, moved.name, moved.held, True)
                if isinstance(moved := given.get(name), Traced)
                else value
                for name, value in arranged.attributes.items()
            },
        )

    def _run(self, way: str, given):
        xp, op = self._xp, self._op
        # without a moving value, keep the exact result
        if not any(isinstance(value, Traced) for value in given.values()):
            return getattr(op, way)(**given)
        arranged = self._arranged(way, given)
        arrays = arranged.arrays
        if arranged.prelude is not None:
            arrays = arrays | arranged.prelude(xp, arrays)
        arrays = {
            name: array
            if array is None or array.dtype.kind in "iub"
            else xp.astype(array, arranged.compute)
            for name, array in arrays.items()
        }
        found = self.both(getattr(op.page, way), arrays | arranged.attributes)
        return {
            name: xp.reshape(xp.round_to(found[name], result.format), result.documented_shape)
            for name, result in arranged.results.items()
        }

    def both(self, page, given: dict) -> dict:
        """Return a page's result; if it tests a real attribute for 0, both results, selected by the attribute."""
        xp = self._xp
        with suppress(TypeError):
            return page(xp, **given)
        for name in self._op.attributes:
            if isinstance(value := given.get(name), Traced):
                either = _NotZero(xp, value.name, value.held, True), 0.0
                with suppress(TypeError):
                    some, none = (page(xp, **given | {name: each}) for each in either)
                    return {key: xp.where(value != 0.0, some[key], none[key]) for key in some}
        return page(xp, **given)  # a page that tests other moving numbers raises its TypeError here


class _NotZero(Traced):
    """A moving number that is not 0."""

    def __ne__(self, other):
        return True if isinstance(other, float) and other == 0.0 else super().__ne__(other)


def saved(subject, state, data, template: str = "page.html") -> str:
    """Return the page of a state with Python's data; with module.mjs as template, a module with the front end of anywidget."""
    # cached: another attempt, with fewer groups, needs some of the same states again
    subject = replace(subject, compute=cache(subject.compute))
    page = _Page(subject, state, data)
    groups = page.groups()
    while True:
        page.compute(groups)
        made = page.written(template)
        if len(made.encode()) <= LARGEST or not groups:
            return made
        page, groups = _Page(subject, state, data), fewer(groups)


def fewer(groups: list[dict]) -> list[dict]:
    """Return the groups without the last; a single group loses its last field.

    >>> fewer([{"dtype": 0, "mode": 1}, {"beta": 2}]), fewer([{"dtype": 0, "mode": 1}]), fewer([{"dtype": 0}])
    ([{'dtype': 0, 'mode': 1}], [{'dtype': 0}], [])
    """
    if len(groups) > 1:
        return groups[:-1]
    left = dict([*groups[0].items()][:-1])
    return [left] if left else []


def traced(subject, state, data) -> dict:
    """Return the data with which a browser redraws a state when `moving` fields move; without functions if tracing fails.

    The kernel answers later: results of another kernel than the kit's are not drawn before.
    """
    page = _Page(subject, state, data, languages=(language_here(),))
    moving = [*page.moving, *(page.handles or ())[:1]]
    if (
        moving
        and getattr(state, "device", "host") == "host"
        and getattr(state, "plan", "documented") == "documented"
    ):
        page.compute([{}])
    return {
        "values": asdict(state),
        "moving": moving,
        "content": page.content(),
        "functions": ",".join(page.functions),
    }


class _Page:
    """A saved page. Its pictures share arrays, descriptions and functions, of which each is stored once."""

    def __init__(self, subject, state, data, languages=LANGUAGES):
        self.subject, self.state, self.data, self.languages = subject, state, data, languages
        self.tables, self.pool, self.drawn, self.functions = {}, {}, {}, {}
        self.controls = controls(subject.state)
        self.handles = self._handles(data)
        # values by field; pictures by the indices of these values
        self.options, self.variants = {}, {}
        self.moving = [
            c["field"]
            for c in self.controls
            if subject.live
            and c["field"] not in subject.kept
            and (c.get("below") or c.get("moves") or c["kind"] == "real" and self._same_inputs(c))
        ]

    def _handles(self, data) -> list | None:
        """Return the field of dragged points, and their numbers of rows and columns."""
        marks = (mark for panel in self.subject.panels(data) for mark in panel.marks)
        return next(([m.move, *m.x.shape] for m in marks if isinstance(m, Handles)), None)

    def _same_inputs(self, control) -> bool:
        """Return whether the inputs that a trace keeps constant are equal at both ends of a slider."""
        own = self.subject.drawn_of(self.state)
        with suppress(StateError):
            ends = [
                self.subject.drawn_of(replace(self.state, **{control["field"]: control[end]}))
                for end in ("low", "high")
            ]
            return all(
                own.keys() == end.keys()
                and all(np.array_equal(value, own[name]) for name, value in end.items())
                for end in ends
            )
        return False

    def groups(self) -> list[dict]:
        """Return groups of values by field, of which the page holds all combinations: as many choices as fit, or those
        that the subject records.
        """
        subject, chosen, many = self.subject, {}, 1
        if not subject.live or subject.recorded:
            recorded = subject.recorded if getattr(self.state, "device", "host") == "host" else ()
            return [
                {name: self.values_of(name, given) for name, given in group.items()}
                for group in recorded
            ]
        still = [c for c in self.controls if c["field"] not in (*KEPT, *subject.kept, *self.moving)]
        for name in [c["field"] for c in still if c["kind"] in ("choice", "flag")]:
            options = self.values_of(name)
            if many * len(options) <= COMBINATIONS_HELD:
                chosen, many = chosen | {name: options}, many * len(options)
        return [chosen]

    def values_of(self, name: str, given=()) -> list:
        """Return the page's values of a field, including its own state's."""
        control = next(c for c in self.controls if c["field"] == name)
        values = [*given] or (
            [True, False]
            if control["kind"] == "flag"
            else [value for value, _ in control["options"]]
        )
        return values if (own := getattr(self.state, name)) in values else [own, *values]

    def _place(self, state) -> str:
        return ",".join(
            str(values.index(getattr(state, name))) for name, values in self.options.items()
        )

    def compute(self, groups: list[dict]) -> None:
        """Compute the pictures of all combinations of each group's values, beside the saved state."""
        variants, shown = self.variants, self._traced if self.subject.live else self._recorded
        for group in groups:
            for name, values in group.items():
                known = self.options.setdefault(name, [])
                known += [value for value in values if value not in known]
        for group in groups:
            for values in product(*group.values()):
                with np.errstate(all="ignore"):
                    try:
                        state = replace(self.state, **dict(zip(group, values)))
                        if (place := self._place(state)) not in variants:
                            variants[place] = shown(state)
                    except (TypeError, ValueError, AttributeError):
                        # the picture depends on a test of a moving number, or does not exist
                        pass

    def written(self, template: str) -> str:
        """Return the page with the computed pictures, or with only the saved state's."""
        variants, moving = self.variants, self.moving
        # the saved state's picture depends on a test of a moving number
        if self._place(self.state) not in variants:
            self.options, moving = {}, []
            variants.clear()
            variants[""] = self._described(TracedArrays(self.tables), self.data)
        alive = [*self.options, *moving]
        texts = {}
        for name in LANGUAGES:
            with in_language(name):
                controls = self.subject.controls()
                # the label "epsilon 10^" becomes "epsilon"
                labels = {c["field"]: re.sub(r" \d+\^$", "", c["label"]) for c in controls}
                notice = NOTICE if self.subject.live else HELD
                notice = (
                    tr(notice, alive=enumerated(map(labels.get, alive)), n=len(variants))
                    if alive
                    else tr(STILL)
                )
                texts[name] = {
                    "controls": controls,
                    "wording": wording((*SCRIPTS, *LIVE)),
                    "notice": notice,
                    "notices": list(self.subject.notices(self.data)),
                    "needs": {
                        field: tr(NEEDS, field=label)
                        for field, label in labels.items()
                        if field not in alive
                    },
                }
        parts = {
            "name": html.escape(self.subject.name),
            "style": style(),
            "scripts": re.sub(r"(?m)^export .*\n", "", script((*SCRIPTS, *LIVE))),
            "sheet": json.dumps(style()),
            "functions": ",\n".join(self.functions),
            "content": self.content(
                name=self.subject.name,
                initial=asdict(self.subject.state()),
                alive=alive,
                texts=texts,
                colours=DRAWING
                | {"maps": {name: _coded("|u1", table.tobytes()) for name, table in MAPS.items()}},
            ).replace("<", "\\u003c"),
        }
        return re.sub(
            r"\{\{(\w+)\}\}", lambda place: parts[place[1]], (FRONT / template).read_text("utf-8")
        )

    def content(self, **more) -> str:
        """Return the data of the functions and pictures, as JSON."""
        held = more | {
            "values": asdict(self.state),
            "options": self.options,
            "variants": self.variants,
            "tables": {name: _coded(*array) for array, name in self.tables.items()},
            "drawn": {
                name: [_coded("<f4", raw), shape] for (shape, raw), name in self.drawn.items()
            },
        }
        return _json(held | {"pool": []})[:-2] + ",".join(self.pool) + "]}"

    def _recorded(self, state) -> dict:
        return self._described(TracedArrays(self.tables), self.subject.compute(state))

    def _traced(self, state) -> dict:
        xp, moved = TracedArrays(self.tables), object.__new__(type(state))
        for entry in fields(state):
            value = getattr(state, entry.name)
            object.__setattr__(
                moved,
                entry.name,
                xp.input(entry.name, value) if entry.name in self.moving else value,
            )
        op = TracedOperator(self.subject.operator(state), xp)
        handles = self.handles
        if handles:  # places of dragged points; nan for points at rest
            if state != self.state:  # a state with another shape may have more points
                handles = self._handles(self.subject.compute(state))
            name, *shape = handles
            object.__setattr__(moved, name, xp.input(name, np.full((*shape, 2), np.nan)))
        gathered, data = self.subject.live
        return self._described(xp, data(xp, moved, **gathered(moved, None, xp, op))) | (
            {"dragged": handles} if handles else {}
        )

    def _described(self, xp, data) -> dict:
        """Return a picture with places for moving values, in each language, and the function that computes it."""
        form = _Form(self, xp)
        pictures = {}
        for name in self.languages:
            with in_language(name):
                pictures[name] = {
                    "panels": [self._pooled(form.plain(one)) for one in self.subject.panels(data)],
                    "headline": [self._pooled(form.plain(one)) for one in self.subject.told(data)],
                    "caption": self._pooled(form.plain(self.subject.said(data))),
                    "plays": self._pooled(form.plain(self.subject.plays(data))),
                }
        function = xp.script(form.outputs)
        return {
            "pictures": pictures,
            "shapes": form.shapes,
            "compute": self.functions.setdefault(function, len(self.functions)),
        }

    def _pooled(self, part) -> int:
        return self.pool.setdefault(_json(part), len(self.pool))


class _Form(Form):
    """The panels and marks of one picture as JSON, with places for moving values."""

    def __init__(self, page, xp):
        self.page, self.xp, self.outputs, self.shapes = page, xp, {}, {}

    def place(self, value) -> str:
        # one variable may occur with several shapes
        key = "_".join(["o" + self.xp._named(value).replace("$.", "_"), *map(str, value.shape)])
        self.outputs[key], self.shapes[key] = value, list(value.shape)
        return key

    def array(self, value) -> str:
        if isinstance(value, Traced):
            return self.place(value)
        made, drawn = np.ascontiguousarray(value, np.float32), self.page.drawn
        return drawn.setdefault((made.shape, made.tobytes()), f"a{len(drawn)}")

    def plain(self, value):
        if type(value) in PLAIN:  # test the most frequent types first
            return value
        if isinstance(value, Traced):
            return {"$": self.place(value)}
        if isinstance(value, Number):
            return {"#": self.plain(value.value), "form": value.form}
        if isinstance(value, Text):
            return {"%": value.text, "values": self.plain(value.values)}
        if isinstance(value, Choice):
            return {"?": self.plain(value.which), "options": self.plain(value.options)}
        if isinstance(value, dict):
            return {name: self.plain(one) for name, one in value.items()}
        if isinstance(value, np.dtype):
            return str(value)
        return self.panel(value) if isinstance(value, Panel) else super().plain(value)

    def mark(self, one) -> int:
        return self.page._pooled(super().mark(one))


_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _coded(kind: str, raw: bytes) -> list[str]:
    return [kind[1:], base64.b64encode(raw).decode()]
