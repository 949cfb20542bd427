"""PyTorch's gradient of embedding, to compare ours with: one function of ATen."""

from aclnn_viz.operators.peers import narrow


def in_torch(torch, grad, indices, numWeights, paddingIdx, scaleGradByFreq):
    return torch.ops.aten.embedding_dense_backward(
        grad, indices.long(), numWeights, paddingIdx, scaleGradByFreq
    )


DIFFERENCES = {
    "torch": (
        narrow(
            "rows are scaled and added in 16 bits",
            "ATen native/Embedding.cpp",
            "embedding in 16 bits",
            accumulate="storage",
        ),
    )
}

DUMPED = {
    "embedding": "input: indices, weight, padding_idx: paddingIdx, max_norm, norm_type, scale_grad_by_freq: scaleGradByFreq, sparse!"
}
