"""Set up a proof: run forward and backward over inputs of symbolic sizes, under each combination of the operator's options."""

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from dis import get_instructions
from functools import cache
from inspect import signature
from itertools import combinations
from keyword import iskeyword
from math import prod
from types import FunctionType

import numpy as np
from sympy import Integer, KroneckerDelta, S, Symbol

from aclnn_viz.errors import invalid, mistyped, need
from aclnn_viz.operators.operator import Operator, combined
from aclnn_viz.operators.patterns import branch, chosen, formula, resolved, value
from aclnn_viz.operators.patterns import choices as patterns_of
from aclnn_viz.operators.shapes import BITS, is_plain
from aclnn_viz.proving.letters import Format, LetteredArray
from aclnn_viz.proving.steps import Refused
from aclnn_viz.proving.symbolic import BOOL, INT, REAL, Pieces, SymbolicArray, SymbolicArrays


@dataclass(frozen=True)
class Subject:
    """A forward and a backward pass, and their parameters: `inputs` maps names to (shape, kind), None if absent.

    `attributes` are values or symbols. `saved` and `upstream` map inputs of backward to outputs of forward, `gradient_of`
    outputs of backward to inputs of forward. `labels` maps an integer input to (number of classes, symbol of the ignored label
    or None). `options` names this combination; the lengths `several` are not 1.
    """

    name: str
    forward: Callable
    backward: Callable
    preludes: tuple  # preludes of forward and of backward; None without one
    inputs: dict
    attributes: dict
    saved: dict
    upstream: dict
    gradient_of: dict
    labels: dict = field(default_factory=dict)
    options: dict = field(default_factory=dict)
    several: tuple = ()

    def __str__(self):
        return ", ".join(f"{name}={value}" for name, value in self.options.items())

    def traced(self, held=False):
        """Yield a `Traced` for each path through the page's own Python; `held` makes maxima inputs."""
        todo = [()]
        while todo:
            given = todo.pop()
            made = list(given)
            asked = []

            def decide(e, asked=asked, made=made):
                e = e.xreplace({KroneckerDelta(n, 1): S.Zero for n in self.several})
                if e.is_Integer:
                    return e == 1
                if e not in asked:
                    asked.append(e)
                    made.append(True) if len(made) < len(asked) else None
                return made[asked.index(e)]

            traced = Traced(self, decide, {} if held else None)
            yield replace_questions(traced, dict(zip(asked, made)))
            todo += [(*made[:k], False) for k in range(len(given), len(asked))]


class Traced:
    """The results of both passes on symbolic inputs. `known` maps the path's questions to 0 or 1, `equal` symbols to values.

    `several` are the sizes above 1; `places` caches results.
    """

    def __init__(self, subject, decide, held=None):
        self.subject, self.xp = subject, SymbolicArrays(decide, held)
        self.leaves = {
            name: given and self.xp.input(name, *given) for name, given in subject.inputs.items()
        }
        attributes = {
            name: self.xp.number(value) if hasattr(value, "free_symbols") else value
            for name, value in subject.attributes.items()
        }
        self.given = self.leaves | attributes
        self.known, self.equal, self.several, self.places = {}, {}, set(), {}
        self.forward = self._called(subject.forward, subject.preludes[0], {})
        self.lookups = list(self.xp.lookups)
        self.xp.lookups.clear()
        self.backward = self._called(
            subject.backward,
            subject.preludes[1],
            {
                name: self.forward[of]
                for name, of in subject.saved.items()
                if subject.inputs.get(name, True) is not None
            },
        )
        self.leaves |= held or {}

    def _called(self, function, prelude, saved):
        copies, given = {}, self.given | saved
        if prelude:
            given |= self._run(prelude, given, copies)
        return self._run(function, given, copies)

    def _run(self, function, given, copies):
        names = list(signature(function).parameters)[1:]
        missing = [n for n in names if n not in given]
        if missing:
            raise Refused(f"{function.__name__} takes {', '.join(missing)}, which nothing gives")
        return rebound(function, self.xp.float, copies)(self.xp, **{n: given[n] for n in names})


