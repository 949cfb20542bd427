"""A capsule: cases with their outputs as one device computed them, in one file that replays anywhere.

A capsule is a zip file without compression: `manifest.json` with the provenance and the cases, and one `.npy` member
for each array. Nothing in it is ever unpickled; every member's size is known from the manifest before it is read, and
its SHA-256 is compared after. bfloat16 is stored as its 16 bits, since `.npy` does not know the type.
"""

import hashlib
import io
import json
import zipfile
from math import prod
from pathlib import Path

import numpy as np

from aclnn_viz.devices.errors import DeviceClosedError
from aclnn_viz.dtypes import BFLOAT16, FORMATS
from aclnn_viz.errors import problem
from aclnn_viz.operators import operator

FORMAT = "aclnn-viz capsule 1"
LARGEST = 8 << 30  # bytes of all arrays together
LONGEST_MANIFEST = 64 << 20
MANIFEST = "manifest.json"
_DTYPES = {fmt.name: fmt.numpy for fmt in FORMATS} | {name: np.dtype(name) for name in ("int32", "int64")}
_HEADER_ROOM = 1 << 10  # a .npy header of at most 8 axes is shorter


class CapsuleError(ValueError):
    """A file is no capsule, or no longer the one that was written; or a capsule does not hold what was asked."""


