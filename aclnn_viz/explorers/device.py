"""Compute the gradients of an interactive picture (explorer) on the device that a user chooses. An Atlas is kept open until the
state names another device.

A device belongs to the thread that opened it, and JupyterLab answers each widget in a thread of its own choice, so the
device has a thread for itself.
"""

import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import numpy as np

from aclnn_viz.devices import AclError, DeviceUnavailable, open_device
from aclnn_viz.devices.device import ConstraintWarning, DeviceClosedError, answer
from aclnn_viz.explorers.state import StateError
from aclnn_viz.operators.plans import preset, run
from aclnn_viz.operators.products import Version, product_of
from aclnn_viz.words.messages import message


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

        The host computes what `op.backward` does, and the contract answers for the product; it is asked once for calls of
        one signature, since its answer would take a third of the time of a redraw. A precision that is predicted for
        the product is let through where only its known error is objected to.
        """
        op = self._operator_of(state)
        try:
            if state.device == "host":
                outputs, notices = None, self._answer(op, state, inputs)
            else:
                outputs, notices = self._thread.submit(self._backward, op, state, inputs).result()
        except (AclError, DeviceClosedError, DeviceUnavailable, ValueError, OSError) as error:
            raise StateError.of("device", error) from error
        if state.plan == "device":
            outputs = run(op, preset(op, state.soc, state.cann), **inputs)
        return op.backward(**inputs) if outputs is None else outputs, notices

    def _answer(self, op, state, inputs):
        predicts = state.plan == "device"
        signature = (op.name, state.soc, state.cann, predicts, *map(_as_judged, inputs.values()))
        if signature != self._judged:
            self._notices = answer(
                op, inputs, product_of(state.soc), Version.parse(state.cann), predicts
            )
            self._judged = signature
        return self._notices

    def _backward(self, op, state, inputs):
        try:
            if state.device != self._name:
                self._release()
                self._open, self._name = open_device(state.device), state.device
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConstraintWarning)
                outputs = self._open.run(op, **inputs)
        except (AclError, DeviceClosedError, DeviceUnavailable, ValueError, OSError):
            self._release()
            raise
        return outputs, tuple(warning.message.args[0] for warning in caught)  # messages

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


def gradients(op, state, inputs: dict, backward) -> tuple[dict, tuple[str, ...]]:
    """Return (outputs, notices) of `backward(state, inputs)`; in float64 those of the kit's own kernel.

    For operators that take FLOAT16, BFLOAT16 and FLOAT32. Raises StateError where float64 is to run on a device.
    """
    if state.dtype != "float64":
        return backward(state, inputs)
    if state.device != "host" or state.plan == "device":
        raise StateError(
            "dtype",
            message("{name} takes float16, bfloat16 and float32", name=op.aclnn_name),
            "float64",
            message("choose one of them, or device host and precision documented"),
        )
    return op.backward(**inputs), (
        message(
            "No product takes float64 for {name}: shown is this kit's own kernel.",
            name=op.aclnn_name,
        ),
    )


def computed_by(state) -> str:
    """Return who computed what is shown, in a few words."""
    if state.dtype == "float64":
        return message("this kit's kernel in float64")
    if state.device != "host":
        return message("the {device} device", device=state.device)
    if state.plan == "documented":
        return message(
            "the host as {soc}, CANN {cann}, precision as documented",
            soc=state.soc,
            cann=state.cann,
        )
    return message(
        "the host as {soc}, CANN {cann}, precision predicted for the product",
        soc=state.soc,
        cann=state.cann,
    )
