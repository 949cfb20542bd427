"""What goes wrong in kernels beside what does on a page: stores for sums, blocks, casts, axes, the order of statements."""

import ast
import copy
from collections.abc import Iterator

from aclnn_viz.operators.faults.edits import Change, statements

CASTS = {"astype", "to", "half", "bfloat16", "float"}
FUNCTIONS = {
    "sum": ("mean",),
    "mean": ("sum",),
    "floor": ("rint", "round", "ceil"),
    "rint": ("floor", "trunc"),
    "expm1": ("exp",),
    "exp": ("expm1",),
    "tanh": ("sigmoid",),
    "sigmoid": ("tanh",),
    "erf": ("erfc",),
    "erfc": ("erf",),
    "min": ("max",),
    "max": ("min",),
    "zeros_like": ("ones_like",),
    "ones_like": ("zeros_like",),
    "float16": ("float32",),
    "bfloat16": ("float32",),
    "int": ("abs",),
    "abs": ("int",),
    "minimum": ("maximum",),
    "maximum": ("minimum",),
}
NUMBERS = (0.25, 0.5, 1.0, 2.0)  # by which a constant may be off
RATES = (0.5, 2.0, -1.0)
# of a tensor, or as many as an attribute lists
AXES = "tuple(range(-{}.ndim, 0))", "tuple(range(-len({}), 0))"


def edits_of_kernels(
    tree: ast.FunctionDef, names: tuple[str, ...]
) -> Iterator[tuple[ast.stmt, Change]]:
    """Every such edit of a function, beside the statement that it changes; `names` are those that its expressions may use."""
    holder = statements(tree)
    parts = {
        ast.unparse(node): copy.deepcopy(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)
    }
    factors = (*(ast.Name(name, ast.Load()) for name in names), *parts.values())
    for node in ast.walk(tree):
        for field_, value in ast.iter_fields(node):
            if field_ in ("body", "orelse") and isinstance(value, list):
                yield from _in_block(node, field_, value)
            for at, part in enumerate(value if isinstance(value, list) else [value]):
                if (
                    isinstance(part, ast.expr)
                    and id(part) in holder
                    and not isinstance(holder[id(part)], ast.FunctionDef)
                ):
                    for kind, new in _others(part, factors, node):
                        put = (
                            [*value[:at], new, *value[at + 1 :]] if isinstance(value, list) else new
                        )
                        yield (
                            holder[id(part)],
                            Change(kind, node, {field_: put}, line=getattr(part, "lineno", 0)),
                        )
        if (
            isinstance(node, ast.keyword)
            and node.arg in ("axis", "dim")
            and id(node.value) in holder
        ):
            for axis in (*map(ast.Constant, (0, 1, -1, -2, None)), *_axes_of(names)):
                yield (
                    holder[id(node.value)],
                    Change("axis", node, {"value": axis}, line=node.value.lineno),
                )
    for one in {
        id(one): one
        for one in holder.values()
        if isinstance(one, ast.Assign | ast.Return) and one.value
    }.values():
        yield from (
            (one, Change("axis", one, {"value": value}, line=one.lineno))
            for value in _on_other_axes(one.value, names)
        )


def _axes_of(names: tuple[str, ...]) -> list[ast.expr]:
    """The last axes, as many as a tensor has, or as an attribute lists."""
    return [ast.parse(text.format(name), mode="eval").body for name in names for text in AXES]


def _on_other_axes(value: ast.expr, names: tuple[str, ...]) -> Iterator[ast.expr]:
    """An expression that goes over the same axes in several places, and over others in all of them."""

    def places(whole: ast.expr) -> list[ast.keyword]:
        return [
            node
            for node in ast.walk(whole)
            if isinstance(node, ast.keyword) and node.arg in ("axis", "dim")
        ]

    texts = [ast.unparse(place.value) for place in places(value)]
    for text in dict.fromkeys(one for one in texts if texts.count(one) > 1):
        for axes in (*map(ast.Constant, (0, 1, -1, -2, None, (2, 3), (-2, -1))), *_axes_of(names)):
            new = copy.deepcopy(value)
            for place in places(new):
                if ast.unparse(place.value) == text:
                    place.value = axes
            yield ast.fix_missing_locations(new)


