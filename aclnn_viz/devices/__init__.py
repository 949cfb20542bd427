"""Devices that run operators: the emulator on the host, an Atlas, a recording, or another library (PyTorch, JAX, numba)."""

from aclnn_viz.acl import DeviceUnavailable, FunctionUnavailable
from aclnn_viz.devices.capsule import Capsule, CapsuleError, record
from aclnn_viz.devices.device import (
    AclError,
    ConstraintWarning,
    DeviceClosedError,
    RefusedError,
    UnsupportedError,
)
from aclnn_viz.devices.inventory import list_devices, open_device
from aclnn_viz.devices.peers import Peer

__all__ = [
    "AclError",
    "Capsule",
    "CapsuleError",
    "ConstraintWarning",
    "DeviceClosedError",
    "DeviceUnavailable",
    "FunctionUnavailable",
    "Peer",
    "RefusedError",
    "UnsupportedError",
    "list_devices",
    "open_device",
    "record",
]
