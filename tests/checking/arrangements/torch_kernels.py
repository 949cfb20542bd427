"""Right kernels in PyTorch, after the formulas of ATen and of Liger: flat rows, fused terms, gathers and scatters."""

import numpy as np
import torch
from checking.wrong.common import asked, wide


def t(array):
    return torch.from_numpy(np.ascontiguousarray(wide(array))).reshape(array.shape)


def hardswish(gradOutput, self):
    x, dy = t(self), t(gradOutput)
    inside = dy * (x / 3 + 0.5)
    out = torch.where(x < -3, torch.zeros_like(x), torch.where(x <= 3, inside, dy))
    return out.reshape(self.shape).numpy().astype(self.dtype)


def rms_norm(dy, x, rstd, gamma):
    n = gamma.size
    X, m, w, r = (
        t(x).reshape(rstd.size, n),
        t(dy).reshape(rstd.size, n),
        t(gamma).reshape(-1),
        t(rstd).reshape(-1, 1),
    )
    m = m.to(r.dtype)
    dgamma = (m * (X * r)).sum(dim=0)
    m = m * w
    dx = r * m
    dx = dx - (r / n) * r * r * (m * X).sum(dim=-1, keepdim=True) * X
    return dx.reshape(x.shape).numpy().astype(x.dtype), dgamma.reshape(gamma.shape).numpy().astype(
        rstd.dtype
    )


def layer_norm(
    gradOut, input, normalizedShape, mean, rstd, weightOptional, biasOptional, outputMask
):
    n = int(np.prod(normalizedShape))
    x, dy, mu, r = (
        t(input).reshape(mean.size, n),
        t(gradOut).reshape(mean.size, n),
        t(mean).reshape(-1, 1),
        t(rstd).reshape(-1, 1),
    )
    hat = (x - mu) * r
    wdy = dy if weightOptional is None else dy * t(weightOptional).reshape(n)
    c1 = (hat * wdy).sum(dim=1, keepdim=True) / n
    c2 = wdy.sum(dim=1, keepdim=True) / n
    dx = r * (wdy - (hat * c1 + c2))
    kind = input.dtype if weightOptional is None else weightOptional.dtype
    out = {
        "gradInputOut": dx.reshape(input.shape).numpy().astype(input.dtype),
        "gradWeightOut": (dy * hat).sum(dim=0).reshape(normalizedShape).numpy().astype(kind),
        "gradBiasOut": dy.sum(dim=0).reshape(normalizedShape).numpy().astype(kind),
    }
    return asked(out, outputMask)


def softmax(gradOutput, output, dim):
    y, dy = t(output), t(gradOutput)
    out = dy * y
    out = out - y * out.sum(dim=dim, keepdim=True)
    return out.numpy().astype(output.dtype)


def smooth_l1_loss(gradOut, self, target, reduction, beta):
    x, y, g = torch.broadcast_tensors(t(self), t(target), t(gradOut))
    norm = 1.0 / max(x.numel(), 1) if reduction == 1 else 1.0
    d = x - y
    slope = torch.where(
        d <= -beta,
        -torch.ones_like(d),
        torch.where(d >= beta, torch.ones_like(d), d / max(beta, 1e-30)),
    )
    slope = torch.where(d == 0, torch.zeros_like(d), slope)
    return (norm * slope * g).numpy().astype(self.dtype)


def gelu(gradOutput, self):
    x, dy = t(self), t(gradOutput)
    cdf = 0.5 * torch.erfc(-x * 0.7071067811865476)
    pdf = 0.3989422804014327 * torch.exp(-0.5 * x * x)
    return (dy * (cdf + x * pdf)).numpy().astype(self.dtype)


def swi_glu(yGrad, x, dim):
    a, b = t(x).chunk(2, dim=dim)
    dc = t(yGrad)
    sig = torch.sigmoid(a)
    act = sig * a
    db = dc * act
    da = dc * (act * torch.sigmoid(-a) + sig) * b
    return torch.cat([da, db], dim=dim).numpy().astype(x.dtype)


def nll_loss(gradOutput, self, target, weight, reduction, ignoreIndex, totalWeight):
    if not self.size:
        return np.zeros_like(self)
    ids, w, g = t(target).long().reshape(-1), t(weight), t(gradOutput)
    valid = (ids != ignoreIndex) & (ids >= 0) & (ids < self.shape[-1])
    safe = torch.where(valid, ids, torch.zeros_like(ids))
    scale = g / t(totalWeight) if reduction == 1 else g
    each = torch.where(valid, -scale * w[safe], torch.zeros(safe.shape, dtype=w.dtype))
    out = torch.zeros((ids.numel(), self.shape[-1]), dtype=each.dtype)
    out.scatter_(1, safe[:, None], each[:, None])
    return out.reshape(self.shape).numpy().astype(self.dtype)