def _others(
    node: ast.expr, factors: tuple[ast.expr, ...], parent: ast.AST
) -> Iterator[tuple[str, ast.expr]]:
    """What may stand in the place of an expression."""
    match node:
        case ast.BinOp(left=left, right=right):
            yield "side", left
            yield "side", right
            if isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod):
                yield (
                    "operator",
                    ast.BinOp(
                        left, ast.FloorDiv() if isinstance(node.op, ast.Div) else ast.Mult(), right
                    ),
                )
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "operator", operand
        case ast.IfExp(body=body, orelse=orelse):
            yield "side", body
            yield "side", orelse
        case ast.Constant(value=bool()):
            yield from (("inserted", factor) for factor in factors if isinstance(factor, ast.Name))
        case ast.Constant(value=int(value) | float(value)):
            yield from (
                ("constant", ast.Constant(type(value)(value + sign * step)))
                for step in NUMBERS
                for sign in (1, -1)
                if isinstance(value, float)
            )
            yield from (
                ("constant", ast.Constant(value * rate))
                for rate in RATES
                if isinstance(value, float)
            )
            yield from (
                ("constant", ast.Constant(value + step))
                for step in (1, -1)
                if isinstance(value, int)
            )
            yield from (("inserted", factor) for factor in factors)
        case ast.Call(func=ast.Attribute(value=inner, attr=name)):
            if name in CASTS:
                yield "format", inner
            elif node.args and not node.keywords:
                yield "function", node.args[0]
            for new in FUNCTIONS.get(name, ()):
                yield (
                    "function",
                    ast.Call(ast.Attribute(inner, new, ast.Load()), node.args, node.keywords),
                )
        case ast.Call(func=ast.Name(id=name)):
            if node.args:
                yield "function", node.args[0]
            for new in FUNCTIONS.get(name, ()):
                yield "function", ast.Call(ast.Name(new, ast.Load()), node.args, node.keywords)
        case ast.Attribute(value=inner, attr=name) if name in FUNCTIONS and not isinstance(
            parent, ast.Call
        ):
            yield from (
                ("format", ast.Attribute(inner, new, ast.Load())) for new in FUNCTIONS[name]
            )
        case ast.Tuple(elts=elements) if isinstance(parent, ast.Subscript):
            for at in range(len(elements) - 1):
                yield (
                    "indices",
                    ast.Tuple(
                        [*elements[:at], elements[at + 1], elements[at], *elements[at + 2 :]],
                        node.ctx,
                    ),
                )
    summand = isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Add | ast.Sub)
    if (
        isinstance(node, ast.BinOp | ast.Call | ast.Name | ast.Subscript)
        and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        and (summand or isinstance(parent, ast.Assign | ast.AugAssign | ast.Return | ast.Call))
    ):
        if not (isinstance(parent, ast.Call) and node is parent.func):
            yield from (
                ("multiplied", ast.BinOp(node, op(), factor))
                for factor in factors
                for op in (ast.Mult, ast.Div)
            )


def _in_block(
    holder: ast.AST, field_: str, block: list[ast.stmt]
) -> Iterator[tuple[ast.stmt, Change]]:
    def put(kind: str, at: int, *new: ast.stmt, upto: int | None = None):
        return block[at], Change(
            kind,
            holder,
            {field_: [*block[:at], *new, *block[at + 1 if upto is None else upto :]]},
            line=block[at].lineno,
        )

    for at, one in enumerate(block):
        match one:
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                yield put(
                    "stores", at, ast.copy_location(ast.AugAssign(target, ast.Add(), value), one)
                )
            case ast.AugAssign(target=target, value=value):
                yield put("stores", at, ast.copy_location(ast.Assign([target], value), one))
            case ast.Assign(targets=[ast.Name()]) if at + 1 < len(block):
                for loop in (later for later in block[at + 1 :] if isinstance(later, ast.For)):
                    kept = [*block[:at], *block[at + 1 :]]
                    inner = ast.copy_location(
                        ast.For(loop.target, loop.iter, [one, *loop.body], loop.orelse), loop
                    )
                    yield (
                        one,
                        Change(
                            "cleared",
                            holder,
                            {field_: [inner if part is loop else part for part in kept]},
                            line=one.lineno,
                        ),
                    )
            case ast.For(body=[ast.Assign(targets=[ast.Name()]) as first, *rest]) if rest:
                yield put(
                    "cleared",
                    at,
                    first,
                    ast.copy_location(ast.For(one.target, one.iter, rest, one.orelse), one),
                )
        if (
            at + 1 < len(block)
            and isinstance(one, ast.Assign | ast.AugAssign)
            and isinstance(block[at + 1], ast.Assign | ast.AugAssign)
        ):
            yield put("order", at, block[at + 1], one, upto=at + 2)
