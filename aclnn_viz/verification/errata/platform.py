"""Recompute errors in the vendor's documents that concern every operator: functions that the expressions of platform.toml call
by name.
"""

import numpy as np

from aclnn_viz.accuracy.msprobe import MSPROBE_SMALL
from aclnn_viz.acl import HostAcl
from aclnn_viz.acl.installation import SPLIT
from aclnn_viz.operators.codes import ACL_OPT_DETERMINISTIC


def stores(is_set: bool) -> list[tuple]:
    """(status, value) of reading context and process, after aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1) or before."""
    acl = HostAcl(memory=1 << 20)
    acl.aclInit(None)
    acl.aclrtSetDevice(0)
    if is_set:
        acl.aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1)
    return [
        read(ACL_OPT_DETERMINISTIC)
        for read in (acl.aclrtCtxGetSysParamOpt, acl.aclrtGetSysParamOpt)
    ]


def initialisations() -> list:
    """aclInit twice, aclFinalize, aclInit again."""
    acl = HostAcl(memory=1 << 20)
    return [acl.aclInit(None), acl.aclInit(None), acl.aclFinalize(), acl.aclInit(None)]


def libraries() -> str:
    """Those that the kit looks for first."""
    return ", ".join(SPLIT)


def small_exponents() -> list[float]:
    """Of the small values of the kit's standard: float32, float16, bfloat16."""
    return [float(np.log2(MSPROBE_SMALL[name])) for name in ("float32", "float16", "bfloat16")]
