"""What goes wrong on a device: a status that the library reports, a trap that it does not, or no device at all."""

from aclnn_viz.codes import status_name
from aclnn_viz.errors import problem

_ADVICE = {
    100002: "another library has initialised ACL in this process; this is harmless",
    100039: "the library is a build-time stub: this machine has no driver, or set_env.sh chose devlib",
    107001: "check the device number and that the driver is loaded",
    107002: "a thread must call aclrtSetDevice before it uses the device",
    161001: "pass every tensor that the operator asks for",
    161002: "compare dtypes, shapes and attributes with what the product supports",
    207001: "the device is out of memory: use smaller shapes or free what other processes hold",
    361001: "the runtime call inside of the operator failed: read the device log",
    507015: "the kernel crashed on the device: check shapes and addresses, then read the device log",
    507018: "the AI CPU kernel crashed on the device: read the device log",
    561002: "the operator could not plan its work: compare shapes with what the operator documents",
    561003: "no kernel is installed for this product and dtypes: install the operator package of the product",
    561103: "an inner step of the operator failed: compare dtypes and shapes with what the product supports",
    561107: "set ASCEND_OPP_PATH, usually by sourcing set_env.sh",
    561112: "install the operator package of the product",
}


class AclError(RuntimeError):
    """A C call answered with an error: `call`, its `code` with its `name`, and the `message` of the library.

    Errors during the release of resources that followed are in `__notes__`.
    """

    def __init__(self, call: str, code: int | None, message: str | None = None):
        self.call, self.code, self.message = call, code, message
        self.name = "null handle" if code is None else status_name(code)
        self.advice = _ADVICE.get(code, "look the code up in the CANN documentation and read the device log")
        got = self.name if code is None else f"{code} ({self.name})"
        super().__init__(problem(f"{call} must succeed", f"{got}{': ' + message if message else ''}", self.advice))


class RefusedError(ValueError):
    """A call that the library would take in silence and answer wrongly; `constraint` names the rule."""

    def __init__(self, aclnn_name: str, constraint, fix: str):
        self.constraint = constraint.name
        super().__init__(problem(f"{aclnn_name}: {constraint.text}", f"a call against it ({constraint.source})", fix))


class ConstraintWarning(UserWarning):
    """A documented constraint that nobody enforces is violated."""


class DeviceClosedError(RuntimeError):
    """The device was closed, has died of an error, or belongs to another process or thread."""
