"""Cases from the test lists of the field: ATK's JSON and TTK's CSV, read and written.

Both tell shapes, dtypes, attributes and the range of each tensor's values, and no more: not the values, not that a
saved tensor comes from the forward pass, not how tensors lie in memory. What a file does not tell, or tells for its own
runner alone, is said in `notes`. Source: ops-nn and ops-cv, tests/st/aclnn<Op>/atk_aclnn<Op>.json and
tests/st/arch35/ttk_kernel_<op>_st.csv.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

import numpy as np

from aclnn_viz.cases.case import Case
from aclnn_viz.cases.forms import FORMS, Listed, Values
from aclnn_viz.cases.suites import suite
from aclnn_viz.dtypes import FLOAT64, float_format, round_to
from aclnn_viz.errors import listed as listed_of
from aclnn_viz.errors import place_of, printable, problem, whole
from aclnn_viz.operators import Operator, operator, operators
from aclnn_viz.storage.cases import LONGEST_INDEX
from aclnn_viz.storage.damage import StoredError
from aclnn_viz.storage.reading import read_file
from aclnn_viz.storage.results import new_file
from aclnn_viz.storage.tensors import dtype_named

LARGEST = 1 << 27  # elements of one tensor
KINDS = "a .json file as ATK has it, or a .csv file as TTK has it"


@dataclass
class CaseList(Sequence):
    """The cases of a list, by their `names` there; `left_out` counts why others were not taken, `notes` tells what the
    file does not say, or says for its own runner alone."""

    cases: list[Case] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left_out: Counter = field(default_factory=Counter)

    def __getitem__(self, at):
        return self.cases[at]

    def __len__(self) -> int:
        return len(self.cases)


def read(path, op=None, seed: int = 0) -> CaseList:
    """Return the cases of an ATK list (.json) or a TTK list (.csv), those of `op` if one is named.

    Values are drawn as the file says, with a seed of each case. Cases that do not fit their operator are left out and
    counted. Raises FileNotFoundError, and ValueError for a file that is damaged or holds no case of a known operator.

    >>> import tempfile
    >>> write(path := tempfile.mkdtemp() + "/list.json", "hardswish")[0]
    'values are told by their ranges alone: kinks, borders, nan and what one tensor has to do with another are lost'
    >>> read(path)[0].operator.name
    'hardswish'
    """
    seed, found = whole("seed", seed), CaseList()
    for number, its, one in entries(path, op, found):
        try:
            made = drawn(its, one, seed, number, found.notes)
        except (ValueError, TypeError) as error:
            found.left_out[f"what {its.name} does not take: {str(error).partition(': got ')[0]}"] += 1
        else:
            found.cases.append(made)
            found.names.append(one.name)
    if not found.cases:
        told = "; ".join(f"{count} with {why}" for why, count in found.left_out.items()) or "no case"
        wanted = "a known operator" if op is None else operator(op).name
        raise ValueError(problem(f"{Path(path).name} must hold cases of {wanted}", told,
                                 f"known are {', '.join(one.aclnn_name for one in operators())}"))
    found.notes = list(dict.fromkeys(found.notes))
    return found


def entries(path, op, found: CaseList) -> Iterator[tuple[int, Operator, Listed]]:
    """Yield what a list tells of each case of a known operator, with its place there, and draw nothing; raises as `read`.

    What is left out, and what the file does not say, is added to `found`.
    """
    path = place_of(path)
    try:
        listed = list(_form(path).read(read_file(path, LONGEST_INDEX).decode("utf-8-sig"), found.notes.append))
    except FileNotFoundError:
        raise FileNotFoundError(problem(f"cases are read from {KINDS}", f"{path}, where no file is", "name one")) from None
    except (StoredError, UnicodeDecodeError, RecursionError, MemoryError) as error:
        raise ValueError(problem(f"cases are read from {KINDS}", f"{path.name}: {error}", "write it again")) from None
    wanted, known = None if op is None else operator(op), {_plain(one.aclnn_name): one for one in operators()}
    for number, one in enumerate(listed):
        its = known.get(_plain(one.operator))
        if its is None:
            found.left_out[f"operator {one.operator!r}, which is not known"] += 1
        elif wanted is not None and its is not wanted:
            found.left_out[f"operator {its.name}"] += 1
        else:
            yield number, its, one


def drawn(op: Operator, listed: Listed, seed: int, number: int, notes: list[str]) -> Case:
    """Draw what a list tells of the case at a place; raises ValueError or TypeError for what its operator does not take."""
    return _case(op, listed, np.random.default_rng([seed, number]), seed, notes)


def write(path, cases, seed: int = 0, force: bool = False) -> list[str]:
    """Write cases as an ATK list (.json) or a TTK list (.csv), and return in words what these forms cannot express.

    `cases` are an operator, for its suite, or a sequence of cases. Raises FileExistsError where something is, unless
    `force`.
    """
    seed = whole("seed", seed)
    if isinstance(cases, (str, Operator)):
        cases = [made for _, made in suite(cases, seed)]
    path, cases = place_of(path), listed_of("cases", cases, Case)
    content = _form(path).write([_listed(number, one) for number, one in enumerate(cases)], cases)
    with new_file(path, force, _is_list) as file:
        file.write(content.encode())
    return [*_lost(cases)]


def _is_list(path: Path) -> bool:
    try:
        return bool(read(path))
    except ValueError:
        return False


def _form(path: Path):
    if path.suffix not in FORMS:
        raise ValueError(problem(f"a list of cases is {KINDS}", path.name, "name such a file"))
    return FORMS[path.suffix]


def _plain(name: str) -> str:
    """A name of an operator or parameter as all files mean it, however they spell it."""
    return name.lower().replace("_", "").removeprefix("aclnn").replace("backward", "grad").removesuffix("optional")


def _case(op: Operator, listed: Listed, rng, seed: int, notes: list[str]) -> Case:
    tensors = [p for p in op.parameters if p.kind == "tensor"]
    by_name = {_plain(name): p for p in op.parameters for name in (p.name, p.c_name or p.name)}
    named = {one.name: by_name.get(_plain(one.name)) for one in listed.tensors if one.name}
    taken = {p.name for p in named.values() if p is not None}
    rest = iter([p for p in tensors if p.name not in taken] if taken else tensors)
    inputs: dict = {}
    for one in listed.tensors:
        p = named.get(one.name) or next(rest, None)
        if p is None:
            raise ValueError(problem(f"{op.name} has {len(tensors)} tensors", f"{len(listed.tensors)} in {listed.name}",
                                     "leave out the others"))
        inputs[p.name] = _drawn(p.name, one, rng)
        if p.name in op.saved and one.shape is not None:
            notes.append(f"{p.name} is drawn on its own, as the file says: no forward pass saved it")
    for name, value in listed.attributes.items():
        p = by_name.get(_plain(name))
        if p is None or p.kind == "tensor":
            notes.append(f"attribute {printable(name)} is none of {op.name}: it is not used")
        elif value is not None:
            inputs[p.name] = tuple(value) if isinstance(value, list) else float(value) if p.kind == "float" and isinstance(
                value, int) and not isinstance(value, bool) else value
    inputs = {p.name: inputs[p.name] for p in op.parameters if p.name in inputs}
    inputs = op.bind(inputs)
    op.arrange_backward(**inputs)
    return Case(op, inputs, float_format(inputs[op.like]).name, seed)


def _drawn(name: str, one: Values, rng) -> np.ndarray | None:
    if one.shape is None:
        return None
    if any(n < 0 for n in one.shape) or prod(one.shape) > LARGEST:
        raise ValueError(problem(f"{name} must have lengths from 0 on, at most {LARGEST} elements",
                                 f"shape {list(one.shape)[:8]}", "make it smaller"))
    if not math.isfinite(one.low) or not math.isfinite(one.high) or not one.normal and one.low > one.high:
        raise ValueError(problem(f"{name} must have a range of numbers", f"[{one.low}, {one.high}]", "mend it"))
    dtype = dtype_named(one.dtype)
    if dtype.kind == "i":
        return rng.integers(int(one.low), max(int(one.high), int(one.low)), one.shape, dtype=dtype, endpoint=True)
    with np.errstate(over="ignore"):
        part = rng.standard_normal(one.shape) if one.normal else rng.random(one.shape)
        values = one.low + one.high * part if one.normal else one.low * (1 - part) + one.high * part
    return np.asarray(round_to(np.asarray(values, FLOAT64.numpy), dtype))


def _listed(number: int, made: Case) -> Listed:
    op, tensors = made.operator, []
    inputs = op.bind(made.inputs)
    marks = [inputs[p.name] for p in op.parameters if p.kind == "int"]  # integers that stand for something else
    for p in op.parameters:
        if p.kind == "tensor":
            value = inputs[p.name]
            if value is None:
                tensors.append(Values(p.name, None, "", 0.0, 0.0))
                continue
            wide = value.astype(np.float64).ravel()
            plain = np.isfinite(wide) & ~np.isin(wide, marks if value.dtype.kind == "i" else [])
            wide = wide[plain] if plain.any() else wide[np.isfinite(wide)][:1] if np.isfinite(wide).any() else np.zeros(1)
            tensors.append(Values(p.name, value.shape, value.dtype.name, float(wide.min()), float(wide.max())))
    attributes = {p.name: inputs[p.name] for p in op.parameters if p.kind != "tensor"}
    return Listed(f"{op.name}_{number:03d}", op.aclnn_name, tuple(tensors), attributes)


def _lost(cases: Iterable[Case]) -> Iterable[str]:
    yield "values are told by their ranges alone: kinks, borders, nan and what one tensor has to do with another are lost"
    arrays = [value for one in cases for value in one.inputs.values() if isinstance(value, np.ndarray)]
    if any(not value.flags.c_contiguous for value in arrays):
        yield "strided tensors are written as contiguous ones"
    if any(value.dtype.kind == "i" for value in arrays):
        yield "integers that an attribute gives another meaning, such as an ignored class, are not in the ranges"
    saved = sorted({f"{one.operator.name}.{name}" for one in cases for name in one.operator.saved})
    if saved:
        yield f"that the forward pass saves {', '.join(saved)} is lost: whoever runs the list draws them on their own"
