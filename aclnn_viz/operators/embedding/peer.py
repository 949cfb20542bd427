"""Embedding in PyTorch: one function of ATen."""


def in_torch(torch, grad, indices, numWeights, paddingIdx, scaleGradByFreq):
    return {"out": torch.ops.aten.embedding_dense_backward(grad, indices.long(), numWeights, paddingIdx, scaleGradByFreq)}
