"""Find the edit of a user's own kernel after which it is right on every test case, to show the correction.

If a kernel's source can be read, and it only computes with array libraries, each of its lines is edited like a page's. An edit
counts only if the kernel is then right on all cases that ran, and on fresh ones. Only copies in memory change. If a library
compiles for each shape, edits are tried with NumPy's functions first, and successful ones again with the library.
"""

import ast
import functools
import inspect
import itertools
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from os.path import commonprefix
from types import FunctionType, ModuleType

import numpy as np

from aclnn_viz.cases import Case
from aclnn_viz.checking.budgets import (
    COMPILED,
    ELEMENTS,
    FRESH,
    MEMORY,
    MENDED,
    SEVERAL,
    SHOWN,
    TURNS,
)
from aclnn_viz.checking.case_run import CaseRun
from aclnn_viz.checking.judge import Expected, Prepared
from aclnn_viz.checking.kernel_call import outputs_alone
from aclnn_viz.checking.kernel_edits import edits_of_kernels
from aclnn_viz.checking.meter import CASE, GLANCE, METER, PAGE, Budget
from aclnn_viz.checking.operations import place_of
from aclnn_viz.checking.scope import UNTAKEN, Ready, Scope
from aclnn_viz.checking.wrong_outputs import convention, in_documented_form
from aclnn_viz.operators.faults.edits import Change, changes, distance, head, names_of
from aclnn_viz.words.messages import linked, message

COMPILING = "jax"
LIBRARIES = {"numpy", "torch", "jax", "math", "ml_dtypes", "scipy", "functools", "itertools"}
# names that an edited copy may not use: they reach files or processes, or run texts as code
FORBIDDEN = """
open exec eval compile input print breakpoint globals locals vars setattr delattr save savez savetxt load loadtxt fromfile
tofile memmap dump dumps DataSource hub distributed multiprocessing ctypeslib f2py cpp_extension
""".split()
STATEMENTS = """
Assign AugAssign AnnAssign Expr If For Return With FunctionDef Continue Break Pass Raise Assert
""".split()
# kinds of edits tried last, in this order, because there are many of each
LAST = ("inserted", "name", "multiplied", "added")
WORDS = re.compile(r"\w+|\S")
IDLE, LONGER = re.compile(r"[+-] 0(?:\.0)?\b|[*/] 1(?:\.0)?\b"), 9


EDITED = "<an edited kernel>"


class Unreadable(Exception):
    """The source of a kernel cannot be edited."""


class _Quick:
    """A stand-in for a compiling library: NumPy's functions where they exist, else its own with NumPy results."""

    def __init__(self, module: ModuleType):
        self._module = module

    def __getattr__(self, name: str):
        own = getattr(self._module, name)
        if isinstance(own, ModuleType):
            return _Quick(own)
        if name in ("asarray", "array"):  # these functions could turn float64 into float32
            return lambda value, dtype=None: np.array(
                value, dtype or own(np.empty(0, np.asarray(value).dtype)).dtype
            )
        if name == "sigmoid":
            return lambda value: 1 / (1 + np.exp(-value))
        return getattr(np, name, None) or (own if isinstance(own, type) else _as_numpy(own))


def _as_numpy(function: Callable) -> Callable:
    def called(*values, **options):
        result = function(*values, **options)
        return np.asarray(result) if hasattr(result, "__array__") else result

    return called


def _at(function) -> Callable:
    """Return `function.at` with values broadcast to the shape of the indexed part: others crash NumPy 2."""

    def called(target, index, *values):
        if isinstance(function, np.ufunc):
            values = [np.broadcast_to(value, np.shape(target[index])) for value in values]
        return function.at(target, index, *values)

    return called


def _loops(block: list[ast.stmt]) -> Iterator[ast.For]:
    for statement in block:
        yield from [statement] * isinstance(statement, ast.For)
        yield from _loops([*getattr(statement, "body", ()), *getattr(statement, "orelse", ())])


