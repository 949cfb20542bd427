"""Helpers to compute activations in PyTorch, for gradients to compare ours with: 16-bit tensors as float32, and gradients of
halves.
"""


def wide(tensor):
    """Return a tensor of 16 bits as float32, so that several functions of ATen in a row round to 16 bits once, at the end."""
    return tensor.float() if tensor.element_size() == 2 else tensor


def of_halves(torch, function, gradient, x, dim):
    """The gradient of `function(a, b)` of the halves of x by x."""
    leaf = wide(x).detach().clone().requires_grad_()
    function(*leaf.chunk(2, dim)).backward(wide(gradient))
    return leaf.grad
