"""HostAcl: CANN's C API emulated on the host."""

from functools import wraps

from aclnn_viz.acl.process import ProcessCalls
from aclnn_viz.acl.protocol import RUNTIME, offer, operator_with, phases
from aclnn_viz.acl.transfers import TransferCalls
from aclnn_viz.acl.two_phase import OperatorCalls
from aclnn_viz.errors import function, whole
from aclnn_viz.operators import operator as operator_of, operators
from aclnn_viz.operators.contract import Contract, contract
from aclnn_viz.operators.products import product_of, soc_of, version_of


def _backward(name: str, inputs: dict) -> dict:
    return operator_of(name).backward(**inputs)


class HostAcl(ProcessCalls, TransferCalls, OperatorCalls):
    """CANN's C API as one process sees it, on an emulated product with one CANN version and `memory` bytes.

    The methods carry the C names and take the C arguments in C order without the out-pointers; they return the status
    followed by the out-values. They raise TypeError for arguments that C would not compile, and nothing else. What the
    vendor's library does not notice is told in `misuse`, a list of sentences. `backward(name, inputs)` computes the
    outputs of an operator when a stream is synchronised; by default it is `Operator.backward`.
    Raises ValueError for an SoC or a version that does not exist.

    >>> acl = HostAcl(soc="Ascend910B2", cann="9.1")
    >>> acl.aclInit(None), acl.aclrtSetDevice(0), acl.aclrtGetSocName()
    (0, 0, 'Ascend910B2')
    >>> status, address = acl.aclrtMalloc(64, 0)
    >>> acl.aclrtFree(address), acl.aclrtFree(address)
    (0, 107000)
    >>> acl.misuse
    ['aclrtFree: memory freed twice (64 bytes at 0x12c000000000)']
    """

    unavailable: dict[str, str] = {}  # functions that the installation lacks, and why

    def __init__(self, soc: str = "Ascend910B2", cann: str = "9.1", *, memory: int = 64 << 30, backward=_backward):
        super().__init__(soc_of(soc), product_of(soc), version_of(cann), whole("memory", memory))
        self.backward = function("backward", backward)
        self.process = self  # the process whose state this is

    def __getattr__(self, name: str):
        """Offer the two phases of an operator that was opened from a folder since."""
        late = operator_with(name)
        if late is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        _offer(late)
        return getattr(self, name)


def _phase_methods(operator: Contract):
    """The two methods of an operator."""
    def prepare(self, *arguments):
        return self.prepare(operator, arguments)

    def execute(self, *arguments):
        return self.execute(operator, *arguments)

    return prepare, execute


def _one_at_a_time(method):
    """The library is safe to call from several threads; here one lock makes it so."""
    @wraps(method)
    def locked(self, *arguments):
        with self.lock:
            return method(self, *arguments)
    return locked


def _offer(operator: Contract) -> None:
    """Add the two methods of an operator."""
    functions = phases(operator)
    for function, implementation in zip(functions, _phase_methods(operator)):
        setattr(HostAcl, function.name, _one_at_a_time(implementation))
    offer(functions)(HostAcl)


# Every method checks its arguments before it takes the lock.
for _function in RUNTIME:
    setattr(HostAcl, _function.name, _one_at_a_time(getattr(HostAcl, _function.name)))
offer(RUNTIME)(HostAcl)
for _operator in operators():
    _offer(contract(_operator))
