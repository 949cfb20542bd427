"""Mechanical mutants of the pages: one sign, factor, comparison, index, axis, dtype or constant changed at a time."""

import ast
import inspect
from dataclasses import dataclass
from types import ModuleType

from aclnn_viz.operators.faults.fault import page_from

COMPARISONS = {
    old: new
    for pair in ((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq))
    for old, new in (pair, pair[::-1])
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr,
}
FUNCTIONS = {
    "sum": "mean",
    "mean": "sum",
    "floor": "ceil",
    "round": "floor",
    "ones_like": "zeros_like",
    "zeros_like": "ones_like",
    "abs": "negative",
    "ones": "zeros",
}
SKIPPED = {"forward"}  # the checker is about backward


@dataclass(frozen=True)
class Mutant:
    """A changed page, and the place and kind of its change."""

    kind: str
    function: str
    line: str
    change: str
    page: ModuleType

    def __str__(self):
        return f"{self.function}: {self.line} [{self.change}]"


def mutants(page):
    """Yield every mutant of a page, in the order of its source."""
    source = inspect.getsource(page)
    tree, lines = ast.parse(source), source.splitlines()
    parts = list(map(ast.unparse, tree.body))
    for at, function in enumerate(tree.body):
        if not isinstance(function, ast.FunctionDef) or function.name in SKIPPED:
            continue
        body = [node for statement in function.body for node in ast.walk(statement)]
        # NumPy infers a length from any negative number, and text is not code.
        negated = {id(node.operand) for node in body if isinstance(node, ast.UnaryOp)}
        for node in body:
            if (
                not hasattr(node, "lineno")
                or id(node) in negated
                and isinstance(node, ast.Constant)
            ):
                continue
            for kind, change, edit in edits(node):
                before = {name: getattr(node, name) for name in edit}
                vars(node).update(edit)
                text = "\n".join([*parts[:at], ast.unparse(function), *parts[at + 1 :]])
                vars(node).update(before)
                yield Mutant(
                    kind,
                    function.name,
                    lines[node.lineno - 1].strip(),
                    change,
                    page_from(text, page),
                )


def place(node):
    return f"{node.col_offset}:{node.end_col_offset}"


def edits(node):
    """Yield the changes of one node: (kind, description, attributes to set on it)."""
    match node:
        case ast.BinOp(op=op) if type(op) in ARITHMETIC:
            new = ARITHMETIC[type(op)]
            kind = "sign" if new in (ast.Add, ast.Sub) else "factor"
            yield kind, f"{type(op).__name__} at {place(node)} to {new.__name__}", {"op": new()}
            if isinstance(op, ast.Mult):
                yield "factor", f"left factor at {place(node)} only", {"right": ast.Constant(1.0)}
                yield "factor", f"right factor at {place(node)} only", {"left": ast.Constant(1.0)}
        case ast.UnaryOp(op=ast.USub()) if not isinstance(node.operand, ast.Constant):
            yield "sign", f"minus at {place(node)} to plus", {"op": ast.UAdd()}
        case ast.Compare(ops=[op]) if type(op) in COMPARISONS:
            new = COMPARISONS[type(op)]
            yield (
                "comparison",
                f"{type(op).__name__} at {place(node)} to {new.__name__}",
                {"ops": [new()]},
            )
        case ast.Constant(value=float(value)):
            yield "factor", f"{value} at {place(node)} to {value + 1}", {"value": value + 1}
        case ast.Constant(value=bool()):
            yield "flag", f"{node.value} at {place(node)} negated", {"value": not node.value}
        case ast.Constant(value=int(value)):
            yield "index", f"{value} at {place(node)} to {value + 1}", {"value": value + 1}
        case ast.Attribute(attr="float64"):
            yield "dtype", f"float64 at {place(node)} to float16", {"attr": "float16"}
        case ast.Call(func=ast.Attribute(attr=name)) if name in FUNCTIONS:
            function = ast.Attribute(node.func.value, FUNCTIONS[name], ast.Load())
            yield "function", f"{name} at {place(node)} to {FUNCTIONS[name]}", {"func": function}
        case ast.keyword(arg="axis", value=ast.Tuple(elts=[first, *_])):
            yield "axis", f"only the first axis at {place(node)}", {"value": first}
