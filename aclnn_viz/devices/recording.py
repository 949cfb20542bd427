"""Record cases on a device into a capsule; what was interrupted goes on where it stopped.

While it runs, each finished case lies in its own folder beside the capsule, in FILE.part, as it will lie in the capsule;
that is written last. A crash or Ctrl-C loses at most the case in flight. Needs nothing but Python, numpy and ml_dtypes.
"""

import json
import os
import platform
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path

import numpy as np

from aclnn_viz.devices.capsule import digest, is_capsule, write
from aclnn_viz.devices.device import is_device
from aclnn_viz.dtypes import FORMATS
from aclnn_viz.errors import function, listed, place_of, problem, shown
from aclnn_viz.operators import operator
from aclnn_viz.storage.cases import FORMAT, LONGEST_INDEX, CaseFiles, entry_of
from aclnn_viz.storage.damage import StoredError
from aclnn_viz.storage.reading import Folder, read_file
from aclnn_viz.storage.results import UNFINISHED, add, alone, need_place, new_folder, remove

ORIGIN, CASE = "recording.json", "case.json"
_SAME = ("device", "soc", "cann", "custom", "workarounds", "threads", "flags", "kit")
_FLOATS = {fmt.numpy for fmt in FORMATS}
_OURS = re.compile(rf"[0-9a-f]{{64}}/({re.escape(CASE)}|(in|out)/\w+\.npy)", re.ASCII)


def record(device, cases: Iterable, path, progress=lambda items: items, force: bool = False) -> Path:
    """Run every case, a Case or (operator, inputs), on the device and write the capsule; return its path.

    Cases that an earlier, interrupted call for the same path has finished on the same device are not run again.
    `progress` wraps the list of cases, such as `tqdm`. Raises FileExistsError, before anything is run, when something
    is at the path, but for a capsule with `force`, or when FILE.part is no recording of this kit.
    """
    if not is_device(device) or not callable(getattr(device, "about", None)):  # a capsule is no source of a recording
        raise TypeError(problem("cases are recorded on an opened device", shown(device), 'pass av.open_device("host")'))
    cases, path = [_pair(one) for one in listed("cases", cases, object, "Case, or of (operator, inputs)")], place_of(path)
    function("progress", progress)
    need_place(path, force, is_capsule)
    folder, provenance = path.with_name(path.name + ".part"), provenance_of(device)
    _begin(folder, provenance)
    with alone(folder):
        files, entries = CaseFiles(Folder(folder)), {}
        for op, inputs in progress(cases):
            inputs = op.bind(inputs)
            identity = digest(op, inputs)
            entries[identity] = _finished(files, folder, identity) or _run(device, op, inputs, folder / identity)
        contents = (content for entry in entries.values() for content in files.contents(entry))
        write(path, provenance, list(entries.values()), contents, force)
        _discard(folder)
    return path


def _pair(one) -> tuple:
    """The operator and the inputs of one case, in either form."""
    op, inputs = getattr(one, "operator", None), getattr(one, "inputs", None)
    if isinstance(one, (tuple, list)) and len(one) == 2:
        op, inputs = one
    if op is None or not isinstance(inputs, Mapping):
        raise TypeError(problem("a case to record is a Case, or (operator, inputs)", shown(one),
                                "pass such as av.case(op)"))
    return operator(op), inputs


def provenance_of(device) -> dict:
    """What a replay must tell: the device and all that it says about itself, machine, versions, kit, time."""
    return {
        "device": device.name, **device.about(), "host": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(), "numpy": np.__version__, "kit": metadata.version("aclnn-viz"),
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def _begin(folder: Path, provenance: dict) -> None:
    """Begin, or go on with what the same device left; what another one left is begun anew."""
    if os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        earlier = _origin(folder)
        if earlier is None:
            raise FileExistsError(problem("a recording goes on only with what it began", f"{folder}, which it did not",
                                          "move that away, or record to another place"))
        if all(earlier.get(key) == provenance.get(key) for key in _SAME):
            return
        with alone(folder):
            _discard(folder)
    with new_folder(folder) as own:
        add(own / ORIGIN, json.dumps({"format": FORMAT, "provenance": provenance}).encode())


def _origin(folder: Path) -> dict | None:
    """The provenance with which a recording began; None where there is none of this kit."""
    if folder.is_symlink():
        return None
    try:
        found = json.loads(read_file(folder / ORIGIN, 1 << 20, follow=False))
        return dict(found["provenance"]) if found["format"] == FORMAT else None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _finished(files: CaseFiles, folder: Path, identity: str) -> dict | None:
    """The entry of a case that lies there finished and whole; what is damaged is run again."""
    try:
        entry = files.checked(json.loads(read_file(folder / identity / CASE, LONGEST_INDEX, follow=False)))
        if (entry["folder"], entry["digest"]) != (identity, identity):
            return None
        for _ in files.contents(entry):
            pass
        return entry
    except (OSError, StoredError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _run(device, op, inputs: dict, place: Path) -> dict:
    outputs = device.run(op, **inputs)
    if place.is_symlink():
        place.unlink()  # what it leads to is not of this recording
    floats = [value.dtype.name for value in inputs.values() if isinstance(value, np.ndarray) and value.dtype in _FLOATS]
    about = {"digest": place.name, "seed": 0, "made with": "recorded", "dtype": floats[0]}
    entry, contents = entry_of(place.name, op, inputs, outputs, bare=False, **about)
    for name, content in contents.items():
        add(place / name, content)
    add(place / CASE, json.dumps(entry).encode())
    return entry


def _discard(folder: Path) -> None:
    """Remove a recording; that it is one goes last, so that a kill in between leaves what is removed the next time."""
    remove(folder, _ours(folder))
    remove(folder, [ORIGIN])


def _ours(folder: Path) -> Iterator[str]:
    for path in [*folder.rglob("*")]:
        name = path.relative_to(folder).as_posix()
        if _OURS.fullmatch(name.removesuffix(UNFINISHED)) and not path.is_dir():
            yield name
