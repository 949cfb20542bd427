"""A device outside of CANN: another library computes the same operators on this machine."""

import platform
import warnings
from abc import ABC, abstractmethod

import numpy as np

from aclnn_viz.devices.device import STATES, Closing
from aclnn_viz.devices.errors import UnsupportedError
from aclnn_viz.dtypes import round_to
from aclnn_viz.errors import NotSupported
from aclnn_viz.operators import operator, registry
from aclnn_viz.tables import as_html
from aclnn_viz.words.speech import message, said, tr

ABOUT = {name: name for name in (message("library"), message("place"), message("threads"), message("deterministic"), message("flags"))}

class Peer(Closing, ABC):
    """What every peer has in common; `name` tells library, place and version, `about()` all that a replay must tell.

    A peer has neither an SoC nor a CANN version: `soc` and `cann` are empty.
    """

    library: str
    soc = cann = ""

    def __init__(self, name: str):
        self.name = name

    def run(self, op, /, **inputs) -> dict[str, np.ndarray]:
        """Run an operator and return its outputs by the vendor's names, as `op.backward` does.

        Raises TypeError and ValueError as `op.backward` does, UnsupportedError (a ValueError and a NotImplementedError)
        for what the library does not compute, DeviceClosedError when the device is closed.
        """
        self.need_open()
        op = operator(op)
        bound = op.bind(inputs)
        arranged = op.arrange_backward(**bound)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")  # of the library, about its speed
                found = self._compute(op, bound, arranged)
        except NotSupported as refused:
            raise UnsupportedError(str(refused)) from refused
        return {name: _documented(found[name], result) for name, result in arranged.results.items()}

    def differences(self, op) -> tuple:
        """What is documented that it does otherwise than the page of an operator (`aclnn_viz.operators.peers`)."""
        return registry.own("peer", operator(op).name, "DIFFERENCES", {}).get(self.library, ())

    @staticmethod
    def _zeros(arranged) -> dict[str, np.ndarray]:
        """The outputs of a call without elements, on which no page or loop is run."""
        return {name: np.zeros(result.shape, result.format.numpy) for name, result in arranged.results.items()}

    @abstractmethod
    def _compute(self, op, bound: dict, arranged) -> dict[str, np.ndarray]:
        """The outputs by name, in the formats in which the library computes them; NotSupported for what it has not."""

    def about(self) -> dict:
        """What a replay must tell of it: library and version, place, threads and flags."""
        return {"soc": self.soc, "cann": self.cann, **self._library()}

    @abstractmethod
    def _library(self) -> dict:
        """Its version, place, threads and flags."""

    def _repr_html_(self) -> str:
        about = [(said(ABOUT.get(name, name)), str(value)) for name, value in self._library().items()]
        return as_html(tr("Device {name!r}: a peer on this machine, no Atlas", name=self.name), (), [
            (tr("state"), tr(STATES[self.closed])), *about])

    def __repr__(self) -> str:
        return f"Peer({self.name!r}{', closed' * self.closed})"


def _documented(array: np.ndarray, result) -> np.ndarray:
    """An output in its documented shape; one that the library gives in a wider format is rounded to the documented one."""
    wider = array.dtype.itemsize > np.dtype(result.format.numpy).itemsize
    return (round_to(array, result.format) if wider else array).reshape(result.documented_shape)


def processor() -> str:
    """What the processor of this machine is called."""
    return platform.processor() or platform.machine()
