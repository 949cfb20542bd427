"""The changes of one node of a page's syntax tree, each made in place and taken back."""

import ast
import difflib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType

_lock = threading.RLock()  # a tree is shared by all edits of its page

OPERATORS = {ast.Add: (ast.Sub,), ast.Sub: (ast.Add,), ast.Mult: (ast.Div, ast.Add), ast.Div: (ast.Mult, ast.Sub),
             ast.BitAnd: (ast.BitOr,), ast.BitOr: (ast.BitAnd,)}
COMPARISONS = {ast.Lt: (ast.LtE, ast.Gt, ast.GtE), ast.LtE: (ast.Lt, ast.GtE, ast.Gt),
               ast.Gt: (ast.GtE, ast.Lt, ast.LtE), ast.GtE: (ast.Gt, ast.LtE, ast.Lt),
               ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,)}
FUNCTIONS = {"sum": ("mean", "max"), "mean": ("sum",), "floor": ("ceil", "round", "trunc"),
             "round": ("floor", "ceil", "trunc"), "ones_like": ("zeros_like",), "zeros_like": ("ones_like",),
             "ones": ("zeros",), "zeros": ("ones",), "exp": ("log",), "log": ("exp",), "max": ("min", "sum"),
             "minimum": ("maximum",), "maximum": ("minimum",), "abs": ("negative",), "sqrt": ("square",)}
IDENTITIES = {"exp", "log", "sqrt", "abs", "clip", "guard", "floor", "round", "trunc", "where"}  # what may be left out
AXES = (None, 0, -1)


@dataclass(frozen=True, eq=False)
class Change:
    """What to set on a node: `{attribute: value}`; `drops` when the whole statement goes."""

    kind: str
    node: ast.AST
    values: dict = field(default_factory=dict)
    drops: bool = False
    line: int = 0

    @contextmanager
    def made(self):
        with _lock:
            before = {name: getattr(self.node, name) for name in self.values}
            try:
                for name, value in self.values.items():
                    for new in value if isinstance(value, list) else [value]:
                        if isinstance(new, ast.AST) and not hasattr(new, "lineno"):
                            ast.fix_missing_locations(ast.copy_location(new, self.node))
                    setattr(self.node, name, value)
                yield
            finally:
                for name, value in before.items():
                    setattr(self.node, name, value)


def head(statement: ast.AST) -> str:
    """The text of a statement, of a compound one its first line, of one output of a page the output alone."""
    text = ast.unparse(statement).splitlines()[0]
    return text[1:-1] if isinstance(statement, ast.Dict) else text


def statements(tree: ast.FunctionDef) -> dict[int, ast.AST]:
    """The innermost statement, or output of a page, that holds a node, by the node's id."""
    found: dict[int, ast.AST] = {}
    for statement in ast.walk(ast.Module(tree.body, [])):
        if isinstance(statement, ast.stmt):
            found |= {id(part): statement for part in ast.walk(statement)}
        if isinstance(statement, ast.Return) and isinstance(statement.value, ast.Dict):
            for key, value in zip(statement.value.keys, statement.value.values):
                alone = ast.copy_location(ast.Dict([key], [value]), value)
                found |= {id(part): alone for part in ast.walk(value)}
    return found


def distance(a: str, b: str) -> int:
    return sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, a, b, False).get_opcodes()
               if tag != "equal")


def names_of(tree: ast.stmt, page: ModuleType) -> tuple[str, ...]:
    """The names that a function takes or makes, but no functions and no namespaces."""
    if not isinstance(tree, ast.FunctionDef):
        return ()
    taken = [argument.arg for argument in tree.args.args if argument.arg != "xp"]
    made = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return tuple(dict.fromkeys([*taken, *made]))


def changes(tree: ast.stmt, names: tuple[str, ...]) -> Iterator[tuple[ast.stmt, Change]]:
    """Yield every change inside a top-level statement, with the innermost statement that holds it."""
    texts = sorted({part.value for node in ast.walk(tree) if isinstance(node, ast.Compare)
                    for part in node.comparators if isinstance(part, ast.Constant) and isinstance(part.value, str)})
    if isinstance(tree, ast.FunctionDef):
        yield from _in_block(tree.body, names, texts)
    else:
        for change in _in_expression(tree, tree, names, texts):
            yield tree, change


def _in_block(block: list[ast.stmt], names, texts) -> Iterator[tuple[ast.stmt, Change]]:
    for statement in block:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue  # a docstring
        yield from ((statement, change) for change in _dropped(statement))
        if isinstance(statement, ast.Return) and isinstance(statement.value, ast.Dict):
            for key, value in zip(statement.value.keys, statement.value.values):
                shown = ast.copy_location(ast.Dict([key], [value]), value)
                yield from ((shown, change) for change in _in_expression(value, shown, names, texts))
            continue
        for name, value in ast.iter_fields(statement):
            if name in ("body", "orelse") and isinstance(value, list):
                yield from _in_block(value, names, texts)
            elif name not in ("target", "targets", "name", "args", "decorator_list"):
                for part in value if isinstance(value, list) else [value]:
                    if isinstance(part, ast.AST):
                        yield from ((statement, change) for change in _in_expression(part, statement, names, texts))


