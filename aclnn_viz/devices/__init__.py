"""Where it runs: the emulator on the host, an Atlas device, a recording, or a peer: PyTorch, JAX."""

from aclnn_viz.acl import DeviceUnavailable, FunctionUnavailable
from aclnn_viz.devices.capsule import Capsule, CapsuleError
from aclnn_viz.devices.errors import AclError, ConstraintWarning, DeviceClosedError, RefusedError, UnsupportedError
from aclnn_viz.devices.listing import list_devices
from aclnn_viz.devices.opening import open_device
from aclnn_viz.devices.peers import Peer
from aclnn_viz.devices.recording import record

__all__ = ["AclError", "Capsule", "CapsuleError", "ConstraintWarning", "DeviceClosedError",
           "DeviceUnavailable", "FunctionUnavailable", "Peer", "RefusedError", "UnsupportedError", "list_devices", "open_device", "record"]
