"""Derive backward formulas from forward ones: the steps to read, the Python code, and the proof that it is the derivative."""

from dataclasses import dataclass, field
from functools import cached_property
from inspect import signature
from textwrap import indent

from sympy import Eq, Symbol

from aclnn_viz.arrays.calls import watched
from aclnn_viz.errors import invalid, listed, mistyped, shown
from aclnn_viz.proving.graph import Noted, NotedArrays
from aclnn_viz.proving.page_text import PLAIN, Writer, wrapped
from aclnn_viz.proving.proofs import Result, proved, refusal
from aclnn_viz.proving.reverse import Reverse
from aclnn_viz.proving.steps import Refused, generic
from aclnn_viz.proving.subjects import fixed, need_among, of_functions, parameter, rebound, size
from aclnn_viz.proving.symbolic import INT, REAL, SymbolicArrays
from aclnn_viz.words.messages import message
from derivations.prover.equality import proves_equal
from derivations.prover.notation import readable
from derivations.prover.sentences import SAID
from derivations.prover.tape import Step

WHY = {
    "define": message("The same term as in the forward pass."),
    "adjoint": message(
        "The chain rule: a sum over all values computed from it. Each term is the gradient of such a value times a derivative."
    ),
    "gone": message(
        "The chain rule gives the gradient 0, because no output depends on this input."
    ),
}


@dataclass(frozen=True)
class Derivation:
    """The gradients of a forward page: as `steps` of a lesson, as `latex`, and as `backward` with its text `source`."""

    forward: object
    source: str
    steps: tuple
    shapes: dict = field(repr=False)
    labels: dict = field(repr=False)
    wrt: tuple = field(repr=False)
    outputs: dict = field(repr=False)  # outputs of forward, with their lengths

    @property
    def latex(self) -> str:
        """The equations of all steps, one per line."""
        return (
            "\\begin{aligned}\n"
            + " \\\\\n".join(step.latex.replace(" = ", " &= ", 1) for step in self.steps)
            + "\n\\end{aligned}"
        )

    @cached_property
    def backward(self):
        """The function defined by `source`."""
        space = {}
        exec(compile(self.source, "<derived>", "exec"), space)
        return space["backward"]

    @cached_property
    def proof(self) -> Result:
        """The proof that `backward` is the derivative of `forward`, for all sizes."""
        return proved(
            self.forward.__name__,
            of_functions(self.forward, self.backward, self.shapes, self.labels, self.wrt),
        )

    def __str__(self) -> str:
        return self.source

    def _repr_markdown_(self) -> str:
        return "\n\n".join(step.shown for step in self.steps) + f"\n\n```python\n{self.source}```"


def derive(forward, wrt, saved=(), shapes=None, labels=None) -> Derivation:
    """Derive a backward page; `derive` of the package describes arguments and result."""
    labels = {} if labels is None else labels
    wrt, saved = (tuple(listed(*names, str)) for names in (("wrt", wrt), ("saved", saved)))
    taken = _checked(forward, wrt, saved, shapes, labels)
    paths, todo = [], [()]
    while todo:
        path = _Path(
            forward,
            wrt,
            saved,
            {x: tuple(map(size, shape)) for x, shape in shapes.items()},
            labels,
            todo.pop(),
        )
        paths.append(path)
        todo += [(*path.answers[:k], False) for k in range(len(path.given), len(path.answers))]
    used = set().union(*(path.used for path in paths))
    order = [
        *paths[0].upstream,
        *(n for n in taken if n in used),
        *(n for n in paths[0].outputs if n in saved and n in used and n not in taken),
    ]
    values = [f"{name}={value!r}" for name, value in fixed(forward).items()]
    about = f'    """The gradients of {forward.__name__}{", where " + ", ".join(values) if values else ""}."""\n'
    source = f"def backward(xp, {', '.join(order)}):\n{about}{indent(_tree(paths, 0), '    ')}"
    steps = tuple(dict.fromkeys(step for path in paths for step in path.steps))
    return Derivation(
        forward,
        source,
        steps,
        dict(shapes),
        labels,
        wrt,
        {y: a.lengths for y, a in paths[0].outputs.items()},
    )


def _checked(forward, wrt, saved, shapes, labels):
    try:
        taken = list(signature(forward).parameters)[1:]
    except (TypeError, ValueError):
        taken = []
    if not taken:
        raise mistyped(
            "derive takes a forward function",
            shown(forward),
            "pass such as def forward(xp, x, epsilon)",
        )
    for given, each, asked, fix in (
        (
            shapes,
            _is_shape,
            "derive needs shapes= of the tensors",
            '{"x": ("r", "n"), "gamma": ("n",)}',
        ),
        (labels, _is_length, "labels maps tensors of whole numbers to a length", '{"target": "n"}'),
    ):
        if not isinstance(given, dict) or not all(map(each, given.values())):
            raise mistyped(asked, shown(given), f"pass such as {fix}")
    need_among("shapes names the tensors that forward takes", shapes, taken)
    need_among("labels names tensors with a shape", labels, shapes)
    real = [name for name in shapes if name not in labels]
    need_among("wrt names inputs of real numbers with a shape", wrt, real)
    if not wrt:
        raise invalid(
            "wrt names the inputs whose gradients are wanted",
            "none",
            f"choose among {', '.join(shapes)}",
        )
    return taken