def _dropped(statement: ast.stmt) -> Iterator[Change]:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            used = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
            if name in used:  # the value of before stays
                yield Change("statement", statement, {"value": ast.Name(name, ast.Load())}, drops=True)
            yield Change("operator", statement, {"value": ast.UnaryOp(ast.USub(), value)})
        case ast.Assign(targets=[ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)])]):
            yield Change("name", statement, {"targets": [ast.Tuple([ast.Name(second, ast.Store()), ast.Name(
                first, ast.Store())], ast.Store())]})
        case ast.AugAssign(op=op) if type(op) in OPERATORS:
            yield Change("statement", statement, {"value": ast.Constant(0)}, drops=True)
            for new in OPERATORS[type(op)]:
                yield Change("operator", statement, {"op": new()})
        case ast.If(test=test):
            yield Change("statement", statement, {"test": ast.Constant(True)})
            yield Change("statement", statement, {"test": ast.Constant(False)}, drops=not statement.orelse)
            yield Change("comparison", statement, {"test": ast.UnaryOp(ast.Not(), test)})
        case ast.Expr():
            yield Change("statement", statement, {"value": ast.Constant(None)}, drops=True)


def _in_expression(root: ast.AST, statement, names, texts) -> Iterator[Change]:
    negated = {id(node.operand) for node in ast.walk(root) if isinstance(node, ast.UnaryOp)}
    stored = {id(node) for target in getattr(statement, "targets", []) for node in ast.walk(target)}
    for parent in ast.walk(root):
        if id(parent) in stored:
            continue
        for change in _of_node(parent, names, texts, negated):
            yield change


def _of_node(node: ast.AST, names, texts, negated) -> Iterator[Change]:
    line = getattr(node, "lineno", 0)

    def made(kind, **values):
        return Change(kind, node, values, line=line)
    match node:
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            for new in OPERATORS[type(op)]:
                yield made("operator", op=new())
            neutral = ast.Constant(1.0 if isinstance(op, (ast.Mult, ast.Div)) else 0.0)
            if not isinstance(op, (ast.BitAnd, ast.BitOr)):
                for side, value in (("right", right), ("left", left)):
                    if not isinstance(value, ast.Constant) or value.value != neutral.value:
                        yield made("factor", **{side: neutral})
            if isinstance(op, (ast.Sub, ast.Div)):
                yield made("operator", left=right, right=left)
            elif isinstance(op, (ast.BitAnd, ast.BitOr)):
                yield made("factor", right=left)
                yield made("factor", left=right)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            if isinstance(operand, ast.Constant) and isinstance(operand.value, int):
                yield made("index", operand=ast.Constant(operand.value + 1))
            else:
                yield made("operator", op=ast.UAdd())
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
            for new in COMPARISONS[type(op)]:
                yield made("comparison", ops=[new()])
        case ast.Constant(value=bool()):
            yield made("constant", value=not node.value)
        case ast.Constant(value=float(value)):
            for new in dict.fromkeys((value + 1, -value, 0.0, 1.0, 2 * value, value / 2)):
                if new != value:
                    yield made("constant", value=new)
        case ast.Constant(value=int(value)) if id(node) not in negated:
            yield made("index", value=value + 1)
            if value:
                yield made("index", value=value - 1)
        case ast.Constant(value=str(value)) if value in texts:
            for new in texts:
                if new != value:
                    yield made("constant", value=new)
        case ast.Call():
            yield from _of_call(node, made)
        case ast.Tuple(elts=elements, ctx=ast.Load()) if len(elements) < 5:
            for at, element in enumerate(elements):
                if isinstance(element, ast.Name) and element.id in names:
                    yield made("operator", elts=[*elements[:at], ast.UnaryOp(ast.USub(), element), *elements[at + 1:]])
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield made("comparison", body=orelse, orelse=body)
            yield made("comparison", test=ast.Constant(True))
            yield made("comparison", test=ast.Constant(False))
        case ast.Attribute(attr="float64"):
            yield made("format", attr="float16")
        case ast.Name(id=name, ctx=ast.Load()) if name in names:
            for new in names:
                if new != name:
                    yield made("name", id=new)


def _of_call(node: ast.Call, made) -> Iterator[Change]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    for new in FUNCTIONS.get(name, ()):
        yield made("function", func=ast.Attribute(node.func.value, new, ast.Load()))
    if name in IDENTITIES and name != "where" and node.args:
        yield made("function", func=ast.Attribute(node.func.value, "asarray", ast.Load()), args=node.args[:1],
                   keywords=[])
    if name == "where" and len(node.args) == 3:
        test, then, other = node.args
        yield made("comparison", args=[test, other, then])
        yield made("comparison", args=[test, then, then])
        yield made("comparison", args=[test, other, other])
    if len(node.args) > 2 and name != "where":
        for at in range(isinstance(node.args[0], ast.Name) and node.args[0].id == "xp", len(node.args) - 1):
            swapped = [*node.args[:at], node.args[at + 1], node.args[at], *node.args[at + 2:]]
            yield made("name", args=swapped)
    for at, keyword in enumerate(node.keywords):
        if keyword.arg == "axis":
            for new in _axes(keyword.value):
                kept = [*node.keywords[:at], ast.keyword("axis", new), *node.keywords[at + 1:]]
                yield made("axis", keywords=kept)


def _axes(value: ast.expr) -> list[ast.expr]:
    """Other axes in the place of some: each one alone, or all of them; of a number its neighbours."""
    if isinstance(value, ast.Tuple):
        return [*value.elts, ast.Constant(None)]
    if isinstance(value, (ast.Constant, ast.UnaryOp)):
        now = ast.literal_eval(value)
        return [ast.Constant(axis) for axis in AXES if axis != now]
    return [ast.Constant(None), *(ast.Constant(axis) for axis in (0, 1, 2, 3))]
