"""The same formula in another arrangement: identities in which the left side cancels or overflows and the right side does not.

`rearranged` puts the right side wherever a kernel has the left one, and says how many bits each place lost.
"""

import ast
import copy
from collections.abc import Callable, Iterator
from types import ModuleType

import numpy as np

from aclnn_viz.operators.faults.edits import head, statements
from aclnn_viz.words.messages import message

# Left and right sides; names with one letter behind "_" stand for any expression, `**_k` for any keywords, `**_d` for the same with
# keepdims. Sources: the half-angle and Pythagorean identities; Higham, Accuracy and Stability of Numerical Algorithms, chapter 1.
IDENTITIES = tuple(
    (ast.parse(left, mode="eval").body, ast.parse(right, mode="eval").body)
    for left, right in (
        ("1 + tanh(_a)", "2 / (1 + exp(-2 * _a))"),
        ("1 - tanh(_a)", "2 / (1 + exp(2 * _a))"),
        ("1 - tanh(_a) ** 2", "4 / (exp(_a) + exp(-_a)) ** 2"),
        ("1 - tanh(_a) * tanh(_a)", "4 / (exp(_a) + exp(-_a)) ** 2"),
        ("1 + erf(_a)", "erfc(-_a)"),
        ("1 - erf(_a)", "erfc(_a)"),
        ("1 - sigmoid(_a)", "sigmoid(-_a)"),
        ("1 - 1 / (1 + exp(-_a))", "1 / (1 + exp(_a))"),
        ("1 - 1 / (1 + exp(_a))", "1 / (1 + exp(-_a))"),
        ("1 - exp(_a) / (1 + exp(_a))", "1 / (1 + exp(_a))"),
        ("1 - exp(-_a) / (1 + exp(-_a))", "1 / (1 + exp(-_a))"),
        ("_a - _b + _b", "_a"),
        ("_a + _b * (1 - _a)", "_b + _a * (1 - _b)"),
        ("1 / (1 + exp(-_a)) - 1", "-1 / (1 + exp(_a))"),
        ("exp(_a) / (1 + exp(_a))", "1 / (1 + exp(-_a))"),
        ("exp(-_a) / (1 + exp(-_a))", "1 / (1 + exp(_a))"),
        ("exp(-_a) / (1 + exp(-_a)) ** 2", "1 / ((1 + exp(-_a)) * (1 + exp(_a)))"),
        ("log(1 + _a)", "log1p(_a)"),
        ("exp(_a) - 1", "expm1(_a)"),
        ("exp(log(_a))", "_a"),
        (
            "log(exp(_a) / sum(exp(_a), **_k))",
            "_a - max(_a, **_k) - log(sum(exp(_a - max(_a, **_k)), **_k))",
        ),
        (
            "exp(_a) / sum(exp(_a), **_k)",
            "exp(_a - max(_a, **_k)) / sum(exp(_a - max(_a, **_k)), **_k)",
        ),
        ("mean(_a * _a, **_k) - mean(_a, **_k) ** 2", "mean((_a - mean(_a, **_d)) ** 2, **_k)"),
        (
            "mean(_a * _a, **_k) - mean(_a, **_k) * mean(_a, **_k)",
            "mean((_a - mean(_a, **_d)) ** 2, **_k)",
        ),
        ("mean(_a ** 2, **_k) - mean(_a, **_k) ** 2", "mean((_a - mean(_a, **_d)) ** 2, **_k)"),
        ("sum(_a * _b, **_k) - _m * sum(_a, **_k)", "sum(_a * (_b - _m), **_k)"),
        ("_a * _r - _m * _r", "(_a - _m) * _r"),
        ("_a * _a - _b * _b", "(_a - _b) * (_a + _b)"),
        ("_a ** 2 - _b ** 2", "(_a - _b) * (_a + _b)"),
        ("_a - _a * _b", "_a * (1 - _b)"),
        ("_a - _a ** 2", "_a * (1 - _a)"),
        ("1 - _a * _a", "(1 - _a) * (1 + _a)"),
        ("1 - _a ** 2", "(1 - _a) * (1 + _a)"),
    )
)
FUNCTIONS = {"tanh", "exp", "erf", "erfc", "sigmoid", "log", "log1p", "expm1", "sum", "mean", "max"}
ROUNDS = 3
COMMUTE = ast.Add, ast.Mult
BITS = 24  # of float32: more cannot be lost


