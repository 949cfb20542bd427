"""PyTorch's gradient of tanh, to compare ours with: tanh_backward of ATen."""

ATEN = "tanh_backward(gradOutput, output)"

DUMPED = {"tanh": "input: self"}


def page(xp, gradOutput, output):
    """Two factors, as JAX's rule of tanh has them: 1 - y * y may be exact where 1 - y is not."""
    return {"gradInput": (gradOutput + gradOutput * output) * (1.0 - output)}


ARRANGEMENTS = (page,)
