"""What this machine offers to run on, found out without loading anything into this process."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from aclnn_viz.acl import DeviceUnavailable
from aclnn_viz.acl.installation import custom_libraries, driver_version, find
from aclnn_viz.devices.inspection import MARK
from aclnn_viz.devices.peers import installed
from aclnn_viz.errors import place_of, problem, shown
from aclnn_viz.operators import operators
from aclnn_viz.operators.contract import contract
from aclnn_viz.operators.products import PRODUCTS, Version
from aclnn_viz.words.speech import message, tr

_PROGRAM = "import sys; from aclnn_viz.devices.inspection import end_with_parent, inspect; end_with_parent(); " \
           "inspect(*sys.argv[1:3])"
_PACKAGE = Path(__file__).parents[2]
NEWEST = "9.1"
CUSTOM, BUILT_IN = message("usable, custom from {library}"), message("usable, from {library}")


def list_devices(root=None, custom=None, timeout: float = 30.0) -> dict:
    """Return what was found of CANN on this machine, the devices, the usable operators and why the others are not.

    The values are those of JSON. `host` tells what the emulator runs, `peers` which versions of PyTorch and JAX there
    are. `problem` tells why there is no device, or what went wrong while asking; `devices` has one entry a device: name,
    SoC, product, memory in bytes, operators; `operators` tells what the libraries have, whatever the device. The
    libraries are loaded in a child process that gets `timeout` seconds. Raises TypeError and ValueError for arguments of
    another kind, and nothing else.

    >>> list_devices(root="/nowhere")["devices"]
    []
    """
    if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not 0 < timeout <= 1e6:
        raise ValueError(problem("timeout is a number of seconds", shown(timeout), "pass such as 30.0"))
    for place in (root, custom):
        place is None or place_of(place)
    found = {"host": emulated(), "peers": installed(), "problem": None, "tried": [], "root": None, "origin": None,
             "runtime": None, "libraries": [],
             "failures": [], "stand_in": None, "cann": None, "cann_source": None, "driver": driver_version(),
             "custom_installed": [], "custom": None if custom is None else str(custom), "operators": {}, "devices": []}
    try:
        installation = find(root)
    except DeviceUnavailable as error:
        return found | {"problem": str(error)}
    found |= {"tried": list(installation.tried), "root": str(installation.root), "origin": installation.origin,
              "runtime": str(installation.runtime),
              "custom_installed": [str(path) for path in custom_libraries(installation)]}
    return found | _asked(str(installation.root), str(custom or ""), timeout)


def emulated() -> dict:
    """What the emulator runs, whatever this machine has: of each operator the SoCs that take it with the newest CANN.

    >>> emulated()["operators"]["hardswish"]["socs"][:2]
    ['Ascend910A', 'Ascend910B2']
    """
    return {"name": "host", "cann": NEWEST, "operators": {
        op.name: {"usable": True, "aclnn_name": op.aclnn_name,
                  "socs": [product.example_soc for product in PRODUCTS if contract(op.name).offers(product, Version.parse(NEWEST))]} for op in operators()}}


def _asked(root: str, custom: str, timeout: float) -> dict:
    """What a child process found, and what ended it."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, (str(_PACKAGE), os.getenv("PYTHONPATH"))))}
    alive, held = os.pipe()  # its end is the end of this process, whatever ends it
    child = subprocess.Popen([sys.executable, "-c", _PROGRAM, root, custom], encoding="utf-8", errors="replace",
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                             stdin=alive, start_new_session=True)
    os.close(alive)
    ended = None
    try:
        output, errors = child.communicate(timeout=timeout)
        if child.returncode < 0:
            ended = f"died of {signal.Signals(-child.returncode).name}"
        elif child.returncode:
            ended = f"ended with {child.returncode}: {errors.strip().splitlines()[-1] if errors.strip() else 'no text'}"
    except subprocess.TimeoutExpired:
        ended = f"did not answer within {timeout:g} s"
        output = _killed(child)
    except BaseException:  # an interrupt is not waited out
        _killed(child)
        raise
    finally:
        os.close(held)
    found = {"devices": []}
    for line in output.splitlines():
        if line.startswith(MARK):
            told = json.loads(line.removeprefix(MARK))
            found["devices"] += [told.pop("device")] if "device" in told else []
            found |= told
    stage = found.pop("stage", "starting Python")
    if ended:
        found["problem"] = f"the process that asked {ended}, while {stage}: the driver or a library is broken; " \
                           "restart the driver, or ask again with more time"
    return found


def _killed(child: subprocess.Popen) -> str:
    """End a child that hangs, and return what it had printed; one that no signal ends is left behind."""
    os.killpg(child.pid, signal.SIGKILL)
    try:
        return child.communicate(timeout=2)[0]
    except subprocess.TimeoutExpired as error:
        return (error.stdout or b"").decode(errors="replace")


def device_text(found: dict) -> str:
    """Return what `list_devices` found as lines for people."""
    lines = [tr("host: the emulator, always there; it runs")]
    lines += [tr("  {name}: as {socs}", name=name, socs=", ".join(about["socs"])) for name, about in found["host"]["operators"].items()]
    lines += [tr("{name}: {version}, a peer: open_device(\"{name}\")", name=name, version=version)
              for name, version in found["peers"].items()]
    if found["problem"]:
        lines.append(f"atlas: {found['problem']}")
    if found["root"]:
        lines += [tr("CANN {version} in {root} ({origin}; version from {source})", version=found["cann"] or message("(version unknown)"),
                     root=found["root"], origin=found["origin"], source=found["cann_source"] or message("nowhere")),
                  tr("  driver: {version}", version=found["driver"] or message("no version file"))]
        if found["stand_in"]:
            lines.append(tr("  NOT CANN: {what}", what=found["stand_in"]))
        lines += [tr("  library: {path}", path=path) for path in found["libraries"] or [found["runtime"]]]
        lines += [tr("  cannot load: {text}", text=text) for text in found["failures"]]
        lines += [tr("  custom operators installed: {path} (use with custom=)", path=path) for path in found["custom_installed"]]
    for device in found["devices"]:
        memory = message("memory unknown")
        if device["memory_total"]:
            memory = message("{free:.1f} of {total:.1f} GiB free", free=device["memory_free"] / 2**30, total=device["memory_total"] / 2**30)
        lines.append(tr("{name}: {soc} ({product}), {memory}", name=device["name"], soc=device["soc"] or message("unknown SoC"),
                        product=device["product"] or message("unknown product"), memory=memory)
                     + (f"; {device['problem']}" if device["problem"] else ""))
        lines += _operator_lines(device["operators"] or {})
    if not found["devices"]:
        lines += _operator_lines(found["operators"])
    return "\n".join(lines)


def _operator_lines(operators: dict) -> list[str]:
    return [tr("  {name}: {state}", name=name, state=_state(operators[name])) for name in operators]


def _state(operator: dict) -> str:
    if not operator["usable"]:
        return tr("not usable: {reason}", reason=operator["reason"])
    usable = CUSTOM if operator["custom"] else BUILT_IN
    return tr(usable, library=operator["library"])