def digest(op, inputs: dict) -> str:
    """The identity of a case: the operator and every input, bit by bit.

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


def array_bytes(array: np.ndarray) -> bytes:
    """Return an array as the bytes of a .npy file."""
    stream = io.BytesIO()
    plain = array.view(np.uint16) if array.dtype == BFLOAT16.numpy else array
    dense = np.ascontiguousarray(plain).reshape(array.shape)
    np.lib.format.write_array(stream, dense, version=(1, 0), allow_pickle=False)
    return stream.getvalue()


def describe(array: np.ndarray, content: bytes) -> dict:
    return {"dtype": array.dtype.name, "shape": list(array.shape), "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest()}


def write(path: Path, provenance: dict, cases: list[dict], content) -> None:
    """Write a capsule; `cases` are entries of the manifest, `content(member)` the bytes of each array."""
    members = [entry["member"] for case in cases for entry in (*case["inputs"].values(), *case["outputs"].values())
               if "member" in entry]
    manifest = json.dumps({"format": FORMAT, "provenance": provenance, "cases": cases}, indent=1).encode()
    temporary = path.with_name(path.name + ".writing")
    try:
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as file:
            file.writestr(MANIFEST, manifest)
            file.writestr(MANIFEST + ".sha256", hashlib.sha256(manifest).hexdigest())
            for member in members:
                file.writestr(member, content(member))
        temporary.replace(path)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        interrupt = error.__context__
        if isinstance(interrupt, KeyboardInterrupt):  # closing an interrupted archive raises its own ValueError
            raise interrupt from None
        raise


class Capsule:
    """A device that replays what another one computed; it refuses every case that it does not hold.

    `name` says that it is a recording and of what; `provenance` holds SoC, CANN version, time, and the rest. Raises
    CapsuleError for a file that is no capsule, is truncated or altered, or holds more than 8 GiB.
    """

    def __init__(self, path):
        self.path = Path(path)
        self.closed = False
        manifest = self._manifest()
        self.provenance = manifest["provenance"]
        self._cases = {case["digest"]: case for case in manifest["cases"]}
        self.soc, self.cann = self.provenance["soc"], self.provenance["cann"]
        self.name = f"capsule {self.path.name}, recorded on {self.provenance['device']} at {self.provenance['time']}"

    def __len__(self) -> int:
        return len(self._cases)

    def cases(self):
        """Yield (operator, inputs) of every case in the capsule."""
        for case in self._cases.values():
            yield operator(case["operator"]), self._values(case["inputs"])

    def run(self, op, /, **inputs) -> dict:
        """Return the recorded outputs of exactly these inputs; CapsuleError when they are not in the capsule."""
        if self.closed:
            raise DeviceClosedError(problem("the device must be open", "a closed capsule", "open it again"))
        op = operator(op)
        case = self._cases.get(digest(op, op.bind(inputs)))
        if case is None:
            held = sum(case["operator"] == op.name for case in self._cases.values())
            raise CapsuleError(problem(
                "a capsule answers only the cases that were recorded",
                f"other inputs of {op.name} ({held} of its cases are in {self.path.name})",
                "take the inputs from its `cases()`, or record this case on the device"))
        return self._values(case["outputs"])

    def close(self) -> None:
        self.closed = True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __repr__(self) -> str:
        return f"Capsule({self.name!r}, soc={self.soc!r}, cann={self.cann!r}, {len(self)} cases)"

    def _manifest(self) -> dict:
        try:
            with zipfile.ZipFile(self.path) as file:
                content = self._read(file, MANIFEST, limit=LONGEST_MANIFEST)
                expected = self._read(file, MANIFEST + ".sha256", limit=64).decode()
                names = set(file.namelist())
        except (zipfile.BadZipFile, OSError, KeyError, UnicodeDecodeError, NotImplementedError, EOFError) as error:
            raise self._broken(f"{type(error).__name__}: {error}") from None
        if hashlib.sha256(content).hexdigest() != expected:
            raise self._broken("the manifest does not have its checksum")
        try:
            manifest = json.loads(content)
            entries = [entry for case in manifest["cases"] for part in ("inputs", "outputs")
                       for entry in case[part].values() if "member" in entry]
            known = manifest["format"] == FORMAT
            total = sum(entry["bytes"] for entry in entries)
            sound = all(self._sound(entry) and entry["member"] in names for entry in entries)
            complete = all({"digest", "operator"} <= case.keys() for case in manifest["cases"])
            complete &= {"soc", "cann", "device", "time"} <= manifest["provenance"].keys()
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._broken(f"the manifest lacks something: {type(error).__name__} {error}") from None
        if not known or not complete:
            raise self._broken(f"its format is {manifest.get('format')!r} instead of {FORMAT!r}")
        if total > LARGEST:
            raise self._broken(f"its arrays claim {total} bytes, more than {LARGEST}")
        if not sound:
            raise self._broken("an array is missing, or its size does not belong to its shape")
        return manifest

    @staticmethod
    def _sound(entry: dict) -> bool:
        size = prod(entry["shape"]) * _DTYPES[entry["dtype"]].itemsize
        return min(entry["shape"], default=0) >= 0 and size < entry["bytes"] <= size + _HEADER_ROOM

    def _values(self, entries: dict) -> dict:
        with zipfile.ZipFile(self.path) as file:
            return {name: self._array(file, entry) if "member" in entry else _plain(entry["value"])
                    for name, entry in entries.items()}

    def _array(self, file, entry: dict) -> np.ndarray:
        try:
            content = self._read(file, entry["member"], limit=entry["bytes"])
        except (zipfile.BadZipFile, OSError, KeyError, EOFError) as error:
            raise self._broken(f"{entry['member']}: {type(error).__name__}: {error}") from None
        if len(content) != entry["bytes"] or hashlib.sha256(content).hexdigest() != entry["sha256"]:
            raise self._broken(f"{entry['member']} does not have its checksum")
        try:
            array = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False, max_header_size=_HEADER_ROOM)
        except ValueError as error:
            raise self._broken(f"{entry['member']}: {error}") from None
        dtype = _DTYPES[entry["dtype"]]
        if array.dtype != (np.uint16 if entry["dtype"] == "bfloat16" else dtype) or list(array.shape) != entry["shape"]:
            raise self._broken(f"{entry['member']} is {array.dtype} {array.shape}, which the manifest does not say")
        return array.view(dtype) if entry["dtype"] == "bfloat16" else array

    @staticmethod
    def _read(file: zipfile.ZipFile, member: str, limit: int) -> bytes:
        info = file.getinfo(member)
        if info.compress_type != zipfile.ZIP_STORED or info.file_size > limit:
            raise zipfile.BadZipFile(f"{member} is compressed or larger than {limit} bytes")
        return file.read(member)

    def _broken(self, why: str) -> CapsuleError:
        return CapsuleError(problem(f"{self.path.name} must be a whole, unaltered capsule", why,
                                    "copy it again from where it was recorded"))


def _plain(value):
    return tuple(value) if isinstance(value, list) else value