@dataclass(eq=False)
class Source:
    """The functions of a kernel: itself, and those of its file that it calls; `built()` compiles their present trees."""

    kernel: Callable
    probe: CaseRun
    functions: dict[str, FunctionType] = field(default_factory=dict)
    trees: dict[str, ast.FunctionDef] = field(default_factory=dict)
    scatters: list[ast.Call] = field(default_factory=list)

    def __post_init__(self):
        inner, self.partials = self.kernel, []
        while isinstance(inner, functools.partial):
            self.partials.append(inner)
            inner = inner.func
        inner, self.seen = inspect.unwrap(inner), set()
        self.file = getattr(getattr(inner, "__code__", None), "co_filename", "")
        self.entry = self._taken(inner)

    def _taken(self, function) -> str:
        """Add a function and those that it calls; those of other files are read, but not edited."""
        if not isinstance(function, FunctionType):
            raise Unreadable
        name = function.__name__
        if function in self.seen:
            return name
        self.seen.add(function)
        try:
            lines, first = inspect.getsourcelines(function)
            tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
        except (OSError, TypeError, SyntaxError, IndexError) as error:
            raise Unreadable from error
        if not isinstance(tree, ast.FunctionDef):
            raise Unreadable
        ast.increment_lineno(tree, first - 1)
        tree.decorator_list = []
        if function.__code__.co_filename == self.file:
            self.functions[name], self.trees[name] = function, tree
        known, local = (
            inspect.getclosurevars(function),
            {*function.__code__.co_varnames, *function.__code__.co_cellvars},
        )
        for node in ast.walk(tree):
            self.scatters += [node] * (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "at"
            )
            if not (isinstance(node, ast.Name) and node.id in local):
                # builtins are not among these names; FORBIDDEN excludes some of them
                self._allowed(node, known.nonlocals | known.globals)
        return name

    def _allowed(self, node: ast.AST, known: dict) -> None:
        match node:
            case ast.stmt() if type(node).__name__ not in STATEMENTS:
                raise Unreadable
            case ast.Await() | ast.Yield() | ast.YieldFrom():
                raise Unreadable
            case ast.Attribute(_, name) | ast.Name(name) if name in FORBIDDEN or name[:2] == "__":
                raise Unreadable
            case ast.Name(name, ast.Load()):
                self._known(known.get(name))

    def _known(self, value) -> None:
        """Add the function that a name stands for, unless it is a number or of a known library."""
        if value is None or isinstance(
            value, (int, float, str, bool, tuple, np.ndarray, np.generic, np.dtype)
        ):
            return
        module = (
            value.__name__
            if isinstance(value, ModuleType)
            else getattr(value, "__module__", None) or ""
        )
        if module.partition(".")[0] not in LIBRARIES:
            self._taken(value)

    def built(self, quick: bool = False) -> Callable:
        """Compile the present syntax trees and return their kernel; `quick` uses NumPy instead of a compiling library."""
        left = [TURNS]

        def bounded(items):
            for item in items:
                left[0] -= 1
                if left[0] < 0:
                    raise RuntimeError("a loop without an end")
                yield item

        space = self._space(quick) | {"_bounded": bounded}
        exec(self._code, space)
        function = space[self.entry]
        for part in reversed(self.partials):
            function = functools.partial(function, *part.args, **part.keywords)

        def kernel(**inputs):
            left[0] = TURNS
            return function(**inputs)

        return kernel

    def _space(self, quick: bool) -> dict:
        """Return {global name: value} of the functions; `quick` puts stand-ins for compiling libraries."""
        return self._names | {
            name: _Quick(value) for name, value in self._names.items() if quick and _compiles(value)
        }

    @cached_property
    def _names(self) -> dict:
        space = dict(self.functions[self.entry].__globals__) | {"_at": _at}
        for function in self.functions.values():
            space |= inspect.getclosurevars(function).nonlocals
        return space

    def quick(self, run: CaseRun) -> bool:
        """Return whether the kernel uses a compiling library, and without it has the same outputs wrong on a case."""
        modules = (
            value for function in self.functions.values() for value in function.__globals__.values()
        )
        return any(map(_compiles, modules)) and _wrong(self.built(quick=True), run) == run.wrong

    @property
    def _code(self):
        trees = [*self.trees.values()]
        guarded = [(loop, "iter", loop.iter, "_bounded", loop.iter) for loop in _loops(trees)]
        guarded += [(call, "func", call.func, "_at", call.func.value) for call in self.scatters]
        for node, field_, before, guard, inner in guarded:
            setattr(
                node,
                field_,
                ast.fix_missing_locations(
                    ast.copy_location(ast.Call(ast.Name(guard, ast.Load()), [inner], []), before)
                ),
            )
        try:
            return compile(ast.Module(trees, []), EDITED, "exec")
        finally:
            for node, field_, before, *_ in guarded:
                setattr(node, field_, before)

    def executed(self, run: CaseRun, quick: bool) -> dict[int, dict]:
        """Return {line: {name: value when the line first runs}} of the lines that the kernel executes on a run's case.

        An edit of another line cannot mend it.
        """
        lines: dict[int, dict] = {}

        def watch(frame, *_):
            code = frame.f_code
            # a comprehension runs in a separate frame
            if code.co_filename == EDITED and not code.co_name.startswith("<"):
                if frame.f_lineno not in lines:
                    lines[frame.f_lineno] = self._space(quick) | frame.f_locals
                return watch

        before = sys.gettrace()
        sys.settrace(watch)
        try:
            _wrong(self.built(quick), run)
        finally:
            sys.settrace(before)
        return lines

    def place(self, name: str, line: int) -> str:
        return message("{place} ({function})", place=place_of(self.file, line), function=name)


