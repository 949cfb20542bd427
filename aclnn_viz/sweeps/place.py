"""Describe the device or kernel of a sweep (many test cases, many machines), so that every worker opens the same one.

`kit` names the version and the sources of the kit, to separate results of an edited kit.
"""

import hashlib
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from aclnn_viz.checking import load_kernel
from aclnn_viz.checking.scope import Scope
from aclnn_viz.devices import open_device
from aclnn_viz.errors import need, printable, problem
from aclnn_viz.operators import Operator, operator, registry
from aclnn_viz.operators.products import CANN, SOC, soc_of, version_of
from aclnn_viz.words.messages import commas, message

# packages that do not affect the results of a sweep
UNSEEN = {"cli", "explorers", "pictures", "verification"}


def kit() -> str:
    """Return the identity of the kit in this process, with operators from outside, such as "0.1.0+c0ffee123456".

    The same sources give the same text on every platform.
    """
    from importlib.metadata import version

    state = hashlib.sha256(_kit().encode())
    for name in registry.outside():  # a user may edit these folders while the session runs
        state.update(registry.sources(name).encode())
    return f"{version('aclnn-viz')}+{state.hexdigest()[:12]}"


@cache
def _kit() -> str:
    package = registry.ROOT / "aclnn_viz"
    return registry.hashed(
        package,
        (
            path
            for path in package.rglob("*.py")
            if path.relative_to(package).parts[0] not in UNSEEN
            and registry.KINDS.get(path.stem) not in UNSEEN
        ),
    )


CALL = 60.0  # time limit of a call of a user's kernel, in seconds; devices have none
OPTIONS = "soc", "cann", "plan", "root", "custom"  # options with which a device is opened
_here = threading.local()  # each thread opens a separate device


@dataclass(frozen=True)
class Place:
    """A device ("host", "atlas", "atlas:1", a capsule) or a kernel (FILE.py:FUNCTION), and the kit that workers must have.

    `soc`, `cann` and `plan` say what the host emulates, or which operator judges a kernel; `root` and `custom` are options of
    an Atlas.
    """

    name: str
    soc: str | None = None
    cann: str | None = None
    plan: str | None = None
    root: str | None = None
    custom: str | None = None
    kit: str = ""
    folders: tuple = ()

    @classmethod
    def of(cls, device, **options) -> "Place":
        """Return a place, checked as far as possible without opening it; raise TypeError unless `device` is a name."""
        need(
            device,
            (str, Path),
            "a sweep names its device: workers open it on their own",
            'pass "host", "atlas", the path of a capsule or FILE.py:FUNCTION',
        )
        text = {name: None if value is None else str(value) for name, value in options.items()}
        if text.get("soc"):
            text["soc"] = soc_of(text["soc"])
        if text.get("cann"):
            text["cann"] = str(version_of(text["cann"]))
        return cls(str(device), kit=kit(), folders=registry.folders(), **text)

    @property
    def is_kernel(self) -> bool:
        return ".py:" in self.name

    def opened(self) -> "Opened":
        """Open the place once in this thread; raise RuntimeError if this process has another kit."""
        here = getattr(_here, "opened", None)
        if here is None or here.place != self or here.closed:
            close_opened()
            for folder in self.folders:
                if folder not in registry.folders():
                    operator(folder)
            if kit() != self.kit:
                raise RuntimeError(
                    problem(
                        "every worker needs the kit of the process that sweeps, " + self.kit,
                        f"{kit()} in {registry.ROOT}",
                        "install the same version there",
                    )
                )
            here = _here.opened = Opened(self)
        return here


def close_opened() -> None:
    """Close the place that this thread opened."""
    if here := getattr(_here, "opened", None):
        here.close()
    _here.opened = None


class Opened:
    """An opened place: `kernel` runs an operator's inputs, `identity` describes device or kernel as JSON, without the card's
    number.
    """

    def __init__(self, place: Place):
        self.place, self.limit = place, CALL if place.is_kernel else None
        self._device, self._scopes = None, {}
        opens = re.sub(r"^atlas:\d+$", "atlas", Path(place.name).name)
        if place.is_kernel:
            self._kernel, content = load_kernel(place.name), place.name.rpartition(":")[0]
            device, self.soc, self.cann = opens, place.soc or SOC, place.cann or CANN
        else:
            options = {name: vars(place)[name] for name in OPTIONS if vars(place)[name]}
            self._device, content = open_device(place.name, **options), place.custom
            device = re.sub(r"^atlas:\d+", "atlas", self._device.name)
            self.soc, self.cann = self._device.soc, self._device.cann
        outside = [f"{name} {registry.sources(name)[:12]}" for name in registry.outside()]
        text = {
            "device": device,
            "plan": place.plan,
            "open": opens,
            "content": content and _content(Path(content)),
            "soc": self.soc,
            "cann": str(self.cann or ""),
            "operators": ", ".join(outside),
        }
        self.identity = json.dumps(
            {name: value for name, value in text.items() if value}, sort_keys=True
        )

    @property
    def closed(self) -> bool:
        return self._device is not None and self._device.closed

    def kernel(self, op: Operator) -> Callable:
        if self._device is None:
            return self._kernel
        return lambda **inputs: self._device.run(op, **inputs)

    def scope(self, op: Operator) -> Scope:
        """Return the scope of checks for an operator: what the product supports, in the planned precision."""
        if op.name not in self._scopes:
            self._scopes[op.name] = Scope.of(
                op, soc=self.soc or None, cann=str(self.cann) or None, plan=self.place.plan
            )
        return self._scopes[op.name]

    def close(self) -> None:
        if self._device is not None and not self._device.closed:
            self._device.close()


def _content(path: Path) -> str:
    """Return the hash of a file, or of the libraries in a folder."""
    state = hashlib.sha256()
    for file in [path] if path.is_file() else sorted(path.rglob("*.so")):
        state.update(file.read_bytes())
    return state.hexdigest()[:16]


def about(identity: str) -> dict[str, str]:
    """Return the parts of a device's identity (JSON) as printable texts by name; raise ValueError or KeyError else."""
    said = json.loads(identity)
    if not isinstance(said, dict) or not {"device", "open"} <= said.keys():
        raise ValueError(f"no device: {identity[:80]}")
    return {name: printable(str(value)) for name, value in said.items()}


def device_text(identity: str) -> str:
    """Return the identity of a device in words, with notes on what it does not show.

    >>> device_text('{"cann": "9.1.0", "device": "host", "open": "host", "soc": "Ascend910B2"}')
    'host, Ascend910B2, CANN 9.1.0 (emulated, not measured on hardware)'
    """
    said = about(identity)
    words = [
        said["device"],
        said.get("soc"),
        f"CANN {said['cann']}" if "cann" in said else "",
        message("content {bits}", bits=said["content"][:8]) if "content" in said else "",
        said.get("operators"),
    ]
    listed = commas(filter(None, words))
    kinds = {
        "host": message("{device} (emulated, not measured on hardware)"),
        "host (prediction)": message("{device} (predicted, not measured on hardware)"),
    }
    kind = kinds.get(said["device"])
    return message(kind, device=listed) if kind else listed
