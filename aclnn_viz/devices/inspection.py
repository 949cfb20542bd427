"""What the listing runs in a child process: load the libraries, ask every device, and print what was found.

Each finding is printed at once, so that those before a crash or a hang are known.
"""

import json
import os
import threading

from aclnn_viz.acl import CannAcl, DeviceUnavailable
from aclnn_viz.devices.errors import AclError
from aclnn_viz.operators import operators
from aclnn_viz.operators.codes import ACL_ERROR_REPEAT_INITIALIZE
from aclnn_viz.operators.contract import contract
from aclnn_viz.operators.products import Product, product_of

MARK = "aclnn-viz found: "  # what libraries print may stand between
_MEMORY_KINDS = (1, 0)  # ACL_HBM_MEM, and ACL_DDR_MEM for products without


def tell(**findings) -> None:
    print(MARK + json.dumps(findings), flush=True)


def end_with_parent() -> None:
    """End this process, hanging libraries and all, when the one that asked is gone: then nobody holds its input open."""
    threading.Thread(target=lambda: (os.read(0, 1), os._exit(1)), daemon=True).start()


def inspect(root: str, custom: str) -> None:
    """Print the findings about one installation; `custom` may be empty."""
    tell(stage="loading the libraries")
    try:
        acl = CannAcl(root, custom or None)
    except DeviceUnavailable as error:
        tell(problem=str(error))
        return
    tell(libraries=acl.libraries.paths(), failures=acl.libraries.failures, stand_in=acl.stand_in, cann=str(acl.cann),
         cann_source=acl.cann_source, operators=_operators(acl, None), stage="calling aclInit")
    status = acl.aclInit(None)
    if status not in (0, ACL_ERROR_REPEAT_INITIALIZE):
        tell(problem=_failure(acl, "aclInit", status))
        return
    status, count = acl.aclrtGetDeviceCount()
    if status or not count:
        tell(problem=_failure(acl, "aclrtGetDeviceCount", status) if status else "the runtime counts no device: the "
             "driver must be loaded and `npu-smi info` must list one")
    for number in range(count or 0):
        tell(stage=f"asking device {number}")
        tell(device=_device(acl, number))
    acl.aclFinalize()


def _device(acl: CannAcl, number: int) -> dict:
    found = {"id": number, "name": f"atlas:{number}", "soc": None, "product": None, "memory_free": None,
             "memory_total": None, "operators": None, "problem": None}
    status = acl.aclrtSetDevice(number)
    if status:
        return found | {"problem": _failure(acl, "aclrtSetDevice", status)}
    found["soc"] = acl.soc
    try:
        product = product_of(acl.soc)
        found |= {"product": product.name, "operators": _operators(acl, product)}
    except ValueError as error:
        found["problem"] = str(error)
    for kind in _MEMORY_KINDS:
        status, free, total = acl.aclrtGetMemInfo(kind)
        if not status and total:
            found |= {"memory_free": free, "memory_total": total}
            break
    acl.aclrtResetDevice(number)
    return found


def _operators(acl: CannAcl, product: Product | None) -> dict:
    """Of each operator: whether it is usable, why not, where it comes from, and what declares it."""
    return {name: {"usable": (reason := _obstacle(acl, name, product)) is None, "reason": reason,
                   "library": str(acl.operator_libraries.get(name, "")) or None,
                   "custom": name in acl.custom_operators, "prototype": acl.prototypes.get(name)} for name in (op.name for op in operators())}


def _obstacle(acl: CannAcl, name: str, product: Product | None) -> str | None:
    promise = contract(name)
    if promise.aclnn_name in acl.unavailable:
        return acl.unavailable[promise.aclnn_name]
    if product and not promise.offers(product, acl.cann):
        return f"{promise.aclnn_name} does not support {product.name} with CANN {acl.cann}"
    return None


def _failure(acl: CannAcl, call: str, status: int) -> str:
    return str(AclError(call, status, acl.aclGetRecentErrMsg()))
