"""The device behind an explorer: one is kept open, and another is opened when the state names another."""

import warnings

from aclnn_viz.devices import AclError, open_device
from aclnn_viz.devices.errors import ConstraintWarning, DeviceClosedError
from aclnn_viz.explorers.state import StateError
from aclnn_viz.operators.plans import preset, run


class DeviceOfState:
    """Runs a backward operator as a state's `device`, `soc`, `cann` and `plan` say."""

    def __init__(self, op):
        self._op = op
        self._name, self._open = None, None

    def backward(self, state, inputs: dict) -> tuple[dict, tuple[str, ...]]:
        """Return the outputs, and what the documents object to; StateError for what the device refuses."""
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConstraintWarning)
                outputs = self._device(state).run(self._op, **inputs)
        except (AclError, DeviceClosedError, ValueError, OSError) as error:
            self.close()
            raise StateError.of("device", error) from error
        if state.plan == "device":
            outputs = run(self._op, preset(self._op, state.soc, state.cann), **inputs)
        return outputs, tuple(str(warning.message) for warning in caught)

    def _device(self, state):
        options = {"soc": state.soc, "cann": state.cann} if state.device == "host" else {}
        if (state.device, options) != self._name:
            self.close()
            self._open = open_device(state.device, **options)
            self._name = state.device, options
        return self._open

    def close(self) -> None:
        self._name = None
        if self._open is not None:
            self._open.close()
            self._open = None