def replace_questions(traced, answers):
    """Record the answers to questions: each becomes 0 or 1, and an equality that holds gives its symbol a value."""
    for e, answer in answers.items():
        solved = _solved(e if answer else 1 - e)
        if solved:
            traced.equal |= solved
        elif not answer:
            traced.several |= {size for size, value in (_solved(e) or {}).items() if value == 1}
        traced.known[e] = Integer(int(answer))
    return traced


def _solved(e):
    """Return {symbol: value} for an equality of a symbol, or None."""
    args = (
        e.args
        if isinstance(e, KroneckerDelta)
        else [d.args[0] for d in e.args]
        if e.is_Mul and len(e.args) == 2
        else ()
    )
    if isinstance(e, KroneckerDelta):
        difference = args[0] - args[1]
    elif args and (args[0] + args[1]).expand() == 0:
        difference = args[0]
    else:
        return None
    for s in difference.free_symbols:
        if (
            isinstance(s, Symbol)
            and difference.coeff(s, 1) in (1, -1)
            and not (difference - s * difference.coeff(s, 1)).has(s)
        ):
            return {s: -(difference - s * difference.coeff(s, 1)) / difference.coeff(s, 1)}
    return None


def _unasked(question):
    """Return a builtin that refuses arrays of a proof, because an array of numbers could answer otherwise."""

    def asked(value, *rest):
        if isinstance(value, Format) or isinstance(value, LetteredArray) and value.ndim:
            raise Refused(f"{question.__name__} of an array, of which a proof knows no type")
        return question(value, *rest)

    return asked


QUESTIONS = {
    question.__name__: _unasked(question)
    for question in (type, isinstance, hasattr, getattr, dir, id)
}


@cache
def _catches(code) -> bool:
    """Return whether a function catches exceptions: it could then continue where the proof stops."""
    return bool(code.co_exceptiontable) and any(
        step.opname == "PUSH_EXC_INFO" for step in get_instructions(code)
    )


