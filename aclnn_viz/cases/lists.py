"""Read and write test lists of ATK, a test tool for CANN operators: JSON files that name shapes, dtypes and ranges of the
inputs.

ATK gives shapes, dtypes, attributes and a range for each tensor. It gives no values, no relation between saved tensors and the
forward pass, and no memory layout. `notes` lists what a file lacks or states for its own runner only. Source: ops-nn and
ops-cv, tests/st/aclnn<Op>/atk_aclnn<Op>.json.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np

from aclnn_viz.cases.case import Case
from aclnn_viz.cases.suites import suite
from aclnn_viz.dtypes import FLOAT64, float_format, round_to
from aclnn_viz.errors import invalid, place_of, printable, problem, whole
from aclnn_viz.errors import listed as listed_of
from aclnn_viz.operators import Operator, operator, operators
from aclnn_viz.storage.cases import LONGEST_INDEX
from aclnn_viz.storage.readers import StoredError, dtype_named, parsed, read_file
from aclnn_viz.storage.results import new_file
from aclnn_viz.words.messages import message

DTYPES = {
    "fp32": "float32",
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp64": "float64",
    "double": "float64",
    "float": "float32",
    "int": "int64",
}
ATK_NAMES = {"float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "float64": "fp64"}
LOST_ATK = ("align_32B", "outlier_values")


class Values(NamedTuple):
    """The description of one tensor in a list: shape (None: not given), dtype, and a uniform range or a normal distribution."""

    name: str
    shape: tuple[int, ...] | None
    dtype: str
    low: float
    high: float
    normal: bool = False  # if true, `low` is the mean and `high` the deviation


class Listed(NamedTuple):
    """A case as a list describes it: tensors in order, attributes by the file's names."""

    name: str
    operator: str
    tensors: tuple[Values, ...]
    attributes: dict


def _wrong(where: str, asked: str, got, fix: str = "mend the list") -> ValueError:
    text = repr(got)
    return invalid(f"{where}: {asked}", text if len(text) < 80 else f"{text[:77]}...", fix)


def shape_of(where: str, value) -> tuple[int, ...] | None:
    if value is None:
        return None
    if not isinstance(value, (list, tuple)) or not all(type(n) is int for n in value):
        raise _wrong(where, "a shape is a list of lengths", value)
    return tuple(value)


def range_of(where: str, value) -> tuple[float, float]:
    try:
        low, high = value
        if any(isinstance(end, (bool, str)) for end in (low, high)):
            raise TypeError
        return float(low), float(high)
    except (TypeError, ValueError, OverflowError):
        raise _wrong(where, "a range is [low, high]", value) from None


def _ends(where: str, value) -> tuple[float, float]:
    """Return the ends of an ATK range, where one value means both ends, and "inf", "-inf" and "nan" mean numbers."""
    ends = [*value] * (2 if len(value) == 1 else 1) if isinstance(value, list) else [value] * 2
    # more than two numbers are a list of values, not a range
    if len(ends) > 2 and all(isinstance(end, int | float) for end in ends):
        ends = [min(ends), max(ends)]
    try:
        return range_of(
            where,
            [
                float("0" if end == "null" else end) if isinstance(end, str | bool) else end
                for end in ends
            ],
        )
    except ValueError:
        raise _wrong(where, "a range is [low, high], or one value", value) from None


def _dtype(where: str, value) -> str:
    if not isinstance(value, str):
        raise _wrong(where, "a dtype is a name such as fp32", value)
    return DTYPES.get(value.lower(), value.lower())


def _cases_of(text: str, note: Callable[[str], None]) -> Iterator[Listed]:
    """Yield the cases of a text: a JSON list of objects, each with `inputs` of type tensor, attr or attr_tuple."""
    try:
        cases = parsed(text)
    except ValueError as error:
        raise _wrong(
            "a list of ATK is JSON", "it must be whole", str(error), "write it again"
        ) from None
    if not isinstance(cases, list):
        raise _wrong("a list of ATK", "a list of cases", cases)
    for number, one in enumerate(cases):
        where = f"case {number}"
        if not isinstance(one, dict) or not isinstance(one.get("inputs"), list):
            raise _wrong(where, "an object with a list of inputs", one)
        where = f"case {one.get('id', number)!r}"
        name = one.get("aclnn_name", one.get("name"))
        if not isinstance(name, str):
            raise _wrong(where, "aclnn_name is a text", name)
        if "standard" in one:
            note(
                message(
                    "the file's own standard of accuracy is not used: cases are judged by what rounding explains"
                )
            )
        tensors, attributes = [], {}
        for entry in one["inputs"]:
            # a nested list holds the entries of one array
            several = entry if isinstance(entry, list) and entry else [entry]
            kinds = {
                str(each.get("type"))
                if isinstance(each, dict) and isinstance(each.get("name"), str)
                else None
                for each in several
            }
            if (
                not kinds <= {"tensor", "scalar", "attr", "attrs", "attr_tuple"}
                or len(several) > 1
                and kinds not in ({"attrs"}, {"attr_tuple"})
            ):
                raise _wrong(
                    where,
                    "an input has a name and the type tensor, scalar, attr, attrs or attr_tuple",
                    entry,
                )
            called = several[0]["name"]
            place = f"{where}, {called}"
            if kinds == {"tensor"}:
                tensors.append(_tensor(place, several[0], note))
                continue
            values = [_attribute(place, each, number, note) for each in several]
            one_value = kinds != {"attrs"} and len(several) == 1
            attributes[called] = values[0] if one_value else values
        yield Listed(
            f"{one.get('name', name)} {one.get('id', number)}", name, tuple(tensors), attributes
        )


