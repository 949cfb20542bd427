"""Checking without Python: cases written as files, outputs of any program read back and judged.

    DIR/cases.json        per case: its folder, the attributes, and of every tensor its file, shape and dtype
    DIR/000/in/x.npy      each input, and x.bin, the same numbers bare, in C order, little-endian
    DIR/000/out/          where the outputs belong, as NAME.npy or NAME.bin

NumPy's file format has no bfloat16: its .npy files hold the bits as uint16, and the dtype stands in cases.json.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from aclnn_viz.cases import Case
from aclnn_viz.cases.suites import Recipe
from aclnn_viz.checking.check import Evidence, conclude
from aclnn_viz.checking.diagnosis import Seen
from aclnn_viz.checking.judging import Prepared, judge, prepared, prepared_suite
from aclnn_viz.checking.result import CheckResult
from aclnn_viz.dtypes import BFLOAT16, float_format
from aclnn_viz.errors import problem
from aclnn_viz.operators import operator

INDEX = "cases.json"


def write_suite(op, folder, seed: int = 0) -> Path:
    """Write the inputs of the whole suite of an operator into a folder, and return it; existing files are replaced.

    >>> import tempfile
    >>> sorted(path.name for path in (write_suite("hardswish", tempfile.mkdtemp()) / "000").iterdir())
    ['in', 'out']
    """
    op = operator(op)
    return write_cases(folder, op, [(one, {}) for one in prepared_suite(op, seed)], seed)


def write_cases(folder, op, cases: Iterable[tuple[Prepared, dict]], seed: int = 0) -> Path:
    """Write cases, each with the outputs that are known already."""
    folder, listed = Path(folder), []
    for number, (one, outputs) in enumerate(cases):
        place = folder / f"{number:03d}"
        for part in ("in", "out"):
            (place / part).mkdir(parents=True, exist_ok=True)
        tensors = {name: value for name, value in one.case.inputs.items() if isinstance(value, np.ndarray)}
        for name, value in tensors.items():
            _write(place / "in" / name, value)
        for name, value in outputs.items():
            _write(place / "out" / name, value)
        listed.append({
            "folder": place.name, "seed": one.case.seed, "made with": str(one.recipe), "dtype": one.case.dtype,
            "attributes": {name: value for name, value in one.case.inputs.items() if name not in tensors},
            "inputs": {name: _described(value.shape, value.dtype) for name, value in tensors.items()},
            "outputs": {name: _described(part.truth.shape, part.dtype) for name, part in one.expected.items()}})
    content = {"operator": op.name, "aclnn_name": op.aclnn_name, "seed": seed, "byte order": "little", "cases": listed}
    (folder / INDEX).write_text(json.dumps(content, indent=1), encoding="utf-8")
    return folder


def read_and_check(op, folder) -> CheckResult:
    """Judge and diagnose the outputs that some program left in a folder that `write_suite` wrote.

    A missing output is a fault of the kernel; cases without any output were not run and are not judged. Raises
    ValueError for a folder without cases, for those of another operator, and where no output is found.
    """
    op, folder = operator(op), Path(folder)
    content = _index(folder)
    if content["operator"] != op.name:
        raise ValueError(problem(f"the cases must be those of {op.name}", f"those of {content['operator']}",
                                 "name that operator, or another folder"))
    evidence = Evidence()
    for entry in content["cases"]:
        place = folder / entry["folder"]
        outputs = {}
        for name in op.outputs:
            try:
                value = _read(place / "out" / name, entry["outputs"].get(name))
            except ValueError as error:
                evidence.misbehaviour.setdefault(f"wrote {error}", entry["folder"])
                continue
            if value is not None:
                outputs[name] = value
        if outputs:
            one = prepared(Recipe(op.name, {"folder": entry["folder"]}), read_case(op, folder, entry))
            evidence.seen.append(Seen(one, outputs, judge(one, outputs)))
    evidence.stopped = len(evidence.seen) < len(content["cases"])
    if not evidence.seen and not evidence.misbehaviour:
        raise ValueError(problem("outputs are read from DIR/000/out/NAME.npy or NAME.bin", f"none in {folder}",
                                 f"write {', '.join(op.outputs)} of at least one case"))
    return conclude(op, evidence, content["seed"])


def read_case(op, folder, entry: dict) -> Case:
    """Return a case from its files and its entry in cases.json."""
    place = Path(folder) / entry["folder"] / "in"
    inputs = {name: tuple(value) if isinstance(value, list) else value for name, value in entry["attributes"].items()}
    inputs |= {name: _read(place / name, described) for name, described in entry["inputs"].items()}
    ordered = {p.name: inputs[p.name] for p in op.parameters if p.name in inputs}
    return Case(op, ordered, entry["dtype"], entry["seed"])


def _index(folder: Path) -> dict:
    try:
        return json.loads((folder / INDEX).read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as error:
        raise ValueError(problem(f"a folder with {INDEX}, as check --write makes it", f"{folder}: {error}",
                                 "write the cases first")) from error


def _described(shape, dtype) -> dict:
    return {"shape": list(shape), "dtype": np.dtype(dtype).name}


def _dtype(name: str) -> np.dtype:
    return np.dtype(name) if name.startswith("int") else float_format(name).numpy


def _write(path: Path, value: np.ndarray) -> None:
    value = np.asarray(value, order="C")
    np.save(path.with_suffix(".npy"), value.view(np.uint16) if value.dtype == BFLOAT16.numpy else value)
    path.with_suffix(".bin").write_bytes(value.tobytes())


def _read(path: Path, described: dict | None) -> np.ndarray | None:
    """Return a tensor from its .npy or else its .bin file, None where there is neither."""
    npy, raw = path.with_suffix(".npy"), path.with_suffix(".bin")
    if npy.exists():
        value = np.load(npy, allow_pickle=False)
        bits = described and described["dtype"] == "bfloat16" and value.dtype.itemsize == 2 \
            and value.dtype.kind in "uiV"
        return value.view(BFLOAT16.numpy) if bits else value
    if not raw.exists():
        return None
    if described is None:
        return np.zeros(0)
    dtype, shape = _dtype(described["dtype"]), tuple(described["shape"])
    content = raw.read_bytes()
    expected = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if len(content) != expected:
        raise ValueError(f"{raw.name} with {len(content)} bytes instead of {expected} for {dtype}{list(shape)}")
    return np.frombuffer(content, dtype).reshape(shape).copy()
