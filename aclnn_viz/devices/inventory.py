"""List the devices of this machine and the operators that they can run, and open a device by name.

The listing loads nothing into this process: a child process loads the libraries, queries every device, and prints each finding
at once, so that a crash or a hang loses none.
"""

import json
import os
import re
import signal
import subprocess
import sys
from os import PathLike
from pathlib import Path

from aclnn_viz.acl import CannAcl, DeviceUnavailable, HostAcl
from aclnn_viz.acl.installation import custom_libraries, driver_version, find
from aclnn_viz.children import environment
from aclnn_viz.devices.capsule import Capsule
from aclnn_viz.devices.device import AclError, Device
from aclnn_viz.devices.peers import Peer, installed, is_peer, open_peer
from aclnn_viz.errors import invalid, need, place_of, shown, signal_named
from aclnn_viz.operators import operators
from aclnn_viz.operators.codes import ACL_ERROR_REPEAT_INITIALIZE
from aclnn_viz.operators.contract import contract
from aclnn_viz.operators.plans import predicting
from aclnn_viz.operators.products import (
    CANN,
    PRODUCTS,
    SOC,
    Product,
    Version,
    product_of,
    soc_of,
    version_of,
)
from aclnn_viz.words.messages import enumerated, message, tr

MARK = "aclnn-viz found: "  # start of the kit's lines; libraries may print others between them
_MEMORY_KINDS = (1, 0)  # ACL_HBM_MEM, and ACL_DDR_MEM for products without


def report(**findings) -> None:
    print(MARK + json.dumps(findings), flush=True)


def inspect(root: str, custom: str) -> None:
    """Print the findings about one installation; `custom` may be empty."""
    report(stage="loading the libraries")
    try:
        acl = CannAcl(root, custom or None)
    except DeviceUnavailable as error:
        report(problem=str(error))
        return
    report(
        libraries=acl.libraries.paths(),
        failures=acl.libraries.failures,
        stand_in=acl.stand_in,
        cann=str(acl.cann),
        cann_source=acl.cann_source,
        operators=_operators(acl, None),
        stage="calling aclInit",
    )
    status = acl.aclInit(None)
    if status not in (0, ACL_ERROR_REPEAT_INITIALIZE):
        report(problem=_failure(acl, "aclInit", status))
        return
    status, count = acl.aclrtGetDeviceCount()
    if status or not count:
        report(
            problem=_failure(acl, "aclrtGetDeviceCount", status)
            if status
            else "the runtime counts no device: the "
            "driver must be loaded and `npu-smi info` must list one"
        )
    for number in range(count or 0):
        report(stage=f"reading device {number}")
        report(device=_device(acl, number))
    acl.aclFinalize()


def _device(acl: CannAcl, number: int) -> dict:
    findings = {
        "id": number,
        "name": f"atlas:{number}",
        "soc": None,
        "product": None,
        "memory_free": None,
        "memory_total": None,
        "operators": None,
        "problem": None,
    }
    status = acl.aclrtSetDevice(number)
    if status:
        return findings | {"problem": _failure(acl, "aclrtSetDevice", status)}
    findings["soc"] = acl.soc
    try:
        product = product_of(acl.soc)
        findings |= {"product": product.name, "operators": _operators(acl, product)}
    except ValueError as error:
        findings["problem"] = str(error)
    for kind in _MEMORY_KINDS:
        status, free, total = acl.aclrtGetMemInfo(kind)
        if not status and total:
            findings |= {"memory_free": free, "memory_total": total}
            break
    acl.aclrtResetDevice(number)
    return findings


def _operators(acl: CannAcl, product: Product | None) -> dict:
    """Return for each operator whether it is usable, why not, its library, and its declaration."""
    return {
        name: {
            "usable": (reason := _obstacle(acl, name, product)) is None,
            "reason": reason,
            "library": str(acl.operator_libraries.get(name, "")) or None,
            "custom": name in acl.custom_operators,
            "prototype": acl.prototypes.get(name),
        }
        for name in (op.name for op in operators())
    }


def _obstacle(acl: CannAcl, name: str, product: Product | None) -> str | None:
    promise = contract(name)
    if promise.aclnn_name in acl.unavailable:
        return acl.unavailable[promise.aclnn_name]
    if product and not promise.offers(product, acl.cann):
        return f"{promise.aclnn_name} does not support {product.name} with CANN {acl.cann}"
    return None


def _failure(acl: CannAcl, call: str, status: int) -> str:
    return str(AclError(call, status, acl.aclGetRecentErrMsg()))


_PROGRAM = (
    "import sys; from aclnn_viz.children import end_with_parent; end_with_parent(); "
    "from aclnn_viz.devices.inventory import inspect; inspect(*sys.argv[1:3])"
)
CUSTOM, BUILT_IN = message("usable, custom from {library}"), message("usable, from {library}")


