"""List every mechanical edit of an operator's formulas (a factor, constant, comparison, axis, name or statement changed), as
mistakes that a check must find.

A change sets attributes of one node of the page's syntax tree in place, and is undone. Replacements of whole expressions also
explain wrong kernels, but the kit is not scored on them.

Source: the operators of mutation testing, https://en.wikipedia.org/wiki/Mutation_testing, and the slips of hand-written
kernels: a forgotten factor, a wrong axis, a swapped pair.
"""

import ast
import copy
import difflib
import inspect
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from types import CodeType, ModuleType

from aclnn_viz.operators import registry
from aclnn_viz.words.messages import linked, message

_lock = threading.RLock()  # one thread at a time: all edits of a page change the same syntax tree
OPERATORS = {
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Div, ast.Add),
    ast.Div: (ast.Mult, ast.Sub),
    ast.BitAnd: (ast.BitOr,),
    ast.BitOr: (ast.BitAnd,),
}
COMPARISONS = {
    ast.Lt: (ast.LtE, ast.Gt, ast.GtE),
    ast.LtE: (ast.Lt, ast.GtE, ast.Gt),
    ast.Gt: (ast.GtE, ast.Lt, ast.LtE),
    ast.GtE: (ast.Gt, ast.LtE, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
}
FUNCTIONS = {
    "sum": ("mean", "max"),
    "mean": ("sum",),
    "floor": ("ceil", "round", "trunc"),
    "round": ("floor", "ceil", "trunc"),
    "ones_like": ("zeros_like",),
    "zeros_like": ("ones_like",),
    "ones": ("zeros",),
    "zeros": ("ones",),
    "exp": ("log",),
    "log": ("exp",),
    "max": ("min", "sum"),
    "minimum": ("maximum",),
    "maximum": ("minimum",),
    "abs": ("negative",),
    "sqrt": ("square",),
}
# functions whose call an edit may replace by its operand
IDENTITIES = {"exp", "log", "sqrt", "abs", "clip", "guard", "floor", "round", "trunc", "where"}
AXES = (None, 0, -1)
# modules that pages and tile programs of several operators share
FAMILIES = "aclnn_viz.operators.families.", "aclnn_viz.tiles.by_operator."
FORWARD, ENTRIES = "forward", ("backward", "PRELUDE")  # only backward kernels are edited
SUM, PRODUCT = (ast.Add, ast.Sub), (ast.Mult, ast.Div)
EXPRESSIONS = (ast.BinOp, ast.Call, ast.Name, ast.Subscript, ast.List)
HOLDERS = (
    ast.BinOp,
    ast.UnaryOp,
    ast.IfExp,
    ast.Call,
    ast.Assign,
    ast.List,
    ast.Subscript,
    ast.Return,
    ast.Dict,
)
UNARY = (
    "{0}",
    "xp.exp({0})",
    "xp.tanh({0})",
    "xp.erf({0})",
    "xp.sqrt({0})",
    "1.0 / (1.0 + xp.exp(-({0})))",
)
OF_NAMES = (
    "xp.sqrt({})",
    "1.0 / xp.sqrt({})",
    "{} ** 2",
    "-{}",
    "xp.abs({})",
    "xp.exp({})",
    "xp.log({})",
    "1 - {}",
)


@dataclass(frozen=True, eq=False)
class Change:
    """The attributes to set on a node, `{attribute: value}`; `drops` removes the statement. `exchange` is the replaced and
    the new text.
    """

    kind: str
    node: ast.AST
    values: dict = field(default_factory=dict)
    drops: bool = False
    line: int = 0
    exchange: tuple[str, ...] = ()

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
    """Return a statement's text, for a compound statement its first line, for one output of a page that output."""
    text = ast.unparse(statement).splitlines()[0]
    return text[1:-1] if isinstance(statement, ast.Dict) else text


class _Plain(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Attribute(attr="where"), [_, one, other]) if ast.unparse(
                one
            ) == ast.unparse(other):
                return one
        return node


def edited_head(statement: ast.AST) -> str:
    """Return the text of an edited statement, with a choice between two equal values reduced to the value."""
    text = head(statement)
    return head(_Plain().visit(copy.deepcopy(statement))) if ".where(" in text else text


def statements(tree: ast.stmt) -> dict[int, ast.AST]:
    """Return the innermost statement, or output of a page, around each node, by the node's id."""
    found: dict[int, ast.AST] = {}
    for statement in ast.walk(ast.Module(getattr(tree, "body", [tree]), [])):
        if isinstance(statement, ast.stmt):
            found |= {id(part): statement for part in ast.walk(statement)}
        if isinstance(statement, ast.Return) and isinstance(statement.value, ast.Dict):
            for key, value in zip(statement.value.keys, statement.value.values):
                alone = ast.copy_location(ast.Dict([key], [value]), value)
                found |= {id(part): alone for part in ast.walk(value)}
    return found


def distance(a: str, b: str) -> int:
    return sum(
        max(i2 - i1, j2 - j1)
        for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, a, b, False).get_opcodes()
        if tag != "equal"
    )


