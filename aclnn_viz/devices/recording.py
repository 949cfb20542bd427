"""Record cases on a device into a capsule; what was interrupted goes on where it stopped.

While it runs, each finished case lies in its own folder beside the capsule; the capsule itself is written last. A crash
or Ctrl-C loses at most the case in flight. Needs nothing but Python, numpy and ml_dtypes.
"""

import json
import platform
import shutil
from collections.abc import Iterable
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path

import numpy as np

from aclnn_viz.acl.installation import driver_version
from aclnn_viz.devices.capsule import array_bytes, describe, digest, write
from aclnn_viz.operators import operator


ORIGIN = "provenance.json"


def record(device, cases: Iterable, path, progress=lambda items: items) -> Path:
    """Run every (operator, inputs) on the device and write the capsule; return its path.

    Cases that an earlier, interrupted call for the same path has finished on the same device are not run again.
    `progress` wraps the list of cases, such as `tqdm`.
    """
    path = Path(path)
    folder = path.with_name(path.name + ".part")
    provenance = provenance_of(device)
    _start(folder, provenance)
    entries = []
    for name, inputs in progress(list(cases)):
        op = operator(name)
        inputs = op.bind(inputs)
        identity = digest(op, inputs)
        place = folder / identity
        if not (place / "case.json").exists():
            outputs = device.run(op, **inputs)
            place.mkdir(exist_ok=True)
            entry = {"operator": op.name, "digest": identity, "inputs": _store(place, "inputs", inputs),
                     "outputs": _store(place, "outputs", outputs)}
            finished = place / "case.json.writing"
            finished.write_text(json.dumps(entry), encoding="utf-8")
            finished.replace(place / "case.json")
        entries.append(json.loads((place / "case.json").read_text(encoding="utf-8")))
    unique = {entry["digest"]: entry for entry in entries}
    write(path, provenance, list(unique.values()), lambda member: (folder / member).read_bytes())
    _discard(folder)
    return path


def provenance_of(device) -> dict:
    """What a replay must tell: device, SoC, CANN, runtime, driver, custom operators, determinism, time, kit."""
    status, *runtime = (1,) if "aclrtGetVersion" in device.acl.unavailable else device.acl.aclrtGetVersion()
    return {
        "device": device.name, "soc": device.soc, "cann": device.cann,
        "runtime": ".".join(map(str, runtime)) if status == 0 else None,
        "driver": driver_version(), "custom": [str(name) for name in getattr(device.acl, "custom_operators", ())],
        "deterministic": True, "workarounds": device.workarounds, "host": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(), "numpy": np.__version__, "kit": metadata.version("aclnn-viz"),
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }


def _start(folder: Path, provenance: dict) -> None:
    """Begin, or go on when the folder was left by the same device; else what is there is discarded."""
    same = ("device", "soc", "cann", "custom", "workarounds", "kit")
    origin = folder / ORIGIN
    if origin.exists():
        earlier = json.loads(origin.read_text(encoding="utf-8"))
        if all(earlier.get(key) == provenance[key] for key in same):
            return
    _discard(folder)
    folder.mkdir(parents=True)
    beginning = folder / f"{ORIGIN}.writing"
    beginning.write_text(json.dumps(provenance), encoding="utf-8")
    beginning.replace(origin)


def _discard(folder: Path) -> None:
    """Remove a folder of cases; its origin goes first, for without one nothing in it is taken over."""
    (folder / ORIGIN).unlink(missing_ok=True)
    if folder.exists():
        shutil.rmtree(folder)


def _store(place: Path, part: str, values: dict) -> dict:
    stored = {}
    for name, value in values.items():
        if isinstance(value, np.ndarray):
            content = array_bytes(value)
            member = f"{place.name}/{part}.{name}.npy"
            (place.parent / member).write_bytes(content)
            stored[name] = {"member": member} | describe(value, content)
        else:
            stored[name] = {"value": value}
    return stored
