"""Differentiate recorded forward formulas in reverse mode: the chain rule from the outputs back, each array after all its uses."""

from collections import defaultdict

from sympy import Add, Mul, S, diff, expand, factor, factor_terms

from aclnn_viz.proving.graph import STEPS
from aclnn_viz.proving.steps import Refused, replaced
from aclnn_viz.proving.symbolic import REAL

INLINED = ("add", "sub", "mul", "truediv", "pow")
OUTER = {  # derivative of each function by its operand z; u is the function's value
    "exp": lambda u, z: u,
    "sqrt": lambda u, z: 1 / (2 * u),
    "log": lambda u, z: 1 / z,
    "tanh": lambda u, z: 1 - u * u,
    "expm1": lambda u, z: u + 1,
    "log1p": lambda u, z: 1 / (1 + z),
}
LARGE_EXPRESSION = 90  # a larger expression, counted in operations, is not factored


class Reverse:
    """The gradients of the sum of `upstream` times `outputs` by the inputs `wrt`.

    `gradients` maps inputs to expressions. `gone` holds arrays that formulas name although no result depends on
    them, as `vanishes(self, expression)` finds. `fresh(name)` makes an unused name.
    """

    def __init__(self, xp, outputs, upstream, wrt, vanishes, fresh):
        self.xp, self.wrt, self.vanishes, self.fresh, self.values, self.gone = (
            xp,
            wrt,
            vanishes,
            fresh,
            {},
            [],
        )
        self.forward = list(xp.arrays)
        self.outputs = set(outputs.values())
        self.moving = set()
        for array in self.forward:
            if (
                array.op == "input"
                and array.name in wrt
                or array.kind == REAL
                and array.op not in STEPS
                and any(
                    xp.nodes.get(s) in self.moving
                    for e in self._entries(array)
                    for s in e.free_symbols
                )
            ):
                self.moving.add(array)
        self.known = [
            (found, array.given)
            for array in self.forward
            if array.given and array.op != "input" or self._reciprocal(array)
            if (found := self._solved(array))
        ]
        self.known += [
            (found, True)
            for y in self.forward
            if y.given and y.formula is not None
            for e in self.forward
            if e.op == "exp" and (found := self._exponential(e, y))
        ]
        self.adjoints, self.pieces, self.gradients = defaultdict(list), defaultdict(list), {}
        for name, d in upstream.items():
            self.adjoints[outputs[name]].append(d.symbol)
        for array in reversed(self.forward):
            if array in self.moving and (self.adjoints[array] or self.pieces[array]):
                self._back(array)

    @staticmethod
    def _entries(array):
        return array.takes[:1] if array.op == "take" else array.takes

    # Values of arrays

    def _reciprocal(self, array):
        """Return whether an array is a number over a term with exp, such as a sigmoid: such arrays shorten formulas."""
        return (
            array.op == "truediv"
            and array.takes[0].is_number
            and any(
                self.xp.nodes[s].op == "exp"
                for s in self.definition(array).free_symbols
                if s in self.xp.nodes
            )
        )

    def kept(self, array):
        return (
            array.op not in INLINED
            or bool(array.name)
            or array in self.outputs
            or self._reciprocal(array)
        )

    def value(self, array):
        """Return the expression of an array in terms of kept arrays."""
        if array.given or self.kept(array):
            return array.symbol
        made = self.definition(array)
        return made if self.xp.shape_of(made) == array.lengths else array.symbol

    def definition(self, array):
        if array not in self.values:
            self.values[array] = self.spread(array.formula)
        return self.values[array]

    def spread(self, e):
        return e.xreplace(
            {s: self.value(self.xp.nodes[s]) for s in e.free_symbols if s in self.xp.nodes}
        )

    def _solved(self, u):
        """Return (symbol of an array that is not given, its value by u) if the formula of u can be inverted without dividing by
        0.
        """
        if u.formula is None or u.op not in INLINED:
            return None
        g, value = self.definition(u), u.symbol
        while not g.is_Symbol:
            parts = g.args if g.is_Mul or g.is_Add else ()
            inner = [
                p
                for p in parts
                if not p.is_number
                and not (p.is_Symbol and (p not in self.xp.nodes or self._is_scalar(p)))
            ]
            if g.is_Pow and g.exp == -1:
                g, value = g.base, 1 / value
            elif g.is_Add and len(inner) == 1:
                g, value = inner[0], value - (g - inner[0])
            elif (
                g.is_Mul
                and (inner := [p for p in inner if not (p.is_Pow and p.exp.is_negative)])
                and len(inner) == 1
            ):
                g, value = inner[0], value / (g / inner[0])
            else:
                return None
        return None if g not in self.xp.nodes or self.xp.nodes[g].given else (g, value)

    def _exponential(self, e, y):
        """Return (symbol of e = exp(z), exp(y) * s) for a saved y = z - log(s), None for another y."""
        log = self.xp.nodes.get(expand(self.value(self.xp.nodes[e.takes[0]]) - self.definition(y)))
        if log is None or log.op != "log":
            return None
        return e.symbol, self.xp.exp(y).symbol * self.value(self.xp.nodes[log.takes[0]])

    def _is_scalar(self, s):
        return self.xp.nodes[s].given and not self.xp.nodes[s].lengths

    def restated(self, e):
        """Return an expression in terms of saved values; other values replace a part of it only if it gets shorter."""
        for (symbol, value), always in self.known:
            if e.has(symbol) and not (value.has(symbol)):
                other = tidy(e.xreplace({symbol: value}))
                if always or cost(other) < cost(tidy(e)):
                    e = other
        return e

    # The adjoint of one array

    def _total(self, u):
        total = Add(*self.adjoints[u])
        if self.pieces[u]:
            total += self._joined(u, self.pieces[u])
        return tidy(self.restated(total))

    def _back(self, u):
        a = self._total(u)
        if u.op == "input":
            self.gradients[u.name] = a
            return
        if u.op in ("max", "min") and self.vanishes(self, a):
            self.gone.append((u, a))
            return
        restated = any(always and u.symbol == symbol for (symbol, _), always in self.known)
        if (
            u.name
            and u not in self.outputs
            and not restated
            or u in self.outputs
            and not a.is_Symbol
        ):
            name = self.fresh(f"d{u.name}")
            a = self.xp.made("adjoint", (a,), self.xp.shape_of(a), REAL, (name,), a)
            a.name, a = name, a.symbol
        if u.op in OUTER:
            z = self.value(self.xp.nodes[u.takes[0]])
            self._chain(u, a * OUTER[u.op](u.symbol, z), z)
        elif u.formula is not None:
            self._chain(u, a, self.definition(u))
        elif rule := getattr(self, f"_{u.op.replace(' ', '_')}", None):
            rule(u, a, *(self.xp.nodes[s] for s in u.takes if s in self.xp.nodes))
        else:
            raise Refused(f"the derivative of {u.op}")

    def _chain(self, u, a, g):
        for s in sorted(
            g.free_symbols, key=lambda s: self.xp.nodes[s].place if s in self.xp.nodes else -1
        ):
            v = self.xp.nodes.get(s)
            if v in self.moving:
                self._add(v, self.unspread(self.restated(a * diff(g, s)), u.lengths, v.lengths))

    def _add(self, v, e):
        if e != 0:
            self.adjoints[v].append(e)

    # Derivatives through sums

    def unspread(self, e, have, want):
        """Return the sum of e, of shape `have`, over the axes that the shape `want` lacks or has with length 1."""
        front = len(have) - len(want)
        inner = [k for k in range(front, len(have)) if want[k - front] == 1 and have[k] != 1]
        if not front or not inner or e == 0:
            return self.total(self.total(e, have, inner, True), have, range(front), False)
        e, shape = (
            self.total(e, have, [*range(front), *inner], False),
            [n for k, n in enumerate(have) if k >= front and k not in inner],
        )
        return self.widened(e, shape, [k - front for k in inner])

    def widened(self, e, shape, places):
        """Insert axes of length 1 at these positions."""
        if not self.xp.shape_of(e):
            return e
        e, shape = self.exactly(e, shape), list(shape)
        for k in places:
            shape.insert(k, S.One)
            e = self.xp.made("new axis", (e,), shape, REAL, (k,)).symbol
        return e

    def total(self, e, have, axes, keepdims):
        """Return the sum of `e`, of shape `have`, along axes, with factors constant along the axes before the sum."""
        if e == 0 or not axes:
            return e
        if e.is_Add and len({self.xp.shape_of(term) for term in e.args}) > 1:
            e = tidy(e)
        shape, outside, summed = self.xp.shape_of(e), [], []
        own = [k - len(have) for k in axes]
        here = [k for k in own if -k <= len(shape) and shape[k] != 1]
        times = Mul(*(have[k] for k in own if k not in here))
        leading = list(axes) == list(range(len(axes)))
        for f in Mul.make_args(e):
            s = self.xp.shape_of(f)
            same = all(-k > len(s) or s[k] == 1 for k in here)
            outside.append(f) if same and (
                keepdims or not s or leading and len(s) <= len(have) - len(axes)
            ) else summed.append(f)
        if here:
            inner = Mul(*summed)
            shape = self.xp.shape_of(inner)
            chosen = tuple(k + len(shape) for k in here)
            after = [
                S.One if k in chosen else n
                for k, n in enumerate(shape)
                if keepdims or k not in chosen
            ]
            inner = self.xp.made("sum", (inner,), after, REAL, (chosen, keepdims, shape)).symbol
        else:
            inner = Mul(*summed)
        return self.restated(Mul(times, inner, *outside))

    def _sum(self, u, a, x):
        self._add(x, self._widened(u, a))

    def _widened(self, u, a):
        """Insert the axes that the sum `u` removed, with length 1, into its gradient `a`."""
        chosen, keepdims, have = u.options
        if keepdims or not self.xp.shape_of(a) or list(chosen) == list(range(len(chosen))):
            return a
        return self.widened(a, u.lengths, chosen)

    def _max(self, u, a, x):
        top = self.xp.along(u.op, x, u.options[0], True)
        self._add(x, self._widened(u, a) * (self.xp.nodes[self.value(x)] == top).symbol)

    _min = _max

    # Derivatives through moves of entries

    def exactly(self, e, shape):
        shape = tuple(shape)
        return (
            e
            if self.xp.shape_of(e) == shape
            else self.xp.made("broadcast_to", (e,), shape, REAL).symbol
        )

    def _moved(self, op, u, a, x, *options):
        self._add(
            x, self.xp.made(op, (self.exactly(a, u.lengths),), x.lengths, REAL, options).symbol
        )

    def _reshape(self, u, a, x):
        self._moved("reshape", u, a, x)

    def _permute_dims(self, u, a, x):
        self._moved("permute_dims", u, a, x, *(u.options.index(k) for k in range(len(u.options))))

    def _new_axis(self, u, a, x):
        made = self.xp.nodes.get(a)
        if made is not None and (made.op, made.options) == (u.op, u.options):
            self._add(x, made.takes[0])
            return
        self._moved("place", u, a, x, u.options[0], S.Zero)

    def _broadcast_to(self, u, a, x):
        self._add(x, self.unspread(a, u.lengths, x.lengths))

    def _astype(self, u, a, x):
        self._add(x, a)

    def _slice(self, u, a, x):
        self.pieces[x].append((*u.options, self.exactly(a, u.lengths)))

    def _place(self, u, a, x):
        axis, at = u.options
        a = self.exactly(a, u.lengths)
        self.pieces[x].append((axis, at, None, a))

    def _stack(self, u, a, *arrays):
        (axis,) = u.options
        shape, whole = replaced(u.lengths, axis), self.exactly(a, u.lengths)
        for k, x in enumerate(arrays):
            part = self.xp.made("place", (whole,), shape, REAL, (axis, S(k))).symbol
            self._add(x, self.unspread(part, shape, x.lengths))

    def _concat(self, u, a, *arrays):
        (axis,) = u.options
        before = S.Zero
        for x in arrays:
            after = expand(before + x.lengths[axis])
            self._add(
                x,
                self.xp.made(
                    "slice", (self.exactly(a, u.lengths),), x.lengths, REAL, (axis, before, after)
                ).symbol,
            )
            before = after

    def _joined(self, x, pieces):
        """Return the gradient of an array whose parts along one axis are used: these parts' gradients, with zeros between."""
        axis = pieces[0][0]
        if any(piece[0] != axis for piece in pieces):
            raise Refused("parts of one array along several axes")
        length, by_place = x.lengths[axis], defaultdict(list)
        for _, first, last, e in pieces:
            by_place[first, last].append(e)
        literal = length.is_Integer and all(last is None for _, last in by_place)
        if literal:
            parts, shape = (
                [by_place.get((S(k), None)) for k in range(int(length))],
                replaced(x.lengths, axis),
            )
            return self.xp.made(
                "stack",
                [Add(*part) if part else self._zeros(shape) for part in parts],
                x.lengths,
                REAL,
                (axis,),
            ).symbol
        ends, parts, at = {}, [], S.Zero
        for (first, last), es in by_place.items():
            e = Add(*es)
            if last is None:
                e, last = (
                    self.xp.made(
                        "new axis",
                        (e,),
                        replaced(x.lengths, axis, S.One),
                        REAL,
                        (axis,),
                    ).symbol,
                    first + 1,
                )
            ends[expand(first)] = expand(last), e
        while expand(at - length) != 0:
            if at in ends:
                last, e = ends.pop(at)
                parts.append(e)
            else:
                after = [first for first in ends if expand(first - at).is_positive]
                last = min(after, key=lambda f: cost(f - at)) if after else length
                if not expand(last - at).is_positive and last != length:
                    break
                parts.append(self._zeros(replaced(x.lengths, axis, expand(last - at))))
            at = last
        if ends:
            raise Refused("parts of one array that may overlap")
        return self.xp.made("concat", parts, x.lengths, REAL, (axis,)).symbol

    def _zeros(self, shape):
        return self.xp.made("full", (S.Zero, *shape), shape, REAL).symbol

    # Derivatives through lookups

    def _take(self, u, a, x, index):
        (axis,) = u.options
        if index.ndim != 1:
            raise Refused("a lookup at indices of other than one axis: flatten them first")
        (m, p), rest = (
            (x.lengths[axis], index.lengths[0]),
            replaced(x.lengths, axis),
        )
        a, rows, order = (
            self.exactly(a, u.lengths),
            Mul(*rest),
            [k for k in range(x.ndim) if k != axis] + [axis],
        )

        def made(op, e, shape, *options):
            return (
                e
                if op == "permute_dims"
                and options == tuple(range(len(options)))
                or op == "reshape"
                and self.xp.shape_of(e) == shape
                else self.xp.made(op, (e,), shape, REAL, options).symbol
            )

        a = made("reshape", made("permute_dims", a, (*rest, p), *order), (rows, p))
        found = self.xp.made(
            "scatter_add", (self._zeros((rows, m)), index.symbol, a), (rows, m), REAL
        ).symbol
        self._add(
            x,
            made(
                "permute_dims",
                made("reshape", found, (*rest, m)),
                x.lengths,
                *(order.index(k) for k in range(x.ndim)),
            ),
        )

    def _scatter_add(self, u, a, target, index, values):
        self._add(target, a) if target in self.moving else None
        if values in self.moving:
            self._add(
                values,
                self.xp.made(
                    "take", (self.exactly(a, u.lengths), index.symbol), values.lengths, REAL, (1,)
                ).symbol,
            )


def tidy(e):
    """Return the shortest of a few forms of an expression."""
    if not e.is_Add and not e.is_Mul or cost(e) > LARGE_EXPRESSION:
        return e
    forms = [e, factor_terms(e)]
    forms.append(factor(forms[1]))
    return min(forms, key=cost)


def cost(e):
    """Return the number of operations of an expression; a change of sign counts 0."""
    own = (
        len([arg for arg in e.args if arg != -1]) - 1
        if e.is_Add or e.is_Mul
        else abs(int(e.exp))
        if e.is_Pow and e.exp.is_Integer
        else 1
    )
    return max(own, 0) + sum(map(cost, e.args)) if e.args and not e.is_Number else 0
