"""A device that runs operators, whatever implementation of the C API stands behind it."""

from aclnn_viz.acl.installation import driver_version
from aclnn_viz.devices.errors import DeviceClosedError
from aclnn_viz.devices.session import Session
from aclnn_viz.devices.two_phase import run
from aclnn_viz.errors import problem
from aclnn_viz.operators import operator
from aclnn_viz.operators.products import product_of
from aclnn_viz.tables import as_html
from aclnn_viz.words.speech import meant, message, tr

STATES = meant("open", "that is open"), message("closed")


def is_device(value) -> bool:
    """Whether something runs operators and tells its name, its product and its CANN version, whatever its class.

    >>> is_device("host"), is_device(max)
    (False, False)
    """
    return all(hasattr(value, name) for name in ("name", "soc", "cann")) and callable(getattr(value, "run", None))


class Closing:
    """A device that holds nothing of the machine's: closed, by hand or by a `with` block, it only runs nothing more."""

    name: str
    closed = False

    def need_open(self) -> None:
        """Raise DeviceClosedError where it is closed."""
        if self.closed:
            raise DeviceClosedError(problem("the device must be open", f"a closed {self.name}", "open it again"))

    def close(self) -> None:
        self.closed = True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Device:
    """An opened device; use it in a `with` block, or close it in the thread that opened it.

    `name` tells what it is, also whether its libraries only imitate CANN or operators are custom ones; `soc` which
    Atlas, `cann` which version.

    >>> import aclnn_viz as av
    >>> case = av.case("rms_norm", shape=(2, 8))
    >>> with av.open_device("host") as device:
    ...     sorted(device.run("rms_norm", **case.inputs))
    ['dgammaOut', 'dxOut']
    """

    def __init__(self, name: str, acl, device_id: int = 0, *, workarounds: bool = False,
                 predicts: bool = False):
        self.name = name
        self.device_id = device_id
        self._session = Session(acl, device_id)
        self.workarounds = workarounds
        self._predicts = predicts

    @property
    def acl(self):
        """The C API that the device is driven through."""
        return self._session.acl

    @property
    def soc(self) -> str:
        return self._session.soc

    @property
    def cann(self) -> str:
        return str(self.acl.cann)

    @property
    def closed(self) -> bool:
        """Whether the device was closed, or died of an error: then it runs nothing any more."""
        return self._session.closed

    def run(self, op, /, **inputs) -> dict:
        """Run an operator through both phases and return its outputs by the vendor's names, as `op.backward` does.

        Raises TypeError and ValueError as `op.backward` does, RefusedError (a ValueError) for what the library would
        silently do wrong, AclError for what it reports, FunctionUnavailable for an operator that the installation
        lacks, DeviceClosedError when the device is closed or not this thread's. Warns with ConstraintWarning of
        documented constraints that nobody enforces.
        """
        self._session.need_open()
        return run(self._session, operator(op), inputs, self.workarounds, self._predicts)

    def about(self) -> dict:
        """What a replay must tell of it beside its name: SoC, CANN, runtime, driver, custom operators, workarounds."""
        status, *runtime = (1,) if "aclrtGetVersion" in self.acl.unavailable else self.acl.aclrtGetVersion()
        return {"soc": self.soc, "cann": self.cann, "runtime": ".".join(map(str, runtime)) if status == 0 else None,
                "driver": driver_version(), "custom": [str(name) for name in getattr(self.acl, "custom_operators", ())],
                "workarounds": self.workarounds, "deterministic": True}

    def close(self) -> None:
        """Release everything, in the thread that opened the device; closing again does nothing."""
        self._session.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        try:
            self.close()
        except Exception as failure:
            if error is None:
                raise
            error.add_note(f"while closing: {failure}")

    def _repr_html_(self) -> str:
        rows = [(tr("product"), f"{product_of(self.soc).name} ({self.soc})"), ("CANN", self.cann), (tr("state"), tr(STATES[self.closed]))]
        if self.workarounds:
            rows.append((tr("workarounds"), tr("what an older CANN computes wrongly is computed by other means")))
        misuse = getattr(self.acl, "misuse", [])
        if misuse:
            rows.append((tr("misuse"), tr("{n}, first: {what}", n=len(misuse), what=misuse[0])))
        kind = message("emulated on the host, not hardware") if self.name.startswith("host") else self.name
        return as_html(tr("Device {name!r}: {kind}", name=self.name, kind=kind), (), rows)

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"Device({self.name!r}, soc={self.soc!r}, cann={self.cann!r}{state})"
