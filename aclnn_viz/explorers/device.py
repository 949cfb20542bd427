"""The device behind an explorer: an Atlas is kept open until the state names another device.

A device belongs to the thread that opened it, and JupyterLab answers each widget in a thread of its own choice, so the
device has a thread for itself.
"""

import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np

from aclnn_viz.devices import AclError, DeviceUnavailable, open_device
from aclnn_viz.devices.device import ConstraintWarning, DeviceClosedError
from aclnn_viz.explorers.state import StateError
from aclnn_viz.operators.plans import preset, run


def host(op):
    """Return what stands in for a device's `backward` where none is wanted: the kit's own kernel, without notices."""
    return lambda state, inputs: (op.backward(**inputs), ())


def _as_judged(value):
    """All of an input that a documented check looks at, as something to compare: two inputs alike in it get one answer.

    Checks look at dtypes and shapes, and at values only where these are whole numbers, such as targets.
    """
    if not isinstance(value, np.ndarray | np.generic):
        return value
    return value.dtype, value.shape, value.tobytes() if value.dtype.kind in "iu" else b""


class DeviceOfState:
    """Runs a backward operator as a state's `device`, `soc`, `cann` and `plan` say."""

    def __init__(self, operator_of):
        self._operator_of = operator_of
        self._thread = ThreadPoolExecutor(1, "explorer-device")
        self._name, self._open = None, None
        self._judged, self._notices = None, ()

    def backward(self, state, inputs: dict) -> tuple[dict, tuple[str, ...]]:
        """Return the outputs, and what the documents object to; StateError for what the device refuses.

        The host judges a call by its signature and computes what `op.backward` does, so a second call of the same
        signature goes there straight: the contract would take a third of the time of a redraw. A precision that is
        predicted for the product is let through where only its known error is objected to.
        """
        op = self._operator_of(state)
        signature = (op.name, state.device, state.soc, state.cann, state.plan, *map(_as_judged, inputs.values()))
        if state.device == "host" and signature == self._judged:
            outputs, notices = op.backward(**inputs), self._notices
        else:
            outputs, notices = self._thread.submit(self._backward, op, state, inputs).result()
            self._judged, self._notices = signature, notices
        if state.plan == "device":
            outputs = run(op, preset(op, state.soc, state.cann), **inputs)
        return outputs, notices

    def _backward(self, op, state, inputs):
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConstraintWarning)
                outputs = self._device(state).run(op, **inputs)
        except (AclError, DeviceClosedError, DeviceUnavailable, ValueError, OSError) as error:
            self._release()
            raise StateError.of("device", error) from error
        if state.device == "host":
            self._release()  # an emulator remembers every block it ever gave out, to notice its misuse
        return outputs, tuple(warning.message.args[0] for warning in caught)  # messages

    def _device(self, state):
        options = {}
        if state.device == "host":  # a prediction may compute what is otherwise refused for being computed wrongly
            options = {"soc": state.soc, "cann": state.cann, "plan": "device" if state.plan == "device" else None}
        if (state.device, options) != self._name:
            self._release()
            self._open = open_device(state.device, **options)
            self._name = state.device, options
        return self._open

    def close(self) -> None:
        """Close the device and end its thread; closing again does nothing."""
        if self._thread is not None:
            with suppress(RuntimeError):  # no new work while the interpreter ends
                self._thread.submit(self._release).result()
            self._thread.shutdown()
            self._thread = None

    def _release(self) -> None:
        self._name = None
        if self._open is not None:
            self._open.close()
            self._open = None
