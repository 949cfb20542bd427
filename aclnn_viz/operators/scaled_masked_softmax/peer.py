"""Scaled masked softmax in PyTorch: ATen's backward of softmax, then the scale, and 0 where an element is masked."""


def in_torch(torch, gradOutput, y, mask, scale, fixTriuMask):
    return {
        "out": (
            torch.ops.aten._softmax_backward_data(gradOutput, y, -1, y.dtype) * scale
        ).masked_fill(mask, 0.0)
    }