def names_of(tree: ast.stmt) -> tuple[str, ...]:
    """Return the names of a function's arguments, without xp, and of its variables."""
    if not isinstance(tree, ast.FunctionDef):
        return ()
    taken = [argument.arg for argument in tree.args.args if argument.arg != "xp"]
    return tuple(dict.fromkeys([*taken, *_stored(tree)]))


def _stored(tree: ast.stmt) -> list[str]:
    """Return the names to which a statement assigns."""
    return [
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def changes(tree: ast.stmt, names: tuple[str, ...]) -> Iterator[tuple[ast.stmt, Change]]:
    """Yield every change inside a top-level statement, with the innermost statement that holds it."""
    texts = sorted(
        {
            part.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Compare)
            for part in node.comparators
            if isinstance(part, ast.Constant) and isinstance(part.value, str)
        }
    )
    holder = statements(tree)
    negated = {id(node.operand) for node in ast.walk(tree) if isinstance(node, ast.UnaryOp)}
    for node in ast.walk(tree):
        if id(node) in holder:
            statement = holder[id(node)]
            whole = _dropped(node) if isinstance(tree, ast.FunctionDef) else ()
            for change in (*whole, *_of_node(node, names, texts, negated)):
                yield statement, change


def _dropped(statement: ast.stmt) -> Iterator[Change]:
    match statement:
        case ast.Assign([ast.Name(name)], value):
            used = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
            if name in used:  # without the assignment, the name keeps its earlier value
                yield Change(
                    "statement", statement, {"value": ast.Name(name, ast.Load())}, drops=True
                )
            yield Change("operator", statement, {"value": ast.UnaryOp(ast.USub(), value)})
        case ast.Assign([ast.Tuple(targets)]):
            for at in range(len(targets) - 1):
                swapped = _put(targets, at, targets[at + 1], targets[at])
                yield Change("name", statement, {"targets": [ast.Tuple(swapped, ast.Store())]})
        case ast.AugAssign(op=op) if type(op) in OPERATORS:
            yield Change("statement", statement, {"value": ast.Constant(0)}, drops=True)
            for new in OPERATORS[type(op)]:
                yield Change("operator", statement, {"op": new()})
        case ast.If(test):
            yield Change("statement", statement, {"test": ast.Constant(True)})
            yield Change(
                "statement", statement, {"test": ast.Constant(False)}, drops=not statement.orelse
            )
            yield Change("comparison", statement, {"test": ast.UnaryOp(ast.Not(), test)})
        case ast.Expr(ast.Call()):
            yield Change("statement", statement, {"value": ast.Constant(None)}, drops=True)


