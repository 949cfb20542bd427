"""Mechanical slips in the source of a kernel, by a generator of its own: the search knows nothing of it, and it nothing of the search.

A slip is a change of one expression or statement of the source (some kernels get two): operators, factors, numbers, comparisons,
axes, functions, names, steps in 16 bits, sums that store, loops without their tail, guards that are always or never true.
"""

import ast
import copy
import inspect
import linecache
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

LIBRARIES = ("numpy", "torch", "jax")
SWAPPED = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
}
COMPARED = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
CALLED = {
    "sum": "mean",
    "mean": "sum",
    "exp": "expm1",
    "floor": "rint",
    "rint": "floor",
    "sigmoid": "tanh",
    "erfc": "erf",
    "zeros_like": "ones_like",
    "ones_like": "zeros_like",
    "min": "max",
    "max": "min",
    "abs": "int",
}
HALF = {
    "numpy": "({}).astype(np.float16)",
    "torch": "({}).half().to(torch.float32)",
    "jax": "({}).astype(jnp.float16)",
}


WIDE = """
def wide(array):
    return array if array.dtype.kind in "iub" else array.astype(np.float64)
"""


@dataclass(frozen=True)
class Slip:
    """A wrong kernel: its library, operator, the format in which it computes, what was changed, and the function."""

    library: str
    operator: str
    computed: str
    kinds: tuple[str, ...]
    lines: tuple[int, ...]
    before: str
    after: str
    kernel: Callable

    def __str__(self) -> str:
        return f"{self.library} {self.operator} {self.computed} {'+'.join(self.kinds)}: {self.before} -> {self.after}"


def kernels(library: str) -> dict[str, Callable]:
    """The right kernels of a library by operator."""
    module = import_module(f"checking.arrangements.{library}_kernels")
    return {
        name: value
        for name, value in vars(module).items()
        if inspect.isfunction(value)
        and (name in module.__dict__.get("__all__", ()) or value.__module__ == module.__name__)
        and len(inspect.signature(value).parameters) > 1
        and name not in ("one_axis", "reflected")
    }


def built(kernel: Callable, tree: ast.Module, computed: str, label: str) -> Callable:
    """A kernel from a changed tree, its source readable as that of any file; "float64" computes in float64."""
    helpers = [WIDE] if computed == "float64" else [inspect.getsource(kernel.__globals__["wide"])]
    helpers += [
        inspect.getsource(kernel.__globals__[helper])
        for helper in ("t", "j")
        if helper in kernel.__globals__
    ]
    text, name = "\n\n".join([ast.unparse(tree), *helpers]), f"<slip {label}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    module = ModuleType("slipped")
    module.__dict__.update(kernel.__globals__)
    exec(compile(text, name, "exec"), vars(module))
    return vars(module)[kernel.__name__]


def right(library: str, operator: str, computed: str) -> Callable:
    kernel = kernels(library)[operator]
    return built(
        kernel, ast.parse(inspect.getsource(kernel)), computed, f"{library} {operator} {computed}"
    )


def slips(library: str, operator: str, computed: str, seed: int) -> Iterator[Slip]:
    """Endlessly many of one kernel, drawn by a seed; every eighth has two changes."""
    kernel, rng = (
        kernels(library)[operator],
        random.Random(f"{library} {operator} {computed} {seed}"),
    )
    source, number = inspect.getsource(kernel), 0
    count = len(list(_changes(ast.parse(source), library)))
    while True:
        number += 1
        chosen = sorted(rng.sample(range(count), 2 if number % 8 == 0 else 1))
        tree, texts = ast.parse(source), []
        every = list(_changes(tree, library))
        for at in chosen:
            kind, statement, change = every[at]
            before = ast.unparse(statement).splitlines()[0]
            change()
            texts.append(
                (
                    kind,
                    statement.lineno,
                    before,
                    ast.unparse(ast.fix_missing_locations(statement)).splitlines()[0],
                )
            )
        kinds, lines, before, after = zip(*texts)
        if before == after:
            continue
        try:
            made = built(kernel, tree, computed, f"{library} {operator} {computed} {seed} {number}")
        except SyntaxError:
            continue
        yield Slip(
            library, operator, computed, kinds, lines, "; ".join(before), "; ".join(after), made
        )


