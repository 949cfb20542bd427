"""PyTorch's gradient of softmax, to compare ours with: one function of ATen, which takes the saved output."""

ATEN = "_softmax_backward_data(gradOutput, output, dim, output.dtype)"

DUMPED = {"softmax": "input: self, dim, _stacklevel, dtype"}


def page(xp, gradOutput, output):
    """Return the gradient with products first, as ATen's native/cuda/SoftMax.cu: two terms that nearly cancel for y near 1."""
    along = gradOutput * output
    return {"out": along - output * xp.sum(along, axis=1, keepdims=True)}


ARRANGEMENTS = (page,)