def _negated(node: ast.AST) -> ast.AST | None:
    """-x or -x * y without its sign, None for what has none in front."""
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return operand
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div() as op, right=right) if (
            rest := _negated(left)
        ) is not None:
            return ast.copy_location(ast.BinOp(rest, op, right), node)
    return None


class _Matcher:
    """Matches patterns in one function, through names that are assigned once."""

    def __init__(self, tree: ast.FunctionDef, space: dict):
        self.modules = {name for name, value in space.items() if isinstance(value, ModuleType)}
        stored: dict[str, list] = {}
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Assign)
                and len(node.targets) == 1
                and isinstance(node.targets[0], ast.Name)
            ):
                stored.setdefault(node.targets[0].id, []).append(node.value)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                stored.setdefault(node.id, []).append(None)
        self.once = {
            name: values[0]
            for name, values in stored.items()
            if values[0] is not None and len(values) == 2
        }
        self.home = ""

    def inlined(self, node: ast.AST, depth: int = 6) -> str:
        """The text of an expression with the names that are assigned once written out."""
        matcher = self

        class Inline(ast.NodeTransformer):
            def visit_Name(self, name):
                value = matcher.once.get(name.id)
                return (
                    ast.parse(matcher.inlined(value, depth - 1), mode="eval").body
                    if value is not None and depth
                    else name
                )

        return ast.unparse(Inline().visit(copy.deepcopy(node)))

    def called(self, node: ast.AST) -> tuple[str, list, list] | None:
        """The name, arguments and keywords of a call of a function of arrays, or of a method."""
        if (
            not isinstance(node, ast.Call)
            or not isinstance(node.func, ast.Attribute)
            or node.func.attr not in FUNCTIONS
        ):
            return None
        root = node.func.value
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id in self.modules:
            self.home = self.home or ast.unparse(node.func.value)
            return node.func.attr, node.args, node.keywords
        return node.func.attr, [node.func.value, *node.args], node.keywords

    def match(self, pattern: ast.AST, node: ast.AST, bound: dict) -> Iterator[dict]:
        """Yield what the names of a pattern stand for."""
        if isinstance(pattern, ast.Name):
            if pattern.id not in bound:
                yield bound | {pattern.id: node}
            elif self.inlined(bound[pattern.id]) == self.inlined(node):
                yield bound
            return
        if isinstance(node, ast.Name) and node.id in self.once:
            yield from self.match(pattern, self.once[node.id], bound)
            return
        if (
            isinstance(node, ast.Call)
            and not isinstance(pattern, ast.Call)
            and len(node.args) == 1
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in ("float32", "float64", "type")
        ):
            node = node.args[0]
        match pattern, node:
            case ast.Constant(value=wanted), ast.Constant(value=int(value) | float(value)) if (
                value == wanted
            ):
                yield bound
            case ast.UnaryOp(op=ast.USub(), operand=part), _ if (
                other := _negated(node)
            ) is not None:
                yield from self.match(part, other, bound)
            case ast.BinOp(left=a, op=op, right=b), ast.BinOp(left=c, op=other, right=d) if type(
                op
            ) is type(other):
                for first, second in ((c, d), (d, c))[: 1 + isinstance(op, COMMUTE)]:
                    for found in self.match(a, first, bound):
                        yield from self.match(b, second, found)
            case ast.Call(func=ast.Name(id=name), args=[part], keywords=keywords), ast.Call():
                call = self.called(node)
                if call and call[0] == name and len(call[1]) == 1:
                    options = sorted(ast.unparse(one) for one in call[2])
                    if keywords and bound.get("_k", options) != options or not keywords and options:
                        return
                    yield from self.match(
                        part, call[1][0], bound | ({"_k": options} if keywords else {})
                    )

    def written(self, pattern: ast.AST, bound: dict) -> ast.expr:
        """The right side of an identity with what its names stand for."""
        matcher = self

        class Fill(ast.NodeTransformer):
            def visit_Name(self, name):
                return copy.deepcopy(bound[name.id])

            def visit_Call(self, call):
                options = list(bound.get("_k", ())) if call.keywords else []
                if (
                    call.keywords
                    and call.keywords[0].value.id == "_d"
                    and not any(one.startswith("keepdim") for one in options)
                ):
                    options.append("keepdims=True")
                keywords = [ast.parse(f"f({one})", mode="eval").body.keywords[0] for one in options]
                func = ast.parse(
                    f"{matcher.home}.{'amax' if call.func.id == 'max' else call.func.id}",
                    mode="eval",
                ).body
                return ast.Call(func, [self.visit(one) for one in call.args], keywords)

        return Fill().visit(copy.deepcopy(pattern))


