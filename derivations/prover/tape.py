"""Reverse-mode derivation over named intermediates, recorded step by step, each an equation with its reason."""

from dataclasses import dataclass, field
from functools import cached_property

from sympy import Add, Eq, Expr, Indexed, IndexedBase, S, Sum, Symbol

from derivations.prover.expressions import fresh_index, substitute
from derivations.prover.gradient import gradient
from derivations.prover.normal_form import normal_form
from derivations.prover.notation import latex, readable
from derivations.prover.ranges import Ranges
from derivations.prover.sentences import SAID, said


@dataclass(frozen=True)
class Step:
    """One line of a derivation: `equation` (a SymPy Eq) and its reason `why`; `printed` replaces its LaTeX.

    Programs find the step by its `title`; `about` is the array in a title made from `pattern`.
    """

    title: str
    equation: Eq
    why: str
    printed: str = ""
    letters: dict = field(default_factory=dict, compare=False, repr=False)
    pattern: str = field(default="", repr=False)
    about: str = field(default="", repr=False)

    @cached_property
    def latex(self):
        """The line as LaTeX, with `letters` for bound indices by their length; computed on first use."""
        return self.printed or latex(self.equation, self.letters)

    @property
    def texts(self):
        """The texts of the step: its title, with {name} for the name in it, and its reason."""
        return self.pattern or self.title, self.why

    @property
    def shown(self):
        """The step in a notebook's form and the chosen language."""
        title, why = self.texts
        title = said(title, name=self.about) if self.pattern else said(title)
        return f"{said(SAID['step'], title=title, why=said(why))}\n\n$${self.latex}$$"


@dataclass(frozen=True)
class Node:
    """A named array: its indices with their lengths, and its definition (None for an input)."""

    name: str
    base: IndexedBase | Symbol
    indices: dict
    definition: Expr | None = None
    rewrite: object = None

    def at(self, *indices):
        return self.base[indices] if self.indices else self.base

    @property
    def entry(self):
        return self.at(*self.indices)

    @property
    def adjoint(self):
        """The node for the derivative of the scalar loss by this array."""
        name = self.name + "bar"
        return Node(
            name,
            IndexedBase(name, real=True) if self.indices else Symbol(name, real=True),
            self.indices,
        )