@dataclass(frozen=True, eq=False)
class Mend:
    """An edit after which the reader's kernel is right: its place, old and new text; `equal` lists other edits that work."""

    line: str
    before: str
    after: str
    kernel: Callable = field(repr=False)
    equal: tuple[str, ...] = ()
    cases: int = 0  # number of cases on which the edited kernel is right

    @property
    def size(self) -> int:
        """The size of the change; adding 0 or multiplying by 1 counts more, because a simpler edit exists."""
        idle = len(IDLE.findall(self.after)) - len(IDLE.findall(self.before))
        return distance(self.before, self.after) + LONGER * max(idle, 0)

    @property
    def leaves_out(self) -> bool:
        """Whether the edit only removes text."""
        before = iter(WORDS.findall(self.before))
        return all(word in before for word in WORDS.findall(self.after))

    def right(self, run: CaseRun) -> bool:
        """Return whether the mended kernel is right on a run's case."""
        return _right(self.kernel, run)

    def __str__(self) -> str:
        return message(
            "{line} of your kernel reads\n    {before}\n  with this line in its place it is right:\n    {after}",
            line=self.line,
            before=self.before,
            after=self.after,
        )


def _compiles(value) -> bool:
    return isinstance(value, ModuleType) and value.__name__.partition(".")[0] == COMPILING


def _outputs(kernel: Callable, case: Case) -> dict[str, np.ndarray] | None:
    with np.errstate(all="ignore"), warnings.catch_warnings(), _limited_memory():
        warnings.simplefilter("ignore")
        return outputs_alone(kernel, case)


def _wrong(kernel: Callable, run: CaseRun) -> frozenset[str] | None:
    """Return the outputs that a kernel has wrong on a run's case, None if it returns nothing."""
    outputs = _outputs(kernel, run.case)
    if outputs is None:
        return None
    return _judged(run.prepared, outputs).wrong


def _judged(prepared: Prepared, outputs: dict[str, np.ndarray]) -> CaseRun:
    """Return the judged run of a kernel's outputs; for float64, float32's precision suffices."""
    run = CaseRun.of(prepared, outputs)
    right = run.misses and in_documented_form(run).right_in_float32
    return replace(run, misses=()) if right else run


def _right(kernel: Callable, run: CaseRun) -> bool:
    return _wrong(kernel, run) == frozenset()