def _tensor(where: str, entry: dict, note):
    for lost in LOST_ATK:
        if entry.get(lost):
            note(message("{name} is not used", name=lost))
    shape, values = shape_of(where, entry.get("shape")), entry.get("range_values", [-1, 1])
    dtype = _dtype(where, entry.get("dtype", "")) if shape is not None else ""
    if isinstance(values, dict):
        if values.get("name") != "nd":
            raise _wrong(where, "a distribution is {name: nd, mean, std}", values)
        note(message("mean and deviation of a normal tensor are the middle of their ranges"))
        (a, b), (c, d) = range_of(where, values.get("mean")), range_of(where, values.get("std"))
        return Values(entry["name"], shape, dtype, (a + b) / 2, (c + d) / 2, True)
    return Values(entry["name"], shape, dtype, *_ends(where, values))


def _attribute(where: str, entry: dict, number: int, note):
    value, dtype = entry.get("range_values"), entry.get("dtype")
    if isinstance(value, dict):
        value = value.get("mean")
        if not isinstance(value, list):
            raise _wrong(
                where,
                "an attribute is a value, a list, or a distribution {name: nd, mean, std}",
                entry.get("range_values"),
            )
    if entry.get("type") == "attr_tuple" or not isinstance(value, list):
        return value
    low, high = _ends(where, value)
    if dtype == "int" and not math.isfinite(low + high):
        raise _wrong(where, "a whole number is finite", value)
    if "bool" in str(dtype):
        return bool(low)
    if low != high:
        note(
            message(
                "an attribute with a range gets the middle of the range; a whole number gets each value in turn"
            )
        )
    return int(low) + number % (int(high) - int(low) + 1) if dtype == "int" else (low + high) / 2


LARGEST = 1 << 27  # most elements of one tensor
KINDS = "a .json file as ATK has it"


@dataclass
class CaseList(Sequence):
    """The cases of a list with their `names`; `left_out` counts skipped cases by reason, `notes` lists what the file lacks or
    states for its own runner only.
    """

    cases: list[Case] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left_out: Counter = field(default_factory=Counter)

    def __getitem__(self, at):
        return self.cases[at]

    def __len__(self) -> int:
        return len(self.cases)


def read(path, op=None, seed: int = 0) -> CaseList:
    """Return the cases of an ATK list (.json), only those of `op` if given.

    Values are drawn by the file's ranges, with one seed per case. Cases that do not fit their operator are skipped and counted.
    Raises FileNotFoundError, and ValueError for a damaged file or one without a case of a known operator.

    >>> import json, tempfile
    >>> tensors = [{"name": name, "type": "tensor", "dtype": "fp16", "shape": [4]} for name in ("gradOutput", "self")]
    >>> with open(path := tempfile.mkdtemp() + "/list.json", "w") as file:
    ...     json.dump([{"aclnn_name": "HardswishBackward", "inputs": tensors}], file)
    >>> read(path)[0].operator.name
    'hardswish'
    """
    path, seed, found = place_of(path), whole("seed", seed), CaseList()
    if path.suffix != ".json":
        raise invalid(f"a list of cases is {KINDS}", path.name, "name such a file")
    try:
        text = read_file(path, LONGEST_INDEX).decode("utf-8-sig")
        listed = [*_cases_of(text, found.notes.append)]
    except FileNotFoundError:
        raise FileNotFoundError(
            problem(f"cases are read from {KINDS}", f"{path}, where no file is", "name one")
        ) from None
    except (StoredError, UnicodeDecodeError, RecursionError, MemoryError) as error:
        raise invalid(
            f"cases are read from {KINDS}", f"{path.name}: {error}", "write it again"
        ) from None
    wanted, known = (
        None if op is None else operator(op),
        {_plain(one.aclnn_name): one for one in operators()},
    )
    for number, one in enumerate(listed):
        its = known.get(_plain(one.operator))
        if its is None:
            found.left_out[message("unknown operator {name!r}", name=one.operator)] += 1
        elif wanted is not None and its is not wanted:
            found.left_out[message("operator {name}", name=its.name)] += 1
        else:
            try:
                case = _case(its, one, np.random.default_rng([seed, number]), seed, found.notes)
            except (ValueError, TypeError) as error:
                found.left_out[
                    message(
                        "a case that {name} does not support: {why}",
                        name=its.name,
                        why=str(error).partition(": got ")[0],
                    )
                ] += 1
            else:
                found.cases.append(case)
                found.names.append(one.name)
    if not found.cases:
        text = (
            "; ".join(f"{count} with {why}" for why, count in found.left_out.items()) or "no case"
        )
        name = "a known operator" if wanted is None else wanted.name
        raise invalid(
            f"{path.name} must hold cases of {name}",
            text,
            f"known are {', '.join(one.aclnn_name for one in operators())}",
        )
    found.notes = list(dict.fromkeys(found.notes))
    return found


