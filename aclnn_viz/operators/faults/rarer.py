"""Edits of a page beside the mechanical ones: parentheses set otherwise, one more factor, a length that is off by one.

They explain wrong kernels; the kit is not scored on them.
"""

import ast
from collections.abc import Iterator
from functools import cache
from types import ModuleType

from aclnn_viz.operators.faults import rewriting
from aclnn_viz.operators.faults.edits import Edit, units

SUM, PRODUCT = (ast.Add, ast.Sub), (ast.Mult, ast.Div)


@cache
def rarer(page: ModuleType) -> tuple[Edit, ...]:
    """Return the rarer edits of a page, in the order of its source.

    >>> from aclnn_viz.operators.layer_norm import page as layer_norm
    >>> [edit.after for edit in rarer(layer_norm) if "(input - mean) * rstd" in edit.before][:2]
    ['return input - mean * rstd', 'return input * rstd - mean']
    """
    return tuple(_rarer(page))


def _rarer(page: ModuleType) -> Iterator[Edit]:
    for unit in units(page):
        if not isinstance(unit.tree, ast.FunctionDef):
            continue
        names, shown = rewriting.names_of(unit.tree, page), rewriting.statements(unit.tree)
        for node in ast.walk(ast.Module(unit.tree.body, [])):
            for change in _of_node(node, names):
                yield Edit(change.kind, unit, shown.get(id(node), unit.tree), change)
        for statement in dict.fromkeys(shown.values()):
            for change in _factors(statement, names):
                yield Edit(change.kind, unit, statement, change)


def _of_node(node: ast.AST, names: tuple[str, ...]) -> Iterator[rewriting.Change]:
    def made(kind, **values):
        return rewriting.Change(kind, node, values, line=node.lineno)
    match node:
        case ast.BinOp(left=ast.BinOp(left=a, op=first, right=b), op=second, right=c) if _mixed(first, second):
            yield made("parenthesis", left=a, op=first, right=ast.BinOp(b, second, c))
            yield made("parenthesis", left=ast.BinOp(a, second, c), op=first, right=b)
        case ast.BinOp(left=a, op=first, right=ast.BinOp(left=b, op=second, right=c)) if _mixed(first, second):
            yield made("parenthesis", left=ast.BinOp(a, first, b), op=second, right=c)
        case ast.List(elts=[ast.Tuple(elts=first), ast.Tuple(elts=second)]) if len(first) == len(second):
            for at in range(len(first)):
                one, other = ([*some[:at], value, *some[at + 1:]] for some, value in (
                    (first, second[at]), (second, first[at])))
                yield made("exchange", elts=[ast.Tuple(one, ast.Load()), ast.Tuple(other, ast.Load())])
        case ast.Assign(targets=[ast.Tuple(elts=targets)]) if len(targets) > 2:
            for at in range(len(targets) - 1):
                swapped = [*targets[:at], targets[at + 1], targets[at], *targets[at + 2:]]
                yield made("exchange", targets=[ast.Tuple(swapped, ast.Store())])
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.Name) and isinstance(value.ctx, ast.Load) and value.id in names and not isinstance(
                node, (ast.Attribute, ast.Subscript)):
            for step in (ast.Sub(), ast.Add()):
                yield rewriting.Change("off by one", node, {name: ast.BinOp(value, step, ast.Constant(1))},
                                       line=value.lineno)


def _mixed(first: ast.operator, second: ast.operator) -> bool:
    return isinstance(first, SUM) and isinstance(second, PRODUCT) or isinstance(first, PRODUCT) and isinstance(second, SUM)


def _factors(statement: ast.AST, names: tuple[str, ...]) -> Iterator[rewriting.Change]:
    """One factor more of what a statement computes."""
    match statement:
        case ast.Assign(targets=[ast.Name()], value=ast.BinOp() | ast.Call() | ast.Name() as value) | ast.Return(
                value=ast.BinOp() | ast.Call() | ast.Name() as value):
            for name in names:
                for op in (ast.Mult(), ast.Div()):
                    yield rewriting.Change("one more", statement, {
                        "value": ast.BinOp(value, op, ast.Name(name, ast.Load()))}, line=value.lineno)