@contextmanager
def _limited_memory():
    """Limit an edited kernel's allocations to MEMORY if the system can, because an edit may make a tensor huge."""
    try:
        import resource

        before = resource.getrlimit(resource.RLIMIT_AS)
        with open("/proc/self/statm", encoding="ascii") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        yield False
        return
    most = used + MEMORY if before[1] == resource.RLIM_INFINITY else min(used + MEMORY, before[1])
    resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    try:
        yield True
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@dataclass(frozen=True, eq=False)
class _FreshCase:
    ready: Ready

    @cached_property
    def page(self) -> CaseRun:
        """The outputs of the right page on this case, as a run in which they count as exact."""
        case = self.ready.case
        METER.add(PAGE, case)
        with np.errstate(all="ignore"):
            outputs = case.operator.backward(**case.inputs)
        exact = {
            name: Expected(
                value.astype(np.float64),
                np.zeros(value.shape),
                value.dtype,
                np.zeros(value.shape, bool),
            )
            for name, value in outputs.items()
        }
        return CaseRun(Prepared(self.ready.recipe, case, exact, 0.0, 0.0), outputs, ())

    @cached_property
    def truth(self) -> Prepared:
        METER.add(CASE, self.ready.case)
        return self.ready.prepare()

    def shows(self, changed: Callable, kernel: Callable) -> bool:
        """Return whether an edited kernel is wrong here by more than a convention.

        If the kernel itself fails, the case does not count. An edit with the page's numbers, up to rounding, is right; only
        otherwise the truth is needed.
        """
        page = self.page
        outputs = _outputs(changed, page.case)
        if outputs is None:
            return _outputs(kernel, page.case) is not None
        if all(
            name in outputs
            and (outputs[name].shape, outputs[name].dtype) == (value.shape, value.dtype)
            for name, value in page.outputs.items()
        ) and page.agrees(outputs):
            return False
        try:
            seen = _judged(self.truth, outputs)
        except UNTAKEN:
            return False
        return bool(seen.misses) and not convention(seen)


class FreshCases:
    """Small cases outside the check, most with mixed options, on which an edit of the kernel must be right, too.

    The case that last rejected an edit comes first, because it rejects most others.
    """

    def __init__(self, kernel: Callable, scope: Scope, seed: int, dtypes: set[str]):
        def counted(cases: Iterator[Ready]) -> Iterator[Ready]:
            return (
                ready for ready in cases if ready.counts(ELEMENTS) and ready.case.dtype in dtypes
            )

        others, mixed = map(counted, scope.unseen(seed, MENDED))
        drawn = itertools.chain(itertools.islice(others, FRESH), mixed)
        self.kernel, self.cases, self._drawn = kernel, [], map(_FreshCase, drawn)

    def right(self, changed: Callable) -> bool:
        """Return whether an edited kernel is right on all fresh cases."""
        for at, case in enumerate(itertools.chain(tuple(self.cases), self._more())):
            if case.shows(changed, self.kernel):
                self.cases.insert(0, self.cases.pop(at))
                return False
        return True

    def _more(self) -> Iterator[_FreshCase]:
        for case in self._drawn:
            self.cases.append(case)
            yield case


def mend(
    kernel: Callable,
    failing: Sequence[CaseRun],
    passing: Sequence[CaseRun],
    fresh: FreshCases,
    budget: Budget,
) -> Mend | None:
    """Return the smallest edit, or one per output, that makes a kernel right on all cases; None if its source is unsuitable."""
    try:
        source = Source(
            kernel, max(failing, key=lambda run: max(miss.excess for miss in run.misses))
        )
        same = _outputs(source.built(), source.probe.case)
    except Exception:  # a kernel may raise anything when it is called from a copy
        return None
    outputs = source.probe.outputs
    if (
        same is None
        or same.keys() != outputs.keys()
        or any(same[name].tobytes() != value.tobytes() for name, value in outputs.items())
    ):
        return None
    with _limited_memory() as limited:
        pass
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python warns of odd edits
        return _edited(source, failing, passing, fresh, budget) if limited else None


