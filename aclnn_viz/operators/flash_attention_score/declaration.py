"""Declare aclnnFlashAttentionScoreGrad as documented, for checks, test cases and C calls: queries of N heads, keys of N2, four
layouts; masks, position shift and dropout are optional.
"""

from functools import cache, partial

import numpy as np

from aclnn_viz.errors import invalid
from aclnn_viz.operators.operator import Attribute, Tensor, declared
from aclnn_viz.operators.products import ATLAS_A2_A3

from . import page


def laid_out(length: str, heads: str, size: str) -> str:
    return (
        f"B {heads} {length} {size} if inputLayout = BNSD else {length} B {heads}*{size} if inputLayout = SBH else "
        f"B {length} {heads}*{size} if inputLayout = BSH else B {length} {heads} {size}"
    )


QUERY, KEY, VALUE, OUT = (
    laid_out(*one.split()) for one in ("Q N2*G D", "K N2 D", "K N2 Dv", "Q N2*G Dv")
)
ROWS, PSE = "B N2*G Q 8", "~B N2*G ~Q K"
MASK = "2048 2048 if sparseMode = 2|3|4 else 3072 2048 if sparseMode = 6 else ~B ~N2*G Q K"
# cached by sparseMode, because each call requests these millions of numbers
COMPRESSED = cache(partial(page.compressed, np))
# places of the axes B and S, by layout
PLACES = {"BNSD": (0, 2), "BSND": (0, 1), "BSH": (0, 1), "SBH": (1, 0)}


def lengths(bound: dict) -> tuple:
    """Return B, Sq, Skv, and the elements of all heads of one key and of one value."""
    (batch, length), (q, k, v) = (
        PLACES[bound["inputLayout"]],
        (bound[name].shape for name in ("query", "keyIn", "value")),
    )
    return q[batch], q[length], k[length], k[-1], v[-1]


def _mask_fits(bound: dict) -> None:
    batch, rows, columns, *_ = lengths(bound)
    mask, mode = bound["attenMaskOptional"], bound["sparseMode"]
    if mask is None and mode:
        raise invalid(
            f"sparseMode {mode} takes attenMaskOptional", "None", "pass it, or sparseMode 0"
        )
    if mode in page.OF_POSITIONS:
        if not np.array_equal(mask, COMPRESSED(mode)):
            raise invalid(
                f"attenMaskOptional of sparseMode {mode} is the compressed mask, 1 above the diagonal",
                "another",
                "pass that, or choose sparseMode 1",
            )
    elif mask is not None and mask.shape[:-2] not in (
        (),
        (1, 1),
        (batch, 1),
        (batch, bound["headNum"]),
    ):
        raise invalid(
            "attenMaskOptional must be (B,N,Sq,Skv), (B,1,Sq,Skv), (1,1,Sq,Skv) or (Sq,Skv)",
            f"shape {mask.shape}",
            "choose one of these",
        )
    elif mode == 0 and mask is not None:
        ahead = np.arange(columns) - np.arange(rows)[:, None]
        outside = (ahead > bound["nextTokens"]) | (ahead < -bound["preTokens"])
        if (outside & (np.asarray(mask) == 0)).any():
            raise invalid(
                "attenMaskOptional must be 1 outside of preTokens and nextTokens",
                "0 there",
                "make them agree",
            )


def fits(bound: dict) -> None:
    batch, rows, columns, wide, narrow = lengths(bound)
    mode, prefix, keep = (bound[name] for name in ("sparseMode", "prefixOptional", "keepProb"))
    if not columns:
        raise invalid(
            "keyIn must have at least one key",
            f"shape {bound['keyIn'].shape}",
            "leave the call out",
        )
    if narrow > wide:
        raise invalid(
            "D of value must not exceed that of keyIn", f"{narrow} and {wide}", "make it smaller"
        )
    if keep <= 0 or keep != 1 and bound["dropMaskOptional"] is None:
        raise invalid(
            "keepProb must lie in (0, 1], and be 1 without dropMaskOptional", f"{keep}", "change it"
        )
    _mask_fits(bound)
    if mode in (5, 6) and (
        len(prefix) != batch or not all(max(columns - rows, 0) <= n <= columns for n in prefix)
    ):
        raise invalid(
            f"prefixOptional must have B = {batch} numbers of {max(columns - rows, 0)} to {columns}",
            f"{prefix}",
            "mend it",
        )


