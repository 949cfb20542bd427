"""PyTorch's gradient of tanh, to compare ours with: tanh_backward of ATen."""

ATEN = "tanh_backward(gradOutput, output)"

DUMPED = {"tanh": "input: self"}


def page(xp, gradOutput, output):
    """Return two factors, as JAX's rule of tanh does: 1 - y * y may be exact although 1 - y is not."""
    return {"gradInput": (gradOutput + gradOutput * output) * (1.0 - output)}


ARRANGEMENTS = (page,)