def _edited(source, failing, passing, fresh, budget) -> Mend | None:
    """Return the smallest edit that mends everything, or else, for several wrong outputs, one edit each."""
    cases, mends, group = [*failing, *passing], [], ""
    probe = max(failing[:SEVERAL], key=lambda run: len(run.wrong))
    wrong = probe.wrong
    partly: dict[str, list] = {output: [] for output in wrong}
    quick = source.quick(probe)
    again = cases[:COMPILED] if quick else cases
    lines = source.executed(probe, quick)
    for kind, (name, statement, change) in _edits(source, lines):
        if budget.over or mends and kind != group:
            break
        group = kind
        METER.add(GLANCE, probe.case)
        try:
            with change.made():
                _glance(statement, lines)
                changed = source.built(quick)
        except Exception:  # an edit may be invalid Python
            continue
        left = _wrong(changed, probe)
        if left is None or not left < wrong:
            continue
        before = head(statement)
        with change.made():
            after, new = head(statement), ast.unparse(source.trees[name]).splitlines()
        # if several statements differ, compare all lines from the first to the last of them
        if after == before:
            old = ast.unparse(source.trees[name]).splitlines()
            # `start` is at least 1, because old and new begin with the same name
            start = len(commonprefix([old, new]))
            end = len(commonprefix([old[: start - 1 : -1], new[: start - 1 : -1]]))
            before, after = (
                "; ".join(map(str.strip, some[start : len(some) - end])) for some in (old, new)
            )
        with change.made():
            mend = Mend(
                source.place(name, change.line or statement.lineno), before, after, source.built()
            )
        if not left and all(_right(changed, other) for other in cases):
            mends.append((mend, changed))
        for output in wrong - left:
            partly[output].append((mend, change, statement))
    some: dict[str, Mend] = {}
    for mend, changed in sorted(
        mends, key=lambda pair: (1 if pair[0].leaves_out else pair[0].size, len(pair[0].after))
    ):
        if len(some) == SHOWN or some and budget.over:
            break
        if mend.after not in some and fresh.right(changed) and all(map(mend.right, again * quick)):
            some[mend.after] = mend
    if some:
        first, *others = some.values()
        return replace(
            first, equal=tuple(mend.after for mend in others), cases=len(again) + len(fresh.cases)
        )
    return (
        _one_each(source, list(partly.values()), cases, again, fresh, budget, quick)
        if len(wrong) > 1 and all(partly.values())
        else None
    )


def _one_each(source, choices: list[list], cases, again, fresh, budget, quick) -> Mend | None:
    for some in budget.within(
        itertools.product(
            *(sorted(part, key=lambda pair: pair[0].size)[:SEVERAL] for part in choices)
        )
    ):
        with ExitStack() as stack:
            for _, change, _ in some:
                stack.enter_context(change.made())
            try:
                changed, kernel = source.built(quick), source.built()
                texts = {
                    id(statement): (
                        mend.line,
                        mend.before,
                        head(statement)
                        if sum(statement is other for _, _, other in some) > 1
                        else mend.after,
                    )
                    for mend, _, statement in some
                }  # two edits of one statement gave the same text
            except Exception:  # the edits exclude each other
                continue
        if (
            all(_right(changed, run) for run in cases)
            and fresh.right(changed)
            and all(_right(kernel, run) for run in again * quick)
        ):
            places, before, after = zip(*texts.values())
            return Mend(
                linked("{some} and {more}", list(places)),
                "; ".join(before),
                "; ".join(after),
                kernel,
                cases=len(again) + len(fresh.cases),
            )
    return None


def _glance(statement: ast.AST, lines: dict[int, dict]) -> None:
    """Evaluate an edited statement at its first execution: most edits fail there, which is faster than running the kernel."""
    parts = [getattr(statement, name, None) for name in ("value", "test", "iter")]
    expression = next(filter(None, [statement] * isinstance(statement, ast.Dict) + parts), None)
    names = _first_run(statement, lines)
    if names and expression and not isinstance(statement, ast.Expr):
        with np.errstate(all="ignore"), _limited_memory():
            eval(compile(ast.Expression(expression), EDITED, "eval"), names)


def _first_run(statement: ast.AST, lines: dict[int, dict]) -> dict | None:
    """Return the names with their values when a statement first runs; None if it does not run."""
    numbers = range(statement.lineno, statement.end_lineno + 1)
    return next((lines[number] for number in numbers if number in lines), None)


def _edits(
    source: Source, lines: dict[int, dict]
) -> Iterator[tuple[str, tuple[str, ast.stmt, Change]]]:
    """Yield every edit of some lines of a kernel's functions, with frequent kinds last."""
    many: dict[str, list] = {kind: [] for kind in LAST}
    for name, tree in source.trees.items():
        names = names_of(tree)
        for statement, change in itertools.chain(
            edits_of_kernels(tree, names), changes(tree, names)
        ):
            if (
                change.kind == "factor"
                and isinstance(change.node, ast.BinOp)
                or _first_run(statement, lines) is None
            ):
                continue  # an edit of the other side of a product would be equivalent
            if change.kind in LAST:
                many[change.kind].append((change.kind, (name, statement, change)))
            else:
                yield "", (name, statement, change)
    for some in many.values():
        yield from some
