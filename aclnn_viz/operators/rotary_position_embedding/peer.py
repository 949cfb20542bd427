"""PyTorch's gradient of rotary position embedding, to compare ours with: autograd differentiates the forward formula, pairs
being slices of the last axis.
"""


def rot(torch, x, mode):
    if mode == 1:
        return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    parts = x.chunk(4 if mode == 2 else 2, -1)
    return torch.cat(
        [part for k in range(0, len(parts), 2) for part in (-parts[k + 1], parts[k])], -1
    )


def in_torch(torch, dy, cos, sin, xOptional, mode):
    wide = torch.promote_types(dy.dtype, torch.float32)
    leaves = [
        one.detach().to(wide).requires_grad_()
        for one in (dy if xOptional is None else xOptional, cos, sin)
    ]
    x, cos, sin = leaves
    with torch.enable_grad():
        pairs = torch.cat((x[..., ::2], x[..., 1::2]), -1) if mode == 3 else x
        found = torch.autograd.grad(
            pairs * cos + rot(torch, pairs, mode) * sin, leaves, dy.to(wide)
        )
    return [grad.to(dy.dtype) for grad in found]