def _plain(name: str) -> str:
    """Return the name of an operator or parameter in one spelling for all files."""
    return (
        name.lower()
        .replace("_", "")
        .removeprefix("aclnn")
        .replace("backward", "grad")
        .removesuffix("optional")
    )


def _case(op: Operator, listed: Listed, rng, seed: int, notes: list[str]) -> Case:
    tensors = [p for p in op.parameters if p.kind == "tensor"]
    by_name = {_plain(name): p for p in op.parameters for name in (p.name, p.c_name or p.name)}
    named = {one.name: by_name.get(_plain(one.name)) for one in listed.tensors if one.name}
    forward = {_plain(p.name) for p in op.forward_parameters} - {*by_name}
    taken = {p.name for p in named.values() if p is not None}
    rest = iter([p for p in tensors if p.name not in taken] if taken else tensors)
    inputs: dict = {}
    for one in listed.tensors:
        if _plain(one.name) in forward:
            notes.append(f"{one.name} is of the forward operator alone: it is not used")
            continue
        p = named.get(one.name) or next(rest, None)
        if p is None:
            raise invalid(
                f"{op.name} has {len(tensors)} tensors",
                f"{len(listed.tensors)} in {listed.name}",
                "leave out the others",
            )
        inputs[p.name] = _drawn(p.name, one, rng)
        if p.name in op.saved and one.shape is not None:
            notes.append(
                f"{p.name} is drawn on its own, as the file says: no forward pass saved it"
            )
    for name, value in listed.attributes.items():
        p = by_name.get(_plain(name))
        if p is None or p.kind == "tensor":
            notes.append(f"attribute {printable(name)} is none of {op.name}: it is not used")
        elif value is not None:
            inputs[p.name] = (
                tuple(value)
                if isinstance(value, list)
                else float(value)
                if p.kind == "float" and isinstance(value, int) and not isinstance(value, bool)
                else value
            )
    inputs = {p.name: inputs[p.name] for p in op.parameters if p.name in inputs}
    inputs = op.bind(inputs)
    attributes = {name: inputs[name] for name in op.attributes if name in inputs}
    # tensors that attributes determine, such as a compressed mask, are not drawn from a range
    for p in tensors:
        usual = op.usual(p.name, attributes, {})
        if inputs[p.name] is not None and usual is not None:
            inputs[p.name] = usual.astype(inputs[p.name].dtype)
    op.arrange_backward(**inputs)
    return Case(op, inputs, float_format(inputs[op.like]).name, seed)


def _drawn(name: str, one: Values, rng) -> np.ndarray | None:
    if one.shape is None:
        return None
    if any(n < 0 for n in one.shape) or prod(one.shape) > LARGEST:
        raise invalid(
            f"{name} must have lengths from 0 on, at most {LARGEST} elements",
            f"shape {list(one.shape)[:8]}",
            "make it smaller",
        )
    finite = math.isfinite(one.low) and math.isfinite(one.high)
    dtype = dtype_named(one.dtype)
    if not one.normal and not finite and dtype.kind not in "iub":
        # between nan and a number there is no range, so elements take either end
        ends = np.where(rng.random(one.shape) < 0.5, one.low, one.high)
        return np.asarray(round_to(ends, dtype))
    if not finite or not one.normal and one.low > one.high:
        raise invalid(
            f"{name} must have a range of numbers",
            f"[{one.low}, {one.high}]",
            "give two finite numbers, the smaller first",
        )
    if dtype.kind in "iub":
        return rng.integers(
            int(one.low), max(int(one.high), int(one.low)), one.shape, dtype=dtype, endpoint=True
        )
    with np.errstate(over="ignore"):
        part = rng.standard_normal(one.shape) if one.normal else rng.random(one.shape)
        values = (
            one.low + one.high * part
            if one.normal
            else np.clip(one.low * (1 - part) + one.high * part, one.low, one.high)
        )
    return np.asarray(round_to(np.asarray(values, FLOAT64.numpy), dtype))


