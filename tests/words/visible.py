"""Judges of texts for people, independent of how messages are collected: one reads sources, one reads pictures."""

import ast
import dataclasses
import re
import textwrap

from aclnn_viz.pictures import fonts, marks, panels
from aclnn_viz.pictures.palette import DRAWING
from notebooks.gallery.catalogue import names

KEPT = names() | set("CANN NaN inf nan dx softmax True False None array KiB SyncAll".split())
PROGRAMS = (
    "two texts",
    ", from outside",
    *DRAWING["fonts"],
    "DejaVu Sans",
    fonts.HINT,
    "offset points",
)
# JSON texts in no table; names of fonts; texts that no font could show in Chinese; a word of Matplotlib.
PLACED = {"xycoords", "textcoords", "loc"}  # words of Matplotlib
TRANSLATED = {"tr", "ntr", "message", "linked", "meant", "told"}
# the controls' own tests check their texts
DECLARED = {"control"}
CITED = {"Standard", "Note"}  # their second argument is a source, cited unchanged
# these store texts as messages, which are checked there
DATA = {"Fault", "Puzzle", "Detective", "TileDetective", "Mistake", "TileFault"}
# their first argument is an internal name
KINDS = {"Panel", "Change", "Candidate", "hazard", "stop"}
# stay English
ERRORS = set(
    "StateError problem invalid mistyped ValueError TypeError need whole function by_name shape_of _check ended".split()
)
# their arguments are never shown, or are a docstring
INSIDE = {"import_module", "compile", "search", "setattr", "getattr", "named"}
# no attribute, part of a path or option, command of TeX, called function, or keyword
WORD = re.compile(r"(?<![./\\-])\b[A-Za-z]{2,}\b(?![(=/])")
WORDS = re.compile(r"[A-Za-z]{2,},? +[A-Za-z]{2,}")
READ = {"label", "title", "text", "words"}  # shown fields of panels and marks
SHOWN = {
    name: [field.name for field in dataclasses.fields(one)]
    for module in (marks, panels)
    for name, one in vars(module).items()
    if dataclasses.is_dataclass(one)
}
OPEN, CLOSE = "⟦⟧"
CODE = re.compile(r"\b(\w+ = )?acl\.\w+\(.*")  # a call as Python
# words (in brackets)
BRACKETS = re.compile(r"\b(?!(?:if|else|in|and|or|not|return)\b)[A-Za-z_]+ \(")
TAG = re.compile(r"<[^<>]*>")
STYLE = re.compile(r"@media ")
QUERY = re.compile(r"(SELECT|JOIN|cases AS) ")  # of SQL
# in lines of a program
LINES = (ast.Assign, ast.Return, ast.Assert, ast.Import, ast.ImportFrom, ast.Attribute)
# a program, which stays English
LIFTED = re.compile(r"^(import \w+( as \w+)?|def \w+\(.*\):)$", re.MULTILINE)
NAME = re.compile(r"\w+")
INNER = re.compile(rf"{OPEN}[^{OPEN}{CLOSE}]*{CLOSE}")
CUT = re.compile(rf"{OPEN}[^{OPEN}{CLOSE}…]*…")  # cut for lack of room


def english(source: str, declared=()):
    """Yield (line, text) of every shown text in a module that is English in every language.

    A module may hold any part of a `declared` text, which is translated when shown.
    """
    declared = "\n".join([*declared, *PROGRAMS])
    nodes = [*ast.walk(ast.parse(source))]
    skipped = {id(part) for node in nodes for part in _never_shown(node)} | {
        *map(id, _of_errors(nodes))
    }
    for node in nodes:
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            parts = [part.value if isinstance(part, ast.Constant) else "_" for part in node.values]
            text = TAG.sub(" ", " ".join(parts))
            if (
                _foreign(text)
                and not all(part in declared for part in parts if part != "_")
                and not (
                    STYLE.match(text)
                    or "".join(parts).isidentifier()
                    or any(_is_code(each, LINES) for each in (text, "".join(parts)))
                )
            ):
                yield node.lineno, text
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and WORDS.search(TAG.sub(" ", node.value))
        ):
            if not (
                node.value in declared
                or LIFTED.search(node.value)
                or STYLE.search(node.value)
                or QUERY.match(node.value)
                or _is_code(node.value)
            ):
                yield node.lineno, node.value
        elif isinstance(node, ast.Call):
            for value in _read(node):
                if (
                    id(value) not in skipped
                    and isinstance(value, ast.Constant)
                    and _foreign(value.value)
                ):
                    yield value.lineno, value.value