def _of_node(node: ast.AST, names, texts, negated) -> Iterator[Change]:
    line = getattr(node, "lineno", 0)

    def made(kind, **values):
        return Change(kind, node, values, line=line)

    match node:
        case ast.BinOp() | ast.UnaryOp() | ast.Compare(ops=[_]):
            yield from _of_operator(node, made)
        case ast.Constant(value) if id(node) not in negated or not isinstance(value, int):
            others = texts if value in texts else _numbers(value)
            kind = "index" if type(value) is int else "constant"
            yield from (made(kind, value=other) for other in others if other != value)
        case ast.Call():
            yield from _of_call(node, made)
        case ast.Tuple(elements, ast.Load()) if len(elements) < 5:
            for at, element in enumerate(elements):
                if isinstance(element, ast.Name) and element.id in names:
                    negative = ast.UnaryOp(ast.USub(), element)
                    yield made("operator", elts=_put(elements, at, negative))
        case ast.IfExp(_, body, orelse):
            yield made("comparison", body=orelse, orelse=body)
            yield made("comparison", test=ast.Constant(True))
            yield made("comparison", test=ast.Constant(False))
        case ast.Attribute(attr="float64"):
            yield made("format", attr="float16")
        case ast.Name(name, ast.Load()) if name in names:
            for new in names:
                if new != name:
                    yield Change("name", node, {"id": new}, line=line, exchange=(name, new))


def _put(items: list, at: int, *new) -> list:
    """Return the items, of which those from the place `at` on are replaced by as many new ones as are given."""
    return [*items[:at], *new, *items[at + len(new) :]]


def _numbers(value) -> tuple:
    """Return replacements of a constant; none for a text."""
    match value:
        case bool():
            return (not value,)
        case float():
            return tuple(dict.fromkeys((value + 1, -value, 0.0, 1.0, 2 * value, value / 2)))
        case int():
            return (value + 1, value - 1) if value else (1,)
    return ()


def _of_operator(node: ast.expr, made) -> Iterator[Change]:
    match node:
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            for new in OPERATORS[type(op)]:
                yield made("operator", op=new())
            if isinstance(op, ast.BitAnd | ast.BitOr):
                yield made("factor", right=left)
                yield made("factor", left=right)
                return
            neutral = ast.Constant(1.0 if isinstance(op, PRODUCT) else 0.0)
            for side, value in (("right", right), ("left", left)):
                if not isinstance(value, ast.Constant) or value.value != neutral.value:
                    yield made("factor", **{side: neutral})
            if isinstance(op, ast.Sub | ast.Div):
                yield made("operator", left=right, right=left)
        case ast.UnaryOp(ast.USub(), ast.Constant(int(value))):
            yield made("index", operand=ast.Constant(value + 1))
        case ast.UnaryOp(ast.USub()):
            yield made("operator", op=ast.UAdd())
        case ast.Compare(ops=[op]):
            yield from (made("comparison", ops=[new()]) for new in COMPARISONS.get(type(op), ()))


def _of_call(node: ast.Call, made) -> Iterator[Change]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    for new in FUNCTIONS.get(name, ()):
        yield made("function", func=ast.Attribute(node.func.value, new, ast.Load()))
    if name in IDENTITIES and name != "where" and node.args:
        yield made(
            "function",
            func=ast.Attribute(node.func.value, "asarray", ast.Load()),
            args=node.args[:1],
            keywords=[],
        )
    if name == "where" and len(node.args) == 3:
        test, then, other = node.args
        yield made("comparison", args=[test, other, then])
        yield made("comparison", args=[test, then, then])
        yield made("comparison", args=[test, other, other])
    if len(node.args) > 2 and name != "where":
        for at in range(
            isinstance(node.args[0], ast.Name) and node.args[0].id == "xp", len(node.args) - 1
        ):
            swapped = _put(node.args, at, node.args[at + 1], node.args[at])
            yield made("name", args=swapped)
    for at, keyword in enumerate(node.keywords):
        if keyword.arg == "axis":
            for new in _axes(keyword.value):
                kept = _put(node.keywords, at, ast.keyword("axis", new))
                yield made("axis", keywords=kept)


