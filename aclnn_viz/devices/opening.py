"""Open a device by name."""

import re
from os import PathLike
from pathlib import Path

from aclnn_viz.acl import CannAcl, HostAcl
from aclnn_viz.devices.capsule import Capsule
from aclnn_viz.devices.device import Device
from aclnn_viz.devices.peers import Peer, is_peer, open_peer
from aclnn_viz.errors import flag, problem, shown
from aclnn_viz.operators.plans import predicting
from aclnn_viz.operators.products import soc_of, version_of


def open_device(name: str | Path = "host", *, soc: str | None = None, cann: str | None = None, plan: str | None = None,
                root=None, custom=None, workarounds: bool = False) -> Device | Capsule | Peer:
    """Open a device: "host" emulates an Atlas, "atlas" or "atlas:1" drives one, the path of a capsule replays one.

    "torch" (also "torch:cuda", "torch:npu") runs PyTorch's own operators, "jax" (also "jax:gpu") the kit's pages compiled
    by XLA, "numba" the operators' fused loops; they need the extras of these names.

    `soc` and `cann` choose what the host emulates (default: Ascend910B2 with CANN 9.1). Values on the host are those of
    `op.backward`; what the product or the version lacks is refused as they refuse it. With `plan="device"` the host
    predicts the numerics of the product instead: formats and orders inside, ties, saturation, a missing scale; what of
    that is inferred, `aclnn_viz.operators.plans.preset(...).notes` tell. For an Atlas, `root` names the
    installation where the environment does not, and `custom` a library of custom operators, or a directory with such,
    that take the place of the vendor's. With `workarounds`, what an older CANN computes wrongly is computed by other
    means where one is known, instead of refused.

    Raises ValueError for an unknown name, SoC or version and for options of the other kind of device, DeviceUnavailable
    when there is no Atlas or library, AclError when its runtime reports another failure.
    """
    if not isinstance(name, str | PathLike):
        raise TypeError(problem("a device is named by a text or a path", shown(name),
                                'open "host", or the path of a capsule'))
    workarounds = flag("workarounds", workarounds)
    if name == "host":
        _only("host", root=root, custom=custom)
        soc = soc_of("Ascend910B2" if soc is None else soc)
        cann = version_of("9.1" if cann is None else cann)
        if plan is None:
            return Device("host", HostAcl(soc=soc, cann=cann), workarounds=workarounds)
        if not isinstance(plan, str) or plan != "device":
            raise ValueError(problem('plan must be "device" or None', shown(plan), "leave it out for the kit's values"))
        acl = HostAcl(soc=soc, cann=cann, backward=predicting(soc, cann))
        return Device("host (prediction)", acl, workarounds=workarounds, predicts=True)
    if is_peer(name):
        _only("a peer", soc=soc, cann=cann, plan=plan, root=root, custom=custom)
        return open_peer(name)
    atlas = re.fullmatch(r"atlas(?::(\d+))?", str(name))
    if not atlas and "\0" not in str(name) and Path(name).is_file():
        _only("a capsule", soc=soc, cann=cann, plan=plan, root=root, custom=custom)
        return Capsule(name)
    if not atlas:
        raise ValueError(problem("no such device", repr(name),
                                 'open "host", "atlas", such as "atlas:1", "torch", "jax", "numba", or the path of a capsule'))
    _only("atlas", soc=soc, cann=cann, plan=plan)
    acl, device_id = CannAcl(root, custom), int(atlas[1] or 0)
    remarks = ["stand-in"] * bool(acl.stand_in)
    remarks += [f"custom {', '.join(acl.custom_operators) or 'library without known operators'}"] * (custom is not None)
    called = f"atlas:{device_id}" + (f" ({'; '.join(remarks)})" if remarks else "")
    return Device(called, acl, device_id, workarounds=workarounds)


def _only(kind: str, **options) -> None:
    other = {"host": "the emulator has no installation: leave them out",
             "atlas": "the device says itself what it is: leave them out",
             "a peer": "it is no Atlas: leave them out",
             "a capsule": "it tells where it was recorded: leave them out"}[kind]
    given = [option for option, value in options.items() if value is not None]
    if given:
        raise ValueError(problem(f"{' and '.join(options)} are no options of {kind}", ", ".join(given), other))