def _of_errors(nodes):
    """Yield the values of names used only in errors."""
    made = [
        node
        for node in nodes
        if isinstance(node, ast.Raise) or isinstance(node, ast.Call) and call_of(node) in ERRORS
    ]
    made += [node.test for node in nodes if isinstance(node, ast.If)]  # tested, not shown
    there = {id(part) for node in made for part in ast.walk(node)}
    read = [node for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    text = {node.id for node in read} - {node.id for node in read if id(node) not in there}
    for node in nodes:
        pairs = [(one, node.value) for one in node.targets] if isinstance(node, ast.Assign) else []
        pairs += [
            pair
            for one, value in pairs
            if isinstance(one, ast.Tuple) and isinstance(value, ast.Tuple)
            for pair in zip(one.elts, value.elts)
        ]
        if (
            isinstance(node, ast.For)
            and isinstance(node.target, ast.Tuple)
            and isinstance(node.iter, ast.Tuple)
        ):
            pairs = [
                pair
                for row in node.iter.elts
                if isinstance(row, ast.Tuple)
                for pair in zip(node.target.elts, row.elts)
            ]
        for name, value in pairs:
            if isinstance(name, ast.Name) and name.id in text:
                yield from ast.walk(value)


def _foreign(text) -> bool:
    return isinstance(text, str) and any(
        word not in KEPT and word[:3] != "acl" for word in WORD.findall(text)
    )


def _is_code(text: str, kinds=(ast.Assign, ast.Return, ast.IfExp, ast.Call)) -> bool:
    """Return whether a text is Python that computes, perhaps without its last line, which may be cut."""
    for part in (text, text.rpartition("\n")[0]):
        try:
            nodes = [*ast.walk(ast.parse(textwrap.dedent(part)))]
        except SyntaxError:
            continue
        return any(isinstance(node, kinds) for node in nodes) and not BRACKETS.search(part)
    return False


def call_of(node) -> str:
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def _never_shown(node):
    """Yield parts of docstrings, translated messages, declared controls, errors, and panels' names."""
    if (
        isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    ):
        yield node.body[0].value
    elif isinstance(node, ast.FunctionDef) and node.name == "__repr__":  # read as code
        yield from ast.walk(node)
    elif isinstance(node, ast.Compare):
        yield from (node.left, *node.comparators)
    elif isinstance(node, ast.Raise):
        yield from ast.walk(node)
    elif isinstance(node, ast.JoinedStr):
        yield from (part for part in node.values if isinstance(part, ast.Constant))
    elif isinstance(node, ast.Call):
        called = call_of(node)
        if called == "split" and isinstance(node.func, ast.Attribute):  # names
            yield node.func.value
        if called in TRANSLATED | DECLARED | ERRORS:
            yield from (
                part
                for value in node.args
                for part in ast.walk(value)
                if called in DECLARED | ERRORS
                or not any(isinstance(one, ast.JoinedStr) for one in ast.walk(value))
            )
        if called in DATA | INSIDE:
            yield from (part for value in (*node.args, *node.keywords) for part in ast.walk(value))
        yield from (
            part
            for keyword in node.keywords
            if keyword.arg in PLACED
            for part in ast.walk(keyword.value)
        )
        if called in KINDS and node.args:
            yield from ast.walk(node.args[0])
        if called in CITED and len(node.args) > 1:
            yield from ast.walk(node.args[1])
        yield from (
            part
            for keyword in node.keywords
            if keyword.arg == "name"
            for part in ast.walk(keyword.value)
        )


def _read(call):
    """Yield a call's values of shown fields, through conditions and sums."""
    fields = SHOWN.get(call_of(call), ())
    given = [*zip(fields, call.args), *((keyword.arg, keyword.value) for keyword in call.keywords)]
    waiting = [value for name, value in given if name in READ and fields]
    while waiting:
        value = waiting.pop()
        yield value
        if isinstance(value, ast.IfExp):
            waiting += [value.body, value.orelse]
        elif isinstance(value, ast.BinOp):
            waiting += [value.left, value.right]


class Marked:
    """A language that puts every message in brackets."""

    def get(self, message, _):
        return f"{OPEN}{message}{CLOSE}" if message else ""


def unspoken(text: str, quoted=frozenset()) -> str:
    """Return unbracketed words of a text in that language that start none of the quoted names."""
    while INNER.search(text):
        text = INNER.sub(" ", text)
    text = CODE.sub("", CUT.sub("", text)).strip()
    return (
        text
        if any(
            _foreign(word)
            for word in NAME.findall(text)
            if not any(name.startswith(word) for name in quoted)
        )
        else ""
    )


def code(path) -> tuple[list[str], set[str]]:
    """Return the lines of a program, and the names of its calls and its objects' attributes."""
    source = path.read_text("utf-8")
    nodes = [*ast.walk(ast.parse(source))]
    return [line.strip() for line in source.splitlines()], {
        call_of(node) for node in nodes if isinstance(node, ast.Call)
    } | {node.attr for node in nodes if isinstance(node, ast.Attribute)}


def texts(picture: dict, lines=()):
    """Yield all texts of a described picture, except these lines of a program, which may be cut."""
    yield from (*picture["headline"], *picture["notices"], *picture["text"].splitlines())
    for panel in picture["panels"]:
        yield from (panel["title"], panel["x"]["label"], panel["y"]["label"])
        yield from (text for axis in "xy" for _, text in panel[axis]["ticks"])
        for mark in panel["marks"]:
            yield from (mark.get("label", ""), *(mark.get("words") or ()))
        yield " ".join(
            mark["text"]
            for mark in panel["marks"]
            if "text" in mark
            # a sentence may fill several lines
            and not any(line.startswith(mark["text"].removesuffix("…")) for line in lines)
        )
