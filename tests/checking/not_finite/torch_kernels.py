"""Kernels in PyTorch that return nan where the truth is finite."""

import torch


def grown(gradOutput, self):
    x, g = torch.from_numpy(self), torch.from_numpy(gradOutput)
    e = x.exp()
    s = e / (e + 1)
    return g * s * (1 + x * (1 - s))


def rows(dy, x, rstd, gamma):
    dy, x, rstd, gamma = map(torch.from_numpy, (dy, x, rstd, gamma))
    y = x / torch.linalg.vector_norm(x, dim=-1, keepdim=True) * x.shape[-1] ** 0.5
    scaled = dy * gamma
    dx = rstd * (scaled - y * (scaled * y).mean(-1, keepdim=True))
    return {"dxOut": dx, "dgammaOut": (dy * x * rstd).sum(0)}


def rest(gradOutput, self):
    x, g = torch.from_numpy(self), torch.from_numpy(gradOutput)
    out = torch.empty_like(x)
    inner = x.abs() < 3
    out[inner] = g[inner] * (x[inner] / 3 + 0.5)
    out.masked_fill_(x <= -3, 0.0)
    out[x > 3.5] = g[x > 3.5]
    return out


class Forward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        large = x.exp()
        ctx.save_for_backward(x, large / (large + 1))
        return x * x.sigmoid()

    @staticmethod
    def backward(ctx, grad):
        x, s = ctx.saved_tensors
        return grad * s * (1 + x * (1 - s))


class Backward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x.sigmoid()

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        e = x.exp()
        s = e / (e + 1)
        return grad * s * (1 + x * (1 - s))


def forward(gradOutput, self):
    x = torch.from_numpy(self).requires_grad_()
    Forward.apply(x).backward(torch.from_numpy(gradOutput))
    return x.grad


def backward(gradOutput, self):
    x = torch.from_numpy(self).requires_grad_()
    return torch.autograd.grad(Backward.apply(x), x, torch.from_numpy(gradOutput))[0]
