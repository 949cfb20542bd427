"""Record test cases and the outputs of one device in a file, a capsule, and replay it anywhere as if the device were present.

It is a folder of cases, in the layout of `aclnn_viz.storage.cases`, in an uncompressed zip file, with the provenance in the
index. Nothing in it is ever unpickled; the index gives each file's size before it is read and its SHA-256 to check after.

`record` writes one, whole or not at all.
"""

import hashlib
import platform
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path

import numpy as np

from aclnn_viz.devices.device import Closing
from aclnn_viz.dtypes import FORMATS
from aclnn_viz.errors import (
    function,
    is_device,
    listed,
    mistyped,
    place_of,
    printable,
    problem,
    shown,
)
from aclnn_viz.operators import operator, recorded, registry
from aclnn_viz.storage.cases import (
    StoredCases,
    entry_of,
    index_files,
)
from aclnn_viz.storage.readers import (
    AlteredError,
    ForeignError,
    StoredError,
)
from aclnn_viz.storage.results import (
    new_file,
)
from aclnn_viz.storage.sources import Archive
from aclnn_viz.tables import as_html
from aclnn_viz.words.messages import message, ntr, tr

# any damaged or incomplete capsule; subclasses are the kinds of damage
CapsuleError = StoredError


class UnrecordedError(StoredError):
    """A capsule does not hold the requested case."""


def digest(op, inputs: dict) -> str:
    """Return a hash of a case: the operator and every input, bit by bit.

    >>> digest(operator("hardswish"), {"self": np.zeros(2)}) == digest(operator("hardswish"), {"self": np.zeros(3)})
    False
    """
    state = hashlib.sha256(op.name.encode())
    for name, value in sorted(inputs.items()):
        if isinstance(value, np.ndarray):
            state.update(f"|{name}:{value.dtype.name}{value.shape}:".encode())
            state.update(np.ascontiguousarray(value).tobytes())
        else:
            state.update(f"|{name}={value!r}".encode())
    return state.hexdigest()


def is_capsule(path: Path) -> bool:
    """Return whether a file is a capsule with a valid index."""
    try:
        return "provenance" in StoredCases(Archive(path)).about
    except StoredError:
        return False


def _text(value):
    return value and printable(str(value))


_FLOATS = {fmt.numpy for fmt in FORMATS}


class Capsule(Closing):
    """A device that replays the outputs of another one; it refuses every case that it does not hold.

    `name` says that it is a recording, and of which device; `provenance` holds SoC, CANN version, time and more. Raises
    CapsuleError for a file that is no capsule, is truncated or altered, or exceeds 8 GiB.
    """

    def __init__(self, path):
        self.path = place_of(path)
        self._stored = StoredCases(Archive(self.path))
        try:
            self.provenance = self._stored.about["provenance"]
            self.soc, self.cann, device, time = (
                _text(self.provenance[key]) for key in ("soc", "cann", "device", "time")
            )
            self._cases = {entry["digest"]: entry for entry in self._stored.entries}
        except (KeyError, TypeError) as error:
            raise self._stored.source.broken(
                ForeignError, f"it does not say where it was recorded: {error}"
            ) from None
        self.name = message(
            "capsule {name}, recorded on {device} at {time}",
            name=self.path.name,
            device=device,
            time=time,
        )

    def __len__(self) -> int:
        return len(self._cases)

    def cases(self) -> Iterator[tuple]:
        """Yield (operator, inputs) of every case in the capsule."""
        for entry in self._cases.values():
            yield recorded(entry), self._stored.values(entry, "inputs")

    def run(self, op, /, **inputs) -> dict:
        """Return the recorded outputs of exactly these inputs; raise CapsuleError if the capsule lacks them."""
        self.need_open()
        op = operator(op)
        bound = op.bind(inputs)
        entry = self._cases.get(digest(op, bound))
        if entry is None:
            held = sum(entry["operator"] == op.name for entry in self._cases.values())
            raise UnrecordedError(
                problem(
                    "a capsule answers only the cases that were recorded",
                    f"other inputs of {op.name} ({held} of its cases are in {self.path.name})",
                    "take the inputs from its `cases()`, or record this case on the device",
                )
            )
        outputs, wanted = (
            self._stored.values(entry, "outputs"),
            op.arrange_backward(**bound).results,
        )
        if outputs.keys() != wanted.keys():
            raise self._stored.source.broken(
                AlteredError,
                f"{entry['folder']} holds {', '.join(outputs) or 'no outputs'} "
                f"instead of {', '.join(wanted)}",
            )
        return outputs

    def _repr_html_(self) -> str:
        counts = Counter(entry["operator"] for entry in self._cases.values())
        where = (
            tr(", ").join((self.soc, f"CANN {self.cann}"))
            if self.soc
            else self.provenance.get("place", "")
        )
        return as_html(
            tr(
                "Recording {name} of {device}",
                name=self.path.name,
                device=self.provenance["device"],
            ),
            (),
            [
                (
                    tr("recorded"),
                    tr("{time} on {where}", time=self.provenance["time"], where=where),
                ),
                *((name, ntr("{n} case", "{n} cases", count)) for name, count in counts.items()),
            ],
        )

    def __repr__(self) -> str:
        return f"Capsule({self.name!r}, soc={self.soc!r}, cann={self.cann!r}, {len(self)} cases)"