def _places(
    source,
) -> Iterator[tuple[str, _Matcher, ast.AST, str, int | None, ast.expr, ast.expr, dict]]:
    for name, tree in source.trees.items():
        names = _Matcher(tree, source.functions[name].__globals__)
        for holder in ast.walk(tree):
            for field, value in ast.iter_fields(holder):
                for at, node in enumerate(value if isinstance(value, list) else [value]):
                    if not isinstance(node, ast.BinOp | ast.Call):
                        continue
                    for left, right in IDENTITIES:
                        matcher = copy.copy(names)
                        if bound := next(matcher.match(left, node, {}), None):
                            matcher.home = matcher.home or next(
                                iter(sorted(matcher.modules & {"np", "torch", "jnp"})), "np"
                            )
                            yield (
                                name,
                                matcher,
                                holder,
                                field,
                                at if isinstance(value, list) else None,
                                node,
                                right,
                                bound,
                            )
                            break


def rearranged(
    source, right: Callable[[Callable], bool]
) -> tuple[str, str, str, str, Callable] | None:
    """The line, before, after, what is lost, and the kernel in which the fewest places found are rearranged; None where no
    identity fits, or the kernel stays wrong."""
    first = list(_places(source))
    for some in (*([one] for one in first), first if len(first) > 1 else []):
        if some and (found := _tried(source, some, right)):
            return found
    return None


def _put(place) -> tuple:
    """Put the right side of an identity into its place; return what undoes it."""
    _, matcher, holder, field, at, node, side, bound = place
    value, new = (
        getattr(holder, field),
        ast.fix_missing_locations(ast.copy_location(matcher.written(side, bound), node)),
    )
    setattr(holder, field, new if at is None else [*value[:at], new, *value[at + 1 :]])
    return holder, field, value


def _tried(source, some: list, right) -> tuple[str, str, str, str, Callable] | None:
    lost, undo, before, used = _lost(source, some), [], {}, []
    try:
        for _ in range(ROUNDS):  # one identity may open the way for another
            for place in some:
                name, node = place[0], place[5]
                statement = statements(source.trees[name]).get(id(node))
                if statement is not None:
                    before.setdefault(id(statement), (name, statement, head(statement)))
                    undo.append(_put(place))
            changed = source.built()
            if right(changed):
                texts = [
                    (source.place(name, one.lineno), text, head(one))
                    for name, one, text in before.values()
                ]
                places, befores, afters = (dict.fromkeys(part) for part in zip(*texts))
                return (
                    "; ".join(places),
                    "\n    ".join(befores),
                    "\n    ".join(afters),
                    lost,
                    changed,
                )
            held = {name for name, *_ in before.values()}
            used += [place[6] for place in some]
            some = [place for place in _places(source) if place[0] in held and place[6] not in used]
    except Exception:
        # an identity in the terms of another library, a name that has another value there
        pass
    finally:
        for holder, field, value in reversed(undo):
            setattr(holder, field, value)
    return None


def _lost(source, some: list) -> str:
    """How many bits the places lose on the case of the source, or that they overflow."""
    seen: list[float] = []

    def watch(whole, *parts):
        with np.errstate(all="ignore"):
            total, *sides = (np.asarray(one, np.float64) for one in (whole, *parts))
            if not np.isfinite(total).all():
                seen.append(np.inf)
            elif sides:
                size = np.max(np.abs(np.stack(np.broadcast_arrays(*sides))), axis=0)
                left = np.maximum(np.abs(total), size * 2.0**-BITS)
                seen.append(float(np.max(np.log2(size / left), initial=0.0, where=size > 0)))
        return whole

    undo = []
    try:
        for *_, holder, field, at, node, _, _ in some:
            value = getattr(holder, field)
            undo.append((holder, field, value))
            parts = (
                [node.left, node.right]
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub)
                else []
            )
            call = ast.fix_missing_locations(
                ast.copy_location(
                    ast.Call(ast.Name("_watch", ast.Load()), [node, *parts], []), node
                )
            )
            setattr(holder, field, call if at is None else [*value[:at], call, *value[at + 1 :]])
        source.watched(watch)
    except Exception:  # whatever a kernel raises on its case
        pass
    finally:
        for holder, field, value in reversed(undo):
            setattr(holder, field, value)
    worst = max(seen, default=0.0)
    if not worst:
        return message("digits are lost")
    return (
        message("it overflows")
        if worst == np.inf
        else message("it cancels, and up to {bits} of its bits are lost", bits=round(worst))
    )
