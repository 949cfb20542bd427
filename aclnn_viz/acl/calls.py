"""C calls with their statuses checked, and blocks of them that Ctrl-C does not tear apart."""

import signal
import threading
from contextlib import contextmanager
from sys import intern

from aclnn_viz.errors import problem
from aclnn_viz.operators.codes import ACL_SUCCESS, status_name

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


#: What a null pointer is called, and what to do, where it is no handle.
_NULLS = {"aclrtGetSocName": ("no name of a product", "the driver does not tell the product: `npu-smi info` must list the "
                              "device, and CANN must be newer than it")}


class AclError(RuntimeError):
    """A C call answered with an error: `call`, its `code` with its `name`, and the `message` of the library.

    Errors during the release of resources that followed are in `__notes__`.
    """

    def __init__(self, call: str, code: int | None, message: str | None = None):
        self.call, self.code, self.message = call, code, message
        if code is None:
            self.name, self.advice = _NULLS.get(call, ("null handle", "the library made none: read the device log"))
        else:
            self.name = status_name(code)
            self.advice = _ADVICE.get(code, "look the code up in the CANN documentation and read the device log")
        got = self.name if code is None else f"{code} ({self.name})"
        super().__init__(problem(f"{call} must succeed", f"{got}{': ' + message if message else ''}", self.advice))


class Calls:
    """The calls of one thread on an implementation of the C API, each checked.

    >>> from aclnn_viz.acl import HostAcl
    >>> Calls(HostAcl()).call("aclrtGetDeviceCount")
    1
    """

    def __init__(self, acl):
        self.acl = acl
        self.stream = None
        self._seen_text = None

    def _function(self, name: str):
        """Python keeps what an attribute was looked up by: equal names that are made anew at each call would all be kept."""
        return getattr(self.acl, intern(name))

    def call(self, name: str, *arguments):
        """Make a C call and return its out-value (a tuple of several, None of none); AclError for a status not 0."""
        answer = self._function(name)(*arguments)
        status, *out = answer if isinstance(answer, tuple) else (answer,)
        self.check(name, status)
        return (out[0] if len(out) == 1 else tuple(out)) if out else None

    def check(self, name: str, status: int) -> None:
        if status != ACL_SUCCESS:
            raise AclError(name, status, self.recent_message())

    def recent_message(self) -> str | None:
        """The library's text of the last error in this thread; one that is kept from an earlier error is not shown."""
        text = self.acl.aclGetRecentErrMsg()
        if not text or text == self._seen_text:
            return None
        # Some libraries keep the old text and put the new one before it; asking again tells which kind this is.
        new = text.removesuffix(self._seen_text) if self._seen_text else text
        self._seen_text = self.acl.aclGetRecentErrMsg()
        return new.strip() or None

    def handle(self, name: str, *arguments):
        """Make a C call that returns a handle; AclError when it is null."""
        made = self._function(name)(*arguments)
        if made is None:
            raise AclError(name, None, self.recent_message())
        return made

    def synchronise(self) -> None:
        """Wait for the queued work of the stream."""
        self.call("aclrtSynchronizeStream", self.stream)


def tell(failures: list[AclError], error: BaseException | None) -> None:
    """Attach errors of a release to the error that came before them; where there was none, raise the first."""
    first = error or next(iter(failures), None)
    for later in failures:
        if later is not first:
            first.add_note(f"while releasing: {later}")
    if first is not error:
        raise first


class Uninterrupted:
    """A block in which Ctrl-C waits: it arrives where the block says so, or at its end.

    Only the main thread is ever interrupted; in any other this does nothing.

    >>> with Uninterrupted() as block:
    ...     with block.interruptible():
    ...         pass
    """

    def __init__(self):
        self._before = None
        self._waiting = False

    def __enter__(self):
        if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is not None:
            self._hold()
        return self

    def __exit__(self, *_):
        if self._before is not None:
            self._let()

    @contextmanager
    def interruptible(self):
        """Let an interrupt that waited, or that comes meanwhile, arrive."""
        if self._before is None:
            yield
            return
        try:
            self._let()
            yield
        finally:
            self._hold()

    def _hold(self) -> None:
        self._before = signal.signal(signal.SIGINT, self._note)

    def _note(self, *_) -> None:
        self._waiting = True

    def _let(self) -> None:
        signal.signal(signal.SIGINT, self._before)
        if self._waiting:
            self._waiting = False
            signal.raise_signal(signal.SIGINT)
