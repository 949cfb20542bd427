"""Generate the edits that only kernels need (a store for a sum, blocks, casts, axes, statement order), to find the mistake in a
wrong kernel's source.
"""

import ast
import copy
from collections.abc import Iterator
from functools import partial
from itertools import combinations

from aclnn_viz.operators.faults.edits import Change, replacements, statements

CASTS = {"astype", "to", "half", "bfloat16", "float"}
# functions that authors of kernels confuse, beside those of the known faults of pages
FUNCTIONS = {
    "floor": ("rint",),
    "rint": ("floor", "trunc"),
    "expm1": ("exp",),
    "exp": ("expm1",),
    "exp2": ("exp",),
    "tanh": ("sigmoid",),
    "sigmoid": ("tanh",),
    "erf": ("erfc",),
    "erfc": ("erf",),
    "min": ("max",),
    "max": ("min",),
    "float16": ("float32",),
    "bfloat16": ("float32",),
    "int": ("abs",),
    "abs": ("int",),
}
AXES = tuple(map(ast.Constant, (0, 1, -1, -2, None)))
TRAILING = (
    "tuple(range(-{}.ndim, 0))",
    "tuple(range(-len({}), 0))",
)  # values of an axis argument: a tensor's last axes, or as many as an attribute lists


def edits_of_kernels(
    tree: ast.FunctionDef, names: tuple[str, ...]
) -> Iterator[tuple[ast.stmt, Change]]:
    """Yield (statement, change) of every edit of a function that only kernels need; new expressions may use `names`."""
    parts = {
        ast.unparse(node): copy.deepcopy(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
    }
    factors = (*(ast.Name(name, ast.Load()) for name in names), *parts.values())
    for statement, change in replacements(tree, partial(_others, names=names, factors=factors)):
        if not isinstance(statement, ast.FunctionDef):
            yield statement, change
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            if isinstance(getattr(node, name, None), list):
                yield from _in_block(node, name, getattr(node, name))
    for statement in dict.fromkeys(statements(tree).values()):
        if isinstance(statement, ast.Assign | ast.Return) and statement.value:
            for value in _on_other_axes(statement.value, names):
                yield statement, Change("axis", statement, {"value": value}, line=statement.lineno)


def _axes_of(names: tuple[str, ...]) -> list[ast.expr]:
    """Return expressions for axes: fixed ones, and the last axes, as many as each of `names` has axes or entries."""
    texts = (text.format(name) for name in names for text in TRAILING)
    return [*AXES, *(ast.parse(text, mode="eval").body for text in texts)]


def _along(node: ast.AST) -> bool:
    return isinstance(node, ast.keyword) and node.arg in ("axis", "dim")


def _on_other_axes(value: ast.expr, names: tuple[str, ...]) -> Iterator[ast.expr]:
    """Yield the expression with an axis argument that occurs several times replaced in all these places."""
    texts = [ast.unparse(node.value) for node in ast.walk(value) if _along(node)]
    for text in dict.fromkeys(each for each in texts if texts.count(each) > 1):
        for axes in (*map(ast.Constant, ((2, 3), (-2, -1))), *_axes_of(names)):
            new = copy.deepcopy(value)
            for node in ast.walk(new):
                if _along(node) and ast.unparse(node.value) == text:
                    node.value = axes
            yield ast.fix_missing_locations(new)


def _others(
    node: ast.expr,
    parent: ast.AST,
    field: str,
    names: tuple[str, ...],
    factors: tuple[ast.expr, ...],
) -> Iterator[tuple[str, ast.expr]]:
    """Yield possible replacements of an expression."""
    if _along(parent):
        yield from (("axis", axes) for axes in _axes_of(names))
    if field == "test" and isinstance(node, ast.Name):
        yield "comparison", ast.Compare(node, [ast.Eq()], [ast.Constant(1)])
    match node:
        case ast.BinOp():
            yield from _of_sides(node)
        case ast.UnaryOp(ast.Not() | ast.Invert(), operand):
            yield "operator", operand
        case ast.IfExp(_, body, orelse):
            yield from (("side", body), ("side", orelse))
        case ast.Constant(bool() | int() | float() as value):
            yield from (("constant", ast.Constant(other)) for other in _numbers(value))
            some = factors[: len(names)] if isinstance(value, bool) else factors
            yield from (("inserted", factor) for factor in some)
        case ast.Call():
            yield from _of_call(node)
        case ast.Attribute(inner, name) if not isinstance(parent, ast.Call):
            for new in FUNCTIONS.get(name, ()):
                yield "format", ast.Attribute(inner, new, ast.Load())
        case ast.Subscript(ast.Attribute(inner, "shape")):
            yield "index", ast.Attribute(inner, "size", ast.Load())
        case ast.Tuple(elements) | ast.List(elements):
            for first, second in combinations(range(len(elements)), 2):
                some = [*elements]
                some[first], some[second] = some[second], some[first]
                yield "indices", type(node)(some, node.ctx)
    if isinstance(node, ast.BinOp | ast.Call | ast.Name | ast.Subscript) and isinstance(
        getattr(node, "ctx", ast.Load()), ast.Load
    ):
        yield from _with_more(node, parent, field, factors)


def _of_sides(node: ast.BinOp) -> Iterator[tuple[str, ast.expr]]:
    left, op, right = node.left, node.op, node.right
    yield from (("side", left), ("side", right))
    if isinstance(op, ast.Div | ast.FloorDiv | ast.Mod):
        new = ast.FloorDiv() if isinstance(op, ast.Div) else ast.Mult()
        yield "operator", ast.BinOp(left, new, right)
    match op, right:  # forms that lose digits by cancellation, such as a - a * b
        case ast.Sub(), ast.BinOp(a, ast.Mult(), share) if ast.unparse(a) == ast.unparse(left):
            rest = ast.BinOp(ast.Constant(1), ast.Sub(), share)
            yield "operator", ast.BinOp(left, ast.Mult(), rest)


def _numbers(value) -> list:
    """Return numbers with which a constant may be confused."""
    if isinstance(value, bool):
        return []
    if isinstance(value, int):
        return [value + 1, value - 1]
    steps = (step * sign for step in (0.25, 0.5, 1.0, 2.0) for sign in (1, -1))
    return [*(value + step for step in steps), value / 2, value * 2, -value]


def _of_call(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """Yield replacements of a call: a call of another function, and the argument alone."""
    match call.func:
        case ast.Attribute(inner, name) if name in CASTS:
            yield "format", inner
        case ast.Attribute(_, name) | ast.Name(name):
            if not (isinstance(call.func, ast.Attribute) and call.keywords):
                yield from (("function", argument) for argument in call.args[:1])
        case _:
            return
    for new in FUNCTIONS.get(name, ()):
        function = copy.copy(call.func)
        setattr(function, "attr" if isinstance(function, ast.Attribute) else "id", new)
        yield "function", ast.Call(function, call.args, call.keywords)


def _with_more(
    node: ast.expr, parent: ast.AST, field: str, factors: tuple[ast.expr, ...]
) -> Iterator[tuple[str, ast.expr]]:
    """Yield (kind, expression) with one more factor, or with one more term in a sum or a whole statement."""
    stored = isinstance(parent, ast.Assign | ast.AugAssign | ast.Return)
    summand = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add | ast.Sub)
    if stored or summand or isinstance(parent, ast.Call) and field != "func":
        for factor in factors:
            yield from (("multiplied", ast.BinOp(node, op(), factor)) for op in (ast.Mult, ast.Div))
    if stored or summand:
        for factor in factors:
            yield from (("added", ast.BinOp(node, op(), factor)) for op in (ast.Add, ast.Sub))


def _in_block(
    holder: ast.AST, field: str, block: list[ast.stmt]
) -> Iterator[tuple[ast.stmt, Change]]:
    def put(kind: str, at: int, *new: ast.stmt, upto: int | None = None):
        rest = block[at + 1 if upto is None else upto :]
        return block[at], Change(
            kind, holder, {field: [*block[:at], *new, *rest]}, line=block[at].lineno
        )

    def loop(statement: ast.For, body: list[ast.stmt]) -> ast.For:
        return ast.copy_location(
            ast.For(statement.target, statement.iter, body, statement.orelse), statement
        )

    for at, (statement, after) in enumerate(zip(block, [*block[1:], None])):
        match statement:
            case ast.Assign([ast.Subscript() as target], value):
                added = ast.AugAssign(target, ast.Add(), value)
                yield put("stores", at, ast.copy_location(added, statement))
            case ast.AugAssign(target, _, value):
                yield put("stores", at, ast.copy_location(ast.Assign([target], value), statement))
            case ast.Assign([ast.Name()]):
                for place, later in enumerate(block[at + 1 :], at + 1):
                    # also try the statement inside the loop that follows
                    if isinstance(later, ast.For):
                        new = [*block[at + 1 : place], loop(later, [statement, *later.body])]
                        yield put("cleared", at, *new, upto=place + 1)
            case ast.For(body=[ast.Assign([ast.Name()]) as first, *rest]) if rest:
                yield put("cleared", at, first, loop(statement, rest))
        if isinstance(statement, ast.Assign | ast.AugAssign) and isinstance(
            after, ast.Assign | ast.AugAssign
        ):
            yield put("order", at, after, statement, upto=at + 2)