class Tape:
    """Definitions in order, then their adjoints in reverse.

    The adjoint of a node v is the derivative by v of the scalar loss L = sum of (given adjoint of the output) * output. It is
    the sum, over every later node u that uses v, of the adjoint of u times the derivative of u by v.

    >>> from sympy import symbols
    >>> i, n = symbols("i n", integer=True, positive=True)
    >>> tape = Tape()
    >>> x = tape.input("x", {i: n})
    >>> y = tape.define("y", {i: n}, x[i] ** 2, "square")
    >>> tape.backward("y", IndexedBase("dy", real=True)[i], ["x"], {"x": "Chain rule.", "y": "Given."})
    >>> tape.adjoint("x")
    2*dy[i]*x[i]
    """

    def __init__(self, letters=None):
        self.nodes, self.steps, self.adjoints, self.conclusions = {}, [], {}, {}
        self.letters = letters or {}

    def input(self, name, indices=(), **assumptions):
        """Declare an input array with {index: length}; return its IndexedBase, or a Symbol without indices."""
        return self._add(name, dict(indices), None, None, assumptions)

    def define(self, name, indices, definition, why, title=None, rewrite=None, **assumptions):
        """
        Define an intermediate array entry by entry.

        `rewrite` may restate a local derivative of this node with the names of other nodes.
        """
        base = self._add(name, dict(indices), definition, rewrite, assumptions)
        self._record(title or (SAID["define"], name), self.nodes[name].entry, definition, why)
        return base

    def _add(self, name, indices, definition, rewrite, assumptions):
        assumptions = {"real": True, **assumptions}
        base = IndexedBase(name, **assumptions) if indices else Symbol(name, **assumptions)
        self.nodes[name] = Node(name, base, indices, definition, rewrite)
        return base

    def _record(self, title, left, right, why):
        """Append a step; `title` is a text, or a pattern with a name."""
        equation = Eq(left, readable(right, self.letters), evaluate=False)
        pattern, name = ("", "") if isinstance(title, str) else title
        title = pattern.format(name=name) or title
        self.steps.append(
            Step(title, equation, why, letters=self.letters, pattern=pattern, about=name)
        )

    def backward(self, output, given, wanted, reasons):
        """Derive the adjoints of the `wanted` inputs and of all nodes between them and `output`.

        `given` is the adjoint of the entry of `output`; `reasons` explains for each node why its equation holds.
        """
        relevant = set(wanted)
        for node in self.nodes.values():
            if node.definition is not None and any(
                node.definition.has(self.nodes[r].base) for r in relevant
            ):
                relevant.add(node.name)
        contributions = {output: [given]}
        for node in reversed(list(self.nodes.values())):
            if node.name not in contributions:
                continue
            total = Add(*contributions[node.name])
            self.adjoints[node.name] = total
            self._record(
                (SAID["adjoint"], node.name), node.adjoint.entry, total, reasons[node.name]
            )
            for parent in map(self.nodes.get, relevant if node.definition is not None else ()):
                if node.definition.has(parent.base):
                    contributions.setdefault(parent.name, []).append(
                        self._contribution(node, parent)
                    )

    def _contribution(self, node, parent):
        """Return the sum over entries of `node` of its adjoint times its derivative by an entry of `parent`."""
        fresh = {index: fresh_index(index.name) for index in parent.indices}
        local = gradient(node.definition, parent.at(*fresh.values()))
        if node.rewrite:
            local = node.rewrite(local)
        total = node.adjoint.entry * local
        if node.indices:
            total = Sum(total, *[(index, 0, length - 1) for index, length in node.indices.items()])
        lengths = {fresh[index]: (0, length - 1) for index, length in parent.indices.items()}
        term = normal_form(total, Ranges(lengths))
        return readable(substitute(term, {new: old for old, new in fresh.items()}), self.letters)

    def adjoint(self, name, keep=()):
        """Return the adjoint of a node in terms of inputs, intermediates, the given adjoint and the adjoints of `keep`."""
        return self._replaced(
            self.adjoints.get(name, S.Zero),
            {
                node.adjoint.base: (node.indices, self.adjoints[node.name])
                for node in self.nodes.values()
                if node.name in self.adjoints and node.name not in keep
            },
        )

    def inline(self, e, keep=()):
        """Replace the intermediates in `e`, except those of `keep`, by their definitions."""
        return self._replaced(
            e,
            {
                node.base: (node.indices, node.definition)
                for node in self.nodes.values()
                if node.definition is not None and node.name not in keep
            },
        )

    def conclude(self, name, indices, documented, node, why):
        """Record that the documented formula of the output `name` equals the derived adjoint of `node`."""
        base = IndexedBase(name, real=True) if indices else Symbol(name, real=True)
        self._record(
            (SAID["documented"], name), base[tuple(indices)] if indices else base, documented, why
        )
        self.conclusions[name] = self.nodes[node].adjoint.name

    @staticmethod
    def _replaced(e, definitions):
        while True:
            entries = [a for a in e.atoms(Indexed, Symbol) if getattr(a, "base", a) in definitions]
            if not entries:
                return e
            e = e.xreplace({a: _entry(definitions[getattr(a, "base", a)], a) for a in entries})


def _entry(definition, entry):
    """Return the definition (indices, expression) of an array for one of its entries, with that entry's indices.

    Indices bound inside the definition get new names, to avoid confusion with the entry's.
    """
    indices, e = definition
    return substitute(e, dict(zip(indices, entry.indices)) if indices else {})
