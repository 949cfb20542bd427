"""Run the kernel of an interactive picture (explorer) on the chosen device. An Atlas stays open until the state names another
device.

A device belongs to the thread that opened it, and JupyterLab answers widgets in arbitrary threads, so the device has a
separate thread.
"""

import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from aclnn_viz.devices import AclError, DeviceUnavailable, open_device
from aclnn_viz.devices.device import ConstraintWarning, DeviceClosedError
from aclnn_viz.explorers.state import StateError


class DeviceOfState:
    """Runs a backward operator on a state's `device`."""

    def __init__(self, operator_of):
        self._operator_of = operator_of
        self._thread = ThreadPoolExecutor(1, "explorer-device")
        self._name, self._open = None, None

    def backward(self, state, inputs: dict) -> tuple[dict, tuple[str, ...]]:
        """Return the outputs, and objections from the documents; raise StateError if the device refuses."""
        run = self._thread.submit(self._run, self._operator_of(state), state.device, inputs)
        try:
            return run.result()
        except (AclError, DeviceClosedError, DeviceUnavailable, ValueError, OSError) as error:
            self._thread.submit(self._release).result()
            raise StateError.of("device", error) from error

    def _run(self, op, name: str, inputs: dict):
        if name != self._name:
            self._release()
            self._open, self._name = open_device(name), name
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConstraintWarning)
            outputs = self._open.run(op, **inputs)
        # texts of the warnings
        return outputs, tuple(warning.message.args[0] for warning in caught)

    def close(self) -> None:
        """Close the device and end its thread; closing again does nothing."""
        if self._thread is not None:
            with suppress(RuntimeError):  # an interpreter that is ending refuses new work
                self._thread.submit(self._release).result()
            self._thread.shutdown()
            self._thread = None

    def _release(self) -> None:
        self._name = None
        if self._open is not None:
            self._open.close()
            self._open = None