def _is_shape(shape):
    return isinstance(shape, tuple) and all(map(_is_length, shape))


def _is_length(n):
    return isinstance(n, str | int) and not isinstance(n, bool)


def _tree(paths, depth):
    """Return one body from the bodies of all paths through the page: nested ifs ask what parts the paths."""
    if len(paths) == 1:
        return paths[0].body
    sides = [[p for p in paths if p.answers[depth] is answer] for answer in (True, False)]
    return f"if {sides[0][0].questions[depth]}:\n{indent(_tree(sides[0], depth + 1), '    ')}{_tree(sides[1], depth + 1)}"


class _Path:
    """One path through the page's own Python."""

    def __init__(self, forward, wrt, saved, shapes, labels, given):
        self.forward, self.given, self.answers, asked = forward, given, list(given), []

        def decide(array):
            if array.place not in [a.place for a in asked]:
                asked.append(array)
                if len(self.answers) < len(asked):
                    self.answers.append(True)
            return self.answers[[a.place for a in asked].index(array.place)]

        self.xp = xp = NotedArrays(decide)
        self.leaves = {
            name: self._leaf(name, shapes, labels)
            for name in list(signature(forward).parameters)[1:]
        }
        self.names = {"xp", *self.leaves}
        self.shapes, self.labels = shapes, labels
        made = self._traced()
        if (
            not isinstance(made, dict)
            or not made
            or not all(str(name).isidentifier() for name in made)
        ):
            raise mistyped(
                "forward returns a dict of its outputs", shown(made), 'return such as {"y": y}'
            )
        need_among("saved names outputs of forward", saved, made)
        self.outputs = {name: xp.lift(value) for name, value in made.items()}
        self._outputs_kept(saved)
        differentiated = [name for k, name in enumerate(made) if not k or name not in saved]
        self.upstream = {f"d{name}": name for name in differentiated}
        clash = [d for d in (*self.upstream, *(f"d{x}" for x in wrt)) if d in self.names]
        if clash:
            raise invalid(
                "the names of gradients are free",
                f"{', '.join(clash)} in forward",
                "name it otherwise",
            )
        self.names |= set(self.upstream)
        ups = {name: xp.input(d, self.outputs[name].lengths) for d, name in self.upstream.items()}
        self._locals(forward)
        self.names |= {a.name for a in xp.arrays if a.name}
        try:
            self.reverse = Reverse(xp, self.outputs, ups, wrt, self._vanishes, self.fresh)
            self._write(list(ups.values()), wrt, asked)
        except Refused as error:
            raise invalid(
                "derive knows what the page does",
                str(error),
                "write it otherwise, or its backward by hand",
            ) from None

    def _leaf(self, name, shapes, labels):
        if name in shapes:
            return self.xp.input(name, shapes[name], INT if name in labels else REAL)
        if name in (kept := fixed(self.forward)):
            return kept[name]
        positive = {"positive": True} if parameter(name).is_positive else {}
        return self.xp.input(name, (), **positive)

    def fresh(self, name):
        found = next(
            n for n in (name, *(f"{name}{k}" for k in range(2, 999))) if n not in self.names
        )
        self.names.add(found)
        return found

    # The forward pass

    def _traced(self):
        """Run forward over recorded arrays, and keep its local names with their last values."""
        function = rebound(self.forward, self.xp.float, {})
        try:
            made, self.seen = watched(
                lambda: function(self.xp, **self.leaves),
                lambda frame: getattr(frame.f_globals.get("float"), "__self__", None) is self.xp,
            )
        except Exception as error:
            raise invalid(
                "derive knows what the page does",
                refusal(error),
                "write it otherwise, or its backward by hand",
            ) from error
        return made

    def _outputs_kept(self, saved):
        known = {}
        for name, a in self.outputs.items():
            # an output that is an input, or another output too, gets an array of its own
            if a.op in ("input", "number") or a.name in known:
                a = self.xp.made(
                    "adjoint", (a.symbol,), a.lengths, a.kind, ("output", name), a.symbol
                )
            known[name] = a
            a.name, a.given = name, name in saved
            self.names.add(name)
        self.outputs = known

    def _locals(self, forward):
        def name(array, text):
            if (
                isinstance(array, Noted)
                and not array.name
                and array.op not in PLAIN
                and text.isidentifier()
                and not text.startswith("_")
                and len(array.lengths) + (array.kind == REAL)
                and (text not in self.names or text in self.leaves)
            ):
                array.name = self.fresh(text)

        for last, (_, known, _) in enumerate(reversed(self.seen)):
            for text, array in known.items():
                if not last or text not in self.leaves:
                    name(array, text)
        for called, _, array in self.seen[:-1]:
            name(array, called)

    # The backward pass

    def _write(self, upstream, wrt, asked):
        gradients, zero = [], {}
        for x in wrt:
            leaf, e = self.leaves[x], self.reverse.gradients.get(x)
            if e is None or e == 0:
                zero[x] = f"xp.zeros_like({x})"
            gradients.append(
                self.reverse.exactly(e, leaf.lengths)
                if e is not None and e != 0
                else self.xp.lift(0).symbol
            )
        writer = Writer(
            self.reverse,
            upstream,
            [
                a
                for a in (*self.outputs.values(), *self.leaves.values())
                if isinstance(a, Noted) and a.given
            ],
            self.fresh,
        )
        questions = [a.symbol for a in asked]
        lines, texts = writer.body([*gradients, *questions])
        self.questions = texts[len(gradients) :]
        texts = [zero.get(x, text) for x, text in zip(wrt, texts)]
        self.used = {*writer.used, *zero}
        pairs = [f'"d{x}": {text}' for x, text in zip(wrt, texts)]
        one = f"return {{{', '.join(pairs)}}}\n"
        body = (
            one
            if len(one) < 110
            else "return {\n" + "".join(f"    {pair},\n" for pair in pairs) + "}\n"
        )
        self.body = "".join(
            wrapped(f"{name} = {text}") + "\n" for _, name, text in lines
        ) + "".join(wrapped(one) + "\n" for one in body.splitlines())
        rows = [
            (
                a,
                name,
                text,
                "adjoint" if a.op == "adjoint" and a.options[0] != "output" else "define",
            )
            for a, name, text in lines
        ]
        rows += [(self.leaves[x], f"d{x}", text, "adjoint") for x, text in zip(wrt, texts)]
        self.steps = [self._gone(u) for u, _ in self.reverse.gone]
        self.steps += [
            self._step(a, name, text, how)
            for a, name, text, how in rows
            if a.kind == REAL or a.op != "number"
        ]

    def _symbolic(self):
        """Return symbolic arrays of the same inputs and outputs, by name."""
        xp = SymbolicArrays(lambda e: True)
        known = {"xp": xp} | {
            name: xp.input(name, a.lengths, a.kind)
            if a.lengths
            else xp.number(Symbol(name, **a.symbol.assumptions0))
            for name, a in ((a.name, a) for a in self.xp.arrays if a.name.isidentifier())
        }
        return xp, known

    def _step(self, a, name, text, how):
        pattern = SAID["define"] if how == "define" else SAID["adjoint"]
        about = name if how == "define" else name[1:]
        xp, known = self._symbolic()
        for other, line in getattr(self, "made", {}).items():
            known.setdefault(other, line)
        try:
            made = eval(text, {"float": float}, known)
            index = tuple(
                ()
                if axis == ()
                else tuple(
                    Symbol("ijklmn"[k] if len(axis) == 1 else f"i{k}{m}", integer=True)
                    for m in range(len(axis))
                )
                for k, axis in enumerate(made.axes)
            )
            right = readable(made.at(made.axes, index))
            left = xp.named(name, [i for axis in index for i in axis], made.kind)
            equation, printed = Eq(left, right, evaluate=False), ""
            self.made = getattr(self, "made", {}) | {
                name: xp.input(name, tuple(a.lengths), made.kind)
            }
        except Exception:  # an operation without a formula of entries is shown as computed
            equation, printed = (
                None,
                r"\mathtt{%s} = \texttt{%s}" % (name, text.replace("_", r"\_")),
            )
        return Step(
            pattern.format(name=about), equation, WHY[how], printed, pattern=pattern, about=about
        )

    def _gone(self, u):
        name = u.name or u.op
        equation = Eq(Symbol(f"{name}bar"), 0, evaluate=False)
        return Step(
            SAID["adjoint"].format(name=name),
            equation,
            WHY["gone"],
            pattern=SAID["adjoint"],
            about=name,
        )

    def _vanishes(self, reverse, e):
        """Return whether the prover finds that an expression is 0 for all inputs."""
        taken = [a for a in self.xp.arrays if a.op == "input"]
        writer = _Whole(reverse, taken, taken, self.fresh)
        text, _ = writer.text(e)
        xp, known = self._symbolic()
        try:
            made = eval(text, known)
            index = generic(made.axes)
            ranges = {
                i: (0, n - 1) for axis, own in zip(index, made.axes) for i, n in zip(axis, own)
            }
            return bool(proves_equal(made.at(made.axes, index), 0, in_range=ranges | xp.granted))
        except Exception:  # an expression that is not proved to vanish is kept
            return False


class _Whole(Writer):
    """A writer of formulas in inputs alone."""

    def array(self, a):
        if a.op in ("number", "constant"):
            return super().array(a)
        return (a.name, 4) if a.op == "input" else self.made(a)