OPERATOR = declared(
    page,
    """aclnnStatus aclnnFlashAttentionScoreGradGetWorkspaceSize(
        const aclTensor *query, const aclTensor *keyIn, const aclTensor *value, const aclTensor *dy, const aclTensor *pseShiftOptional,
        const aclTensor *dropMaskOptional, const aclTensor *paddingMaskOptional, const aclTensor *attenMaskOptional,
        const aclTensor *softmaxMaxOptional, const aclTensor *softmaxSumOptional, const aclTensor *softmaxInOptional,
        const aclTensor *attentionInOptional, const aclIntArray *prefixOptional, double scaleValue, double keepProb, int64_t preTokens,
        int64_t nextTokens, int64_t headNum, char *inputLayout, int64_t innerPrecise, int64_t sparseMode,
        const aclTensor *dqOut, const aclTensor *dkOut, const aclTensor *dvOut, const aclTensor *dpseOut,
        uint64_t *workspaceSize, aclOpExecutor **executor);""",
    library="ops-transformer",
    apart=True,
    formats={ATLAS_A2_A3: "float32 float16 bfloat16"},
    tensors={
        "query": Tensor(QUERY),
        "keyIn": Tensor(KEY),
        "value": Tensor(VALUE),
        "dy": Tensor(OUT),
        "attentionOut": Tensor(OUT),
        "softmaxMax": Tensor(ROWS, "wide"),
        "softmaxSum": Tensor(ROWS, "wide"),
        "pseShiftOptional": Tensor(PSE, optional=True),
        "dropMaskOptional": Tensor("B N2*G Q K", "bits", optional=True),
        "paddingMaskOptional": Tensor("()", reserved=True),
        "attenMaskOptional": Tensor(
            MASK,
            "bool or uint8",
            ranks=(2, 4),
            optional=True,
            usual="compressed if sparseMode = 2|3|4|6 else ",
        ),
        "softmaxMaxOptional": Tensor(ROWS, "wide"),
        "softmaxSumOptional": Tensor(ROWS, "wide"),
        "softmaxInOptional": Tensor("()", reserved=True),
        "attentionInOptional": Tensor(OUT),
        "dqOut": Tensor(QUERY),
        "dkOut": Tensor(KEY),
        "dvOut": Tensor(VALUE),
        "dpseOut": Tensor(PSE, asked="pseShiftOptional"),
    },
    attributes={
        "prefixOptional": Attribute("const aclIntArray *", ()),
        "scaleValue": Attribute("double", 1.0, tries=(0.25,)),
        "keepProb": Attribute("double", 1.0, low=0.0, high=1.0, tries=(0.75,)),
        "preTokens": Attribute("int64_t", 65536),
        "nextTokens": Attribute("int64_t", 65536),
        "headNum": Attribute("int64_t", low=1, high=256, seen=False),
        "inputLayout": Attribute("char *", "BNSD", ("BNSD", "BSND", "BSH", "SBH")),
        "innerPrecise": Attribute("int64_t", 0, (0, 1, 2), seen=False),
        "sparseMode": Attribute("int64_t", 0, (0, 1, 2, 3, 4, 5, 6)),
    },
    sizes={"N2*G": "headNum"},
    takes=(
        "query",
        "keyIn",
        "value",
        "pseShiftOptional",
        "dropMaskOptional",
        "attenMaskOptional",
        "prefixOptional",
        "scaleValue",
        "keepProb",
        "preTokens",
        "nextTokens",
        "headNum",
        "inputLayout",
        "sparseMode",
    ),
    gives=("softmaxMax", "softmaxSum", "attentionOut"),
    upstream={"dy": "attentionOut"},
    saved={
        "softmaxMaxOptional": "softmaxMax",
        "softmaxSumOptional": "softmaxSum",
        "attentionInOptional": "attentionOut",
    },
    gradient_of={
        "dqOut": "query",
        "dkOut": "keyIn",
        "dvOut": "value",
        "dpseOut": "pseShiftOptional",
    },
    like="query",
    rules=(fits,),
    forward_rules=(fits,),
    shapes=(
        {"shape": (2, 4, 3, 4), "value_shape": (4,)},
        {"shape": (1, 2, 5, 3), "keyIn_shape": (1, 1, 4, 3)},
    ),
)
