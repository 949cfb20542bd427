"""An explorer as one file that needs no Python and asks no host: the front end, and the picture traced to JavaScript.

What moves is computed by the page: real numbers, indices and dragged points; of choices each combination is traced by itself, as
many as fit. Sizes, seeds and what runs the operator stay as they were saved: the page says so, and what opens it in Python.
"""

import base64
import json
import re
from dataclasses import asdict, fields, replace
from itertools import product

import numpy as np

from aclnn_viz.arrays.traced import Traced, TracedArrays
from aclnn_viz.errors import problem
from aclnn_viz.explorers.device import host
from aclnn_viz.explorers.scripts import FRONT, SCRIPTS, script, style, wording
from aclnn_viz.explorers.state import controls
from aclnn_viz.operators.parameters import bind
from aclnn_viz.pictures.marks import Handles
from aclnn_viz.pictures.palette import DRAWING, MAPS
from aclnn_viz.pictures.panels import Axis, Panel
from aclnn_viz.words.messages import LANGUAGES, Choice, Number, Text, in_language, message, tr

LIVE = ("steps.js", "live.js", "twin.js")  # what a page has beside the front end
MOST = 24  # combinations of choices that a page holds
LARGEST = 3_000_000  # bytes of a page
KEPT = ("seed", "device", "soc", "cann", "plan")  # what the kit's own kernel, and the host, must not be asked again for
NOTICE = message("This page computes its picture without Python, as the kit's own kernel does; the truth is computed in float64. "
                 "It moves {alive}; everything else needs Python.")
STILL = message("This page shows one state: what moves this picture needs Python.")
NEEDS = message("{field} stays as it was saved: open the explorer in Python to change it")


class TracedOperator:
    """An operator whose forward, backward and truth run over traced arrays: its pages, rounded once as declared."""

    def __init__(self, op, xp):
        self._op, self._xp = op, xp

    def __getattr__(self, name):
        return getattr(self._op, name)

    def forward(self, /, **given):
        op = self._op
        return self._run(op.page.forward, op.arrange_forward, lambda found: bind(op.name, op.forward_parameters, found), given)

    def backward(self, /, **given):
        return self._run(self._op.page.backward, self._op.arrange_backward, self._op.bind, given)

    def truth(self, /, **given):
        if any(isinstance(value, Traced) and value.dtype == np.float64 for value in given.values() if np.ndim(getattr(value, "held", 0))):
            raise TypeError(problem("the truth of float64 takes more digits than a page has", "inputs of float64", "choose another dtype"))
        return self._run(self._op.page.backward, self._op.arrange_backward, self._op.bind, given, np.dtype(np.float64))

    def arrange_backward(self, /, **given):
        return self._arranged(self._op.arrange_backward, self._op.bind, given)

    def _arranged(self, arrange, bound, given):
        """What a page is given, with the traced values in their places."""
        xp, examples = self._xp, {}
        for name, value in given.items():
            held = value.held if isinstance(value, Traced) else value
            examples[name] = held.item() if isinstance(value, Traced) and name not in self._op.tensors else held
        examples = bound(examples)
        given, arranged = examples | given, arrange(**examples)
        return arranged._replace(
            arrays={name: xp.reshape(given[name], array.shape) if isinstance(given.get(name), Traced) else array for name, array in arranged.arrays.items()},
            attributes={name: Traced(xp, moved.name, moved.held, True) if isinstance(moved := given.get(name), Traced) else value
                        for name, value in arranged.attributes.items()})

    def _run(self, page, arrange, bound, given, wide=None):
        xp = self._xp
        if not any(isinstance(value, Traced) for value in given.values()):  # nothing moves: as exact as ever
            return (self._op.truth if wide else self._op.backward if bound == self._op.bind else self._op.forward)(**given)
        arranged = self._arranged(arrange, bound, given)
        arrays, compute = arranged.arrays, wide or arranged.compute
        if arranged.prelude is not None:
            arrays = arrays | arranged.prelude(xp, arrays)
        arrays = {name: array if array is None or array.dtype.kind in "iub" else xp.astype(array, compute) for name, array in arrays.items()}
        found = self.both(page, arrays | arranged.attributes)
        return {name: xp.reshape(xp.astype(found[name], wide) if wide else xp.round_to(found[name], result.format), result.documented_shape)
                for name, result in arranged.results.items()}

    def both(self, page, given: dict) -> dict:
        """What a page returns; of one that asks whether a real attribute is 0, both answers, of which the attribute chooses."""
        xp, moving = self._xp, [name for name, value in given.items() if isinstance(value, Traced) and name not in self._op.tensors]
        try:
            return page(xp, **given)
        except TypeError:
            if len(moving) != 1:
                raise
        value = given[moving[0]]
        some, none = (page(xp, **given | {moving[0]: each}) for each in (_NotZero(xp, value.name, value.held, True), 0.0))
        return {name: xp.where(value != 0.0, some[name], none[name]) for name in some}