def _axes(value: ast.expr) -> list[ast.expr]:
    """Return replacements of axes: for a tuple each of its axes or None (all), for a number the others of AXES, else
    None and 0 to 3.
    """
    if isinstance(value, ast.Tuple):
        return [*value.elts, ast.Constant(None)]
    if isinstance(value, (ast.Constant, ast.UnaryOp)):
        now = ast.literal_eval(value)
        return [ast.Constant(axis) for axis in AXES if axis != now]
    return [ast.Constant(None), *(ast.Constant(axis) for axis in (0, 1, 2, 3))]


def file_of(page: ModuleType) -> str:
    """Return the name of a page's file: its folder and name."""
    return "/".join(page.__name__.split(".")[-2:]).removeprefix(registry.OUTSIDE) + ".py"


@dataclass(frozen=True, eq=False)
class Unit:
    """One top-level statement of a page, a function or a constant, that edits change in place and change back."""

    module: ModuleType
    tree: ast.stmt
    whole: tuple[CodeType, ...]  # code objects of the page and of the modules that it imports

    @property
    def file(self) -> str:
        return file_of(self.module)

    @property
    def name(self) -> str:
        return self.tree.name if isinstance(self.tree, ast.FunctionDef) else ""

    def page(self) -> ModuleType:
        """Return the page with the unit's present text."""
        page = ModuleType(self.module.__name__)
        page.__package__ = self.module.__package__
        for code in self.whole:
            exec(code, page.__dict__)
        before = page.__dict__.get(self.name)
        exec(
            compile(ast.Module([self.tree], []), f"<an edit of {self.module.__name__}>", "exec"),
            page.__dict__,
        )
        for name, value in page.__dict__.items():
            if before is not None and value is before:  # two names hold the same function
                page.__dict__[name] = page.__dict__[self.name]
        return page


@dataclass(frozen=True, eq=False)
class Edit:
    """One edit of one place of a page: kind, line, text before and after; `others` are changed together with it."""

    kind: str
    unit: Unit
    statement: ast.stmt
    change: Change
    others: tuple["Edit", ...] = ()

    @property
    def line(self) -> int:
        """Return the line number in the page's file."""
        return self.change.line or self.statement.lineno

    @property
    def lines(self) -> range:
        """Return the lines of the statement, for a compound statement those of its head."""
        body = getattr(self.statement, "body", None)
        last = body[0].lineno - 1 if isinstance(body, list) else self.statement.end_lineno
        return range(self.statement.lineno, max(last, self.statement.lineno) + 1)

    @contextmanager
    def made(self):
        with ExitStack() as stack:
            for edit in (self, *self.others):
                stack.enter_context(edit.change.made())
            yield

    @cached_property
    def page(self) -> ModuleType:
        """Return the edited page; raise SyntaxError if the edit is not valid Python."""
        with self.made():
            return self.unit.page()

    @cached_property
    def before(self) -> str:
        return "; ".join(dict.fromkeys(head(edit.statement) for edit in (self, *self.others)))

    @cached_property
    def after(self) -> str:
        if self.change.drops:
            return message("(left out)")
        with self.made():
            heads = (edited_head(edit._shown) for edit in (self, *self.others))
            return "; ".join(dict.fromkeys(heads))

    @property
    def _shown(self) -> ast.AST:
        """Return the present text of the statement; for an output of a page, the text of its entry in the dictionary."""
        whole, part = self.change.node, self.statement
        if not (isinstance(whole, ast.Dict) and isinstance(part, ast.Dict)):
            return part
        return ast.Dict(part.keys, [whole.values[whole.keys.index(part.keys[0])]])

    @property
    def file(self) -> str:
        return self.unit.file

    @property
    def place(self) -> str:
        lines = dict.fromkeys(str(edit.line) for edit in (self, *self.others))
        some = linked("{some} and {more}", lines)
        return (
            message("{file}, line {line}", file=self.file, line=some)
            if len(lines) == 1
            else message("{file}, lines {lines}", file=self.file, lines=some)
        )

    def __str__(self) -> str:
        place = self.place
        if self.unit.name:
            place = message("{place} ({function})", place=place, function=self.unit.name)
        return message(
            "{place}: {before}  ->  {after}", place=place, before=self.before, after=self.after
        )