def _changes(tree: ast.Module, library: str) -> Iterator[tuple[str, ast.stmt, Callable[[], None]]]:
    """Every change: its kind, the statement in which it is, and what makes it."""
    (function,) = tree.body
    names = sorted(
        {
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        | {one.arg for one in function.args.args}
    )
    rng = random.Random(0)
    for statement in ast.walk(function):
        if not isinstance(statement, ast.stmt) or statement is function:
            continue
        yield from ((kind, statement, change) for kind, change in _of_statement(statement))
        for field, value in ast.iter_fields(statement):
            if field in ("body", "orelse", "targets", "target"):
                continue
            for root in value if isinstance(value, list) else [value]:
                if isinstance(root, ast.AST):
                    for node in ast.walk(root):
                        yield from (
                            (kind, statement, change)
                            for kind, change in _of_node(node, library, names, rng)
                        )


def _set(node, **values):
    return lambda: [setattr(node, name, value) for name, value in values.items()]


def _become(node, text):
    """Make a node another expression: of the text in which {} is the node."""

    def change():
        inner = copy.copy(node)
        new = ast.parse(text.format("_inner"), mode="eval").body
        for part in ast.walk(new):
            for name, value in ast.iter_fields(part):
                if isinstance(value, ast.Name) and value.id == "_inner":
                    setattr(part, name, inner)
        node.__class__, node.__dict__ = (
            new.__class__,
            dict(vars(new)) | {"lineno": node.lineno, "col_offset": node.col_offset},
        )

    return change


def _of_statement(node: ast.stmt):
    if isinstance(node, ast.AugAssign):
        yield (
            "stores",
            lambda: (
                setattr(node, "__class__", ast.Assign),
                node.__dict__.update(targets=[node.target], type_comment=None),
            ),
        )
    if (
        isinstance(node, ast.For)
        and isinstance(node.iter, ast.Call)
        and getattr(node.iter.func, "id", "") == "range"
        and len(node.iter.args) == 1
    ):
        for kind, text in (
            ("tail", "range({0} - {0} % 4)"),
            ("last", "range({0} - 1)"),
            ("first", "range(1, {0})"),
        ):
            yield (
                kind,
                _set(
                    node,
                    iter=ast.parse(text.format(ast.unparse(node.iter.args[0])), mode="eval").body,
                ),
            )
    if isinstance(node, ast.If):
        yield "always", _set(node, test=ast.Constant(True))
        yield "never", _set(node, test=ast.Constant(False))


def _of_node(node, library, names, rng):
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in SWAPPED:
            yield "operator", _set(node, op=SWAPPED[type(op)]())
            neutral = 1 if isinstance(op, (ast.Mult, ast.Div)) else 0
            for side, value in (("left", left), ("right", right)):
                if not isinstance(value, ast.Constant):
                    yield "dropped", _set(node, **{side: ast.Constant(neutral)})
            if (
                not isinstance(left, ast.Constant)
                and not isinstance(right, ast.Constant)
                and not isinstance(op, ast.FloorDiv)
                and rng.random() < 0.25
            ):
                yield "16 bits", _become(node, HALF[library])
        case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
            yield "sign", _set(node, op=ast.UAdd())
        case ast.Compare(ops=[op]) if type(op) in COMPARED:
            yield "comparison", _set(node, ops=[COMPARED[type(op)]()])
        case ast.Constant(value=float(value)):
            yield from (
                ("number", _set(node, value=new))
                for new in (value * 2, value - 0.25)
                if new != value
            )
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            yield "number", _set(node, value=value + 1)
        case ast.Call(func=ast.Attribute(attr=name)) if name in CALLED:
            yield "function", _set(node.func, attr=CALLED[name])
        case ast.Call(func=ast.Name(id=name), args=[_, *_]) if name in CALLED:
            yield "function", _set(node.func, id=CALLED[name])
        case ast.keyword(arg="axis" | "dim", value=value):
            yield "axis", _set(node, value=ast.Constant(0 if ast.unparse(value) != "0" else -1))
        case ast.Subscript(slice=ast.Tuple(elts=[first, second])):
            yield "indices", _set(node.slice, elts=[second, first])
        case ast.Slice(lower=lower, upper=upper) if upper is not None:
            yield "slice", _set(node, upper=ast.BinOp(upper, ast.Sub(), ast.Constant(1)))
        case ast.Name(id=name, ctx=ast.Load()) if name in names:
            other = rng.choice([one for one in names if one != name])
            if rng.random() < 0.3:
                yield "name", _set(node, id=other)
