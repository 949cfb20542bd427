"""Errata that concern every operator: initialisation, determinism, libraries, precision tools."""

import numpy as np

from aclnn_viz.accuracy.msprobe import MSPROBE_SMALL
from aclnn_viz.acl import HostAcl
from aclnn_viz.acl.installation import SPLIT, WHOLE
from aclnn_viz.operators.codes import ACL_OPT_DETERMINISTIC
from aclnn_viz.operators.products import A2, product_of
from aclnn_viz.verification.errata.model import Contradiction, Observation, erratum


def stores(is_set: bool) -> list[tuple]:
    """(status, value) of reading context and process, after aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1) or before."""
    acl = HostAcl(memory=1 << 20)
    acl.aclInit(None)
    acl.aclrtSetDevice(0)
    if is_set:
        acl.aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1)
    return [read(ACL_OPT_DETERMINISTIC) for read in (acl.aclrtCtxGetSysParamOpt, acl.aclrtGetSysParamOpt)]


def initialisations() -> list:
    """aclInit twice, aclFinalize, aclInit again."""
    acl = HostAcl(memory=1 << 20)
    return [acl.aclInit(None), acl.aclInit(None), acl.aclFinalize(), acl.aclInit(None)]


ERRATA = (
    erratum(
        "determinism-store", "contract", "The documented determinism switch is not the one that is read",
        "Deterministic computation is switched on with aclrtCtxSetSysParamOpt.",
        "aclnnRmsNormGrad, aclnnGroupNormSwishGrad, aclnnGridSampler2DBackward, CANN documentation; "
        "ops-cv docs/zh/op_api_list.md (ops-nn docs/zh/op_api_list.md names aclrtSetSysParamOpt)",
        "Context and process have a store each. From CANN 9.0 on hand-written operators read that of the process, "
        "later the generated ones do, too: set both.",
        "src/nnopbase/composite_op/aclnn_engine/op_executor.cpp of nnopbase, tag by tag; "
        "src/runtime/core/src/context/context.cc of the CANN runtime",
        Contradiction(("call aclrtCtxSetSysParamOpt", "ops-cv docs/zh/op_api_list.md, commit 6ae8765"),
                      ("call aclrtSetSysParamOpt", "ops-nn docs/zh/op_api_list.md, commit e5c3fa9")),
        Observation("context and process store after aclrtCtxSetSysParamOpt(0, 1)",
                    lambda: [value for _, value in stores(True)], [1, 1],
                    [1, 0]),
        Observation("statuses of reading context and process store before any set",
                    lambda: [status for status, _ in stores(False)], [0, 0], [107021, 0])),
    erratum(
        "init-once", "contract", "aclInit may be called again after aclFinalize",
        "aclInit can be called only once per process.", "include/external/acl/acl_rt.h of the CANN runtime, comment",
        "A second call returns 100002, which callers may ignore; after aclFinalize it succeeds again.",
        "02_initialization_and_deinitialization.md, CANN runtime reference; src/acl/aclrt_impl/acl.cpp",
        Contradiction(("can be called only once per process", "include/external/acl/acl_rt.h of the CANN runtime"),
                      ("may be called again after aclFinalize", "02_initialization_and_deinitialization.md, runtime")),
        Observation("aclInit, aclInit, aclFinalize, aclInit", initialisations, "only once", [0, 100002, 0, 0])),
    erratum(
        "operator-library", "contract", "The operators have moved to other libraries",
        "Programs link libopapi.so.", "build instructions of CANN 8.x, to which the sample programs refer",
        "From CANN 9 on libopapi_nn.so and libopapi_cv.so hold them, and libopapi.so must not be loaded beside these.",
        "docs/zh/op_api_list.md of ops-nn and ops-cv",
        Contradiction(("link libopapi.so", "build instructions of CANN 8.x"),
                      ("link libopapi_nn.so or libopapi_cv.so", "docs/zh/op_api_list.md of ops-nn and ops-cv, 9.x")),
        Observation("libraries that the kit looks for first", lambda: ", ".join(SPLIT), WHOLE,
                    "libopapi_nn.so, libopapi_cv.so")),
    erratum(
        "soc-name", "contract", "Ascend910B is two products",
        "Short_SoC Ascend910B stands for Atlas A2.",
        "build option --soc=ascend910b, docs/zh/install/compile.md of ops-nn",
        "aclrtGetSocName answers Ascend910B on the old 910; the names of Atlas A2 have a digit there.",
        "platform configuration files <SoC>.ini of CANN 8.1",
        Observation("product of the SoC name Ascend910B", lambda: product_of("Ascend910B").name,
                    A2.name, "Atlas training series")),
    erratum(
        "msprobe-thresholds", "numerics", "msprobe's small-value thresholds differ from its document",
        "Small values are below 2^-14 (float32), 2^-11 (float16) and 2^-8 (bfloat16).",
        "pytorch_accuracy_checker_instruct.md of msprobe",
        "The code has 2^-20, 2^-10 and 2^-10.",
        "python/msprobe/pytorch/api_accuracy_checker/precision_standard/standard_config.py of msprobe",
        Observation("exponents that the kit's standard uses, as the code: float32, float16, bfloat16",
                    lambda: [float(np.log2(MSPROBE_SMALL[name])) for name in ("float32", "float16", "bfloat16")],
                    [-14.0, -11.0, -8.0], [-20.0, -10.0, -10.0]),
        inferred="that the code, and not the document, is what its users get"),
)
