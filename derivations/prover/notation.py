"""Print formulas with customary names, and with letters instead of numbers for bound indices."""

from sympy import Dummy, Eq, IndexedBase, Sum, Symbol, symbols
from sympy.core.alphabets import greeks
from sympy.printing.latex import LatexPrinter

from derivations.prover.expressions import substitute

NAMES = {
    "epsilon": r"\varepsilon",
    "eps": r"\varepsilon",
    "rstd": r"\rho",
    "mean": r"\mu",
    "gradOutput": "g",
    "self": "x",
    "logProb": r"\ell",
    "target": "t",
    "weightOptional": "w",
    "gradLoss": "g",
    "gradZlossOptional": "g^{z}",
    "lseForZlossOptional": r"\mathrm{lse}",
    "labelSmoothing": r"\alpha",
    "lseSquareScaleForZloss": r"\lambda",
    "ignoreIndex": r"\mathrm{ignore}",
    "swishScale": "s",
    "dy": r"\mathit{dy}",
    "dz": r"\mathit{dz}",
    "input": "I",
}
SPARE_LETTERS = "j k l q u v w a b c d e f g h i m n o p r s t".split()


def notated(name):
    """Return the LaTeX of a name: xhat, xhatbar and rho as in print, the vendor's parameters by their customary letters.

    >>> notated("xhatbar"), notated("rowbar"), notated("swishScale")
    ('\\\\bar{\\\\hat{x}}', '\\\\overline{\\\\mathrm{row}}', 's')
    """
    if name in NAMES:
        return NAMES[name]
    for suffix, wide in (("bar", "overline"), ("hat", "widehat"), ("tilde", "widetilde")):
        if name.endswith(suffix) and len(name) > len(suffix):
            base = notated(name[: -len(suffix)])
            # a word of several letters gets a wide accent
            return rf"\{wide if 'math' in base else suffix}{{{base}}}"
    if name in greeks:
        return rf"\{name}"
    if "_" in name and not name.startswith("_"):
        head, _, tail = name.partition("_")
        return (
            rf"{notated(head)}_{{{tail}}}"
            if len(tail) < 2
            else rf"{notated(head)}_{{\mathrm{{{tail}}}}}"
        )
    return name if len(name) == 1 or not name.isalpha() else rf"\mathrm{{{name}}}"


def readable(e, letters=None):
    """Give each bound index of `e` a letter; `letters` maps a length to its preferred letters.

    >>> from sympy import IndexedBase
    >>> i, n = symbols("i n", integer=True)
    >>> readable(Sum(IndexedBase("x")[Dummy("b0")], (Dummy("b0"), 0, n))).variables[0].name != "b0"
    True
    """
    return _Letters(letters or {}).renamed(e, frozenset())


class _Letters:
    def __init__(self, preferred):
        self.preferred = preferred

    def renamed(self, e, taken):
        if isinstance(e, Sum):
            taken = taken | {s.name for s in e.free_symbols if isinstance(s, Symbol)}
            mapping = {}
            limits = []
            for v, low, high in reversed(e.limits):
                letter = self._letter(v, high - low + 1, taken)
                taken = taken | {letter.name}
                limits.insert(
                    0,
                    (
                        letter,
                        *(substitute(self.renamed(limit, taken), mapping) for limit in (low, high)),
                    ),
                )
                mapping[v] = letter
            return Sum(self.renamed(substitute(e.function, mapping), taken), *limits)
        if not e.args or isinstance(e, IndexedBase) or not e.has(Sum):
            return e
        if e.is_Mul or e.is_Add or e.is_Pow or e.is_Function:
            taken = taken | {s.name for s in e.free_symbols if isinstance(s, Symbol)}
        return e.func(*[self.renamed(arg, taken) for arg in e.args])

    def _letter(self, v, length, taken):
        own = [] if isinstance(v, Dummy) else [v.name]
        for name in own + [s.name for s in self.preferred.get(length, ())] + SPARE_LETTERS:
            if name not in taken:
                return Symbol(name, integer=True)
        return Dummy("k", integer=True)


class PaperPrinter(LatexPrinter):
    """LaTeX with customary names."""

    def _print_Symbol(self, e, style="plain"):
        return notated(e.name)

    def _print_Dummy(self, e):
        return notated(e.name)

    def _print_IndexedBase(self, e):
        return notated(e.name)

    def _print_Indexed(self, e):
        return f"{{{notated(e.base.name)}}}_{{{', '.join(map(self._print, e.indices))}}}"


def latex(e, letters=None):
    """Return the LaTeX of an expression or equation.

    >>> latex(IndexedBase("xhat")[Symbol("i")])
    '{\\\\hat{x}}_{i}'
    """
    if isinstance(e, Eq):
        return f"{latex(e.lhs, letters)} = {latex(e.rhs, letters)}"
    return PaperPrinter().doprint(readable(e, letters))


def index_symbols(names):
    return symbols(names, integer=True)


def array_symbols(names):
    return symbols(names, cls=IndexedBase, real=True)


def size_symbols(names):
    return symbols(names, integer=True, positive=True)
