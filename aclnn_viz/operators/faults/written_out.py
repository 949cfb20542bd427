"""The backward of a page as one expression: calls and names are replaced by what they stand for, products of sums by sums of products.

A kernel that is arranged otherwise than the page has other expressions in which to be wrong. Written out, the page has most of them:
each factor of each term can be forgotten, inverted, rounded or mistaken by itself, or wherever it occurs.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations
from types import ModuleType

from aclnn_viz.operators.faults.edits import (
    Change,
    Edit,
    Unit,
    changes,
    names_of,
    statements,
    units,
)

LARGEST = 400  # nodes of a backward that is written out: what is longer costs more than it explains
FACTORS = 6  # of one term
UNKNOWN = (
    ast.For,
    ast.While,
    ast.With,
    ast.Lambda,
    ast.comprehension,
    ast.AugAssign,
    ast.NamedExpr,
)
UNARY = (
    "{0}",
    "xp.exp({0})",
    "xp.tanh({0})",
    "xp.erf({0})",
    "xp.sqrt({0})",
    "1.0 / (1.0 + xp.exp(-({0})))",
)
WITHIN = (
    ast.BinOp,
    ast.UnaryOp,
    ast.IfExp,
    ast.Call,
    ast.Assign,
    ast.List,
    ast.Subscript,
    ast.Return,
)
NARROW = ("float16", "bfloat16")


class _Unknown(Exception):
    """A function that cannot be written out."""


class _Filled(ast.NodeTransformer):
    """Puts what names stand for into their places, and the value of a function into the place of its call."""

    def __init__(self, values: dict[str, ast.expr], functions: dict[str, ast.FunctionDef]):
        self.values, self.functions = values, functions

    def visit_Name(self, node):
        return (
            copy.deepcopy(self.values.get(node.id, node))
            if isinstance(node.ctx, ast.Load)
            else node
        )

    def visit_Call(self, node):
        self.generic_visit(node)
        function = self.functions.get(getattr(node.func, "id", ""))
        if function is None or node.keywords or len(node.args) != len(function.args.args):
            return node
        body = _body(function)
        if (
            len(node.args) == 2
            and function.args.args[0].arg == "xp"
            and len(body) == 1
            and not _called(body[0].value, "sum", "mean")
        ):
            return node  # a function of one array: it may be mistaken for another
        return (
            _value(
                body, dict(zip((one.arg for one in function.args.args), node.args)), self.functions
            )
            or node
        )

    def visit_IfExp(self, node):
        self.generic_visit(node)
        test = _decided(node.test)
        return node if test is None else node.body if test else node.orelse


def _body(function: ast.FunctionDef) -> list[ast.stmt]:
    return [
        one
        for one in function.body
        if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
    ]


def _decided(test: ast.expr) -> bool | None:
    """What a comparison of constants gives; None for any other."""
    constant = isinstance(test, ast.Compare) and all(
        isinstance(one, ast.Constant) for one in (test.left, *test.comparators)
    )
    return (
        bool(eval(compile(ast.fix_missing_locations(ast.Expression(test)), "", "eval"), {}))
        if constant
        else None
    )


def _value(body: list[ast.stmt], values: dict[str, ast.expr], functions: dict) -> ast.expr | None:
    """What a block returns, in terms of what its names stand for; raises _Unknown where no one expression says it."""
    for at, one in enumerate(body):
        filled = _Filled(values, functions)
        match one:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                values = values | {name: filled.visit(copy.deepcopy(value))}
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                made = filled.visit(copy.deepcopy(value))
                if (
                    not isinstance(made, ast.Tuple)
                    or len(made.elts) != len(targets)
                    or not all(isinstance(one, ast.Name) for one in targets)
                ):
                    raise _Unknown
                values = values | {target.id: part for target, part in zip(targets, made.elts)}
            case ast.If(test=test, body=then, orelse=other):
                taken = _decided(filled.visit(copy.deepcopy(test)))
                if taken is None:
                    raise _Unknown
                return _value([*(then if taken else other), *body[at + 1 :]], values, functions)
            case ast.Return(value=value) if value is not None:
                return filled.visit(copy.deepcopy(value))
            case _:
                raise _Unknown
    return None


def _called(node: ast.AST, *names: str) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in names
    )


class _Distributed(ast.NodeTransformer):
    """Writes products of sums, and of choices, as sums and choices of products."""

    def visit_BinOp(self, node):
        self.generic_visit(node)
        left, op, right = node.left, node.op, node.right
        if not isinstance(op, ast.Mult | ast.Div):
            return node
        for side, other, put in (
            (left, right, lambda part, rest: ast.BinOp(part, op, rest)),
            *[(right, left, lambda part, rest: ast.BinOp(rest, op, part))]
            * isinstance(op, ast.Mult),
        ):
            if _called(side, "zeros_like", "zeros"):
                return side
            if isinstance(op, ast.Mult) and (
                _called(side, "ones_like") or isinstance(side, ast.Constant) and side.value == 1.0
            ):
                return other
            if isinstance(side, ast.BinOp) and isinstance(side.op, ast.Add | ast.Sub):
                return ast.BinOp(
                    *(
                        part
                        if isinstance(part, ast.operator)
                        else self.visit_BinOp(put(part, copy.deepcopy(other)))
                        for part in (side.left, side.op, side.right)
                    )
                )
            if _called(side, "where") and len(side.args) == 3:
                test, *both = side.args
                return ast.Call(
                    side.func,
                    [test, *(self.visit_BinOp(put(part, copy.deepcopy(other))) for part in both)],
                    [],
                )
        return node


@cache
def written_out(page: ModuleType) -> tuple[Edit, ...]:
    """Return every edit of the backward of a page that is written out, and what may stand in the place of each expression of the page.

    >>> from aclnn_viz.operators.softmax import page as softmax
    >>> next(edit.before for edit in written_out(softmax))
    'out = output * gradOutput - output * xp.sum(gradOutput * output, axis=1, keepdims=True)'
    """
    unit = expanded(page)
    names = names_of(unit.tree, page) if unit else ()
    found = (
        [
            Edit(change.kind, unit, statement, change)
            for statement, change in changes(unit.tree, names)
        ]
        if unit
        else []
    )
    return (
        *found,
        *(edit for one in (*[unit] * bool(unit), *units(page)) if one.name for edit in _edits(one)),
    )


def expanded(page: ModuleType) -> Unit | None:
    """The backward of a page as one expression; None where it is none, or too long."""
    every = units(page)
    unit = next(one for one in every if one.name == "backward")
    functions = {
        one.name: one.tree
        for one in every
        if one.name
        and one is not unit
        and not any(isinstance(part, UNKNOWN) for part in ast.walk(one.tree))
    }
    line = unit.tree.body[-1].lineno
    try:
        if any(isinstance(part, UNKNOWN) for part in ast.walk(unit.tree)):
            return None
        value = _value(_body(unit.tree), {}, functions)
        if value is None or sum(1 for _ in ast.walk(value)) > LARGEST:
            return None
        value = _Distributed().visit(value)
    except _Unknown:
        return None
    outputs = (
        {
            key.value: part
            for key, part in zip(value.keys, value.values)
            if isinstance(key, ast.Constant)
        }
        if isinstance(value, ast.Dict)
        else {}
    )
    if (
        not outputs
        or len(outputs) < len(value.keys)
        or any(one.arg in outputs for one in unit.tree.args.args)
    ):
        return None
    tree = copy.copy(unit.tree)
    # no part twice
    tree.body = [
        *(
            ast.Assign([ast.Name(name, ast.Store())], copy.deepcopy(part))
            for name, part in outputs.items()
        ),
        ast.Return(ast.Dict(value.keys, [ast.Name(name, ast.Load()) for name in outputs])),
    ]
    for part in ast.walk(ast.Module(tree.body, [])):
        part.lineno = part.end_lineno = line
        part.col_offset = part.end_col_offset = 0
    return (
        replace(unit, tree=tree, out=True)
        if sum(1 for _ in ast.walk(tree)) <= 2 * LARGEST
        else None
    )


def _edits(unit: Unit) -> Iterator[Edit]:
    names, shown = names_of(unit.tree, unit.module), statements(unit.tree)
    for node in ast.walk(ast.Module(unit.tree.body, [])):
        for field, value in ast.iter_fields(node):
            for at, part in enumerate(
                []
                if field in ("func", "targets", "slice")
                else value
                if isinstance(value, list)
                else [value]
            ):
                if (
                    isinstance(part, ast.BinOp | ast.Call | ast.Name | ast.Subscript)
                    and isinstance(node, WITHIN)
                    and not (isinstance(part, ast.Name) and part.id not in names)
                ):
                    old = ast.unparse(part)
                    for kind, new in _others(part, node):
                        put = {
                            field: [*value[:at], new, *value[at + 1 :]]
                            if isinstance(value, list)
                            else new
                        }
                        if kind == "inverse":
                            put = _divided(node, part) or put
                        yield Edit(
                            kind,
                            unit,
                            shown.get(id(part), unit.tree),
                            Change(
                                kind, node, put, line=part.lineno, exchange=(old, ast.unparse(new))
                            ),
                        )


def _divided(product: ast.AST, factor: ast.expr) -> dict | None:
    """A product that is divided by one of its two factors."""
    match product:
        case ast.BinOp(left=left, op=ast.Mult(), right=right) if ast.unparse(left) != ast.unparse(
            right
        ):
            return {"left": left if right is factor else right, "op": ast.Div(), "right": factor}
        case ast.BinOp(op=ast.Div(), right=right) if right is factor:
            return {"op": ast.Mult()}
    return None


def _others(node: ast.expr, parent: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """What may stand in the place of an expression."""
    factor = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mult | ast.Div)
    if not isinstance(parent, ast.Subscript):
        yield "one", ast.Constant(1.0)
    if not factor and not isinstance(parent, ast.Subscript):  # of a product the whole would be 0
        yield "zero", ast.Constant(0.0)
    yield "inverse", ast.BinOp(ast.Constant(1.0), ast.Div(), node)
    for narrow in NARROW:
        inner = ast.Call(
            ast.Attribute(ast.Name("xp", ast.Load()), "asarray", ast.Load()), [node], []
        )
        for name in (narrow, "float64"):
            inner = ast.Call(ast.Attribute(inner, "astype", ast.Load()), [ast.Constant(name)], [])
        yield "16 bits", inner
    if isinstance(node, ast.Call) and node.args and not node.keywords and len(node.args) <= 2:
        argument = ast.unparse(node.args[-1])
        for form in UNARY:
            yield "function", ast.parse(form.format(argument), mode="eval").body
    factors = _factors(node)
    if not factor:
        for count in range(1, min(len(factors), FACTORS) - 1):
            for kept in combinations(factors, count):
                yield "factors", _product(kept)


def _factors(node: ast.expr) -> list[tuple[ast.expr, bool]]:
    """The factors of a product, each with whether it divides."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as op, right=right):
            divides = isinstance(op, ast.Div)
            return _factors(left) + [
                (factor, inverse != divides) for factor, inverse in _factors(right)
            ]
    return [(node, False)]


def _product(factors) -> ast.expr:
    found = None
    for factor, divides in factors:
        if found is None:
            found = ast.BinOp(ast.Constant(1.0), ast.Div(), factor) if divides else factor
        else:
            found = ast.BinOp(found, ast.Div() if divides else ast.Mult(), factor)
    return found
