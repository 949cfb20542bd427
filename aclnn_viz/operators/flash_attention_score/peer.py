"""PyTorch's gradient of attention, to compare ours with: autograd differentiates the forward formula. Softmax is computed
again; the saved maximum and sum are not used.
"""

from aclnn_viz.arrays.plan import SEQUENTIAL, Plan
from aclnn_viz.operators.faults.fault import changed
from aclnn_viz.operators.flash_attention_score import page
from aclnn_viz.operators.flash_attention_score.page import BAND, LEFT_UP, OF_POSITIONS, PREFIX
from aclnn_viz.operators.peers import Difference, narrow

ORDERS = {"BNSD": "bnsd->bnsd", "BSND": "bsnd->bnsd", "BSH": "bsnd->bnsd", "SBH": "sbnd->bnsd"}


def in_torch(
    torch,
    query,
    keyIn,
    value,
    dy,
    pseShiftOptional,
    dropMaskOptional,
    paddingMaskOptional,
    attenMaskOptional,
    softmaxMaxOptional,
    softmaxSumOptional,
    softmaxInOptional,
    attentionInOptional,
    prefixOptional,
    scaleValue,
    keepProb,
    preTokens,
    nextTokens,
    headNum,
    inputLayout,
    innerPrecise,
    sparseMode,
):
    wide = torch.promote_types(query.dtype, torch.float32)
    size = query.shape[-1] // headNum if query.ndim == 3 else query.shape[-1]
    kept = (
        keyIn.shape[-1] // max(size, 1) if query.ndim == 3 else keyIn.shape[inputLayout.index("N")]
    )

    def heads(x, n):
        x = x.unflatten(-1, (n, -1)) if x.ndim == 3 else x
        return torch.einsum(ORDERS[inputLayout], x)

    leaves = [
        x.detach().to(wide).requires_grad_()
        for x in (
            query,
            keyIn,
            value,
            *([pseShiftOptional] if pseShiftOptional is not None else []),
        )
    ]
    with torch.enable_grad():
        q, k, v = (heads(x, n) for x, n in zip(leaves, (headNum, kept, kept)))
        k, v = (x.repeat_interleave(headNum // kept, 1) for x in (k, v))
        s = q @ k.mT
        s = scaleValue * (s if pseShiftOptional is None else s + leaves[3])
        rows, columns = s.shape[-2:]
        hidden = (
            attenMaskOptional.bool()
            if attenMaskOptional is not None
            else torch.zeros((), dtype=torch.bool)
        )
        if sparseMode in OF_POSITIONS:
            corner = 0 if sparseMode == LEFT_UP else columns - rows
            ones = torch.ones(rows, columns, dtype=torch.bool)
            hidden = (
                ones.triu(corner + 1)
                if sparseMode != BAND
                else ones.triu(corner + nextTokens + 1) | ones.tril(corner - preTokens - 1)
            )
            if sparseMode == PREFIX:
                hidden = torch.stack(
                    [hidden & (torch.arange(columns) >= n) for n in prefixOptional]
                )[:, None]
        p = torch.softmax(s.masked_fill(hidden, torch.finfo(wide).min), -1).masked_fill(hidden, 0.0)
        if dropMaskOptional is not None:
            bits = (dropMaskOptional[:, None].int() >> torch.arange(8)) & 1
            p = p * bits.reshape(-1)[: p.numel()].reshape(p.shape) / keepProb
        found = torch.autograd.grad(p @ v, leaves, heads(dy.to(wide), headNum), allow_unused=True)
    return [grad.to(query.dtype) for grad in found]


OF_WEIGHTS = ("xp.sum(g * y, axis=4, keepdims=True)", "xp.sum(a * da, axis=4, keepdims=True)")
SUMMED = changed(page, (OF_WEIGHTS,)).backward
DIFFERENCES = {
    "torch": (
        Difference(
            "D is the sum of a row of weights times their gradients, and not of dy times the saved output",
            "torch/nn/functional.py",
            Plan("attention by autograd", order=SEQUENTIAL, division_ulps=1.0, page=SUMMED),
        ),
        narrow(
            "in 16 bits D is not computed from the rounded output",
            "torch/nn/functional.py",
            "attention in 16 bits",
            accumulate="storage",
            page=SUMMED,
        ),
    )
}


def with_heads(given: dict) -> dict:
    heads, size = given["query"].shape[1], given["query"].shape[-1]
    return {"headNum": heads, "scaleValue": given.get("scaleValue", size**-0.5)}


DUMPED = {
    "npu_fusion_attention": "query, key: keyIn, value, head_num: headNum, input_layout: inputLayout, pse: pseShiftOptional, padding_mask!, "
    "atten_mask: attenMaskOptional, scale: scaleValue, keep_prob: keepProb, pre_tockens: preTokens, "
    "next_tockens: nextTokens, inner_precise: innerPrecise, prefix: prefixOptional, sparse_mode: sparseMode, "
    "gen_mask_parallel, sync",
    "scaled_dot_product_attention": (
        "query, key: keyIn, value, attn_mask!, dropout_p!, is_causal!, scale: scaleValue, enable_gqa!",
        with_heads,
    ),
}
