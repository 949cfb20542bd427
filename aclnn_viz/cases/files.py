"""Cases as files, for programs that are not Python, and for one failing case that is carried to another machine.

    DIR/cases.json        the operator; per case its folder, its attributes, and of every tensor its shape and dtype
    DIR/000/in/x.npy      each input, and x.bin, the same numbers bare, in C order, little-endian
    DIR/000/out/          where the outputs belong, as NAME.npy or NAME.bin; both only if they hold the same

NumPy's file format has no bfloat16: its .npy files hold the bits as uint16, and the dtype stands in cases.json.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np

from aclnn_viz.cases.case import Case
from aclnn_viz.dtypes import BFLOAT16, float_format
from aclnn_viz.errors import problem
from aclnn_viz.operators import Operator, operator

INDEX = "cases.json"
WANTED = f"a folder with {INDEX}, as `aclnn-viz check OP --write` and counterexample.write make it"


class Dumped(NamedTuple):
    """A case to write: how it was made, its outputs as far as they are known, and the shape and dtype of each."""

    case: Case
    recipe: str
    outputs: dict[str, np.ndarray]
    described: dict[str, tuple[tuple[int, ...], np.dtype]]


@dataclass(frozen=True, eq=False)
class Entry:
    """A case that was read: the outputs that lie beside it, and what is wrong with those that could not be read."""

    folder: str
    case: Case
    outputs: dict[str, np.ndarray]
    unreadable: dict[str, str]


def write_cases(folder, op: Operator, dumped: Iterable[Dumped], seed: int = 0) -> Path:
    """Write cases into a folder, existing files are replaced, and return the folder."""
    folder, listed = Path(folder), []
    for number, one in enumerate(dumped):
        place = folder / f"{number:03d}"
        for part in ("in", "out"):
            (place / part).mkdir(parents=True, exist_ok=True)
        tensors = {name: value for name, value in one.case.inputs.items() if isinstance(value, np.ndarray)}
        for name, value in tensors.items():
            _write(place / "in" / name, value)
        for name in filter(one.outputs.__contains__, op.outputs):  # a kernel may invent others
            _write(place / "out" / name, one.outputs[name])
        listed.append({
            "folder": place.name, "seed": one.case.seed, "made with": one.recipe, "dtype": one.case.dtype,
            "attributes": {name: value for name, value in one.case.inputs.items() if name not in tensors},
            "inputs": {name: _described(value.shape, value.dtype) for name, value in tensors.items()},
            "outputs": {name: _described(*what) for name, what in one.described.items()}})
    content = {"operator": op.name, "aclnn_name": op.aclnn_name, "seed": seed, "byte order": "little", "cases": listed}
    (folder / INDEX).write_text(json.dumps(content, indent=1), encoding="utf-8")
    return folder


def read_cases(folder) -> tuple[Operator, int, Iterator[Entry]]:
    """Return the operator, the seed, and the cases of a folder, each read when it is asked for.

    Raises ValueError for a folder without cases, or whose index or inputs are missing, incomplete or damaged.
    """
    folder = Path(folder)
    try:
        content = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        op, seed, cases = operator(content["operator"]), int(content["seed"]), list(content["cases"])
        if not cases:
            raise ValueError("no cases in it")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(problem(WANTED, f"{folder}: {_told(error)}", "write the cases again")) from error
    return op, seed, (_entry(op, folder, listed) for listed in cases)


def _entry(op: Operator, folder: Path, listed: dict) -> Entry:
    try:
        place = folder / listed["folder"]
        inputs = {name: tuple(value) if isinstance(value, list) else value
                  for name, value in listed["attributes"].items()}
        for name, described in listed["inputs"].items():
            shape, dtype = _shape_and_dtype(described)
            inputs[name] = read_tensor(place / "in" / name, shape, dtype)
            if inputs[name] is None:
                raise ValueError(f"no {name}.npy and no {name}.bin in {place / 'in'}")
            if inputs[name].shape != shape:
                raise ValueError(f"{name} of shape {list(inputs[name].shape)} instead of {list(shape)}")
        case = Case(op, {p.name: inputs[p.name] for p in op.parameters if p.name in inputs},
                    float_format(listed["dtype"]).name, listed["seed"])
        op.arrange_backward(**op.bind(case.inputs))
        described = {name: _shape_and_dtype(what) for name, what in listed["outputs"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError, LookupError) as error:
        where = listed.get("folder", "a case") if isinstance(listed, dict) else "a case"
        raise ValueError(problem("the inputs of every case of a dump lie whole in its folder",
                                 f"{folder}, {where}: {_told(error)}", "write the cases again")) from error
    outputs, unreadable = {}, {}
    for name in op.outputs:
        path = place / "out" / name
        try:
            value = read_tensor(path, *described.get(name, (None, None)))
            if value is not None and _other_bytes(path, value):
                raise ValueError(f"{name}.npy and {name}.bin, which hold different numbers: delete the older one")
        except (OSError, ValueError) as error:
            unreadable[name] = str(error)
        else:
            outputs |= {} if value is None else {name: value}
    return Entry(listed["folder"], case, outputs, unreadable)


def read_tensor(path: Path, shape: tuple[int, ...] | None, dtype: np.dtype | None) -> np.ndarray | None:
    """Return a tensor from its .npy or else its .bin file, None where there is neither.

    Raises ValueError for a file that cannot be read, or whose numbers do not fill the shape.
    """
    npy, raw = path.with_suffix(".npy"), path.with_suffix(".bin")
    if npy.exists():
        return _loaded(npy, dtype)
    if not raw.exists():
        return None
    if shape is None:
        return np.zeros(0)
    content = raw.read_bytes()
    expected = prod(shape) * dtype.itemsize
    if len(content) != expected:
        raise ValueError(f"{raw.name} with {len(content)} bytes instead of {expected} for {dtype}{list(shape)}")
    return np.frombuffer(content, dtype).reshape(shape).copy()


def _loaded(npy: Path, dtype: np.dtype | None) -> np.ndarray:
    with open(npy, "rb") as file:
        try:
            value = np.lib.format.read_array(file, allow_pickle=False)
        except Exception as error:  # what is damaged may raise anything, a lack of memory included
            raise ValueError(f"{npy.name}, which NumPy cannot read ({error})") from error
    value = value.astype(value.dtype.newbyteorder("="))
    if dtype == BFLOAT16.numpy and value.dtype.itemsize == 2 and value.dtype.kind in "uiV":
        value = value.view(BFLOAT16.numpy)
    if not is_number(value.dtype):
        raise ValueError(f"{npy.name} of dtype {value.dtype}, which is no number")
    return value


def _other_bytes(path: Path, value: np.ndarray) -> bool:
    """Whether both files are there, and the .bin file is not what was read from the .npy file."""
    raw = path.with_suffix(".bin")
    return path.with_suffix(".npy").exists() and raw.exists() and raw.read_bytes() != value.tobytes()


def is_number(dtype: np.dtype) -> bool:
    """Whether elements are real numbers; the formats of ml_dtypes are, although NumPy counts them as void.

    >>> is_number(np.dtype(float)), is_number(np.dtype(complex)), is_number(np.dtype("V2"))
    (True, False, False)
    """
    return dtype.kind in "biufV" and dtype.type is not np.void


def _described(shape, dtype) -> dict:
    return {"shape": list(shape), "dtype": np.dtype(dtype).name}


def _shape_and_dtype(described: dict) -> tuple[tuple[int, ...], np.dtype]:
    name = described["dtype"]
    return tuple(map(int, described["shape"])), np.dtype(name) if name.startswith("int") else float_format(name).numpy


def _write(path: Path, value: np.ndarray) -> None:
    value = np.asarray(value, order="C")
    np.save(path.with_suffix(".npy"), value.view(np.uint16) if value.dtype == BFLOAT16.numpy else value)
    path.with_suffix(".bin").write_bytes(value.tobytes())


def _told(error: Exception) -> str:
    return f"no {error}" if isinstance(error, KeyError) else str(error)