@cache
def units(page: ModuleType) -> tuple[Unit, ...]:
    """Return the functions and constants that backward uses, from a page and from shared modules."""
    texts = sources(page)
    used = _used(texts)
    whole = tuple(compile(source, f"<{module.__name__}>", "exec") for module, source in texts)
    found = []
    for module, source in texts:
        for node in ast.parse(source).body:
            constant = isinstance(node, ast.Assign) and not any(
                isinstance(target, ast.Name) and target.id in ("AXES", "REDUCED_AXES")
                for target in node.targets
            )
            if not used.isdisjoint(_names(node)) and (
                isinstance(node, ast.FunctionDef) and node.name != FORWARD or constant
            ):
                found.append(Unit(module, node, whole))
    return tuple(found)


def _names(node: ast.stmt) -> list[str]:
    """Return the names that a statement defines."""
    return [node.name] if isinstance(node, ast.FunctionDef) else _stored(node)


def _used(texts: list[tuple[ModuleType, str]]) -> set[str]:
    """Return the names that backward and PRELUDE use, directly or through other names."""
    bodies = [node for _, source in texts for node in ast.parse(source).body]
    refers = {
        name: {
            one.id if isinstance(one, ast.Name) else one.attr
            for one in ast.walk(node)
            if isinstance(one, ast.Name | ast.Attribute)
        }
        for node in bodies
        for name in _names(node)
    }
    found, todo = set(), [*ENTRIES]
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            todo += refers.get(name, ())
    return found


@cache
def sources(page: ModuleType) -> tuple[tuple[ModuleType, str], ...]:
    """Return the modules of a page with their texts, the page last, so that imports from a family are defined before it.

    Blank lines replace an import from a family, so that each line keeps its number.
    """
    lines = inspect.getsource(page).splitlines(keepends=True)
    taken = []
    for node in ast.parse("".join(lines)).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(FAMILIES):
            taken += sources(sys.modules[node.module])
            lines[node.lineno - 1 : node.end_lineno] = ["\n"] * (node.end_lineno - node.lineno + 1)
    return (*dict.fromkeys(taken), (page, "".join(lines)))


@cache
def edits(page: ModuleType) -> tuple[Edit, ...]:
    """Return every single edit of a page, in the order of its source.

    >>> from aclnn_viz.operators.hardswish import page as hardswish
    >>> [edit.after for edit in edits(hardswish) if "/ 3.0" in edit.before and edit.kind == "operator"][:2]
    ['inside = -(x / 3.0 + 0.5)', 'inside = x / 3.0 - 0.5']
    """
    return tuple(_edits(page))


def _edits(page: ModuleType) -> Iterator[Edit]:
    for unit in units(page):
        known = names_of(unit.tree)
        found = [
            Edit(change.kind, unit, part, change) for part, change in changes(unit.tree, known)
        ]
        yield from sorted(found, key=lambda edit: edit.line)


@cache
def slips(page: ModuleType) -> tuple[Edit, ...]:
    """Return the edits that test a page without named faults: no exchange of names, and of constants only the sign."""
    return tuple(
        edit
        for edit in edits(page)
        if edit.kind in ("operator", "factor", "comparison", "axis", "function")
    )


def _mixed(first: ast.operator, second: ast.operator) -> bool:
    return (
        isinstance(first, SUM)
        and isinstance(second, PRODUCT)
        or isinstance(first, PRODUCT)
        and isinstance(second, SUM)
    )


@cache
def anywhere(page: ModuleType) -> tuple[Edit, ...]:
    """Return every edit of a page that replaces an expression or multiplies it by another factor.

    >>> from aclnn_viz.operators.layer_norm import page as layer_norm
    >>> [edit.after for edit in anywhere(layer_norm) if edit.kind == "parenthesis"][:2]
    ['return input - mean * rstd', 'return input * rstd - mean']
    """
    return tuple(
        Edit(change.kind, unit, statement, change)
        for unit in units(page)
        if unit.name
        for statement, change in replacements(
            unit.tree, partial(_in_place, names=names_of(unit.tree))
        )
    )


