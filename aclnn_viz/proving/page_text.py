"""Write derived gradients as Python code, the `backward` of a page.py, from expressions over recorded arrays."""

from collections import Counter

from sympy import Integer, Mul, Pow, Rational, S, expand

from aclnn_viz.proving.graph import INFIX
from aclnn_viz.proving.reverse import INLINED, tidy
from aclnn_viz.proving.steps import Refused
from aclnn_viz.proving.symbolic import BOOL, INT, REAL

SUM, PRODUCT, ATOM = 2, 3, 4  # precedences in a written formula; a comparison has the lowest, 1
# operations that may be written several times instead of named
PLAIN = ("number", "constant", "new axis", "place", "input")
CALLED = {
    "sqrt": "root",
    "sum": "total",
    "max": "top",
    "min": "least",
    "truediv": "ratio",
    "take": "picked",
    "scatter_add": "found",
    "gt": "above",
    "ge": "above",
    "lt": "below",
    "le": "below",
    "maximum": "larger",
    "minimum": "smaller",
    "and": "both",
    "arange": "places",
    "abs": "size",
    "full": "zeros",
    "astype": "whole",
    "where": "chosen",
}
WIDE = 112  # most characters of a line


class Writer:
    """The text of one body of `backward`: `lines` maps arrays to names, `used` holds the parameters that it reads."""

    def __init__(self, reverse, upstream, inputs, fresh):
        self.reverse, self.xp, self.upstream, self.inputs, self.fresh = (
            reverse,
            reverse.xp,
            upstream,
            inputs,
            fresh,
        )
        self.lines, self.used, self.seen = {}, {}, Counter()

    def body(self, roots):
        """Return [(array, name, text)] of the lines, and the texts of the roots."""
        while True:
            self.seen, self.used, self.needed, texts = Counter(), {}, set(), []
            texts = [self.text(e)[0] for e in roots]
            found, todo = {}, True
            while todo:
                todo = [a for a in self.needed if a not in found]
                for a in todo:
                    found[a] = self.made(a)[0]
            twice = [
                a
                for a, n in self.seen.items()
                if n > 1 and a.op not in PLAIN and not (a.op == "astype" and a.kind == REAL)
            ]
            wide = [
                a
                for a in self.seen
                if a.op in ("sum", "scatter_add", "take")
                and any(len(t) > WIDE and self.inline(a) in t for t in (*texts, *found.values()))
            ]
            if not twice and not wide:
                return [
                    (a, self.lines.get(a) or a.name, found[a])
                    for a in sorted(found, key=lambda a: a.place)
                ], texts
            a = max(twice or wide, key=lambda a: a.place)
            self.lines[a] = self.fresh(CALLED.get(a.op, a.op if a.op.isidentifier() else "part"))

    def inline(self, a):
        before = self.seen, self.used, self.needed
        self.seen, self.used, self.needed = Counter(), {}, set()
        found = self.made(a)[0]
        self.seen, self.used, self.needed = before
        return found

    # Text of arrays

    def array(self, a):
        if a.op == "number":
            return self.number(a.symbol)
        if a.op == "constant":
            return str(a.symbol), ATOM
        if a.given:
            self.used[a.name] = a
            return a.name, ATOM
        if a.name or a in self.lines:
            self.needed.add(a)
            return self.lines.get(a) or a.name, ATOM
        self.seen[a] += a.op not in INLINED or self.reverse.kept(a)
        return self.made(a)

    def one(self, e, whole=False):
        return self.text(e, whole)[0]

    def tight(self, e, least=ATOM, whole=False):
        text, held = self.text(e, whole)
        return text if held >= least else f"({text})"

    def made(self, a):
        """Return the text and the precedence of an array's operation."""
        call = getattr(self, f"_{a.op.replace(' ', '_')}", None)
        if call:
            return call(a)
        whole = a.kind == INT
        if a.op in INLINED or a.op == "adjoint":
            return self.text(a.formula if a.op == "adjoint" else self.reverse.definition(a), whole)
        if a.op in INFIX:
            sides = [
                self.tight(e, SUM if a.op not in ("and", "or") else ATOM, self._counts(a))
                for e in a.takes
            ]
            return f"{sides[0]} {INFIX[a.op]} {sides[1]}", PRODUCT if a.op == "floordiv" else 1
        if a.op == "not":
            return f"~{self.tight(a.takes[0])}", ATOM
        return f"xp.{a.op}({', '.join(self.one(e, whole) for e in a.takes)})", ATOM

    def _counts(self, a):
        return all(e.is_integer and not e.is_number for e in a.takes) or any(
            s in self.xp.nodes and self.xp.nodes[s].kind == INT
            for e in a.takes
            for s in e.free_symbols
        )

    def _guard(self, a):
        ends, named = a.options
        return (
            f"xp.guard({', '.join([self.one(a.takes[0]), *map(repr, ends), *(f'{n}={v!r}' for n, v in named)])})",
            ATOM,
        )

    def _dtype(self, kind):
        self.used[self.upstream[0].name] = self.upstream[0]
        return {REAL: f"{self.upstream[0].name}.dtype", INT: "xp.int64", BOOL: "xp.bool"}[kind]

    def _shape(self, lengths):
        texts = [self.length(n) for n in lengths]
        return f"({', '.join(texts)}{',' * (len(texts) == 1)})"

    def _astype(self, a):
        return f"xp.astype({self.one(a.takes[0])}, {self._dtype(a.kind)})", ATOM

    def _full(self, a):
        value, shape, dtype = a.takes[0], self._shape(a.lengths), self._dtype(a.kind)
        if value in (0, 1):
            return f"xp.{'ones' if value else 'zeros'}({shape}, dtype={dtype})", ATOM
        return f"xp.full({shape}, {self.number(value, a.kind == INT)[0]}, dtype={dtype})", ATOM

    def _broadcast_to(self, a):
        return (
            f"{self.tight(a.takes[0], SUM)} + xp.zeros({self._shape(a.lengths)}, dtype={self._dtype(REAL)})",
            SUM,
        )

    def _arange(self, a):
        return f"xp.arange({self.length(a.takes[0])}, dtype={self._dtype(a.kind)})", ATOM

    def _permute_dims(self, a):
        order, x = list(a.options), self.one(a.takes[0])
        for source in range(len(order)):
            for destination in range(len(order)):
                moved = [k for k in range(len(order)) if k != source]
                moved.insert(destination, source)
                if moved == order:
                    return f"xp.moveaxis({x}, {source}, {destination})", ATOM
        return f"xp.permute_dims({x}, {a.options})", ATOM

    def _reshape(self, a):
        return f"xp.reshape({self.one(a.takes[0])}, {self._shape(a.lengths)})", ATOM

    def _part(self, a, axis, what):
        text, parts = self.tight(a.takes[0]), [":"] * axis + [what]
        before = text[text.rfind("[") + 1 : -1].split(", ")
        if (
            a.op == "new axis"
            and text.endswith("]")
            and set(before) <= {":", "None"}
            and len(before) <= axis
        ):
            return f"{text[: text.rfind('[')]}[{', '.join(before + parts[len(before) :])}]", ATOM
        return f"{text}[{', '.join(parts)}]", ATOM

    def _new_axis(self, a):
        return self._part(a, a.options[0], "None")

    def _slice(self, a):
        axis, first, last = a.options
        return self._part(
            a, axis, f"{'' if first == 0 else self.length(first)}:{self.length(last)}"
        )

    def _place(self, a):
        return self._part(a, a.options[0], self.length(a.options[1]))

    def _take(self, a):
        x, index = a.takes
        return f"xp.take({self.one(x)}, {self.one(index, True)}, axis={a.options[0]})", ATOM

    def _scatter_add(self, a):
        target, index, values = a.takes
        return (
            f"xp.scatter_add({self.one(target)}, {self.one(index, True)}, {self.one(values)})",
            ATOM,
        )

    def _stack(self, a):
        return f"xp.{a.op}([{', '.join(map(self.one, a.takes))}], axis={a.options[0]})", ATOM

    _concat = _stack

    def _sum(self, a):
        axes, keepdims, shape = a.options
        axis = (
            axes[0] - (len(shape) if keepdims else 0)
            if len(axes) == 1
            else tuple(k - len(shape) for k in axes)
            if keepdims
            else axes
        )
        return (
            f"xp.{a.op}({self.one(a.takes[0])}, axis={axis}{', keepdims=True' if keepdims else ''})",
            ATOM,
        )

    _max = _min = _sum

    # Text of numbers and lengths

    def number(self, e, whole=False):
        if e.is_Integer:
            return (str(e) if whole else f"{e}.0"), ATOM if e >= 0 else SUM
        if e.is_Rational:
            exact = Rational(repr(float(e))) == e or e.q & (e.q - 1) == 0
            return (
                (repr(float(e)), ATOM if e >= 0 else SUM)
                if exact
                else (f"{e.p}.0 / {e.q}.0", PRODUCT if e >= 0 else SUM)
            )
        if e.is_number:
            return repr(float(e)), ATOM if e >= 0 else SUM
        return self.text(e, whole)

    def length(self, e):
        """Return the text of a size: a number, the length of a parameter's axis, or a formula of these."""
        if e.is_Integer:
            return str(e)
        for a in (*self.upstream, *self.inputs):
            for k, n in enumerate(a.lengths):
                if n == e:
                    self.used[a.name] = a
                    return f"{a.name}.shape[{k}]"
        if e.is_Symbol:
            if e in self.xp.nodes and self.xp.nodes[e].op != "number":
                return self.array(self.xp.nodes[e])[0]
            for a in (*self.upstream, *self.inputs):
                for k, n in enumerate(a.lengths):
                    factor = n / e
                    if factor.is_Integer:
                        self.used[a.name] = a
                        return f"{a.name}.shape[{k}] // {factor}"
            raise Refused(f"the length {e}, which no axis has")
        return self.text(e, True)[0]

    # Text of formulas

    def text(self, e, whole=False):
        e = S(e)
        asked = sorted(
            (
                a
                for s in e.free_symbols
                if (a := self.xp.nodes.get(s)) is not None and a.kind == BOOL
            ),
            key=lambda a: a.place,
        )
        if asked and not e.is_Symbol:
            apart = self._apart(e, asked)
            if apart:
                return " + ".join(self.tight(part, SUM) for part in apart), SUM
            return self._chosen(e, asked)
        if e.is_number:
            return self.number(e, whole)
        if e.is_Symbol:
            a = self.xp.nodes.get(e)
            if a is None or a.op == "number":
                text = self.length(e)
                return text, ATOM if " " not in text else PRODUCT
            return self.array(a)
        if e.is_Add:
            terms = sorted(e.args, key=self._order)
            terms.sort(key=self._negative)
            texts = [self._term(t, k, whole) for k, t in enumerate(terms)]
            return "".join(texts), SUM
        if e.is_Mul:
            return self._product(e, whole)
        if e.is_Pow:
            return self._power(e, whole)
        raise Refused(f"{type(e).__name__} in a gradient")

    def _term(self, t, k, whole):
        if self._negative(t):
            return f"{' - ' if k else '-'}{self.tight(-t, PRODUCT, whole)}"
        return f"{' + ' if k else ''}{self.tight(t, PRODUCT, whole)}"

    def _negative(self, t):
        return t.could_extract_minus_sign() and not (t.is_Mul and self._flips(t))

    def _order(self, e):
        """Return a key that sorts expressions: those with gradients first, then by their oldest array."""
        places = [
            (a.name[:1] != "d" or a.op not in ("input", "adjoint"), a.place)
            for s in e.free_symbols
            if (a := self.xp.nodes.get(s)) is not None and a.op != "number"
        ]
        return (0, min(places)) if places else (1, (True, 0))

    def _product(self, e, whole):
        if self._flips(e):
            number, rest = e.as_coeff_Mul()
            turned = next(
                f
                for f in Mul.make_args(rest)
                if f.is_Add and any(t.could_extract_minus_sign() for t in f.args)
            )
            e = Mul(-number, -turned, rest / turned)
            if not e.is_Mul:
                return self.text(e, whole)
        e, mean = self._mean(e)
        number, rest = e.as_coeff_Mul()
        above, below = [], []
        for f in sorted((f for f in Mul.make_args(rest) if f != 1), key=self._order):
            (below if f.is_Pow and f.exp.is_negative else above).append(f)
        sign, number = ("-", -number) if number < 0 else ("", number)
        texts, under = [], []
        if number.is_Rational and number.p == 1 and number != 1 and (above or mean):
            under.append(self.number(Integer(number.q), whole)[0])
        elif number != 1 or not above and not mean:
            texts.append(self.number(number, whole)[0])
        texts += [
            self.tight(f, PRODUCT, whole) if not f.is_Pow else self._power(f, whole)[0]
            for f in above
        ] + mean
        under += [self.tight(Pow(f.base, -f.exp), ATOM, whole) for f in below]
        held = SUM if sign else ATOM if len(texts) == 1 and not under and mean else PRODUCT
        return sign + " * ".join(texts) + "".join(f" / {text}" for text in under), held

    @staticmethod
    def _flips(e):
        number, rest = e.as_coeff_Mul()
        return number < 0 and any(
            f.is_Add and any(t.could_extract_minus_sign() for t in f.args)
            for f in Mul.make_args(rest)
        )

    def _mean(self, e):
        """Take a sum divided by its count out of a product; return the other factors, and the text of that xp.mean."""
        for s in Mul.make_args(e):
            a = self.xp.nodes.get(s)
            if a is None or a.op != "sum" or a.name or a in self.lines:
                continue
            chosen, _, shape = a.options
            count = Mul(*(shape[k] for k in chosen))
            below = Mul(*(1 / f for f in Mul.make_args(e) if f.is_Pow and f.exp.is_negative))
            if (
                not count.is_number
                and all(below.has(n) for n in count.free_symbols)
                and not (below / count).as_numer_denom()[1].free_symbols
            ):
                self.seen[a] += 1
                return e * count / s, ["xp.mean" + self._sum(a)[0].removeprefix("xp.sum")]
        return e, []

    def _power(self, e, whole):
        base, power = e.base, e.exp
        if power.is_negative:
            return f"1.0 / {self.tight(Pow(base, -power), ATOM, whole)}", PRODUCT
        times, half = divmod(power, 1)
        if half == 0 and times <= 6:
            return " * ".join(
                [self.tight(base, PRODUCT if times == 1 else ATOM, whole)] * int(times)
            ), PRODUCT
        if half == S.Half and times <= 6:
            return " * ".join(
                [*[self.tight(base)] * int(times), f"xp.sqrt({self.one(base)})"]
            ), PRODUCT if times else ATOM
        return f"{self.tight(base)} ** {float(power)!r}", PRODUCT

    def _apart(self, e, asked):
        """Return the groups of a sum's terms that share conditions; [] if there is only one group of terms."""
        masks, groups = [a.symbol for a in asked], []
        terms = (
            expand(self._in_conditions(e, set(masks))).args if len(masks) > 1 and e.is_Add else ()
        )
        for term in terms:
            own = {m for m in masks if term.has(m)}
            if own:
                together = [g for g in groups if g[0] & own]
                groups = [g for g in groups if not g[0] & own] + [
                    (own.union(*(g[0] for g in together)), sum((g[1] for g in together), [term]))
                ]
        rest = [term for term in terms if not any(term.has(m) for m in masks)]
        return (
            [tidy(S(sum(rest))), *(sum(terms) for _, terms in groups)][not rest :]
            if len(groups) > 1
            else []
        )

    def _in_conditions(self, e, masks):
        for s in list(e.free_symbols):
            a = self.xp.nodes.get(s)
            if (
                a is not None
                and a.op in ("abs", "maximum", "minimum", "where")
                and a.formula.free_symbols & masks
            ):
                e = e.xreplace({s: self.reverse.definition(a)})
        return e

    def _chosen(self, e, asked):
        """Return the text of an expression as xp.where on the first condition: its values at condition 1 and at 0."""
        e, c = self._in_conditions(e, {a.symbol for a in asked}), asked[0]
        one, other = tidy(expand(e).subs(c.symbol, 1)), tidy(expand(e).subs(c.symbol, 0))
        if one == other:
            return self.text(one)
        texts = [self._zeros(e) if side == 0 else self.text(side)[0] for side in (one, other)]
        return f"xp.where({self.array(c)[0]}, {', '.join(texts)})", ATOM

    def _zeros(self, e):
        """Return the text of zeros in the shape of an expression, by a named array of that shape if possible."""
        shape = self.xp.shape_of(e)
        known = [
            a
            for s in sorted(e.free_symbols, key=str)
            if (a := self.xp.nodes.get(s)) is not None
            and a.kind == REAL
            and (a.given or a.name or a in self.lines)
        ]
        found = [
            a
            for a in (*known, *self.upstream, *self.inputs)
            if a.lengths == shape and a.kind == REAL
        ]
        if found:
            return f"xp.zeros_like({self.array(found[0])[0]})"
        return f"xp.zeros({self._shape(shape)}, dtype={self._dtype(REAL)})"


def wrapped(line):
    """Break a long line of a body at a space within brackets."""
    if len(line) <= WIDE:
        return line
    depth, places = 0, []
    for k, letter in enumerate(line):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == " " and depth and k > 12:
            places.append((depth, k))
    fit = [(d, -k) for d, k in places if k <= WIDE]
    if not fit:
        return line
    least = min(d for d, _ in fit)
    at = max(-k for d, k in fit if d <= least + 1)
    return line[:at] + "\n" + wrapped("    " * (1 + (line[:4] == "    ")) + line[at + 1 :])
