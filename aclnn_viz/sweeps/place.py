"""What a sweep runs on, told so that every worker, on whatever machine, opens the same: a device or a kernel by name."""

import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from aclnn_viz.cases import Case
from aclnn_viz.checking import load_kernel
from aclnn_viz.checking.scope import CANN, SOC, Scope
from aclnn_viz.devices import Capsule, open_device
from aclnn_viz.devices.capsule import digest
from aclnn_viz.errors import need, printable, problem
from aclnn_viz.operators import Operator, operator, registry
from aclnn_viz.operators.products import soc_of, version_of
from aclnn_viz.sweeps.cards import open_card
from aclnn_viz.sweeps.kit import kit
from aclnn_viz.words.speech import linked, message

CALL = 60.0  # seconds, after which a kernel of somebody else is given up; a device is waited for
kernels: dict[str, str] = {}  # that a person named in this process, by their names without the folder
_here = threading.local()  # a device belongs to the thread that opened it


@dataclass(frozen=True)
class Place:
    """A device ("host", "atlas", "atlas:1", a capsule) or a kernel (FILE.py:FUNCTION), and the kit that must be there.

    `soc`, `cann` and `plan` are what the host emulates, and whose operator is the measure for a kernel; `root` and
    `custom` are those of an Atlas.
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
        """Check what can be checked before anything is opened; TypeError for what is no name."""
        need(device, (str, Path), "a sweep names its device: workers open it on their own",
             'pass "host", "atlas", the path of a capsule or FILE.py:FUNCTION')
        told = {name: None if value is None else str(value) for name, value in options.items()}
        if told.get("soc"):
            told["soc"] = soc_of(told["soc"])
        if told.get("cann"):
            told["cann"] = str(version_of(told["cann"]))
        place = cls(str(device), kit=kit(), folders=registry.folders(), **told)
        if place.is_kernel:
            kernels[Path(place.name).name] = place.name
        return place

    @property
    def is_kernel(self) -> bool:
        return ".py:" in self.name

    def opened(self) -> "Opened":
        """What this thread runs cases on, opened once; RuntimeError where another kit is installed than who asks has."""
        held = getattr(_here, "opened", {})
        if (here := held.get(self)) is None or here.closed:
            close_all()
            for folder in self.folders:
                if folder not in registry.folders():
                    operator(folder)
            if kit() != self.kit:
                raise RuntimeError(problem("every worker needs the kit of the process that sweeps, " + self.kit,
                                           f"{kit()} in {registry.ROOT}", "install the same version there"))
            here = Opened(self)
            _here.opened = {self: here}
        return here


def close_all() -> None:
    """Close what this thread opened."""
    for held in getattr(_here, "opened", {}).values():
        held.close()
    _here.opened = {}


@dataclass(eq=False)
class Opened:
    """An opened place: `kernel` runs an operator's inputs, `identity` says as JSON what computes, whichever card it is."""

    place: Place
    identity: str = ""
    name: str = ""
    recorded: dict[str, Case] = field(default_factory=dict)

    def __post_init__(self):
        place, self._device, self._claim = self.place, None, None
        options = {name: value for name, value in asdict(place).items()
                   if name in ("soc", "cann", "plan", "root", "custom") and value is not None}
        told = {"device": place.name, "plan": place.plan, "open": Path(place.name).name}
        if place.is_kernel:
            self._kernel = load_kernel(place.name)
            told |= {"device": Path(place.name).name, "content": _content(Path(place.name.rpartition(":")[0]))}
            self.name, self.limit = place.name, CALL
            self.soc, self.cann = place.soc or SOC, place.cann or str(version_of(CANN))
        else:
            self.limit = None
            if place.name.partition(":")[0] == "atlas":
                self._device, self._claim = open_card(place.name, **options)
                number = self._device.name.partition(" ")[0]
                told |= {"device": "atlas" + self._device.name.removeprefix(number), "open": "atlas"}
                told["content"] = None if place.custom is None else _content(Path(place.custom))
            else:
                self._device = open_device(place.name, **options)
                told["device"] = self._device.name
            self.name, self.soc, self.cann = self._device.name, self._device.soc, self._device.cann
            if isinstance(self._device, Capsule):
                self.recorded = _cases(self._device)
        told |= {"soc": self.soc, "cann": str(self.cann),
                 "operators": ", ".join(f"{name} {registry.sources(name)[:12]}" for name in registry.outside())}
        self.identity = json.dumps({name: value for name, value in told.items() if value}, sort_keys=True)
        self._scopes: dict[str, Scope] = {}

    @property
    def closed(self) -> bool:
        return self._device is not None and self._device.closed

    def kernel(self, op: Operator) -> Callable:
        return self._kernel if self._device is None else lambda **inputs: self._device.run(op, **inputs)

    def scope(self, op: Operator) -> Scope:
        """What counts for an operator: what the product takes, in the precision that is predicted."""
        if op.name not in self._scopes:
            self._scopes[op.name] = Scope.of(op, soc=self.soc or None, cann=str(self.cann) or None,
                                             plan=self.place.plan)
        return self._scopes[op.name]

    def close(self) -> None:
        try:
            if self._device is not None and not self._device.closed:
                self._device.close()
        finally:
            if self._claim is not None:
                self._claim.close()


def _content(path: Path) -> str:
    """The identity of a file, or of the libraries in a folder."""
    state = hashlib.sha256()
    for file in [path] if path.is_file() else sorted(path.rglob("*.so")):
        state.update(file.read_bytes())
    return state.hexdigest()[:16]


def recorded_at(place: Place) -> dict[str, Case]:
    """The cases of the capsule that a place names, by their digests; none of another place."""
    if place.is_kernel or not Path(place.name).is_file():
        return {}
    with Capsule(place.name) as capsule:
        return _cases(capsule)


def _cases(capsule: Capsule) -> dict[str, Case]:
    """The cases of a capsule by their digests."""
    found = {}
    for op, inputs in capsule.cases():
        results = op.arrange_backward(**op.bind(inputs)).results
        main = results.get(op.main) or next(iter(results.values()))
        found[digest(op, op.bind(inputs))] = Case(operator(op), inputs, main.format.name, 0)
    return found


def about(identity: str) -> dict[str, str]:
    """What an identity says by name, as texts that can be printed; ValueError or KeyError for what no place has written."""
    said = json.loads(identity)
    if not isinstance(said, dict) or not {"device", "open"} <= said.keys():
        raise ValueError(f"no device: {identity[:80]}")
    return {name: printable(str(value)) for name, value in said.items()}


def told(identity: str) -> str:
    """An identity in words, with what it is not.

    >>> told('{"cann": "9.1.0", "device": "host", "open": "host", "soc": "Ascend910B2"}')
    'host, Ascend910B2, CANN 9.1.0 (emulated, not measured on hardware)'
    """
    said = about(identity)
    words = [said["device"], said.get("soc"), f"CANN {said['cann']}" if said.get("cann") else "",
             message("content {bits}", bits=said["content"][:8]) if "content" in said else "", said.get("operators")]
    listed = linked("{some}, {more}", filter(None, words))
    if said["device"] == "host":
        return message("{device} (emulated, not measured on hardware)", device=listed)
    return message("{device} (predicted, not measured on hardware)", device=listed) if said["device"] == "host (prediction)" else listed
