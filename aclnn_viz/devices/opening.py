"""Open a device by name."""

from aclnn_viz.acl import HostAcl
from aclnn_viz.devices.device import Device
from aclnn_viz.errors import problem


def open_device(name: str = "host", *, soc: str = "Ascend910B2", cann: str = "9.1") -> Device:
    """Open a device: "host" is the emulator of an Atlas with the given SoC and CANN version.

    Values on the host are those of `op.backward`; what the product or the version lacks is refused as they refuse it.
    Raises ValueError for an unknown name, SoC or version.
    """
    if name == "host":
        return Device("host", HostAcl(soc=soc, cann=cann))
    raise ValueError(problem("no such device", repr(name), 'open "host"'))