def rebound(function, number, copies):
    """Return a copy of a function that asks nothing of arrays but numbers and sizes, nor do the functions that it calls.

    Its `float` is `number`, which accepts symbolic sizes.
    """
    if _catches(function.__code__):

        def function(*_, name=function.__name__, **__):
            raise Refused(f"{name} catches exceptions, or has a with statement")

        return function
    own = function.__globals__
    if id(own) not in copies:
        copies[id(own)] = made = QUESTIONS | own | {"float": number}
        made |= {
            name: rebound(value, number, copies)
            for name, value in own.items()
            if type(value) is FunctionType
        }
    made = FunctionType(
        function.__code__,
        copies[id(own)],
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def of_functions(forward, backward, shapes, labels, wrt=None) -> list[Subject]:
    """Return the subject of two functions; `shapes` maps forward's tensors to letters or numbers, other parameters are numbers.

    `labels` maps integer tensors to the length that they index. Backward returns the gradients of `wrt`, by default of all.
    """
    try:
        taken = [list(signature(f).parameters)[1:] for f in (forward, backward)]
    except ValueError as error:  # some classes and builtins have no signature
        raise mistyped(
            "two functions have parameters", str(error), "pass such as def forward(xp, x, epsilon)"
        ) from error
    need_among("shapes names the tensors that forward takes", shapes, taken[0])
    need_among("labels names tensors with a shape", labels, shapes)
    inputs = {
        name: (tuple(map(size, shape)), INT if name in labels else REAL)
        for name, shape in shapes.items()
    }
    attributes = {name: parameter(name) for name in taken[0] if name not in shapes} | fixed(forward)
    probe = _outputs(forward, inputs, attributes)
    upstream = {f"d{y}": y for y in probe if f"d{y}" in taken[1]}
    saved = {y: y for y in probe if y in taken[1] and y not in taken[0]}
    unknown = [name for name in taken[1] if name not in {*taken[0], *upstream, *saved}]
    if unknown or not upstream:
        raise invalid(
            "backward takes d and the name of each output, saved outputs and parameters of forward",
            ", ".join(taken[1]),
            "name them so",
        )
    inputs |= {d: (tuple(n.value for n in probe[y].shape), REAL) for d, y in upstream.items()}
    return [
        Subject(
            f"{forward.__name__}, {backward.__name__}",
            forward,
            backward,
            (None, None),
            inputs,
            attributes,
            saved,
            upstream,
            {f"d{x}": x for x in wrt or shapes if x not in labels},
            {x: (size(n), None) for x, n in labels.items()},
            fixed(forward),
        )
    ]


def need_among(asked, names, among):
    """Raise ValueError for names that are not in `among`."""
    if wrong := [name for name in names if name not in among]:
        raise invalid(asked, ", ".join(map(str, wrong)), f"choose among {', '.join(among)}")


def _outputs(forward, inputs, attributes):
    """Return the arrays that forward makes of symbolic inputs, by name."""
    subject = Subject("", forward, lambda xp: {}, (None, None), inputs, attributes, {}, {}, {})
    try:
        made = Traced(subject, lambda e: True).forward
    except Exception as error:
        # the page runs on arrays without numbers and may raise anything
        raise invalid(
            "forward uses operations that the prover knows for arrays of any size",
            f"{type(error).__name__}: {error}",
            "write forward with other operations",
        ) from error
    need(made, dict, "forward returns a dict of its outputs", 'return such as {"y": y}')
    kinds = SymbolicArray | Pieces
    for array in made.values():
        need(array, kinds, "an output of forward is an array", "make it of the inputs")
    return made


def fixed(forward):
    """Return {name: default} of the parameters that a proof fixes: the default is no float and no truth value."""
    return {
        name: p.default
        for name, p in signature(forward).parameters.items()
        if p.default is not p.empty and not isinstance(p.default, bool | float)
    }


def size(text):
    """Return a length: a number, a letter, or a formula of both such as 2*h."""
    if isinstance(text, int):
        return Integer(text)
    if (
        not isinstance(text, str)
        or any(map(iskeyword, re.findall(r"\w+", text)))
        or not re.fullmatch(r"[A-Za-z_]\w*( *[-+*] *\w+)*|\d+( *[-+*] *\w+)*", text)
    ):
        raise invalid(
            "a length is a number, a letter or a formula of both",
            repr(text),
            'write such as "n" or "2*n"',
        )
    return S(
        eval(
            text,
            {
                letter: Symbol(letter, integer=True, positive=True)
                for letter in re.findall(r"[A-Za-z_]\w*", text)
            },
        )
    )


def parameter(name, c_type="double"):
    return Symbol(
        name,
        **(
            {"positive": True}
            if name in ("eps", "epsilon")
            else {"integer": True}
            if "int" in c_type
            else {"real": True}
        ),
    )


def of_operator(op: Operator, page=None) -> list[Subject]:
    """Return one subject for each combination of an operator's options, with its own backward pass or another page's."""
    page = page or op.page
    seen = {
        name
        for f in (op.page.forward, page.backward, getattr(page, "PRELUDE", None))
        if f
        for name in signature(f).parameters
    }
    seen |= {name for text in op.sizes.values() for name in formula(text).co_names}
    fixed, choices = {}, {}
    for name, a in op.attributes.items():
        if a.follows:
            continue
        if (lengths := _lengths(op, name, size)) is not None:
            fixed[name] = lengths
        elif any(
            pattern.placed == name
            for tensor in op.tensors.values()
            for pattern in patterns_of(tensor.shape)
        ):
            fixed[name] = 1  # such as dim, the index of an axis: one axis comes before it
        elif name not in seen:
            fixed[name] = True if isinstance(a.default, bool) and not a.values else a.default
        elif "Array" in a.c_type:
            fixed[name] = (True,) * a.length if "Bool" in a.c_type else a.default
        elif a.values:
            choices[name] = a.values
        elif isinstance(a.default, bool):
            choices[name] = (False, True)
        elif isinstance(a.default, str):
            fixed[name] = a.default
        else:
            fixed[name] = parameter(name, a.c_type)
    optional = [name for name, tensor in op.tensors.items() if tensor.optional]
    reserved = tuple(name for name, tensor in op.tensors.items() if tensor.reserved)
    found, first = [], tuple(one[0] for one in choices.values())
    for values in combined(choices, op.apart):
        for count in range(len(optional) + 1 if not op.apart else 1 + (values == first)):
            for some in combinations(optional, count):
                absent, mode = some + reserved, dict(zip(choices, values))
                for attributes in _allowed(op, fixed | mode, absent):
                    zero = {name: 0 for name, value in attributes.items() if value is S.Zero}
                    alone = not set(op.kept.values()) <= set(absent) and not (
                        op.apart and (some or values != first)
                    )
                    found += [
                        _subject(op, page, attributes, absent, mode | zero, each)
                        for each in (False, True)[: 1 + alone]
                    ]
    return found


def _subject(op, page, attributes, absent, mode, alone):
    """Return one subject; if `alone`, broadcast tensors have length 1 along the axes of several elements."""
    stretched = {
        letter
        for of in op.kept.values()
        for letter in chosen(op.tensors[of].shape, attributes).stretched
    }
    sizes, xp = _sizes(op, attributes, size), SymbolicArrays(lambda e: True)
    for letter, text in op.sizes.items():
        known = {
            name: v if isinstance(v, tuple) else xp.lift(v)
            for name, v in (attributes | sizes).items()
            if not isinstance(v, str | None)
        }
        if not text.isidentifier():
            sizes[letter] = xp.lift(value(text, known)).value
    inputs = _inputs(op, page, attributes, absent, sizes, alone)
    attributes = attributes | {
        name: prod(inputs[of][0])
        if of in inputs
        else prod(sizes[of])
        if isinstance(sizes[of], tuple)
        else sizes[of]
        for name, of in op.counts.items()
    }
    labels = {
        name: (sizes[found[0]], found[1])
        for name, given in inputs.items()
        if given and given[1] == INT and (found := _labels(op, attributes, absent, name))
    }
    options = (
        mode
        | {name: None for name in absent if not op.tensors[name].reserved}
        | (dict.fromkeys(op.kept.values(), "broadcast") if alone else {})
    )
    return Subject(
        op.name,
        op.page.forward,
        page.backward,
        tuple(getattr(p, "PRELUDE", None) for p in (op.page, page)),
        inputs,
        attributes,
        op.saved,
        {d: y for d, y in op.upstream.items() if d not in absent},
        {
            out: x
            for out, x in op.gradient_of.items()
            if x not in absent and op.tensors[out].asked not in absent
        },
        labels,
        options,
        tuple(sizes[letter] for letter in stretched) if alone else (),
    )


def _inputs(op, page, attributes, absent, sizes, alone):
    """Return (shape, kind) of each tensor that backward reads, None for an absent one."""
    inputs = {}
    for name, tensor in op.tensors.items():
        is_output = name in op.gives and name not in op.takes and name not in op.saved
        if tensor.reserved or name in op.gradient_of or is_output:
            continue
        pattern = chosen(tensor.shape, attributes)
        is_single = alone and name in op.kept.values()
        own = pattern.narrowed((S.One,) * len(pattern.axes)) if is_single else {}
        shape = pattern.page_shape(sizes | own)
        shape += (1,) * (len(branch(page.AXES[name], attributes)) - len(shape))
        inputs[name] = None if name in absent else (shape, _kind(tensor)[0])
    return inputs


def _kind(tensor):
    """Return the kind of a tensor's numbers here, and their dtype in NumPy."""
    return (
        (BOOL, np.uint8 if tensor.dtype == BITS else bool)
        if tensor.dtype.startswith("bool") or tensor.dtype == BITS
        else (INT, np.int64)
        if is_plain(tensor.dtype)
        else (REAL, np.float32)
    )


def _sizes(op, attributes, of):
    """Return {letter: length} for the declaration; a letter for any number of axes has a tuple of one length."""
    patterns = [chosen(tensor.shape, attributes) for tensor in op.tensors.values()]
    starred = {n for p in patterns for n in p.starred}
    return {n: (of(n),) if n in starred else of(n) for p in patterns for n in p.names}


def _lengths(op, name, of):
    """Return the lengths that an attribute gives, as one value or a tuple of entries; None for other attributes."""
    entries = [of(letter) for letter, by in op.sizes.items() if re.fullmatch(rf"{name}\[\d+\]", by)]
    return tuple(entries) or next(
        (of(letter) for letter, by in op.sizes.items() if by == name), None
    )


def _numbers(op, attributes, primes):
    """Return numeric lengths for all letters, by their formulas if they have one."""
    sizes = _sizes(op, attributes, defaultdict(iter(primes).__next__).__getitem__)
    formulas = {
        letter: text
        for letter, text in op.sizes.items()
        if not re.fullmatch(r"\w+(\[\d+\])?", text)
    }
    found = resolved(
        {letter: n for letter, n in sizes.items() if letter not in formulas}, formulas, attributes
    )
    return found | {
        many: prod(found[name] for name in many.split("*")) for many in op.sizes if "*" in many
    }


def _concrete(op, attributes, absent, sizes):
    """Return arrays and attributes for backward in the form that a caller passes."""
    inputs = {}
    for parameter in op.parameters:
        name = parameter.name
        if name in op.tensors:
            tensor = op.tensors[name]
            shape = chosen(tensor.shape, attributes).shape(sizes)
            shape = (-(-prod(shape) // 8),) if tensor.dtype == BITS else shape
            made = None if name in absent else op.usual(name, attributes, sizes)
            inputs[name] = (
                made if made is not None or name in absent else np.zeros(shape, _kind(tensor)[1])
            )
        elif name in attributes and not hasattr(attributes[name], "free_symbols"):
            inputs[name] = attributes[name]
        elif op.attributes[name].follows:
            inputs[name] = value(op.attributes[name].low, sizes)
        if (lengths := _lengths(op, name, sizes.get)) is not None:
            inputs[name] = lengths
    return {name: value for name, value in inputs.items() if value is not None}


def _accepts(op, inputs):
    try:
        op.arrange_backward(**op.bind(inputs))
    except ValueError:
        return False
    return True


def _allowed(op, attributes, absent):
    """Return combinations of attributes that the declaration accepts; a number that must keep its default does.

    An attribute with minimum 0 is positive in one combination and 0 in another. Nothing is returned if all are refused.
    """
    sizes = _numbers(op, attributes, (4, 3, 5, 7, 11, 13, 2, 17, 19, 23))
    inputs = _concrete(op, attributes, absent, sizes)
    found, ends = dict(attributes), []
    for name, given in attributes.items():
        if (
            name in {p.name for p in op.parameters}
            and hasattr(given, "free_symbols")
            and not given.is_integer
        ):
            if not _accepts(op, inputs | {name: 0.3}):
                if op.attributes[name].default is None:
                    return []
                found[name] = op.attributes[name].default
            elif not _accepts(op, inputs | {name: -0.3}):
                found[name] = Symbol(name, positive=True)
                ends += [name] * _accepts(op, inputs | {name: 0.0})
    defaults = {
        name: value
        for name, value in found.items()
        if name in {p.name for p in op.parameters} and not hasattr(value, "free_symbols")
    }
    if not _accepts(op, inputs | {n: v for n, v in defaults.items() if n not in inputs}):
        return []
    return [
        found | dict.fromkeys(zeros, S.Zero)
        for count in range(len(ends) + 1)
        for zeros in combinations(ends, count)
    ]


def _labels(op, attributes, absent, name):
    """Return (the length that labels index, the attribute of the ignored label), as found by trying the declaration's rules."""
    found = []
    for primes in ((5, 3, 7, 11, 13, 2, 17, 19), (3, 5, 13, 7, 11, 2, 17, 19)):
        sizes = _numbers(op, attributes, primes)
        inputs = _concrete(op, attributes, absent, sizes)
        most = max(n for n in sizes.values() if isinstance(n, int))
        takes = [
            v
            for v in range(-2, most + 2)
            if _accepts(op, inputs | {name: np.full_like(inputs[name], v)})
        ]
        found.append(
            {
                letter
                for letter, n in sizes.items()
                if isinstance(n, int) and takes == list(range(n))
            }
        )
    letters = found[0] & found[1]
    if not letters:
        return None
    beside = [
        a
        for a, value in attributes.items()
        if getattr(value, "is_integer", False)
        and hasattr(value, "free_symbols")
        and _accepts(op, inputs | {name: np.full_like(inputs[name], 77), a: 77})
    ]
    return letters.pop(), attributes[beside[0]] if beside else None
