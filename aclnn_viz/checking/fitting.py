"""Constants that are found by fitting: a forgotten or wrong factor of an output, of a term, or in the place of a number."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from types import ModuleType

import numpy as np

from aclnn_viz.checking.candidates import Candidate
from aclnn_viz.checking.facts import lengths
from aclnn_viz.checking.observing import Seen, Way
from aclnn_viz.operators import Operator
from aclnn_viz.operators.faults import rewriting
from aclnn_viz.operators.faults.edits import Unit, units
from aclnn_viz.words.speech import message

NAME = "fitted"
FITS = 8  # cases from which a number is told; on the others it is tried
CLOSE = 1e-3  # of two fits in 16 bits; a fit is judged by what it gives, not by this
NICE = {1 / 3: "1/3", 2 / 3: "2/3", 1 / 6: "1/6", np.sqrt(2): "sqrt(2)", np.pi: "pi", 0.75: "0.75"}


@dataclass(frozen=True, eq=False)
class Slot:
    """A place of a page where an unknown number stands: in place of a constant, or as a factor of an expression."""

    unit: Unit
    shown: ast.AST
    change: rewriting.Change

    @cached_property
    def page(self) -> ModuleType:
        with self.change.made():
            return self.unit.page()

    @cached_property
    def texts(self) -> tuple[str, str]:
        before = rewriting.head(self.shown)
        with self.change.made():
            return before, rewriting.head(self.shown)

    def values(self, one: Seen, number: float) -> dict:
        setattr(self.page, NAME, number)
        return one.computed(Way(lambda: self.page))

    def fit(self, one: Seen) -> float | None:
        """The number with which the page gives what the kernel gave; None where there is no such."""
        with np.errstate(all="ignore"):
            return self._fit(one)

    def _fit(self, one: Seen) -> float | None:
        try:
            low, high = (self._flat(one, number) for number in (1.0, 2.0))
            wanted = np.concatenate([wide.ravel() for wide, _ in one.wanted.values()])
            sure = np.concatenate([np.isfinite(near).ravel() for _, near in one.wanted.values()])
            sure &= np.isfinite(wanted) & np.isfinite(low) & np.isfinite(high)
            slope = (high - low)[sure]
            square = float(slope @ slope)
            if square == 0.0:
                return None
            number = 1.0 + float(slope @ (wanted - low)[sure]) / square
            for _ in range(3):  # Newton steps: the page need not be linear in the number
                here, step = self._flat(one, number)[sure], 1e-4 * max(abs(number), 1e-3)
                slope = (self._flat(one, number + step)[sure] - here) / step
                square = float(slope @ slope)
                if not np.isfinite(square) or square == 0.0:
                    return None
                number += float(slope @ (wanted[sure] - here)) / square
            sharp = not one.narrow and not one.agrees(self.values(one, number))
            return number if np.isfinite(number) and not sharp else None
        except Exception:  # whatever a broken page raises
            return None

    def _flat(self, one: Seen, number: float) -> np.ndarray:
        found = self.values(one, number)
        return np.concatenate([np.asarray(found[name], np.float64).ravel() for name in one.wanted])


@cache
def slots(page: ModuleType) -> tuple[Slot, ...]:
    """Every place of a page where a number may be wrong or a factor missing."""
    return tuple(_slots(page))


def _slots(page: ModuleType) -> Iterator[Slot]:
    unknown = ast.Name(NAME, ast.Load())
    for unit in units(page):
        shown_of = rewriting.statements(unit.tree) if unit.name else {}
        for node in ast.walk(unit.tree):
            shown = shown_of.get(id(node), unit.tree)
            line = getattr(node, "lineno", 0)

            def slot(changed, values, unit=unit, shown=shown, line=line):
                return Slot(unit, shown, rewriting.Change("constant", changed, values, line=line))
            match node:
                case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                    yield slot(node, {"left": _scaled(left, unknown)})
                    yield slot(node, {"right": _scaled(right, unknown)})
                case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=ast.Constant(value=float())):
                    yield slot(node, {"right": unknown})
                case ast.Assign(value=value) if unit.name:
                    if not isinstance(value, (ast.Tuple, ast.List)):
                        yield slot(node, {"value": _scaled(value, unknown)})
                case ast.Assign(value=ast.Constant(value=float()) | ast.UnaryOp(operand=ast.Constant(value=float()))):
                    yield slot(node, {"value": unknown})
                case ast.Compare(comparators=[ast.Constant(value=float())]):
                    continue  # a bound is no smooth function of its number


def _scaled(node: ast.expr, unknown: ast.Name) -> ast.expr:
    return unknown if isinstance(node, ast.Constant) else ast.BinOp(unknown, ast.Mult(), node)


def fitted(slot: Slot, failing: list[Seen]) -> Candidate | None:
    """The candidate of a place, when one number, or one length, fits all failing cases."""
    numbers, sharp = [], _sharp(failing)
    for one in sharp:
        number = slot.fit(one)
        if number is None:
            return None
        numbers.append(number)
    found = _law(numbers, sharp)
    if found is None:
        return None
    text, number_of = found
    before, after = slot.texts

    def same(one: Seen) -> bool:
        try:
            return one.agrees(slot.values(one, number_of(one)))
        except Exception:  # whatever a broken page raises
            return False
    return Candidate("constant", lambda: (message("{file}, line {line},", file=slot.unit.file, line=slot.change.line), before,
                                          after.replace(NAME, text)), same)


def _sharp(failing: list[Seen]) -> list[Seen]:
    """Some cases in which a number can be told to many digits."""
    return ([one for one in failing if not one.narrow] or failing)[:FITS]


def scaled_output(failing: list[Seen]) -> Candidate | None:
    """The candidate that one output is a multiple of the right one."""
    name, others = next(((miss.output, {m.output for one in failing for m in one.misses})
                         for one in failing for miss in one.misses), ("", set()))
    if len(others) != 1:
        return None
    numbers, sharp = [], _sharp(failing)
    for one in sharp:
        truth = np.nan_to_num(one.truth[name]).ravel()
        wide = np.nan_to_num(one.wanted[name][0]).ravel()
        with np.errstate(all="ignore"):
            numbers.append(float(truth @ wide) / max(float(truth @ truth), 1e-300))
    found = _law(numbers, sharp)
    if found is None:
        return None
    text, number_of = found

    def same(one: Seen) -> bool:
        return name not in one.truth or one.agrees(one.truth | {name: one.truth[name] * number_of(one)})
    return Candidate("outputs", lambda: ("", "", message("{output} is {factor} times the right one", output=name, factor=text)), same)


def _law(numbers: list[float], failing: list[Seen]):
    """The words and the function of the case by which the numbers of the cases are told; None where there is none."""
    first = numbers[0]
    if all(abs(number - first) <= CLOSE * max(abs(first), 1e-9) for number in numbers):
        number = min(numbers, key=lambda one: abs(one - np.median(numbers)))
        nice = next((value for value in (*NICE, *(round(number, digits) for digits in range(5)))
                     if abs(value - number) <= 1e-4 * max(abs(value), 1e-9)), number)
        return NICE.get(nice, f"{nice:.6g}"), lambda one: nice
    laws = [("{}", float), ("1 / {}", lambda n: 1 / n), ("({} - 1)", lambda n: n - 1.0),
            ("-{}", lambda n: -float(n)), ("sqrt({})", np.sqrt)]
    known = [lengths(one.prepared.case) for one in failing]
    for name in known[0]:
        for words, law in laws:
            with np.errstate(all="ignore"):
                if all(name in found and found[name] and abs(law(found[name]) - number) <= CLOSE * abs(number)
                       for found, number in zip(known, numbers)):
                    return words.format(name), lambda one, name=name, law=law: law(lengths(one.prepared.case)[name])
    return None
