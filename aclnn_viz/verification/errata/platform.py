"""Recompute errors in the vendor's documents that concern every operator: functions that the expressions of platform.toml call
by name.
"""

import numpy as np

from aclnn_viz.accuracy.msprobe import MSPROBE_SMALL
from aclnn_viz.acl import HostAcl
from aclnn_viz.acl.installation import SPLIT
from aclnn_viz.operators.codes import ACL_OPT_DETERMINISTIC


def stores(is_set: bool) -> list[tuple]:
    """Return (status, value) read from context and process, with ACL_OPT_DETERMINISTIC set in the context or not."""
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
    """Return the statuses of aclInit twice, aclFinalize, aclInit again."""
    acl = HostAcl(memory=1 << 20)
    return [acl.aclInit(None), acl.aclInit(None), acl.aclFinalize(), acl.aclInit(None)]


def libraries() -> str:
    """Return, joined by commas, the names of the vendor's libraries that the kit looks for first."""
    return ", ".join(SPLIT)


def small_exponents() -> list[float]:
    """Return the exponents of MSPROBE_SMALL for float32, float16, bfloat16."""
    return [float(np.log2(MSPROBE_SMALL[name])) for name in ("float32", "float16", "bfloat16")]
