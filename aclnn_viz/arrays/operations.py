"""Rewrite the syntax of code so that a recorder executes each operation: each call, operator, index, store and loop.

The code then calls `_recorded_operation(operation, function, *operands)`. The operation is a tuple of file, line, text, and the
texts of the operands. The function is that of the code, or a name for `function_of`.
"""

import ast
import copy
import operator
from collections.abc import Callable
from types import CodeType

RECORDER, NOTHING = ast.Name("_recorded_operation", ast.Load()), ast.Constant(None)
# names of operators in Python's module `operator` by AST node, where they differ
OPERATORS = dict(
    Mult="mul", Div="truediv", MatMult="matmul", USub="neg", LtE="le", GtE="ge", NotEq="ne"
)


class Handed(ast.NodeTransformer):
    """A transformer of syntax that replaces each operation by a call of the recorder, with its line, its
    code and that of its operands."""

    def __init__(self, file: str):
        self.file = file

    def compiled(self, text: str, mode: str = "exec") -> CodeType:
        """Return the code of a text."""
        tree = self.visit(ast.parse(text, mode=mode))
        return compile(ast.fix_missing_locations(tree), self.file, mode)

    def _over(self, node, function, *operands, keywords=()) -> ast.AST:
        """Return an operation as a call of the recorder; `function` is syntax, or a name in Python's module `operator`."""
        named = isinstance(function, str)
        owner = getattr(function, "value", NOTHING)  # a method belongs to an array
        texts = map(_variable, [owner, *operands, *(keyword.value for keyword in keywords)])
        place = ast.Constant((self.file, node.lineno, _text(node), tuple(texts)))
        called = ast.Constant(function) if named else self.visit(function)
        arguments = [place, called, *map(self.visit, operands)]
        call = ast.Call(RECORDER, arguments, [*map(self.visit, keywords)])
        return ast.copy_location(call, node)  # the copy keeps the line of the original node

    def visit(self, node):
        match node:
            case ast.BinOp(left, kind, right) | ast.Compare(left, [kind], [right]) if operator_name(
                kind
            ):
                return self._over(node, operator_name(kind), left, right)
            case ast.UnaryOp(kind, operand) if operator_name(kind):
                return self._over(node, operator_name(kind), operand)
            case ast.Call(ast.Name(RECORDER.id)):
                return node
            case ast.Call(ast.Name("super" | "locals" | "vars" | "dir" | "eval" | "exec")):
                pass  # these inspect the frame of their caller
            case ast.Call(function, operands, keywords):
                return self._over(node, function, *operands, keywords=keywords)
            case ast.For() | ast.comprehension():
                node.iter = self._rows(node.iter)
            case ast.Subscript(ast.Name(RECORDER.id)):
                pass  # an index, see `Recorder.__getitem__`
            case ast.Subscript(array, place, ast.Load()):
                return self._over(node, "getitem", array, _index(place))
            case ast.Assign([ast.Subscript(array, place)], value):
                return ast.Expr(self._over(node, "setitem", array, _index(place), value))
            case ast.AugAssign(target, kind, value) if operator_name(kind):
                text, read = ast.unparse(node), copy.deepcopy(target)
                read.ctx = ast.Load()
                value = self._over(node, "i" + operator_name(kind), read, value)
                node = ast.copy_location(ast.Assign([target], value), node)
                node.text = value.text = text
                return self.visit(node)
        return super().visit(node)

    def _rows(self, node: ast.expr) -> ast.expr:
        """Return what a loop iterates over, where an array passes the recorder as the operation "rows"."""
        match node:
            case ast.Call(ast.Name("zip" | "enumerate" | "reversed")):
                node.args = [*map(self._rows, node.args)]
                return node
            case ast.Starred():
                return node
        return self._over(node, "rows", node)


def _index(place: ast.expr) -> ast.expr:
    return ast.Subscript(RECORDER, place, ast.Load())


def operator_name(kind: ast.AST) -> str:
    """Return the name of an operator in Python's module `operator`, "" for one that is not recorded."""
    name = type(kind).__name__
    name = OPERATORS.get(name, name.lower())
    return name if hasattr(operator, name) else ""


def _text(node: ast.AST) -> str:
    return getattr(node, "text", None) or ast.unparse(node)


def _variable(node: ast.expr) -> str:
    """Return the text of an operand, "" for a constant."""
    return _text(node) if any(isinstance(part, ast.Name) for part in ast.walk(node)) else ""


def function_of(function: Callable | str) -> Callable:
    """Return the function of an operation, which is that of Python's module `operator` for a name, or `_rows`."""
    return getattr(operator, function, _rows) if isinstance(function, str) else function


def _rows(value):
    """Return an array's elements as a list, to inspect them; other values unchanged."""
    return list(value) if hasattr(value, "shape") else value
