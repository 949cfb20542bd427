"""Record which way a test case takes at each decision in an operator's formulas (comparisons, branches, clips, floors,
scatters), as coverage for the choice of a suite.

The page and the formulas of lengths run as copies whose deciding expressions call a recorder. An operator declares nothing for
it. An expression counts once for each line that calls its function.
"""

import ast
import inspect
import operator
import sys
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import numpy as np

from aclnn_viz.arrays.numpy_arrays import NumPyArrays
from aclnn_viz.arrays.operations import RECORDER, Handed, function_of, operator_name
from aclnn_viz.operators import Operator
from aclnn_viz.operators.arrangement import prelude_of
from aclnn_viz.operators.faults.edits import sources
from aclnn_viz.operators.patterns import FUNCTIONS


def _sides(a, b=0) -> dict:
    """Return the order relations that hold between two numbers, or between some elements of two arrays."""
    a, b = np.asarray(a), np.asarray(b)
    if not {a.dtype.kind, b.dtype.kind} <= {*"iufb"}:
        return _equal(a, b)
    return {"less": np.any(a < b), "equal": np.any(a == b), "more": np.any(a > b)}


def _equal(a, b) -> dict:
    same = np.all(a == b) if np.shape(a) == np.shape(b) else np.equal(a, b)
    return {"equal": np.any(same), "unequal": not np.all(same)}


def _truth(x, *_) -> dict:
    x = x if isinstance(x, np.ndarray) else bool(x)
    return {"true": np.any(x), "false": not np.all(x)}


def _clip(x, low, high) -> dict:
    ends = {"low end": low, "high end": high}
    return {
        f"{way} {name}": holds
        for name, end in ends.items()
        if end is not None
        for way, holds in _sides(x, end).items()
    }


def _repeats(target, index, *_) -> dict:
    often = int(np.unique(np.asarray(index), return_counts=True)[1].max(initial=0))
    return {
        "no place twice": often == 1,
        "a place left out": np.unique(index).size < target.shape[-1],
    } | {f"a place {n} times": often >= n for n in (2, 4, 9, 17)}


#: Ways of calling each function that counting distinguishes.
WAYS = {
    **dict.fromkeys(
        ("lt", "le", "gt", "ge", "maximum", "minimum", "abs", "absolute", "sign"), _sides
    ),
    **dict.fromkeys(("eq", "ne"), _equal),
    **dict.fromkeys(("where", "truth"), _truth),
    "floordiv": lambda a, b: {
        "no rest": np.any(np.equal(a % b, 0)),
        "a rest": np.any(np.not_equal(a % b, 0)),
        "of less than 0": np.any(np.less(a, 0)),
    },
    "clip": _clip,
    "floor": lambda x: _equal(x, np.floor(x)),
    "exp": lambda x: {
        "overflows": np.any(x > 88.8),
        "is 1": np.any(x == 0),
        "vanishes": np.any(x < -104),
    },
    "sqrt": _sides,
    "log": lambda x: _sides(x, 1),
    "scatter_add": _repeats,
}


class _Decided(Handed):
    """A transformer that hands each deciding expression to the recorder."""

    def visit(self, node):
        match node:
            case ast.If() | ast.IfExp():
                node.test = self._test(node.test)
            case ast.BoolOp():
                node.values[:-1] = map(self._test, node.values[:-1])
        return super().visit(node) if _decides(node) else self.generic_visit(node)

    def _test(self, node):
        return node if _decides(node) else self._over(node, "truth", node)


def _decides(node) -> bool:
    match node:
        case ast.BinOp(_, kind, _) | ast.Compare(_, [kind], [_]):
            return operator_name(kind) in WAYS
        case ast.Call(ast.Attribute(attr=name), _, []):
            return name in WAYS
        case ast.Call(ast.Name(RECORDER.id)):
            return True  # it is handed already
    return False


class Ways:
    """Copies of an operator's page and formulas that record which way each decision takes."""

    def __init__(self, op: Operator):
        self.op, self.seen = op, {}
        self.page = ModuleType(op.page.__name__)
        names = vars(self.page)
        names |= {RECORDER.id: self._through, "__package__": op.page.__package__}
        # a function without a source file has no source to record
        with suppress(OSError, TypeError):
            for module, text in sources(op.page):
                exec(_Decided(Path(module.__file__).name).compiled(text), names)
        self.called = FUNCTIONS | {RECORDER.id: self._through}
        for name, function in FUNCTIONS.items():
            if inspect.isfunction(function) and function.__name__ == name:
                exec(_Decided(name).compiled(inspect.getsource(function)), self.called)
        self.formulas = {
            letter: _Decided(letter).compiled(text, "eval") for letter, text in op.sizes.items()
        }

    def _through(self, operation, function, *args):
        function, frame = function_of(function), sys._getframe(2)
        file, line, text, _ = operation
        place = f"{file}:{line}"
        if frame.f_globals is vars(self.page):
            place += f" from {frame.f_lineno}"
        for way, holds in WAYS[function.__name__](*args).items():
            key = f"{text}: {way} ({place})"
            self.seen[key] = self.seen.get(key, False) or bool(holds)
        return args[0] if function is operator.truth else function(*args)

    def of(self, inputs: dict) -> dict[str, bool]:
        """Return {words for one way of a decision: whether the call with these inputs takes it}."""
        self.seen, op = {}, self.op
        bound = op.bind(inputs)
        arranged, sizes = op.arrange_backward(**bound), op.fitting(bound)[1]
        with np.errstate(all="ignore"):
            for formula in self.formulas.values():
                try:
                    eval(formula, self.called | bound | sizes)
                except (TypeError, NameError, IndexError):
                    continue  # the expression uses names that this call lacks
            arrays = {
                name: array.astype(np.float64)
                if array is not None and array.dtype.kind in "fV"
                else array
                for name, array in arranged.arrays.items()
            }
            if not arranged.empty and hasattr(self.page, "backward"):
                if arranged.prelude:
                    arrays |= prelude_of(self.page.PRELUDE, bound)(NumPyArrays(), arrays)
                self.page.backward(NumPyArrays(), **arrays, **arranged.attributes)
        return self.seen