def replacements(tree: ast.stmt, others) -> Iterator[tuple[ast.AST, Change]]:
    """Yield every change that replaces an expression, with the statement around it.

    `others(expression, parent, field)` yields kinds, expressions, and the inserted name if it may occur in several places.
    """
    holder = statements(tree)
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            for at, part in enumerate(value if isinstance(value, list) else [value]):
                if not isinstance(part, ast.expr) or id(part) not in holder:
                    continue
                old = ast.unparse(part)
                for kind, new, *word in others(part, parent, name):
                    put = _put(value, at, new) if isinstance(value, list) else new
                    exchange = (old, kind, *word) if word else ()
                    yield (
                        holder[id(part)],
                        Change(kind, parent, {name: put}, line=part.lineno, exchange=exchange),
                    )


def _in_place(
    node: ast.expr, parent: ast.AST, name: str, names: tuple[str, ...]
) -> Iterator[tuple]:
    """Yield replacements of an expression: a number, a name, itself times a name, off by one or rounded to 16 bits; other
    parentheses, another function; a quotient rounded down in place of up.
    """
    match node:
        case ast.UnaryOp(ast.USub(), ast.BinOp(op=ast.FloorDiv()) as down):
            if (text := ast.unparse(down)).startswith("-"):
                yield "function", ast.parse(text[1:], mode="eval").body
    known = not isinstance(node, ast.Name) or node.id in names
    placed = isinstance(parent, HOLDERS) and name not in ("func", "targets", "slice")
    if not (known and placed and isinstance(node, EXPRESSIONS)):
        return
    factor = isinstance(parent, ast.BinOp) and isinstance(parent.op, PRODUCT)
    if not isinstance(parent, ast.Subscript):
        # a factor of 0.0 would make the whole product 0
        for number in (1.0, *[0.0] * (not factor)):
            yield "number", ast.Constant(number), str(number)
    yield "inverse", ast.BinOp(ast.Constant(1.0), ast.Div(), node), ""
    for other in names:
        word = ast.Name(other, ast.Load())
        if not isinstance(node, ast.Name):
            yield "name", word, other
        yield "one more", ast.BinOp(node, ast.Mult(), word), other
        yield "one more", ast.BinOp(node, ast.Div(), word), other
    yield from _written_otherwise(node)


def _written_otherwise(node: ast.expr) -> Iterator[tuple]:
    text = ast.unparse(node)
    for narrow in ("float16", "bfloat16"):
        rounded = f"xp.asarray({text}).astype('{narrow}').astype('float64')"
        yield "16 bits", ast.parse(rounded, mode="eval").body, narrow
    match node:
        case ast.Call(args=[*_, argument], keywords=[]) if len(node.args) <= 2:
            for form in UNARY:
                other = form.format(ast.unparse(argument))
                yield "function", ast.parse(other, mode="eval").body, form
        case ast.Name():
            for step in (ast.Sub(), ast.Add()):
                yield "off by one", ast.BinOp(node, step, ast.Constant(1))
            for form in OF_NAMES:
                yield "function", ast.parse(form.format(text), mode="eval").body, form
        case ast.BinOp(ast.BinOp(a, first, b), second, c) if _mixed(first, second):
            yield "parenthesis", ast.BinOp(a, first, ast.BinOp(b, second, c))
            yield "parenthesis", ast.BinOp(ast.BinOp(a, second, c), first, b)
        case ast.BinOp(a, first, ast.BinOp(b, second, c)) if _mixed(first, second):
            yield "parenthesis", ast.BinOp(ast.BinOp(a, first, b), second, c)
        case ast.List([ast.Tuple(first), ast.Tuple(second)]):
            for at, both in enumerate(zip(second, first)):
                some = (
                    ast.Tuple(_put(old, at, new), ast.Load())
                    for old, new in zip((first, second), both)
                )
                yield "exchange", ast.List([*some], ast.Load())
