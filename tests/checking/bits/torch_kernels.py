"""Kernels in PyTorch of the gradient of a softmax: of some a row has other bits in another batch."""

import torch


def plain(gradOutput, output, dim):
    g, y = torch.from_numpy(gradOutput), torch.from_numpy(output)
    return y * (g - (g * y).sum(dim, keepdim=True))


def wide(gradOutput, output, dim):
    g, y = torch.from_numpy(gradOutput).double(), torch.from_numpy(output).double()
    return (y * (g - (g * y).sum(dim, keepdim=True))).float()


def product(gradOutput, output, dim):
    g, y = torch.from_numpy(gradOutput), torch.from_numpy(output)
    return y * (g - torch.matmul(g * y, torch.ones(y.shape[-1], 1)))


def split(gradOutput, output, dim):
    g, y = torch.from_numpy(gradOutput), torch.from_numpy(output)
    pieces = torch.chunk(g * y, 1 + 32 // len(y), dim=-1)
    total = torch.zeros(len(y))
    for piece in pieces:
        total += piece.sum(-1)
    return y * (g - total[:, None])