def write(path, cases, seed: int = 0, force: bool = False) -> list[str]:
    """Write cases as an ATK list (.json), and return in words what the list cannot express.

    `cases` is an operator, for its suite, or a sequence of cases. Raises FileExistsError if the file exists, unless `force`.

    >>> import tempfile
    >>> write(tempfile.mkdtemp() + "/list.json", "hardswish")[0]
    'a list states only the ranges of values: kinks, borders, nan and relations between tensors are lost'
    """
    seed = whole("seed", seed)
    if isinstance(cases, (str, Operator)):
        cases = [case for _, case in suite(cases, seed)]
    path, cases = place_of(path), listed_of("cases", cases, Case)
    if path.suffix != ".json":
        raise invalid("a list is written as ATK's .json", path.name, "name such a file")
    entries = [_entry(number, _listed(number, case)) for number, case in enumerate(cases)]
    with new_file(path, force, _is_list) as file:
        file.write(json.dumps(entries, indent=1, allow_nan=False).encode())
    return [*_lost(cases)]


def _is_list(path: Path) -> bool:
    try:
        return bool(read(path))
    except ValueError:
        return False


def _entry(number: int, listed: Listed) -> dict:
    """Return a case in ATK's form."""
    inputs = [
        {
            "name": tensor.name,
            "type": "tensor",
            "required": tensor.shape is not None,
            "dtype": ATK_NAMES.get(tensor.dtype, tensor.dtype or "fp32"),
            "shape": None if tensor.shape is None else list(tensor.shape),
            "range_values": [tensor.low, tensor.high],
        }
        for tensor in listed.tensors
    ]
    for name, value in listed.attributes.items():
        several = isinstance(value, tuple)
        first = value[0] if several and value else value
        inputs.append(
            {
                "name": name,
                "type": "attr_tuple" if several else "attr",
                "required": True,
                "shape": None,
                "dtype": {bool: "bool", int: "int", float: "float"}.get(type(first), "string"),
                "range_values": list(value) if several else value,
            }
        )
    name = listed.operator.removeprefix("aclnn")
    return {
        "id": number,
        "name": name,
        "aclnn_name": name,
        "api_type": re.sub(r"(?<!^)(?=[A-Z][a-z])", "_", listed.operator).lower(),
        "standard": {"acc": "single_bm", "perf": "not_key"},
        "inputs": inputs,
    }


def _listed(number: int, made: Case) -> Listed:
    op, tensors = made.operator, []
    inputs = op.bind(made.inputs)
    # integer attributes that may occur among the elements, such as ignoreIndex
    marks = [inputs[p.name] for p in op.parameters if p.kind == "int"]
    for p in op.parameters:
        if p.kind == "tensor":
            value = inputs[p.name]
            if value is None:
                tensors.append(Values(p.name, None, "", 0.0, 0.0))
                continue
            wide = value.astype(np.float64).ravel()
            plain = np.isfinite(wide) & ~np.isin(wide, marks if value.dtype.kind == "i" else [])
            wide = (
                wide[plain]
                if plain.any()
                else wide[np.isfinite(wide)][:1]
                if np.isfinite(wide).any()
                else np.zeros(1)
            )
            tensors.append(
                Values(p.name, value.shape, value.dtype.name, float(wide.min()), float(wide.max()))
            )
    attributes = {p.name: inputs[p.name] for p in op.parameters if p.kind != "tensor"}
    return Listed(f"{op.name}_{number:03d}", op.aclnn_name, tuple(tensors), attributes)


def _lost(cases: Iterable[Case]) -> Iterable[str]:
    yield message(
        "a list states only the ranges of values: kinks, borders, nan and relations between tensors are lost"
    )
    arrays = [
        value for case in cases for value in case.inputs.values() if isinstance(value, np.ndarray)
    ]
    if any(not value.flags.c_contiguous for value in arrays):
        yield message("strided tensors are written as contiguous ones")
    if any(value.dtype.kind == "i" for value in arrays):
        yield message(
            "integers that an attribute gives another meaning, such as an ignored class, are not in the ranges"
        )
    saved = sorted(
        {f"{case.operator.name}.{name}" for case in cases for name in case.operator.saved}
    )
    if saved:
        yield message(
            "the list does not say that the forward pass saves {names}: its reader draws them independently",
            names=", ".join(saved),
        )