def record(
    device, cases: Iterable, path, progress=lambda items: items, force: bool = False
) -> Path:
    """Run every case, a Case or (operator, inputs), on the device, write the capsule, and return its path.

    `progress` wraps the list of cases, such as `tqdm`. Raises FileExistsError before the first run if the path exists, unless
    `force` is given and it is a capsule.
    """
    # a capsule is no device and cannot be recorded
    if not is_device(device) or not callable(getattr(device, "about", None)):
        raise mistyped(
            "cases are recorded on an opened device", shown(device), 'pass av.open_device("host")'
        )
    cases, path = (
        [_pair(one) for one in listed("cases", cases, object, "Case, or of (operator, inputs)")],
        place_of(path),
    )
    function("progress", progress)
    entries, provenance = {}, provenance_of(device)
    with new_file(path, force, is_capsule) as file:
        try:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                for op, inputs in progress(cases):
                    inputs = op.bind(inputs)
                    identity = digest(op, inputs)
                    if identity not in entries:
                        entries[identity], contents = _recorded(device, op, inputs, identity)
                        for name, content in contents.items():
                            archive.writestr(f"{identity}/{name}", content)
                index = index_files([*entries.values()], provenance=provenance)
                for name, content in index.items():
                    archive.writestr(name, content)
        except BaseException as error:
            interrupt = error.__context__
            # closing an interrupted archive raises a ValueError, which hides the interrupt
            if isinstance(interrupt, KeyboardInterrupt):
                raise interrupt from None
            raise
    return path


def _recorded(device, op, inputs: dict, identity: str) -> tuple[dict, dict[str, bytes]]:
    """Run a case on a device; return its entry and files."""
    outputs = device.run(op, **inputs)
    floats = [
        value.dtype.name
        for value in inputs.values()
        if isinstance(value, np.ndarray) and value.dtype in _FLOATS
    ]
    sources = registry.sources(op.name)
    about = {"digest": identity, "seed": 0, "made with": "recorded", "dtype": floats[0]}
    return entry_of(identity, op, inputs, outputs, bare=False, sources=sources, **about)


def _pair(one) -> tuple:
    """Return the operator and the inputs of a Case or of a pair (operator, inputs)."""
    op, inputs = getattr(one, "operator", None), getattr(one, "inputs", None)
    if isinstance(one, (tuple, list)) and len(one) == 2:
        op, inputs = one
    if op is None or not isinstance(inputs, Mapping):
        raise mistyped(
            "a case to record is a Case, or (operator, inputs)",
            shown(one),
            "pass such as av.case(op)",
        )
    return operator(op), inputs


def provenance_of(device) -> dict:
    """Return the provenance that a replay names: the device and its details, machine, versions, kit, time."""
    from importlib import metadata

    return {
        "device": device.name,
        **device.about(),
        "host": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "kit": metadata.version("aclnn-viz"),
        "time": datetime.now(timezone.utc).isoformat(timespec="seconds"),
    }