class _NotZero(Traced):
    """A number that moves and is not 0."""

    __hash__ = Traced.__hash__

    def __eq__(self, other):
        return False if isinstance(other, float) and other == 0.0 else super().__eq__(other)

    def __ne__(self, other):
        return True if isinstance(other, float) and other == 0.0 else super().__ne__(other)


def saved(subject, state, data) -> str:
    """Return the page of a state whose data are those of Python."""
    page = _Page(subject, state, data)
    names = [c["field"] for c in subject.controls() if c["field"] not in KEPT and c["kind"] in ("choice", "flag") and c["field"] not in subject.kept and not c.get("moves")]
    chosen, many = [], 1
    for name in names if subject.live else ():
        count = len(page.options[name])
        if many * count <= MOST:
            chosen, many = [*chosen, name], many * count
    while True:
        made = page.written(chosen)
        if subject.live and not page.shows(state, chosen) and (page.moving or chosen):  # the state itself looks at a number that moves
            page, chosen = _Page(subject, state, data, moving=False), chosen if page.moving else []
        elif len(made) <= LARGEST or not chosen:
            return made
        else:
            page, chosen = _Page(subject, state, data, bool(page.moving)), chosen[:-1]


class _Page:
    """What the combinations of a page share: arrays, descriptions and functions, each held once."""

    def __init__(self, subject, state, data, moving=True):
        self.subject, self.state, self.data = subject, state, data
        self.tables, self.pool, self.drawn, self.functions = {}, {}, {}, {}
        self.controls = controls(subject.state)
        self.options = {c["field"]: [True, False] if c["kind"] == "flag" else [value for value, _ in c["options"]] for c in self.controls}
        handles = [mark for panel in subject.panels(data) for mark in panel.marks if isinstance(mark, Handles)]
        self.handles = [handles[0].move, *handles[0].x.shape] if handles else None
        self.variants = {}
        self.moving = [c["field"] for c in self.controls if moving and (c["kind"] == "real" or c.get("below") or c.get("moves")) and c["field"] not in subject.kept]

    def shows(self, state, chosen) -> bool:
        """Whether a state is among the combinations of choices that were traced."""
        return ",".join(str(self.options[name].index(getattr(state, name))) for name in chosen) in self.variants

    def written(self, chosen) -> str:
        variants = self.variants
        for places in product(*(range(len(self.options[name])) for name in chosen)) if self.subject.live else ():
            values = [self.options[name][at] for name, at in zip(chosen, places)]
            with np.errstate(all="ignore"):
                try:
                    state = replace(self.state, **dict(zip(chosen, values)))
                    variants[",".join(map(str, places))] = self._traced(state)
                except (TypeError, ValueError, AttributeError):  # it looks at a number, or does not exist
                    pass
        moving = self.moving if variants else []
        if not variants:
            chosen, variants = [], {"": self._described(TracedArrays(self.tables), self.data)}
        alive = [*chosen, *moving]
        texts = {}
        for name in LANGUAGES:
            with in_language(name):
                shown = self.subject.controls()
                labels = {c["field"]: c["label"] for c in shown}
                notice = tr(NOTICE, alive=tr(", ").join(labels[field] for field in alive)) if alive else tr(STILL)
                texts[name] = {"controls": shown, "wording": wording((*SCRIPTS, *LIVE)), "notice": notice, "notices": list(self.subject.notices(self.data)),
                              "needs": {field: tr(NEEDS, field=label) for field, label in labels.items() if field not in alive}}
        return _html(self, {"name": self.subject.name, "values": asdict(self.state), "initial": asdict(self.subject.state()),
                            "chosen": chosen, "alive": alive, "texts": texts, "variants": variants})

    def _traced(self, state) -> dict:
        xp, moved = TracedArrays(self.tables), object.__new__(type(state))
        for entry in fields(state):
            value = getattr(state, entry.name)
            object.__setattr__(moved, entry.name, xp.input(entry.name, value) if entry.name in self.moving else value)
        op = TracedOperator(self.subject.operator(state), xp)
        if self.handles:  # points that are dragged: their places, nan where none is
            name, *shape = self.handles
            object.__setattr__(moved, name, xp.input(name, np.full((*shape, 2), np.nan)))
        gathered, data = self.subject.live
        return self._described(xp, data(xp, moved, **gathered(moved, host(op), xp, op))) | ({"dragged": self.handles} if self.handles else {})

    def _described(self, xp, data) -> dict:
        """A picture with places for what moves, in each language, and the function that computes it."""
        outputs, shapes = {}, {}

        def place(value):
            key = "_".join(["o" + xp._named(value).replace("$.", "_"), *map(str, value.shape)])  # one variable may have several shapes
            outputs[key], shapes[key] = value, list(value.shape)
            return key

        def plain(value):
            if isinstance(value, Traced):
                return {"$": place(value)}
            if isinstance(value, Number):
                return {"#": plain(value.value), "form": value.form}
            if isinstance(value, Text):
                return {"%": value.text, "values": {name: plain(one) for name, one in value.values.items()}}
            if isinstance(value, Choice):
                return {"?": plain(value.which), "options": [plain(one) for one in value.options]}
            if isinstance(value, (tuple, list)):
                return [plain(one) for one in value]
            if isinstance(value, (np.generic, np.ndarray)):
                value = value.item()
            if isinstance(value, Axis):
                return {entry.name: plain(getattr(value, entry.name)) for entry in fields(value)}
            if isinstance(value, np.dtype):
                return str(value)
            if isinstance(value, Panel):
                return panel(value)
            return None if isinstance(value, float) and not np.isfinite(value) else value

        def mark(one):
            made = {"mark": type(one).__name__}
            for entry in fields(one):
                value = getattr(one, entry.name)
                if entry.type is np.ndarray and isinstance(value, Traced):
                    made[entry.name] = place(value)
                elif entry.type is np.ndarray:
                    array = np.ascontiguousarray(value, np.float32)
                    made[entry.name] = self.drawn.setdefault((array.shape, array.tobytes()), f"a{len(self.drawn)}")
                else:
                    made[entry.name] = plain(value)
            return made

        def panel(one: Panel | Choice):
            if isinstance(one, Choice):
                return plain(one)
            return {"name": one.name, "title": plain(one.title), "span": one.span, "height": one.height, "pick": list(one.pick),
                    "square": one.square, "rows": one.rows, "marks": [mark(each) for each in one.marks],
                    "x": plain(one.x), "y": plain(one.y)}
        pictures = {}
        for name in LANGUAGES:
            with in_language(name):
                pictures[name] = {"panels": [self._pooled(panel(one)) for one in self.subject.panels(data)],
                                  "headline": [self._pooled(plain(one)) for one in self.subject.headline(data)]}
        function = xp.script(outputs)
        return {"pictures": pictures, "shapes": shapes, "compute": self.functions.setdefault(function, len(self.functions))}

    def _pooled(self, part) -> int:
        return self.pool.setdefault(json.dumps(part, ensure_ascii=False, separators=(",", ":")), len(self.pool))


def _coded(kind: str, raw: bytes) -> list[str]:
    return [kind[1:], base64.b64encode(raw).decode()]


def _html(page: _Page, content: dict) -> str:
    content |= {"tables": {name: _coded(*array) for array, name in page.tables.items()},
             "drawn": {name: [_coded("<f4", raw), shape] for (shape, raw), name in page.drawn.items()},
             "pool": [json.loads(text) for text in page.pool],
             "colours": DRAWING | {"maps": {name: _coded("|u1", table.tobytes()) for name, table in MAPS.items()}}}
    parts = {"name": page.subject.name, "style": style(), "scripts": script((*SCRIPTS, *LIVE)), "functions": ",\n".join(page.functions),
             "content": json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")}
    return re.sub(r"\{\{(\w+)\}\}", lambda place: parts[place[1]], (FRONT / "page.html").read_text("utf-8"))