def list_devices(root=None, custom=None, timeout: float = 30.0) -> dict:
    """Return the findings about CANN on this machine: devices, usable operators, and reasons for the others.

    The values are JSON values. `host` lists what the emulator runs, `peers` the versions of PyTorch and JAX. `problem` says why
    there is no device, or which error occurred. `devices` has one entry per device: name, SoC, product, memory in bytes,
    operators; `operators` lists the contents of the libraries, for any device. A child process loads the libraries within
    `timeout` seconds. Raises only TypeError and ValueError, for arguments of other kinds.

    >>> list_devices(root="/nowhere")["devices"]
    []
    """
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout <= 1e6:
        raise invalid("timeout is a number of seconds", shown(timeout), "pass such as 30.0")
    for place in (root, custom):
        place is None or place_of(place)
    findings = {
        "host": emulated(),
        "peers": installed(),
        "problem": None,
        "tried": [],
        "root": None,
        "origin": None,
        "runtime": None,
        "libraries": [],
        "failures": [],
        "stand_in": None,
        "cann": None,
        "cann_source": None,
        "driver": driver_version(),
        "custom_installed": [],
        "custom": None if custom is None else str(custom),
        "operators": {},
        "devices": [],
    }
    try:
        installation = find(root)
    except DeviceUnavailable as error:
        return findings | {"problem": str(error)}
    findings |= {
        "tried": list(installation.tried),
        "root": str(installation.root),
        "origin": installation.origin,
        "runtime": str(installation.runtime),
        "custom_installed": [str(path) for path in custom_libraries(installation)],
    }
    return findings | _asked(str(installation.root), str(custom or ""), timeout)


def emulated() -> dict:
    """Return what the emulator runs on any machine: for each operator the SoCs that support it with the newest CANN.

    >>> emulated()["operators"]["hardswish"]["socs"][:2]
    ['Ascend910A', 'Ascend910B2']
    """
    return {
        "name": "host",
        "cann": CANN,
        "operators": {
            op.name: {
                "usable": True,
                "aclnn_name": op.aclnn_name,
                "socs": [
                    product.example_soc
                    for product in PRODUCTS
                    if contract(op.name).offers(product, Version.parse(CANN))
                ],
            }
            for op in operators()
        },
    }


def _asked(root: str, custom: str, timeout: float) -> dict:
    """Return the findings of a child process, and the error that ended it."""
    child = subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, root, custom],
        encoding="utf-8",
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    ended = None
    try:
        output, errors = child.communicate(timeout=timeout)
        if child.returncode < 0:
            ended = f"died of {signal_named(-child.returncode)}"
        elif child.returncode:
            ended = f"ended with {child.returncode}: {errors.strip().splitlines()[-1] if errors.strip() else 'no text'}"
    except subprocess.TimeoutExpired:
        ended = f"did not answer within {timeout:g} s"
        output = _killed(child)
    except BaseException:  # an interrupt, too, ends the child at once
        _killed(child)
        raise
    findings = {"devices": []}
    for line in output.splitlines():
        if line.startswith(MARK):
            text = json.loads(line.removeprefix(MARK))
            findings["devices"] += [text.pop("device")] if "device" in text else []
            findings |= text
    stage = findings.pop("stage", "starting Python")
    if ended:
        findings["problem"] = (
            f"the process that asked {ended}, while {stage}: the driver or a library is broken; "
            "restart the driver, or ask again with more time"
        )
    return findings


def _killed(child: subprocess.Popen) -> str:
    """Kill a hanging child and return its output so far; a child that survives the signal is abandoned."""
    os.killpg(child.pid, signal.SIGKILL)
    try:
        return child.communicate(timeout=2)[0]
    except subprocess.TimeoutExpired as error:
        return (error.stdout or b"").decode(errors="replace")


def device_text(findings: dict) -> str:
    """Return the findings of `list_devices` as lines of text."""
    lines = [tr("host: the emulator, always there; it runs")]
    lines += [
        tr("  {name}: emulated as {socs}", name=name, socs=enumerated(about["socs"]))
        for name, about in findings["host"]["operators"].items()
    ]
    lines += [
        tr('{name}: {version}, a peer: open_device("{name}")', name=name, version=version)
        for name, version in findings["peers"].items()
    ]
    if findings["problem"]:
        lines.append(f"atlas: {findings['problem']}")
    if findings["root"]:
        lines += [
            tr(
                "CANN {version} in {root} ({origin}; version from {source})",
                version=findings["cann"] or message("(version unknown)"),
                root=findings["root"],
                origin=findings["origin"],
                source=findings["cann_source"] or message("nowhere"),
            ),
            tr("  driver: {version}", version=findings["driver"] or message("no version file")),
        ]
        if findings["stand_in"]:
            lines.append(tr("  NOT CANN: {what}", what=findings["stand_in"]))
        lines += [
            tr("  library: {path}", path=path)
            for path in findings["libraries"] or [findings["runtime"]]
        ]
        lines += [tr("  cannot load: {text}", text=text) for text in findings["failures"]]
        lines += [
            tr("  custom operators installed: {path} (use with custom=)", path=path)
            for path in findings["custom_installed"]
        ]
    for device in findings["devices"]:
        memory = message("memory unknown")
        if device["memory_total"]:
            memory = message(
                "{free:.1f} of {total:.1f} GiB free",
                free=device["memory_free"] / 2**30,
                total=device["memory_total"] / 2**30,
            )
        lines.append(
            tr(
                "{name}: {soc} ({product}), {memory}",
                name=device["name"],
                soc=device["soc"] or message("unknown SoC"),
                product=device["product"] or message("unknown product"),
                memory=memory,
            )
            + (f"; {device['problem']}" if device["problem"] else "")
        )
        lines += _operator_lines(device["operators"] or {})
    if not findings["devices"]:
        lines += _operator_lines(findings["operators"])
    return "\n".join(lines)


