"""Write test cases to files and read them, for programs in other languages and for other machines.

`aclnn_viz.storage.cases` describes the files. A program writes its outputs as DIR/000/out/NAME.npy or NAME.bin; if both exist,
they must hold the same numbers.
"""

import contextlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import NamedTuple

import numpy as np

from aclnn_viz.cases.case import Case
from aclnn_viz.dtypes import float_format
from aclnn_viz.errors import invalid, place_of, whole
from aclnn_viz.operators import Operator, operators, recorded, registry
from aclnn_viz.storage.cases import (
    INDEX,
    StoredCases,
    described,
    entry_of,
    index_files,
    is_folder_of_cases,
    opened,
)
from aclnn_viz.storage.foreign_arrays import is_number
from aclnn_viz.storage.readers import (
    HEADER_ROOM,
    AlteredError,
    ForeignError,
    StoredError,
    from_bin,
    from_npy,
    read_file,
)
from aclnn_viz.storage.results import add, new_folder

_WIDEST = 16  # most bytes per element of an output's file, which may have another dtype
_ROOM = 1 << 16  # a file may have so many elements even if the output has fewer


class Dumped(NamedTuple):
    """A case to write, the recipe that made it, its known outputs, and the shape and dtype of each output."""

    case: Case
    recipe: str
    outputs: dict[str, np.ndarray]
    described: dict[str, tuple[tuple[int, ...], np.dtype]]


@dataclass(frozen=True, eq=False)
class Entry:
    """A case that was read, with the outputs beside it, and the reason for each output that could not be read."""

    folder: str
    case: Case
    outputs: dict[str, np.ndarray]
    unreadable: dict[str, str]


def names_cases(value) -> bool:
    """Return whether a value is the path of cases: a path object, or the text of an existing folder that names no operator."""
    if isinstance(value, Operator) or not isinstance(value, (str, Path)):
        return False
    if (
        isinstance(value, str)
        and "/" not in value
        and "\\" not in value
        and not os.path.exists(value)
    ):
        return False
    if registry.holds_operator(value):
        # a folder with an index holds cases, whatever other files it has
        return (Path(value) / INDEX).exists()
    return isinstance(value, Path) or value not in {
        name for one in operators() for name in (one.name, one.aclnn_name)
    }


def write_cases(
    folder, op: Operator, dumped: Iterable[Dumped], seed: int = 0, force: bool = False
) -> Path:
    """Write cases into a new or empty folder and return it.

    Raises FileExistsError for a folder with contents; `force` replaces a folder that holds only cases of this kit and outputs
    of their programs.
    """
    folder, entries = place_of(folder), []
    with new_folder(folder, force, is_folder_of_cases) as own:
        for number, one in enumerate(dumped):
            # ignore outputs that the operator does not have
            known = {name: one.outputs[name] for name in op.outputs if name in one.outputs}
            about = {"seed": one.case.seed, "made with": one.recipe, "dtype": one.case.dtype}
            entry, files = entry_of(
                f"{number:03d}",
                op,
                one.case.inputs,
                known,
                bare=True,
                sources=registry.sources(op.name),
                described=one.described,
                **about,
            )
            for name, content in files.items():
                add(own / entry["folder"] / name, content)
            (own / entry["folder"] / "out").mkdir(exist_ok=True)
            entry["files"] = {
                name: file for name, file in entry["files"].items() if name.startswith("in/")
            }
            entries.append(entry)
        for name, content in index_files(entries, seed=seed).items():
            add(own / name, content)
    return folder


def read_cases(path, op: Operator | None = None) -> tuple[Operator, int, Iterator[Entry]]:
    """Return the operator, the seed, and the cases of a folder or capsule, each read on demand.

    From a capsule with several operators only cases of `op` are read. Raises StoredError, a ValueError, for other places and
    for an index or inputs that are missing, altered or too large.
    """
    stored = opened(path)
    try:
        seed, held = (
            whole("seed", stored.about.get("seed", 0)),
            {entry["operator"] for entry in stored.entries},
        )
        if op is None and len(held) == 1:
            op = recorded(stored.entries[0])
    except (ValueError, TypeError) as error:
        raise stored.source.broken(ForeignError, str(error)) from error
    if not held:
        raise stored.source.broken(ForeignError, "no cases in it")
    if op is None:
        raise invalid(
            "the cases of one operator are taken at a time",
            f"those of {', '.join(sorted(held))}",
            "name one of them",
        )
    if op.name not in held:
        raise invalid(
            f"the cases must be those of {op.name}",
            f"those of {', '.join(sorted(held))}",
            "name that operator, or another folder",
        )
    return (
        op,
        seed,
        (_entry(op, stored, entry) for entry in stored.entries if entry["operator"] == op.name),
    )


def _entry(op: Operator, stored: StoredCases, listed: dict) -> Entry:
    inputs = stored.values(listed, "inputs")
    try:
        case = Case(recorded(listed), inputs, float_format(listed["dtype"]).name, listed["seed"])
        asked = op.arrange_backward(**op.bind(case.inputs)).results
    except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, LookupError) as error:
        raise stored.source.broken(ForeignError, f"{listed['folder']}: {error}") from error
    outputs, unreadable = stored.values(listed, "outputs"), {}
    if stored.source.path.is_dir():
        for name in asked:  # a program may also write other files
            place = stored.source.path / listed["folder"] / "out"
            try:
                value = read_output(
                    place,
                    name,
                    *described(listed["outputs"].get(name, {"shape": (0,), "dtype": "int32"})),
                )
            except StoredError as error:
                unreadable[name] = str(error)
            else:
                outputs |= {} if value is None else {name: value}
    return Entry(listed["folder"], case, outputs, unreadable)


def read_output(
    folder: Path, name: str, shape: tuple[int, ...], dtype: np.dtype
) -> np.ndarray | None:
    """Return an output that a program wrote as NAME.npy or NAME.bin, or None.

    A .npy file may have another shape or dtype; the judge reports that. Raises StoredError for a file that cannot be read, is
    far too large, or does not fill the shape, and for two files that differ.
    """
    limit = HEADER_ROOM + _WIDEST * max(prod(shape), _ROOM)
    contents = {}
    for form in ("npy", "bin"):
        with contextlib.suppress(FileNotFoundError):
            contents[form] = read_file(folder / f"{name}.{form}", limit)
    if "npy" not in contents:
        return from_bin(contents["bin"], f"{name}.bin", shape, dtype) if contents else None
    value = from_npy(contents["npy"], f"{name}.npy", dtype)
    if not is_number(value.dtype):
        raise AlteredError(f"{name}.npy of dtype {value.dtype}, which is no number")
    if contents.get("bin", value.tobytes()) != value.tobytes():
        raise AlteredError(
            f"{name}.npy and {name}.bin, which hold different numbers: delete the older one"
        )
    return value