def _operator_lines(operators: dict) -> list[str]:
    return [tr("  {name}: {state}", name=name, state=_state(operators[name])) for name in operators]


def _state(operator: dict) -> str:
    if not operator["usable"]:
        return tr("not usable: {reason}", reason=operator["reason"])
    usable = CUSTOM if operator["custom"] else BUILT_IN
    return tr(usable, library=operator["library"])


def open_device(
    name: str | Path = "host",
    *,
    soc: str | None = None,
    cann: str | None = None,
    plan: str | None = None,
    root=None,
    custom=None,
) -> Device | Capsule | Peer:
    """Open a device: "host" emulates an Atlas, "atlas" drives one, a capsule replays one.

    Parameters
    ----------
    name : str or path
        "host"; "atlas", or "atlas:1" for its second card; the path of a capsule; "torch" (also
        "torch:cuda", "torch:npu") for PyTorch's own operators; "jax" (also "jax:gpu") for the kit's
        pages compiled by XLA; "numba" for the operators' fused loops, or loops written from their
        pages. The last three need the extras of these names.
    soc, cann : str, optional
        The emulated SoC and CANN, by default Ascend910B2 with 9.1, which may refuse calls.
    plan : {"device"}, optional
        "device" makes the host predict the product's numerics: internal formats and orders, ties,
        saturation, a missing scale. By default the values equal `op.backward`'s.
    root : str or path, optional
        The installation of CANN, if the environment does not name it.
    custom : str or path, optional
        A library of custom operators, or a directory of such, which replace the vendor's.

    Returns
    -------
    Device, Capsule or Peer
        An object for a `with` block, with `Device`'s method `run(op, **inputs)`.

    Raises
    ------
    ValueError
        For an unknown name, SoC or version, and for options of another kind of device.
    DeviceUnavailable
        If there is no Atlas or library.
    AclError
        If the runtime of CANN reports another failure.

    Notes
    -----
    `aclnn_viz.operators.plans.preset(...).notes` mark the inferred parts of a prediction.

    Examples
    --------
    >>> import aclnn_viz as av
    >>> with open_device("host", soc="Ascend910B2", cann="9.1") as device:
    ...     sorted(device.run("rms_norm", **av.case("rms_norm", shape=(2, 8)).inputs))
    ['dgammaOut', 'dxOut']
    """
    need(
        name,
        str | PathLike,
        "a device is named by a text or a path",
        'open "host", or the path of a capsule',
    )
    if name == "host":
        _only("host", root=root, custom=custom)
        soc = soc_of(SOC if soc is None else soc)
        cann = version_of(CANN if cann is None else cann)
        if plan is None:
            return Device("host", HostAcl(soc=soc, cann=cann))
        if not isinstance(plan, str) or plan != "device":
            raise invalid(
                'plan must be "device" or None', shown(plan), "leave it out for the kit's values"
            )
        acl = HostAcl(soc=soc, cann=cann, backward=predicting(soc, cann))
        return Device("host (prediction)", acl, predicts=True)
    if is_peer(name):
        _only("a peer", soc=soc, cann=cann, plan=plan, root=root, custom=custom)
        return open_peer(name)
    atlas = re.fullmatch(r"atlas(?::(\d+))?", str(name))
    if not atlas and os.path.isfile(str(name)):
        _only("a capsule", soc=soc, cann=cann, plan=plan, root=root, custom=custom)
        return Capsule(name)
    if not atlas:
        raise invalid(
            "no such device",
            repr(name),
            'open "host", "atlas", such as "atlas:1", "torch", "jax", "numba", or the path of a capsule',
        )
    _only("atlas", soc=soc, cann=cann, plan=plan)
    acl, device_id = CannAcl(root, custom), int(atlas[1] or 0)
    remarks = ["stand-in"] * bool(acl.stand_in)
    remarks += [
        f"custom {', '.join(acl.custom_operators) or 'library without known operators'}"
    ] * (custom is not None)
    called = f"atlas:{device_id}" + (f" ({'; '.join(remarks)})" if remarks else "")
    return Device(called, acl, device_id)


def _only(kind: str, **options) -> None:
    other = {
        "host": "the emulator has no installation: leave them out",
        "atlas": "the device says itself what it is: leave them out",
        "a peer": "it is no Atlas: leave them out",
        "a capsule": "it says where it was recorded: leave them out",
    }[kind]
    passed = [option for option, value in options.items() if value is not None]
    if passed:
        raise invalid(f"{' and '.join(options)} are no options of {kind}", ", ".join(passed), other)
